// How a partner looks to its customers, set in its pages by plain HTTP.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { png } from "../harness/png.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let ask: Browser;
let stranger: Browser;
beforeAll(async () => {
  world = await createCustomerWorld();
  ask = await portalBrowser(world, await newManager(world, world.partnerA));
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
});
afterAll(() => world.close());

const PAGE = "/settings/branding";
const tokenOf = async (browser: Browser) => formToken((await browser(portal(world, PAGE))).text);

async function save(fields: Record<string, string>, browser = ask) {
  return browser(portal(world, PAGE), { form: { form_token: await tokenOf(browser), ...fields } });
}

/** Sends a file as the form of the page does. */
async function upload(
  file: Uint8Array | null,
  { browser = ask, token = undefined as string | undefined, headers = {} } = {},
) {
  const form = new FormData();
  form.set("form_token", token ?? (await tokenOf(browser)));
  form.set("logo", file ? new File([new Uint8Array(file)], "logo.png", { type: "image/png" }) : new File([], ""));
  return browser(portal(world, `${PAGE}/logo`), { form, headers });
}

const logos = async ({ id } = world.partnerA) =>
  Number(
    (await world.row("select count(*) as n from core.partner_logos where partner_id = $1 and replaced_at is null", id))
      .n,
  );
const address = (text: string) => /<img class="logo" src="([^"]+)"/.exec(text)?.[1] ?? "";

describe("contract §4 how a partner looks", () => {
  test.each([
    ["#7A1FA2", "#7a1fa2", "Op knoppen staat uw kleur met witte letters. Links hebben uw kleur, en op een donkere"],
    ["ffd400", "#ffd400", "Op knoppen staat uw kleur met zwarte letters"],
    ["#888", "#888888", "Links hebben een donkerdere of lichtere tint van uw kleur"],
    ["", null, "geen eigen kleur gekozen"],
  ])("the color %s is kept as %s, and the page says how it is used", async (typed, kept, said) => {
    const { status, text } = await save({ display_name: "Zonneveld", primary_color: typed, reply_to: "" });
    expect(status).toBe(200);
    expect(text).toContain("Uw naam en kleur zijn bewaard.");
    expect(text).toContain(said);
    const { branding } = await world.row("select branding from core.partners where id = $1", world.partnerA.id);
    expect(branding.primary_color?.toLowerCase() ?? null).toBe(kept);
    expect(text).toContain(`preview.css?${new URLSearchParams({ color: branding.primary_color ?? "" })}"`);
  });

  test("what cannot be stored is said at its field, and nothing is stored", async () => {
    await save({ display_name: "Zonneveld", primary_color: "#7a1fa2", reply_to: "hulp@zonneveld.example" });
    const before = (await world.row("select branding from core.partners where id = $1", world.partnerA.id)).branding;
    const wrong = { display_name: "x".repeat(121), primary_color: "red; }", reply_to: "nobody" };
    const { status, text } = await save(wrong);
    expect(status).toBe(422);
    for (const id of Object.keys(wrong)) expect(text).toContain(`id="${id}-error"`);
    expect((await world.row("select branding from core.partners where id = $1", world.partnerA.id)).branding).toEqual(
      before,
    );
    expect(before).not.toHaveProperty("logo_url");
  });

  test("a name that is HTML stays text", async () => {
    const { text } = await save({ display_name: '"><script>1</script>', primary_color: "", reply_to: "" });
    expect(text).not.toContain("<script>");
    await save({ display_name: "Zonneveld", primary_color: "", reply_to: "" });
  });

  test("what was typed can be looked at before it is saved, without script", async () => {
    await save({ display_name: "Zonneveld", primary_color: "#7a1fa2", reply_to: "" });
    const { status, text } = await save({ display_name: "Zon", primary_color: "ffd400", reply_to: "", look: "yes" });
    expect(status).toBe(200);
    expect(text).toContain(`preview.css?color=%23ffd400"`);
    expect(text).toContain("zwarte letters");
    expect(text).toContain('name="primary_color" value="ffd400"');
    expect(text).toMatch(/<div class="letter"><p>Zon</);
    const { branding } = await world.row("select branding from core.partners where id = $1", world.partnerA.id);
    expect(branding).toMatchObject({ display_name: "Zonneveld", primary_color: "#7a1fa2" });
  });

  test("the preview uses a color on both backgrounds, and takes nothing else", async () => {
    const style = async (color: string) =>
      (await ask(portal(world, `${PAGE}/preview.css?${new URLSearchParams({ color })}`))).text;
    expect(await style("#ffd400")).toContain("--fill: #ffd400; --on-fill: #000000;");
    expect(await style("red;}*{display:none")).not.toContain("--fill:");
  });
});

