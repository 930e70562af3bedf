// The file for the bank: SEPA credit transfers, ISO 20022 pain.001.001.09.

import { Document } from "sepa";

/** Whose money it is. */
type Debtor = { name: string; iban: string; bic?: string | undefined };

/** `name` is in the SEPA characters and at most 70 of them; `amount_eur` has two decimals. */
export type Transfer = { line_id: string; name: string; iban: string; amount_eur: number };

/** An id of at most 35 characters, as the standard has them. */
const reference = (id: string) => id.replaceAll("-", "");

/**
 * One payment each, in their order. MsgId is the id of the batch, EndToEndId that of the line, both without dashes.
 * @param created_at in the Netherlands, without an offset: 2026-08-15T14:00:00. On that day it is to be paid.
 * @throws {Error} for an IBAN or a name that no such file may hold
 */
export function creditTransfers(batch_id: string, created_at: string, debtor: Debtor, transfers: Transfer[]): string {
  const message = reference(batch_id);
  const file = new Document("pain.001.001.09");
  // the library writes the local time of the machine: read without an offset it comes out as it went in
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
  payment.id = message; // the library's own, with a number behind it, would leave too little for what is below

  transfers.forEach(({ line_id, name, iban, amount_eur }, index) => {
    const transfer = payment.createTransaction();
    transfer.creditorName = name;
    transfer.creditorIBAN = iban;
    transfer.amount = amount_eur;
    transfer.end2endId = reference(line_id);
    transfer.remittanceInfo = `ERE ${created_at.slice(0, 10)}`;
    payment.addTransaction(transfer);
    transfer.id = String(index + 1);
  });
  return file.toString();
}
