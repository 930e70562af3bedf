begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

COMMENT ON COLUMN "core"."allocations"."account_id" IS 'As in the row, like owner, percentages and share_partner_id.';

COMMENT ON COLUMN "core"."imports"."send_invite" IS 'Whether its customers are mailed; null until confirmed.';

COMMENT ON COLUMN "core"."manager_invitations"."invited_by" IS 'The manager who invited; null for the operator. It ends when they go: somebody who is removed must not come back by it.';

COMMENT ON COLUMN "core"."oauth_clients"."operated_by" IS 'Who runs the application, as the consent page names them; null: its partner.';

COMMENT ON COLUMN "core"."oauth_clients"."tokens_valid_from" IS 'Access tokens issued earlier are refused. So an operator ends the tokens of a leaked secret.';

COMMENT ON COLUMN "core"."page_sessions"."signatory" IS 'The address that this browser proved by a mailed code, as a signatory of a CPO''s customer. It reads what private.signed_accounts finds. Null for a sign-in by password, or without such an account.';

COMMENT ON COLUMN "core"."partners"."branding" IS 'display_name, logo_url, primary_color, reply_to: how pages and mail to its customers look. light and dark are the color on such a ground, null if it cannot be read. packages/shared/src/domain/brand.ts judges it when it is chosen.';

COMMENT ON COLUMN "core"."partners"."charger_brands" IS 'Brands whose cloud the partner has linked to the service: a draft may have a charger of these only. Set by the operator.';

COMMENT ON COLUMN "core"."partners"."iban_changed_at" IS 'When the IBAN was stored or changed: money waits 48 hours before it goes there.';

COMMENT ON COLUMN "core"."partners"."locale" IS 'The language for customers whose own is not known. Null: pages speak the browser''s, mail Dutch. Set by the operator.';

COMMENT ON COLUMN "core"."partners"."mandate_years" IS 'For how many calendar years its customers sign; null if they choose. Set by the operator.';

COMMENT ON COLUMN "core"."partners"."return_url" IS 'Registered by the operator or in the portal. Sign-in links may lead back only to it and below it.';

COMMENT ON COLUMN "core"."partners"."vat_regime" IS 'How VAT is charged on its share. none: no business for VAT. small_business: exempt, the Dutch KOR. regular. reverse_charge: a business in another country. Set by the operator. Null while nobody has asked; no invoice is written until then.';

COMMENT ON COLUMN "core"."payout_batches"."file_ciphertext" IS 'The file for the bank, gzip and encrypted (AES-256-GCM, key file_key_id) before it reaches the database. Later exports have the same bytes. file_sha256 is of the file itself.';

COMMENT ON COLUMN "core"."payout_entries"."sold" IS 'Whether the sale stood then. Else amount is for a sale that was taken back. It is below zero, or returns what another line took off.';

COMMENT ON COLUMN "core"."payout_lines"."partner_id" IS 'The tenant of the payee, for which the IBAN is encrypted: the account''s, or the partner who is paid.';

COMMENT ON COLUMN "core"."payout_lines"."released_at" IS 'A failed line holds back its IBAN, despite later payments, until the operator releases it. Another IBAN is paid.';

COMMENT ON COLUMN "core"."payout_parts"."payee_id" IS 'The owner of the ledger account it was taken from.';

COMMENT ON COLUMN "core"."sales"."arrival" IS 'The order in which sales were recorded and are paid out.';

COMMENT ON FUNCTION "api"."accept_invitation"(jsonb, jsonb) IS 'Makes who proves the invited address by its code a manager, and tells the others: {token_hash, code_hash, key} to {email, accepted}. Not accepted if they manage another partner, which they may leave first. Asks for a login if the address has none.';

COMMENT ON FUNCTION "api"."begin_page_session"(jsonb, jsonb) IS 'Begins the page session of a person who just signed in: {token_hash, sign_in_session_id, signatory_hash?}. sign_in_session_id is of the session JWT that admitted them. signatory_hash is of the page session that their code began, and that this one replaces.';

COMMENT ON FUNCTION "api"."change_signed_iban"(jsonb, jsonb) IS 'A signatory changes the IBAN, by a code mailed for it: {account_id, partner_id, token_hash, code_hash, key, iban}. partner_id is the tenant that the IBAN was encrypted for. They are told by mail, and no money goes there for 48 hours.';

COMMENT ON FUNCTION "api"."clear_fixture"(jsonb, jsonb) IS 'Makes room for a fixture: {external_ref, email, key}. Deletes the drafts with that reference, their customers, and the opt-out of that address.';

COMMENT ON FUNCTION "api"."close_own_account"(jsonb, jsonb) IS 'A person closes their account, {operator} as private.leave_partner takes it. Mandates end, chargers and credentials go, and what they are owed is paid without a minimum. Answers {closed}, false if there is money and no IBAN. Refused with recent_sign_in_required a quarter of an hour after signing in. docs/retention.md says what is kept.';

COMMENT ON FUNCTION "api"."count_sign_in"(jsonb, jsonb) IS 'Counts a sign-in before it is tried, so that parallel guesses count too: {address_hash, email_hash, device_hash} to {rate}.';

COMMENT ON FUNCTION "api"."create_personal_token"(jsonb, jsonb) IS 'POST /tokens: {name, scopes, expires_at, token_hash, last4} to the token''s row. To last longer than a year it needs a sign-in of the last 15 minutes. The token itself never reaches the database.';

COMMENT ON FUNCTION "api"."end_page_session"(jsonb, jsonb) IS 'Signs a browser out: {token_hash} to {draft_ids}, the person''s claims that the browser may have opened.';

COMMENT ON FUNCTION "api"."export_own_data"(jsonb) IS 'Everything of a person under their name, as one document. Ten years of sessions are some three megabytes.';

COMMENT ON FUNCTION "api"."find_rehearsal"(jsonb, jsonb) IS 'A draft of the partner by its id or external_ref, and how far its claim is: {id, key, profile?, lease, leave?}. Refuses at once a profile that cannot be connected. held: this lease has the draft, for 20 seconds or until leave; one rehearsal at a time moves it. foreign_login: a login the caller did not make, which no helper enters.';

COMMENT ON FUNCTION "api"."get_dashboard"(jsonb) IS 'GET /partner/dashboard. ERE of months inside a mandate, at the published factor of their year. The share in euro is of unsold ERE at the last average price, 0 until there is one.';

COMMENT ON FUNCTION "api"."get_partner"(jsonb) IS 'GET /partner/me: {partner}. It has the IBAN''s last four, and the API key''s prefix and last four.';

COMMENT ON FUNCTION "api"."import_stretch"(jsonb, jsonb) IS 'Imports the next rows of a kept file, once: {id, from, …} with the input of private.import_drafts, to how far it is. All null if nothing is kept. Rows that were imported meanwhile are not imported again.';

COMMENT ON FUNCTION "api"."invite_draft_again"(jsonb, jsonb) IS 'Mails a draft''s customer the invitation once more: {draft_id, links} to {state} of private.draft_mailing, "may" if it was sent. Refused with draft_not_found.';

COMMENT ON FUNCTION "api"."invite_manager"(jsonb, jsonb) IS 'A manager invites a colleague: {email, token_hash, mail} to {invited}, as private.invite_manager.';

COMMENT ON FUNCTION "api"."issue_authorization_code"(jsonb, jsonb) IS 'The person allows an application: {client_id, redirect_uri, scope, code_challenge, code_hash} to {scope}. The code lives ten minutes.';

COMMENT ON FUNCTION "api"."keep_import"(jsonb, jsonb) IS 'Keeps for an hour a file of customers that somebody brought: {id, ciphertext, key_id, row_count}. Nothing is imported yet.';

