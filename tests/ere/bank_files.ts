// Files as banks answer, made by hand after the definitions of ISO 20022: with the elements that a message must have, in
// its order, and those that say what became of a payment.

export const OUR_IBAN = "NL20INGB0001234567";
export const BATCH = "0b0d1e0000004000800000000000000a";
export const LINES = ["0b0d1e0000004000800000000000000b", "0b0d1e0000004000800000000000000c"];

const document = (message: string, inner: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}">${inner}</Document>`;

/** A status and its reason, as the file, the batch and a payment have it, each under names of its own. */
export const statusOf = (code: string, reason?: string) => ({ code, reason });

type Status = { code: string; reason?: string | undefined };
const statusXml = (element: string, status: Status | undefined) =>
  status
    ? `<${element}>${status.code}</${element}>${status.reason ? `<StsRsnInf><Rsn><Cd>${status.reason}</Cd></Rsn></StsRsnInf>` : ""}`
    : "";

type StatusLine = { line: string; amount?: string; status?: string; code?: string; reason?: string | undefined };

export function pain002(
  message: string,
  { id = BATCH, group, batch, lines = [] }: { id?: string; group?: Status; batch?: Status; lines?: StatusLine[] },
): string {
  const payments = lines.map(
    ({ line, amount, status, code, reason }, n) =>
      `<TxInfAndSts><StsId>S${n}</StsId><OrgnlInstrId>${n + 1}</OrgnlInstrId><OrgnlEndToEndId>${line}</OrgnlEndToEndId>` +
      `${status ?? statusXml("TxSts", code ? { code, reason } : undefined)}` +
      `${amount ? `<OrgnlTxRef><Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt></OrgnlTxRef>` : ""}</TxInfAndSts>`,
  );
  return document(
    message,
    `<CstmrPmtStsRpt><GrpHdr><MsgId>BANK-1</MsgId><CreDtTm>2026-08-17T09:00:00</CreDtTm></GrpHdr>` +
      `<OrgnlGrpInfAndSts><OrgnlMsgId>${id}</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>${statusXml("GrpSts", group)}</OrgnlGrpInfAndSts>` +
      (batch || lines.length > 0
        ? `<OrgnlPmtInfAndSts><OrgnlPmtInfId>${id}</OrgnlPmtInfId>${statusXml("PmtInfSts", batch)}${payments.join("")}</OrgnlPmtInfAndSts>`
        : "") +
      "</CstmrPmtStsRpt>",
  );
}

export type Detail = { line: string; amount?: string; reason?: string };

/** An entry of an account: a debit unless it is a credit. Without details only the batch is named, if at all. */
export function bankEntry(
  message: string,
  {
    amount,
    credit = false,
    status = "BOOK",
    batch,
    details = [],
    day = "2026-08-17",
  }: { amount: string; credit?: boolean; status?: string; batch?: string; details?: Detail[]; day?: string },
): string {
  const isOld = message.endsWith(".02");
  const side = `<CdtDbtInd>${credit ? "CRDT" : "DBIT"}</CdtDbtInd>`;
  const own = (euro: string) =>
    isOld ? `<AmtDtls><TxAmt><Amt Ccy="EUR">${euro}</Amt></TxAmt></AmtDtls>` : `<Amt Ccy="EUR">${euro}</Amt>${side}`;
  const inner = [
    ...(batch ? [`<Btch><PmtInfId>${batch}</PmtInfId></Btch>`] : []),
    ...details.map(
      ({ line, amount, reason }) =>
        `<TxDtls><Refs><AcctSvcrRef>B1</AcctSvcrRef><EndToEndId>${line}</EndToEndId></Refs>${amount ? own(amount) : ""}` +
        `${reason ? `<RtrInf><Rsn><Cd>${reason}</Cd></Rsn></RtrInf>` : ""}</TxDtls>`,
    ),
  ];
  return (
    `<Ntry><Amt Ccy="EUR">${amount}</Amt>${side}<Sts>${isOld ? status : `<Cd>${status}</Cd>`}</Sts>` +
    `<BookgDt><Dt>${day}</Dt></BookgDt><BkTxCd><Prtry><Cd>100</Cd></Prtry></BkTxCd>` +
    `${inner.length > 0 ? `<NtryDtls>${inner.join("")}</NtryDtls>` : ""}</Ntry>`
  );
}

