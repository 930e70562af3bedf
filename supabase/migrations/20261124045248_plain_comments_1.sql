begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

COMMENT ON COLUMN "core"."accounts"."eligibility_told" IS 'Whether its last event called the account ERE-eligible. core.account_gates says whether it is now.';

COMMENT ON COLUMN "core"."accounts"."iban_changed_at" IS 'When the IBAN was stored or changed: money waits 48 hours before it goes there.';

COMMENT ON COLUMN "core"."accounts"."owner_id" IS 'The client or person that owns the account. Tables below it have owner_id too, so that a policy needs no look-up.';

COMMENT ON COLUMN "core"."audit_log"."partner_id" IS 'The tenant of the change. The house if it has none: what the operator did to the service, or a person to their own login.';

COMMENT ON COLUMN "core"."booking_rows"."delivery_id" IS 'The delivery that brought the kWh; null if they are the sum of charging sessions.';

COMMENT ON COLUMN "core"."booking_rows"."flags" IS 'What made the month look implausible. It excludes nothing.';

COMMENT ON COLUMN "core"."booking_rows"."live" IS 'Neither withdrawn nor rejected: no other booking has its kWh.';

COMMENT ON COLUMN "core"."booking_rows"."share_partner_id" IS 'The partner that shares in the fee: the CPO of the account, or who had brought the person by that month. Null: the service keeps the fee.';

COMMENT ON COLUMN "core"."bookings"."export_sha256" IS 'SHA-256 of the file for the register, when it was first written. The file never changes.';

COMMENT ON COLUMN "core"."bookings"."granted_ere" IS 'The total that the register granted, if it differs from the sum of the rows. Sales never exceed it.';

COMMENT ON COLUMN "core"."bookings"."run_id" IS 'Shared by the bookings of all tenants that were opened together.';

COMMENT ON COLUMN "core"."charger_model_patterns"."meter_type_pattern" IS 'What meterType must match; the default accepts anything.';

COMMENT ON COLUMN "core"."charger_models"."mid_evidence" IS 'certain. variant: sold with and without a MID meter; the row means the one with. unknown: not established, and never offered.';

COMMENT ON COLUMN "core"."charger_models"."mid_meter" IS 'Whether it has a MID meter; null if the name does not settle it. Chargers of this model have it as mid_eligible.';

COMMENT ON COLUMN "core"."charger_models"."mid_source" IS 'The evidence for mid_meter or the variant.';

COMMENT ON COLUMN "core"."charger_vendor_aliases"."names_brand" IS 'False if several makers send the string. It then means the brand only together with one of its model patterns.';

COMMENT ON COLUMN "core"."chargers"."mid_eligible" IS 'Null while the operator must judge the evidence of a MID meter: it opens no gate.';

COMMENT ON COLUMN "core"."chargers"."ocpp_password_hash" IS 'SHA-256 of the 160 random bits that the charger sends in HTTP Basic (OCPP-J security profile 2). Only the gateway checks it.';

COMMENT ON COLUMN "core"."chargers"."power_kw" IS 'The most it delivers to one car; null if unknown. Sessions are judged by it.';

COMMENT ON COLUMN "core"."chargers"."removed_at" IS 'When it was removed: its earlier sessions still count. Null while it stands, or if nobody noted the removal.';

COMMENT ON COLUMN "core"."charging_sessions"."arrival" IS 'The order in which sessions came in: the first of two that overlap stands.';

COMMENT ON COLUMN "core"."charging_sessions"."connection_id" IS 'The connection of the charger when the session came in, else the first one it was bound to afterwards.';

COMMENT ON COLUMN "core"."charging_sessions"."flags" IS 'after_lock: it came, or changed, after its month was locked. The energy counts and the booked ERE stays. Every other flag keeps it out of all totals.';

COMMENT ON COLUMN "core"."documents"."created_at" IS 'When it was requested: the document gives this moment as its own.';

COMMENT ON COLUMN "core"."documents"."due_at" IS 'When it may be rendered, until it is. Each lease moves it on.';

COMMENT ON COLUMN "core"."documents"."line_id" IS 'The payout line of a statement; null for other documents.';

COMMENT ON COLUMN "core"."documents"."part_id" IS 'A settlement: a customer''s part of a payment to the CPO; null for other documents.';

COMMENT ON COLUMN "core"."documents"."year" IS 'The year of an account''s overview; null for other documents.';

COMMENT ON COLUMN "core"."documents"."year_sha256" IS 'SHA-256 of what a year''s overview says. If a later sale changes that, the overview is written again.';

COMMENT ON COLUMN "core"."draft_links"."used_by" IS 'SHA-256 of the secret of the browser that used it, with the token: that browser may click twice.';

COMMENT ON COLUMN "core"."drafts"."ean_candidates" IS 'The metering points of the address, [{ean_code, street, city, house_number_addition}]: several if the customer must choose.';

COMMENT ON COLUMN "core"."drafts"."invited_at" IS 'When the claim mail was written; null if the partner passes the link on.';

COMMENT ON COLUMN "core"."drafts"."locale" IS 'The language chosen for the customer; null means the partner''s (core.partners.locale).';

COMMENT ON COLUMN "core"."drafts"."progress" IS 'What the customer typed and confirmed on the claim pages: {answers, confirmed, candidates, ean_check, iban, return_url}. The IBAN is encrypted. Emptied once active.';

COMMENT ON COLUMN "core"."drafts"."rehearsal_id" IS 'The sandbox rehearsal that plays its customer, until rehearsal_until at most; others wait for it.';

COMMENT ON FUNCTION "api"."admit"(jsonb) IS 'Admission alone: a ticket to {caller, rate}. For a request that does nothing else in the database, or was refused there.';

COMMENT ON FUNCTION "api"."admit_charger"(jsonb, jsonb) IS 'The gateway calls this when a charger connects, boots or sends a heartbeat: {identity, password_hash, ocpp_vendor, ocpp_model, ocpp_meter_type} to {ok, charger_id}. Notes that it was heard of, and its model if unknown.';

COMMENT ON FUNCTION "api"."chain_audit"(jsonb, jsonb) IS 'Continues the chains of the audit log and the ledger: {size} to {chained, more, sealed: {day, hash} or null}. Safe to call at any time, from several callers at once.';

COMMENT ON FUNCTION "api"."charge"() IS 'Ends every statement that began with a ticket: {caller, rate}. Notes that the credential was used, and debits its rate limit. Of concurrent requests for the last one of a quota, all but one fail here and are undone.';

COMMENT ON FUNCTION "api"."claim_documents"(jsonb, jsonb) IS 'The next documents to render: {size} to [{partner_id, id, kind, created_at, content}]. Each is leased for five minutes, then offered again.';

