// Replaces every key and secret of a running stack, first as docs/operations.md rotates them, then with the old keys gone.

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { operate } from "#local/customer.ts";
import { partnerApi } from "#local/demo_api.ts";
import { newKeys } from "#local/keys.ts";
import { connected, freePort } from "#local/postgres.ts";
import { startStack } from "#local/runner.ts";
import { loadSecrets, type Secrets } from "#local/secrets.ts";
import { type Stack, writeJson } from "#local/stack.ts";
import { newSecret } from "#shared/auth/tokens.ts";
import { credentialsOf } from "../kit/credentials.ts";
import { randomOf } from "../kit/random.ts";
import { operatorCommand } from "../load/books.ts";
import { type Receiver, receiveWebhooks } from "../load/heard.ts";
import { type Journal, openJournal } from "../load/journal.ts";
import { accountOf } from "../load/writers.ts";

const RINGS = ["IBAN_KEYS", "LINK_KEYS", "OPT_OUT_KEYS", "CUSTOMER_REF_KEYS"] as const;
const ROLES = ["edge", "edge_slow", "operator"] as const;
const WEBHOOK_MS = 8_000;
const ADDRESS = "rotate@voorbeeld.nl";

type Check = { what: string; found: string; holds: boolean };
type Options = { seed: number; say?: (line: string) => void };
type Keys = Secrets["functions"];
/** What was made before any key was replaced. */
type Made = { secrets: Secrets; token: string; claim_url: string; unsubscribe_url: string; customer_ref: string };

/** What each probe answers: before, rotated with the old key kept, and with the old key gone. */
const EXPECTED: Record<string, [string, string, string]> = {
  "TOKEN_KEYS: a token of before": ["200", "200", "401"],
  "IBAN_KEYS: a webhook, with the secret of before": ["sent", "sent", "none"],
  "LINK_KEYS: a claim link of before": ["200", "200", "404"],
  "OPT_OUT_KEYS: an unsubscribe link of before": ["200", "200", "404"],
  "OPT_OUT_KEYS: somebody who opted out before": ["left out", "left out", "invited"],
  "CUSTOMER_REF_KEYS: a request with a reference of before": ["200", "200", "404"],
  "CUSTOMER_REF_KEYS: the reference in answers": ["same", "other", "other"],
  "WORKER_SECRET: the secret of before": ["200", "200", "401"],
  "METRICS_SECRET: the secret of before": ["200", "200", "401"],
  "GATEWAY_SECRET: the secret of before": ["400", "401", "401"],
  "edge: the password of before": ["connects", "refused", "refused"],
  "edge_slow: the password of before": ["connects", "refused", "refused"],
  "operator: the password of before": ["connects", "refused", "refused"],
  "everything: /health/ready": ["200", "200", "200"],
  "everything: a new token, an account, an invitation and its link": ["200", "200", "200"],
};

export async function rotate({ seed, say = () => {} }: Options) {
  const data_dir = mkdtempSync(join(tmpdir(), "ere-rotate-"));
  chmodSync(data_dir, 0o711);
  const port = await freePort();
  const found: Record<string, string[]> = {};
  let made: Made | undefined;
  let receiver: Receiver | undefined;
  let journal: Journal | undefined;
  const once: Check[] = [];
  try {
    for (const [n, next] of [undefined, rotated, replaced].entries()) {
      if (next) writeJson(join(data_dir, "secrets.json"), next(loadSecrets(data_dir)));
      const running = await startStack({ host: "sandbox", port, data_dir, fresh: false });
      try {
        const { stack } = running;
        journal ??= await openJournal(stack.base_url);
        receiver ??= await receiveWebhooks(stack, journal, randomOf(seed));
        made ??= await prepare(stack, loadSecrets(data_dir));
        for (const [what, answer] of Object.entries(await probe(stack, made, receiver, n))) {
          found[what] = [...(found[what] ?? []), answer];
        }
        for (const { promise, first } of journal.broken()) once.push({ what: promise, found: first, holds: false });
        if (n === 2) once.push(await rotateWebhook(stack, receiver), ...(await replaceCredentials(stack)));
      } finally {
        await running.stop();
      }
    }
  } finally {
    receiver?.close();
    rmSync(data_dir, { recursive: true, force: true });
  }
  const checks = [
    ...Object.entries(EXPECTED).map(([what, expected]) => ({
      what,
      found: (found[what] ?? []).join(", "),
      holds: (found[what] ?? []).join() === expected.join(),
    })),
    ...once,
  ];
  for (const { what, found, holds } of checks) say(`${holds ? "  holds " : "  BROKEN"}  ${what}: ${found}`);
  return { seed, checks };
}

