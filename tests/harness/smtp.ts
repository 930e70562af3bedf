// A real mail server on a loopback port, which keeps what it was sent and fails when it is told to.

import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

type Received = { from: string; to: string[]; message: string };

export async function startSmtp() {
  const state = {
    received: [] as Received[],
    /** What it says to a recipient instead of 250, with a text if it has one, for as long as it is set. */
    refuse: null as ((recipient: string) => number | [number, string] | null) | null,
    /** What it says to whoever sends. */
    refuseSender: null as number | null,
    /** How long it takes over a message. */
    delay_ms: 0,
    connections: 0,
  };
  const failure = (responseCode: number, text = "Not this time") => Object.assign(new Error(text), { responseCode });
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onConnect(_session, done) {
      state.connections += 1;
      done();
    },
    onMailFrom(_address, _session, done) {
      done(state.refuseSender ? failure(state.refuseSender) : null);
    },
    onRcptTo({ address }, _session, done) {
      const said = state.refuse?.(address);
      done(said ? (Array.isArray(said) ? failure(...said) : failure(said)) : null);
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        setTimeout(() => {
          state.received.push({
            from: mailFrom ? mailFrom.address : "",
            to: rcptTo.map(({ address }) => address),
            message: Buffer.concat(chunks).toString("utf8"),
          });
          done();
        }, state.delay_ms);
      });
    },
  });
  // a client that hangs up in the middle is what some tests are about
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  });
}