COMMENT ON FUNCTION "api"."complete_claim"(jsonb, jsonb) IS 'Adds to a signed claim what the customer postponed, or changes it: {draft_id, step: payout|charger, answers, iban, missing, code_hash, key, proved_by, repeat_hash, mail}. The browser has a session of this claim.';

COMMENT ON FUNCTION "api"."create_account"(jsonb, jsonb) IS 'POST /v1/accounts: the body, its iban sealed, and ean_register, the EAN register''s answer. Asks for ean_register before it stores anything, if it needs the answer and has none.';

COMMENT ON FUNCTION "api"."list_drafts"(jsonb, jsonb) IS 'GET /partner/drafts: {external_ref, status, links} to {drafts}, newest first. claim_url is null unless the draft can be claimed. An application that a person let in sees no identity and no link of a claimed draft, as in private.customer_page.';

COMMENT ON FUNCTION "api"."open_claim"(jsonb, jsonb) IS 'What a claim link opens: {draft_id, address_hash, session, step, brand} to private.claim_view. session is from the browser''s claim session, or null.';

COMMENT ON FUNCTION "api"."open_sign_in_link"(jsonb, jsonb) IS 'What a sign-in link opens, without using it up: {token_hash, address_hash} to {state: open|active|expired|conflict|used|unknown, locale, brand}. Also draft_id once the link no longer opens the draft.';

COMMENT ON FUNCTION "api"."opt_out"(jsonb, jsonb) IS 'Stores that the bearer of an unsubscribe link wants no more mail: {email_hash}. Not rate limited: mail services send it for many people from one address.';

COMMENT ON FUNCTION "api"."prove_claim"(jsonb, jsonb) IS 'Proves the address by its code: {draft_id, address_hash, code_hash, key, repeat_hash} to private.claim_view; a refusal has it too, as claim. May ask for login first, and uses the code up once that exists. The browser that repeat_hash names may click twice.';

COMMENT ON FUNCTION "api"."read_claim_mandate"(jsonb, jsonb) IS 'The document of a claim''s mandate: {draft_id, session, mandate_id} to private.mandate_document.';

COMMENT ON FUNCTION "api"."read_claim_statement"(jsonb, jsonb) IS 'The statement of a payout to a claim''s account: {draft_id, session, line_id} to private.statement_document.';

COMMENT ON FUNCTION "api"."read_link_mandate"(jsonb, jsonb) IS 'The document signed by a mandate link: {token_hash} to private.mandate_document. Its page counts the visit.';

COMMENT ON FUNCTION "api"."read_settlement"(jsonb, jsonb) IS 'GET /v1/settlements/{settlement_id}: {settlement_id} to private.kept_document. Refused with settlement_not_found until the payment is made.';

COMMENT ON FUNCTION "api"."record_draft_lookup"(jsonb, jsonb, jsonb) IS 'Stores the EAN register''s answer for a due draft; null if it no longer waits.';

COMMENT ON FUNCTION "api"."repeat_account"(jsonb, jsonb) IS 'Repeats POST /v1/accounts with an otherwise invalid body: {cpo_external_ref, iban} to the account''s answer, null for a new reference.';

COMMENT ON FUNCTION "api"."repeat_charger"(jsonb, jsonb) IS 'A repeat of POST /v1/chargers with an otherwise invalid body: {account_id, serial_number} to the charger''s answer, null if it is new.';

COMMENT ON FUNCTION "api"."revoke_claim"(jsonb, jsonb) IS 'Ends the mandate of a claim for its customer, by a code mailed for this: {draft_id, code_hash, key, proved_by}. Open months are judged again; locked ones and the registration stay.';

COMMENT ON FUNCTION "api"."run_draft_jobs"(jsonb, jsonb) IS 'Runs all due work on drafts: {links, size} to counts. Safe to call at any time, from several callers at once.';

COMMENT ON FUNCTION "api"."save_claim"(jsonb, jsonb) IS 'Keeps a step of a claim with a proven address: {draft_id, step, answers, ean_register, iban, later, proved_by} to {open_step}.';

COMMENT ON FUNCTION "api"."send_claim_code"(jsonb, jsonb) IS 'Mails a one-time code, good for ten minutes and five attempts: {draft_id, code_hash, mail, stage?, proved_by?}. With stage (invited, claimed) only while the claim is there. A browser that proved the address by a code has its own limit.';

COMMENT ON FUNCTION "api"."sign_claim"(jsonb, jsonb) IS 'Signs, and makes the draft an account: {draft_id, facts, signed_name, code_hash, key, document, document_sha256, address, user_agent, mail, proved_by}. facts, with the chosen years, must still be what was shown. An active draft signs again, if it may. May ask for login first. A conflict, and a counted wrong code, stay: these refusals are answers.';

COMMENT ON FUNCTION "api"."store_document"(jsonb, jsonb) IS 'Keeps a rendered document: {partner_id, id, pdf (base64), sha256} to {stored}. stored is false if one was kept before, which stays.';

COMMENT ON FUNCTION "api"."update_connection"(jsonb, jsonb) IS 'POST /v1/connections:update: {criteria, connection, acknowledge_mandate_lapses, ean_register}. Asks for ean_register if it needs the answer and has none. Order: found, ambiguous, no-op, ean_in_use, ean_address_mismatch, acknowledgement, write.';

COMMENT ON FUNCTION "api"."use_sign_in_link"(jsonb, jsonb) IS 'Uses up a sign-in link: {token_hash, browser_hash} to {draft_id, stage}. It begins a claim session until the customer types a code or signs. Makes no login. The browser may click twice.';

COMMENT ON FUNCTION "api"."withdraw_draft"(jsonb, jsonb) IS 'POST /partner/drafts/withdraw: {draft_id}. Deletes the draft, its links and its waiting mail, and unlinks a login it made. An audit row without personal data stays.';

COMMENT ON FUNCTION "ops"."audit_story"(jsonb) IS 'The story of an account, oldest first: {account} (id, cpo_external_ref, EAN or e-mail address) to {account_id, …, events: [{at, what, by, period, kwh, ere, eur, note}]}. Leaves an audit row.';

COMMENT ON FUNCTION "ops"."audit_verify_part"(jsonb) IS 'Walks a part of a chain: {partner_id, log, after, size, expect?} to {last, links, is_there, done, fault or null}. The last part also looks for rows without a link.';

COMMENT ON FUNCTION "ops"."audit_verify_seals"(jsonb) IS 'Whether the seals follow each other, and the chains still match them: {expect?} to {seals, is_there, last, wrong or null}. wrong is the first mismatch.';

COMMENT ON FUNCTION "ops"."booking_credit"(jsonb) IS 'What the register granted: {booking, partner?, rows?, granted?} to {changed, booking}. rows, [{line?, row_id, accepted_kwh, reason?}], credits or rejects only those. Without rows every waiting row is credited in full. granted is the total ERE, if it differs from the sum. If one row is wrong, nothing is credited.';

