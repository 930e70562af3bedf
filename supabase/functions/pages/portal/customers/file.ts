import type { Cell } from "../../kit/csv.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Customer } from "./model.ts";

/** The columns of the file: all that GET /partner/customers says. */
export function columnsOf(frame: PortalFrame): Cell[] {
  const { customers: words, customer } = WORDS[frame.locale];
  const { columns } = words;
  return [
    columns.customer_ref,
    customer.reference,
    columns.naam,
    columns.email,
    columns.phone,
    columns.street,
    columns.house_number,
    columns.postal_code,
    words.city,
    columns.type,
    words.month,
    words.source,
    words.mandate,
    words.registration,
    columns.charger_count,
    columns.charger_brand,
    columns.charger_model,
    columns.charger_mid,
    columns.effective_fee_pct,
    columns.partner_share_pct,
  ];
}

export function rowOf(frame: PortalFrame, customer: Customer): Cell[] {
  const { customers: words, customer: one } = WORDS[frame.locale];
  const { registration_status: status, charger_mid_eligible: mid } = customer;
  return [
    customer.customer_ref,
    customer.external_ref,
    customer.naam ?? null,
    customer.email ?? null,
    customer.phone ?? null,
    customer.street ?? null,
    customer.house_number ?? null,
    customer.postal_code ?? null,
    customer.city,
    one.types[customer.type],
    customer.attached_month.slice(0, 7),
    words.sources[customer.source],
    customer.is_active ? words.signed : words.not_signed,
    status ? words.registrations[status] : null,
    customer.charger_count,
    customer.charger_brand,
    customer.charger_model,
    mid === null ? null : mid ? words.yes : words.no,
    customer.effective_fee_pct,
    customer.partner_share_pct,
  ];
}
