// What a bank answers to a file of payments, read from its own files: pain.002 (status), camt.053 (a statement of the
// account) and camt.054 (its entries). Here is only what the file says. The database decides what comes of it.

import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { XmlDocument, XmlElement } from "libxml2-wasm";
import { dayOf } from "#shared/values/dutch_clock.ts";
import { OperatorError } from "./database.ts";

/** What a file says of a payment or a batch of ours; ids as our file for the bank has them, amounts exact, as text. */
export type Said = {
  /** booked, rejected, back_batch: a batch. paid, back: a line. */
  what: "booked" | "paid" | "back" | "rejected" | "back_batch";
  batch?: string;
  line?: string;
  amount?: string | undefined;
  /** What the file says of it; of a batch the reasons of its file and lines too, the nearest first. */
  reasons?: string[];
  /** of a line: the reasons of its batch and file, which are of no account */
  besides?: string[];
  /** when it was booked, YYYY-MM-DD; of booked, paid, and back as a return */
  day?: string | undefined;
  /** a line came back as a credit, and was not only refused */
  returned?: true;
};

/** `left`: what the file has besides, by kind, with how often. */
export type BankAnswer = { message: string; said: Said[]; left: Record<string, number> };

/** A day with 5,000 entries is 8 MB. */
const MOST_BYTES = 32 * 1024 * 1024;

const NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:";
const READS = [
  "pain.002.001.03",
  "pain.002.001.10",
  ...["053", "054"].flatMap((n) => [`camt.${n}.001.02`, `camt.${n}.001.08`]),
];

/** An id of ours in such a file: a UUID without dashes. */
const OURS = /^[0-9a-f]{32}$/i;

/** @throws {OperatorError} if the file cannot be read, or is not an answer of a bank. */
export function readBankFile(path: string, account: string): BankAnswer & { sha256: string } {
  let bytes: Buffer;
  try {
    if (statSync(path).size > MOST_BYTES)
      throw new OperatorError(
        `${path} is larger than 32 MB. Ask the bank for a file of fewer days, or for camt.054 instead of camt.053.`,
      );
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  return { ...readBankAnswer(bytes, account), sha256: createHash("sha256").update(bytes).digest("hex") };
}

/**
 * @param account the IBAN that we pay from: entries of another account are left out
 * @throws {OperatorError} if it is not an answer of a bank that we read
 */
export function readBankAnswer(bytes: Uint8Array, account: string): BankAnswer {
  // the parser reads a string, which is in no encoding that a file may declare
  const text = decode(bytes).replace(/^\s*<\?xml [^>]*\?>/, "");
  // no such file has a document type, and without one nothing is declared that could be expanded or fetched
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text))
    throw new OperatorError(
      "The file declares a document type (DOCTYPE), which no answer of a bank does; it was not read.",
    );
  let document: XmlDocument;
  try {
    document = XmlDocument.fromString(text);
  } catch (error) {
    throw new OperatorError(
      `The file is not XML, or is not whole: ${firstLine(error)}. Unpack a zip first, and read each file of it; ask the ` +
        "bank for camt.053 if this is MT940 or CSV.",
    );
  }
  try {
    const { root } = document;
    return readDocument(copyOf(root, root.namespaceUri), root.namespaceUri, account);
  } finally {
    document.dispose();
  }
}