COMMENT ON FUNCTION "ops"."booking_export"(jsonb) IS 'The file for the register: {booking, partner?} to {booking_id, quarter, again, sha256, csv}. Its hash is kept, and every export has the same bytes.';

COMMENT ON FUNCTION "ops"."booking_open"(jsonb) IS 'Opens a booking of a quarter, for one partner or for each that has months for it: {quarter, partner?} to {changed, bookings}. Answers a booking that is already open. After a submitted booking it opens a supplementary one.';

COMMENT ON FUNCTION "ops"."booking_preview"(jsonb) IS 'What bookings of a quarter would take in now, of one partner or of all: {quarter, partner?, csv?} to {quarter, flagged, flagged_months, taken, left_out, total, csv}. The quarter may be running. Implausible months come first; csv holds every month.';

COMMENT ON FUNCTION "ops"."booking_reverse_credit"(jsonb) IS 'Takes back what the register granted for a row, or its rejection: {row, reason} to {changed, booking}. The row waits for another credit.';

COMMENT ON FUNCTION "ops"."booking_submit"(jsonb) IS 'Takes in and locks every month that may be booked: {booking, partner?} to {changed, booking}. If there is none, nothing changes and it stays open.';

COMMENT ON FUNCTION "ops"."booking_withdraw"(jsonb) IS 'Withdraws a booking before the register credited or rejected anything: {booking, partner?, reason?} to {changed, booking}. Its months open again. An exported booking needs a reason.';

COMMENT ON FUNCTION "ops"."charger_confirm_mid"(jsonb) IS 'Judges the evidence of a MID meter if the catalogue leaves it open: {charger, no_mid?, evidence?} to {changed, charger}.';

COMMENT ON FUNCTION "ops"."charger_list"(jsonb) IS 'Chargers whose MID evidence the operator must judge, oldest first: {limit?} to {chargers}.';

COMMENT ON FUNCTION "ops"."connection_add"(jsonb) IS 'Adds an unverified connection to an account: {account, ean_code, postal_code, house_number, house_number_addition?, street?, city?} to {changed, connection}.';

COMMENT ON FUNCTION "ops"."connection_archive"(jsonb) IS 'Archives a connection: {connection} to {changed, connection}. Revokes a signed mandate, voids open links, and frees the EAN and chargers. It stays listed.';

COMMENT ON FUNCTION "ops"."connection_set_ean_status"(jsonb) IS 'Vouches for an EAN (manual), or takes that back (unverified): {connection, status} to {changed, connection}. Submits the registration if this was the last gate.';

COMMENT ON FUNCTION "ops"."customer_find"(jsonb) IS 'Accounts, and drafts that are none yet: {text, limit?} to {customers, more}. Matches the beginning of each word of name, e-mail address or reference. Also matches an id, EAN, telephone number, or postal code with house number. Needs three letters or digits. Leaves an audit row for each customer.';

COMMENT ON FUNCTION "ops"."draft_list"(jsonb) IS 'Drafts, newest first: {partner?, status?, limit?} to {drafts}. It shows customers, so it leaves an audit row.';

COMMENT ON FUNCTION "ops"."evidence_open"(jsonb) IS 'The head of a booking''s evidence: {booking, partner?} to {booking_id, partner_id, …, rows, export_sha256, csv}. It names people, so it leaves an audit row.';

COMMENT ON FUNCTION "ops"."evidence_page"(jsonb) IS 'A page of a booking''s evidence: {partner_id, booking_id, part, after?, size} to {lines, last}. part is rows, mandates, pdfs, deliveries, connections or audit. Send last as after for the next page; an empty page has null.';

COMMENT ON FUNCTION "ops"."rate_limit_list"(jsonb) IS 'The quota of every bucket, and of clients that have their own: {} to {rate_limits}.';

COMMENT ON FUNCTION "ops"."rate_limit_set"(jsonb) IS 'Sets the quota of a bucket, for everybody or for one client: {bucket, quota, client?} to {changed, rate_limit}. In force at once.';

COMMENT ON FUNCTION "private"."account_meant"(text) IS 'The account with this id, cpo_external_ref, EAN (also a former one), or e-mail address of signatory or login.';

COMMENT ON FUNCTION "private"."account_named"(text) IS 'The account with this id or cpo_external_ref. Its partner becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."account_page"(jsonb) IS 'The client''s accounts for {limit, offset, cpo_external_ref}, newest first. One more than the limit if another page follows.';

COMMENT ON FUNCTION "private"."account_story"(core.accounts) IS 'Everything the operator needs about an account. Months are summed by year and status.';

COMMENT ON FUNCTION "private"."add_own_charger"(uuid, uuid, jsonb, jsonb) IS 'Adds a charger to the account of the acting person: {catalog_charger_id, serial_number, power_kw?}; null if they chose no model. Refuses a serial number that is taken.';

COMMENT ON FUNCTION "private"."admit"(jsonb) IS 'The caller of a ticket {credential: {kind, …}, demand: {kind, scope, key, bucket}, tenant}. Checks credential, kind, scope, partner and rate limit, and leaves in app.admission what charge() needs. wrong_kind is a valid credential of another kind; admit.ts has the refusal for it. tenant_changed is a credential of another partner than the request was made for. Definer, because there is no tenant yet.';

COMMENT ON FUNCTION "private"."admit_cpo"(jsonb, jsonb) IS 'Admits a client-credentials token, its signature already verified. A scope holds only while token and client both have it. Definer, as all of admission: there is no tenant yet.';

COMMENT ON FUNCTION "private"."admit_partner_key"(jsonb, jsonb) IS 'Admits a partner API key: {key_hash, key_host, host}. Routes that need a managing person refuse it. Definer, as all of admission.';

COMMENT ON FUNCTION "private"."admit_sign_in_session"(jsonb, jsonb) IS 'Admits a person signed in with Supabase Auth, its session JWT already verified: {user_id, session_id}. Signing out ends it at once. Definer, as all of admission.';

COMMENT ON FUNCTION "private"."admit_signed_in"(uuid, uuid, jsonb) IS 'Admits a person by a session of Supabase Auth, however it was shown. Session and login must still be valid. Called by definers of admission that verified the session.';

COMMENT ON FUNCTION "private"."admit_user"(jsonb, jsonb) IS 'Admits a personal token, or the access token of an application acting for a person. With partners:* it acts for the partner that the person manages. Definer, as all of admission.';

COMMENT ON FUNCTION "private"."audit"(text, uuid, jsonb) IS 'Appends to the audit log in the same transaction as the change. details has the person who acts for a partner, as manager_id.';

COMMENT ON FUNCTION "private"."booking_named"(jsonb) IS 'The one booking that {booking, partner?} names: by its id, or by a run or quarter that has one. It is locked, and its partner becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."booking_row"(core.bookings) IS 'A booking as the operator sees it, with the state of its rows.';

