begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

COMMENT ON COLUMN "core"."delivered_months"."accepted_kwh" IS 'What the register accepted, copied from core.credits, so that a position need not look it up. Null until then.';

COMMENT ON COLUMN "core"."delivered_months"."delivery_id" IS 'Null if the month is the sum of charging sessions that came in one by one.';

COMMENT ON COLUMN "core"."delivered_months"."locked" IS 'Registered as ERE, or about to be: deliveries no longer change it.';

COMMENT ON COLUMN "core"."deliveries"."replaced" IS 'Each total that it replaced; null if none. Part of the row: rows of their own, with indexes and keys, cost a batch a sixth of its time. core.replaced_months shows one a row.';

COMMENT ON COLUMN "core"."deployment"."key_prefix" IS 'The prefix of this deployment''s keys, as KEY_PREFIX of its functions, for keys that the operator makes.';

COMMENT ON COLUMN "core"."ere_factors"."bookable_until" IS 'The last day on which the register takes months of this year; null until it is known.';

COMMENT ON COLUMN "core"."events"."data" IS 'The part that never changes. The integrator''s own references are looked up when it is read; customer.sharing_ended keeps the last one.';

COMMENT ON COLUMN "core"."events"."owner_id" IS 'The owner of its log: a CPO client (its id), or the partner itself (partner_id).';

COMMENT ON COLUMN "core"."events"."sequence" IS 'Its place in its log, 1, 2, 3 …; null until it is numbered.';

COMMENT ON COLUMN "core"."figures"."price" IS 'private.average_price of the year, updated when a sale is recorded or taken back.';

COMMENT ON COLUMN "core"."invoices"."corrects" IS 'The invoice that a credit note corrects, at its rate; null for an invoice.';

COMMENT ON COLUMN "core"."invoices"."vat" IS 'On top of the share, rounded half up once, away from zero. For the credit notes of one invoice the sum is rounded, so that together they have the invoice''s cents.';

COMMENT ON COLUMN "core"."ledger_entries"."cause" IS 'Unique in a tenant: a repeated step writes nothing.';

COMMENT ON COLUMN "core"."mail_counts"."granted" IS 'How many the last statement that wrote this row was granted.';

COMMENT ON COLUMN "core"."mail_outbox"."content" IS 'What the mail is about. packages/shared/src/domain/mail writes its text, by template and locale; a mail of 0.9.0 has it here. unsubscribe_url also becomes the header List-Unsubscribe (RFC 8058), reply_to the header Reply-To.';

COMMENT ON COLUMN "core"."mail_outbox"."owner_id" IS 'The person or CPO client in whose name it was written; null for a partner, a link or a job.';

COMMENT ON COLUMN "core"."mail_outbox"."status" IS 'nobody: for an address without a login, so that the answer takes as long as for one with a login. Never sent, deleted by the next run of jobs. dropped: the address had reached its limit of the day. Never sent; its content is not stored.';

COMMENT ON COLUMN "core"."mandate_links"."locale" IS 'The language chosen for the signatory; null if nobody chose.';

COMMENT ON COLUMN "core"."mandate_links"."validity_years" IS 'For how many calendar years it asks; null if the signatory chooses.';

COMMENT ON COLUMN "core"."mandates"."covered_until" IS 'The last day it covers: the end of its last year, or of the month before a customer''s withdrawal. Null if it covers nothing any more. The one rule of what a mandate covers.';

COMMENT ON COLUMN "core"."mandates"."fee_pct" IS 'The agreed fee on what the customer''s ERE yield, in percent. The partner''s later changes do not affect it.';

COMMENT ON COLUMN "core"."mandates"."lapsed_at" IS 'When EAN or address of the connection was corrected. What it covered is still shown, and counts only if it is locked.';

COMMENT ON COLUMN "core"."mandates"."link_id" IS 'The mandate link it was decided by; null for a claim.';

COMMENT ON COLUMN "core"."mandates"."locale" IS 'The language it was signed in, for later mail to the signatory.';

COMMENT ON COLUMN "core"."mandates"."renewal" IS 'Decided while another mandate held, for the years after it. Declining these changes nothing.';

COMMENT ON COLUMN "core"."notices"."due_at" IS 'When to make a mail of it; moved on while a worker is at it, null once done.';

COMMENT ON COLUMN "core"."one_time_codes"."code_hash" IS 'SHA-256 of the code with the secret of its link or browser, and its use if a subject has several. Null once it was used.';

COMMENT ON COLUMN "core"."one_time_codes"."subject" IS 'What the code opens: claim:, mandate: or invitation: and the id of the draft, link or invitation. Or browser: and the SHA-256 of 256 random bits in the cookie of the browser that asked. A newer code replaces it.';

COMMENT ON COLUMN "core"."one_time_codes"."used_hash" IS 'What the browser that used the code may send once more, in case the first answer did not reach it.';

COMMENT ON COLUMN "core"."webhook_endpoints"."last_error" IS 'Why the last attempt failed, as in core.webhook_attempts, or http_ and the status; null after a success. secret_unreadable: we lack the key of its secret.';

COMMENT ON COLUMN "core"."webhook_endpoints"."lease_id" IS 'The worker with this lease sends, until lease_until; no other does.';

COMMENT ON COLUMN "core"."webhook_endpoints"."pseudonymous" IS 'A person''s application made or redirected it. It is sent what GET /partner/events shows that application: no reference of a customer and no registration.';

COMMENT ON COLUMN "core"."webhook_endpoints"."secret_id" IS 'Of the form that made the secret, so that a form sent twice makes one secret; null if no form did.';

COMMENT ON FUNCTION "api"."begin_ledger_check"(jsonb) IS 'The tenant whose books are checked now: {partner_id}, null if none is due. Leased for a day, so that a check that does not end is not repeated at once.';

COMMENT ON FUNCTION "api"."count_waiting_mail"(jsonb) IS 'How many mails wait to be sent, as {waiting}, for a worker without a mail server to report.';

COMMENT ON FUNCTION "api"."decline_mandate"(jsonb, jsonb) IS 'Declines to sign: {token_hash, address, user_agent}. While a mandate holds this is about later years, and changes nothing.';

COMMENT ON FUNCTION "api"."finish_ledger_check"(jsonb, jsonb) IS 'Checks the books of one tenant: {partner_id} to {wrong}, how many things disagree.';

COMMENT ON FUNCTION "api"."ingest_months"(jsonb, jsonb) IS 'POST /v1/sessions:batch: {account_id, connection_id, source, periods, total_kwh, session_count, body, body_sha256} to {connection_id, verdicts: {period: verdict}}. Three arrays as Postgres writes them, an entry each month: its first day, none twice; kWh and sessions, null if invalid. A verdict is ingested, outside_mandate, locked, future_period, bad_kwh or bad_session_count. A bad item is a result, never an exception. One set-based statement.';