/** Some banks write ISO 8859, and not all of them declare it. Ids, amounts and codes have the same bytes in both. */
function decode(bytes: Uint8Array): string {
  const mark = `${bytes[0]} ${bytes[1]}`;
  if (mark === "255 254" || mark === "254 255")
    return new TextDecoder(mark === "255 254" ? "utf-16le" : "utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/** An element of the message, with its elements; `text` only where it has none. */
type Element = { name: string; currency: string | undefined; text: string; children: Element[] };

/** Each node is read from the parser's memory once. Elements of another namespace are none of the message. */
function copyOf(element: XmlElement, namespace: string): Element {
  const children: Element[] = [];
  for (let node = element.firstChild; node; node = node.next)
    if (node instanceof XmlElement && node.namespaceUri === namespace) children.push(copyOf(node, namespace));
  const text = children.length > 0 ? "" : element.content.trim();
  return { name: element.name, currency: text ? element.attr("Ccy")?.value : undefined, text, children };
}

const firstLine = (error: unknown) =>
  (error instanceof Error ? error.message : "").split("\n")[0]?.replace(/\.$/, "") ?? "";

function readDocument(root: Element, namespace: string, account: string): BankAnswer {
  const message = root.name === "Document" && namespace.startsWith(NAMESPACE) ? namespace.slice(NAMESPACE.length) : "";
  if (message.startsWith("camt.056") || message.startsWith("camt.029"))
    throw new OperatorError(
      `This is a recall (${message}): somebody asks for a payment back, and no money moved yet. Nothing was changed; ` +
        "answer it at the bank. If money comes back, a camt.053 or camt.054 says so.",
    );
  if (!READS.includes(message))
    throw new OperatorError(
      `This is ${message || "not a message of ISO 20022"}. Ask the bank for one of ${READS.join(", ")}. Nothing was changed.`,
    );
  const answer: BankAnswer = { message, said: [], left: {} };
  if (message.startsWith("pain")) readStatus(root, answer);
  else readEntries(root, account.replace(/\s/g, "").toUpperCase(), answer);
  return answer;
}

function leave(answer: BankAnswer, what: string) {
  answer.left[what] = (answer.left[what] ?? 0) + 1;
}

/** pain.002: what became of the file, its batch and its lines. Only what was refused changes anything. */
function readStatus(root: Element, answer: BankAnswer) {
  const [report] = children(root, "CstmrPmtStsRpt");
  const [group] = children(report, "OrgnlGrpInfAndSts");
  if (!report || !group)
    throw new OperatorError("The file is no whole pain.002: it does not name the file it answers.");
  const kind = textAt(group, "OrgnlMsgNmId") ?? "pain.001";
  if (!kind.startsWith("pain.001")) return leave(answer, `status of another kind of file (${kind})`);
  // the bank may say why at the file, the batch or its lines: a batch has the reasons of all of them
  const rejected = new Map<string, string[]>();
  const why = (from: Element) => reasonsOf(from, "StsRsnInf");
  const refuse = (batch: string | undefined, status: string | undefined, reasons: string[]) => {
    if (status !== "RJCT") return status ? leave(answer, `status ${status}, which changes nothing`) : undefined;
    const known = rejected.get(batch ?? "");
    known?.push(...reasons);
    if (known) return;
    const all = [...reasons];
    rejected.set(batch ?? "", all);
    if (batch) answer.said.push({ what: "rejected", batch, reasons: all });
  };
  const ofGroup = why(group);
  refuse(textAt(group, "OrgnlMsgId"), textAt(group, "GrpSts"), ofGroup);
  for (const payment of children(report, "OrgnlPmtInfAndSts")) {
    const ofPayment = why(payment);
    const batch = textAt(payment, "OrgnlPmtInfId");
    refuse(batch, textAt(payment, "PmtInfSts"), ofPayment);
    for (const line of children(payment, "TxInfAndSts")) {
      const status = textAt(line, "TxSts") ?? "none";
      if (status === "RJCT") {
        const amount = children(child(child(line, "OrgnlTxRef"), "Amt"), "InstdAmt")[0];
        const ofLine = why(line);
        rejected.get(batch ?? "")?.push(...ofLine);
        answer.said.push({
          what: "back",
          line: textAt(line, "OrgnlEndToEndId") ?? "",
          amount: amount && amountOf(amount),
          // what the bank says of the whole batch or file says nothing of this account
          reasons: ofLine.length > 0 ? ofLine : ofWhole(ofPayment, ofGroup),
          besides: [...ofPayment, ...ofGroup],
        });
      } else leave(answer, `payment of status ${status}, which changes nothing`);
    }
  }
}

/** camt.053, camt.054: what was booked on our account, and what came back to it. */
function readEntries(root: Element, account: string, answer: BankAnswer) {
  const [report] = [...children(root, "BkToCstmrStmt"), ...children(root, "BkToCstmrDbtCdtNtfctn")];
  const statements = [...children(report, "Stmt"), ...children(report, "Ntfctn")];
  const before = new Set<string>();
  for (const statement of statements) {
    // some banks write it as another kind of number
    const number = textAt(statement, "Acct", "Id", "IBAN") ?? textAt(statement, "Acct", "Id", "Othr", "Id") ?? "none";
    const entries = children(statement, "Ntry");
    if (number.replace(/\s/g, "").toUpperCase() !== account)
      for (const _ of entries)
        leave(answer, `entry of account ${number.slice(0, 34)}, which is not PAYOUT_ACCOUNT_IBAN`);
    else {
      // statements of a file may overlap: then the bank's own reference is the same too
      const keys = entries.map(keyOf);
      for (const [at, entry] of entries.entries())
        if (before.has(keys[at] ?? "")) leave(answer, "entry that the file has twice");
        else readEntry(entry, answer);
      for (const key of keys) if (key) before.add(key);
    }
  }
}

/** What two statements have of one entry; undefined if the bank gave it no reference. */
function keyOf(entry: Element): string | undefined {
  const reference = textAt(entry, "AcctSvcrRef") ?? "";
  if (/^(?:NOTPROVIDED|NONREF)?$/i.test(reference)) return undefined;
  return [reference, textAt(entry, "Amt"), textAt(entry, "CdtDbtInd"), bookedOn(entry)].join(" ");
}

function readEntry(entry: Element, answer: BankAnswer) {
  const [status] = children(entry, "Sts");
  if ((textAt(status, "Cd") ?? status?.text) !== "BOOK") return leave(answer, "entry that is not booked yet");
  const [amount] = children(entry, "Amt");
  const whole = amount && amountOf(amount);
  if (!whole) return leave(answer, "entry without an amount in euro");
  const day = bookedOn(entry);
  const isReversal = ["true", "1"].includes(textAt(entry, "RvslInd") ?? "");
  const isDebit = textAt(entry, "CdtDbtInd") === "DBIT";
  const blocks = children(entry, "NtryDtls");
  const details = blocks.flatMap((block) => children(block, "TxDtls"));
  const lines = details.filter((each) => OURS.test(textAt(each, "Refs", "EndToEndId") ?? ""));
  const batch = [
    ...blocks.flatMap((block) => [textAt(block, "Btch", "PmtInfId"), textAt(block, "Btch", "MsgId")]),
    ...details.flatMap((each) => [textAt(each, "Refs", "PmtInfId"), textAt(each, "Refs", "MsgId")]),
  ].find((id) => OURS.test(id ?? ""));
  if (isDebit && isReversal)
    return leave(
      answer,
      lines.length > 0 || batch
        ? `return of ${whole} euro that the bank took back, of a payment of ours: ask the bank`
        : "entry about something else",
    );
  // a batch may be booked less what came back of it; a return may have the side of its payment
  const isPaid = (each: Element) => (textAt(each, "CdtDbtInd") ?? textAt(entry, "CdtDbtInd")) === "DBIT";
  const isMixed = details.some((each) => isPaid(each) === isDebit);
  const payments = lines.map((each) => {
    const about = child(each, "AmtDtls");
    const own = [
      ...children(each, "Amt"),
      ...children(child(about, "TxAmt"), "Amt"),
      ...children(child(about, "InstdAmt"), "Amt"),
    ].flatMap((amount) => amountOf(amount) ?? []);
    return {
      each,
      line: textAt(each, "Refs", "EndToEndId") as string,
      amount: details.length === 1 ? whole : own[0],
      paid: isMixed ? isPaid(each) : isDebit,
    };
  });
  const others = details.length - lines.length;
  const isListed = payments.every(({ amount }) => amount !== undefined);
  if (lines.length === 0 || (batch && isDebit && others === 0 && !isListed)) {
    const [back] = [...details, entry].flatMap((each) => reasonsOf(each, "RtrInf"));
    if (!batch && !isDebit && (back !== undefined || isReturn(entry) || details.some(isReturn)))
      return leave(
        answer,
        `return of ${whole} euro (${back ?? "no reason"}) that names no payment of ours: ask the bank`,
      );
    if (!batch) return leave(answer, "entry about something else");
    answer.said.push(
      isDebit ? { what: "booked", batch, amount: whole, day } : { what: "back_batch", batch, amount: whole },
    );
    return;
  }
  // an entry of ours alone is the sum of its payments
  const total = payments.reduce(
    (so_far, { amount = "0", paid }) => so_far + (paid === isDebit ? 1n : -1n) * cents(amount),
    0n,
  );
  if (others === 0 && isListed && total !== cents(whole))
    return leave(answer, `entry of ${whole} euro whose payments come to another sum, ${inEuro(total)}`);
  if (others > 0) leave(answer, "payment about something else");
  for (const { each, line, amount, paid } of payments) {
    const came_back = isReversal || isReturn(entry) || isReturn(each) || children(each, "RtrInf").length > 0;
    if (amount === undefined) leave(answer, `payment ${line} without an amount in euro: settle it by hand`);
    else if (paid && came_back)
      leave(answer, `return of ${amount} euro that the bank took back, of a payment of ours: ask the bank`);
    else if (paid) answer.said.push({ what: "paid", line, amount, day });
    // a payee knows our id too, and may name it in a payment of their own
    else if (!came_back)
      leave(
        answer,
        `credit of ${amount} euro that names our payment ${line}, and is no return: if the bank sent it back, ` +
          "run payout settle --failed",
      );
    else answer.said.push({ what: "back", line, amount, reasons: reasonsOf(each, "RtrInf"), returned: true, day });
  }
}

/** The day of an entry; of a moment the one in the Netherlands, of one without a zone as it is written. */
function bookedOn(entry: Element): string | undefined {
  const [booked] = children(entry, "BookgDt");
  const moment = textAt(booked, "Dt") ? undefined : textAt(booked, "DtTm");
  const zoned = moment && /(?:Z|[+-]\d\d:\d\d)$/.test(moment) && !Number.isNaN(Date.parse(moment));
  const day = zoned ? dayOf(moment) : (textAt(booked, "Dt") ?? moment)?.slice(0, 10);
  return day && /^\d{4}-\d\d-\d\d$/.test(day) ? day : undefined;
}

/** Whether the bank's code of a transaction says that it is a return. */
const isReturn = (from: Element) => textAt(from, "BkTxCd", "Domn", "Fmly", "SubFmlyCd") === "RRTN";

/** The bank's reasons: only codes of ISO 20022, because its words may have an IBAN or a name. */
const reasonsOf = (from: Element, element: string): string[] =>
  children(from, element).flatMap((each) => /^[A-Z0-9]{4}$/.exec(textAt(each, "Rsn", "Cd") ?? "") ?? []);

/** A reason of the whole batch or file in words, so that its code bars no account. */
const ofWhole = (...reasons: string[][]): string[] =>
  reasons
    .flat()
    .slice(0, 1)
    .map((reason) => `NARR of the whole batch: ${reason}`);

/** An amount in euro without the zeros that some banks write before it; undefined of another currency, or if it is none. */
function amountOf(element: Element): string | undefined {
  return element.currency === "EUR" ? /^0*(\d{1,13}(?:\.\d{0,5})?)$/.exec(element.text)?.[1] : undefined;
}

/** In hundred-thousandths of a euro, the finest that such a file may write. */
const cents = (amount: string) => {
  const [whole = "0", part = ""] = amount.split(".");
  return BigInt(whole + part.padEnd(5, "0"));
};
const inEuro = (total: bigint) => (Number(total) / 100_000).toFixed(2);

const children = (parent: Element | undefined, name: string): Element[] =>
  parent?.children.filter((each) => each.name === name) ?? [];
const child = (parent: Element | undefined, name: string): Element | undefined => children(parent, name)[0];

/** The text of an element below another one. */
const textAt = (from: Element | undefined, ...path: string[]): string | undefined =>
  path.reduce<Element | undefined>(child, from)?.text || undefined;