COMMENT ON FUNCTION "private"."bookings_named"(text, uuid) IS 'Bookings with this booking id, run id or quarter, or all if none is named. Of one partner or of all.';

COMMENT ON FUNCTION "private"."catalog_search_key"(text) IS 'Normalizes both sides of the catalogue search. Characters that the specification blanks in the search are blanked in names too, so that a whole name is found.';

COMMENT ON FUNCTION "private"."chain_audit"(integer) IS 'Adds links for committed rows of the audit log and the ledger, at most size: {chained, more, sealed}. Definer, because nobody else may write links, and chains are of all tenants.';

COMMENT ON FUNCTION "private"."chain_rows"(uuid, text, integer) IS 'Adds links for committed rows of a log, at most size, and returns how many. Skips a chain that another job holds.';

COMMENT ON FUNCTION "private"."charger_brand"(text) IS 'The catalogue''s brand for a name or vendor string, or null.';

COMMENT ON FUNCTION "private"."charger_by_identity"(text) IS 'Finds a charger before its tenant is known; definer only for that.';

COMMENT ON FUNCTION "private"."charger_changed"() IS 'Counts the earlier sessions of a charger that is bound to a connection, or whose MID meter is confirmed.';

COMMENT ON FUNCTION "private"."charger_key"(text) IS 'A string of a BootNotification, normalized for the patterns.';

COMMENT ON FUNCTION "private"."charger_name"(core.chargers) IS 'The owner''s name for a charger, else its brand and model.';

COMMENT ON FUNCTION "private"."charger_taken"(text, text) IS 'Whether a charger is active on some account. Definer, because it looks across tenants; the answer names none.';

COMMENT ON FUNCTION "private"."choose_model"(jsonb) IS 'The catalogue model of {catalog_charger_id} or {ocpp_vendor, ocpp_model, ocpp_meter_type}; the id wins if both are sent.';

COMMENT ON FUNCTION "private"."claim_addresses"(text[], uuid) IS 'Until the transaction ends no other import, of any partner, judges these addresses. It waits, and then sees the draft that was made. Called after private.lock_imports.';

COMMENT ON FUNCTION "private"."claim_documents"(integer) IS 'Definer, because it leases documents of every tenant.';

COMMENT ON FUNCTION "private"."claim_draft_id"() IS 'The id of a new draft. A claim link knows only this id, before the tenant is known. It is random, so no other draft has it.';

COMMENT ON FUNCTION "private"."claim_ean"(text, uuid) IS 'Whether an EAN is free for this connection, or for a new one. Reserves it until the transaction ends: other callers wait. Call this before storing the EAN of an active connection.';

COMMENT ON FUNCTION "private"."claim_facts"(core.drafts) IS 'The facts of the mandate''s text, as private.connection_facts, for a draft without a connection. besides is the hash of everything given, so that nothing changes between reading and signing.';

COMMENT ON FUNCTION "private"."claim_months"(core.bookings, uuid[], uuid[]) IS 'Adds the bookable months of these locked connections to a booking, with the facts of now, and locks the months. Returns the postings. Only this function relies on the index over EAN and month of all tenants.';

COMMENT ON FUNCTION "private"."claim_ocpp_identity"(text) IS 'Whether an OCPP identity is free for a new charger. Reserves it until the transaction ends: other callers wait.';

COMMENT ON FUNCTION "private"."claim_outcome"(core.drafts) IS 'What an active draft led to: {signed, renewal, held_until, withdrawal, checklist, registration_status, ean_validation_status, iban_last4, payouts, chargers}. If the customer may sign again, also facts, periods and offer.';

COMMENT ON FUNCTION "private"."claim_serial_number"(text, text) IS 'Whether a serial number of a brand is free for a new charger. Reserves it until the transaction ends: other callers wait. Call this before storing an active charger.';

COMMENT ON FUNCTION "private"."claim_stage"(core.drafts) IS 'The status of a claim. If the login was deleted since, the address must be proven again. A claim begun by a sign-in link may have no login until it is signed.';

COMMENT ON FUNCTION "private"."claim_steps"() IS 'The steps that a customer confirms before the mandate, in this order. STEP_NAMES in packages/shared/src/domain/claim/flow.ts is the same list; a test compares the two.';

COMMENT ON FUNCTION "private"."claim_view"(core.drafts, jsonb) IS 'What the pages of a claim may show: state open|active|expired|conflict|gone, branding, and the address that codes go to. With a {session} that proves it, also what was uploaded and typed.';

COMMENT ON FUNCTION "private"."claimant"(text, uuid) IS 'The login of an address, all null if there is none. proved: a code of ours went to it. taken: another partner has it, or it has an account. Definer, because logins belong to Supabase Auth and the check crosses tenants.';

COMMENT ON FUNCTION "private"."claimant_stands"(core.drafts) IS 'Whether the customer of a draft may act, by any link: false while their login is banned. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."complete_charger"(core.drafts, jsonb) IS 'Adds a charger to the account of a signed claim, by the rules of POST /v1/chargers. The same one again changes nothing. Refused once the mandate has ended.';

COMMENT ON FUNCTION "private"."complete_payout"(core.drafts, jsonb) IS 'Stores the IBAN, also after the mandate ended: registered months are still paid. Mails the customer. To replace an IBAN takes a code mailed for this, which the browser that repeat_hash names may send twice. Its refusal is an answer. With missing, an IBAN that is there stays.';

COMMENT ON FUNCTION "private"."connection_named"(text) IS 'The one active connection that private.connections_named finds, or an archived one by its own id; locked. Its partner becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."connections_named"(text) IS 'Connections by connection id, account id, EAN or cpo_external_ref.';

COMMENT ON FUNCTION "private"."correct_connection"(core.connections, jsonb, text) IS 'Gives a connection another EAN or address, {ean_code, postal_code, house_number, house_number_addition, street, city}, with the outcome of its check. The registration starts again, and open mandate links become void.';

COMMENT ON FUNCTION "private"."count_accounts"() IS 'Keeps core.account_counts. Transactions that add accounts of one client wait here for each other to end.';

COMMENT ON FUNCTION "private"."count_visit"(text) IS 'Counts a visit to a page by its network address, and refuses too many. A later refusal must be an answer, or the visit would not count.';

COMMENT ON FUNCTION "private"."credit_booking"(core.bookings, private.credit_line[], numeric) IS 'Credits rows of a locked booking, and stores the total that the register granted, if given. Returns how many rows.';

COMMENT ON FUNCTION "private"."credit_rows"(core.bookings, private.credit_line[]) IS 'Credits the rows that wait, leaves credited rows alone, and returns how many it credited. No accepted kWh is a rejection. If fewer than submitted are accepted, the rest is written off.';