COMMENT ON FUNCTION "api"."list_captured_mail"(jsonb, jsonb) IS 'GET /sandbox/v1/mail: {to, limit, from} to {mail: [{id, captured_at, to, from, template, locale, content}]}, newest first. It has every mail written for the partner, also about its CPO accounts'' mandates, and its customers'' sign-in codes.';

COMMENT ON FUNCTION "api"."list_customers"(jsonb, jsonb) IS 'GET /partner/customers, in stretches: {size, key} to the first one and the borders of the others, {after, until, key} to another. Answers {borders, customers}, newest first. An application that a person let in sees pseudonyms.';

COMMENT ON FUNCTION "api"."list_own_chargers"(jsonb) IS 'GET /chargers: {chargers}, newest first, each with its running session.';

COMMENT ON FUNCTION "api"."open_own_claim"(jsonb, jsonb) IS 'Takes a person to the claim pages of their account: {account_id} to {draft_id}. Moving money or ending the mandate there still needs a mailed code.';

COMMENT ON FUNCTION "api"."read_logo"(jsonb, jsonb) IS 'The picture at the address of a logo: {hash} to {png}, base64, null if there is none.';

COMMENT ON FUNCTION "api"."read_own_charging"(jsonb, jsonb) IS 'A person''s charging in a year by month, and a page of one month''s sessions: {year, month, limit, offset} to {email, year, years, months, left_out, sessions, has_more}. Without a month there are no sessions.';

COMMENT ON FUNCTION "api"."read_own_document"(jsonb, jsonb) IS 'A document of a person: {mandate_id}, {line_id}, {part_id}, or of a year {account_id, year}, to private.kept_document. Other people''s are not found.';

COMMENT ON FUNCTION "api"."read_own_end"(jsonb) IS 'What closing a person''s account means: {email, end}.';

COMMENT ON FUNCTION "api"."read_portal_branding"(jsonb) IS 'How a partner looks to its customers: {who, branding, brand}. branding is as POST /partner/branding took it, brand is private.partner_brand.';

COMMENT ON FUNCTION "api"."read_portal_customer"(jsonb, jsonb) IS 'One customer of a partner: {customer_ref, key} to {who, customer, draft}, customer as in GET /partner/customers, draft {draft_id, status, created_at, invited_at, claimed_at} or null. Refused with customer_not_found for anybody else.';

COMMENT ON FUNCTION "api"."read_portal_customers"(jsonb, jsonb) IS 'A page of a partner''s customers, newest first: {for: {text, city, is_active, source, charger, month, registration}, after, limit, key} to {who, customers, more_after}, customers as GET /partner/customers. Send more_after as after for the next page; null is the end. A page may have fewer than its limit before that.';

COMMENT ON FUNCTION "api"."read_portal_draft"(jsonb, jsonb) IS 'One draft of a partner: {draft_id, with_link, links} to {who, draft, mailing, claim_url, customer_ref}. The link comes only if it is asked for and works. Refused with draft_not_found.';

COMMENT ON FUNCTION "api"."read_portal_drafts"(jsonb, jsonb) IS 'A page of a partner''s drafts, newest first: {for: {text, status, needs}, after, limit} to {who, drafts, more_after}, needs as private.needs_attention. Send more_after as after for the next page; null is the end. A page may have fewer than its limit before that.';

COMMENT ON FUNCTION "api"."read_portal_import"(jsonb, jsonb) IS 'The pages on which a partner brings customers: {id, links} to {who, cap, import: {sealed, state, outcomes} | null}. claim_url is for customers who were not mailed and have not begun.';

COMMENT ON FUNCTION "api"."read_portal_log"(jsonb, jsonb) IS 'What was changed for a partner, newest first: {before, limit} to {who, changes: [{at, action, by: person | key | operator, email, about, details}], before}. Send before for the next page; null is the end. email is null for a login that is gone.';

COMMENT ON FUNCTION "api"."read_portal_start"(jsonb, jsonb) IS 'What the people who manage a partner see first: {key} to {who, figures, attention}, figures as GET /partner/dashboard. attention is {drafts, customers, webhooks, account_missing, invoices_need, cap, cap_left} of what is newest.';

COMMENT ON FUNCTION "api"."read_portal_webhook"(jsonb, jsonb) IS 'An endpoint of a partner''s own log and its latest attempts: {webhook_id, limit} to {who, signed_in_recently, webhook, previous_until, retries: {waiting, given_up}, attempts}. previous_until is null if one secret signs.';

COMMENT ON FUNCTION "api"."read_signed_account"(jsonb, jsonb) IS 'An account that the service pays, for its signatory to change the IBAN: {account_id, token_hash} to {email, partner_id, partner_name, iban_last4, code_sent}.';

COMMENT ON FUNCTION "api"."read_signed_mandate"(jsonb, jsonb) IS 'What withdrawing the mandate for a connection would mean: {connection_id, token_hash} to {email, partner_name, ean_code, registration_status, renewed_until, withdrawal, code_sent}; withdrawal as private.withdrawal_means.';

COMMENT ON FUNCTION "api"."recount_dashboard"(jsonb) IS 'Counts the next dashboard that is due: {partner_id}, null if none is.';

COMMENT ON FUNCTION "api"."redeem_sign_in_code"(jsonb, jsonb) IS 'Uses a one-time code: {token_hash, code_hash, key, email, device_hash?, signatory_hash?, strangers?} to {email, login, signatory}. Asks for a login first if the address has none, or one that a stranger may have made. The owner may sign in if there is a login. A signatory of a CPO''s customer is signed in with signatory_hash.';

COMMENT ON FUNCTION "api"."register_own_charger"(jsonb, jsonb) IS 'POST /chargers: {nickname, ocpp_identity, password_hash} to {id}. Bound to the person''s first active connection, if there is one.';

COMMENT ON FUNCTION "api"."remove_manager"(jsonb, jsonb) IS 'Removes a manager of the partner at once: {user_id} to {removed}. False for the last one, and for somebody who does not manage it. Also oneself. Mails the others and the one who goes.';

COMMENT ON FUNCTION "api"."remove_own_charger"(jsonb, jsonb) IS 'A person removes a charger: {id} to {removed}. What it charged stays and counts; it can no longer connect. A second time changes nothing.';

COMMENT ON FUNCTION "api"."renew_signed_mandate"(jsonb, jsonb) IS 'Gives a signatory a link to sign again, from 1 November of the last year on: {account_id, connection_id, new_token_hash}. Ten a day. Refused with link_not_open before.';

COMMENT ON FUNCTION "api"."reset_sandbox"(jsonb, jsonb) IS 'POST /sandbox/v1/reset: {key}. Deletes the partner''s customers and drafts, and what was booked and sold of its CPO accounts, in one transaction. These accounts and their months, keys and settings stay.';

COMMENT ON FUNCTION "api"."review_customer"(jsonb, jsonb) IS 'POST /sandbox/v1/customers/{id}/review: {id, key, outcome} to {ok, from, to, closed_gates}. The outcome is the one asked for, whatever gates are closed, so that each can be rehearsed. A registration is decided once.';

COMMENT ON FUNCTION "api"."revoke_partner_key"(jsonb) IS 'POST /partner/api-keys/revoke: ends the active key at once, if there is one.';

COMMENT ON FUNCTION "api"."send_account_code"(jsonb, jsonb) IS 'Mails a signatory the code to change the IBAN of an account that the service pays: {account_id, token_hash, code_hash, mail}. Ten minutes, five attempts, within the limits of the address; a newer code replaces the older.';

COMMENT ON FUNCTION "api"."send_invitation_code"(jsonb, jsonb) IS 'Mails a one-time code to the invited address, with a login or without: {token_hash, code_hash, mail}.';

