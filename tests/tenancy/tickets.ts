// Credentials as SQL is shown them: each kind, by each database role, to each api function; and credentials that somebody put together.

import type pg from "pg";
import type { Ticket } from "#shared/foundation/caller.ts";
import { pages as PAGES } from "../../supabase/functions/pages/flows.ts";
import { ENDPOINTS, type Holder } from "../contract/samples.ts";
import type { OAuth } from "../oauth/oauth_world.ts";

/** Tickets that were admitted, one for each kind of credential and demand. */
export type Tickets = Map<string, Ticket>;

/** Notes from now on the tickets that the functions send. */
export function recordTickets({ environment }: OAuth): Tickets {
  const tickets: Tickets = new Map();
  const { db } = environment;
  const note = (ticket: object | null | undefined) => {
    if (!ticket || !("credential" in ticket)) return;
    const { credential, demand } = ticket as Ticket;
    tickets.set(`${credential.kind} for ${demand.kind}`, ticket as Ticket);
  };
  environment.db = {
    ...db,
    async call(name, ...args) {
      const answer = await db.call(name, ...args);
      note(args[0]);
      return answer;
    },
    async open(name, ticket, ...args) {
      const answer = await db.open(name, ticket, ...args);
      note(ticket);
      return answer;
    },
  };
  return tickets;
}

const ROLES = ["edge", "edge_slow", "operator", "anon", "authenticated", "service_role"] as const;
/** Whom the pages admit; and functions that no endpoint names, by whom they admit. */
const PAGES_ADMIT = ["partner", "session", "page_session"];
const OTHERS: readonly [RegExp, readonly string[]][] = [
  [/ocpi|_cdrs?$/, ["ocpi"]],
  [/^read_replica$/, ["cpo", "partner"]],
];

/** The demands that an api function is declared for. */
function declaredOf(name: string): Set<string> {
  const kinds = ENDPOINTS.filter(({ sql }) => (sql as readonly string[]).includes(name)).map(({ caller }) =>
    caller.kind === "sandbox" ? "partner" : caller.kind,
  );
  const others = OTHERS.flatMap(([pattern, admits]) => (pattern.test(name) ? admits : []));
  return new Set([...kinds, ...others, ...(PAGES.sql.includes(name) ? PAGES_ADMIT : [])]);
}

/** What becomes of a ticket: the function, if any, answers; admission turns it away; or something else is wrong with the request. */
async function present(session: pg.PoolClient, role: string, name: string | null, takes: number, ticket: object) {
  await session.query("begin; set local role edge");
  try {
    const { rows } = await session.query("select api.enter($1) as caller", [ticket]);
    const [{ caller }] = rows;
    if ("refused" in caller) return "turned away";
    if (name === null) return "answered";
    await session.query(`set local role ${role}`);
    const given = [caller, { address_hash: "00" }, {}, {}].slice(0, takes);
    await session.query(`select api.${name}(${given.map((_, at) => `$${at + 1}`)})`, given);
    return "answered";
  } catch (error) {
    return (error as { code: string }).code === "42501" ? "turned away" : "refused";
  } finally {
    await session.query("rollback");
  }
}

/** Each of them to each api function, by the one role that may run it. @returns what was wrong, one line each, and how many were admitted. */
export async function presentTickets(admin: pg.Pool, tickets: Tickets) {
  const faults: string[] = [];
  let admitted = 0;
  const { rows } = await admin.query<{ name: string; takes: number; roles: string[] }>(
    `select p.proname as name, p.pronargs::int as takes,
            array(select r from unnest($1::text[]) r where has_function_privilege(r, p.oid, 'execute')) as roles
       from pg_proc p where p.pronamespace = 'api'::regnamespace and p.proname not in ('admit', 'charge', 'enter', 'read_health') order by 1`,
    [ROLES],
  );
  const session = await admin.connect();
  for (const { name, takes, roles } of rows) {
    const [role = "", ...more] = roles;
    if (!/^edge(_slow)?$/.test(role) || more.length > 0) faults.push(`${name} runs for ${roles}`);
    const declared = declaredOf(name);
    for (const [what, ticket] of tickets) {
      if ((await present(session, role, name, takes, ticket)) === "turned away") continue;
      admitted += 1;
      const kind = ticket.demand.kind === "sandbox" ? "partner" : ticket.demand.kind;
      if (!declared.has(kind)) faults.push(`${name} admits ${what}`);
    }
  }
  session.release();
  return { faults, admitted };
}

/** Tickets that nobody was given, as `edge` could make them up: with one thing that is somebody else's. @returns what is admitted. */
export async function forgeTickets(admin: pg.Pool, tickets: Tickets, victim: Holder): Promise<string[]> {
  const faults: string[] = [];
  const { rows } = await admin.query<Record<string, string>>(
    `select g.id as grant_id, g.user_id, c.client_id, s.id as session_id
       from core.oauth_grants g join core.oauth_clients c on c.id = g.client_id join auth.sessions s on s.user_id = g.user_id
      where g.user_id = $1 limit 1`,
    [victim.user.id],
  );
  // who signs for an account is of no tenant
  const { rows: signing } = await admin.query(
    "select encode(token_hash, 'hex') as token_hash from core.page_sessions where user_id is null and signatory is not null limit 1",
  );
  const session = await admin.connect();
  for (const [what, ticket] of tickets) {
    const { credential } = ticket;
    const forged: [string, object][] = [
      ["for another tenant", { ...ticket, tenant: victim.keyed }],
      ["for no tenant", { ...ticket, tenant: null }],
      ["for another host", { ...ticket, host: "production" }],
    ];
    if (credential.kind === "page_session")
      for (const shown of signing)
        forged.push([
          "of a signatory, for a tenant",
          { ...ticket, tenant: victim.keyed, credential: { ...credential, ...shown } },
        ]);
    for (const { demand } of tickets.values())
      if (!tickets.has(`${credential.kind} for ${demand.kind}`))
        forged.push([`for ${demand.kind}`, { ...ticket, demand }]);
    // a CPO's token says no more than its client, by our signature
    for (const [field, value] of Object.entries(rows[0] ?? {}))
      if (credential.kind !== "cpo" && field in credential)
        forged.push([
          `with the ${field} of somebody else`,
          { ...ticket, credential: { ...credential, [field]: value } },
        ]);
    for (const [how, other] of forged)
      if ((await present(session, "edge", null, 0, other)) === "answered") faults.push(`${what}, ${how}, is admitted`);
  }
  session.release();
  return faults;
}
