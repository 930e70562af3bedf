// Webhook endpoints: where events are sent.

import { Argument, Option } from "commander";
import { EVENT_TYPES, type EventType, typesOf } from "#shared/domain/events.ts";
import { refusedUrl } from "#shared/domain/outbound/url.ts";
import { newWebhookId, newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import { about, type Command, changed, type Input, list, type Machine, type Row } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { readKeys } from "./payouts.ts";
import { fields } from "./text.ts";

const webhook = () => new Argument("<webhook>", "id of the endpoint");
const COLUMNS =
  "webhook_id partner_slug client_id url types status disabled_reason delivered_to log_at waiting given_up failing_since last_error";

const SHOWN_ONCE = "The secret is shown only once; we store its ciphertext.";

async function add(input: Input, { call, env }: Machine): Promise<OpsAnswer> {
  const log = input.client === undefined ? "partner" : "client";
  const foreign = ((input.types ?? []) as EventType[]).filter((type) => !typesOf(log).includes(type));
  if (foreign.length > 0) throw new OperatorError(`The log of a ${log} has no ${foreign.join(", ")}.`);
  const keys = readKeys(env);
  const { host } = (await call("host_show", {})).host as { host: "sandbox" | "production" };
  const refused = refusedUrl(String(input.url), {
    API_HOST: host,
    WEBHOOK_ALLOW_LOOPBACK: env.WEBHOOK_ALLOW_LOOPBACK === "true" ? "true" : "false",
  });
  if (refused) throw new OperatorError(refused);
  const id = newWebhookId();
  const secret = newWebhookSecret();
  const { href: url } = new URL(String(input.url));
  const answer = await call("webhook_add", { ...input, url, id, secret: sealWebhookSecret(keys, id, secret) });
  return { ...answer, secret };
}

async function rotate(input: Input, { call, env }: Machine): Promise<OpsAnswer> {
  const secret = newWebhookSecret();
  const sealed = sealWebhookSecret(readKeys(env), String(input.webhook), secret);
  return { ...(await call("webhook_rotate", { ...input, secret: sealed })), secret };
}

/** How long the worker may take: until its next scheduled run, and one call. */
const TEST_MS = 30_000;

async function test(input: Input, { call }: Machine): Promise<OpsAnswer> {
  const { ping } = await call("webhook_ping", input);
  const until = Date.now() + TEST_MS;
  for (;;) {
    const answer = await call("webhook_pinged", { ...input, ping });
    if (answer.attempt || Date.now() > until) return answer;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

const withSecret = (done: string) => (answer: OpsAnswer) =>
  `${changed("webhook", `${done} ${SHOWN_ONCE}`)(answer)}\n\n  secret  ${answer.secret}`;

export const WEBHOOK_COMMANDS: Command[] = [
  {
    name: "webhook add",
    summary: "Create an endpoint for the events of a partner's log, or of a client's; its secret is shown once",
    details:
      "Needs IBAN_KEYS, which encrypt the secret. Sending begins with the next event, or with --from. A log has at " +
      "most ten endpoints.",
    example: "webhook add --client cpo_4fGh2kLm https://laadpunt-zuid.example/events",
    takes: [
      new Argument("<url>", "https, of a public host"),
      new Option("--partner <partner>", "id or slug of the partner whose own log it is"),
      new Option("--client <client>", "client_id (or id) of the client whose log it is").conflicts("partner"),
      new Option("--types <type...>", "only these types; all if omitted").choices(EVENT_TYPES),
      new Option("--from <place>", "begin earlier: a cursor, the id of the first event, or a moment"),
    ],
    ops: "webhook_add",
    perform: { also: ["host_show"], run: add },
    view: withSecret("Endpoint added."),
  },
  {
    name: "webhook list",
    summary: "List endpoints, how far each is, and how many events wait for a retry",
    example: "webhook list --failing",
    takes: [
      new Option("--partner <partner>", "only endpoints of this partner (id or slug)"),
      new Option("--failing", "only endpoints that fail or are disabled"),
    ],
    ops: "webhook_list",
    view: list("webhooks", COLUMNS),
  },
  {
    name: "webhook test",
    summary: "Have the worker send a ping, and show the result",
    example: "webhook test 0b0d1e00-0000-4000-8000-000000000000",
    takes: [webhook()],
    ops: "webhook_ping",
    perform: { also: ["webhook_pinged"], run: test },
    fails: ({ ok }) => ok !== true,
    view: ({ attempt }) => (attempt ? fields(attempt as Row) : "The worker did not send it within 30 seconds."),
  },
  {
    name: "webhook rotate",
    summary: "Replace the secret of an endpoint; both secrets sign for 24 hours",
    details: "Needs IBAN_KEYS, which encrypt the secret.",
    example: "webhook rotate 0b0d1e00-0000-4000-8000-000000000000 --now",
    takes: [webhook(), new Option("--now", "end the old secret at once")],
    ends: (input) =>
      input.now ? about("webhook", "will sign only with the new secret from now on")(input) : undefined,
    ops: "webhook_rotate",
    perform: { also: [], run: rotate },
    view: withSecret("Secret replaced."),
  },
  {
    name: "webhook enable",
    summary: "Enable an endpoint; sending continues where it stopped",
    example: "webhook enable 0b0d1e00-0000-4000-8000-000000000000",
    takes: [webhook()],
    ops: "webhook_enable",
    view: changed("webhook", "Endpoint enabled."),
  },
  {
    name: "webhook disable",
    summary: "Pause an endpoint; no event is lost",
    example: "webhook disable 0b0d1e00-0000-4000-8000-000000000000",
    takes: [webhook()],
    ops: "webhook_disable",
    view: changed("webhook", "Endpoint disabled."),
  },
  {
    name: "webhook revoke",
    summary: "Delete an endpoint and its waiting events",
    example: "webhook revoke 0b0d1e00-0000-4000-8000-000000000000",
    takes: [webhook()],
    ends: about("webhook", "will be deleted, with its waiting events and its attempts"),
    ops: "webhook_revoke",
    view: () => "Endpoint revoked.",
  },
  {
    name: "webhook replay",
    summary: "Send events again, with their original ids",
    details: "A receiver that drops repeated ids drops these too.",
    example: "webhook replay 0b0d1e00-0000-4000-8000-000000000000 --from 2026-11-01",
    takes: [
      webhook(),
      new Option("--from <place>", "the first event: a cursor, the id of an event, or a moment"),
      new Option("--to <place>", "the last event; if omitted, the newest that was sent"),
      new Option("--failed", "the events that were given up after the tenth attempt").conflicts(["from", "to"]),
    ],
    prepare: (input) => {
      if (!input.failed && input.from === undefined) throw new OperatorError("Give a start: --from, or --failed.");
      return input;
    },
    ops: "webhook_replay",
    view: ({ events, from, to }) =>
      from ? `${events} events are sent again, ${from} to ${to}.` : `${events} events are sent again.`,
  },
];