COMMENT ON FUNCTION "api"."issue_auth_link"(jsonb, jsonb) IS 'POST /partner/drafts/auth-link: {draft_id, email, return_url, token_hash, auth_url, send_email, links}. A newer link voids the older. With send_email the customer gets it by mail, unless they opted out or reached today''s limit (mail_limit).';

COMMENT ON FUNCTION "api"."issue_mandate_link"(jsonb, jsonb) IS 'POST /v1/mandate-links: {account_id, cpo_external_ref, connection_id, token_hash, mandate_link, locale, validity_years, return_url, send_email, key}. Voids the older link. While a mandate holds it needs 1 November of the last year, and is for the years after.';

COMMENT ON FUNCTION "api"."list_ere_positions"(jsonb, jsonb) IS 'GET /v1/ere-positions: {limit, offset, cpo_external_ref, delivery_year} to a page of positions, newest account first. ere is null until figures are published, for the requested year if one is.';

COMMENT ON FUNCTION "api"."mail_notices"(jsonb, jsonb) IS 'Mails due notices: [{partner_id, notice_id, draft_id, token_hash, mail}] to {mailed}. token_hash is of the mail''s link to sign by, or null.';

COMMENT ON FUNCTION "api"."metrics"(jsonb) IS 'Figures for monitoring: [{name, label, value}]. label is the job, status or log; value is null if nothing was ever counted. No personal data, no partner.';

COMMENT ON FUNCTION "api"."open_mandate_link"(jsonb, jsonb) IS 'What a link opens: {token_hash, address_hash} to {state: open|signed|declined|voided|expired|unknown, locale}. If the state allows also code_sent, partner_name, brand, return_url, facts, periods to sign for, offer, held_until, signed, may_sign_again.';

COMMENT ON FUNCTION "api"."pinged_webhook"(jsonb, jsonb) IS 'The result of a ping: {webhook_id, ping} to {ok, attempt}, null until it was sent.';

COMMENT ON FUNCTION "api"."ready"(jsonb) IS 'What /health/ready asks: {schema_version, worker_age_seconds}, each null if there is none.';

COMMENT ON FUNCTION "api"."record_job_run"(jsonb, jsonb) IS 'Notes that a run of a job ended: {job: worker or documents, ok, ms}.';

COMMENT ON FUNCTION "api"."renew_mandate"(jsonb, jsonb) IS 'Gives the bearer of a signed link one to sign again, from 1 November of the last year on: {token_hash, new_token_hash}. Ten a day.';

COMMENT ON FUNCTION "api"."revoke_webhook"(jsonb, jsonb) IS 'POST /partner/webhooks/{webhook_id}/revoke and /v1/…: {webhook_id}. Drops what was still to be sent.';

COMMENT ON FUNCTION "api"."run_due_jobs"(jsonb) IS 'Does everything that is due, in one transaction: counts by job. Safe to call at any time, from several callers at once.';

COMMENT ON FUNCTION "api"."send_mandate_code"(jsonb, jsonb) IS 'Mails a one-time code, good for ten minutes and five attempts, within the limits of its address: {token_hash, code_hash, mail}.';

COMMENT ON FUNCTION "api"."settle_mail"(jsonb, jsonb) IS 'The results of leased mails: [{partner_id, id, failure, permanent}], failure null when sent. A temporary one is tried again with back-off, twelve times over 17 hours.';

COMMENT ON FUNCTION "api"."settle_webhook"(jsonb, jsonb) IS 'Stores the results of an endpoint: {partner_id, webhook_id, lease_id, results: [{event_id, type, attempt, again, sequence, at, status, ms, error, retry_after}], operator} to {settled}. operator is an address to warn too.';

COMMENT ON FUNCTION "api"."sign_mandate"(jsonb, jsonb) IS 'Signs: {token_hash, facts, signed_name, code_hash, key, document, document_sha256, address, user_agent, mail}. facts, with the chosen years, must still be what was shown.';

COMMENT ON FUNCTION "ops"."ean_list"(jsonb) IS 'What the EAN register has not confirmed, at most limit of each: {failed?, limit?} to {connections, drafts}. failed: only what it denied, or could not be asked. It shows addresses, so it leaves an audit row.';

COMMENT ON FUNCTION "ops"."factor_set"(jsonb) IS 'Sets what a kWh of a year is worth, and until when its months can be booked: {delivery_year, share?, bookable_until?} to {changed, factor}. A new year needs the share, which is fixed once something is booked by it.';

COMMENT ON FUNCTION "ops"."figures_list"(jsonb) IS 'The published years, each with its average price: {} to {figures}.';

COMMENT ON FUNCTION "ops"."figures_publish"(jsonb) IS 'Publishes what a year yields, for one partner''s accounts or everybody''s: {delivery_year, partner?} to {changed, figures}.';

COMMENT ON FUNCTION "ops"."host_set"(jsonb) IS 'Sets the host of this database, and the prefix of its keys: {host, key_prefix?} to {changed, host}. Another host is refused once there are partners, clients or customers.';

COMMENT ON FUNCTION "ops"."invoice_issue"(jsonb) IS 'Writes the invoices and credit notes that partners'' shares in a quarter of delivery need: {quarter, partner?} to {changed, invoices, left_out}.';

COMMENT ON FUNCTION "ops"."invoice_show"(jsonb) IS 'An invoice, its company data, and what it charges by month of delivery: {partner, number} to {invoice, company, months}.';

COMMENT ON FUNCTION "ops"."ledger_check"(jsonb) IS 'Whether kWh, ERE and money agree from delivered months to the last cent: {partner?} to {ok, checks, wrong}. Of one partner or of all.';

COMMENT ON FUNCTION "ops"."mail_list"(jsonb) IS 'Mail, newest first, without its content: {to?, partner?, failed?, limit?} to {mails}. It waits, was sent, was captured or was dropped by a limit of its address.';

COMMENT ON FUNCTION "ops"."mail_resend"(jsonb) IS 'Has the worker''s next run send a mail that failed, or waits long after a failure: {id} to {changed, mail}. Refuses mail that was sent or dropped, because its content is gone. Refuses mail that its reader can no longer use, or opted out of.';

COMMENT ON FUNCTION "ops"."mail_show"(jsonb) IS 'One mail and what it is about: {id}, or the newest of {to?, partner?}, to {mail, locale, content}. It shows what was meant for the recipient, so it leaves an audit row.';

COMMENT ON FUNCTION "ops"."mandate_revoke"(jsonb) IS 'Revokes the signed mandate of a connection, and one for the years after it: {connection, asked_by_customer?} to {changed, connection}. Open months are judged again. If the customer asked, the whole months before stay covered. Locked months and the registration stay.';

