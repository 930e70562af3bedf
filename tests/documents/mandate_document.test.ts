import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readPdf } from "../harness/pdf.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { issueLink, type Link, linkFor, pageClient, readyToSign } from "../pages/signatory.ts";

let world: World;
let ask: ReturnType<typeof pageClient>;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  ask = pageClient(world);
});
afterAll(() => world.close());

const secret = () => world.environment.config.WORKER_SECRET;
const run = () => world.send("/documents/run", { method: "POST", token: secret() });
const pathOf = (connection_id: string) => `/v1/connections/${connection_id}/mandate`;
const read = async (connection_id: string, client = world.partnerA.client) =>
  world.get(pathOf(connection_id), await client.token());
const documentOf = (connection_id: string) =>
  world.row(
    "select d.* from core.documents d join core.mandates m on m.id = d.mandate_id where m.connection_id = $1 order by m.created_at desc limit 1",
    connection_id,
  );

async function sign(link: Link): Promise<void> {
  const answer = await ask(`${link.link}/sign`, { form: await readyToSign(world, ask, link) });
  expect(answer.status, answer.text).toBe(303);
}

async function signed(account: Record<string, unknown> = {}): Promise<Link> {
  const link = await issueLink(world, account);
  await sign(link);
  return link;
}

describe("contract §2 GET /v1/connections/{connection_id}/mandate", () => {
  test("is missing before anybody signed, being written right after, and there from the next run on", async () => {
    const link = await issueLink(world);
    expect(await read(link.connection_id)).toMatchObject({ status: 404, body: { error: "mandate_not_found" } });
    await sign(link);
    const early = await read(link.connection_id);
    expect(early).toMatchObject({ status: 503, body: { error: "document_not_ready" } });
    expect(early.headers.get("retry-after")).toBe("5");

    expect(await run()).toMatchObject({ status: 200, body: { ok: true, rendered: 1, failed: 0 } });
    const { status, headers, body } = await read(link.connection_id);
    expect([status, headers.get("content-type")]).toEqual([200, "application/pdf"]);
    expect(headers.get("cache-control")).toBe("private, no-store");
    expect(headers.get("content-disposition")).toMatch(/^inline; filename="mandate-\d{4}(-\d{4})?-[0-9a-f]{8}\.pdf"$/);
    const digest = createHash("sha256").update(body).digest("base64");
    expect(headers.get("repr-digest")).toBe(`sha-256=:${digest}:`);

    const mandate = await world.row("select * from core.mandates where connection_id = $1", link.connection_id);
    const { attachments, text } = await readPdf(body);
    expect(attachments.map((each) => each.text)).toEqual([mandate.document]);
    expect(text).toContain(mandate.document_sha256);
    expect(text).not.toContain(mandate.address);
  });

  test("gives the same bytes each time, which are those that were stored, made when it was signed", async () => {
    const { connection_id } = await signed();
    await run();
    const first = await read(connection_id);
    expect(await run()).toMatchObject({ body: { rendered: 0 } });
    const { body } = await read(connection_id);
    expect(Buffer.compare(first.body, body)).toBe(0);
    const { pdf, sha256, created_at } = await documentOf(connection_id);
    expect(Buffer.compare(pdf, body)).toBe(0);
    expect(sha256).toBe(createHash("sha256").update(pdf).digest("hex"));
    const { signed_at } = await world.row(
      "select signed_at from core.mandates where connection_id = $1",
      connection_id,
    );
    expect(created_at).toEqual(signed_at);
    const moment = signed_at.toISOString().replace(/\.\d+/, "").replace(/[-:T]/g, "");
    expect((await readPdf(body)).created).toBe(`D:${moment}`);
  });

  test("is another partner's, another client's or nobody's: all as one that does not exist", async () => {
    const { connection_id } = await signed();
    await run();
    const other = await world.addClient(world.partnerA.id);
    for (const [id, client] of [
      [connection_id, world.partnerB.client],
      [connection_id, other],
      [crypto.randomUUID(), world.partnerA.client],
      ["no-uuid", world.partnerA.client],
    ] as const)
      expect(await read(id, client)).toMatchObject({ status: 404, body: { error: "connection_not_found" } });
    expect((await read(connection_id)).status).toBe(200);
  });

  test("takes the scope cpo:accounts:read", async () => {
    const { connection_id } = await signed();
    const answer = await world.get(pathOf(connection_id), await world.partnerA.client.token("cpo:sessions:write"));
    expect(answer).toMatchObject({ status: 403, body: { required_scope: "cpo:accounts:read" } });
  });

  test("stays after the mandate was revoked, and is the new one's after the customer signed again", async () => {
    const { connection_id, account_id } = await signed();
    await run();
    const { body: before } = await read(connection_id);
    const address = { postal_code: "1234AB", house_number: "12" };
    const revoking = { account_id, connection: address, acknowledge_mandate_lapses: true };
    const revoked = await world.post("/v1/connections:update", revoking, await world.partnerA.client.token());
    expect(revoked).toMatchObject({ status: 200, body: { mandate_revoked: true } });
    expect(Buffer.compare((await read(connection_id)).body, before)).toBe(0);

    await sign(await linkFor(world, account_id));
    expect((await read(connection_id)).status).toBe(503);
    await run();
    const { text } = await readPdf((await read(connection_id)).body);
    expect(text).toContain("1234 AB");
  });

  test("of a connection whose signatory declined there is none", async () => {
    const link = await issueLink(world);
    await ask(`${link.link}/decline`, { form: {} });
    expect(await read(link.connection_id)).toMatchObject({ status: 404, body: { error: "mandate_not_found" } });
  });
});

