// Who is told: a receiver of webhooks, and a mail server.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { Webhook } from "standardwebhooks";
import { operate } from "#local/customer.ts";
import type { Stack } from "#local/stack.ts";
import { newWebhookId, newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import { readKeyRing } from "#shared/foundation/configuration.ts";
import type { Random } from "../kit/random.ts";
import type { Journal } from "./journal.ts";

/** How long what waits may take after everything was mended and every wait was cut short. */
const PATIENCE_MS = 60_000;

/** Receives the events of the demo's client, and sometimes fails to. An event that comes again has the same body. */
export async function receiveWebhooks(
  { demo, operator_database_url, operator_environment }: Stack,
  journal: Journal,
  random: Random,
  isSame = (one: string, other: string) => one === other,
) {
  const id = newWebhookId();
  const secret = newWebhookSecret();
  const bodies = new Map<string, string>();
  let copies = 0;
  let arrival: (() => void) | undefined;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const headers = request.headers as Record<string, string>;
    try {
      new Webhook(secret).verify(body, headers);
    } catch (error) {
      journal.complain("webhooks: a signature is wrong", String(error));
    }
    const event = headers["webhook-id"] ?? "";
    const known = bodies.get(event);
    if (known !== undefined) copies += 1;
    if (known !== undefined && !isSame(known, body))
      journal.complain("webhooks: one id with two bodies", `${known} and ${body}`);
    bodies.set(event, body);
    arrival?.();
    if (random.happens(0.02)) await sleep(500);
    response.writeHead(random.happens(0.01) ? 500 : 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const keys = { config: { IBAN_KEYS: readKeyRing(operator_environment.IBAN_KEYS ?? "") } };
  await operate(operator_database_url, "webhook_add", {
    client: demo.cpo.client_id,
    id,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    secret: sealWebhookSecret(keys, id, secret),
  });
  return {
    received: () => ({ events: bodies.size, copies }),
    /** Resolves when the next one is being received. */
    next: () =>
      new Promise<void>((resolve) => {
        arrival = resolve;
      }),
    async check(db: pg.Pool, since: Date) {
      const missing = async () => {
        await db.query("update core.webhook_retries set next_attempt_at = now() where next_attempt_at > now()");
        await db.query(
          "update core.webhook_endpoints set probe_at = least(probe_at, now()), lease_until = least(lease_until, now())",
        );
        const { rows } = await db.query<{ id: string }>(
          `select e.id from core.events e join core.webhook_endpoints w on w.partner_id = e.partner_id and w.owner_id = e.owner_id
            where w.id = $1 and e.created_at >= $2`,
          [id, since],
        );
        return { events: new Set(rows.map((row) => row.id)), lost: rows.filter((row) => !bodies.has(row.id)) };
      };
      const until = performance.now() + PATIENCE_MS;
      let { events, lost } = await missing();
      while (lost.length > 0 && performance.now() < until) {
        await sleep(1_000);
        ({ events, lost } = await missing());
      }
      if (lost.length > 0)
        journal.complain("webhooks: an event was never sent", `${lost.length}, first ${lost[0]?.id}`);
      const foreign = [...bodies.keys()].filter((event) => !events.has(event));
      if (foreign.length > 0) journal.complain("webhooks: an event was sent that is in no log", foreign.join());
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
export type Receiver = Awaited<ReturnType<typeof receiveWebhooks>>;

type Mail = { from: string; to: string[]; message: string };

/** What a mail server received, and what is still to be sent. */
export function readMailbox(received: readonly Mail[], journal: Journal) {
  const idOf = ({ message }: Mail) => /^Message-ID: <([^@>]+)@/im.exec(message)?.[1] ?? "";
  return {
    /** How much came so far, and the code in the mail that an address got after that. */
    count: () => received.length,
    codeSince: (email: string, count: number) =>
      received
        .slice(count)
        .findLast(({ to }) => to.includes(email))
        ?.message.match(/^Subject: (\d{6}) /m)?.[1],
    received: () => ({ mails: received.length, copies: received.length - new Set(received.map(idOf)).size }),
    async check(db: pg.Pool) {
      const until = performance.now() + PATIENCE_MS;
      const waiting = async () => {
        await db.query(
          "update core.mail_outbox set next_attempt_at = now() where status = 'queued' and next_attempt_at > now()",
        );
        const { rows } = await db.query<{ id: string; status: string; recipient: string }>(
          "select id, status, recipient from core.mail_outbox",
        );
        return rows;
      };
      let stored = await waiting();
      while (stored.some(({ status }) => status === "queued") && performance.now() < until) {
        await sleep(1_000);
        stored = await waiting();
      }
      const ids = new Set(received.map(idOf));
      const unsent = stored.filter(({ status }) => status === "queued" || status === "failed");
      if (unsent.length > 0) journal.complain("mail: a mail was never sent", JSON.stringify(unsent[0]));
      const lost = stored.filter(({ id, status }) => status === "sent" && !ids.has(id));
      if (lost.length > 0)
        journal.complain("mail: a mail counts as sent and was not received", JSON.stringify(lost[0]));
      const known = new Map(stored.map(({ id, recipient }) => [id, recipient]));
      for (const mail of received)
        if (known.get(idOf(mail)) !== mail.to.join())
          journal.complain("mail: a mail came under a foreign id", idOf(mail));
    },
  };
}
export type Mailbox = ReturnType<typeof readMailbox>;
