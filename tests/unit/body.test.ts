import { expect, test } from "vitest";
import { parseJson, readMultipart, readText } from "#shared/http/body.ts";

const MAX = 1024 * 1024;

/** A request as a server hands it over: its body a stream of bytes, `sizes` in each piece. `room` is what each read had memory for. */
function arriving(bytes: Uint8Array<ArrayBuffer>, size: number, headers: Record<string, string> = {}) {
  const room: number[] = [];
  let sent = 0;
  const body = new ReadableStream({
    type: "bytes",
    autoAllocateChunkSize: 64 * 1024,
    pull(controller) {
      const { byobRequest } = controller as ReadableByteStreamController;
      const view = byobRequest?.view as Uint8Array<ArrayBuffer>;
      room.push(view.byteLength);
      const piece = bytes.subarray(sent, sent + Math.min(size, view.byteLength));
      view.set(piece);
      sent += piece.byteLength;
      if (piece.byteLength === 0) controller.close();
      byobRequest?.respond(piece.byteLength);
    },
  });
  const init = { method: "POST", body, headers, duplex: "half" } as RequestInit;
  return { request: new Request("http://api.test", init), room };
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const declared = (bytes: Uint8Array) => ({ "content-length": String(bytes.byteLength) });

test("§8 a body is read into no more memory than it declares, once", async () => {
  const bytes = bytesOf("grant_type=client_credentials");
  const { request, room } = arriving(bytes, MAX, declared(bytes));
  expect(await readText(request, MAX)).toBe("grant_type=client_credentials");
  expect(room).toEqual([bytes.byteLength]);
});

test.each([1, 3, 70_000, MAX])("§8 a body that comes %i bytes at a time is the text that was sent", async (size) => {
  const text = "één €uro 🔌 ".repeat(size < 10 ? 20 : 12_000);
  const bytes = bytesOf(text);
  for (const headers of [declared(bytes), {}]) {
    const { request, room } = arriving(bytes, size, headers);
    expect(await readText(request, MAX)).toBe(text);
    expect(Math.max(...room)).toBeLessThanOrEqual(64 * 1024);
  }
});

test("§8 a body that is cut off in the middle of a letter is no text", async () => {
  const bytes = bytesOf("€").subarray(0, 2);
  for (const headers of [declared(bytes), {}])
    await expect(readText(arriving(bytes, 1, headers).request, MAX)).rejects.toMatchObject({ code: "invalid_json" });
});

test("§8 a body that is larger than it may be is refused, by what it declares or by what comes", async () => {
  const bytes = bytesOf("x".repeat(200_000));
  const tooLarge = { code: "payload_too_large" };
  const { request, room } = arriving(bytes, MAX, declared(bytes));
  await expect(readText(request, 100_000)).rejects.toMatchObject(tooLarge);
  expect(room).toEqual([]);
  await expect(readText(arriving(bytes, MAX).request, 100_000)).rejects.toMatchObject(tooLarge);
});

test("§4.2 a form with a file that comes in pieces is the form that was sent", async () => {
  const form = new FormData();
  const csv = "email,naam\n".repeat(20_000);
  form.set("consent", "true");
  form.set("file", new Blob([csv]), "customers.csv");
  const sent = new Response(form);
  const { request } = arriving(new Uint8Array(await sent.arrayBuffer()), 9_999, {
    "content-type": sent.headers.get("content-type") ?? "",
  });
  expect(await readMultipart(request, MAX)).toEqual({ consent: "true", file: new TextEncoder().encode(csv) });
});

test("§8 JSON has at most 50 levels, and a text may have 1 MiB of them", () => {
  const nested = (levels: number) => `${'{"a":['.repeat(levels / 2)}${"]}".repeat(levels / 2)}`;
  expect(JSON.stringify(parseJson(`\ufeff${nested(50)}`, 50))).toBe(nested(50));
  const tooDeep = { code: "invalid_json", fields: { detail: "Nest JSON at most 50 levels deep." } };
  for (const text of [nested(52), `[0,${nested(50)}]`, "[".repeat(MAX / 2) + "]".repeat(MAX / 2)])
    expect(() => parseJson(text, 50)).toThrow(expect.objectContaining(tooDeep));
  for (const text of ["", "{", "[".repeat(MAX)])
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: "invalid_json", fields: {} }));
});