COMMENT ON FUNCTION "ops"."vat_set"(jsonb) IS 'Sets the standard rate of VAT from a day on: {valid_from, rate} to {changed, rate}. Refused if an invoice was issued on that day or later.';

COMMENT ON FUNCTION "ops"."webhook_disable"(jsonb) IS 'Stops sending to an endpoint; nothing is lost: {webhook} to {changed, webhook}.';

COMMENT ON FUNCTION "ops"."webhook_enable"(jsonb) IS 'Sends to an endpoint again, from its last position: {webhook} to {changed, webhook}.';

COMMENT ON FUNCTION "ops"."webhook_pinged"(jsonb) IS 'The result of a ping: {webhook, ping} to {ok, attempt}; attempt is null until it was sent.';

COMMENT ON FUNCTION "ops"."webhook_revoke"(jsonb) IS 'Deletes an endpoint, and what was still to be sent: {webhook} to {ok}.';

COMMENT ON FUNCTION "ops"."webhook_rotate"(jsonb) IS 'Replaces the secret: {webhook, secret, now?} to {changed, webhook}. Both sign for 24 hours, unless now.';

COMMENT ON FUNCTION "private"."act_as"(jsonb, text[]) IS 'First line of every api function: sets the caller, and the tenant for row-level security, for this transaction. Admits a ticket (admission/admit.sql). A second check behind the scope check.';

COMMENT ON FUNCTION "private"."act_as_operator"(jsonb) IS 'First line of every ops function that makes a change or shows something personal. The audit row names the database login, and {operator} beside it.';

COMMENT ON FUNCTION "private"."act_for_partner"(uuid) IS 'Narrows the transaction to the tenant that a link or a job belongs to.';

COMMENT ON FUNCTION "private"."act_for_person"(uuid, uuid) IS 'Narrows the transaction to a person''s own rows within a tenant, or without a person to rows without an owner.';

COMMENT ON FUNCTION "private"."act_for_tenant"(uuid) IS 'As private.act_for_partner, and a caller without an owner reaches all of that tenant, unless it is the house.';

COMMENT ON FUNCTION "private"."act_on_webhooks"(jsonb) IS 'First line of what changes an endpoint: the caller is a client, or a person who manages the partner.';

COMMENT ON FUNCTION "private"."add_webhook"(uuid, jsonb) IS 'Adds an endpoint of a log of the tenant: {id, url, types, secret, secret_id, from}. Ten a log: a partner''s own, and each client''s.';

COMMENT ON FUNCTION "private"."advance_registration"(uuid, boolean) IS 'Submits the registration of a connection. A CPO''s account needs all four gates, a person''s a signature and a charger; review judges the rest. Called after anything that can open a gate. corrected: it answers a rejection.';

COMMENT ON FUNCTION "private"."announce_endings"() IS 'Tells customers who have not renewed that their mandate ends this year, from 1 November, and again from 1 December. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."announce_missing"() IS 'Tells a person once, three days after signing, that the IBAN or the charger is missing. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."any_webhook"(jsonb) IS 'The endpoint that {webhook} names. Its partner becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."as_border"(text) IS 'A date as its Dutch midnight, a moment as itself.';

COMMENT ON FUNCTION "private"."as_count"(jsonb) IS 'A JSON number as a whole one; null if it is none, or too large.';

COMMENT ON FUNCTION "private"."as_day"(text) IS 'A calendar day as people write it, 2026-08-15; else null. Postgres by itself reads infinity and yesterday too.';

COMMENT ON FUNCTION "private"."as_decimal"(text, integer) IS 'A number of at most nine digits and so many decimals, without a sign; else null.';

COMMENT ON FUNCTION "private"."as_moment"(text) IS 'ISO 8601 with its offset, to the second as the API shows it; else null.';

COMMENT ON FUNCTION "private"."as_uuid"(text) IS 'The text as an id, or null if it is none: a person may have typed a name.';

COMMENT ON FUNCTION "private"."ask"(text, json) IS 'Asks for something from outside the database, as an answer. The function is called again with the same input, and the result under the name of its kind.';

COMMENT ON FUNCTION "private"."average_price"(uuid, integer) IS 'The average price of an ERE of a delivery year, in euro, six decimals: gross of its unreversed sales by their ERE. Null before the first. Definer, because it is of all the tenant''s customers.';

COMMENT ON FUNCTION "private"."balance"(uuid, text, text, uuid) IS 'What was credited to an account less what was debited from it; 0 if nothing was.';

COMMENT ON FUNCTION "private"."begin_ledger_check"() IS 'Picks a tenant whose books are due, and makes it not due for a day; null if there is none. Definer: every tenant has its turn.';

COMMENT ON FUNCTION "private"."can_sign"(uuid, uuid) IS 'Whether somebody may sign for a connection: if no mandate holds, and from 1 November of the last signed year.';

COMMENT ON FUNCTION "private"."check_ledger"(uuid) IS 'Checks a tenant''s ledger, months, bookings, sales, payouts and kept sums. Answers what should be, what is, how many things are wrong, and the first of them.';

COMMENT ON FUNCTION "private"."claim_mac"(text, text) IS 'HMAC-SHA-256 under a key in hex. Definer, because api_owner may not use the schema of the extensions.';

COMMENT ON FUNCTION "private"."claim_token"(uuid, text) IS 'The token of a claim link, derived whenever it is shown. claimToken in packages/shared/src/domain/claim/links.ts makes the same.';

COMMENT ON FUNCTION "private"."claim_token_hash"(text) IS 'How a new token is stored: its SHA-256, from hexadecimal. It is looked up before the tenant is known. Its 256 random bits make it unique.';

COMMENT ON FUNCTION "private"."claim_webhooks"(integer, text) IS 'Leases endpoints with something to send, for a minute each, with at most fifty events, or one while it fails. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."closed_gates"(core.connections) IS 'The closed gates of a connection, by their names in the checklist.';

COMMENT ON FUNCTION "private"."code_works"(text, text) IS 'Whether this code, or if null the last one sent, would be accepted now. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."connection_facts"(uuid) IS 'The facts of the mandate''s text without its years, with the fee, and the address that its code goes to. The same facts give the same text.';

COMMENT ON FUNCTION "private"."counted_address"(text) IS 'The mailbox of an address, for limits only. Tags make no other mailbox, nor dots (of Proton also - and _) if the provider ignores them.';

COMMENT ON FUNCTION "private"."counted_kind"(text) IS 'The kind that counts a mail, by its cause: what anybody can have mailed to an address of their choice. Null for service mail, which tells what happened and is never dropped.';

COMMENT ON FUNCTION "private"."coverage_of"(uuid) IS 'What the mandates of a connection cover; all null if nobody was asked.';

