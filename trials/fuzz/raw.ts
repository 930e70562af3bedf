// Malformed HTTP over raw sockets: whatever comes, the server answers an error or closes, and goes on.

import { connect } from "node:net";

const HOST = "Host: 127.0.0.1\r\n";

/** What is sent, by what is wrong with it. */
const MALFORMED: Record<string, string> = {
  "no HTTP": "hello\r\n\r\n",
  "zero bytes": "\u0000\u0000\u0000\r\n\r\n",
  "a TLS greeting": "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
  "HTTP/9": `GET /v1/accounts HTTP/9.9\r\n${HOST}\r\n`,
  "no Host": "GET /v1/accounts HTTP/1.1\r\n\r\n",
  "a space in the target": `GET /v1/ accounts HTTP/1.1\r\n${HOST}\r\n`,
  "a control character in the target": `GET /v1/\u0001 HTTP/1.1\r\n${HOST}\r\n`,
  "half an encoding": `GET /v1/%E0%A4%A HTTP/1.1\r\n${HOST}\r\n`,
  "dots out of the root": `GET /../../../etc/passwd HTTP/1.1\r\n${HOST}\r\n`,
  "a target of 70,000 characters": `GET /${"a".repeat(70_000)} HTTP/1.1\r\n${HOST}\r\n`,
  "a header of 2 MiB": `GET /v1/accounts HTTP/1.1\r\n${HOST}X-A: ${"a".repeat(2 * 1024 * 1024)}\r\n\r\n`,
  "10,000 headers": `GET /v1/accounts HTTP/1.1\r\n${HOST}${"X-A: b\r\n".repeat(10_000)}\r\n`,
  "a header without a colon": `GET /v1/accounts HTTP/1.1\r\n${HOST}Authorization Bearer\r\n\r\n`,
  "a folded header": `GET /v1/accounts HTTP/1.1\r\n${HOST}Authorization:\r\n Bearer x\r\n\r\n`,
  "two lengths": `POST /oauth-token HTTP/1.1\r\n${HOST}Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}`,
  "a length and chunks": `POST /oauth-token HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "a negative length": `POST /oauth-token HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`,
  "a length beyond all": `POST /oauth-token HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n{}`,
  "a chunk of no size": `POST /oauth-token HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`,
  "a chunk that ends early": `POST /oauth-token HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nFF\r\n{}\r\n`,
  "a body that ends early": `POST /oauth-token HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
  "an unknown method": `BREW /v1/accounts HTTP/1.1\r\n${HOST}\r\n`,
  "a method in lower case": `get /v1/accounts HTTP/1.1\r\n${HOST}\r\n`,
  "an upgrade to nothing": `GET /v1/accounts HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  "Expect: nonsense": `POST /oauth-token HTTP/1.1\r\n${HOST}Expect: a-miracle\r\nContent-Length: 2\r\n\r\n{}`,
};

const PATIENCE_MS = 3_000;

/** The statuses that came; after PATIENCE_MS we close. A sender that never ends is the sender's to end. */
async function send(url: URL, text: string): Promise<number[]> {
  const socket = connect(Number(url.port), url.hostname);
  let answer = "";
  await new Promise<void>((resolve) => {
    const end = setTimeout(resolve, PATIENCE_MS);
    const done = () => {
      clearTimeout(end);
      resolve();
    };
    socket.setEncoding("latin1").on("data", (chunk) => (answer += chunk));
    socket
      .on("error", done)
      .on("close", done)
      .on("connect", () => socket.write(text, "latin1"));
  });
  socket.destroy();
  return [...answer.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].map(([, status]) => Number(status));
}

/** @returns what was wrong, one line each. */
export async function sendMalformed(base: string): Promise<{ sent: number; faults: string[] }> {
  const sending = Object.entries(MALFORMED).map(async ([what, text]) => {
    const bad = (await send(new URL(base), text)).filter((status) => status >= 500 || (status >= 200 && status < 300));
    return bad.length ? [`${what}: answered ${bad}`] : [];
  });
  const faults = (await Promise.all(sending)).flat();
  const after = await fetch(`${base}/.well-known/oauth-authorization-server`).catch(() => undefined);
  await after?.body?.cancel();
  if (after?.status !== 200) faults.push(`afterwards the server answered ${after?.status ?? "nothing"}`);
  return { sent: Object.keys(MALFORMED).length, faults };
}
