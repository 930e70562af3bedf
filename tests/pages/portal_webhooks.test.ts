// Webhooks in a partner's pages by plain HTTP: what the API does, asked for by forms; sent by the worker to a receiver of ours.

import { Webhook as Standard } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { typesOf } from "#shared/domain/events.ts";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/worker/app.ts";
import { type Received, type Receiver, startReceiver, status } from "../events/receiver.ts";
import { createSandboxWorld, type SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading } from "./claimant.ts";
import { type Manager, newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let receiver: Receiver;
let manager: Manager;
let ask: Browser;
let stranger: Browser;
beforeAll(async () => {
  receiver = await startReceiver();
  world = await createSandboxWorld({ limits: "lifted", variables: { WEBHOOK_ALLOW_LOOPBACK: "true" } });
  const worker = serve(surface, world.environment);
  world.environment.kick = () =>
    world.environment.waitUntil(
      worker.fetch(
        new Request("http://api.test/worker/kick", {
          method: "POST",
          headers: { authorization: `Bearer ${world.environment.config.WORKER_SECRET}` },
        }),
      ),
    );
  manager = await newManager(world, world.partnerA);
  ask = await portalBrowser(world, manager);
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
});
afterAll(async () => {
  await world.close();
  await receiver.close();
});

const PAGE = "/settings/webhooks";
const once = (text: string) => /name="once" value="([^"]+)"/.exec(text)?.[1] ?? "";
const secretOf = (text: string) => /<code[^>]*>(whsec_[^<]+)<\/code>/.exec(text)?.[1] ?? "";
const clear = () => world.rows("delete from core.webhook_endpoints");
const endpoints = (partner = world.partnerA) =>
  world.rows("select * from core.webhook_endpoints where partner_id = $1 order by created_at, id", partner.id);

/** What the page of a form puts in it, and `fields`. */
async function formOf(page: string, fields: Record<string, string> = {}, browser = ask) {
  const { text } = await browser(portal(world, page));
  return { form_token: formToken(text), once: once(text), ...fields };
}
const send = async (page: string, fields: Record<string, string> = {}, to = page, browser = ask) =>
  browser(portal(world, to), { form: await formOf(page, fields, browser) });

/** A new endpoint of partner A, and the page that shows its secret. */
async function add(fields: Record<string, string> = {}) {
  await clear();
  const { status: code, text } = await send(PAGE, { url: receiver.url, ...fields });
  expect(code, text).toBe(200);
  const [{ id }] = await endpoints();
  return { id: String(id), page: `${PAGE}/${id}`, text };
}

/** Whether what arrived is signed with a secret, at the moment of the world's clock. */
async function signedBy(secret: string): Promise<boolean> {
  const [{ id, headers, text }] = receiver.received as [Received];
  const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
  return headers["webhook-signature"]?.split(" ").includes(new Standard(secret).sign(id, at, text)) ?? false;
}