COMMENT ON FUNCTION "private"."csv_line"(text[]) IS 'A line of CSV by RFC 4180: null is an empty field. A field that begins like a formula, and is no number, gets a quote in front.';

COMMENT ON FUNCTION "private"."cursor_sequence"(uuid, text) IS 'The number of the event that a cursor of this log is behind; null for any other cursor.';

COMMENT ON FUNCTION "private"."customer_data"(jsonb) IS 'The part of an event''s data that a partner is told of a customer.';

COMMENT ON FUNCTION "private"."disable_webhook"(core.webhook_endpoints, text) IS 'Stops sending to an endpoint; nothing is lost. reason: manager, client, operator, gone (it answered 410) or failing (five days without a success).';

COMMENT ON FUNCTION "private"."due_notices"(integer) IS 'The next notices to mail, each leased for five minutes. Definer: every tenant at once, and a person''s draft is in its partner''s tenant.';

COMMENT ON FUNCTION "private"."email_hash"(text, text) IS 'The hash of an address in new unsubscribe links, which opting out stores.';

COMMENT ON FUNCTION "private"."emit"(text, uuid, uuid, jsonb) IS 'Writes an event of an account of this tenant, in the transaction of the change. Not for what a client itself asked for: it has the answer.';

COMMENT ON FUNCTION "private"."emit_all"(uuid, text, private.occurrence[]) IS 'Writes an event of each occurrence, into the log of the account''s client, or of the person''s partner. Definer, because people are in the house and their partner is another tenant.';

COMMENT ON FUNCTION "private"."emit_draft"(text, uuid, text) IS 'Writes an event of a draft of this tenant, with its new status.';

COMMENT ON FUNCTION "private"."emit_months"(uuid, text, uuid[]) IS 'Writes one event for each account with months among these booking rows. Definer, as private.emit_all.';

COMMENT ON FUNCTION "private"."emit_of"(uuid, text, uuid, uuid, jsonb) IS 'private.emit_all for one occurrence, with plans that are kept. Definer, as private.emit_all.';

COMMENT ON FUNCTION "private"."emit_payouts"(text, core.payout_lines[]) IS 'Writes the events of payout lines that took a step, for accounts paid through their CPO and for the partners. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."emit_published"(uuid, integer) IS 'When a year''s figures are published, writes the events of its earlier sales. Definer, as private.emit_sale.';

COMMENT ON FUNCTION "private"."emit_sale"(uuid, text, uuid[]) IS 'Writes events of parts of a sale, for each partner with a share and each account its CPO pays. Definer, because a person''s ERE are sold in the house.';

COMMENT ON FUNCTION "private"."enable_webhook"(core.webhook_endpoints) IS 'Sends to an endpoint again, from its last position.';

COMMENT ON FUNCTION "private"."end_mandate"(uuid, text, text) IS 'Ends the signed mandate of a connection, and one for the years after it. Judges the months they covered again, and has the signatory told. reason: customer, operator, connection_updated or connection_archived. A customer''s withdrawal leaves the whole months before it.';

COMMENT ON FUNCTION "private"."end_others_sign_ins"(text, uuid) IS 'On the sandbox a tenant''s first signature ends the sign-ins at that address: another tenant may have read the code. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."enqueue_mail"(jsonb, text, text, jsonb, boolean, uuid, boolean) IS 'Puts a mail {template, locale, content, key} in the outbox, with what the caller adds to its content. The worker writes the text when it sends. key hashes the recipient for limits. to_nobody does the same work for a mail that is never sent. connection counts the mail too. False if a limit dropped it.';

COMMENT ON FUNCTION "private"."enqueue_mails"(jsonb, jsonb) IS 'enqueue_mail for many: letters of one kind [{recipient, cause, content, to_nobody, connection, counted}]. Drops mail over the limits of its address (private.mails_that_fit), and returns how many. counted says whether it fits, if the caller has counted it.';

COMMENT ON FUNCTION "private"."event_data"(core.events, boolean, text) IS 'What an event tells a reader of its log: its data, and the reader''s own reference. A person''s application (not disclosing) reads no reference of a customer, which may name them.';

COMMENT ON FUNCTION "private"."events_at_once"() IS 'How many events of a log one statement searches.';

COMMENT ON FUNCTION "private"."events_kept_since"() IS 'Events of this moment or before count as gone, whether or not they were deleted.';

COMMENT ON FUNCTION "private"."expire_mandates"() IS 'Marks ended mandates, which connection_mandates already reads from the calendar, and tells customers who have not renewed. Months inside the mandate stay covered. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."expose"(regprocedure, name) IS 'Stands beside each api function: makes api_owner its owner, so that row-level security holds inside it. Lets edge run it, or edge_slow if it takes long.';

COMMENT ON FUNCTION "private"."expose_ops"(regprocedure) IS 'Stands beside each ops function: lets only the operator''s login run it.';

COMMENT ON FUNCTION "private"."finish_ledger_check"(uuid) IS 'Checks a tenant''s books and stores how many things disagree. Definer, because nobody else reads everything of a tenant.';

COMMENT ON FUNCTION "private"."grounds_to_reject"(core.connections) IS 'The closed gates that prevent approval of a registration: one may have closed since it was submitted. A missing IBAN prevents nothing. Nor do an ended mandate or a removed charger, while covered months wait.';

COMMENT ON FUNCTION "private"."has_unnumbered"(core.event_heads) IS 'Whether a log has events behind its head, for the next private.sequence_events.';

COMMENT ON FUNCTION "private"."held"(text, regclass) IS 'Counts the rows of a table, exactly up to ten thousand and about above that: {what, count, about}.';

COMMENT ON FUNCTION "private"."host"() IS 'The host of this database; null until the operator has set it.';

COMMENT ON FUNCTION "private"."invoice_row"(core.invoices) IS 'An invoice as the operator sees it. Below zero it is a credit note, with the number of the invoice it corrects.';

COMMENT ON FUNCTION "private"."is_partner_itself"() IS 'Whether a partner asks by its key or in its portal, and so sees whom it brought. An application that a person let in sees pseudonyms (specification section 5).';

COMMENT ON FUNCTION "private"."is_renewed"(core.mandates) IS 'Whether years after those of a mandate are signed for too.';

COMMENT ON FUNCTION "private"."is_shown"(core.events, boolean) IS 'Whether a reader of a log is shown this event.';

COMMENT ON FUNCTION "private"."issue_invoices"(core.partners, date, text) IS 'Writes what a partner''s share in a quarter still needs. A credit note for each invoice with reversals, at its rate, and an invoice of what is on none.';

COMMENT ON FUNCTION "private"."issue_renewal_link"(uuid, text, timestamp with time zone, uuid) IS 'Makes a link to sign again, like signed_by or the link signed last: same language, fixed years and return URL.';

