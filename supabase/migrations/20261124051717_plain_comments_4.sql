begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

COMMENT ON COLUMN "core"."booking_rows"."share_partner_id" IS 'The partner that shares in the fee: the account''s CPO, or the partner that had brought the person then. Null: the service keeps the fee.';

COMMENT ON COLUMN "core"."notices"."details" IS 'registration_rejected {grounds}; mandate_ending {valid_until, reminder}; mandate_ended {valid_until}; mandate_withdrawn {by, covered_until}; payout_sent, payout_failed {amount_eur, iban_last4}; payout_iban_changed {iban_last4, by}, without the number if told at the end of the day.';

COMMENT ON COLUMN "core"."webhook_endpoints"."secret_id" IS 'The id of the form that made the secret, so that sending it twice makes one; null without a form.';

COMMENT ON FUNCTION "api"."accept_invitation"(jsonb, jsonb) IS 'Makes the person who proves the invited address by its code a manager, and tells the others: {token_hash, code_hash, key} to {email, accepted}. Not accepted if they manage another partner, which they may leave first. Asks for a login if the address has none.';

COMMENT ON FUNCTION "api"."ingest_months"(jsonb, jsonb) IS 'POST /v1/sessions:batch: {account_id, connection_id, source, periods, total_kwh, session_count, body, body_sha256} to {connection_id, verdicts: {period: verdict}}. Three arrays as Postgres writes them, an entry each month. The first days are distinct; kWh and sessions are null if invalid. A verdict is ingested, outside_mandate, locked, future_period, bad_kwh or bad_session_count. A bad item is a result, never an exception. One set-based statement.';

COMMENT ON FUNCTION "ops"."stats"(jsonb) IS 'What waits for somebody or a job, how much there is, and what was sold by year of delivery: {} to {at, waits, holds, sold}. No personal data. Counts above ten thousand are not exact.';

COMMENT ON FUNCTION "private"."average_price"(uuid, integer) IS 'The average price of an ERE of a delivery year: euro, six decimals, gross by ERE of its unreversed sales. Null before the first. Definer, because it is of all the tenant''s customers.';

COMMENT ON FUNCTION "private"."issue_invoices"(core.partners, date, text) IS 'Writes what a partner''s share in a quarter still needs. That is a credit note for each invoice with reversals, at its rate, and an invoice of the rest.';

COMMENT ON FUNCTION "private"."judge_quarter"(uuid, date, uuid[], uuid[]) IS 'Judges every delivered month of a quarter as of now. chosen limits the accounts, held the connections, which are locked. reason is null if a booking takes the month in. Else it is the first that holds of already_booked, month_not_over, year_closed, no_mandate, outside_mandate, gate:<name>, registration_open, registration_rejected, rejected_by_register, zero_kwh, already_delivered. flags name what is implausible and exclude nothing. beyond_power: more kWh than the power of its chargers allows. above_average: more than five times the average of the twelve months before. too_many_sessions: more sessions than hours. repeated_total: the same total for the third month running. no_sessions: kWh without a session.';

COMMENT ON FUNCTION "private"."mails_that_fit"(text, text[], text, uuid, boolean) IS 'Counts a mail of a kind to each address, and returns the places (from 1) that may be mailed. Mail counts by address, invitations also by address and partner, and mail about a connection also by connection. dry counts nothing.';

COMMENT ON FUNCTION "private"."make_batch"(private.payee[], numeric, text, uuid[]) IS 'Makes a batch with a line for each of these payees, for all they are owed now. owners limits the balances. From here on the sales that each line pays are fixed, and the money is on its way. Payouts are locked.';

COMMENT ON FUNCTION "private"."may_yield"(uuid, uuid, uuid[]) IS 'Whether an account may earn more, if these bookings are spent. It may by a running mandate, a bookable month, uncredited kWh or sellable ERE.';

COMMENT ON FUNCTION "private"."months_wait"(core.connections) IS 'Whether a mandate covers kWh of a connection, of a month with a MID charger, that no booking has yet.';

COMMENT ON FUNCTION "private"."paid_out_allocations"(core.sales) IS 'Which parts of a sale are paid out or on their way, even partly, to customer or partner.';

COMMENT ON FUNCTION "private"."posts_of"(core.webhook_endpoints, core.event_heads, text, integer) IS 'What to send to an endpoint next: pings, due retries and replays, then the next events of the log.';

COMMENT ON FUNCTION "private"."request_statements"(uuid) IS 'Requests the statements of a batch: for each paid customer, and each customer''s part of a CPO''s payment.';

COMMENT ON FUNCTION "private"."see_chargers"(private.charging_session_item[]) IS 'Notes when a charger was last heard of. Notes its meter reading too, at the end of a charge or during one.';

COMMENT ON FUNCTION "private"."share_entries"(uuid) IS 'Entries of a partner''s share that no invoice has: quarter of delivery, euro, and the invoice that a reversal corrects.';

COMMENT ON FUNCTION "private"."sign_again"(core.drafts, jsonb) IS 'The customer of a signed claim signs for later years, or again after its end. A code is mailed for this.';

COMMENT ON FUNCTION "private"."write_invoice"(core.partners, core.invoices) IS 'Writes an invoice of its quarter''s entries that no invoice has, or a credit note of the corrected invoice''s reversals. Moves its VAT to an account of its own, which the next payout pays. Null if there is nothing. The partner''s invoices are locked.';

COMMENT ON TABLE "core"."credits" IS 'What the register granted for a row: the accepted kWh, 0 if rejected, and their ERE, cut to six decimals. A reversed credit is kept. Kept seven years.';

COMMENT ON TABLE "core"."ledger_accounts" IS 'An account of the ledger: a unit, a kind, and an owner (an account, booking, sale or partner). Its balance is what was credited less what was debited. No personal data; kept as long as its entries.';

COMMENT ON VIEW "core"."booking_sums" IS 'Sums by account and booking: kWh, ERE (exact), ERE credited and sold, euro, the lowest and the highest fee.';

COMMENT ON VIEW "core"."earned_months" IS 'Each month that counts: kWh accepted, or still to be accepted, their exact ERE, and the ERE credited and sold. Euro.';

commit;
