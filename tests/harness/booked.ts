// A month that was booked, credited, sold and paid, by its rows: the steps have tests of their own.

import type pg from "pg";

/** Books, credits, sells and pays a month of a connection that has a signed mandate. */
export async function giveBooking(admin: pg.Pool, connection_id: string): Promise<void> {
  await admin.query(
    `with connection as (
       select c.*, m.id as mandate_id, m.signed_at, m.valid_from, m.valid_until, m.fee_pct, m.partner_share_pct
         from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
        where c.id = $1),
     booking as (
       insert into core.bookings (partner_id, run_id, quarter, number, status, submitted_at)
       select partner_id, gen_random_uuid(), '2026-01-01', 1 + (select count(*) from core.bookings), 'submitted', private.now()
         from connection returning partner_id, id),
     booked as (
       insert into core.booking_rows
         (partner_id, booking_id, account_id, connection_id, owner_id, period, status, kwh, session_count, source, ere_per_kwh, ean_code,
          ean_exclusive, signatory, postal_code, house_number, mandate_id, mandate_signed_at, mandate_valid_from, mandate_valid_until,
          fee_pct, partner_share_pct)
       select c.partner_id, b.id, c.account_id, c.id, c.owner_id, '2026-01-01', 'registered', 100, 8, 'own_sessions', 0.332694, c.ean_code,
              c.ean_exclusive, 'Sanne de Vries', '3818LH', 8, c.mandate_id, c.signed_at, c.valid_from, c.valid_until, c.fee_pct,
              c.partner_share_pct
         from connection c, booking b returning *),
     summed as (
       insert into core.account_bookings
         (partner_id, account_id, booking_id, owner_id, delivery_year, kwh, ere, registered_ere, sold_ere, gross, net, lowest_fee, highest_fee, changed_at)
       select partner_id, account_id, booking_id, owner_id, 2026, kwh, 33.2694, 33.2694, 3, 1.26, 1.02, fee_pct, fee_pct, private.now() from booked),
     credited as (
       insert into core.credits (partner_id, row_id, owner_id, accepted_kwh, ere)
       select partner_id, id, owner_id, kwh, 33.2694 from booked),
     sold as (
       insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
       select partner_id, id, id, 'Brandstof N.V.', 3, 0.42, 1.26, private.today() from booking returning partner_id, id),
     reversed as (
       insert into core.sale_reversals (partner_id, sale_id, reason, recover) select partner_id, id, 'test', false from sold),
     published as (
       insert into core.figures (partner_id, delivery_year, price) select partner_id, 2026, 0.42 from connection on conflict do nothing),
     allocated as (
     insert into core.allocations
       (partner_id, sale_id, row_id, account_id, owner_id, ere, gross, fee_pct, partner_share_pct, partner_share)
     select b.partner_id, s.id, b.id, b.account_id, b.owner_id, 3, 1.26, b.fee_pct, b.partner_share_pct, 0 from booked b, sold s returning *),
     invoice as (
       insert into core.invoices (partner_id, year, number, quarter, issued_on, issued_by, vat_regime, vat_rate, net, vat, name, company)
       select partner_id, extract(year from private.today()), 1 + (select count(*) from core.invoices), '2026-01-01', private.today(), 'test', 'none', 0,
              1, 0, 'Laadpunt', '{}' from connection returning partner_id, id, number),
     charged as (
       insert into core.invoice_entries (partner_id, ledger_partner_id, entry_id, invoice_id, amount) select partner_id, partner_id, number, id, 1 from invoice),
     batch as (
       insert into core.payout_batches (minimum, prepared_by) values (0, 'test') returning id),
     line as (
       insert into core.payout_lines (partner_id, batch_id, account_id, owner_id, amount, name, iban_ciphertext, iban_key_id, iban_last4)
       select b.partner_id, batch.id, b.account_id, b.owner_id, 1.02, 'Sanne de Vries', 'x', 'x', '4300' from booked b, batch returning *),
     part as (
       insert into core.payout_parts (partner_id, line_id, ledger_partner_id, kind, account_id, owner_id, amount)
       select partner_id, id, partner_id, 'customer', account_id, owner_id, amount from line returning *)
     insert into core.payout_entries (partner_id, part_id, ledger_partner_id, allocation_id, owner_id, amount, sold)
     select p.partner_id, p.id, p.ledger_partner_id, a.id, p.owner_id, p.amount, true from part p, allocated a`,
    [connection_id],
  );
  const { rows } = await admin.query("select account_id from core.connections where id = $1", [connection_id]);
  await admin.query("delete from core.account_years where account_id = $1 and delivery_year = 2026", [
    rows[0].account_id,
  ]);
  await admin.query(
    "insert into core.account_years select * from core.year_sums where account_id = $1 and delivery_year = 2026",
    [rows[0].account_id],
  );
  await admin.query(
    `select private.post(c.partner_id, array[row($1 || ':test', 'kWh', 100, 'delivered', c.account_id, 'submitted', c.id)::private.posting])
       from core.connections c where c.id = $1::text::uuid`,
    [connection_id],
  );
}