COMMENT ON FUNCTION "private"."job_age"(text) IS 'Seconds since a job last ended; null if it never did. Definer, because runs belong to no tenant.';

COMMENT ON FUNCTION "private"."judge_code"(core.one_time_codes, text) IS 'Why the SHA-256 of a presented code is refused; null if it is right.';

COMMENT ON FUNCTION "private"."judge_guess"(text, text, jsonb, text) IS 'Judges a guess {code_hash, key, email?, device_hash?} of a subject''s code: why it is refused, or null, and the address it proves. again: a browser that used the code now sends again_by once more. Wrong guesses count by code, address and purpose, so that a new link or draft brings no new guesses. A refusal must be an answer, or the guess would not count. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."keep_code"(text, text, text) IS 'Stores a code that is mailed now to an address, in place of an older one. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."keep_delivery"() IS 'Refuses to delete a delivery that months refer to. Nothing changes its key. Definer, because, like a foreign key, it looks past row-level security.';

COMMENT ON FUNCTION "private"."keep_to_owner"(regclass, name) IS 'Stands beside each table whose rows belong to a person or a CPO client: either reaches only their own. Other callers reach nothing, unless their breadth is the tenant.';

COMMENT ON FUNCTION "private"."keys_for"(text, text) IS 'The keys of one purpose (claim, mail, opt_out, customer), in hex, from sqlKeys in packages/shared/src/auth/keys.ts. The first makes, all of them verify. A text that is no object is the one key of its caller. The database stores none of them.';

COMMENT ON FUNCTION "private"."kick"() IS 'Tells the function that runs this statement that mail or events wait. After the commit it has the worker send them (packages/shared/src/foundation/db.ts).';

COMMENT ON FUNCTION "private"."kick_for"(uuid, uuid) IS 'private.kick if an enabled endpoint is sent the events of this log.';

COMMENT ON FUNCTION "private"."lapse_mandates"(uuid) IS 'Called when EAN or address of a connection change: earlier signatures no longer cover its open months.';

COMMENT ON FUNCTION "private"."last_price"(uuid) IS 'The average price of an ERE, in euro, in the latest year published to a tenant; null if unknown. Definer, because a customer''s pages see no sales.';

COMMENT ON FUNCTION "private"."link_by_token"(text) IS 'Finds a link before its tenant is known; definer only for that. The token is the credential.';

COMMENT ON FUNCTION "private"."lock_for_delivery"(uuid, uuid) IS 'Finds the active connection for a delivery, the wanted one or the first. Locks it: one batch, signature or booking at a time.';

COMMENT ON FUNCTION "private"."log_owner"() IS 'The owner of the log that the caller reads: the client, or the partner itself.';

COMMENT ON FUNCTION "private"."login_create"(jsonb) IS 'Makes the login of one operator: {name, verifier} to {login}. verifier is the SCRAM-SHA-256 verifier of its password. Runs with the rights of the caller: only the owner of the database may make roles.';

COMMENT ON FUNCTION "private"."login_disable"(jsonb) IS 'Ends a login of an operator: {name} to {changed, login}. The role stays, so that no other person gets its name. Runs with the rights of the caller, as login_create.';

COMMENT ON FUNCTION "private"."mail_notice"(jsonb) IS 'Puts the mail of a notice in the outbox, once. With token_hash it has a link to sign by. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."mail_rate"() IS 'The state of a mail limit that is reached, until the next Dutch day, as private.rate_json.';

COMMENT ON FUNCTION "private"."mail_subject"(text, text) IS 'The HMAC of an address, by which limits know it.';

COMMENT ON FUNCTION "private"."mails_that_fit"(text, text[], text, uuid, boolean) IS 'Counts a mail of a kind to each of these addresses, and returns the places (from 1) that may be mailed. Mail counts by address, invitations also by address and partner, and mail about a connection also by connection. dry counts nothing.';

COMMENT ON FUNCTION "private"."make_due_partitions"() IS 'Makes the partitions of this year and the next in every table that has one for each year. Definer, because tables belong to their owner.';

COMMENT ON FUNCTION "private"."make_year_partition"(regclass, integer) IS 'Makes a year''s partition of a table that uses private.partition_by_year. Moves that year''s rows from the default partition; returns whether it made one. Fails with lock_not_available if it would have to wait.';

COMMENT ON FUNCTION "private"."manager_id"() IS 'The person who acts for a partner in this transaction; null if its API key does.';

COMMENT ON FUNCTION "private"."mandate_link_view"(uuid) IS 'What the pages of a link show. Stable, so that it reads one moment: a signature changes what may be signed.';

COMMENT ON FUNCTION "private"."mandate_periods"(uuid, integer) IS 'What can be signed for today: [{validity_years, valid_from, valid_until}], for the fixed years or each choice. A first mandate begins on 1 January of this year. Signed in November or December, it lasts the next year too. A renewal begins after what is signed. For a null connection nothing is signed.';

COMMENT ON FUNCTION "private"."may_be_told"(core.webhook_endpoints) IS 'Whether the owner of the log may read it: what GET /v1/events refuses is not sent either.';

COMMENT ON FUNCTION "private"."may_sign_again"(uuid, uuid) IS 'Whether a signatory may sign again alone: in the last weeks of what they signed for, and after it. Not after a revocation, which somebody meant.';

COMMENT ON FUNCTION "private"."metrics"() IS 'Definer: the figures are of all tenants at once.';

COMMENT ON FUNCTION "private"."month_status"(uuid, date) IS 'private.judge_month for a single month; it reads the coverage itself.';

COMMENT ON FUNCTION "private"."months_by_status"() IS 'Delivered months by status: exact up to ten thousand in all, above that the planner''s estimate.';

COMMENT ON FUNCTION "private"."months_wait"(core.connections) IS 'Whether a connection has kWh of a month with a MID charger that a mandate covers and no booking has yet.';

COMMENT ON FUNCTION "private"."newest_mails"(jsonb, integer) IS 'The newest mails of {to?, partner?, failed?}. failed: failed for good, or waiting after a failure.';

COMMENT ON FUNCTION "private"."note_eligibility"(uuid, uuid[]) IS 'Writes an event for each of these CPO accounts that became ERE-eligible, or is not any more. Called after anything that can close a gate; private.advance_registration calls it after what can open one.';

COMMENT ON FUNCTION "private"."notice_details"(core.notices) IS 'What a notice says now. Null if nothing is left to say: the missing thing was given, or the mandate was renewed or ended.';

COMMENT ON FUNCTION "private"."notice_post"(core.notices) IS 'What a mail about a notice is composed of; null if there is nothing to say, or nobody to tell.';