COMMENT ON FUNCTION "private"."customer_locale"(core.accounts) IS 'The language in which a customer signed last.';

COMMENT ON FUNCTION "private"."customer_name"(core.accounts) IS 'Who is paid: the signatory, or the name of a business.';

COMMENT ON FUNCTION "private"."debit"(text, text) IS 'private.take by the stored quota of a subject''s bucket. Definer, because limits belong to no tenant.';

COMMENT ON FUNCTION "private"."deliver_charging_sessions"(uuid[], date[]) IS 'Writes the delivered months of connections from the counted sessions of their MID chargers. As in a client''s delivery, locked months stay.';

COMMENT ON FUNCTION "private"."document_content"(core.documents) IS 'The content of a document, composed from its subject.';

COMMENT ON FUNCTION "private"."draft_by_id"(uuid) IS 'Finds a draft before its tenant is known; definer only for that. The claim token, already verified, is the credential.';

COMMENT ON FUNCTION "private"."draft_for"(core.drafts, text) IS 'The draft for a session proved by code or link. An IBAN entered behind a sign-in link may be the partner''s, which could have opened the link. A customer who proved the address by a code enters it again.';

COMMENT ON FUNCTION "private"."draft_status"(core.drafts) IS 'The status as of now: an invited draft has expired after its last moment, even before the job notes it.';

COMMENT ON FUNCTION "private"."drop_unused_location"(uuid) IS 'Deletes an address (personal data) that no connection refers to.';

COMMENT ON FUNCTION "private"."drop_waiting_mail"(uuid) IS 'Deletes the code of a draft, and its mail that was not sent yet. Definer, because the outbox is otherwise only written.';

COMMENT ON FUNCTION "private"."due_draft_lookups"(integer) IS 'Drafts whose address is due for a look-up. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."ean_booked"(text, date) IS 'Whether the kWh of an EAN in a month are in a booking of any tenant. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."ean_delivered"(text, date, uuid) IS 'Whether another connection with this EAN, of any tenant, has a delivered total of the month. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."ean_taken"(text, uuid) IS 'Whether another active connection holds the EAN. Definer, because it looks across tenants; the answer names none.';

COMMENT ON FUNCTION "private"."email_hashes"(text, text) IS 'The hashes of an address on the opt-out list: one for each key that opt-outs were ever stored with.';

COMMENT ON FUNCTION "private"."emit_charger"(text, core.chargers) IS 'Writes an event of a charger, also of a person without an account. Definer, because a person''s partner is another tenant.';

COMMENT ON FUNCTION "private"."ends_links"(core.drafts) IS 'Whether sign-in links no longer open a claim: the customer proved the address by a code, or signed. A link came through the partner, which may have opened it.';

COMMENT ON FUNCTION "private"."enter_account"(core.drafts) IS 'From here the transaction acts for the person of the draft, in the house.';

COMMENT ON FUNCTION "private"."enter_draft"(uuid, boolean) IS 'Makes the bearer of a claim link the caller, within the tenant of the draft. A sandbox helper that plays the customer keeps its own kind. Null for an open draft of a deactivated partner, and while the customer''s login is banned.';

COMMENT ON FUNCTION "private"."enter_signed_claim"(jsonb, jsonb) IS 'Makes the browser that proved the address of a claim act for its person. Its page counts the visit.';

COMMENT ON FUNCTION "private"."expire_drafts"() IS 'Notes expiry, and drops the mail that waits. Deletes drafts 30 days after they expired or conflicted, and unsigned ones 180 days after their claim. Deletes uploads that the rolling cap no longer counts, and expired import files. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."export_csv"(core.bookings) IS 'The file for the register: every row as submitted, whatever happened to it since. The same booking gives the same text.';

COMMENT ON FUNCTION "private"."find_account"(uuid, text) IS 'The account with this id, this cpo_external_ref, or both; either may be null, not both.';

COMMENT ON FUNCTION "private"."find_connection"(uuid, uuid, text) IS 'The one active connection that matches this id, account and cpo_external_ref; any may be null, not all.';

COMMENT ON FUNCTION "private"."forget_opt_outs"(text[], text) IS 'Takes addresses off the opt-out list, for a reset of the sandbox. Definer, because no tenant owns the list.';

COMMENT ON FUNCTION "private"."found_accounts"(text, integer) IS 'At most size accounts, in no order. Matches words of the signatory or account, telephone number, id, EAN, reference, or postal code with house number.';

COMMENT ON FUNCTION "private"."found_drafts"(text, integer) IS 'At most size drafts that are no account yet, in no order. Matches words, telephone number, id, EAN, or postal code with house number.';

COMMENT ON FUNCTION "private"."give_back"(text, text) IS 'Undoes private.debit of this transaction. Definer, because limits belong to no tenant.';

COMMENT ON FUNCTION "private"."identify_charger"(core.chargers, jsonb) IS 'Stores once what a charger''s BootNotification says: the model, and whether its meter is MID. Its earlier sessions count from then on.';

COMMENT ON FUNCTION "private"."import_drafts"(jsonb) IS 'Makes drafts of this transaction''s partner: {source, send_invite, dry_run, consent, rows, over_request_limit, counters, links, message | null}, to the import''s answer. Each row comes read and judged on its own; one set-based statement judges the rest. A dry run uses the same statement, and stores no draft. With consent it also judges by people of other tenants, and leaves an audit row. An import that makes no draft leaves one too.';

COMMENT ON FUNCTION "private"."ingest_charging_sessions"(jsonb) IS 'Stores all charging sessions, within a tenant: [{charger_id, source, external_id, connector?, started_at, ended_at?, wh, status?, meter_wh?}] to [{place, status: created|updated|unchanged|superseded|rejected, reason?, session_id?, flags?}]. Idempotent by charger, source and external_id.';

COMMENT ON FUNCTION "private"."invoice_content"(core.documents) IS 'What an invoice says: number, day, quarter, supplier, VAT, and what it charges by month of delivery. Exact decimals, as text.';

COMMENT ON FUNCTION "private"."is_proven"(core.drafts, jsonb) IS 'Whether a claim session {proved_by: code|link, stage} shows that the customer is here. private.ends_links ends what a link began.';

COMMENT ON FUNCTION "private"."is_suppressed"(bytea) IS 'Whether an address opted out of mail. Definer, because no tenant may read the list.';

COMMENT ON FUNCTION "private"."judge_charger"(jsonb, boolean) IS 'Why a draft cannot have this charger {brand, serial_number}; null if it can. Only with others does it say that somebody has the charger.';

COMMENT ON FUNCTION "private"."judge_charging_sessions"(private.charging_session_change[]) IS 'Flags changed sessions, and those they overlap or used to, and returns the months that may differ now. Of two overlapping sessions of a connector the first to come stands, even if it overlaps another itself.';