COMMENT ON FUNCTION "api"."send_sign_in_code"(jsonb, jsonb) IS 'Mails a one-time code, good for ten minutes and five attempts: {address_hash, email_hash, device_hash, email, token_hash, code_hash, mail, signatories?, strangers?}. It goes to an address with a login. signatories adds the signatories of a CPO''s customers, strangers adds addresses without a login. It answers alike if the code opens nothing.';

COMMENT ON FUNCTION "api"."send_withdrawal_code"(jsonb, jsonb) IS 'Mails a signatory the code to withdraw the mandate for a connection: {connection_id, token_hash, code_hash, mail}. Ten minutes, five attempts, within the limits of the address; a newer code replaces the older.';

COMMENT ON FUNCTION "api"."set_partner_branding"(jsonb, jsonb) IS 'POST /partner/branding: replaces the fields that were sent. A primary_color brings light and dark, if it can be read there.';

COMMENT ON FUNCTION "api"."set_partner_company"(jsonb, jsonb) IS 'POST /partner/company: replaces the fields that were sent.';

COMMENT ON FUNCTION "api"."set_partner_iban"(jsonb, jsonb) IS 'POST /partner/payout-iban: {iban: {ciphertext, key_id, last4}, account_holder, same_iban}. Mails everybody who manages the partner. It does not store an unchanged IBAN again, so no waiting time restarts. Asks for same_iban, {as: ciphertext, same}, if the last four characters are equal.';

COMMENT ON FUNCTION "api"."set_partner_logo"(jsonb, jsonb) IS 'Replaces the logo of a partner: {png, width, height}, png as base64 and written by us; png null for none. The ten before it are kept for mail that shows them.';

COMMENT ON FUNCTION "api"."set_partner_return_url"(jsonb, jsonb) IS 'Sets where the partner''s sign-in links may lead back to, empty for nowhere: {return_url} to {ok}. False if private.return_root refuses it. On its pages only, by a person who has just signed in.';

COMMENT ON FUNCTION "api"."settle_rehearsal"(jsonb, jsonb) IS 'Ends a draft in conflict as the pages would: {draft_id, ean | null}, refused as draft_not_claimable. It does so if the login is another partner''s or has an account, or the wanted EAN is in use. Before the address is proven, a free EAN replaces an uploaded one that is in use.';

COMMENT ON FUNCTION "api"."settle_sandbox"(jsonb, jsonb) IS 'POST /sandbox/v1/settle: {quarter, price_per_ere} to {ok, quarter, booking_id, accounts, kwh, ere, gross_eur, net_eur, accounts_left, left_out}. Settled months stay as they are; the price is for the others.';

COMMENT ON FUNCTION "api"."stop_sharing"(jsonb, jsonb) IS 'A person stops sharing with the partner that brought them: {partner_id} to {ended}. Their draft stays active, and the months before still count for the partner. A second time changes nothing.';

COMMENT ON FUNCTION "api"."withdraw_signed_mandate"(jsonb, jsonb) IS 'A signatory withdraws the mandate for a connection, by a code mailed for it: {connection_id, token_hash, code_hash, key}. The whole months before it count. The signatory and the partner''s managers are told by mail, the client by its event.';

COMMENT ON FUNCTION "api"."write_settlements"(jsonb, jsonb) IS 'GET /v1/settlements.csv: the same as list_settlements, as {csv}, without formulas.';

COMMENT ON FUNCTION "ops"."app_disable"(jsonb) IS 'Ends an application for good: {app} to {changed, app}. Its secret and its tokens stop at once.';

COMMENT ON FUNCTION "ops"."app_link"(jsonb) IS 'Links an application to a partner, which its users'' first consents attribute from then on: {app, partner} to {changed, app}.';

COMMENT ON FUNCTION "ops"."app_rotate_secret"(jsonb) IS 'Replaces the secret; the old one stops at once: {app, secret_hash, revoke_tokens?} to {app}. revoke_tokens also ends every access token issued before.';

COMMENT ON FUNCTION "ops"."client_create"(jsonb) IS 'Provisions a CPO client: {partner?, name, scopes?, return_url?, client_id, secret_hash} to {client}. secret_hash is the SHA-256 in hex. Without scopes it gets all but cpo:webhooks; without partner it waits for client_link.';

COMMENT ON FUNCTION "ops"."client_disable"(jsonb) IS 'Ends a client for good: {client} to {changed, client}. Its secret and its tokens stop at once.';

COMMENT ON FUNCTION "ops"."client_rotate_secret"(jsonb) IS 'Replaces the secret; the old one stops at once: {client, secret_hash, revoke_tokens?} to {client}. revoke_tokens also ends every token issued before.';

COMMENT ON FUNCTION "ops"."partner_add_manager"(jsonb) IS 'Lets a person with a login manage a partner, and tells the others: {partner, user} to {changed, manager}. A person manages one. Refused if no code of ours proved the address: a stranger may have made that login.';

COMMENT ON FUNCTION "ops"."partner_create"(jsonb) IS 'Makes a partner, active at once: {name, slug?} to {partner}. The name gives the slug by default.';

COMMENT ON FUNCTION "ops"."partner_invite"(jsonb) IS 'Mails somebody an invitation to manage a partner, which makes their login: {partner, email, token_hash, mail} to {changed, invitation}. Not changed if they manage it already.';

COMMENT ON FUNCTION "ops"."partner_mint_key"(jsonb) IS 'The first API key of a partner, or its successor: {partner, rotate?, key_hash, prefix, last4} to {key}. The prefix must name this deployment and host.';

COMMENT ON FUNCTION "ops"."partner_show"(jsonb) IS 'One partner: {partner} to {partner, counts, company, branding, payout, managers, key, clients}. It shows who manages it, so it leaves an audit row.';

COMMENT ON FUNCTION "ops"."payout_approve"(jsonb) IS 'Lets a batch go to the bank, by another person than the one who prepared it: {batch} to {changed, batch}.';

COMMENT ON FUNCTION "ops"."payout_cancel"(jsonb) IS 'Returns what a batch took, before it was exported: {batch, reason} to {changed, batch}.';

COMMENT ON FUNCTION "ops"."payout_due"(jsonb) IS 'The payees of a batch, with their encrypted IBANs and those of their failed payments: {minimum?} to {payees}. The holder of the keys judges these, for payout_prepare.';

COMMENT ON FUNCTION "ops"."payout_export"(jsonb) IS 'What the file for the bank is made of, with encrypted IBANs: {batch} to {batch, created_at, lines}. For an exported batch, with again and a reason: {batch, file}, as payout_keep_file got it.';

COMMENT ON FUNCTION "ops"."payout_keep_file"(jsonb) IS 'Keeps the file for the bank, encrypted, before it is written anywhere, and tells customers: {batch, file: {ciphertext, key_id}, sha256} to {batch}. Of two at once one is kept.';

COMMENT ON FUNCTION "ops"."payout_overview"(jsonb) IS 'A customer''s year: {account, year} to {overview}. It is of a person, so it leaves an audit row.';

COMMENT ON FUNCTION "ops"."payout_prepare"(jsonb) IS 'Prepares a batch of all who can be paid now: {minimum?, judged: [{partner_id, account_id, ciphertext, failed, problem}]} to {changed, batch, left_out, payees}. judged says what is wrong with the IBAN of each payee of payout_due, or null. payees names who is left out, with the reason.';

COMMENT ON FUNCTION "ops"."payout_release"(jsonb) IS 'Lets the IBANs of failed payments be paid again: {payee, reason} to {changed, line}, the last of those lines. payee is an account id, or a partner''s slug or id.';

