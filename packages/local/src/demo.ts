// npm run demo: the whole story of the main job, told against the running stack (or one started for it), request by request.

import { randomInt } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { RPCClient } from "ocpp-rpc";
import { Webhook } from "standardwebhooks";
import { newWebhookId, newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import { readKeyRing } from "#shared/foundation/configuration.ts";
import { thisYear } from "#shared/values/dutch_clock.ts";
import { operate, signMandate } from "./customer.ts";
import { startStack } from "./runner.ts";
import { DATA_DIRS, DEFAULT_PORT, DEFAULT_STACK_FILE, readStack, type Stack } from "./stack.ts";

const bold = (text: string) => (process.stdout.isTTY ? `\u001b[1m${text}\u001b[0m` : text);
const dim = (text: string) => (process.stdout.isTTY ? `\u001b[2m${text}\u001b[0m` : text);
const indent = (text: string) => text.replace(/^/gm, "    ");

const CUSTOMER = { name: "Sanne de Vries", email: "sanne@example.nl" };

let steps = 0;
function step(title: string, why: string): void {
  steps += 1;
  console.log(`\n${bold(`${steps}. ${title}`)}\n   ${why}\n`);
}

type Json = Record<string, unknown>;
type Ere = { kwh_counted: number; ere_sold: number; gross_eur: number; net_eur: number; fee_pct: number };

/** Sends, shows what was sent and what came back, and stops the story at an answer that is no success. */
async function call<T = Json>(
  method: "GET" | "POST",
  url: string,
  { token, body, file }: { token?: string; body?: Json; file?: string } = {},
): Promise<T> {
  const shown = file ?? (body && JSON.stringify(hideSecret(body), null, 2));
  console.log(indent([`${method} ${url}`, ...(shown ? [shown] : [])].join("\n")));
  const response = await fetch(url, {
    method,
    headers: {
      ...(body ? { "content-type": "application/json" } : {}),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    ...(file || body ? { body: file ?? JSON.stringify(body) } : {}),
  });
  const answer = await response.json();
  console.log(dim(indent(`\n${response.status} ${JSON.stringify(hideSecret(answer), null, 2)}`)));
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}`);
  return answer as T;
}

function hideSecret(value: Json): Json {
  const long = (text: unknown) => `${String(text).slice(0, 12)}…`;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      ["client_secret", "access_token", "password"].includes(key) ? long(field) : field,
    ]),
  );
}

/** A receiver of the client's events on this machine, as docs/events.md writes one. `arrived` waits for one of a type. */
async function receiveEvents({ demo, operator_database_url, operator_environment }: Stack) {
  const id = newWebhookId();
  const secret = newWebhookSecret();
  const seen: { type: string; sequence: number; data: Json }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    seen.push(new Webhook(secret).verify(body, request.headers as Record<string, string>) as (typeof seen)[0]);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const keys = { config: { IBAN_KEYS: readKeyRing(operator_environment.IBAN_KEYS ?? "") } };
  await operate(operator_database_url, "webhook_add", {
    client: demo.cpo.client_id,
    id,
    url,
    secret: sealWebhookSecret(keys, id, secret),
  });
  return {
    url,
    async arrived(type: string) {
      for (let patience = 0; patience < 600; patience++) {
        const event = seen.find((one) => one.type === type);
        if (event) return event;
        await sleep(50);
      }
      throw new Error(`no ${type} arrived`);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await operate(operator_database_url, "webhook_revoke", { webhook: id });
    },
  };
}

async function tell(stack: Stack): Promise<void> {
  const { host, base_url, auth_url, operator_database_url, demo } = stack;
  const year = thisYear();
  const reference = `KL-${randomInt(1e9)}`;

  step("Get a token", "A CPO client trades its id and secret for an access token that lives an hour.");
  const { access_token: token } = await call<{ access_token: string }>("POST", `${auth_url}/oauth-token`, {
    body: { grant_type: "client_credentials", client_id: demo.cpo.client_id, client_secret: demo.cpo.client_secret },
  });

  step(
    "Create an account",
    "One customer, one connection. Send it again with the same cpo_external_ref and nothing is made twice.",
  );
  const account = {
    cpo_external_ref: reference,
    iban: "NL91 ABNA 0417 1643 00",
    person: { full_name: CUSTOMER.name, email: CUSTOMER.email, phone: "0612345678" },
    connection: {
      ean_code: `8716871${String(randomInt(1e11)).padStart(11, "0")}`,
      postal_code: "3818 LH",
      house_number: "14",
    },
  };
  type Made = { account_id: string; connection_id: string; ean_validation_status: string };
  const { account_id, connection_id, ean_validation_status } = await call<Made>("POST", `${base_url}/v1/accounts`, {
    token,
    body: account,
  });
  const { idempotent } = await call<{ idempotent: boolean }>("POST", `${base_url}/v1/accounts`, {
    token,
    body: account,
  });
  if (!idempotent) throw new Error("the repeat made a second account");

  if (ean_validation_status === "unverified") {
    step(
      "Vouch for the EAN",
      "The register of this host does not know a made-up EAN. The operator vouches for it, as for a new connection.",
    );
    console.log(indent(`npm run -s operator -- connection set-ean-status ${connection_id} manual`));
    await operate(operator_database_url, "connection_set_ean_status", { connection: connection_id, status: "manual" });
  }

  step("Ask for the mandate", "The link leads to the page where the customer reads the mandate and signs it.");
  const { mandate_link } = await call<{ mandate_link: string }>("POST", `${base_url}/v1/mandate-links`, {
    token,
    body: { account_id },
  });

  step("Find the charger and register it", "The pair a charger reports in its BootNotification is enough.");
  const pair = new URLSearchParams({ vendor: "Alfen BV", model: "NG910-60023" });
  await call("GET", `${base_url}/v1/catalog/chargers/resolve?${pair}`, { token });
  const serial_number = `ACE${randomInt(1e9)}`;
  await call("POST", `${base_url}/v1/chargers`, {
    token,
    body: { account_id, ocpp_vendor: "Alfen BV", ocpp_model: "NG910-60023", serial_number },
  });

  step("Deliver months", "A malformed month is reported on its own row; the others are stored.");
  await call("POST", `${base_url}/v1/sessions:batch`, {
    token,
    body: {
      account_id,
      months: [
        { period: `${year}-02`, total_kwh: 312.5, session_count: 24 },
        { period: `${year}-03`, total_kwh: 287.125, session_count: 21 },
        { period: `${year}-13`, total_kwh: 1 },
      ],
    },
  });

  step(
    "Deliver a file of charging sessions",
    "A spreadsheet with Dutch headings, as CSV or .xlsx. Each row is judged, and January is the sum of what counts.",
  );
  const { counts } = await call<{ counts: Json }>("POST", `${base_url}/v1/uploads`, {
    token,
    file: [
      "Serienummer;Start;Eind;Meterstand begin;Meterstand eind",
      // before 01:00 in Amsterdam, which is past when the year begins in UTC
      `${serial_number};01-01-${year} 00:05;01-01-${year} 00:30;4012,10;4030,52`,
      `${serial_number};01-01-${year} 00:35;01-01-${year} 00:55;4030,52;4038,02`,
      `${serial_number};gisteren;01-01-${year} 06:00;4038,02;4040,00`,
    ].join("\n"),
  });
  if (counts.created !== 2 || counts.invalid !== 1) throw new Error("the sessions of the file did not arrive");

  const position = `${base_url}/v1/ere-positions?cpo_external_ref=${reference}`;
  step("Read the position", "Three gates are open; the mandate waits for its signature.");
  await call("GET", position, { token });

  // nothing is sent to this machine but on the sandbox
  const receiver = host === "sandbox" ? await receiveEvents(stack) : null;
  if (receiver) {
    step("Listen", "Events are sent to an endpoint of yours, signed; here to a receiver of this demo.");
    console.log(indent(`npm run -s operator -- webhook add ${receiver.url} --client ${demo.cpo.client_id}`));
  }

  const mailbox =
    host === "sandbox"
      ? "The sandbox captures all mail; the operator reads it."
      : "No mail server is set (SMTP_URL), so the mail waits here; the operator reads it.";
  step(
    "Sign",
    `The customer opens the page, asks for a code, finds it in their mail, types their name and signs. ${mailbox}`,
  );
  console.log(`${indent(`npm run -s operator -- mail list --to ${CUSTOMER.email} --show`)}\n`);
  await signMandate(mandate_link, CUSTOMER, operator_database_url, ({ sent, fields, status, title }) => {
    console.log(indent(`POST ${sent}  ${fields}`));
    console.log(dim(indent(`\n${status} ${title}\n`)));
  });

  if (receiver) {
    const signed = performance.now();
    const event = await receiver.arrived("account.eligibility_changed");
    step(
      "Hear of it",
      `The signature was an event, and so is what followed from it; the receiver has it ${Math.round(performance.now() - signed)} ms after the page said thanks.`,
    );
    console.log(dim(indent(JSON.stringify(event, null, 2))));
    await receiver.close();
  }

  step("Read the position again", "All gates are open: these kWh become ERE.");
  const { positions } = await call<{ positions: { ere_eligible: boolean }[] }>("GET", position, { token });
  if (!positions[0]?.ere_eligible) throw new Error("the account is not eligible");
  if (host === "sandbox") {
    const key = demo.partner.api_key;
    step("Approve the registration", "The service reviews each customer once; on the sandbox you decide.");
    await call("POST", `${base_url}/sandbox/v1/customers/${account_id}/review`, {
      token: key,
      body: { outcome: "goedgekeurd" },
    });

    step(
      "Settle the quarter",
      "Once a quarter is over its months are booked with the register, credited, sold and paid; here at once.",
    );
    await call("POST", `${base_url}/sandbox/v1/settle`, { token: key, body: { quarter: `${year}-Q1` } });

    step("Read what it became", "From kWh to ERE to euro.");
    const { positions: settled } = await call<{ positions: { ere: Ere | null }[] }>("GET", position, { token });
    const ere = settled[0]?.ere;
    if (!ere || ere.net_eur === 0) throw new Error("nothing was settled");
    const euro = (amount: number) => `€ ${amount.toFixed(2)}`;
    console.log(
      `\n   ${bold(`${ere.kwh_counted} kWh → ${ere.ere_sold} ERE → ${euro(ere.gross_eur)}`)}, of which ${CUSTOMER.name} gets ${bold(euro(ere.net_eur))} after a fee of ${ere.fee_pct} %.`,
    );
  }
  // customers of production are nobody's rehearsal
  if (host === "sandbox") await chargeByOcpp(stack);
  console.log(`\n${bold("Done.")} The page as the customer sees it, signed: ${mandate_link}\n`);
}

/** The demo's person charges at home: a charger connects to the OCPP gateway and brings 12 kWh in. */
async function chargeByOcpp({ base_url, ocpp_url, demo }: Stack): Promise<void> {
  const token = demo.personal_token;
  type Ocpp = { identity: string; password: string; endpoint: string };
  type Listed = { id: string; nickname: string; latest_meter_wh?: number };
  const nickname = "Demo";
  step("Connect a charger", "A person registers a charger of their own, and enters what they get in it (OCPP 1.6J).");
  const { chargers } = await call<{ chargers: Listed[] }>("GET", `${base_url}/chargers`, { token });
  // a person has ten chargers at most, so the next run of this story gives the same one a new password
  const known = chargers.find((charger) => charger.nickname === nickname);
  const { ocpp } = known
    ? await call<{ ocpp: Ocpp }>("POST", `${base_url}/chargers/${known.id}/ocpp-credentials`, { token, body: {} })
    : await call<{ ocpp: Ocpp }>("POST", `${base_url}/chargers`, {
        token,
        body: { nickname, connection_type: "ocpp" },
      });

  step("Charge 12 kWh", "The charger was offline for some days, so it tells now what it charged then.");
  const client = new RPCClient({
    endpoint: ocpp_url,
    identity: ocpp.identity,
    password: ocpp.password,
    protocols: ["ocpp1.6"],
    strictMode: true,
  } as ConstructorParameters<typeof RPCClient>[0]); // its types ask for every option
  client.handle("ChangeConfiguration", async () => ({ status: "Accepted" }));
  const say = async (action: string, payload: object) => {
    const answer = await client.call(action, payload);
    console.log(indent(`${action} ${JSON.stringify(payload)}`));
    console.log(dim(indent(`${JSON.stringify(answer)}\n`)));
    return answer as { transactionId: number };
  };
  const began = Date.now() - randomInt(3, 20 * 24) * 3_600_000;
  const after = (hours: number) => new Date(began + hours * 3_600_000).toISOString();
  const meterStart = known?.latest_meter_wh ?? 100_000;
  await client.connect();
  try {
    // without a serial number the energy of a second charger of a person would not count
    await say("BootNotification", {
      chargePointVendor: "Alfen BV",
      chargePointModel: "NG910-60023",
      chargePointSerialNumber: "ACE0009912",
    });
    const { transactionId } = await say("StartTransaction", {
      connectorId: 1,
      idTag: "04A1B2C3",
      meterStart,
      timestamp: after(0),
    });
    await say("StopTransaction", { transactionId, meterStop: meterStart + 12_000, timestamp: after(2) });
  } finally {
    await client.close();
  }
  const day = after(0).slice(0, 10);
  const { sessions } = await call<{ sessions: { kwh: number; started_at: string }[] }>(
    "GET",
    `${base_url}/sessions?from=${day}`,
    { token },
  );
  const told = after(0).slice(0, 19);
  if (sessions.find(({ started_at }) => started_at.startsWith(told))?.kwh !== 12)
    throw new Error("the 12 kWh did not arrive");
}

const HELP = `Tells the whole story of the main job, request by request, against the stack of npm start, or one started for it.

  npm run demo -- [options]

  --stack <file>   what npm start wrote about the stack to use   (.local/stack.json)
  --help           this text
`;

async function main(): Promise<number> {
  let options: { stack: string; help: boolean };
  try {
    options = parseArgs({
      options: {
        stack: { type: "string", default: DEFAULT_STACK_FILE },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split(". To specify")[0]}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const running = readStack(options.stack);
  const { stack, stop } = running
    ? { stack: running, stop: async () => {} }
    : await startStack(
        { host: "sandbox", port: DEFAULT_PORT, data_dir: DATA_DIRS.sandbox, fresh: false },
        (topic, text) => console.log(dim(`${topic} ${text}`)),
      );
  try {
    await tell(stack);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  } finally {
    await stop();
  }
}

process.exitCode = await main();