COMMENT ON FUNCTION "private"."notify"(uuid, text, text, jsonb, uuid) IS 'Has a customer of this tenant told by mail, once for a cause. A customer without an e-mail address is not told.';

COMMENT ON FUNCTION "private"."offer"(uuid, text) IS 'What a mandate yields: the latest factor, the tenant''s last average price (null if there is none), and who pays.';

COMMENT ON FUNCTION "private"."oldest_event"(core.event_heads) IS 'The number before the first event of a log that is still kept.';

COMMENT ON FUNCTION "private"."only_in_sandbox"() IS 'A second check behind the routes, which exist on the sandbox host only.';

COMMENT ON FUNCTION "private"."operator_login"() IS 'The person who acts, for steps that need two people: by a login of their own, not the shared one.';

COMMENT ON FUNCTION "private"."operator_reason"(text) IS 'Why something was taken back: 1 to 500 characters on one line, trimmed.';

COMMENT ON FUNCTION "private"."own_code_fits"(text, text, text) IS 'Counts a code of a kind for a browser that proved the address, apart from its other mail. So no stranger or partner keeps anybody from withdrawing a mandate or changing an account number.';

COMMENT ON FUNCTION "private"."own_webhook"(text) IS 'An endpoint of the caller''s own log, its row locked.';

COMMENT ON FUNCTION "private"."owner_id"() IS 'The person or CPO client that this transaction acts for, who owns what it writes. Null if a partner, the worker or the bearer of a link acts.';

COMMENT ON FUNCTION "private"."partition_by_year"(regclass) IS 'Stands beside each table that only grows and is made `partition by range` of the moment of its rows. Makes a default partition, which loses nothing, and those of private.make_due_partitions. Policies and grants are the table''s; partitions have none, so nobody reaches them but through it.';

COMMENT ON FUNCTION "private"."phone_end"(text) IS 'The last nine digits of a telephone number, the same for 06, +316 and 00316.';

COMMENT ON FUNCTION "private"."ping_webhook"(core.webhook_endpoints) IS 'Has a ping sent to an endpoint before anything else. Its id finds the attempt.';

COMMENT ON FUNCTION "private"."pinged"(uuid, uuid) IS 'The result of a ping; null until it was sent.';

COMMENT ON FUNCTION "private"."place_in_log"(uuid, text, text) IS 'The number behind which something in a log begins (field from), or at which it ends (to). named is a cursor, the id of the first or last event, or a moment, included; null is the end. Refused with invalid_cursor, cursor_expired, event_not_found.';

COMMENT ON FUNCTION "private"."points_in_table"(text, integer, text) IS 'The metering points of an address in our own EAN register, in the form of the public one.';

COMMENT ON FUNCTION "private"."position_ere"(uuid, uuid, integer[]) IS 'What an account earns: the object ere of GET /v1/ere-positions. It is of the latest of these published years (newest first) with months that count, else of the first. No row if no year is published. kWh as accepted once credited; ERE with two decimals; the price with six. Planned as part of the calling statement.';

COMMENT ON FUNCTION "private"."post"(uuid, private.posting[]) IS 'Writes entries, opens the accounts they name, and returns how many were new. An amount of 0 moves nothing and is left out. The same cause again must be the same entry, and writes nothing.';

COMMENT ON FUNCTION "private"."posts_of"(core.webhook_endpoints, core.event_heads, text, integer) IS 'What to send to an endpoint next: pings, retries and replays that are due, then the next events of the log.';

COMMENT ON FUNCTION "private"."price_figures"(uuid, integer) IS 'Stores the average price of a year beside its figures, if they are published.';

COMMENT ON FUNCTION "private"."probe_delay"(integer) IS 'The delay before an endpoint is tried again, after five or more failures in a row.';

COMMENT ON FUNCTION "private"."publish_figures"(uuid, integer) IS 'Publishes a year: positions of the tenant then say what it yields. False: it was published already.';

COMMENT ON FUNCTION "private"."reach"() IS 'The owner whose rows this transaction sees within its tenant. Without an owner: null, for all rows, if the breadth is tenant, else the id that no owner has.';

COMMENT ON FUNCTION "private"."record_signature"(uuid, uuid, jsonb, jsonb, uuid) IS 'Stores a signature, its evidence and what follows, by a mandate link, or a claim, without one: {signed_name, document, document_sha256, address, user_agent} on facts. The caller has proven who signs. brought_by is the partner who brings them with this signature.';

COMMENT ON FUNCTION "private"."refusal"(text, json) IS 'A refusal as an answer, which commits. For writes that must stay (a counted guess, a debit, a recorded check), or before anything is written.';

COMMENT ON FUNCTION "private"."refuse"(text, json) IS 'The usual refusal: it undoes what was written. code is a key of the error table; detail holds the extra fields of the error.';

COMMENT ON FUNCTION "private"."replay_webhook"(core.webhook_endpoints, jsonb) IS 'Sends events again, in their order: {from, to?}, each a cursor, an event or a moment; or {failed: true}, those given up. Returns the range and how many.';

COMMENT ON FUNCTION "private"."require_delivery"() IS 'Refuses months whose delivery is missing in their tenant. Definer, because, like a foreign key, it looks past row-level security.';

COMMENT ON FUNCTION "private"."require_recent_sign_in"() IS 'Refuses with recent_sign_in_required unless private.signed_in_recently.';

COMMENT ON FUNCTION "private"."return_url_allowed"(text, text) IS 'Whether a return URL is the registered one followed by /, ? or nothing. It may have no fragment, and must not climb out of it.';

COMMENT ON FUNCTION "private"."reverse_postings"(uuid, text[]) IS 'Moves back what the entries of these causes moved, once each, and returns how many were new. A cause without an entry had nothing to move.';

COMMENT ON FUNCTION "private"."review_registration"(core.connections, text) IS 'Decides a submitted registration, its row locked: goedgekeurd or afgekeurd, and has the signatory told. The caller checks the grounds.';

COMMENT ON FUNCTION "private"."revoke_webhook"(core.webhook_endpoints) IS 'Deletes an endpoint, its attempts, and what was still to be sent.';

COMMENT ON FUNCTION "private"."rotate_webhook"(core.webhook_endpoints, jsonb) IS 'Replaces the secret, {secret, secret_id, now}. Both sign for 24 hours, or with now only the new one.';

COMMENT ON FUNCTION "private"."schema_version"() IS 'The newest migration of this database; null if it was made without. Definer, because the table is the owner''s.';

COMMENT ON FUNCTION "private"."search_query"(text) IS 'Matches rows that have, for each typed word, a word that begins with it. Null if only signs were typed.';

COMMENT ON FUNCTION "private"."search_words"(text[]) IS 'The words by which a row is found, for the index that private.search_query uses.';

