// A customer whom the demo's partner has brought and who has not begun: npm start prints their claim link.

import { partnerApi } from "./demo_api.ts";
import type { Stack } from "./stack.ts";

type Draft = { claim_url: string | null; status: string };

const REFERENCE = "K-0002";

/** The claim link of a draft that can be claimed: the one of before, or a new one where that was signed, withdrawn or expired. */
export async function demoClaimLink(stack: Pick<Stack, "base_url" | "demo">): Promise<string> {
  const ask = partnerApi(stack);
  const { drafts } = await ask<{ drafts: Draft[] }>(`/partner/drafts?external_ref=${REFERENCE}`);
  const open = drafts.find(({ claim_url }) => claim_url)?.claim_url;
  if (open) return open;
  // an address that has an account is nobody's to claim any more
  const email = drafts.length === 0 ? "klant@example.nl" : `klant-${drafts.length + 1}@example.nl`;
  const house_number = String(14 + drafts.length);
  const row = {
    type: "particulier",
    naam: "Noor Bakker",
    email,
    external_ref: REFERENCE,
    postal_code: "3818 LH",
    house_number,
  };
  const { claim_urls } = await ask<{ claim_urls: { claim_url: string }[] }>("/partner/customers", {
    consent: true,
    send_invite: false,
    ...row,
  });
  const [made] = claim_urls;
  if (!made) throw new Error("no draft was made");
  return made.claim_url;
}
