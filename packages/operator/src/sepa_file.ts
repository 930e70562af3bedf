// The file for the bank: SEPA credit transfers, ISO 20022 pain.001.001.09.

import { Document } from "sepa";

/** Whose money it is. */
type Debtor = { name: string; iban: string; bic?: string | undefined };

/** `reference` is what the customer's statement has. `name` has only SEPA characters, at most 70; `amount_eur` has two decimals. */
export type Transfer = { line_id: string; reference: string; name: string; iban: string; amount_eur: number };

/** An id of at most 35 characters, as the standard requires. */
const reference = (id: string) => id.replaceAll("-", "");

/**
 * One payment for each line, in order. MsgId is the id of the batch and EndToEndId the id of the line, both without
 * dashes.
 * @param created_at in the Netherlands, without an offset: 2026-08-15T14:00:00. The payment date is that day.
 * @throws {Error} for an IBAN or a name that the format does not allow
 */
export function creditTransfers(batch_id: string, created_at: string, debtor: Debtor, transfers: Transfer[]): string {
  const message = reference(batch_id);
  const file = new Document("pain.001.001.09");
  // the library writes the machine's local time; parsed without an offset it comes out unchanged
  file.grpHdr.created = new Date(created_at);
  file.grpHdr.id = message;
  file.grpHdr.initiatorName = debtor.name;

  const payment = file.createPaymentInfo();
  payment.requestedExecutionDate = new Date(`${created_at.slice(0, 10)}T00:00:00`);
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
  return file.toString();
}