COMMENT ON FUNCTION "private"."seconds_since"(timestamp with time zone) IS 'How long ago a moment was; 0 for null.';

COMMENT ON FUNCTION "private"."sequence_all"(uuid, uuid) IS 'private.sequence_events to the end of a log, for callers that need the end. private.sweep_events numbers what nobody read for an hour, so there is little left.';

COMMENT ON FUNCTION "private"."sequence_events"(uuid, uuid) IS 'Numbers the committed events of a log, ten thousand at most, and returns its head. Every reader of a log calls this first; no writer does. Definer, because nothing else changes an event.';

COMMENT ON FUNCTION "private"."settle_attempt"(core.webhook_endpoints, jsonb) IS 'Applies the result of one attempt, {event_id, type, attempt, again, sequence, at, status, ms, error, retry_after}, and returns the changed endpoint.';

COMMENT ON FUNCTION "private"."settle_mail"(uuid, uuid, text, boolean) IS 'Stores the result of a mail, and deletes what was sent: it held live links and codes. Definer: the worker sends the mail of every tenant.';

COMMENT ON FUNCTION "private"."settle_webhook"(jsonb, text) IS 'Stores the results of a leased endpoint, and ends the lease. An answer of 410 disables it, and so do five days without a success. Mails go out after 24 and 96 hours. False: the caller has lost the lease. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."share_entries"(uuid) IS 'What a partner''s share gained or lost, and no invoice has yet: quarter of delivery, euro, and the invoice that a loss corrects.';

COMMENT ON FUNCTION "private"."shown_mandate"(core.mandates) IS 'A signed mandate, as its pages show it.';

COMMENT ON FUNCTION "private"."shown_webhook"(text) IS 'private.own_webhook without a lock, for reading.';

COMMENT ON FUNCTION "private"."sign_in_mail"(jsonb) IS 'Counts a requested sign-in code, {email, address_hash, device_hash, mail}: fits, refused, or dropped without a word. A browser that signed in to this account before counts itself; others count by network and address, known or not. Definer, because limits belong to no tenant.';

COMMENT ON FUNCTION "private"."signatory"() IS 'The address that the caller proved by a mailed code, as the signatory of a CPO''s customer. Null if they proved none.';

COMMENT ON FUNCTION "private"."signed_facts"(jsonb, jsonb, jsonb) IS 'The facts of a signature, with the chosen years out of periods. Refused unless they equal request.facts, which the signatory read.';

COMMENT ON FUNCTION "private"."signed_in_recently"() IS 'Whether the person of a session signed in within the last 15 minutes. Somebody who finds an open browser cannot redirect money or take a key. Always true for a token, which its scopes limit.';

COMMENT ON FUNCTION "private"."signed_until"(uuid, uuid) IS 'The last day, today or later, that is signed for a connection; null if nothing is.';

COMMENT ON FUNCTION "private"."sold_by_year"() IS 'The sales of each year of delivery, less what was taken back.';

COMMENT ON FUNCTION "private"."start_of"(core.event_heads, text, text) IS 'The number behind which a reader with this cursor, or null, goes on. Refused with invalid_cursor, and with cursor_expired if an event after it is not kept any more.';

COMMENT ON FUNCTION "private"."still_missing"(core.accounts) IS 'Which of iban and charger a customer has yet to give.';

COMMENT ON FUNCTION "private"."still_opens"(core.mail_outbox) IS 'Whether a mail is still of use: its code or link works, and what it asks for is still missing. Mail that only tells something always is.';

COMMENT ON FUNCTION "private"."sum_booking"(uuid, uuid) IS 'Adds up a booking again, its row locked: the last step of every change to it.';

COMMENT ON FUNCTION "private"."sweep_events"() IS 'Deletes events older than 90 days, ten thousand in a run, and numbers those that nobody read for an hour. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."sweep_log"(core.event_heads, bigint) IS 'Deletes events of a log older than 90 days, at most this many, with their retries. Returns how many. The caller holds the head.';

COMMENT ON FUNCTION "private"."take_mails"(text[], text, text, text, boolean) IS 'Counts a mail of a kind for each of these subjects with room, and returns their places (from 1). whole_bucket limits all kinds, kind_bucket this kind. Of a subject that stands several times the first fit. dry counts nothing. Definer, because limits belong to no tenant.';

COMMENT ON FUNCTION "private"."tell"(uuid, uuid, text, uuid, jsonb, uuid, uuid) IS 'Writes an event into one log. Definer, because events are otherwise only read, and a partner is told of people in the house.';

COMMENT ON FUNCTION "private"."tell_payouts"(uuid[]) IS 'Tells these partners what is new of their payouts. Called after any change to one. Definer, as private.partner_payouts.';

COMMENT ON FUNCTION "private"."tell_sharing_ended"() IS 'Tells the partner that a customer left; the event keeps the reference of the attribution. A trigger, because Supabase Auth may delete the login and with it the attribution. Definer, as private.tell.';

COMMENT ON FUNCTION "private"."terms_of"(uuid, uuid) IS 'The percentages a signature agrees to today. They are of the partner who brings or brought the person, or of a CPO account''s partner. Definer, because people are in the house and their partner is another tenant.';

COMMENT ON FUNCTION "private"."today"() IS 'The calendar day in the Netherlands: months, years and mandates begin and end by it.';

COMMENT ON FUNCTION "private"."told_of_customer"(text, text) IS 'Whether a partner is told this event of a customer whom it brought in this way.';

COMMENT ON FUNCTION "private"."unconfirmed_connections"(boolean, integer) IS 'Active connections whose EAN the register denied or has not confirmed, checked longest ago first. With failed, unconfirmed ones only if the register did not answer the last check.';

COMMENT ON FUNCTION "private"."unconfirmed_drafts"(boolean, integer) IS 'Open drafts whose EAN was not found or not looked up, oldest first. Without failed also those waiting for the look-up or their customer''s choice.';

COMMENT ON FUNCTION "private"."unsubscribe_token"(text, text) IS 'The token of an unsubscribe link. It has the hash of the address, so it works when the draft is long gone.';

COMMENT ON FUNCTION "private"."update_webhook"(core.webhook_endpoints, jsonb) IS 'Changes address or types, {url?, types?}: types null is all. It goes on from its position, and what waits goes to the new address.';

COMMENT ON FUNCTION "private"."use_code"(text, text) IS 'Uses up the code of a subject. For ten seconds private.judge_guess accepts again_by from the browser that used it. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."waiting"(text, text) IS 'Counts the rows of a query of ours, up to ten thousand: {what, count, or_more}.';

COMMENT ON FUNCTION "private"."wants_no_mail"(core.mail_outbox) IS 'Whether its reader has opted out of mail of this kind. The unsubscribe link has the hash of the address.';

