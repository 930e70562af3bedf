// Delivery reports (RFC 3464) that came back for our mail: one in a file, many in an mbox, or a folder of them.

import { closeSync, createReadStream, type Dirent, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { count, type Input, type Machine, type Row } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";

/** What one report says about one recipient, and where it stands. */
type Report = { place: string; mail: string; recipients: string[]; action: string; status: string };

/** What is read of one message: status and headers come first, and nothing after them counts. */
const MOST = 1024 * 1024;
/** Our mail has one recipient; a report of a list is none of ours. */
const RECIPIENTS = 20;
/** Reports of one transaction. */
const BATCH = 500;

/** `mail bounced`: tells the database of every report, and the operator what became of each. */
export async function readBounces({ file, ...input }: Input, { call, say }: Machine): Promise<OpsAnswer> {
  const rows: Row[] = [];
  let waiting: Report[] = [];
  const send = async () => {
    const { outcomes } = (await call("mail_bounced", { ...input, reports: waiting })) as { outcomes: string[] };
    rows.push(...waiting.map(({ place, mail, status }, at) => ({ place, outcome: outcomes[at], mail, status })));
    waiting = [];
    say(`${count(rows.length, "report")} read\n`);
  };
  for await (const { place, raw } of messagesAt(String(file))) {
    const reports = await readReport(raw);
    if (typeof reports === "string") rows.push({ place, outcome: reports, mail: null, status: null });
    else waiting.push(...reports.map((report) => ({ place, ...report })));
    if (waiting.length >= BATCH) await send();
  }
  if (waiting.length > 0) await send();
  return { reports: rows };
}

/** The reports in a message, or why there is none. */
async function readReport(raw: Uint8Array): Promise<Omit<Report, "place">[] | "not_a_report" | "without_id"> {
  const email = await PostalMime.parse(raw, {
    forceRfc822Attachments: true,
    attachmentEncoding: "utf8",
    maxNestingDepth: 20,
  }).catch(() => undefined);
  const part = (...types: string[]) => email?.attachments.find(({ mimeType }) => types.includes(mimeType));
  const status = part("message/delivery-status", "message/global-delivery-status");
  if (!status) return "not_a_report";
  const returned = part("message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers");
  const [headers] = fieldsIn(String(returned?.content ?? ""));
  // a mail service may have replaced our Message-ID by its own
  const named = [headers?.get("x-ere-mail"), headers?.get("message-id")?.replace(/^<([^<>@]+)@[^<>]+>$/, "$1")];
  const mail = named.find((id) => /^[0-9a-f-]{36}$/i.test(id ?? ""));
  if (!mail) return "without_id";
  const ours = fieldsIn(String(status.content)).filter((fields) => fields.has("final-recipient"));
  if (ours.length === 0) return "not_a_report";
  return ours.slice(0, RECIPIENTS).map((fields) => ({
    mail: mail.toLowerCase(),
    // where mail is forwarded, the original recipient is the one whom we wrote to
    recipients: ["original-recipient", "final-recipient"].flatMap((name) => {
      const address = /;\s*<?([^<>\s]+)>?\s*$/.exec(fields.get(name) ?? "")?.[1];
      // the database takes no NUL, and no address has a control sign
      return address && !/\p{Cc}/u.test(address) ? [address.toLowerCase()] : [];
    }),
    action: (fields.get("action") ?? "").replace(/\p{Cc}/gu, "").toLowerCase(),
    status: /^\d\.\d{1,3}\.\d{1,3}/.exec(fields.get("status") ?? "")?.[0] ?? "",
  }));
}

/** Groups of fields, separated by empty lines, by their names in lower case. Of two with one name the first counts. */
function fieldsIn(text: string): Map<string, string>[] {
  return text
    .replace(/\r\n?/g, "\n")
    .split(/\n{2,}/)
    .map((group) => {
      const fields = new Map<string, string>();
      for (const line of group.replace(/\n[ \t]+/g, " ").split("\n")) {
        const [, name = "", value = ""] = /^([\w-]+):(.*)$/.exec(line) ?? [];
        if (name && !fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), value.trim());
      }
      return fields;
    });
}

/** Each message of a file or an mbox, or of all files of a folder and its folders (a Maildir). */
async function* messagesAt(path: string): AsyncGenerator<{ place: string; raw: Uint8Array }> {
  try {
    if (!statSync(path).isDirectory()) return yield* messagesIn(path);
    const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const pathOf = ({ parentPath, name }: Dirent) => join(parentPath, name);
    for (const file of files.map(pathOf).sort()) yield* messagesIn(file);
  } catch (error) {
    const { code, path: at = path } = error as NodeJS.ErrnoException;
    if (!code || error instanceof OperatorError) throw error;
    throw new OperatorError(`${at} cannot be read (${code}). What was read before it is stored.`);
  }
}

/** An mbox begins with "From "; each such line after an empty line begins the next message. */
async function* messagesIn(path: string): AsyncGenerator<{ place: string; raw: Uint8Array }> {
  const head = Buffer.alloc(MOST);
  const file = openSync(path, "r");
  const first = head.subarray(0, readSync(file, head));
  closeSync(file);
  if (!/^\s*From /.test(first.toString("latin1", 0, 64))) return yield { place: path, raw: first };

  let count = 0;
  let message = "";
  // a separator may be cut by the end of a chunk
  let tail = "";
  const found = (text: string) => ({
    place: `${path} (${++count})`,
    raw: Buffer.from(text.replace(/^\s*From .*\r?\n/, ""), "latin1"),
  });
  for await (const chunk of createReadStream(path, { encoding: "latin1" })) {
    const parts = (tail + chunk).split(/\r?\n\r?\n(?=From )/);
    const last = parts.pop() ?? "";
    for (const part of parts) {
      yield found((message + part).slice(0, MOST));
      message = "";
    }
    tail = last.slice(-SEPARATOR);
    message = (message + last.slice(0, -SEPARATOR)).slice(0, MOST);
  }
  yield found((message + tail).slice(0, MOST));
}

/** The length of the longest separator. */
const SEPARATOR = "\r\n\r\nFrom ".length;
