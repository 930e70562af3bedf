// Writers whose writes are about people: accounts, imports of drafts, claims and signatures.

import { setTimeout as sleep } from "node:timers/promises";
import { operate } from "#local/customer.ts";
import type { Mailbox } from "./heard.ts";
import type { Outcome } from "./journal.ts";
import { accountOf, counted, type Writer, type Writing } from "./writers.ts";

/** Accounts, each by a reference of its own. */
export async function accounts({ journal, random, credentials, over, id }: Writing): Promise<Writer> {
  const told: { reference: string; outcome: Outcome; account_id?: string }[] = [];
  return {
    kind: "accounts",
    told: () => counted(told),
    async once() {
      const body = accountOf(`a-${id}-${told.length}`);
      const mine: (typeof told)[number] = { reference: body.cpo_external_ref, outcome: "open" };
      told.push(mine);
      const { outcome, answer } = await journal.write(random, over, () =>
        journal.send("accounts", "createAccount", { token: credentials.cpo, body }),
      );
      Object.assign(mine, { outcome, account_id: answer?.body?.account_id });
    },
    async check(db) {
      const { rows } = await db.query<{ reference: string; ids: string[]; connections: number; created: number }>(
        `select a.cpo_external_ref as reference, array_agg(a.id::text) as ids,
                sum((select count(*) from core.connections c where c.account_id = a.id))::int as connections,
                sum((select count(*) from core.events e where e.account_id = a.id and e.type = 'account.created'))::int as created
           from core.accounts a where a.cpo_external_ref like $1 group by 1`,
        [`a-${id}-%`],
      );
      const stored = new Map(rows.map((row) => [row.reference, row]));
      for (const { reference, outcome, account_id } of told) {
        const found = stored.get(reference);
        stored.delete(reference);
        if (outcome === "done" && found?.ids.join() !== account_id)
          journal.complain("accounts: an acknowledged account is not there once", `${reference}: ${found?.ids}`);
        if (found && (found.ids.length !== 1 || found.connections !== 1 || found.created !== 1))
          journal.complain("accounts: an account is stored in part, or twice", JSON.stringify(found));
      }
      if (stored.size > 0)
        journal.complain("accounts: an account is stored that nobody sent", [...stored.keys()].join());
    },
  };
}

/** Drafts of customers, three a request, who are invited by mail. */
export async function imports({ journal, random, credentials, over, id }: Writing): Promise<Writer> {
  const told: { emails: string[]; outcome: Outcome }[] = [];
  return {
    kind: "imports",
    told: () => counted(told),
    async once() {
      const emails = [0, 1, 2].map((place) => `i-${id}-${told.length}-${place}@voorbeeld.nl`);
      const mine: (typeof told)[number] = { emails, outcome: "open" };
      told.push(mine);
      const rows = emails.map((email) => ({ type: "particulier", naam: "Noor Bakker", email }));
      const { outcome } = await journal.write(random, over, () =>
        journal.send("imports", "addCustomers", {
          token: credentials.partner_key,
          body: { consent: true, send_invite: true, rows },
        }),
      );
      mine.outcome = outcome;
    },
    async check(db) {
      const { rows } = await db.query<{ email: string; drafts: number; mails: number }>(
        `select d.email, count(*)::int as drafts,
                (select count(*) from core.mail_outbox m where m.recipient = d.email and m.template = 'claim')::int as mails
           from core.drafts d where d.email like $1 group by d.email`,
        [`i-${id}-%`],
      );
      const stored = new Map(rows.map((row) => [row.email, row]));
      for (const { emails, outcome } of told) {
        const found = emails.map((email) => stored.get(email)).filter((row) => row !== undefined);
        if (outcome === "done" && found.length !== 3)
          journal.complain("imports: an acknowledged draft is lost", emails.join());
        if (found.length % 3 !== 0) journal.complain("imports: a request is stored in part", emails.join());
        for (const row of found) {
          if (row.drafts !== 1 || row.mails !== 1)
            journal.complain("imports: a draft or its invitation is not there once", JSON.stringify(row));
        }
      }
    },
  };
}

/** Drafts that are claimed as far as a submitted registration, which makes a login in Supabase Auth. Sandbox only. */
export async function claims({ journal, random, credentials, over, id }: Writing): Promise<Writer> {
  const token = credentials.partner_key;
  const told: { reference: string; outcome: Outcome }[] = [];
  return {
    kind: "claims",
    told: () => counted(told),
    async once() {
      const reference = `c-${id}-${told.length}`;
      const mine: (typeof told)[number] = { reference, outcome: "open" };
      told.push(mine);
      const body = { naam: "Noor Bakker", email: `${reference}@voorbeeld.nl`, external_ref: reference };
      const drafted = await journal.write(random, over, () =>
        journal.send("claims", "addCustomers", { token, body: { consent: true, send_invite: false, ...body } }),
      );
      if (drafted.outcome === "open") return;
      const { outcome } = await journal.write(random, over, () =>
        journal.send("claims", "claimSandboxDraft", { token, id: reference, body: { submit: true } }),
      );
      mine.outcome = outcome;
    },
    async check(db) {
      const { rows } = await db.query(
        `select d.external_ref as reference, d.status, count(*)::int as drafts,
                (select count(*) from auth.users u where u.email = d.email)::int as logins,
                (select count(*) from core.accounts a join auth.users u on u.id = a.user_id where u.email = d.email)::int as accounts,
                (select count(*) from core.mandates m join core.accounts a on a.owner_id = m.owner_id join auth.users u on u.id = a.user_id
                  where u.email = d.email and m.status = 'signed')::int as mandates
           from core.drafts d where d.external_ref like $1 group by d.external_ref, d.status, d.email`,
        [`c-${id}-%`],
      );
      const stored = new Map(rows.map((row) => [row.reference, row]));
      for (const { reference, outcome } of told) {
        const found = stored.get(reference);
        const whole = found && found.status === "active" && found.logins + found.accounts + found.mandates === 3;
        if (outcome === "done" && !whole)
          journal.complain("claims: an acknowledged claim is not there once", JSON.stringify(found ?? reference));
        if (found && [found.drafts, found.logins, found.accounts, found.mandates].some((count) => count > 1))
          journal.complain("claims: something of a claim is there twice", JSON.stringify(found));
      }
    },
  };
}