COMMENT ON FUNCTION "private"."warn_of_webhook"(core.webhook_endpoints, text, text) IS 'Mails the partner''s managers and the operator that an endpoint fails, or (disabled) is sent nothing any more. On production ten times a day for one log.';

COMMENT ON FUNCTION "private"."webhook_delay"(integer) IS 'The delay before an event is sent again after this failed attempt; null after the tenth.';

COMMENT ON FUNCTION "private"."webhook_is_due"(core.webhook_endpoints) IS 'Whether an enabled endpoint may have something to send now.';

COMMENT ON FUNCTION "private"."webhook_row"(core.webhook_endpoints) IS 'An endpoint as the operator sees it: its position, what waits for a retry and what was given up.';

COMMENT ON FUNCTION "private"."why_no_invoice"(core.partners) IS 'The first thing that is missing of a partner to write an invoice in its name; null if nothing is.';

COMMENT ON FUNCTION "private"."words_of"(text) IS 'The words of a text in lower case, without accents. Anything but letters and digits separates them.';

COMMENT ON FUNCTION "private"."write_invoice"(core.partners, core.invoices) IS 'Writes an invoice of what is on none in its quarter, or a credit note of the corrected one''s reversals. Moves its VAT to an account of its own, which the next payout pays. Null if there is nothing. The partner''s invoices are locked.';

COMMENT ON TABLE "core"."account_bookings" IS 'core.booking_sums for each account of a booking. Each change to a booking stores it, so that a position need not add up a year. Kept as long as the booking.';

COMMENT ON TABLE "core"."deployment" IS 'One row: the host of this database, which the operator set before the first partner. Customers of the two hosts never share a database.';

COMMENT ON TABLE "core"."event_heads" IS 'Up to where each log is numbered, and up to where it was swept.';

COMMENT ON TABLE "core"."events" IS 'What happened, for integrators: ids, new status, and nothing of a person. Kept 90 days, so no partition for each year.';

COMMENT ON TABLE "core"."figures" IS 'A delivery year whose figures are published to a tenant: positions then say what it yields. Kept for good.';

COMMENT ON TABLE "core"."invoice_entries" IS 'An entry of a ledger (the partner''s own, or the house''s) that an invoice charges, each on one. Append-only, kept seven years.';

COMMENT ON TABLE "core"."invoices" IS 'A self-billing invoice: the partner''s share in the fees of a quarter of delivery, less what earlier invoices had. Or a credit note, of what was taken back from an invoice. Numbered without gaps by partner and year of issue, with the partner''s name and company data of then. Append-only, kept seven years.';

COMMENT ON TABLE "core"."job_runs" IS 'Ended runs of the scheduled jobs, newest last: whether all went well, and how long it took. No personal data. Kept a week, the newest 100,000 at most.';

COMMENT ON TABLE "core"."ledger_accounts" IS 'An account of the ledger: a unit, a kind, and the id of a customer''s account, booking, sale or partner as owner. Its balance is what was credited less what was debited. No personal data; kept as long as its entries.';

COMMENT ON TABLE "core"."ledger_checks" IS 'When a tenant''s books were last checked, and how many things disagreed. An unfinished check leaves the last result. No personal data.';

COMMENT ON TABLE "core"."mail_counts" IS 'Mails of a Dutch day by subject: an address (hashed), a connection, a log''s endpoints, a browser or a network. The first run of jobs on the next day deletes them. Unlogged: after a crash the day begins again.';

COMMENT ON TABLE "core"."mail_outbox" IS 'Every mail, once for each cause. The sandbox captures it and never sends it. Its content has personal data, codes and live links: it is deleted once sent, the row after 90 days.';

COMMENT ON TABLE "core"."mandate_links" IS 'A link a signatory signs through: good for 14 days, one signature, until a newer one is issued. token_hash is the SHA-256 of 256 random bits.';

COMMENT ON TABLE "core"."mandates" IS 'What a signatory decided, by a mandate link or a claim, with the evidence. That is the text as shown, its SHA-256, typed name, code proof, network address and user agent. Personal data; append-only but for its end; kept seven years after it.';

COMMENT ON TABLE "core"."notices" IS 'What a customer is told, once for each cause. details is what only the moment knew. Recipient and language are looked up when it is mailed. No names or addresses in it; kept as long as the account.';

COMMENT ON TABLE "core"."one_time_codes" IS 'One-time codes that were mailed: good for ten minutes and five attempts. Addresses without a login have rows too, so that nobody can tell which have one. Personal data; the clean-up after expiry deletes it.';

COMMENT ON TABLE "core"."told_payouts" IS 'The last status that an event told of each payout of GET /partner/payouts; no row before the first.';

COMMENT ON TABLE "core"."vat_rates" IS 'The Dutch standard rate of VAT, in percent, from a day on. Reference data; a rate by which an invoice was issued never changes.';

COMMENT ON TABLE "core"."webhook_attempts" IS 'What was sent and its result, without bodies. Kept 30 days.';

COMMENT ON TABLE "core"."webhook_endpoints" IS 'Where the events of a client''s log, or of a partner''s own, are sent. The secrets are encrypted (AES-256-GCM, bound to the endpoint) before they reach the database.';

COMMENT ON TABLE "core"."webhook_retries" IS 'Events to be sent to an endpoint out of turn: retries, replays, and pings, which are in no log. next_attempt_at is null once it was given up.';

COMMENT ON TYPE "core"."replaced_total" IS 'What a month held before, and since when. The delivery is null for a sum of charging sessions.';

COMMENT ON TYPE "private"."occurrence" IS 'Something that happened to an account: its subject (a connection, a charger), and the data of its event.';

COMMENT ON VIEW "core"."connection_coverage" IS 'Whether anybody decided about a mandate of a connection, and the days its mandates cover. Read once for all its months; no row if nobody was asked.';

COMMENT ON VIEW "core"."connection_mandates" IS 'A connection and the state of its mandate: the one that covers today, else the latest decision. A mandate has expired after its last year, even before the job notes it. renewed_until: the last day of the years signed for ahead.';

COMMENT ON VIEW "core"."counted_months" IS 'The delivered months that count toward ERE: inside a mandate, or booked already. A month that is staged because nobody has signed yet does not count.';

COMMENT ON VIEW "core"."earned_months" IS 'The result of each month that counts: kWh accepted, or still to be accepted, their exact ERE, and what is credited and sold. Euro.';

COMMENT ON VIEW "core"."ere_positions" IS 'The position of an account as the API shows it, without its ere.';

COMMENT ON VIEW "core"."ledger_balances" IS 'All balances, for reading many of them. For one account private.balance is quicker.';

COMMENT ON VIEW "core"."replaced_months" IS 'Each total that a later delivery replaced, with the delivery that brought it and the one that replaced it.';

commit;