/** Every key replaced; the old keys still read what they made. */
function rotated(secrets: Secrets): Secrets {
  const old: Keys = secrets.functions;
  const made = newKeys();
  const ring = (name: (typeof RINGS)[number]) => {
    const [before, after] = [JSON.parse(old[name]), JSON.parse(made[name])];
    return JSON.stringify({ current: after.current, keys: { ...before.keys, ...after.keys } });
  };
  const functions = {
    ...made,
    WORKER_SECRET: `${made.WORKER_SECRET},${old.WORKER_SECRET}`,
    METRICS_SECRET: `${made.METRICS_SECRET},${old.METRICS_SECRET}`,
    ...Object.fromEntries(RINGS.map((name) => [name, ring(name)])),
    TOKEN_KEYS: JSON.stringify({ keys: [...JSON.parse(made.TOKEN_KEYS).keys, ...JSON.parse(old.TOKEN_KEYS).keys] }),
  };
  return { ...secrets, functions, passwords: newPasswords(secrets) };
}

/** Every key replaced, and no old key left. */
const replaced = (secrets: Secrets): Secrets => ({
  ...secrets,
  functions: newKeys(),
  passwords: newPasswords(secrets),
});

const newPasswords = ({ passwords }: Secrets) => ({
  ...passwords,
  ...Object.fromEntries(ROLES.map((role) => [role, newSecret()])),
});

const invitation = (email: string, more = {}) => ({
  ...{ consent: true, send_invite: true, naam: "Noor Bakker", email },
  ...more,
});

type Added = { created: { draft_id: string; claim_url: string }[] };

async function prepare(stack: Stack, secrets: Secrets): Promise<Made> {
  const ask = partnerApi(stack);
  const { cpo } = await credentialsOf(stack);
  const opened = await ask<Added>("/partner/customers", invitation("claim@voorbeeld.nl"));
  await ask("/partner/customers", invitation(ADDRESS, { external_ref: "rotate" }));
  const mail = (await operate(stack.operator_database_url, "mail_show", { to: ADDRESS })) as {
    content: { unsubscribe_url: string };
  };
  const link = mail.content.unsubscribe_url;
  await fetch(link, { method: "POST", body: new URLSearchParams({ "List-Unsubscribe": "One-Click" }) });
  const { customers } = await ask<{ customers: { customer_ref: string }[] }>("/partner/customers");
  return {
    ...{ secrets, token: cpo ?? "", unsubscribe_url: link },
    claim_url: opened.created[0]?.claim_url ?? "",
    customer_ref: customers[0]?.customer_ref ?? "",
  };
}

async function probe(stack: Stack, made: Made, receiver: Receiver, n: number): Promise<Record<string, string>> {
  const { base_url, functions_url, demo } = stack;
  const ask = partnerApi(stack);
  const send = async (url: string, bearer?: string, body?: object) =>
    String(
      (
        await fetch(url, {
          headers: { "content-type": "application/json", ...(bearer ? { authorization: `Bearer ${bearer}` } : {}) },
          ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
        })
      ).status,
    );
  const connectsAs = (role: (typeof ROLES)[number]) => {
    const url = new URL(stack.database_url);
    url.username = role;
    url.password = encodeURIComponent(made.secrets.passwords[role]);
    return connects(url.href);
  };
  /** Whether the partner can invite somebody again who opted out. */
  const inviteOptedOut = async () => {
    const { drafts } = await ask<{ drafts: { draft_id: string; status: string }[] }>(
      "/partner/drafts?external_ref=rotate",
    );
    for (const { draft_id, status } of drafts)
      if (status === "invited") await ask("/partner/drafts/withdraw", { draft_id });
    const { added } = await ask<{ added: number }>(
      "/partner/customers",
      invitation(ADDRESS, { external_ref: "rotate" }),
    );
    return added === 1 ? "invited" : "left out";
  };
  const fresh = async () => {
    const { cpo } = await credentialsOf(stack);
    const account = await send(`${base_url}/v1/accounts`, cpo, accountOf(`rotate-${n}`));
    const { created } = await ask<Added>("/partner/customers", invitation(`new-${n}@voorbeeld.nl`));
    const opened = await send(created[0]?.claim_url ?? base_url);
    return account === "200" && opened === "200" ? "200" : `${account}, ${opened}`;
  };
  const { WORKER_SECRET, METRICS_SECRET, GATEWAY_SECRET } = made.secrets.functions;
  const known = receiver.received().events;
  const begun = await fresh();
  const until = performance.now() + WEBHOOK_MS;
  while (receiver.received().events === known && performance.now() < until) await sleep(200);
  const { customers } = await ask<{ customers: { customer_ref: string }[] }>("/partner/customers");
  const isSame = customers.some(({ customer_ref }) => customer_ref === made.customer_ref);
  return {
    "TOKEN_KEYS: a token of before": await send(`${base_url}/v1/events`, made.token),
    "IBAN_KEYS: a webhook, with the secret of before": receiver.received().events > known ? "sent" : "none",
    "LINK_KEYS: a claim link of before": await send(made.claim_url),
    "OPT_OUT_KEYS: an unsubscribe link of before": await send(made.unsubscribe_url),
    "OPT_OUT_KEYS: somebody who opted out before": await inviteOptedOut(),
    "CUSTOMER_REF_KEYS: a request with a reference of before": await send(
      `${base_url}/sandbox/v1/customers/${made.customer_ref}/sync`,
      demo.partner.api_key,
      {},
    ),
    "CUSTOMER_REF_KEYS: the reference in answers": isSame ? "same" : "other",
    "WORKER_SECRET: the secret of before": await send(`${functions_url}/worker/run`, WORKER_SECRET, {}),
    "METRICS_SECRET: the secret of before": await send(`${functions_url}/worker/metrics`, METRICS_SECRET),
    "GATEWAY_SECRET: the secret of before": await send(`${base_url}/ocpp/messages`, GATEWAY_SECRET, {}),
    ...Object.fromEntries(
      await Promise.all(ROLES.map(async (role) => [`${role}: the password of before`, await connectsAs(role)])),
    ),
    "everything: /health/ready": await send(`${functions_url}/health/ready`),
    "everything: a new token, an account, an invitation and its link": begun,
  };
}