COMMENT ON FUNCTION "ops"."payout_settle"(jsonb) IS 'What the bank did: {batch?, failed?: [line], reason?} to {changed, paid, failed, batch, lines}. The failed lines go back to the balances. Every other line of the batch is paid.';

COMMENT ON FUNCTION "ops"."payout_show"(jsonb) IS 'A batch and its lines, in the order of the file: {batch, status?, limit?} to {batch, lines}. It names people, so it leaves an audit row.';

COMMENT ON FUNCTION "ops"."retention_step"(jsonb) IS 'Deletes about this many rows of a kind, whole things only: {kind, size} to {kind, rows}.';

COMMENT ON FUNCTION "ops"."sale_reverse"(jsonb) IS 'Takes back what of a sale is not paid out, or with recover all of it: {sale, partner?, reason, recover?} to {changed, reversed, paid_out, sale}.';

COMMENT ON FUNCTION "ops"."token_list"(jsonb) IS 'Personal tokens and applications'' grants, newest first: {user?: id or e-mail, limit?} to {tokens}. Never a token.';

COMMENT ON FUNCTION "ops"."token_revoke"(jsonb) IS 'Ends a personal token, or an application''s grant, at once: {token} to {changed, token}.';

COMMENT ON FUNCTION "private"."act_as_manager"() IS 'A second check behind admission: only a person who manages the partner now changes settings, never a key. One change at a time.';

COMMENT ON FUNCTION "private"."admit_page_session"(jsonb, jsonb) IS 'Admits a browser in which a person is signed in to their pages: {token_hash}. It is as good as its session of Supabase Auth. For pages of a partner, the person acts for the partner that they manage. Definer, as all of admission.';

COMMENT ON FUNCTION "private"."admit_signatory"(core.page_sessions, jsonb) IS 'Admits a browser that proved the address of a signatory, as long as it is one. Belongs to no tenant: row-level security shows it nothing.';

COMMENT ON FUNCTION "private"."allocate_sale"(core.sales) IS 'Splits a sale, stores each part for good, and moves its ERE and money. The customer gets the gross less the fee. The partner gets its share of the fee, and the service the rest.';

COMMENT ON FUNCTION "private"."app_named"(text) IS 'The application with this id or client_id, locked. Its partner becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."app_row"(uuid) IS 'An application as the operator sees it, with how many people use it, without the secret''s hash.';

COMMENT ON FUNCTION "private"."authenticate_client"(jsonb, text) IS 'The client of {client_id, secret_hash, address_hash} if its secret is right and it has the grant type (null: any); else a refusal. A refusal is an answer, because a failed attempt must be counted. Definer: it runs before there is a client.';

COMMENT ON FUNCTION "private"."begin_signatory_session"(text, text) IS 'Signs a browser that proved an address by a code in as the signatory there; false if there is none. Definer, because nobody is signed in yet.';

COMMENT ON FUNCTION "private"."brought_by_then"(uuid, date) IS 'The partner that a month of a person counts for after they stopped sharing; null if there is none. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."business_named"(text) IS 'private.partner_named, but refuses the house, for which nobody acts.';

COMMENT ON FUNCTION "private"."captured_mail"(uuid, text, integer) IS 'Mail written for a partner, and the service''s own to customers that the partner alone brought, newest first. A code or link is shown only while its address is nobody else''s: docs/security.md lists each. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."carry_forward"(uuid, bigint[], bigint) IS 'Posts the sum of these entries in each account, so that its balance stays when they are deleted.';

COMMENT ON FUNCTION "private"."check_authorization"(jsonb) IS 'The client and scopes of {client_id, redirect_uri, scope}, or why not. Without a valid client and redirect URI an answer never goes by redirect, so these are checked first.';

COMMENT ON FUNCTION "private"."chosen_partner"(jsonb) IS 'The partner that {partner?} names, which becomes the tenant of the transaction; null for all.';

COMMENT ON FUNCTION "private"."claim_customer"(uuid, uuid, text, text) IS 'Attributes a person to an active partner unless somebody has them already. Returns new, own if this partner has them, else null. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."claim_manager"(uuid, uuid) IS 'Lets a person manage a partner unless they manage one already. Returns whether it did, and which one they manage. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."client_by_client_id"(text) IS 'Looks a client up before its tenant is known; definer only for that.';

COMMENT ON FUNCTION "private"."client_named"(text) IS 'The client with this id or client_id, locked. Its partner becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."client_row"(core.oauth_clients) IS 'A client as the operator sees it, without the secret''s hash.';

COMMENT ON FUNCTION "private"."close_balances"(uuid, uuid[]) IS 'Moves the balances of these owners to the tenant''s account for what was closed.';

COMMENT ON FUNCTION "private"."close_login"(uuid) IS 'Ends every credential of a person, and deletes the login. It is only marked if something of theirs must be kept. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."code_opens"(text, boolean) IS 'Whether a code mailed to an address signs anybody in: a login, a signatory, or with strangers somebody new. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."collect_charging_sessions"(core.virtual_chargers[]) IS 'Collects what locked virtual chargers charged up to now, and returns how many sessions were new.';

COMMENT ON FUNCTION "private"."count_dashboard"(uuid) IS 'Counts a partner''s customers and drafts in one statement, from the month each customer was attached. Definer, because people own what they have in the house. The sums disclose nothing about a customer that the list does not.';

COMMENT ON FUNCTION "private"."count_sign_in"(jsonb, text[], text) IS 'Counts an attempt {email_hash, address_hash, device_hash} by its origin, and by account. Browsers that signed in to the account before, by device_hash, have one count, all others another. What was counted before a refusal stays, so the refusal must be an answer.';

COMMENT ON FUNCTION "private"."counted_at_once"() IS 'How many customers a reader counts. Above that, only the worker counts.';

COMMENT ON FUNCTION "private"."customer_borders"(uuid, integer) IS 'The last customer of each stretch of size, except the last stretch: [{at, id}], newest first. Definer, as private.customer_page.';

COMMENT ON FUNCTION "private"."customer_candidates"(uuid, jsonb, uuid, integer) IS 'The next people a partner brought, at most size, newest first, to search for {text, month}. By their words if few people have them, else all. Definer, because people own what they have in the house. It discloses nothing: private.customer_page decides who is found by what.';

COMMENT ON FUNCTION "private"."customer_key"(uuid, text) IS 'The AES key of a partner''s customer references.';

COMMENT ON FUNCTION "private"."customer_named"(text, uuid, text) IS 'The person of a private.customer_ref, under any key that is still accepted; null if it is none. A reference of another partner, or made up, gives an id that nobody has.';

COMMENT ON FUNCTION "private"."customer_page"(core.partners, boolean, jsonb) IS 'A stretch of the people a partner brought, {after, until, key} to [customer, …]: after one border, up to the other, included. Or {ids, for, limit, key}: the first of these people that match {text, city, is_active, source, charger, registration}. Definer, because people own what they have in the house. Only this function crosses over, and it names only people whom the partner itself uploaded or invited.';

COMMENT ON FUNCTION "private"."customer_ref"(uuid, bytea) IS 'A partner''s reference of a customer: always the same, different for every partner, and without meaning to anybody else.';

COMMENT ON FUNCTION "private"."customer_standing"(uuid) IS 'The state of a draft''s account: registration, IBAN, first virtual charger. Definer, because accounts of people are in the house.';

COMMENT ON FUNCTION "private"."customers_examined"() IS 'How many customers a page of the portal reads, of however many: what is rare is searched in parts.';

COMMENT ON FUNCTION "private"."customers_in_need"(core.partners, boolean, text) IS 'How many of a partner''s newest customers lack what, as far as it may see: {examined, all, without_charger, without_mid, rejected}. all: there are no others.';

COMMENT ON FUNCTION "private"."decrypt_block"(bytea, bytea) IS 'Reverses private.encrypt_block. Definer, as private.claim_mac.';

