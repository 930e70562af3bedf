// The logo of a partner where its customers see it: on pages, in mail, and at its own address.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimLinks } from "#shared/domain/claim/links.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { png } from "../harness/png.ts";
import { withoutIds } from "../harness/without_ids.ts";
import { type ClaimWorld, createClaimWorld, newBrowser, newDraft, newSignInLink, prove } from "./claimant.ts";
import { keepLogo } from "./manager.ts";
import { issueLink } from "./signatory.ts";

let world: ClaimWorld;
let hash: string;
let address: string;
beforeAll(async () => {
  world = await createClaimWorld();
  hash = await keepLogo(world, world.partnerA.id, png({ width: 400, height: 100 }));
  address = `${world.environment.config.PAGES_URL}/logo/${hash}.png`;
});
afterAll(() => world.close());

const shown = () => `<img class="logo" src="/pages/logo/${hash}.png" alt="Zonneveld" width="192" height="48">`;
const mailOf = (cause: string) => world.mail("where cause like $1", `${cause}%`);

describe("contract §4 a partner's logo", () => {
  test("stands on the pages of a claim, and its name where it has none", async () => {
    const ask = newBrowser(world);
    const draft = await newDraft(world);
    expect((await ask(draft.link)).text).toContain(shown());
    await prove(world, ask, draft);
    expect((await ask(`${draft.link}/details`)).text).toContain(shown());
    expect((await ask(await newSignInLink(world, draft))).text).toContain(shown());
    const other = (await ask((await newDraft(world, {}, world.partnerB)).link)).text;
    expect(other).not.toContain("<img");
    expect(other).toContain("<small>via ");
  });

  test("stands on the mandate page of a CPO's customer, and in the mail with its link", async () => {
    const issued = await issueLink(world, {}, { send_email: true });
    expect((await newBrowser(world)(issued.link)).text).toContain(shown());
    const { html, text } = await mailOf("mandate_link:");
    expect(html).toContain(`<img src="${address}" alt="Zonneveld Laadpalen" width="192" height="48"`);
    expect(withoutIds(text)).not.toContain("png");
  });

  test("stands in mail as a hosted image with its name and size; text and links stay as they are", async () => {
    const draft = await newDraft(world, { created_at: new Date(Date.now() - 4 * 86_400_000).toISOString() });
    const other = await newDraft(
      world,
      { created_at: new Date(Date.now() - 4 * 86_400_000).toISOString() },
      world.partnerB,
    );
    const { config } = world.environment;
    await world.environment.slowDb.call(
      "run_draft_jobs",
      { kind: "worker", host: config.API_HOST, request_id: "test" },
      { links: claimLinks(world.environment), size: 100 },
    );
    const reminder = await mailOf(`claim_reminder:${draft.id}`);
    expect(reminder.html).toContain(`<img src="${address}" alt="Zonneveld" width="192" height="48"`);
    expect(withoutIds(reminder.text)).not.toContain("png");
    expect(reminder.html.match(/<img/g)).toHaveLength(1);
    const plain = await mailOf(`claim_reminder:${other.id}`);
    expect(plain.html).not.toContain("<img");
    expect(plain.html).not.toContain("{{");

    const ask = newBrowser(world);
    await ask(draft.link);
    await prove(world, ask, draft);
    expect((await mailOf(`claim_code:${draft.id}`)).html).toContain(`src="${address}" alt="Zonneveld"`);
  });

  test("is served as PNG and nothing else, for good, and by its hash alone", async () => {
    const ask = newBrowser(world);
    const { status, headers } = await ask(address);
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "image/png",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      etag: `"${hash}"`,
    });
    expect(headers.get("set-cookie")).toBeNull();
    const { png: stored } = await world.row(
      "select png from core.partner_logos where hash = $1",
      Buffer.from(hash, "hex"),
    );
    const answer = await fetch(address);
    expect(Buffer.compare(Buffer.from(await answer.arrayBuffer()), stored)).toBe(0);
    expect((await fetch(address, { headers: { "if-none-match": `"${hash}"` } })).status).toBe(304);
    for (const other of ["0".repeat(64), hash.toUpperCase(), `${hash}.svg`, "x", `../${hash}`, `${hash}%00`])
      expect((await ask(`${world.environment.config.PAGES_URL}/logo/${other}.png`)).status, other).toBe(404);
    expect((await ask(address, { form: {} })).status).toBe(404);
  });

  test("is one at a time; what it replaced is kept for mail that shows it, ten at most, 90 days", async () => {
    const partner = world.partnerB.id;
    const hashes: string[] = [];
    for (let width = 1; width <= 13; width += 1) hashes.push(await keepLogo(world, partner, png({ width })));
    const ask = newBrowser(world);
    const statusOf = async (hash?: string) =>
      (await ask(`${world.environment.config.PAGES_URL}/logo/${hash}.png`)).status;
    expect(await Promise.all(hashes.map(statusOf))).toEqual([404, 404, ...Array(11).fill(200)]);
    const draft = await newDraft(world, {}, world.partnerB);
    expect((await ask(draft.link)).text).toContain(hashes.at(-1));
    await world.row(
      "update core.partner_logos set replaced_at = now() - interval '91 days' where hash = $1 returning 1",
      Buffer.from(hashes[3] ?? "", "hex"),
    );
    expect((await runDueJobs(world)).logos_purged).toBe(1);
    expect(await statusOf(hashes[3])).toBe(404);
    expect(await statusOf(hashes[4])).toBe(200);
  });
});