/** Ends what clients, applications, partners, people and operators hold, on the running stack. */
async function replaceCredentials(stack: Stack): Promise<Check[]> {
  const { base_url, auth_url, database_url, demo, operator_logins } = stack;
  const held = await credentialsOf(stack);
  const answer = async (path: string, bearer = "") =>
    String((await fetch(base_url + path, { headers: { authorization: `Bearer ${bearer}` } })).status);
  const tokenBy = async (secret: { client_id: string; client_secret: string }) => {
    const body = JSON.stringify({ grant_type: "client_credentials", ...secret });
    const headers = { "content-type": "application/json" };
    return String((await fetch(`${auth_url}/oauth-token`, { method: "POST", headers, body })).status);
  };
  const list = await operatorCommand(stack, ["token", "list", "--user", demo.user.email]);
  const { tokens } = JSON.parse(list.out) as { tokens: { id: string; kind: string; revoked_at: string | null }[] };
  const personal = tokens.find(({ kind, revoked_at }) => kind.startsWith("personal") && !revoked_at)?.id ?? "";
  const credentials: [string, string[], () => Promise<string>][] = [
    ["secret of a client", ["client", "rotate-secret", demo.cpo.client_id], () => tokenBy(demo.cpo)],
    [
      "token of a client",
      ["client", "rotate-secret", demo.cpo.client_id, "--revoke-tokens"],
      () => answer("/v1/events", held.cpo),
    ],
    [
      "token of an application",
      ["app", "rotate-secret", demo.oauth_app.client_id, "--revoke-tokens"],
      () => answer("/chargers", held.user),
    ],
    ["personal token", ["token", "revoke", personal], () => answer("/chargers", held.personal_token)],
    ["key of a partner", ["partner", "mint-key", "demo", "--rotate"], () => answer("/partner/me", held.partner_key)],
    [
      "login of an operator",
      ["login", "disable", "bram", "--database-url", database_url],
      () => connects(operator_logins.bram ?? ""),
    ],
  ];
  const checks: Check[] = [];
  for (const [what, command, ask] of credentials) {
    const before = await ask();
    const { code, err } = await operatorCommand(stack, [...command, "--yes"]);
    if (code !== 0) throw new Error(`${command.join(" ")}: ${err}`);
    const found = [before, await ask()].join(", ");
    checks.push({ what: `${what}, before and after`, found, holds: ["200, 401", "connects, refused"].includes(found) });
  }
  return checks;
}

/** With IBAN_KEYS lost, an endpoint that got another secret is sent what waited. */
async function rotateWebhook(stack: Stack, receiver: Receiver): Promise<Check> {
  const known = receiver.received().events;
  const list = await operatorCommand(stack, ["webhook", "list"]);
  const id: string = JSON.parse(list.out).webhooks[0].webhook_id;
  const { code, err } = await operatorCommand(stack, ["webhook", "rotate", id, "--yes"]);
  const owner = await connected(stack.database_url);
  const until = performance.now() + WEBHOOK_MS;
  while (code === 0 && receiver.received().events === known && performance.now() < until) {
    await owner.query("update core.webhook_retries set next_attempt_at = now()");
    await owner.query("update core.webhook_endpoints set probe_at = least(probe_at, now())");
    await sleep(300);
  }
  await owner.end();
  const found = code !== 0 ? err : receiver.received().events > known ? "sent" : "none";
  return { what: "IBAN_KEYS: the webhook that waited, after webhook rotate", found, holds: found === "sent" };
}

const connects = (url: string): Promise<string> =>
  connected(url).then(
    (client) => client.end().then(() => "connects"),
    () => "refused",
  );