COMMENT ON FUNCTION "private"."delete_due"(text, date, integer) IS 'Deletes what is due of a kind of core.deletions, at most size rows of a table, and returns how many.';

COMMENT ON FUNCTION "private"."draft_mailing"(core.drafts, text) IS 'Whether a draft''s customer may be mailed the invitation once more: {state, last_at, again_at, by_hand}. Three times at most, each a day after the last invitation or reminder. mail_limit: the address had enough of them today, by private.mails_that_fit. Never to somebody who opted out.';

COMMENT ON FUNCTION "private"."drafts_by_status"(uuid) IS 'The number of a partner''s drafts in each status as of now, in the order of the dashboard.';

COMMENT ON FUNCTION "private"."drafts_examined"() IS 'How many drafts a page of the portal searches, of however many: five months of them at the cap.';

COMMENT ON FUNCTION "private"."drafts_in_need"() IS 'How many of the tenant''s newest drafts need what attention: {examined, all, conflict, ean, expiring}. all: there are no other drafts.';

COMMENT ON FUNCTION "private"."due_accounts"(uuid[], uuid[], date) IS 'The accounts among these that have a bookable month in a quarter.';

COMMENT ON FUNCTION "private"."earned_of"(uuid, text, uuid) IS 'Each part of a sale that earned one payee something (kind customer or partner). It says whether the part stands, what is due (0 if taken back), what payments have, and their state. The next payment has due less paid.';

COMMENT ON FUNCTION "private"."encrypt_block"(bytea, bytea) IS 'AES of one block of 16 bytes, which is a permutation, so no mode is needed. Definer, as private.claim_mac.';

COMMENT ON FUNCTION "private"."end_application"(uuid, uuid) IS 'Ends what an application holds of a person, at once; returns whether it held anything. Definer, because nobody may write grants.';

COMMENT ON FUNCTION "private"."end_grant"(uuid, text) IS 'Ends every token of a grant at once; returns whether it was still live.';

COMMENT ON FUNCTION "private"."end_sign_ins"(text, text) IS 'Ends the sign-in codes of an address, except that of the kept token_hash, and its page sessions as a signatory. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."end_ways_in"(uuid) IS 'Revokes the personal tokens, grants with their codes, page sessions and OCPP passwords of a person. Definer, because these belong to no tenant.';

COMMENT ON FUNCTION "private"."enter_invitation"(text) IS 'The invitation of a link, of an active partner; definer, because a link has no tenant yet.';

COMMENT ON FUNCTION "private"."enter_signed_account"(uuid) IS 'Enters the tenant of an account that the caller signed for, as by a mandate link. Refused with account_not_found for any other. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."enter_signed_connection"(uuid) IS 'private.enter_signed_account, by one of its connections. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."enter_signed_document"(uuid, uuid, uuid) IS 'private.enter_signed_account, if a document is of an account that the caller signed for. Else nothing changes, and it is looked for among the caller''s own. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."enter_signed_mandate"(jsonb, jsonb) IS 'Enters the tenant of a connection, {connection_id}, whose mandate the signatory signed; returns account and address. One request at a time. Refused with account_not_found if it is not theirs, link_not_open if nothing is signed.';

COMMENT ON FUNCTION "private"."erase_accounts"(uuid[], uuid[], uuid[]) IS 'Deletes accounts of the house with everything below them: connections, chargers, charging sessions, months, mandates and their documents. Their rows are locked; only private.erase_customers runs it.';

COMMENT ON FUNCTION "private"."erase_bookings"(uuid, uuid[]) IS 'Deletes what was booked, credited, sold and paid of accounts, on the sandbox. That is their rows and entries, and bookings and sales with nothing left. Run by private.erase_accounts and private.erase_books.';

COMMENT ON FUNCTION "private"."erase_books"(uuid) IS 'Deletes what was booked, credited, sold and paid of a partner''s CPO accounts, and its published figures. Accounts and months stay. Definer, because nothing else deletes these.';

COMMENT ON FUNCTION "private"."erase_customers"(uuid, uuid[], text) IS 'Deletes a partner''s drafts, those chosen or (null) all, with accounts and all below them, mail, logins and opt-outs. key finds the opt-outs. A person with a login of their own keeps it, and leaves the partner. Definer, because customers are in the house and logins in Auth.';

COMMENT ON FUNCTION "private"."erase_entries"(uuid, text[], uuid[]) IS 'Deletes what was posted for these causes, all other entries of these owners, and their ledger accounts. An entry is both sides, so what is left is balanced.';

COMMENT ON FUNCTION "private"."erase_payouts"(uuid, uuid[], uuid[]) IS 'Deletes payouts to accounts, and all payouts and invoices of these partners. They had a share in what is erased, and the rest of it is to be paid again. Only private.erase_bookings runs it.';

COMMENT ON FUNCTION "private"."euro_posting"(text, numeric, text, uuid, text, uuid) IS 'A posting of euros from one account to another; an amount below zero goes the other way.';

COMMENT ON FUNCTION "private"."fail_line"(core.payout_lines, text) IS 'Marks a line that the bank could not pay, or sent back. The money is in the balance again, the IBAN is held back, and the customer is asked for another.';

COMMENT ON FUNCTION "private"."fail_lines"(text[], text) IS 'Marks these lines as not paid by the bank; returns how many were new. Payouts are locked exclusively.';

COMMENT ON FUNCTION "private"."forecast_kwh"(date) IS 'The kWh that will count this year: those that do already, and the trailing average for its rest.';

COMMENT ON FUNCTION "private"."forget_log"(text, date, integer) IS 'Deletes the oldest rows of the audit log or ledger with their links. Keeps the hash of the last one, which the next link follows.';

COMMENT ON FUNCTION "private"."hold_books"() IS 'Until the transaction ends nobody else writes what ledger check reads, except months that come in.';

COMMENT ON FUNCTION "private"."invitation_state"(core.manager_invitations) IS 'open, used, withdrawn or expired. Withdrawn too, if the inviter no longer manages the partner, or is banned.';

COMMENT ON FUNCTION "private"."invite_manager"(text, jsonb, text) IS 'Mails an invitation to an address, {token_hash, mail}, and tells the managers; both name invited_by, or if null the service. False for somebody who manages the partner already. Null if twenty were invited within a day, this address three times, or it had enough mail today. Whether the address has a login changes nothing.';

COMMENT ON FUNCTION "private"."is_host_name"(text) IS 'Whether a text is a host name (RFC 1123, IDNA in its ASCII form) or an IPv4 address.';

COMMENT ON FUNCTION "private"."is_nobody_elses"(uuid, text) IS 'Whether an address belongs to nobody but this partner now. Its login may come only from the partner''s own drafts or invitations. No other tenant may have an account, signature, attribution, manager or open invitation there. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."is_race"(timestamp with time zone) IS 'Whether a second use came within 30 seconds. It then counts as a lost answer or parallel requests, not as a theft.';

COMMENT ON FUNCTION "private"."judge_sign_in_code"(jsonb, text) IS 'private.judge_guess of the code of one browser, {token_hash, code_hash, key, strangers?}. A code that would sign nobody in is always wrong. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."kept_import"(uuid) IS 'A kept import of this transaction''s person that has not expired, or null.';

COMMENT ON FUNCTION "private"."key_holder"(jsonb) IS 'The partner of an active key: {key_hash, key_host, host}, key_host by the key''s prefix. Definer, because admission runs before a tenant is set.';

COMMENT ON FUNCTION "private"."leave_partner"(uuid, text) IS 'Ends a person''s management of a partner when they close their account. Tells the others, or if there are none the operator, at this address. Definer, because the person acts for the house.';