COMMENT ON FUNCTION "private"."judge_claim_code"(core.drafts, jsonb) IS 'private.judge_guess of {code_hash, key, proved_by?, repeat_hash?}. Guesses of a browser that proved the address by a code are counted apart.';

COMMENT ON FUNCTION "private"."judge_quarter"(uuid, date, uuid[], uuid[]) IS 'Judges every delivered month of a quarter as of now, of all or the chosen accounts, of all or the held (locked) connections. reason is null if a booking takes the month in. Else it is the first that holds of already_booked, month_not_over, year_closed, no_mandate, outside_mandate, gate:<name>, registration_open, registration_rejected, rejected_by_register, zero_kwh, already_delivered. flags name what is implausible and exclude nothing. beyond_power: more kWh than the power of its chargers allows. above_average: more than five times the average of the twelve months before. too_many_sessions: more sessions than hours. repeated_total: the same total for the third month running. no_sessions: kWh without a session.';

COMMENT ON FUNCTION "private"."kept_document"(core.documents, text) IS 'A document: {pdf (base64), sha256, name}, the name without its ending. Refused with document_not_ready until it is rendered.';

COMMENT ON FUNCTION "private"."known_addresses"(text[], uuid, text, boolean) IS 'Why an address gets no new draft of this partner; null if it may. Definer, because it looks across tenants and into Auth; the answer names none. Without others it reads only the partner''s own drafts.';

COMMENT ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) IS 'The content of a mail to a draft''s customer: {full_name, brand, claim_url, unsubscribe_url}, brand as private.partner_brand of its partner.';

COMMENT ON FUNCTION "private"."lock_booking"(uuid, uuid) IS 'A booking, its row locked: one transaction at a time changes it.';

COMMENT ON FUNCTION "private"."lock_chargers"(uuid, uuid) IS 'Until the transaction ends nobody else adds a charger for this person, or without person, to this CPO client''s account. Called before any lock on a connection.';

COMMENT ON FUNCTION "private"."lock_connections"(uuid, uuid[]) IS 'Until the transaction ends nobody else delivers, signs or corrects anything of these connections.';

COMMENT ON FUNCTION "private"."lock_imports"(uuid) IS 'Until the transaction ends no other import of the partner begins.';

COMMENT ON FUNCTION "private"."mandate_document"(uuid) IS 'private.kept_document of a mandate of the tenant, named by its years. Refused with mandate_not_found if there is none.';

COMMENT ON FUNCTION "private"."mandated_connection"(uuid) IS 'The active connection of an account with a signed mandate, locked; null if there is none.';

COMMENT ON FUNCTION "private"."months_of"(date) IS 'The three months of a quarter, and the hours of each in the Netherlands.';

COMMENT ON FUNCTION "private"."newest_drafts"(uuid, text, integer) IS 'The newest drafts, of one partner and one status if given.';

COMMENT ON FUNCTION "private"."note_use"(bytea, bytea) IS 'Notes when a partner key or a personal token was last used. Definer, because admission itself sets no tenant.';

COMMENT ON FUNCTION "private"."open_account"(core.drafts, jsonb, jsonb) IS 'What a signed claim becomes, in the house: account, signatory, connection, mandate, and a charger if one was chosen. The caller has reserved the EAN. A serial number that is taken is refused.';

COMMENT ON FUNCTION "private"."open_booking"(uuid, date, uuid) IS 'The open booking of a quarter. If there is none, opens the first, or one that supplements those submitted.';

COMMENT ON FUNCTION "private"."opted_out"(text, text) IS 'Whether an address opted out of mail. Definer, because no tenant may read the list.';

COMMENT ON FUNCTION "private"."overview_content"(core.accounts, integer) IS 'What the document of a customer''s year says: {locale, customer, cpo, overview}; cpo only if it settles with them. Definer, as private.yearly_overview.';

COMMENT ON FUNCTION "private"."overview_document"(core.accounts, integer) IS 'private.kept_document of a customer''s year, written at the first request, and again if it would say something else. Refused with statement_not_found if that year is not over, or had nothing.';

COMMENT ON FUNCTION "private"."overview_years"(core.accounts) IS 'The past years in which a customer had a sale, a reversal or a payment. Definer, as private.yearly_overview.';

COMMENT ON FUNCTION "private"."own_flags"(text[]) IS 'The flags of private.charging_session_flags(): all but overlapping and after_lock.';

COMMENT ON FUNCTION "private"."page_answer"(text, json, uuid[], jsonb) IS 'A page as the API writes it, rows under their name. found, from private.account_page, gives the count and whether another page follows.';

COMMENT ON FUNCTION "private"."partner_full_name"(core.partners) IS 'A partner''s name in a claim''s mandate: its registered name, and the one its customers know.';

COMMENT ON FUNCTION "private"."pick_connection"(uuid, uuid, boolean) IS 'The active connection of an account: the wanted one, the only one, or with otherwise_first the first of several.';

COMMENT ON FUNCTION "private"."preview_quarter"(date, uuid) IS 'What bookings of a quarter would take in now, and why they leave the rest out. Also sessions that came after their month was locked, which are in no booking. kWh; ERE exact.';

COMMENT ON FUNCTION "private"."prove_draft"(core.drafts, boolean, jsonb) IS 'Marks a draft with a proven address as claimed, and returns null. A conflict is stored, so its refusal is an answer. Asks for login, and stores nothing, if Supabase Auth must make it first. A link makes or replaces no login, because the partner may have opened it.';

COMMENT ON FUNCTION "private"."rate_json"(text, integer, integer, bigint, boolean) IS 'The state of a bucket that is full again in full_in microseconds. packages/shared/src/foundation/rate.ts computes what the client reads: in SQL that took 80 of the 1,700 thousand instructions of a token.';

COMMENT ON FUNCTION "private"."read_charging_sessions"(jsonb) IS 'Sessions as a source sent them, each read on its own. reason is null, or bad_ and the unreadable field. Without ended_at a session is charging, unless status says active.';

COMMENT ON FUNCTION "private"."read_credit_lines"(core.bookings, jsonb) IS 'The register''s lines, [{line?, row_id, accepted_kwh, reason?}], each read on its own. problem is null if the row can be credited, or is already. kWh, three decimals.';

COMMENT ON FUNCTION "private"."read_quarter"(text) IS 'The first day of a quarter written 2026-Q2; its year must have a factor.';

COMMENT ON FUNCTION "private"."record_draft_lookup"(uuid, jsonb) IS 'Stores what the EAN register knows at a draft''s address: {source, outcome, points}, or {source: "table"} to look it up here. No answer is failed, and tried again for a day.';

COMMENT ON FUNCTION "private"."referral_code_known"(text) IS 'Whether a referral code belongs to an active partner. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."release_charging_sessions"(uuid[], date[]) IS 'Called when locked months open again: sessions that came meanwhile count.';