describe("contract §1 POST /documents/run", () => {
  test("renders each document once, however many run at once, and all that wait", async () => {
    const links = [];
    for (let count = 0; count < 12; count += 1) links.push(await signed());
    const answers = await Promise.all(Array.from({ length: 5 }, run));
    let rendered = answers.reduce((sum, { body }) => sum + body.rendered, 0);
    for (let again = 0; rendered < 12 && again < 12; again += 1) rendered += (await run()).body.rendered;
    expect(rendered).toBe(12);
    for (const { connection_id } of links) expect((await read(connection_id)).status).toBe(200);
  });

  test("what a run claimed and did not finish is due again after five minutes; what is stored first stays", async () => {
    const { connection_id } = await signed();
    const caller = { kind: "worker", host: world.environment.config.API_HOST, request_id: "test" };
    const claim = async () => JSON.parse(await world.environment.slowDb.call("lease_documents", caller, { size: 10 }));
    const [claimed] = await claim();
    expect(claimed).toMatchObject({ kind: "mandate", content: { connection_id } });
    expect(await claim()).toEqual([]);
    expect(await run()).toMatchObject({ body: { ok: true, rendered: 0 } });
    await world.row("update core.documents set due_at = due_at - interval '5 minutes' where id = $1", claimed.id);
    expect(await run()).toMatchObject({ body: { rendered: 1 } });

    const { sha256 } = await documentOf(connection_id);
    const late = Buffer.from("%PDF-late");
    const rendered = {
      ...claimed,
      pdf: late.toString("base64"),
      sha256: createHash("sha256").update(late).digest("hex"),
    };
    expect(JSON.parse(await world.environment.slowDb.call("store_document", caller, rendered))).toEqual({
      stored: false,
    });
    expect((await documentOf(connection_id)).sha256).toBe(sha256);
  });

  test("one that cannot be rendered holds up no other; the log names it, and nobody", async () => {
    const broken = await signed({ person: { full_name: "Sanne Kapot", email: "kapot@example.nl" } });
    const good = await signed();
    const { id } = await documentOf(broken.connection_id);
    const unreadable = "update core.mandates set signed_at = 'infinity' where connection_id = $1";
    await world.row(unreadable, broken.connection_id);
    expect(await run()).toMatchObject({ status: 200, body: { ok: false, rendered: 1, failed: 1 } });
    expect(world.log.filter(({ event }) => event === "document_failed")).toMatchObject([{ document_id: id }]);
    expect(JSON.stringify(world.log)).not.toContain("Kapot");
    expect((await read(good.connection_id)).status).toBe(200);
  });

  test("the database takes no document whose hash is another's", async () => {
    const { connection_id } = await signed();
    const { id } = await documentOf(connection_id);
    const storing = world.row(
      "update core.documents set pdf = '\\x25', sha256 = repeat('0', 64), rendered_at = now() where id = $1",
      id,
    );
    await expect(storing).rejects.toThrow("documents_sha256_true");
  });
});

describe("contract §2 the page of a signed mandate", () => {
  test("leads to the document, which is that of the API, and says so while it is being written", async () => {
    const link = await signed();
    const page = await ask(link.link);
    expect(page.text).toMatch(/href="[^"]*\/pdf\?lang=nl"[^>]*>(?:<svg.*?<\/svg>)? ?Bewaar als pdf/);
    const early = await ask(`${link.link}/pdf`);
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(early.text).toContain("Uw document wordt gemaakt");
    await run();
    const there = await ask(`${link.link}/pdf`);
    expect([there.status, there.headers.get("content-type")]).toEqual([200, "application/pdf"]);
    expect(there.headers.get("repr-digest")).toBe((await read(link.connection_id)).headers.get("repr-digest"));
  });

  test("before signing there is no document, and a link that is none of ours leads nowhere", async () => {
    const link = await issueLink(world);
    const early = await ask(`${link.link}/pdf`);
    expect([early.status, early.location?.split("?")[0]]).toEqual([303, new URL(link.link).pathname]);
    expect((await ask(`/pages/mandate/${"x".repeat(43)}/pdf`)).status).toBe(404);
  });

  test("shows who has an older link what was signed by that one", async () => {
    const older = await signed();
    await run();
    const digest = (await read(older.connection_id)).headers.get("repr-digest");
    const revoking = {
      account_id: older.account_id,
      connection: { postal_code: "1234AB", house_number: "14" },
      acknowledge_mandate_lapses: true,
    };
    await world.post("/v1/connections:update", revoking, await world.partnerA.client.token());
    await sign(await linkFor(world, older.account_id));
    await run();
    expect((await ask(`${older.link}/pdf`)).headers.get("repr-digest")).toBe(digest);
    expect((await read(older.connection_id)).headers.get("repr-digest")).not.toBe(digest);
  });
});

test("contract §1 a document belongs to the tenant and the owner of its account", async () => {
  const { account_id } = await createAccount(world);
  const { id } = await world.row("select id from core.mandates where document is not null limit 1");
  await expect(
    world.row(
      "insert into core.documents (partner_id, account_id, owner_id, mandate_id) select $1, id, owner_id, $3 from core.accounts where id = $2",
      world.partnerB.id,
      account_id,
      id,
    ),
  ).rejects.toThrow(/foreign key|null value|documents_of_somebody/);
});