COMMENT ON FUNCTION "private"."line_id_of"(text) IS 'The id of a line, as itself or as the bank''s EndToEndId, without dashes.';

COMMENT ON FUNCTION "private"."lock_bookings_of"(uuid, uuid[]) IS 'Locks the bookings with rows of accounts, before their connections, as every step of a booking does.';

COMMENT ON FUNCTION "private"."lock_invitation"(jsonb, text) IS 'The open invitation of a link, one request at a time. Its partner becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."lock_payouts"(boolean) IS 'One transaction at a time pays out balances (exclusively), and none while another takes back what was not paid out.';

COMMENT ON FUNCTION "private"."lock_payouts_of"(uuid) IS 'For the sandbox, which settles and resets a partner''s customers. One at a time for each partner, and not while the operator pays. Called before any row is locked.';

COMMENT ON FUNCTION "private"."login_at"(text) IS 'The login at an address that a mailed code opens, or null. private.prove_login judges one that a stranger may have made. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."login_owns"(uuid) IS 'Whether a login owns anything that must stay. Tokens, consents and sessions are no property. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."login_proved"(auth.users, uuid) IS 'Whether a code of ours proved this address for this login. Only the service key and this schema write that mark. An address that is changed at Supabase Auth is not proved.';

COMMENT ON FUNCTION "private"."login_stands"(uuid) IS 'Whether a login is there and not banned: else no credential of the person is valid. Supabase Auth can delete by a mark alone. Definer, because logins belong to it.';

COMMENT ON FUNCTION "private"."logo_at"(bytea) IS 'The PNG of a hash as base64, or null. Definer, because a mail shows it to any reader, and only a reader knows the hash.';

COMMENT ON FUNCTION "private"."make_batch"(private.payee[], numeric, text, uuid[]) IS 'Makes a batch with a line for each of these payees, for all they are owed now, or what owners are. From here on the sales that each line pays are fixed, and the money is on its way. Payouts are locked.';

COMMENT ON FUNCTION "private"."managed_alone"(uuid) IS 'The name of the active partner that only this person manages, or null. Definer, because they act for the house.';

COMMENT ON FUNCTION "private"."manager_emails"(uuid) IS 'The addresses for mail about a partner itself. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."may_act_for_people"(core.oauth_clients) IS 'Whether an application may get and use tokens of people: not if its partner was deactivated.';

COMMENT ON FUNCTION "private"."may_yield"(uuid, uuid, uuid[]) IS 'Whether an account may earn more, if these bookings are spent: by a running mandate, a month to book, kWh to credit, or ERE to sell.';

COMMENT ON FUNCTION "private"."needs_attention"(core.drafts) IS 'Why a draft needs attention, or null. The first that holds of conflict, ean (none or several at the address), expiring (within 14 days).';

COMMENT ON FUNCTION "private"."note_iban_change"() IS 'Notes when an IBAN changes, whoever changes it. Encrypting it again counts as a change.';

COMMENT ON FUNCTION "private"."notify_paid"(uuid) IS 'Tells the customers of a batch that their money is on its way.';

COMMENT ON FUNCTION "private"."own_account"(uuid) IS 'An account of this transaction''s person; null if it is not theirs. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_account_rows"() IS 'The accounts of this transaction''s person, and those they signed for as a CPO''s customer. The one rule of what is theirs. Definer, because the latter are in the tenant of the CPO.';

COMMENT ON FUNCTION "private"."own_accounts"() IS 'The accounts of this transaction''s person: {account_id, draft_id, cpo, payout_handler, iban_last4, iban_held_until, checklist, chargers, connections}. cpo names the CPO whose customer they signed as, null for their own account. Definer, because that is in the tenant of the CPO.';

COMMENT ON FUNCTION "private"."own_applications"() IS 'What applications hold of this transaction''s person: {client_id, name, operated_by, scopes, allowed_at, last_used_at}, newest first. last_used_at is when they last got a token. Definer, because nobody may read consents and refresh tokens.';

COMMENT ON FUNCTION "private"."own_balance"() IS 'What this transaction''s person is still owed, in euro. Definer, because nobody reads the ledger.';

COMMENT ON FUNCTION "private"."own_brand"() IS 'The partner that brought this transaction''s person: {partner_id, name, source, since}; null if nobody did, or no longer. Definer, because a partner is another tenant.';

COMMENT ON FUNCTION "private"."own_chargers"() IS 'The chargers of this transaction''s person, newest first, each with its running session.';

COMMENT ON FUNCTION "private"."own_counted_months"(date, date) IS 'What counts toward ERE for this transaction''s person, over all connections; of a credited month the accepted kWh. since inclusive, until exclusive. Definer, because what they signed for at a CPO is in its tenant.';

COMMENT ON FUNCTION "private"."own_cpos"() IS 'The names of the CPOs whose customer this transaction''s person signed as. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_customer"(text, text) IS 'The account of a customer that the partner itself brought, by customer_ref or account id; nulls if there is none. Definer, because people own their accounts in the house.';

COMMENT ON FUNCTION "private"."own_draft"(uuid) IS 'The claim that an account of this transaction''s person began with; null if there was none. Its pages can do more. Definer, because drafts are in the partner''s tenant.';

COMMENT ON FUNCTION "private"."own_drafts"() IS 'The signed claims of this transaction''s person. Definer, as private.own_draft.';

COMMENT ON FUNCTION "private"."own_email"() IS 'The address of this transaction''s person, of their login if they have one. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."own_end"() IS 'What closing the account means for this transaction''s person: {balance_eur, accounts, managed_alone, lost_kwh, iban_missing, kept_until}. Without accounts nothing is kept. lost_kwh would count if their unsubmitted or rejected registration were approved first.';

COMMENT ON FUNCTION "private"."own_ere_position"(integer) IS 'The object of GET /ere-position, for a year that has begun; a past one has no forecast. A quarter is sold once any of it is, and paid once all that was sold is.';

COMMENT ON FUNCTION "private"."own_left_out"(integer) IS 'What of a person''s year does not count toward ERE: [{month, kwh, why, reason}]. why is before_ere, outside_mandate or register; reason has the register''s own words, if any. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_mandates"() IS 'The mandates that this transaction''s person signed, newest first, a hundred at most, as private.shown_mandate. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_months"(date, date) IS 'What this transaction''s person charged by month, by own chargers and CPO deliveries, with its ERE, exact. since inclusive, until exclusive.';

COMMENT ON FUNCTION "private"."own_name"() IS 'The name of this transaction''s person, as far as known. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_overviews"() IS 'The past years with money of each account of this transaction''s person, newest first: [{account_id, year}]. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_partner"() IS 'The tenant of this transaction, read through row-level security.';

COMMENT ON FUNCTION "private"."own_partners_draft"(uuid) IS 'A draft of the tenant of this transaction. Refused with draft_not_found if there is none.';

COMMENT ON FUNCTION "private"."own_payouts"() IS 'What this transaction''s person was paid, newest first, a hundred at most: [{line_id, part_id, cpo, paid_on, amount_eur}]. A payment to the CPO that settles with them has a part_id and the CPO''s name, any other a line_id. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_prices"(integer) IS 'The numbers of a person''s estimate: {price_per_ere_eur, ere_per_kwh, fee_pct}. The last average price, the factor of a year, and the fee they signed for last; null if unknown. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_quarters"(integer) IS 'A year of this transaction''s person, by the quarters in which something counts. ERE exact, credited and sold; euro gross, and the person''s part. Also the first day of sale, and whether all that was sold is paid. Definer, because payments are in the service''s own batch.';

COMMENT ON FUNCTION "private"."own_tokens"() IS 'The tokens of this transaction''s person that are not revoked, newest first; never the token itself.';

