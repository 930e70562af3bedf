// What others do with what is theirs: every endpoint, every form of their pages, a claim and a mandate from the mail to the end. None of it
// reaches over to somebody else.

import { ENDPOINTS } from "../contract/samples.ts";
import type { OAuth } from "../oauth/oauth_world.ts";
import { answer, changeForm, freshAddress, newBrowser, prove, readyToSign } from "../pages/claimant.ts";
import { pageClient, readyToSign as readyForMandate } from "../pages/signatory.ts";
import { crawl, type Visitor } from "./crawl.ts";
import type { Links } from "./links.ts";
import { admits, type Bearer, sendSample } from "./requests.ts";

/** What ends most goes last. */
const ENDS = [/revoke|remove|withdraw|stop/i, /\/data\/end/, /sign-out|resetSandbox/];
const endsLast = <One>(all: readonly One[], name: (one: One) => string): One[] => {
  const place = (one: One) => ENDS.findLastIndex((ends) => ends.test(name(one)));
  return all.toSorted((one, other) => place(one) - place(other));
};

type Own = {
  world: OAuth;
  bearers: readonly Bearer[];
  visitors: readonly Visitor[];
  links: Links;
  traces: ReadonlyMap<string, string>;
};

/** @returns what was wrong, one line each, and what succeeded. */
export async function doOwn({ world, bearers, visitors, links, traces }: Own) {
  const faults = new Set<string>();
  const done: string[] = [];
  const look = (what: string, status: number, text: string) => {
    if (status >= 500) faults.add(`${what}: ${status} ${text.slice(0, 200)}`);
    else if (status < 400) done.push(what);
    for (const [trace, table] of traces) if (text.includes(trace)) faults.add(`${what}: shows ${trace} of ${table}`);
  };

  const { begun, mandate } = links;
  const browser = newBrowser(world);
  const ask: typeof browser = Object.assign(
    async (...sent: Parameters<typeof browser>) => {
      const page = await browser(...sent);
      look(`${sent[1]?.form ? "POST" : "GET"} ${sent[0].replace(begun.link, "/claim")}`, page.status, page.text);
      return page;
    },
    { ...browser },
  );
  await prove(world, ask, begun);
  await answer(ask, begun, { address: freshAddress() });
  await ask(`${begun.link}/sign`, { form: await readyToSign(world, ask, begun) });
  await ask(`${begun.link}/payout`, {
    form: { ...(await changeForm(world, ask, begun, "payout")), iban: "NL20INGB0001234567" },
  });
  await ask(`${begun.link}/revoke`, { form: await changeForm(world, ask, begun, "revoke") });
  const signs = pageClient(world);
  const form = await readyForMandate(world, signs, { ...mandate, token: "", account_id: "" });
  const signed = await signs(`${mandate.link}/sign`, { form });
  look("POST /mandate/sign", signed.status, signed.text);

  for (const visitor of visitors)
    for (const { path, form } of endsLast(await crawl(world, visitor), ({ path, form }) => (form ? path : ""))) {
      const page = await visitor.ask(path, form ? { form: { ...form, form_token: visitor.form_token } } : {});
      look(`${form ? "POST" : "GET"} ${path} by ${visitor.name}`, page.status, page.text);
    }

  for (const endpoint of endsLast(ENDPOINTS, ({ id }) => id))
    for (const bearer of bearers) {
      if (endpoint.caller.kind === "worker" || !admits(endpoint, bearer)) continue;
      const { status, body } = await sendSample(world, bearer.sample(endpoint), bearer.token);
      look(`${endpoint.id} by ${bearer.name}`, status, typeof body === "string" ? body : JSON.stringify(body ?? null));
    }
  return { faults: [...faults], done };
}
