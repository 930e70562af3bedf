// The file for the bank: SEPA credit transfers, ISO 20022 pain.001.001.09.

import { Document } from "sepa";
import { OperatorError } from "./database.ts";

/** Whose money it is. */
type Debtor = { name: string; iban: string; bic?: string | undefined };

/** `reference` is what the customer's statement has. `name` has only SEPA characters, at most 70; `amount_eur` has two decimals. */
export type Transfer = { line_id: string; reference: string; name: string; iban: string; amount_eur: number };

/** An id of at most 35 characters, as the standard requires. */
const reference = (id: string) => id.replaceAll("-", "");

/**
 * One payment for each line, in order. MsgId is the id of the batch and EndToEndId the id of the line, both without
 * dashes.
 * @param created_at in the Netherlands, without an offset: 2026-08-15T14:00:00
 * @param pays_on the day on which the bank is asked to pay; that day if omitted
 * @throws {Error} for an IBAN or a name that the format does not allow
 */
export function creditTransfers(
  batch_id: string,
  created_at: string,
  debtor: Debtor,
  transfers: Transfer[],
  pays_on = created_at.slice(0, 10),
): string {
  const message = reference(batch_id);
  const file = new Document("pain.001.001.09");
  // the library writes the machine's local time; parsed without an offset it comes out unchanged
  file.grpHdr.created = new Date(created_at);
  file.grpHdr.id = message;
  file.grpHdr.initiatorName = debtor.name;

  const payment = file.createPaymentInfo();
  payment.requestedExecutionDate = new Date(`${pays_on}T00:00:00`);
  payment.batchBooking = true;
  payment.debtorName = debtor.name;
  payment.debtorIBAN = debtor.iban;
  payment.debtorBIC = debtor.bic ?? "";
  file.addPaymentInfo(payment);
  // the library's own id has a number appended, which would leave too little room for the ids below
  payment.id = message;

  transfers.forEach(({ line_id, reference: said, name, iban, amount_eur }, index) => {
    const transfer = payment.createTransaction();
    transfer.creditorName = name;
    transfer.creditorIBAN = iban;
    transfer.amount = amount_eur;
    transfer.end2endId = reference(line_id);
    transfer.remittanceInfo = `ERE ${created_at.slice(0, 10)} ${said}`;
    payment.addTransaction(transfer);
    transfer.id = String(index + 1);
  });
  // the library names a schema file beside the document, which no bank has
  return file.toString().replace(/ xmlns:xsi="[^"]*"| xsi:schemaLocation="[^"]*"/g, "");
}

/**
 * The payments of a file that `creditTransfers` wrote.
 * @throws {OperatorError} if it is not whole
 */
export function readTransfers(xml: string): { batch_id: string; transfers: Omit<Transfer, "reference">[] } {
  const text = (within: string, element: string) =>
    (new RegExp(`<${element}(?: [^>]*)?>([^<]*)</${element}>`).exec(within)?.[1] ?? "").replaceAll("&apos;", "'");
  const id = (within: string, element: string) =>
    text(within, element).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  const transfers = [...xml.matchAll(/<CdtTrfTxInf>(.*?)<\/CdtTrfTxInf>/gs)].map(([, payment = ""]) => ({
    line_id: id(payment, "EndToEndId"),
    name: text(payment, "Nm"),
    iban: text(payment, "IBAN"),
    amount_eur: Number(text(payment, "InstdAmt")),
  }));
  const sum = transfers.reduce((cents, { amount_eur }) => cents + Math.round(amount_eur * 100), 0);
  const isWhole = transfers.length > 0 && transfers.length === Number(text(xml, "NbOfTxs"));
  if (!isWhole || sum !== Math.round(Number(text(xml, "CtrlSum")) * 100))
    throw new OperatorError("This is not a whole file of payout export.");
  return { batch_id: id(xml, "MsgId"), transfers };
}