COMMENT ON FUNCTION "private"."release_customer"(uuid, uuid) IS 'Unlinks from its partner a login that a claimed draft made; the login stays. Definer, because attributions are otherwise only read.';

COMMENT ON FUNCTION "private"."remind_drafts"(jsonb, integer) IS 'Writes the reminders of day 3, 10 and 30 to invited customers who have neither claimed nor opted out. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."renewal_facts"(uuid, core.partners) IS 'The facts of a person''s connection in the house, with the partner that brought them.';

COMMENT ON FUNCTION "private"."repeat_account"(uuid, jsonb) IS 'A repeat by cpo_external_ref, {iban, same_iban}: stores a new IBAN if one was sent and ignores the rest (specification section 4.1). It does not store an unchanged IBAN again, so no waiting time restarts. Asks for same_iban, {as: ciphertext, same}, if the last four characters are equal.';

COMMENT ON FUNCTION "private"."request_invoice_document"(core.invoices) IS 'Requests the document of an invoice.';

COMMENT ON FUNCTION "private"."request_statements"(uuid) IS 'Requests the statements of a batch: of each paid customer, and of each customer''s part of a payment to a CPO.';

COMMENT ON FUNCTION "private"."require_charger_room"(uuid, uuid) IS 'Refuses an eleventh active charger of a person, or without person, of a CPO client''s account. Else returns how many there are.';

COMMENT ON FUNCTION "private"."resolve_charger"(text, text, text) IS 'Which model a charger is, by its BootNotification (chargePointVendor, chargePointModel, meterType). The only resolver: API and gateways use it. Never raises; reads 120 characters of each.';

COMMENT ON FUNCTION "private"."reverse_credit"(core.booking_rows, text) IS 'Takes back what the register granted or rejected for a row, whose booking is locked. The row can be credited again. False: the row has no credit. Refused while its ERE are sold, or if its month was delivered again after a rejection.';

COMMENT ON FUNCTION "private"."save_step"(core.drafts, jsonb) IS 'Keeps the answers of a step: {step, answers, ean_register, iban, later, proved_by} to {open_step}, the next one.';

COMMENT ON FUNCTION "private"."seal_chains"() IS 'Seals the chains once a day, for the day that is over.';

COMMENT ON FUNCTION "private"."seal_hash"(date, jsonb, bytea) IS 'The hash of a seal: over the hash of the last seal, the day, and where the chains ended.';

COMMENT ON FUNCTION "private"."see_chargers"(private.charging_session_item[]) IS 'Notes when a charger was last heard of, and its meter reading at the end of a charge, or now during one.';

COMMENT ON FUNCTION "private"."settle_difference"(core.bookings) IS 'If the register granted another total than the rows add up to, the difference has its own ledger account. So the ledger has what the register granted.';

COMMENT ON FUNCTION "private"."settle_rows"(jsonb, uuid, text, bigint, boolean) IS 'Decides each row of an import: outcome is null if this draft is to be made, else the reason. A row may already have a reason; remaining is what the cap leaves. Without others nothing depends on people of other tenants.';

COMMENT ON FUNCTION "private"."settlement_document"(uuid) IS 'private.kept_document of a customer''s part of a payment to the CPO. Refused with settlement_not_found if the transaction may read none.';

COMMENT ON FUNCTION "private"."sign_again"(core.drafts, jsonb) IS 'The customer of a signed claim signs for later years, or again after its end, by a code mailed for this.';

COMMENT ON FUNCTION "private"."sign_in_link"(text) IS 'Finds a link before its tenant is known; definer only for that. The token is the credential.';

COMMENT ON FUNCTION "private"."signable_connection"(uuid) IS 'The connection of an account that may be signed for again, locked; null if there is none.';

COMMENT ON FUNCTION "private"."signed_mandate"(uuid) IS 'The mandate of a connection to show: the one that covers today, else the one signed last. Null if nobody signed.';

COMMENT ON FUNCTION "private"."standing"(text, text) IS 'Looks at a subject''s bucket: quota, window, microseconds until it is full, and whether one more request fits. Definer, because limits belong to no tenant.';

COMMENT ON FUNCTION "private"."statement_content"(core.documents) IS 'What the statement of a payout line says, or of a customer''s part of a payment to a CPO. It has who was paid, when, and where to (the end of an IBAN, or the name of the CPO). Each month has kWh, ERE, gross, fee and net, as core.payout_entries has them since the line was prepared. Exact decimals, as text. other is the amount that no month explains: a reversed sale that was paid before.';

COMMENT ON FUNCTION "private"."statement_document"(uuid, uuid) IS 'private.kept_document of a payout, of one account or of any that the transaction may read. Refused with statement_not_found if it is no such payout.';

COMMENT ON FUNCTION "private"."step"(integer, integer) IS 'Microseconds between two requests of a caller that uses its whole quota.';

COMMENT ON FUNCTION "private"."store_charging_sessions"(private.charging_session_item[]) IS 'Inserts new sessions, updates changed ones, and returns what changed. One item per session; the chargers are locked.';

COMMENT ON FUNCTION "private"."submit_booking"(uuid, uuid, uuid[]) IS 'Takes in and locks every month that may be booked, of all accounts or those chosen, and returns how many. 0: there was none, and the booking stays open. Null: it is not open any more.';

COMMENT ON FUNCTION "private"."submitted_booking_named"(jsonb) IS 'The one submitted booking that is meant, as private.booking_named.';

COMMENT ON FUNCTION "private"."take"(text, text, integer, integer) IS 'Takes one request from a subject''s bucket of this quota, if it fits, and returns what is left. Definer, because limits belong to no tenant.';

COMMENT ON FUNCTION "private"."tell_of_iban"(core.accounts, text) IS 'Tells the signatory of an account that its client changed the IBAN the service pays to. On production it mails the first five changes within a day at once. One mail at the end of the Dutch day covers the others, and names the last number.';

COMMENT ON FUNCTION "private"."tenants_of_chargers"(uuid[]) IS 'The tenants of these chargers. Definer, because the gateway that brings their sessions knows no tenant.';

COMMENT ON FUNCTION "private"."total_charging_sessions"(private.touched_month[]) IS 'Adds up the months of chargers and of their connections again. They are computed from the sessions each time, so they are always the sum.';

COMMENT ON FUNCTION "private"."turn_away"(text, json) IS 'Refuses to admit, before anything is done; packages/shared/src/http/admit.ts reads it. Unlike private.refuse, it costs the caller no request of its quota.';

COMMENT ON FUNCTION "private"."unlock_months"(uuid, uuid[], date[]) IS 'Opens months again, as staged or outside_mandate, whichever holds now. Sessions that came meanwhile count. The connections are locked.';