COMMENT ON FUNCTION "private"."own_years"() IS 'The years from the first charging of this transaction''s person to this one, newest first.';

COMMENT ON FUNCTION "private"."paid_out_allocations"(core.sales) IS 'Which parts of a sale are paid out or on their way, even in part, to the customer or the partner.';

COMMENT ON FUNCTION "private"."partner_brand"(core.partners) IS 'How pages and mail name a partner: {name, reply_to, light, dark, logo}. A color is null where it cannot be read; logo is {hash, width, height} or null.';

COMMENT ON FUNCTION "private"."partner_log"(bigint, integer) IS 'What a partner''s people, its key and the operator did for it, newest first, below an id. It leaves out its clients and customers. Definer, because api functions append to the audit log and read nothing.';

COMMENT ON FUNCTION "private"."partner_may_yield"(uuid, uuid[]) IS 'Whether a partner may earn more, from its own accounts or the people it brought.';

COMMENT ON FUNCTION "private"."partner_named"(text) IS 'The partner with this id or slug. It becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."partner_payouts"(uuid) IS 'What a partner earned by quarter of delivery, from the first sale on. It is of its CPO accounts, and of the people it brought, from the month of attachment. Definer, because what people own is in the house; it discloses sums.';

COMMENT ON FUNCTION "private"."pay_accounts"(uuid, uuid[]) IS 'Pays a partner and these accounts all they are owed at once. It skips the 48 hours, the minimum, the second person and the bank. A payee without an IBAN is left out.';

COMMENT ON FUNCTION "private"."pay_lines"(uuid) IS 'Marks every line of a batch as paid that the bank did not report as failed; returns how many.';

COMMENT ON FUNCTION "private"."payable_balances"(uuid[]) IS 'Every balance of a customer or a partner, or those of owners, with its payee. That is the customer, or the partner (account_id is null) if the CPO settles with its customers. What a person earned a partner is in the house''s ledger. Below zero: it was paid, and taken back since.';

COMMENT ON FUNCTION "private"."payees"(numeric, uuid[]) IS 'Everybody, or those of owners, who is owed something or owes it, and why they are not paid now. reason is null if the database knows no obstacle. What is below the minimum is carried over while more can come.';

COMMENT ON FUNCTION "private"."payments"(uuid, text, uuid) IS 'The state of each standing part of a sale for one payee (kind customer or partner). pending. approved: two people let it go to the bank. paid, with the moment. failed: its last payment came back. taken: a payment has it, or it settles what was paid and taken back, even in part.';

COMMENT ON FUNCTION "private"."payout_batch_named"(text) IS 'The batch with this id, its row locked.';

COMMENT ON FUNCTION "private"."payout_id"(uuid, date) IS 'The id of what a partner earned in a quarter of delivery; it never changes.';

COMMENT ON FUNCTION "private"."payout_line_row"(core.payout_lines) IS 'A line as the operator sees it, with the last four characters of the IBAN.';

COMMENT ON FUNCTION "private"."portal_draft"(core.drafts) IS 'A draft in the portal, as in GET /partner/drafts, without its link.';

COMMENT ON FUNCTION "private"."prove_login"(text, uuid, jsonb) IS 'The login of an address that our code has just proved: user_id, or first next, which the caller answers. A login that was proved before stays as it is. Any other may be a stranger''s. If it owns nothing it is deleted and made again; else it is secured, and the person is mailed. A banned login stays; the caller refuses it. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."read_minimum"(jsonb) IS 'The least amount in euro that is paid, {minimum?}: 5 by default.';

COMMENT ON FUNCTION "private"."read_return_url"(text) IS 'private.return_root, refused if that is null. Null stays null.';

COMMENT ON FUNCTION "private"."read_sale"(core.bookings, jsonb) IS 'The sale of {reference, buyer, ere, price, date?}, not yet recorded; today by default.';

COMMENT ON FUNCTION "private"."reader_of_codes"(text) IS 'On the sandbox the tenant that reads the codes of an address without a login, as its signatory''s. A login that such a code makes is made for it. Else null. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."recount_dashboard"() IS 'Counts the next dashboard that a reader asked for, or that was not counted since midnight. Null if there is none, or another count runs. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."redeem_code"(core.oauth_clients, jsonb) IS 'Uses an authorization code once, for the client, redirect URI and challenge it was made for. A later second use ends its grant. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."redeem_sign_in_code"(jsonb, text) IS 'private.judge_sign_in_code, which then uses up a right code, but for a second click.';

COMMENT ON FUNCTION "private"."require_agreement"(uuid) IS 'Refuses with ledger_disagrees if ledger check of a tenant does not hold. It skips dashboards, which are counted again anyway. The books are held.';

COMMENT ON FUNCTION "private"."require_customer"(text, text) IS 'private.own_customer, refused with customer_not_found if there is none; the transaction then acts as that person.';

COMMENT ON FUNCTION "private"."retention_border"() IS 'Data from before this day may be deleted: on 1 January 2033 data from before 2027.';

COMMENT ON FUNCTION "private"."retention_kinds"() IS 'The kinds in order of deletion: a kind goes before what it refers to.';

COMMENT ON FUNCTION "private"."retention_step"(text, integer) IS 'Deletes some rows of a kind that need not be kept any more, and returns how many. Refused if they disagree with the ledger, or with their chain: later nobody could tell.';

COMMENT ON FUNCTION "private"."return_lines"(core.payout_lines[]) IS 'Returns what these lines took to the balances it came from.';

COMMENT ON FUNCTION "private"."return_root"(text) IS 'The root of the return URLs of a partner or a client: https, or http on this machine, by private.is_host_name. No credentials, query or fragment. Null for anything else.';

COMMENT ON FUNCTION "private"."reverse_sale"(core.sales, text, boolean) IS 'Takes back what of a sale was not paid out, or with recover all of it. What was paid becomes a negative balance, which later payouts settle. Its booking is locked. Returns how many parts were reversed, and how many had been paid out.';

COMMENT ON FUNCTION "private"."review_due_registrations"() IS 'The sandbox''s reviewer, two minutes after a registration was submitted. It approves if mandate, EAN and MID charger hold, else rejects. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."revoke_presented"(core.oauth_clients, jsonb) IS 'Ends the grant of a refresh token, or one access token, of this client; other tokens stay. Definer: no caller may read tokens.';

COMMENT ON FUNCTION "private"."rotate_refresh_token"(core.oauth_clients, jsonb) IS 'Exchanges a refresh token for its one successor. The predecessor shown again within 30 seconds is a race and harms nothing. Later, or an older one, ends the grant. Definer: no caller may read refresh tokens.';

COMMENT ON FUNCTION "private"."sale_named"(jsonb) IS 'The one sale that {sale, partner?} names, by its id or reference. Its partner becomes the tenant of the transaction.';

COMMENT ON FUNCTION "private"."sale_row"(core.sales) IS 'A sale as the operator sees it: what stands, for whom, and what was reversed.';

COMMENT ON FUNCTION "private"."scopes_of"(text) IS 'The scopes of a CPO client (client), an application for a person (user) or a personal_token, in the specification''s order.';

COMMENT ON FUNCTION "private"."secure_login"(uuid) IS 'Ends every way into a login that its owner did not make: password, factors, sessions, foreign identities, tokens. Returns null, or what its own owner may not do; then nothing is done. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."sellable_ere"(core.bookings) IS 'The ERE of a booking that are credited and unsold, at most what the register granted in total.';

COMMENT ON FUNCTION "private"."sepa_name"(text) IS 'A name in the characters that every bank of SEPA takes (EPC217-08), at most 70. Letters lose their accents; anything else is a space. Null if nothing is left.';