const MOST_TRIES = 10;

/** A connection whose months can be booked. */
export type Bookable = { account_id: string; connection_id: string };

/**
 * New customers of the client, who sign their mandate on the page with the code from their mail.
 */
export async function signatures(
  { trial: { stack }, journal, random, credentials, over, id }: Writing,
  mailbox: Mailbox | undefined,
  bookable: Bookable[],
): Promise<Writer> {
  const told: { reference: string; outcome: Outcome }[] = [];
  const token = credentials.cpo;
  // the sandbox keeps its mail, which the operator may read
  const readCode = async (email: string, before: number) => {
    if (mailbox) return mailbox.codeSince(email, before);
    const mail = await operate(stack.operator_database_url, "mail_show", { to: email }).catch(() => undefined);
    return (mail as { content?: { code?: string } } | undefined)?.content?.code;
  };

  /** Whether the page says that it was signed; undefined where nobody knows. */
  const sign = async (link: string, email: string): Promise<boolean | undefined> => {
    const opened = await journal.visit("signatures", link);
    const seen = /seen=([^"&]+)/.exec(opened?.text ?? "")?.[1];
    if (!opened || opened.status >= 500) return undefined;
    if (!seen) return opened.text.includes("mandaat.pdf") || opened.text.includes("/pdf");
    const before = mailbox?.count() ?? 0;
    const asked = await journal.visit("signatures", `${link}/code`, { seen });
    if (!asked || asked.status >= 400) return undefined;
    let code: string | undefined;
    for (let patience = 0; patience < 25 && !code; patience += 1) {
      code = await readCode(email, before);
      if (!code) await sleep(200);
    }
    if (!code) return undefined;
    const signed = await journal.visit("signatures", `${link}/sign`, {
      seen,
      name: "Sanne de Vries",
      agree: "yes",
      code,
    });
    if (!signed || signed.status >= 400) return undefined;
    return signed.text.includes("/pdf");
  };

  return {
    kind: "signatures",
    told: () => counted(told),
    async once() {
      const body = accountOf(`s-${id}-${told.length}`);
      const mine: (typeof told)[number] = { reference: body.cpo_external_ref, outcome: "open" };
      told.push(mine);
      const write = (operation: string, sent: object) =>
        journal.write(random, over, () => journal.send("signatures", operation, { token, body: sent }));
      const account = await write("createAccount", body);
      if (account.outcome === "open") return;
      const { account_id, connection_id } = account.answer?.body ?? {};
      const model = { ocpp_vendor: "Alfen BV", ocpp_model: "NG910-60023" };
      const charger = { account_id, ...model, serial_number: `S${body.connection.ean_code}` };
      if ((await write("registerCharger", charger)).outcome === "open") return;
      const issued = await write("issueMandateLink", { account_id, validity_years: 1 });
      if (issued.outcome === "open") return;
      const link: string = issued.answer?.body.mandate_link;
      // whoever waits for mail in vain gives up in the end
      for (let tries = 0; tries < MOST_TRIES && mine.outcome === "open"; tries += 1) {
        const signed = await sign(link, body.person.email);
        if (signed) mine.outcome = "done";
        else if (over()) return;
        else await sleep(200);
      }
      // only an EAN that the register confirmed opens its gate
      if (mine.outcome === "done" && account.answer?.body.ean_validation_status === "matched")
        bookable.push({ account_id, connection_id });
    },
    async check(db) {
      const { rows } = await db.query<{ reference: string; signed: number; events: number }>(
        `select a.cpo_external_ref as reference,
                (select count(*) from core.mandates m where m.owner_id = a.owner_id and m.connection_id = c.id and m.status = 'signed')::int as signed,
                (select count(*) from core.events e where e.account_id = a.id and e.type = 'mandate.signed')::int as events
           from core.accounts a join core.connections c on c.account_id = a.id where a.cpo_external_ref like $1`,
        [`s-${id}-%`],
      );
      const stored = new Map(rows.map((row) => [row.reference, row]));
      for (const { reference, outcome } of told) {
        const found = stored.get(reference);
        if (outcome === "done" && found?.signed !== 1)
          journal.complain(
            "signatures: an acknowledged signature is not there once",
            JSON.stringify(found ?? reference),
          );
        if (found && (found.signed > 1 || found.events !== found.signed))
          journal.complain("signatures: a mandate and its event are not both there, or twice", JSON.stringify(found));
      }
    },
  };
}