COMMENT ON FUNCTION "private"."use_claim_code"(core.drafts, jsonb) IS 'private.judge_claim_code, which then uses up a right code. With repeat_hash a second click may send it again.';

COMMENT ON FUNCTION "private"."user_scopes"(jsonb) IS 'The person, client and scopes of a token; all null once the token is invalid. A scope holds only while token and client both have it. Definer, as all of admission.';

COMMENT ON FUNCTION "private"."vendor_key"(text) IS 'A chargePointVendor, normalized for the aliases: without the legal form of the company.';

COMMENT ON FUNCTION "private"."verify_links"(core.audit_chains, bigint, integer, bytea) IS 'Walks size links of a chain after a position. Returns the last, how many, whether one has the expected hash, and the first fault.';

COMMENT ON FUNCTION "private"."verify_rest"(core.audit_chains) IS 'What a walk along the links misses: links cut off at the end, and the first row without a link.';

COMMENT ON FUNCTION "private"."what_may_be_signed"(jsonb, uuid, core.partners) IS 'What a customer reads before signing: facts, periods to sign for, and the offer.';

COMMENT ON FUNCTION "private"."withdraw_booking"(uuid, uuid, text) IS 'Withdraws a booking before anything of it was credited: its months can be delivered and booked again. An exported booking needs a reason, because the register may have its file. False: it was withdrawn already.';

COMMENT ON FUNCTION "private"."withdraw_statement"(core.payout_lines) IS 'Deletes the statement of a paid line that came back. Its months are on the statement of the line that pays them.';

COMMENT ON FUNCTION "private"."withdrawal_means"(uuid) IS 'What a withdrawal today would leave and lose: {covered_until, month, lost_kwh}. Whole months before it stay covered; the kWh of this month are lost.';

COMMENT ON FUNCTION "private"."write_credits"(uuid, private.credit_line[]) IS 'Stores what the register granted for the rows that wait, and marks them and their months. Returns what it stored.';

COMMENT ON FUNCTION "private"."year_is_booked"(integer) IS 'Whether any tenant booked kWh of a year, by its factor, or the register ever credited or rejected some. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."yearly_overview"(core.accounts, integer) IS 'The sales and payments of a customer in a calendar year: {account_id, year, ere_sold, gross_eur, fee_eur, net_eur, paid_eur, sales, payments}. The fee includes its VAT. Definer, because payments are in the service''s own batch.';

COMMENT ON TABLE "core"."account_counts" IS 'How many accounts of a CPO client were made in an hour. Triggers keep it equal to the count of core.accounts. Kept as long as the accounts.';

COMMENT ON TABLE "core"."accounts" IS 'A customer: of a CPO client (client_id), or a person with a login (user_id) in the house. The IBAN is encrypted (AES-256-GCM, key iban_key_id) before it reaches the database. SQL knows presence and last four. Personal data.';

COMMENT ON TABLE "core"."audit_chains" IS 'The chain of a tenant''s audit log or ledger: where it ends, and how far its job is. The checkpoint is where it begins after older rows were deleted.';

COMMENT ON TABLE "core"."audit_links" IS 'One link per row of the audit log and the ledger, in the order in which the job saw them. It has the SHA-256 of the row''s content, and a hash over the previous hash and this content. Append-only; only private.chain_rows writes it. No personal data.';

COMMENT ON TABLE "core"."audit_log" IS 'One row per change that somebody may have to account for. No personal data and no secrets in details. Append-only, kept seven years.';

COMMENT ON TABLE "core"."audit_seals" IS 'One row a day: where each chain that grew since the last seal ended. Its hash covers that and the last seal. A copy kept outside reveals a chain that was cut off or rebuilt. No personal data; never deleted.';

COMMENT ON TABLE "core"."booking_rows" IS 'One connection and month of a booking, with the facts at its submission, which never change. Personal data; kept seven years.';

COMMENT ON TABLE "core"."bookings" IS 'What a tenant sends to the register for a quarter: the first booking, and supplements for what came later. Kept seven years.';

COMMENT ON TABLE "core"."charger_models" IS 'One row per model or family of chargers. Reference data; ids never change, because registered chargers refer to them.';

COMMENT ON TABLE "core"."charger_months" IS 'The counted sessions of one charger and month, added up: always the sum of core.charging_sessions, so that no reader adds. Kept as long as the sessions.';

COMMENT ON TABLE "core"."chargers" IS 'A charger of an account, bound to one of its connections, or of a person, perhaps without an account. serial_number is upper-case without spaces. One account only, across all tenants, has a brand and serial number active.';

COMMENT ON TABLE "core"."charging_sessions" IS 'One charge of one car, as its source last told it. Implausible ones are flagged and kept, and no total counts them. Personal data; kept seven years.';

COMMENT ON TABLE "core"."credits" IS 'What the register granted for a row: the accepted kWh, 0 if rejected, and their ERE, cut to six decimals once. A reversed credit is kept. Kept seven years.';

COMMENT ON TABLE "core"."documents" IS 'A document to keep, as PDF: a signed mandate, a statement, a customer''s year, or an invoice, without an account. Personal data. Kept as long as the evidence of what it shows, and deleted with it.';

COMMENT ON TABLE "core"."draft_uploads" IS 'One row per draft ever made, without personal data: the rolling cap also counts withdrawn ones. Deleted after 31 days.';

COMMENT ON TABLE "core"."drafts" IS 'A customer whom a partner uploaded, and who may claim the draft. Personal data; deleted on withdrawal and 30 days after expiry. Once active it stays beside the account.';

COMMENT ON TABLE "core"."ean_checks" IS 'Every question to the EAN register with its answer, also for refused creations. Personal data; kept for audit.';

COMMENT ON TABLE "core"."locations" IS 'An address, shared by the tenant''s connections that agree in every part, street and city included. It is never rewritten: a corrected address is another row. Personal data; deleted with the last connection that refers to it.';

COMMENT ON TABLE "core"."rate_limit_overrides" IS 'A quota of one subject (client:<uuid>) in place of the bucket''s.';

COMMENT ON TABLE "core"."rate_limit_state" IS 'When a subject''s bucket is full again (the generic cell rate algorithm). Addresses are hashed. A job deletes rows in the past.';

COMMENT ON TABLE "core"."rate_limits" IS 'Requests a subject may make per window, refilled continuously. The operator changes it.';

COMMENT ON TABLE "core"."suppressions" IS 'Addresses that opted out of mail, as SHA-256 of the address with a key of the deployment. Kept for good.';

COMMENT ON TYPE "private"."charger_resolution" IS 'The answer of GET /v1/catalog/chargers/resolve, field by field. Unresolved: no model and no mid_meter, but the brand if it is known.';

COMMENT ON VIEW "core"."audit_content" IS 'What is chained: the SHA-256 of each row''s current values, as one JSON array with moments in UTC.';

commit;
