// Links and mailed codes: what opens one customer's claim or mandate, tried at the link of another.

import { claimToken } from "#shared/domain/claim/links.ts";
import { pages as PAGES } from "../../supabase/functions/pages/flows.ts";
import type { Holder } from "../contract/samples.ts";
import { createAccount } from "../harness/people.ts";
import type { OAuth } from "../oauth/oauth_world.ts";
import { type Browser, formToken, mailedCode, newBrowser, type PageAnswer, prove } from "../pages/claimant.ts";
import { mailedCode as mandateCode, pageClient, readMandate } from "../pages/signatory.ts";
import type { Told } from "./requests.ts";

/** Links that somebody may hold: of a customer who signed, of one who did not begin, and of a mandate to sign. */
export type Links = { signed: Claim; begun: Claim; mandate: { link: string; connection_id: string } };
type Claim = { id: string; email: string; link: string };

export async function linksOf(world: OAuth, { client, keyed }: Holder): Promise<Links> {
  const { PAGES_URL } = world.environment.config;
  const claimOf = async (status: string): Promise<Claim> => {
    const row = await world.row(
      "select id, email from core.drafts where partner_id = $1 and status = $2 order by id limit 1",
      keyed,
      status,
    );
    return { ...row, link: `${PAGES_URL}/claim/${claimToken(world.environment, row.id)}` };
  };
  const { partner_id } = await world.row("select partner_id from core.oauth_clients where id = $1", client.id);
  const { account_id, connection_id } = await createAccount(world, { id: partner_id, client });
  const issued = await world.post("/v1/mandate-links", { account_id }, await client.token());
  return {
    signed: await claimOf("active"),
    begun: await claimOf("invited"),
    mandate: { link: issued.body.mandate_link, connection_id },
  };
}

type Attack = { world: OAuth; victim: Links; other: Links; traces: ReadonlyMap<string, string>; told: Told };

/** @returns what was wrong, one line each. */
export async function attackLinks({ world, victim, other, traces, told }: Attack): Promise<string[]> {
  const faults: string[] = [];
  const own: Browser = newBrowser(world);
  await prove(world, own, other.begun);
  const stranger = pageClient(world);
  // the session of the other's claim, shown at this one: the browser itself would not send it there
  const headers = { cookie: own.cookie() };
  const form_token = formToken((await own(`${other.begun.link}/details`)).text);
  const code = await mailedCode(world, other.begun);
  const shape = ({ status, location }: PageAnswer) => `${status} ${location ?? ""}`;
  for (const { id, link } of [victim.signed, victim.begun])
    for (const { method, path } of PAGES.routes(world.environment).routes) {
      const [, rest] = /^\/pages\/claim\/:token(\/.*)?$/.exec(path) ?? [];
      if (method === "ALL" || !path.startsWith("/pages/claim/:token")) continue;
      const steps = /:step\{([^}]*)\}/.exec(path)?.[1]?.split("|") ?? [""];
      for (const step of steps) {
        const address = link + (rest ?? "").replace(/:step\{[^}]*\}/, step).replace(":line", id);
        const form = {
          form_token,
          code,
          seen: "0".repeat(16),
          name: "Sanne de Vries",
          agree: "yes",
          email: other.begun.email,
        };
        const answer = await stranger(address, method === "POST" ? { form, headers } : { headers });
        const unsigned = await stranger(address, method === "POST" ? { form } : {});
        const what = `${method} ${address} by the claim of another`;
        told("claim link", "claim of another", answer.status < 400 ? "as nobody's" : String(answer.status));
        if (answer.status >= 500) faults.push(`${what}: ${answer.status}`);
        if (shape(answer) !== shape(unsigned)) faults.push(`${what}: ${shape(answer)}, not ${shape(unsigned)}`);
        for (const [trace, table] of traces)
          if (answer.text.includes(trace) && !unsigned.text.includes(trace))
            faults.push(`${what}: shows ${trace} of ${table}`);
      }
    }
  const seen = await readMandate(stranger, other.mandate.link);
  await stranger(`${other.mandate.link}/code`, { form: { seen } });
  const theirs = await readMandate(stranger, victim.mandate.link);
  const form = {
    seen: theirs,
    code: await mandateCode(world, other.mandate.connection_id),
    name: "Sanne de Vries",
    agree: "yes",
  };
  const signed = await stranger(`${victim.mandate.link}/sign`, { form });
  told("mandate link", "mailed code of another", String(signed.status));
  if (signed.status !== 422) faults.push(`a mandate is signed by the code of another: ${shape(signed)}`);
  return faults;
}