COMMENT ON FUNCTION "private"."settle_accounts"(uuid, uuid[], date, numeric) IS 'Books every month of these accounts that can be booked, also of a running quarter. Credits it all and sells it at a price in euro. Does nothing if there is none.';

COMMENT ON FUNCTION "private"."settle_customers"(uuid, date, numeric) IS 'Settles a quarter of a partner''s CPO accounts and of people it uploaded or invited, a thousand accounts at most. Pays them, publishes the year''s figures, and answers what is settled and how many accounts are left. Definer, because people are in the house, and only the operator books.';

COMMENT ON FUNCTION "private"."settled_at_once"() IS 'How many accounts one call settles: seconds, also on a busy machine. A statement has a minute.';

COMMENT ON FUNCTION "private"."settled_quarter"(uuid, uuid[], date) IS 'What of a quarter of these accounts is credited and sold, and which months are in no booking: {booking_id, accounts, kwh, ere, gross_eur, net_eur, left_out}. They are of a partner and of the house. kWh; ERE to two decimals; of left_out the first 1000.';

COMMENT ON FUNCTION "private"."settlements"(uuid, uuid, jsonb) IS 'The parts of payments to a partner for a client''s accounts, newest payment first, one more than the limit. Definer, because the payment is the partner''s and its batch the service''s own.';

COMMENT ON FUNCTION "private"."signed_accounts"(text) IS 'The accounts of CPO clients that the signatory at an address signed for, newest first, a hundred at most. None of a partner or client that is switched off, and no person''s own account. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."signed_in_at"(uuid, uuid) IS 'When a person signed in; null if that session has ended. Signing out deletes its row, while its JWT lives on for an hour. Definer, because sessions belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."signed_months"(date, date) IS 'The totals by month that CPOs delivered for accounts the caller signed for. Definer, as private.own_account_rows.';

COMMENT ON FUNCTION "private"."signs"(text) IS 'Whether a signatory with this address signed for an account of a CPO. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."spent_bookings"() IS 'The bookings with nothing left to sell: the register granted no more, or the rest is worth no cent. That is by the price of the last sale. A few milliseconds a booking.';

COMMENT ON FUNCTION "private"."split_sale"(core.sales) IS 'What each row gives and gets of a sale. ERE in proportion to what it has credited and unsold, at six decimals; cents in proportion to that ERE. By largest remainder both add up to the sale.';

COMMENT ON FUNCTION "private"."stop_sharing"(uuid, uuid) IS 'Ends the attribution of a person; returns whether there was one. Definer, because attributions are otherwise only read.';

COMMENT ON FUNCTION "private"."store_partner_key"(jsonb, boolean) IS 'Stores a new key of the tenant: {key_hash, prefix, last4}. Null while another is active, unless rotate ends that at once. Null too for a revoked key.';

COMMENT ON FUNCTION "private"."sweep"(text, integer) IS 'What the worker deletes of a kind. Without a border, nothing is before it: what is kept for years stays. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."sync_virtual_chargers"() IS 'Collects every virtual charger ten minutes after its last collection; with a worker each minute, within fifteen.';

COMMENT ON FUNCTION "private"."take_signatory"(text, uuid) IS 'Takes the address that a browser proved as a signatory, if the person''s login has it too. The new page session replaces that row. Definer, because the row is of no person.';

COMMENT ON FUNCTION "private"."tell_managers"(text, text, text, text[], text[]) IS 'Mails the partner''s managers, and others, that a person was invited, joined, removed or left, in the partner''s language. by is null for the service. Not to those in but, who know.';

COMMENT ON FUNCTION "private"."token_row"(uuid) IS 'A personal token, or an application''s grant (last used when last refreshed), as the operator sees it.';

COMMENT ON FUNCTION "private"."virtual_charging_sessions"(core.virtual_chargers, timestamp with time zone) IS 'The sessions of a virtual charger that ended since it was last collected, for private.ingest_charging_sessions. Always the same: the charger''s id decides when the n-th takes place.';

COMMENT ON TABLE "core"."allocations" IS 'A row''s part of a sale: its ERE and its cents. The customer gets net, the partner partner_share, the service the rest of the fee, by the percentages of the mandate. Written once, never computed again. Kept seven years.';

COMMENT ON TABLE "core"."dashboards" IS 'The last count of each partner with more than 1,000 customers, since somebody first read it. The worker counts again when a reader asks, and every night. Sums, no personal data. Kept as long as the partner.';

COMMENT ON TABLE "core"."ended_attributions" IS 'The partner that brought a person until they stopped sharing. These months still count for the partner, also if they are booked later. It discloses nothing. Ends with the login.';

COMMENT ON TABLE "core"."imports" IS 'A file of customers that a manager looks at before the import. Personal data, encrypted by the functions: only the person who brought it reads it, for an hour. outcomes has {row, draft_id} or {row, reason} for each row that is done.';

COMMENT ON TABLE "core"."manager_invitations" IS 'Who was invited to manage a partner, by the SHA-256 of a mailed link''s secret: seven days, one use. Personal data; deleted 30 days after it expired.';

COMMENT ON TABLE "core"."oauth_grants" IS 'What one authorization code began, with its access and refresh tokens. Revoking it ends them all at once.';

COMMENT ON TABLE "core"."page_sessions" IS 'A browser in which somebody is signed in to their pages, by the SHA-256 of its cookie: twelve hours. With a login it lasts only as long as its session of Supabase Auth. So signing out everywhere, a new password or a ban ends it. For a signatory it lasts while there is an account that they signed for. Personal data. Ends by signing out, or with the next clean-up.';

COMMENT ON TABLE "core"."partner_logos" IS 'The logo of a partner, and the last ten that it replaced, kept 90 days for mail that shows them.';

COMMENT ON TABLE "core"."partner_managers" IS 'Who manages a partner in the portal: a person manages one partner. They are invited, or added by the operator.';

COMMENT ON TABLE "core"."partners" IS 'A tenant: a charge-point operator, installer or other business. Kept as long as its customers'' records.';

COMMENT ON TABLE "core"."payout_batches" IS 'What goes to the bank in one file, for all tenants. It is the service''s own; two logins prepare and approve it. Kept seven years.';

COMMENT ON TABLE "core"."payout_entries" IS 'What a part of a payment pays: one whole part of a sale, as of when the line was prepared. This fixes which line pays what, whatever the bank does with the lines, in any order. Append-only, kept seven years.';

COMMENT ON TABLE "core"."payout_lines" IS 'One payment: to a customer (account_id), or to a partner. Name and encrypted IBAN are as they were when it was prepared. Personal data; kept seven years.';

COMMENT ON TABLE "core"."payout_parts" IS 'What a line is made of: one balance of the ledger of ledger_partner_id, taken whole. For a customer, their own. For a partner, its share (of people in the house''s ledger), the VAT on it, and its customers'' balances. A balance below zero is taken off. Append-only, kept seven years.';

COMMENT ON TABLE "core"."revoked_access_tokens" IS 'Access tokens (jti) that were revoked before their hour was over; purged after it.';

COMMENT ON TABLE "core"."sale_reversals" IS 'A decision to take a sale back: what was not paid out, or with recover all of it. Append-only, kept seven years.';

COMMENT ON TABLE "core"."sales" IS 'A quantity of ERE of one booking, sold at a price in euro. reference is the buyer''s or our own number for it. Kept seven years.';

COMMENT ON TABLE "core"."virtual_chargers" IS 'What a virtual charger of the sandbox charges, and up to when that was collected, like a maker''s cloud. Empty in production.';

COMMENT ON VIEW "core"."deletions" IS 'What is deleted row by row when it is due. due is a condition on rows d of a table of core. :border in it is the day before which nothing need be kept. A kind is deleted step by step.';

commit;
