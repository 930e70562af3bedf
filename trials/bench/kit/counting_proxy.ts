// Stands between a function and Postgres and counts how often the function waits for an answer: what a request costs where the
// database is a network away.

import { connect, createServer, type Socket } from "node:net";

type CountingProxy = {
  port: number;
  /** What was waited for since the last time this was asked: the statements, as they were sent. */
  waits(): string[];
  close(): Promise<void>;
};

/**
 * Reads the frontend's side of the PostgreSQL protocol (chapter 54 of its manual). A client waits after each Query (`Q`) and each
 * Sync (`S`), which ends the messages of one extended query, its text in Parse (`P`).
 */
export async function startCountingProxy(database_port: number): Promise<CountingProxy> {
  let waits: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(database_port, "127.0.0.1");
    const read = newReader((text) => waits.push(text));
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
    }
    client.setNoDelay(true);
    database.setNoDelay(true);
    client.on("data", (chunk) => {
      read(chunk);
      database.write(chunk);
    });
    database.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    waits() {
      const seen = waits;
      waits = [];
      return seen;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Takes what a client sends, in whatever pieces, and tells of each wait. */
function newReader(waited: (statement: string) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let started = false;
  let statement = "";
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      // the first message has no type before its length
      const typeBytes = started ? 1 : 0;
      if (rest.length < typeBytes + 4) return;
      const end = typeBytes + rest.readUInt32BE(typeBytes);
      if (rest.length < end) return;
      const type = started ? rest.toString("latin1", 0, 1) : "";
      if (type === "P") statement = parsedText(rest.subarray(5, end));
      if (type === "Q") waited(rest.toString("utf8", 5, end - 1));
      if (type === "S") waited(statement);
      started = true;
      rest = rest.subarray(end);
    }
  };
}

/** The name of a prepared statement and its text, each ended by a zero byte. */
function parsedText(message: Buffer): string {
  const begin = message.indexOf(0) + 1;
  return message.toString("utf8", begin, message.indexOf(0, begin));
}