describe("§6 webhooks in a partner's pages", () => {
  test("one is added for everything, its secret shown once; ten forms at once add one, with the same secret", async () => {
    await clear();
    const { status: code, text } = await ask(portal(world, PAGE));
    expect([code, heading(text)]).toEqual([200, "Webhooks"]);
    for (const type of typesOf("partner")) expect(text).toContain(`value="${type}"`);
    const form = { form_token: formToken(text), once: once(text), url: receiver.url, which: "all" };
    const sent = await Promise.all(Array.from({ length: 10 }, () => ask(portal(world, PAGE), { form })));
    expect(new Set(sent.map((answer) => secretOf(answer.text))).size).toBe(1);
    expect(secretOf(sent[0]?.text ?? "")).toMatch(/^whsec_[\w+/]{43}=$/);
    const made = await endpoints();
    expect(made).toHaveLength(1);
    // made on the partner's own pages, which show whom it brought
    expect(made[0]).toMatchObject({ types: null, status: "enabled", pseudonymous: false });
    const shown = (await ask(portal(world, `${PAGE}/${made[0].id}`))).text;
    expect(shown).toContain("Alles, ook wat er later bij komt");
    expect(shown).not.toContain("whsec_");
    expect((await ask(portal(world, "/settings"))).text).toContain("1 aan");
    expect((await ask(portal(world, `${PAGE}?lang=en`))).text).toContain("Add a webhook");
  });

  test("for some types alone", async () => {
    const { text } = await add({ which: "some", type: "draft.active" });
    expect((await endpoints())[0]).toMatchObject({ types: ["draft.active"] });
    expect(text).toContain("Een aanmelding is klant geworden");
    expect(text).not.toContain("U koos alles");
  });

  test("all types that are ticked stay a list; what is ticked beside everything is said not to count", async () => {
    await clear();
    const types = typesOf("partner");
    const ticks = async (which: string) =>
      new URLSearchParams([
        ...Object.entries(await formOf(PAGE, { url: receiver.url, which })),
        ...types.map((type) => ["type", type]),
      ]);
    expect((await ask(portal(world, PAGE), { form: await ticks("some") })).text).not.toContain("U koos alles");
    expect((await endpoints())[0]?.types).toEqual(types);
    await clear();
    expect((await ask(portal(world, PAGE), { form: await ticks("all") })).text).toContain(
      "U koos alles. Wat u aanvinkte, telt daarom niet apart.",
    );
    expect((await endpoints())[0]?.types).toBeNull();
  });

  test("every attempt of 30 days has a page; the file has the time of the page", async () => {
    const { id, page } = await add();
    await world.row(
      `insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, status, ms)
       select $1, $2, gen_random_uuid(), 'draft.claimed', n, '2026-11-20T12:00:00Z', 200, 5 from generate_series(1, 45) n returning 1`,
      world.partnerA.id,
      id,
    );
    const seen: string[] = [];
    for (const [at, range] of [
      [1, "1 tot en met 20 van 45"],
      [2, "21 tot en met 40 van 45"],
      [3, "41 tot en met 45 van 45"],
    ] as const) {
      const { text } = await ask(portal(world, `${page}?page=${at}`));
      expect(text).toContain(`${range}. Wij bewaren ze 30 dagen. De tijden zijn Nederlandse tijd.`);
      expect(text).toContain(`page=3#attempts"`);
      seen.push(...[...text.matchAll(/<small>poging (\d+)</g)].map(([, nth = ""]) => nth));
    }
    expect(seen).toEqual(Array.from({ length: 45 }, (_, back) => String(45 - back)));
    expect((await ask(portal(world, `${page}?page=4`))).location).toContain(page);
    const [head, first] = (await ask(portal(world, `${page}/attempts.csv`))).text.split("\r\n");
    expect(head).toContain('"Wanneer (Nederlandse tijd)";');
    expect(first).toMatch(/^"2026-11-20 13:00:00";/);
  });

  test("what is refused is said at the field, and nothing is made", async () => {
    await clear();
    const url = [
      "",
      "x",
      "http://laadpunt.example.com",
      "https://127.0.0.1",
      "https://[::ffff:10.0.0.1]",
      "https://u:p@laadpunt.example.com",
      "https://printer.local",
      `https://laadpunt.example.com/${"x".repeat(500)}`,
    ];
    for (const each of url) {
      const { status: code, text } = await send(PAGE, { url: each });
      expect([each, code]).toEqual([each, 422]);
      expect(text).toContain('id="url-error"');
    }
    for (const type of ["", "mandate.sign", "account.created"]) {
      const { status: code, text } = await send(PAGE, { url: receiver.url, which: "some", type });
      expect([code, text.includes('id="which-error"')]).toEqual([422, true]);
    }
    expect((await send(PAGE, { url: receiver.url, once: "x" })).status).toBe(403);
    expect(await endpoints()).toEqual([]);
    for (let nth = 0; nth < 10; nth++) expect((await send(PAGE, { url: receiver.url })).status).toBe(200);
    const eleventh = await send(PAGE, { url: receiver.url });
    expect(eleventh.status).toBe(422);
    expect(eleventh.text).toContain("U heeft al tien adressen");
  });

  test("a test is sent by the worker, signed with the secret that was shown, and what came of it is told and listed", async () => {
    const { page, text } = await add();
    const secret = secretOf(text);
    receiver.received = [];
    const tested = await send(page, {}, `${page}/test`);
    expect(tested.text).toContain("De test is aangekomen: het adres antwoordde met 204.");
    expect(tested.text).toContain("aangekomen (204)");
    expect(await signedBy(secret)).toBe(true);
    receiver.answer = status(500);
    const failed = await send(page, {}, `${page}/test`);
    expect(failed.text).toContain("De test is niet aangekomen: het adres antwoordde met 500.");
    receiver.answer = status(204);
    expect((await ask(portal(world, `${page}?lang=en`))).text).toContain("the address answered with 500");
  });

  test("paused, nothing can be sent; turned on, it goes on; an unknown reason reads as it is", async () => {
    const { page, id } = await add();
    expect((await send(page, { enable: "no" }, `${page}/switch`)).text).toContain("De webhook is gepauzeerd.");
    const paused = (await ask(portal(world, page))).text;
    expect(paused).toContain("Uit: gepauzeerd op deze pagina&#39;s. Er gaat niets verloren.");
    expect(paused).not.toContain(`${page}/test`);
    expect((await send(page, {}, `${page}/test`)).text).toContain("Zet hem eerst aan");
    expect((await send(page, { which: "failed" }, `${page}/replay`)).text).toContain("Zet hem eerst aan");
    await world.rows("update core.webhook_endpoints set disabled_reason = 'moon' where id = $1", id);
    expect((await ask(portal(world, page))).text).toContain("Uit: moon.");
    expect((await send(page, { enable: "yes" }, `${page}/switch`)).text).toContain("De webhook staat aan");
    expect((await endpoints())[0].status).toBe("enabled");
  });

  test("the secret is replaced after a second question, once however often the form is sent; both sign for a day", async () => {
    const { page, text } = await add();
    const before = secretOf(text);
    const form = await formOf(`${page}/rotate`);
    const sent = await Promise.all(Array.from({ length: 5 }, () => ask(portal(world, `${page}/rotate`), { form })));
    const secrets = [...new Set(sent.map((answer) => secretOf(answer.text)))];
    expect(secrets).toHaveLength(1);
    expect(secrets[0]).not.toBe(before);
    expect((await ask(portal(world, page))).text).toContain(
      "Tot 21 november 2026 om 13:00 ondertekenen wij ook met het vorige.",
    );
    receiver.received = [];
    await send(page, {}, `${page}/test`);
    for (const secret of [before, secrets[0] ?? ""]) expect(await signedBy(secret)).toBe(true);
  });

  test("what happened lately is sent again, and how much is told", async () => {
    const { page } = await add();
    const before = Number((await endpoints())[0].delivered_to);
    await world.rows(
      "select private.append_event($1, $1, 'draft.claimed', gen_random_uuid(), '{\"status\": \"claimed\"}') from generate_series(1, 3)",
      world.partnerA.id,
    );
    await world.post("/worker/kick", {}, world.environment.config.WORKER_SECRET);
    await expect.poll(async () => Number((await endpoints())[0].delivered_to)).toBe(before + 3);
    expect((await send(page, { which: "24" }, `${page}/replay`)).text).toContain(
      `Wij sturen ${before + 3} gebeurtenissen opnieuw.`,
    );
    expect((await send(page, { which: "failed" }, `${page}/replay`)).text).toContain(
      "Er is niets om opnieuw te sturen.",
    );
    for (const which of ["", "x", "1e9"]) expect((await send(page, { which }, `${page}/replay`)).status).toBe(422);
  });

  test("one event is looked at as it was sent, with its time, and sent again alone", async () => {
    const { page } = await add();
    await world.rows(
      "select private.append_event($1, $1, 'draft.claimed', gen_random_uuid(), '{\"status\": \"claimed\"}')",
      world.partnerA.id,
    );
    await world.post("/worker/kick", {}, world.environment.config.WORKER_SECRET);
    const attempt = async () => (await ask(portal(world, page))).text.match(/\/event\/([0-9a-f-]{36})[^"]*"/)?.[1];
    await expect.poll(attempt).toBeDefined();
    const id = (await attempt()) ?? "";
    const { text } = await ask(portal(world, page));
    expect(text).toMatch(/in \d+,\d\d s/);
    const count = text.match(/\/event\/[0-9a-f-]{36}/g)?.length;
    expect(text).toContain(`1 tot en met ${count} van ${count}. Wij bewaren ze 30 dagen.`);
    const file = await ask(portal(world, `${page}/attempts.csv`));
    expect(file.text.split("\r\n").filter((line) => line.includes(id))).toHaveLength(1);
    expect((await stranger(portal(world, `${page}/attempts.csv`))).status).toBe(404);
    const path = `/event/${id}`;
    const shown = await ask(portal(world, page + path));
    expect(heading(shown.text)).toBe("Een gebeurtenis");
    const body = shown.text.match(/<pre[^>]*>(.*?)<\/pre>/s)?.[1]?.replaceAll("&quot;", '"') ?? "";
    const sent = receiver.received.find((each) => each.id === id);
    expect(JSON.parse(body)).toEqual(sent?.body);
    expect((await send(page + path)).text).toContain("1 gebeurtenis");
    expect(await world.rows("select event_id, attempts from core.webhook_retries")).toEqual([
      { event_id: id, attempts: 0 },
    ]);
    expect((await stranger(portal(world, page + path))).status).toBe(404);
    const gone = await ask(portal(world, `${page}/event/00000000-0000-4000-8000-000000000000`));
    expect(gone.text).toContain("bewaren wij niet meer");
  });

  test("address and types are changed; what is wrong is said at the field, and the secret stays", async () => {
    const { page } = await add();
    const [before] = await endpoints();
    const url = `${receiver.url}/elders`;
    const wrong = await send(`${page}/change`, { url: "http://voorbeeld.nl", which: "some" });
    expect([wrong.status, wrong.text.includes('id="url-error"'), wrong.text.includes('id="which-error"')]).toEqual([
      422,
      true,
      true,
    ]);
    const [type = ""] = typesOf("partner");
    expect((await send(`${page}/change`, { url, which: "some", type })).text).toContain("De webhook is gewijzigd.");
    const [after] = await endpoints();
    expect(after).toMatchObject({ url, types: [type], secret_ciphertext: before?.secret_ciphertext });
    expect((await ask(portal(world, `${page}/change`))).text).toContain(`value="${type}" checked`);
    expect((await send(`${page}/change`, { url, which: "all" })).text).toContain("De webhook is gewijzigd.");
    expect((await endpoints())[0]?.types).toBeNull();
    expect((await stranger(portal(world, `${page}/change`))).status).toBe(404);
  });

  test("it is removed after a second question; then its pages are none", async () => {
    const { page } = await add();
    expect((await ask(portal(world, `${page}/remove`))).text).toContain("Wij sturen niets meer naar dit adres");
    const form = await formOf(page);
    expect((await send(`${page}/remove`)).text).toContain("De webhook is verwijderd.");
    expect(await endpoints()).toEqual([]);
    for (const path of ["", "/rotate", "/remove"]) expect((await ask(portal(world, page + path))).status).toBe(404);
    const again = await ask(portal(world, `${page}/remove`), { form });
    expect(again.location).toContain("/settings/webhooks?");
    for (const path of ["/test", "/switch", "/replay", "/rotate"])
      expect([
        path,
        (await ask(portal(world, page + path), { form: { ...form, which: "1", once: "x".repeat(22) } })).status,
      ]).toEqual([path, 404]);
  });

  test("another partner's endpoint, a client's, and what is no id, are none", async () => {
    const { page, id } = await add();
    const form = { ...(await formOf(PAGE, {}, stranger)), which: "1", enable: "no" };
    const paths = ["/test", "/switch", "/replay", "/rotate"];
    for (const path of ["", "/rotate", "/remove"])
      expect((await stranger(portal(world, page + path))).status).toBe(404);
    for (const path of paths) expect((await stranger(portal(world, page + path), { form })).status).toBe(404);
    await stranger(portal(world, `${page}/remove`), { form });
    expect((await stranger(portal(world, PAGE))).text).not.toContain(receiver.url);
    await world.rows("update core.webhook_endpoints set owner_id = gen_random_uuid() where id = $1", id);
    expect((await ask(portal(world, page))).status).toBe(404);
    for (const path of paths) expect((await send(PAGE, { which: "1" }, page + path)).status).toBe(404);
    expect((await ask(portal(world, `${PAGE}/x`))).status).toBe(404);
    expect(await endpoints()).toHaveLength(1);
  });

  test("a form of elsewhere does nothing; a new one and another secret need a sign-in of the last 15 minutes", async () => {
    const { page } = await add();
    for (const path of ["/test", "/switch", "/replay", "/rotate", "/remove"])
      expect((await ask(portal(world, page + path), { form: { form_token: "0".repeat(64), which: "1" } })).status).toBe(
        403,
      );
    const before = await endpoints();
    const typed = "https://elders.example/typed";
    const forms = {
      add: await formOf(PAGE, { url: receiver.url }),
      rotate: await formOf(`${page}/rotate`),
      change: await formOf(`${page}/change`, { url: typed, which: "all" }),
    };
    await world.rows(
      "update auth.sessions set created_at = private.now() - interval '16 minutes' where user_id = $1",
      manager.user_id,
    );
    for (const [path, form] of [
      [PAGE, forms.add],
      [`${page}/rotate`, forms.rotate],
      [`${page}/change`, forms.change],
    ] as const) {
      expect((await ask(portal(world, path))).text).toContain("Daarom mailen wij u eerst een code");
      const { text } = await ask(portal(world, path), { form });
      expect(heading(text)).toBe("Vul de code in");
      expect(text).toContain(`/portal/code?lang=nl&amp;to=${encodeURIComponent(path)}`);
    }
    expect(await endpoints()).toEqual(before);
    const change = `${page}/change`;
    await world.rows("update auth.sessions set created_at = private.now() where user_id = $1", manager.user_id);
    const waiting = (await ask(portal(world, change))).text;
    expect(waiting, "what was typed waits").toContain(typed);
    expect(waiting, "and has to be sent again").toContain("Er is nog niets gewijzigd");
    expect((await ask(portal(world, change))).text).not.toContain("Er is nog niets gewijzigd");

    // a session that ended leads back as well, to where the form was
    const { text } = await ask(portal(world, change));
    const form = { form_token: formToken(text), url: typed, which: "all" };
    await world.rows("delete from core.page_sessions where user_id = $1", manager.user_id);
    const ended = await ask(portal(world, `${page}/test`), { form });
    expect(ended.location).toBe(`/pages/portal/sign-in?lang=nl&to=${encodeURIComponent(page)}&out=lost`);
    ask = await portalBrowser(world, manager);
    await world.rows("update auth.sessions set created_at = private.now() where user_id = $1", manager.user_id);
  });
});
