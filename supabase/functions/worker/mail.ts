import type { Transporter } from "nodemailer";
import { sqlKeys } from "#shared/auth/keys.ts";
import type { Written } from "#shared/domain/mail/layout.ts";
import { writeMail } from "#shared/domain/mail/mail.ts";
import type { Call } from "#shared/foundation/answers.ts";
import type { Configuration } from "#shared/foundation/configuration.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";
import { workThrough } from "#shared/foundation/work_through.ts";
import type { LeasedMail } from "./answers.ts";

/** What one worker sends at once; a lease lasts five minutes, a batch far less. */
const BATCH = 20;
const CONNECTIONS = 4;
/** Time kept for settling and for the rest of the run. */
const RESERVE_MS = 8_000;

/** `code` is the enhanced status code of a refusal (RFC 3463), such as 5.1.1. */
type Failure = { failure: string; permanent: boolean; serverDown: boolean; code?: string | undefined };
type MailResult = { sent: number; failed: number; problem?: string };

/** How many mails waited at the last run, where there is no mail server. */
const waitedBefore = oncePerEnvironment(() => ({ mails: 0 }));

/**
 * Writes and sends what waits in the outbox. A mail is leased before it is sent and settled right after, so two workers
 * never send the same one. After a worker that dies in between, it is sent once more when the lease ends: so a mail is
 * sent at least once. The Message-ID is the outbox id, so that mail systems recognize a second copy. X-ERE-Mail is the
 * same id, because some services replace the Message-ID.
 */
export async function deliverMail(
  environment: Environment,
  call: Call<"lease_mail" | "settle_mail" | "read_waiting_mail">,
  deadline: number,
  request_id: string,
): Promise<MailResult> {
  const { config, log } = environment;
  const result: MailResult = { sent: 0, failed: 0 };
  if (!config.SMTP_URL) {
    const before = waitedBefore(environment);
    const { waiting } = JSON.parse(await call("read_waiting_mail"));
    if (waiting > 0) {
      result.problem = `SMTP_URL is not set: ${waiting === 1 ? "1 mail waits" : `${waiting} mails wait`} and none is sent`;
      // again only when the number changes: the worker may run every second
      if (before.mails !== waiting) log({ level: "error", event: "mail_not_configured", request_id, waiting });
    }
    before.mails = waiting;
    return result;
  }

  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    url: config.SMTP_URL,
    pool: true,
    maxConnections: CONNECTIONS,
    connectionTimeout: 4_000,
    greetingTimeout: 4_000,
    dnsTimeout: 4_000,
    socketTimeout: 6_000,
    // a mail is text: nothing in it may make the mailer read a file or fetch an address
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    let serverDown: Failure | undefined;
    const deliver = async (mail: LeasedMail) => {
      // once the server is down, the rest of the batch need not find that out one by one
      const failure: Failure | null = serverDown ?? (await send(transport, config, mail));
      if (failure?.serverDown) serverDown = failure;
      const { partner_id, id } = mail;
      await call("settle_mail", [
        {
          partner_id,
          id,
          failure: failure?.failure ?? null,
          permanent: failure?.permanent ?? false,
          code: failure?.code ?? null,
        },
      ]);
      result[failure ? "failed" : "sent"] += 1;
      if (failure) log({ level: "warn", event: "mail_failed", request_id, mail_id: id, reason: failure.failure });
    };
    while (!serverDown && Date.now() < deadline - RESERVE_MS) {
      const leased = JSON.parse(await call("lease_mail", { size: BATCH, key: sqlKeys(environment) }));
      if (leased.length === 0) break;
      await workThrough(leased, CONNECTIONS, deliver);
    }
    if (serverDown) result.problem = `The mail server does not take mail: ${serverDown.failure}`;
    return result;
  } finally {
    transport.close();
  }
}

async function send(transport: Transporter, config: Configuration, mail: LeasedMail): Promise<Failure | null> {
  const from = config.MAIL_FROM;
  let written: Written;
  try {
    written = writeMail(config, mail);
  } catch (error) {
    // the other mails of the batch are sent; this one is tried again, perhaps by a release that can write it
    return { failure: `not written: ${describeCause(error).type}`, permanent: false, serverDown: false };
  }
  const { subject, html, text, reply_to, unsubscribe_url } = written;
  try {
    await transport.sendMail({
      from,
      // as an object: one address, whatever is in it, and never a list
      to: { name: "", address: mail.recipient },
      subject,
      html,
      text,
      messageId: `<${mail.id}@${domainOf(from)}>`,
      ...(reply_to ? { replyTo: { name: "", address: reply_to } } : {}),
      headers: { "Auto-Submitted": "auto-generated", "X-ERE-Mail": mail.id, ...unsubscribeHeaders(unsubscribe_url) },
    });
    return null;
  } catch (error) {
    return judge(error);
  }
}

/** One click in the mail program ends the mail (RFC 8058): the address takes a POST, and asks no more. */
function unsubscribeHeaders(url: string | undefined): Record<string, string> {
  return url ? { "List-Unsubscribe": `<${url}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" } : {};
}

/** Why a mail did not go, in words that hold no personal data: a server's answer often repeats the address. */
function judge(error: unknown): Failure {
  const {
    code = "unknown",
    responseCode,
    response = "",
    command = "",
  } = error as {
    code?: string;
    responseCode?: number;
    response?: string;
    command?: string;
  };
  // a server that refuses this recipient or this message (RFC 5321 section 4.2.1); refusing us or the sender is ours to mend
  const aboutThisMail = code === "EENVELOPE" || code === "EMESSAGE";
  const aboutUs = command === "MAIL FROM";
  const known = /^[A-Z]{3,20}$/.test(code) ? code : String(describeCause(error).type);
  return {
    failure: [known, responseCode, command].filter(Boolean).join(" "),
    permanent: aboutThisMail && !aboutUs && (responseCode ?? 0) >= 500,
    serverDown: !aboutThisMail || aboutUs,
    code: /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1],
  };
}

function domainOf(from: string): string {
  return /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? "localhost";
}