/** A statement (camt.053) or a notification (camt.054) of one account. */
export function camt(message: string, entries: string[], iban = OUR_IBAN): string {
  const [report, part] = message.startsWith("camt.053")
    ? ["BkToCstmrStmt", "Stmt"]
    : ["BkToCstmrDbtCdtNtfctn", "Ntfctn"];
  const balance =
    part === "Stmt"
      ? `<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">0.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-08-17</Dt></Dt></Bal>`
      : "";
  return document(
    message,
    `<${report}><GrpHdr><MsgId>BANK-2</MsgId><CreDtTm>2026-08-17T18:00:00</CreDtTm></GrpHdr><${part}><Id>1</Id>` +
      `<CreDtTm>2026-08-17T18:00:00</CreDtTm><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>${balance}${entries.join("")}</${part}></${report}>`,
  );
}

/**
 * What the definitions of these messages demand of the elements that the samples have: the children of each in their order, `!` where one
 * must be there, `*` where it may come again. Elements that no sample has are left out.
 */
export const STRUCTURE: Record<string, string> = {
  CstmrPmtStsRpt: "GrpHdr! OrgnlGrpInfAndSts! OrgnlPmtInfAndSts*",
  GrpHdr: "MsgId! CreDtTm!",
  OrgnlGrpInfAndSts: "OrgnlMsgId! OrgnlMsgNmId! GrpSts StsRsnInf*",
  OrgnlPmtInfAndSts: "OrgnlPmtInfId! PmtInfSts StsRsnInf* TxInfAndSts*",
  TxInfAndSts: "StsId OrgnlInstrId OrgnlEndToEndId TxSts StsRsnInf* OrgnlTxRef",
  StsRsnInf: "Rsn AddtlInf*",
  BkToCstmrStmt: "GrpHdr! Stmt!*",
  BkToCstmrDbtCdtNtfctn: "GrpHdr! Ntfctn!*",
  Stmt: "Id! CreDtTm Acct! Bal!* Ntry*",
  Ntfctn: "Id! CreDtTm Acct! Ntry*",
  Bal: "Tp! Amt! CdtDbtInd! Dt!",
  Ntry: "Amt! CdtDbtInd! Sts! BookgDt BkTxCd! NtryDtls*",
  NtryDtls: "Btch TxDtls*",
  Btch: "MsgId PmtInfId",
  TxDtls: "Refs Amt CdtDbtInd AmtDtls RtrInf",
  Refs: "AcctSvcrRef EndToEndId",
  RtrInf: "Rsn",
};

/** Where a message differs from STRUCTURE. */
export function structureFaults(name: string, children: { name: string; children: unknown[] }[]): string[] {
  const rule = STRUCTURE[name];
  const inner = children.flatMap((each) => structureFaults(each.name, each.children as typeof children));
  if (!rule) return inner;
  const places = rule.split(" ").map((word) => ({ name: word.replace(/[!*]/g, ""), word }));
  const names = children.map((each) => each.name);
  const at = names.map((each) => places.findIndex((place) => place.name === each));
  return [
    ...inner,
    ...names.filter((_, n) => at[n] === -1).map((each) => `${name}: ${each} is not expected`),
    ...at.flatMap((place, n) => (n > 0 && place < (at[n - 1] ?? 0) ? [`${name}: ${names[n]} comes too late`] : [])),
    ...places.flatMap((place) => {
      const times = names.filter((each) => each === place.name).length;
      if (place.word.includes("!") && times === 0) return [`${name}: ${place.name} is missing`];
      return times > 1 && !place.word.includes("*") ? [`${name}: ${place.name} comes ${times} times`] : [];
    }),
  ];
}