describe("contract §4 uploading a logo", () => {
  test("it is shown from then on, here and to customers; another takes its place; removing asks first", async () => {
    const first = await upload(png({ width: 100, height: 40 }));
    expect([first.status, heading(first.text)]).toEqual([200, "Huisstijl"]);
    expect(first.text).toContain("Uw logo is bewaard.");
    expect((await ask(address(first.text))).headers.get("content-type")).toBe("image/png");
    const second = address((await upload(png({ width: 50, height: 40 }))).text);
    expect(second).not.toBe(address(first.text));
    expect(await logos()).toBe(1);
    expect(await logos(world.partnerB)).toBe(0);
    expect((await stranger(portal(world, PAGE))).text).not.toContain('class="logo"');
    expect((await stranger(portal(world, `${PAGE}/logo/remove`))).location).toMatch(/\/settings\/branding\?/);

    const asked = await ask(portal(world, `${PAGE}/logo/remove`));
    expect(heading(asked.text)).toBe("Haalt u het logo weg?");
    expect(await logos()).toBe(1);
    const form = { form_token: formToken(asked.text) };
    const gone = await ask(portal(world, `${PAGE}/logo/remove`), { form });
    expect(gone.text).toContain("Uw logo is weggehaald.");
    expect(await logos()).toBe(0);
    expect((await ask(portal(world, `${PAGE}/logo/remove`), { form })).text, "twice is once").toContain("weggehaald");
    const audited = await world.row(
      "select count(*) as n from core.audit_log where partner_id = $1 and action = 'partner.logo_changed'",
      world.partnerA.id,
    );
    expect(Number(audited.n)).toBe(4);
  });

  test.each<[string, () => Uint8Array | null, string]>([
    ["no file", () => null, "Kies een bestand"],
    ["an SVG", () => Buffer.from("<svg><script>1</script></svg>"), "Dit is geen PNG"],
    ["200 kB", () => png({ after: Buffer.alloc(200_000) }), "groter dan 100 kB"],
    ["2000 pixels", () => png({ width: 2000, height: 1 }), "1000 pixels breed of hoog"],
    ["a lie in its header", () => png({ height: 5, raw: Buffer.alloc(68) }), "beschadigd"],
  ])("%s is refused at the field, and what was there stays", async (_what, file, said) => {
    await upload(png());
    const { status, text } = await upload(file());
    expect(status).toBe(422);
    expect(text).toContain('id="logo-error"');
    expect(text).toContain(said);
    expect(address(text)).not.toBe("");
  });

  test("20 MB are not read, and said to be too large in the reader's language", async () => {
    const token = await tokenOf(ask);
    const { status, text } = await upload(Buffer.alloc(20 * 1024 * 1024), { token });
    expect([status, heading(text)]).toEqual([413, "Dit bestand is te groot"]);
    const english = await upload(Buffer.alloc(20 * 1024 * 1024), { token, headers: { "accept-language": "en" } });
    expect(heading(english.text)).toBe("This file is too large");
  });

  test("a form of elsewhere, of nobody, or of another kind does nothing", async () => {
    await upload(png({ width: 7 }));
    const before = address((await ask(portal(world, PAGE))).text);
    expect((await upload(png({ width: 8 }), { token: "0".repeat(64) })).status).toBe(403);
    expect((await upload(png({ width: 8 }), { token: await tokenOf(stranger) })).status).toBe(403);
    expect((await upload(png({ width: 8 }), { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
    const form = { form_token: await tokenOf(ask), logo: "x" };
    expect((await ask(portal(world, `${PAGE}/logo`), { form })).status, "no file can be in it").toBe(403);
    const multipart = new FormData();
    multipart.set("form_token", await tokenOf(ask));
    expect((await ask(portal(world, PAGE), { form: multipart })).status, "a form that takes no file").toBe(403);
    const broken = await ask(portal(world, `${PAGE}/logo`), {
      form: { form_token: "x" },
      headers: { "content-type": "multipart/form-data; boundary=x" },
    });
    expect(broken.status).toBe(400);
    expect(address((await ask(portal(world, PAGE))).text)).toBe(before);
  });

  test("ten at once leave one", async () => {
    const token = await tokenOf(ask);
    await Promise.all(Array.from({ length: 10 }, (_, width) => upload(png({ width: width + 20 }), { token })));
    expect(await logos()).toBe(1);
  });
});
