begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

COMMENT ON FUNCTION "private"."account_events"(core.accounts) IS NULL;

COMMENT ON FUNCTION "private"."account_page"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."account_story"(core.accounts) IS NULL;

COMMENT ON FUNCTION "private"."act_as"(jsonb, text[]) IS NULL;

COMMENT ON FUNCTION "private"."act_as_manager"() IS NULL;

COMMENT ON FUNCTION "private"."act_as_operator"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."act_for_partner"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."act_for_person"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."act_for_tenant"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."act_on_webhooks"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."add_own_charger"(uuid, uuid, jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."add_webhook"(uuid, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."admit_cpo"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."admit_page_session"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."admit_partner_key"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."admit_signatory"(core.page_sessions, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."admit_signed_in"(uuid, uuid, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."admit_user"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."advance_registration"(uuid, boolean) IS NULL;

COMMENT ON FUNCTION "private"."allocate_sale"(core.sales) IS NULL;

COMMENT ON FUNCTION "private"."any_webhook"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."app_row"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."as_border"(text) IS NULL;

COMMENT ON FUNCTION "private"."as_count"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."as_day"(text) IS NULL;

COMMENT ON FUNCTION "private"."as_decimal"(text, integer) IS NULL;

COMMENT ON FUNCTION "private"."as_moment"(text) IS NULL;

COMMENT ON FUNCTION "private"."as_uuid"(text) IS NULL;

COMMENT ON FUNCTION "private"."ask"(text, json) IS NULL;

COMMENT ON FUNCTION "private"."attribute_claimant"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."audit"(text, uuid, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."average_price"(uuid, integer) IS NULL;

COMMENT ON FUNCTION "private"."balance"(uuid, text, text, uuid) IS NULL;

COMMENT ON FUNCTION "private"."base64url"(bytea) IS NULL;

COMMENT ON FUNCTION "private"."booking_named"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."booking_row"(core.bookings) IS NULL;

COMMENT ON FUNCTION "private"."bookings_named"(text, uuid) IS NULL;

COMMENT ON FUNCTION "private"."brought_by_then"(uuid, date) IS NULL;

COMMENT ON FUNCTION "private"."can_sign"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."candidates_at"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."carry_forward"(uuid, bigint[], bigint) IS NULL;

COMMENT ON FUNCTION "private"."catalog_charger"(core.charger_models) IS NULL;

COMMENT ON FUNCTION "private"."catalog_search_key"(text) IS NULL;

COMMENT ON FUNCTION "private"."chain_rows"(uuid, text, integer) IS NULL;

COMMENT ON FUNCTION "private"."charger_brand"(text) IS NULL;

COMMENT ON FUNCTION "private"."charger_changed"() IS NULL;

COMMENT ON FUNCTION "private"."charger_choice"(text) IS NULL;

COMMENT ON FUNCTION "private"."charger_key"(text) IS NULL;

COMMENT ON FUNCTION "private"."charger_name"(core.chargers) IS NULL;

COMMENT ON FUNCTION "private"."charger_name_value"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."charging_session_flags"(private.charging_session_item, numeric) IS NULL;

COMMENT ON FUNCTION "private"."check_authorization"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."check_ean"(text, text, integer, text, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."choose_model"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."chosen_partner"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."claim_answers"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."claim_facts"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."claim_open_step"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."claim_outcome"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."claim_stage"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."claim_steps"() IS NULL;

COMMENT ON FUNCTION "private"."claim_token"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."claim_view"(core.drafts, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."client_id"() IS NULL;

COMMENT ON FUNCTION "private"."client_row"(core.oauth_clients) IS NULL;

COMMENT ON FUNCTION "private"."close_balances"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."closed_gates"(core.connections) IS NULL;

COMMENT ON FUNCTION "private"."collect_charging_sessions"(core.virtual_chargers[]) IS NULL;

COMMENT ON FUNCTION "private"."complete_charger"(core.drafts, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."complete_payout"(core.drafts, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."connection_facts"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."connection_row"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."connections_named"(text) IS NULL;

COMMENT ON FUNCTION "private"."correct_connection"(core.connections, jsonb, text) IS NULL;

COMMENT ON FUNCTION "private"."count_accounts"() IS NULL;

COMMENT ON FUNCTION "private"."count_dashboard"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."count_sign_in"(jsonb, text[], text) IS NULL;

COMMENT ON FUNCTION "private"."count_visit"(text) IS NULL;

COMMENT ON FUNCTION "private"."count_wrong_code"(text) IS NULL;

COMMENT ON FUNCTION "private"."counted_address"(text) IS NULL;

COMMENT ON FUNCTION "private"."counted_at_once"() IS NULL;

COMMENT ON FUNCTION "private"."counted_kind"(text) IS NULL;

COMMENT ON FUNCTION "private"."coverage_of"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."credit_booking"(core.bookings, private.credit_line[], numeric) IS NULL;

COMMENT ON FUNCTION "private"."credit_rows"(core.bookings, private.credit_line[]) IS NULL;

COMMENT ON FUNCTION "private"."csv_line"(text[]) IS NULL;

COMMENT ON FUNCTION "private"."cursor_at"(uuid, bigint) IS NULL;

COMMENT ON FUNCTION "private"."cursor_sequence"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."customer_data"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."customer_key"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."customer_locale"(core.accounts) IS NULL;

COMMENT ON FUNCTION "private"."customer_name"(core.accounts) IS NULL;

COMMENT ON FUNCTION "private"."customer_named"(text, uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."customer_ref"(uuid, bytea) IS NULL;

COMMENT ON FUNCTION "private"."customers_examined"() IS NULL;

COMMENT ON FUNCTION "private"."customers_in_need"(core.partners, boolean, text) IS NULL;

COMMENT ON FUNCTION "private"."delete_due"(text, date, integer) IS NULL;

COMMENT ON FUNCTION "private"."delete_login"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."deliver_charging_sessions"(uuid[], date[]) IS NULL;

COMMENT ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."disable_webhook"(core.webhook_endpoints, text) IS NULL;

COMMENT ON FUNCTION "private"."document_content"(core.documents) IS NULL;

COMMENT ON FUNCTION "private"."document_logo"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."draft_cap"() IS NULL;

COMMENT ON FUNCTION "private"."draft_for"(core.drafts, text) IS NULL;

COMMENT ON FUNCTION "private"."draft_mailing"(core.drafts, text) IS NULL;

COMMENT ON FUNCTION "private"."draft_status"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."drafts_by_status"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."drafts_examined"() IS NULL;

COMMENT ON FUNCTION "private"."drafts_in_need"() IS NULL;

COMMENT ON FUNCTION "private"."drafts_made"() IS NULL;

COMMENT ON FUNCTION "private"."drop_charger_names"(uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."drop_unused_location"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."due_accounts"(uuid[], uuid[], date) IS NULL;

COMMENT ON FUNCTION "private"."dutch_vat_number"(text) IS NULL;

COMMENT ON FUNCTION "private"."ean_booked"(text, date) IS NULL;

COMMENT ON FUNCTION "private"."ean_delivered"(text, date, uuid) IS NULL;

COMMENT ON FUNCTION "private"."earned_of"(uuid, text, uuid) IS NULL;

COMMENT ON FUNCTION "private"."email_hash"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."email_hashes"(text, text, uuid) IS NULL;

COMMENT ON FUNCTION "private"."emit"(text, uuid, uuid, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."emit_draft"(text, uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."emit_ended"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."emit_months"(uuid, text, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."emit_payouts"(text, core.payout_lines[]) IS NULL;

COMMENT ON FUNCTION "private"."emit_published"(uuid, integer) IS NULL;

COMMENT ON FUNCTION "private"."emit_sale"(uuid, text, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."enable_webhook"(core.webhook_endpoints) IS NULL;

COMMENT ON FUNCTION "private"."end_customer"(uuid, text, text) IS NULL;

COMMENT ON FUNCTION "private"."end_grant"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."end_mandate"(uuid, text, text) IS NULL;

COMMENT ON FUNCTION "private"."end_sign_ins"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."end_ways_in"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."ends_links"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."enqueue_mail"(jsonb, text, text, jsonb, boolean, uuid, boolean) IS NULL;

COMMENT ON FUNCTION "private"."enqueue_mails"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."enter_account"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."enter_draft"(uuid, boolean) IS NULL;

COMMENT ON FUNCTION "private"."enter_link"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."enter_signed_claim"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."enter_signed_mandate"(jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."erase_accounts"(uuid[], uuid[], uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."erase_bookings"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."erase_entries"(uuid, text[], uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."erase_payouts"(uuid, uuid[], uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."euro_posting"(text, numeric, text, uuid, text, uuid) IS NULL;

COMMENT ON FUNCTION "private"."event_data"(core.events, boolean, text) IS NULL;

COMMENT ON FUNCTION "private"."events_at_once"() IS NULL;

COMMENT ON FUNCTION "private"."events_kept_since"() IS NULL;

COMMENT ON FUNCTION "private"."export_csv"(core.bookings) IS NULL;

COMMENT ON FUNCTION "private"."fail_line"(core.payout_lines, text) IS NULL;

COMMENT ON FUNCTION "private"."fail_lines"(text[], text) IS NULL;

COMMENT ON FUNCTION "private"."find_account"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."find_chargers"(uuid, private.named_charger[]) IS NULL;

COMMENT ON FUNCTION "private"."find_connection"(uuid, uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."first_delivery_month"() IS NULL;

COMMENT ON FUNCTION "private"."forecast_kwh"(date) IS NULL;

COMMENT ON FUNCTION "private"."forget_claimed_drafts"(integer) IS NULL;

COMMENT ON FUNCTION "private"."forget_log"(text, date, integer) IS NULL;

COMMENT ON FUNCTION "private"."found_accounts"(text, integer) IS NULL;

COMMENT ON FUNCTION "private"."found_drafts"(text, integer) IS NULL;

COMMENT ON FUNCTION "private"."free_parked"(uuid, text[]) IS NULL;

COMMENT ON FUNCTION "private"."give_back"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."grounds_to_reject"(core.connections) IS NULL;

COMMENT ON FUNCTION "private"."has_unnumbered"(core.event_heads) IS NULL;

COMMENT ON FUNCTION "private"."held"(text, regclass) IS NULL;

COMMENT ON FUNCTION "private"."hold_books"() IS NULL;

COMMENT ON FUNCTION "private"."host"() IS NULL;

COMMENT ON FUNCTION "private"."house"() IS NULL;

COMMENT ON FUNCTION "private"."identify_charger"(core.chargers, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."import_drafts"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."import_state"(core.imports) IS NULL;

COMMENT ON FUNCTION "private"."ingest_charging_sessions"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."invitation_state"(core.manager_invitations) IS NULL;

COMMENT ON FUNCTION "private"."invite_manager"(text, jsonb, text) IS NULL;

COMMENT ON FUNCTION "private"."invoice_content"(core.documents) IS NULL;

COMMENT ON FUNCTION "private"."invoice_months"(core.invoices) IS NULL;

COMMENT ON FUNCTION "private"."invoice_number"(core.invoices) IS NULL;

COMMENT ON FUNCTION "private"."invoice_row"(core.invoices) IS NULL;

COMMENT ON FUNCTION "private"."is_host_name"(text) IS NULL;

COMMENT ON FUNCTION "private"."is_live"(core.oauth_grants) IS NULL;

COMMENT ON FUNCTION "private"."is_nobody_elses"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."is_online"(core.chargers) IS NULL;

COMMENT ON FUNCTION "private"."is_partner_itself"() IS NULL;

COMMENT ON FUNCTION "private"."is_proven"(core.drafts, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."is_race"(timestamp with time zone) IS NULL;

COMMENT ON FUNCTION "private"."is_renewed"(core.mandates) IS NULL;

COMMENT ON FUNCTION "private"."is_sandbox"() IS NULL;

COMMENT ON FUNCTION "private"."is_shown"(core.events, boolean) IS NULL;

COMMENT ON FUNCTION "private"."is_suppressed"(bytea) IS NULL;

COMMENT ON FUNCTION "private"."is_test_ean"(text) IS NULL;

COMMENT ON FUNCTION "private"."iso"(timestamp with time zone) IS NULL;

COMMENT ON FUNCTION "private"."isolate"(regclass, text) IS NULL;

COMMENT ON FUNCTION "private"."issue_invoices"(core.partners, date, text) IS NULL;

COMMENT ON FUNCTION "private"."issue_renewal_link"(uuid, text, timestamp with time zone, uuid) IS NULL;

COMMENT ON FUNCTION "private"."judge_charger"(jsonb, boolean) IS NULL;

COMMENT ON FUNCTION "private"."judge_charging_sessions"(private.charging_session_change[]) IS NULL;

COMMENT ON FUNCTION "private"."judge_claim_code"(core.drafts, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."judge_code"(core.one_time_codes, text) IS NULL;

COMMENT ON FUNCTION "private"."judge_due_parked"() IS NULL;

COMMENT ON FUNCTION "private"."judge_month"(core.connection_coverage, date) IS NULL;

COMMENT ON FUNCTION "private"."judge_months"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."judge_parked"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."judge_quarter"(uuid, date, uuid[], uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."kept_document"(core.documents, text) IS NULL;

COMMENT ON FUNCTION "private"."key_holder"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."keys_for"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."kick"() IS NULL;

COMMENT ON FUNCTION "private"."kick_for"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."known_charger"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."lapse_mandates"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."lasting_flags"(core.charging_sessions) IS NULL;

COMMENT ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."line_id_of"(text) IS NULL;

COMMENT ON FUNCTION "private"."lines_of"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."location_for"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."lock_booking"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."lock_bookings_of"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."lock_chargers"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."lock_connections"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."lock_for_delivery"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."lock_imports"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."lock_invitation"(jsonb, text) IS NULL;

COMMENT ON FUNCTION "private"."lock_payouts"(boolean) IS NULL;

COMMENT ON FUNCTION "private"."lock_payouts_of"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."log_owner"() IS NULL;

COMMENT ON FUNCTION "private"."login_create"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."login_disable"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."login_owns"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."login_proved"(auth.users, uuid) IS NULL;

COMMENT ON FUNCTION "private"."mail_rate"() IS NULL;

COMMENT ON FUNCTION "private"."mail_subject"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."mails_that_fit"(text, text[], text, uuid, boolean) IS NULL;

COMMENT ON FUNCTION "private"."make_batch"(private.payee[], numeric, text, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."make_year_partition"(regclass, integer) IS NULL;

COMMENT ON FUNCTION "private"."manager_id"() IS NULL;

COMMENT ON FUNCTION "private"."mandate_document"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."mandate_link_view"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."mandate_periods"(uuid, integer) IS NULL;

COMMENT ON FUNCTION "private"."may_act_for_people"(core.oauth_clients) IS NULL;

COMMENT ON FUNCTION "private"."may_be_told"(core.webhook_endpoints) IS NULL;

COMMENT ON FUNCTION "private"."may_sign_again"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."may_yield"(uuid, uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."month_json"(core.delivered_months) IS NULL;

COMMENT ON FUNCTION "private"."month_status"(uuid, date) IS NULL;

COMMENT ON FUNCTION "private"."months_by_status"() IS NULL;

COMMENT ON FUNCTION "private"."months_of"(date) IS NULL;

COMMENT ON FUNCTION "private"."months_wait"(core.connections) IS NULL;

COMMENT ON FUNCTION "private"."name_charger"(core.chargers, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."names_told"(private.named_charger) IS NULL;

COMMENT ON FUNCTION "private"."needs_attention"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."newest_drafts"(uuid, text, integer) IS NULL;

COMMENT ON FUNCTION "private"."newest_mails"(jsonb, integer) IS NULL;

COMMENT ON FUNCTION "private"."newest_tokens"(uuid, integer) IS NULL;

COMMENT ON FUNCTION "private"."note_eligibility"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."note_iban_change"() IS NULL;

COMMENT ON FUNCTION "private"."notice_details"(core.notices) IS NULL;

COMMENT ON FUNCTION "private"."notice_post"(core.notices) IS NULL;

COMMENT ON FUNCTION "private"."notify"(uuid, text, text, jsonb, uuid) IS NULL;

COMMENT ON FUNCTION "private"."notify_payments"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."now"() IS NULL;

COMMENT ON FUNCTION "private"."offer"(uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."oldest_event"(core.event_heads) IS NULL;

COMMENT ON FUNCTION "private"."only_in_sandbox"() IS NULL;

COMMENT ON FUNCTION "private"."open_account"(core.drafts, jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."open_booking"(uuid, date, uuid) IS NULL;

COMMENT ON FUNCTION "private"."operator_login"() IS NULL;

COMMENT ON FUNCTION "private"."operator_name"(text) IS NULL;

COMMENT ON FUNCTION "private"."operator_reason"(text) IS NULL;

COMMENT ON FUNCTION "private"."overview_document"(core.accounts, integer) IS NULL;

COMMENT ON FUNCTION "private"."own_account_rows"() IS NULL;

COMMENT ON FUNCTION "private"."own_chargers"() IS NULL;

COMMENT ON FUNCTION "private"."own_code_fits"(text, text, text) IS NULL;

COMMENT ON FUNCTION "private"."own_end"() IS NULL;

COMMENT ON FUNCTION "private"."own_ere_position"(integer) IS NULL;

COMMENT ON FUNCTION "private"."own_flags"(text[]) IS NULL;

COMMENT ON FUNCTION "private"."own_idle_chargers"(integer) IS NULL;

COMMENT ON FUNCTION "private"."own_months"(date, date) IS NULL;

COMMENT ON FUNCTION "private"."own_partner"() IS NULL;

COMMENT ON FUNCTION "private"."own_partners_draft"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."own_tokens"() IS NULL;

COMMENT ON FUNCTION "private"."own_webhook"(text) IS NULL;

COMMENT ON FUNCTION "private"."own_years"() IS NULL;

COMMENT ON FUNCTION "private"."owner_id"() IS NULL;

COMMENT ON FUNCTION "private"."page_answer"(text, json, uuid[], jsonb) IS NULL;

COMMENT ON FUNCTION "private"."paid_out_allocations"(core.sales) IS NULL;

COMMENT ON FUNCTION "private"."park_charging"(uuid, core.parked_charging[]) IS NULL;

COMMENT ON FUNCTION "private"."partition_by_year"(regclass) IS NULL;

COMMENT ON FUNCTION "private"."partner_brand"(core.partners) IS NULL;

COMMENT ON FUNCTION "private"."partner_full_name"(core.partners) IS NULL;

COMMENT ON FUNCTION "private"."partner_id"() IS NULL;

COMMENT ON FUNCTION "private"."partner_invoices"() IS NULL;

COMMENT ON FUNCTION "private"."partner_may_yield"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."partner_settings"(core.partners) IS NULL;

COMMENT ON FUNCTION "private"."partner_story"(core.partners) IS NULL;

COMMENT ON FUNCTION "private"."pay_accounts"(uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."pay_lines"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."payable_balances"(uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."payees"(numeric, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."payment_reference"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."payments"(uuid, text, uuid) IS NULL;

COMMENT ON FUNCTION "private"."payout_batch_row"(core.payout_batches) IS NULL;

COMMENT ON FUNCTION "private"."payout_id"(uuid, date) IS NULL;

COMMENT ON FUNCTION "private"."payout_line_row"(core.payout_lines) IS NULL;

COMMENT ON FUNCTION "private"."phone_end"(text) IS NULL;

COMMENT ON FUNCTION "private"."pick_connection"(uuid, uuid, boolean) IS NULL;

COMMENT ON FUNCTION "private"."ping_webhook"(core.webhook_endpoints) IS NULL;

COMMENT ON FUNCTION "private"."pinged"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."place_in_log"(uuid, text, text) IS NULL;

COMMENT ON FUNCTION "private"."points_in_table"(text, integer, text) IS NULL;

COMMENT ON FUNCTION "private"."portal_draft"(core.drafts) IS NULL;

COMMENT ON FUNCTION "private"."portal_who"() IS NULL;

COMMENT ON FUNCTION "private"."position_ere"(uuid, uuid, integer[]) IS NULL;

COMMENT ON FUNCTION "private"."post"(uuid, private.posting[]) IS NULL;

COMMENT ON FUNCTION "private"."posts_of"(core.webhook_endpoints, core.event_heads, text, integer) IS NULL;

COMMENT ON FUNCTION "private"."preview_quarter"(date, uuid) IS NULL;

COMMENT ON FUNCTION "private"."price_figures"(uuid, integer) IS NULL;

COMMENT ON FUNCTION "private"."probe_delay"(integer) IS NULL;

COMMENT ON FUNCTION "private"."prove_draft"(core.drafts, boolean, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."publish_figures"(uuid, integer) IS NULL;

COMMENT ON FUNCTION "private"."quarter_name"(date) IS NULL;

COMMENT ON FUNCTION "private"."quarter_state"(core.partners, date, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."rate_json"(text, integer, integer, bigint, boolean) IS NULL;

COMMENT ON FUNCTION "private"."reach"() IS NULL;

COMMENT ON FUNCTION "private"."read_charging_sessions"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."read_credit_lines"(core.bookings, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."read_minimum"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."read_quarter"(text) IS NULL;

COMMENT ON FUNCTION "private"."read_redirect_uris"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."read_return_url"(text) IS NULL;

COMMENT ON FUNCTION "private"."read_sale"(core.bookings, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."read_scopes"(jsonb, text) IS NULL;

COMMENT ON FUNCTION "private"."record_draft_lookup"(uuid, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."record_sale"(core.bookings, core.sales) IS NULL;

COMMENT ON FUNCTION "private"."record_signature"(uuid, uuid, jsonb, jsonb, uuid) IS NULL;

COMMENT ON FUNCTION "private"."redeem_sign_in_code"(jsonb, text) IS NULL;

COMMENT ON FUNCTION "private"."refusal"(text, json) IS NULL;

COMMENT ON FUNCTION "private"."refuse"(text, json) IS NULL;

COMMENT ON FUNCTION "private"."release_charging_sessions"(uuid[], date[]) IS NULL;

COMMENT ON FUNCTION "private"."renewal_facts"(uuid, core.partners) IS NULL;

COMMENT ON FUNCTION "private"."repeat_account"(uuid, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."replay_webhook"(core.webhook_endpoints, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."request_statements"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."require_agreement"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."require_charger_room"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."require_customer"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."require_host"(text) IS NULL;

COMMENT ON FUNCTION "private"."require_recent_sign_in"() IS NULL;

COMMENT ON FUNCTION "private"."resolve_charger"(text, text, text) IS NULL;

COMMENT ON FUNCTION "private"."retention_border"() IS NULL;

COMMENT ON FUNCTION "private"."retention_kinds"() IS NULL;

COMMENT ON FUNCTION "private"."retention_step"(text, integer) IS NULL;

COMMENT ON FUNCTION "private"."return_lines"(core.payout_lines[]) IS NULL;

COMMENT ON FUNCTION "private"."return_root"(text) IS NULL;

COMMENT ON FUNCTION "private"."return_url_allowed"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."reverse_credit"(core.booking_rows, text) IS NULL;

COMMENT ON FUNCTION "private"."reverse_postings"(uuid, text[]) IS NULL;

COMMENT ON FUNCTION "private"."reverse_sale"(core.sales, text, boolean) IS NULL;

COMMENT ON FUNCTION "private"."review_registration"(core.connections, text) IS NULL;

COMMENT ON FUNCTION "private"."revoke_webhook"(core.webhook_endpoints) IS NULL;

COMMENT ON FUNCTION "private"."rotate_webhook"(core.webhook_endpoints, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."sale_named"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."sale_row"(core.sales) IS NULL;

COMMENT ON FUNCTION "private"."save_step"(core.drafts, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."scopes_of"(text) IS NULL;

COMMENT ON FUNCTION "private"."seal_chains"() IS NULL;

COMMENT ON FUNCTION "private"."seal_hash"(date, jsonb, bytea) IS NULL;

COMMENT ON FUNCTION "private"."search_query"(text) IS NULL;

COMMENT ON FUNCTION "private"."search_words"(text[]) IS NULL;

COMMENT ON FUNCTION "private"."seconds_since"(timestamp with time zone) IS NULL;

COMMENT ON FUNCTION "private"."secure_login"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."see_chargers"(private.charging_session_item[]) IS NULL;

COMMENT ON FUNCTION "private"."sellable_ere"(core.bookings) IS NULL;

COMMENT ON FUNCTION "private"."sepa_name"(text) IS NULL;

COMMENT ON FUNCTION "private"."sequence_all"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."session_began"() IS NULL;

COMMENT ON FUNCTION "private"."settle_accounts"(uuid, uuid[], date, numeric) IS NULL;

COMMENT ON FUNCTION "private"."settle_attempt"(core.webhook_endpoints, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."settle_difference"(core.bookings) IS NULL;

COMMENT ON FUNCTION "private"."settle_rows"(jsonb, uuid, text, bigint, boolean) IS NULL;

COMMENT ON FUNCTION "private"."settled_at_once"() IS NULL;

COMMENT ON FUNCTION "private"."settled_quarter"(uuid, uuid[], date) IS NULL;

COMMENT ON FUNCTION "private"."settlement_document"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."share_entries"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."shown_mandate"(core.mandates) IS NULL;

COMMENT ON FUNCTION "private"."shown_webhook"(text) IS NULL;

COMMENT ON FUNCTION "private"."sign_again"(core.drafts, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."signatory"() IS NULL;

COMMENT ON FUNCTION "private"."signed_accounts"(text) IS NULL;

COMMENT ON FUNCTION "private"."signed_facts"(jsonb, jsonb, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."signed_in_at"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."signed_in_recently"() IS NULL;

COMMENT ON FUNCTION "private"."signed_mandate"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."signed_until"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."sold_by_year"() IS NULL;

COMMENT ON FUNCTION "private"."spent_bookings"() IS NULL;

COMMENT ON FUNCTION "private"."split_sale"(core.sales) IS NULL;

COMMENT ON FUNCTION "private"."start_of"(core.event_heads, text, text) IS NULL;

COMMENT ON FUNCTION "private"."statement_content"(core.documents) IS NULL;

COMMENT ON FUNCTION "private"."statement_document"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."statements_of"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."step"(integer, integer) IS NULL;

COMMENT ON FUNCTION "private"."still_missing"(core.accounts) IS NULL;

COMMENT ON FUNCTION "private"."still_opens"(core.mail_outbox) IS NULL;

COMMENT ON FUNCTION "private"."store_charging_sessions"(private.charging_session_item[]) IS NULL;

COMMENT ON FUNCTION "private"."store_iban"(uuid, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."store_partner_key"(jsonb, boolean) IS NULL;

COMMENT ON FUNCTION "private"."submit_booking"(uuid, uuid, uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."submitted_booking_named"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."sum_booking"(uuid, uuid) IS NULL;

COMMENT ON FUNCTION "private"."sweep_log"(core.event_heads, bigint) IS NULL;

COMMENT ON FUNCTION "private"."sync_virtual_chargers"() IS NULL;

COMMENT ON FUNCTION "private"."tell_managers"(text, text, text, text[], text[]) IS NULL;

COMMENT ON FUNCTION "private"."tell_of_iban"(core.accounts, text) IS NULL;

COMMENT ON FUNCTION "private"."tell_payouts"(uuid[]) IS NULL;

COMMENT ON FUNCTION "private"."tell_secured"(uuid, text, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."today"() IS NULL;

COMMENT ON FUNCTION "private"."token_row"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."told_of_customer"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."total_charging_sessions"(private.touched_month[]) IS NULL;

COMMENT ON FUNCTION "private"."unchained"(text) IS NULL;

COMMENT ON FUNCTION "private"."unconfirmed_connections"(boolean, integer) IS NULL;

COMMENT ON FUNCTION "private"."unconfirmed_drafts"(boolean, integer) IS NULL;

COMMENT ON FUNCTION "private"."unlock_months"(uuid, uuid[], date[]) IS NULL;

COMMENT ON FUNCTION "private"."unsubscribe_token"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."update_webhook"(core.webhook_endpoints, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."use_claim_code"(core.drafts, jsonb) IS NULL;

COMMENT ON FUNCTION "private"."user_id"() IS NULL;

COMMENT ON FUNCTION "private"."user_scopes"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."vendor_key"(text) IS NULL;

COMMENT ON FUNCTION "private"."verify_links"(core.audit_chains, bigint, integer, bytea) IS NULL;

COMMENT ON FUNCTION "private"."verify_rest"(core.audit_chains) IS NULL;

COMMENT ON FUNCTION "private"."virtual_charging_sessions"(core.virtual_chargers, timestamp with time zone) IS NULL;

COMMENT ON FUNCTION "private"."virtual_model"(jsonb) IS NULL;

COMMENT ON FUNCTION "private"."waiting"(text, text) IS NULL;

COMMENT ON FUNCTION "private"."warn_of_webhook"(core.webhook_endpoints, text, text) IS NULL;

COMMENT ON FUNCTION "private"."webhook_delay"(integer) IS NULL;

COMMENT ON FUNCTION "private"."webhook_is_due"(core.webhook_endpoints) IS NULL;

COMMENT ON FUNCTION "private"."webhook_named"(text) IS NULL;

COMMENT ON FUNCTION "private"."webhook_row"(core.webhook_endpoints) IS NULL;

COMMENT ON FUNCTION "private"."what_may_be_signed"(jsonb, uuid, core.partners) IS NULL;

COMMENT ON FUNCTION "private"."why_no_invoice"(core.partners) IS NULL;

COMMENT ON FUNCTION "private"."withdraw_booking"(uuid, uuid, text) IS NULL;

COMMENT ON FUNCTION "private"."withdraw_charging_sessions"(uuid[], jsonb, bytea) IS NULL;

COMMENT ON FUNCTION "private"."withdraw_statement"(core.payout_lines) IS NULL;

COMMENT ON FUNCTION "private"."withdrawal_means"(uuid) IS NULL;

COMMENT ON FUNCTION "private"."words_of"(text) IS NULL;

COMMENT ON FUNCTION "private"."working_day"(date, integer) IS NULL;

COMMENT ON FUNCTION "private"."write_credits"(uuid, private.credit_line[]) IS NULL;

COMMENT ON FUNCTION "private"."write_invoice"(core.partners, core.invoices) IS NULL;

COMMENT ON FUNCTION "private"."year_is_booked"(integer) IS NULL;

COMMENT ON FUNCTION "private"."yearly_overview"(core.accounts, integer) IS NULL;

DROP FUNCTION "ops"."app_list"(jsonb);

DROP FUNCTION "ops"."audit_chains"(jsonb);

DROP FUNCTION "ops"."client_list"(jsonb);

DROP FUNCTION "ops"."webhook_list"(jsonb);

DROP FUNCTION "ops"."webhook_ping"(jsonb);

DROP FUNCTION "ops"."webhook_replay"(jsonb);

DROP FUNCTION "private"."account_meant"(text);

DROP FUNCTION "private"."account_named"(text);

DROP FUNCTION "private"."active_connection_named"(text);

DROP FUNCTION "private"."admit_sign_in_session"(jsonb, jsonb);

DROP FUNCTION "private"."app_named"(text);

DROP FUNCTION "private"."business_named"(text);

DROP FUNCTION "private"."check_books"(uuid);

DROP FUNCTION "private"."check_ere"(uuid);

DROP FUNCTION "private"."check_invoices"(uuid);

DROP FUNCTION "private"."check_kwh"(uuid);

DROP FUNCTION "private"."check_ledger"(uuid);

DROP FUNCTION "private"."check_money"(uuid);

DROP FUNCTION "private"."check_owed"(uuid);

DROP FUNCTION "private"."check_partner_sums"(uuid);

DROP FUNCTION "private"."check_payouts"(uuid);

DROP FUNCTION "private"."check_sums"(uuid);

DROP FUNCTION "private"."check_units"(uuid);

DROP FUNCTION "private"."client_named"(text);

DROP FUNCTION "private"."connection_named"(text);

DROP FUNCTION "private"."customer_standing"(uuid);

DROP FUNCTION "private"."evidence_audit"(core.bookings, uuid, integer);

DROP FUNCTION "private"."evidence_connections"(core.bookings, uuid, integer);

DROP FUNCTION "private"."evidence_deliveries"(core.bookings, uuid, integer);

DROP FUNCTION "private"."evidence_mandates"(core.bookings, uuid, integer);

DROP FUNCTION "private"."evidence_pdfs"(core.bookings, uuid, integer);

DROP FUNCTION "private"."evidence_rows"(core.bookings, uuid, integer);

DROP FUNCTION "private"."expose"(regprocedure, name);

DROP FUNCTION "private"."expose_ops"(regprocedure);

DROP FUNCTION "private"."fault_row"(private.audit_fault);

DROP FUNCTION "private"."has_signed_mandate"(core.connections);

DROP FUNCTION "private"."job_age"(text);

DROP FUNCTION "private"."keep_to_owner"(regclass, name);

DROP FUNCTION "private"."kept_import"(uuid);

DROP FUNCTION "private"."mandated_connection"(uuid);

DROP FUNCTION "private"."partner_named"(text);

DROP FUNCTION "private"."payout_batch_named"(text);

DROP FUNCTION "private"."request_invoice_document"(core.invoices);

DROP FUNCTION "private"."schema_version"();

DROP FUNCTION "private"."signable_connection"(uuid);

DROP FUNCTION "private"."standing"(text, text);

DROP FUNCTION "private"."turn_away"(text, json);

DROP FUNCTION "private"."wants_no_mail"(core.mail_outbox);

CREATE TYPE "private"."check_result" AS (
  "what"     text,
  "expected" numeric,
  "found"    numeric,
  "wrong"    bigint,
  "example"  text
);

CREATE OR REPLACE FUNCTION api.change_signed_iban (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account core.accounts;
  used    record;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  perform private.refuse_if('account_not_found', account.payout_handler <> 'service_pays_customer' or account.partner_id <> (request ->> 'partner_id')::uuid);
  select * into used from private.redeem_sign_in_code(request, 'account');
  if used.refused is not null then
    return private.refusal(used.refused);  -- a wrong code was counted
  elsif used.email is distinct from private.signatory() then
    perform private.refuse('account_not_found');
  elsif used.again then
    -- a second click: the number is there; another one takes a code of its own
    return case when account.iban_last4 is distinct from request #>> '{iban,last4}' then private.refusal('code_expired')
                else json_build_object('ok', true) end;
  end if;
  perform private.store_iban(account.id, request -> 'iban');
  perform private.notify(account.id, 'payout_iban_changed', 'payout_iban_changed:' || account.id || ':' || gen_random_uuid(),
                         jsonb_build_object('iban_last4', request #>> '{iban,last4}', 'by', 'signatory',
                                            'held_until', private.iso(private.now() + interval '48 hours')));
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.charge()
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  admitted constant jsonb := current_setting('app.admission');
  rate     jsonb;
  ignored  text;
begin
  -- a request that wrote nothing until here commits without waiting for the disk: a crash loses its debit
  if pg_current_xact_id_if_assigned() is null then
    ignored := set_config('synchronous_commit', 'off', true);
  end if;
  if coalesce(admitted ->> 'key_hash', admitted ->> 'token_hash') is not null then
    perform private.note_use(decode(admitted ->> 'key_hash', 'hex'), decode(admitted ->> 'token_hash', 'hex'));
  end if;
  -- the last lock of all: who holds a limit's row waits for nothing more, so that nobody waits for each other
  rate := private.take(admitted ->> 'subject', admitted ->> 'bucket', (admitted ->> 'quota')::int, (admitted ->> 'window_seconds')::int);
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse_admission('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object('caller', admitted -> 'caller', 'rate', rate);
end $function$;

CREATE OR REPLACE FUNCTION api.close_own_account (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person     uuid;
  ending     json;
  connection uuid;
  brand      jsonb;
begin
  perform private.act_as(caller, 'session');
  person := private.user_id();
  perform private.require_recent_sign_in();
  ending := private.own_end();
  if (ending ->> 'balance_eur')::numeric > 0 and (ending ->> 'iban_missing')::boolean then
    return json_build_object('closed', false);
  end if;
  perform from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
   where a.user_id = person and c.status = 'active' order by c.id for update of c;
  for connection in
    select c.connection_id from core.connection_mandates c
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
     where a.user_id = person and c.status = 'active' and c.mandate_status = 'signed' order by c.connection_id
  loop
    perform private.end_mandate(connection, 'revoked', 'customer');
  end loop;
  update core.chargers h set status = 'removed', removed_at = private.now() where h.partner_id = private.partner_id() and h.user_id = person and h.status = 'active';
  brand := private.own_brand();
  perform private.stop_sharing(person, (brand ->> 'partner_id')::uuid) where brand is not null;
  perform private.audit('user.account_closed', person);
  perform private.leave_partner(person, coalesce(input ->> 'operator', input #>> '{mails,operator}'));
  perform private.say_farewell(person, ending, input);
  perform private.close_login(person);
  return json_build_object('closed', true, 'end', ending);
end $function$;

CREATE OR REPLACE FUNCTION api.complete_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft   core.drafts;
  refused json;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  perform private.refuse_if('claim_not_open', draft.status is distinct from 'active');
  perform private.enter_account(draft);
  case request ->> 'step'
    when 'payout' then refused := private.complete_payout(draft, request);
    when 'charger' then perform private.complete_charger(draft, request -> 'answers');
    else perform private.refuse('claim_not_open');
  end case;
  return coalesce(refused, json_build_object('ok', true));
end $function$;

CREATE OR REPLACE FUNCTION api.decline_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.mandate_links;
begin
  link := private.lock_link(private.enter_link(caller, request));
  perform private.refuse_if('link_not_open', private.link_state(link) <> 'open');
  insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, renewal, address, user_agent)
  values (link.partner_id, link.connection_id, link.owner_id, link.id, 'declined', private.signed_until(link.connection_id) is not null, left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now() where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  -- whoever declines the years after those that are signed for changes nothing
  perform private.emit('mandate.declined', c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', 'declined'))
     from core.connections c
    where c.partner_id = link.partner_id and c.id = link.connection_id and private.signed_until(c.id) is null;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.find_rehearsal (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  named   constant text := input ->> 'id';
  lease   constant uuid := (input ->> 'lease')::uuid;
  held    boolean := false;
  leased  core.drafts;
  draft   core.drafts;
  answers jsonb;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- of several drafts with one reference the newest that can be claimed
  select d.* into draft from core.drafts d
   where d.partner_id = private.partner_id() and (d.id = private.as_uuid(named) or d.external_ref = named)
   order by d.id = private.as_uuid(named) desc nulls last, private.draft_status(d) in ('invited', 'claimed') desc, d.created_at desc, d.id limit 1
     -- a reset that deletes the draft ends first: what is read below would miss the login and call the draft unclaimable
     for key share;
  if draft.id is null then
    perform private.refuse('draft_not_found');
  elsif jsonb_typeof(input -> 'profile') = 'object' then
    perform private.virtual_model(input -> 'profile');
  end if;
  if lease is not null then
    -- what the rehearsal before wrote is in the row that is answered
    update core.drafts d
       set rehearsal_id = case when (input -> 'leave')::boolean then null else lease end,
           rehearsal_until = case when (input -> 'leave')::boolean then null else private.now() + interval '20 seconds' end
     where d.partner_id = draft.partner_id and d.id = draft.id
       and (d.rehearsal_id is null or d.rehearsal_id = lease or d.rehearsal_until <= private.now())
     returning d.* into leased;
    held := found;
    if held then draft := leased; end if;
  end if;
  answers := private.claim_answers(draft);
  return (jsonb_build_object(
    'draft_id', draft.id,
    'held', held,
    'external_ref', draft.external_ref,
    'email', draft.email,
    'type', draft.type,
    'locale', coalesce(draft.locale, (private.own_partner()).locale, 'nl'),
    'draft_status', private.draft_status(draft),
    'stage', private.claim_stage(draft),
    'foreign_login', private.foreign_login(draft.email, draft.partner_id),
    'banned_login', not private.claimant_stands(draft),
    'account_id', draft.account_id,
    'customer_ref', private.customer_ref(draft.user_id, private.customer_key(draft.partner_id, input ->> 'key')),
    'brand', private.partner_brand(private.own_partner()),
    'answers', answers,
    'candidates', case when draft.postal_code is null
                         or (answers ->> 'postal_code', answers ->> 'house_number', answers ->> 'house_number_addition')
                            is not distinct from (draft.postal_code, draft.house_number::text, draft.house_number_addition)
                       then draft.ean_candidates
                       else coalesce(draft.progress -> 'candidates', '[]') end,  -- of the address the customer gave instead
    'confirmed', coalesce(draft.progress -> 'confirmed', '[]'))
    || coalesce(private.customer_state(draft.account_id), '{}'))::json;
end $function$;

CREATE OR REPLACE FUNCTION api.get_event (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  disclosing boolean;
  owner      uuid;
  event      core.events;
begin
  perform private.act_as(caller, 'cpo', 'partner');
  disclosing := private.is_partner_itself();
  owner := private.log_owner();
  perform private.sequence_events(private.partner_id(), owner);
  select * into event from core.events e
   where e.partner_id = private.partner_id() and e.owner_id = owner and e.id = (query ->> 'event_id')::uuid
     -- nobody was told the id of one that has no number yet
     and e.sequence is not null and e.created_at > private.events_kept_since() and private.is_shown(e, disclosing);
  perform private.refuse_if('event_not_found', not found);
  return private.event_answer(event, disclosing, query ->> 'key');
end $function$;

CREATE OR REPLACE FUNCTION api.issue_auth_link (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft      core.drafts;
  status     text;
  customer   record;
  registered text;
  target     text;
  link       uuid;
  wanted     boolean;
  email_sent boolean := false;
begin
  perform private.act_as(caller, 'partner');
  -- of several drafts the newest that can be claimed; parallel calls for one draft queue here, so that one link is left
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id()
     and (input ->> 'draft_id' is null or d.id = (input ->> 'draft_id')::uuid)
     and (input ->> 'email' is null or d.email = input ->> 'email')
   order by private.draft_status(d) in ('invited', 'claimed') desc, d.created_at desc, d.id limit 1
     for no key update;
  perform private.refuse_if('draft_not_found', draft.id is null);
  select p.return_url into registered from core.partners p where p.id = draft.partner_id;
  target := coalesce(input ->> 'return_url', registered);
  perform private.refuse_if('return_url_not_allowed', input ->> 'return_url' is not null and not private.return_url_allowed(target, registered));
  status := private.draft_status(draft);
  select * into customer from private.draft_login(draft);
  if status in ('expired', 'conflict') or status = 'active' and not customer.empty then
    perform private.refuse('draft_not_claimable', json_build_object(
      'status', status, 'reason', case status when 'active' then 'already_active' else status end));
  end if;
  update core.draft_links l set expires_at = private.now()
   where l.partner_id = draft.partner_id and l.draft_id = draft.id and l.used_at is null and l.expires_at > private.now();
  insert into core.draft_links (partner_id, draft_id, token_hash, return_url, expires_at)
  values (draft.partner_id, draft.id, private.claim_token_hash(input ->> 'token_hash'), target, private.now() + interval '300 seconds')
  returning id into link;
  -- the functions of 0.9.0 say mails
  wanted := coalesce((input ->> 'send_email')::boolean, input -> 'mails' <> 'null') and not private.opted_out(draft.email, input #>> '{links,key}');
  if wanted then
    email_sent := 0 = private.enqueue_mails(jsonb_build_object('template', 'sign_in', 'locale', coalesce(draft.locale, (private.own_partner()).locale, 'nl'),
                                                                 'content', jsonb_build_object('link', input -> 'auth_url'), 'key', input #> '{links,key}'), (
      select jsonb_build_array(jsonb_build_object('recipient', draft.email, 'cause', 'claim_sign_in:' || draft.id || ':' || link,
               'content', private.letter_content(draft, private.partner_brand(p), input -> 'links')))
        from core.partners p where p.id = draft.partner_id));
  end if;
  perform private.audit('draft.auth_link_issued', draft.id);
  return json_build_object('ok', true, 'auth_url', input ->> 'auth_url', 'expires_in', 300,
                           'resume', customer.user_id is not null, 'return_url', target, 'email_sent', email_sent, 'mail_limit', wanted and not email_sent);
end $function$;

CREATE OR REPLACE FUNCTION api.issue_authorization_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  checked record;
begin
  perform private.act_as(caller, 'session');
  select * into checked from private.check_authorization(request);
  perform private.refuse_if(checked.refusal, checked.refusal is not null);
  perform private.consent(private.user_id(), checked.client, checked.scopes, request);
  return json_build_object('scope', array_to_string(checked.scopes, ' '));
end $function$;

CREATE OR REPLACE FUNCTION api.issue_mandate_link (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account    uuid;
  connection uuid;
  registered text;
  partner    core.partners;
  signatory  core.signatories;
  link       core.mandate_links;
  status     text;
  send_email constant boolean := (input ->> 'send_email')::boolean;
  email_sent boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  select c.return_url into registered from core.oauth_clients c where c.id = private.client_id();
  select * into partner from core.partners p where p.id = private.partner_id();
  perform private.refuse_if('return_url_not_allowed', input ->> 'return_url' is not null and not private.return_url_allowed(input ->> 'return_url', registered));
  account := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, false);
  -- one link, signature or correction at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for update;
  select m.mandate_status into status
    from core.connection_mandates m where m.partner_id = private.partner_id() and m.connection_id = connection;
  perform private.refuse_if('mandate_already_signed', not private.can_sign(connection));
  select * into signatory from core.signatories s where s.partner_id = private.partner_id() and s.account_id = account;
  perform private.refuse_if('signatory_email_missing', send_email and signatory.email is null);

  perform private.void_mandate_links(connection);
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, return_url, expires_at)
  values (private.partner_id(), connection, private.claim_token_hash(input ->> 'token_hash'), input ->> 'locale', coalesce((input ->> 'validity_years')::int, partner.mandate_years),
          coalesce(input ->> 'return_url', registered), private.now() + interval '1209600 seconds')
  returning * into link;
  if send_email then
    email_sent := private.enqueue_mail(
      jsonb_build_object('template', 'mandate_link', 'locale', coalesce(input ->> 'locale', partner.locale, 'nl'), 'key', coalesce(input -> 'key', input #> '{mails,nl,key}')),
      signatory.email, 'mandate_link:' || link.id,
      jsonb_build_object('full_name', signatory.full_name, 'partner_name', partner.name, 'logo', private.partner_brand(partner) -> 'logo',
                         'link', input -> 'mandate_link'), connection => connection);
  end if;
  perform private.audit('mandate_link.issued', connection);
  return json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'mandate_link', input ->> 'mandate_link',
    'expires_at', private.iso(link.expires_at),
    'expires_in', 1209600,
    'mandate_status', status,
    'email_sent', email_sent,
    'mail_limit', send_email and not email_sent);
end $function$;

CREATE OR REPLACE FUNCTION api.list_webhooks (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner', 'cpo');
  return json_build_object('webhooks', private.own_webhooks());
end $function$;

CREATE OR REPLACE FUNCTION api.mint_partner_key (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  minted json;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  minted := private.store_partner_key(input, (input ->> 'rotate')::boolean);
  perform private.refuse_if('api_key_exists', minted is null);
  return minted;
end $function$;

CREATE OR REPLACE FUNCTION api.open_own_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft uuid;
begin
  perform private.act_as(caller, 'session');
  select private.own_draft(a.id) into draft from core.accounts a
   where a.user_id = private.user_id() and a.id = (request ->> 'account_id')::uuid;
  perform private.refuse_if('account_not_found', draft is null);
  perform private.audit('claim.entered', draft);
  return json_build_object('draft_id', draft);
end $function$;

CREATE OR REPLACE FUNCTION api.read_connection_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection uuid;
begin
  perform private.act_as(caller, 'cpo');
  select c.id into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (request ->> 'connection_id')::uuid;
  perform private.refuse_if('connection_not_found', connection is null);
  return private.mandate_document(private.signed_mandate(connection));
end $function$;

CREATE OR REPLACE FUNCTION api.read_invoice (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  document core.documents;
begin
  perform private.act_as(caller, 'partner');
  select d.* into document
    from core.documents d
    join core.invoices i on i.partner_id = d.partner_id and i.id = d.invoice_id
   where d.partner_id = private.partner_id() and d.invoice_id is not null and private.invoice_number(i) = request ->> 'number';
  perform private.refuse_if('invoice_not_found', document.id is null);
  return private.kept_document(document, 'invoice-' || (request ->> 'number'));
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_customer (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner  core.partners;
  person   uuid;
  customer jsonb;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  person := private.customer_named(query ->> 'customer_ref', partner.id, query ->> 'key');
  customer := private.customer_page(partner, private.is_partner_itself(), jsonb_build_object('ids', array[person], 'key', query -> 'key'))::jsonb -> 0;
  perform private.refuse_if('customer_not_found', customer is null);
  return json_build_object(
    'who', private.portal_who(),
    'customer', customer,
    -- a draft names the person, so it is shown with one who is disclosed
    'draft', case when customer ? 'email' then (
      select json_build_object('draft_id', d.id, 'status', d.status, 'created_at', private.iso(d.created_at),
                               'invited_at', private.iso(d.invited_at), 'claimed_at', private.iso(d.claimed_at))
        from core.drafts d where d.partner_id = partner.id and d.user_id = person order by d.created_at desc, d.id limit 1) end);
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_import (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  kept core.imports;
begin
  perform private.act_as(caller, 'partner');
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (request ->> 'id')::uuid and i.expires_at > private.now();
  return json_build_object(
    'who', private.portal_who(),
    'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(),
                             'remaining', greatest(private.draft_cap() - private.drafts_made(), 0)),
    'import', case when kept.id is not null then json_build_object(
      'sealed', json_build_object('ciphertext', kept.ciphertext, 'key_id', kept.key_id),
      'state', private.import_state(kept),
      'outcomes', (
        select coalesce(json_agg(json_build_object(
            'row', o.row, 'reason', o.reason, 'drafted', o.draft_id is not null,
            'claim_url', case when d.status = 'invited' and d.invited_at is null then private.claim_url(d.id, request -> 'links') end) order by o.row), '[]')
          from jsonb_to_recordset(kept.outcomes) as o (row int, draft_id uuid, reason text)
          left join core.drafts d on d.partner_id = kept.partner_id and d.id = o.draft_id)) end);
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_webhook (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
begin
  perform private.act_as(caller, 'partner');
  endpoint := private.shown_webhook(query ->> 'webhook_id');
  return json_build_object(
    'who', private.portal_who(),
    'signed_in_recently', private.signed_in_recently(),
    'webhook', private.webhook_json(endpoint),
    'previous_until', case when endpoint.previous_until > private.now() then private.iso(endpoint.previous_until) end,
    'retries', (select json_build_object('waiting', count(r.next_attempt_at), 'given_up', count(*) - count(r.next_attempt_at))
                  from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id),
    'attempts', private.newest_attempts(endpoint, (query ->> 'limit')::int));
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_webhooks (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object(
    'who', private.portal_who(),
    'signed_in_recently', private.signed_in_recently(),
    'webhooks', private.own_webhooks());
end $function$;

CREATE OR REPLACE FUNCTION api.read_signed_account (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account core.accounts;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  perform private.refuse_if('account_not_found', account.payout_handler <> 'service_pays_customer');
  return json_build_object(
    'email', private.own_email(), 'partner_id', account.partner_id, 'iban_last4', account.iban_last4,
    'partner_name', (select p.name from core.partners p where p.id = account.partner_id),
    'code_sent', private.code_sent('browser:' || (request ->> 'token_hash')));
end $function$;

CREATE OR REPLACE FUNCTION api.read_webhook_attempts (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner', 'cpo');
  return json_build_object('attempts', private.newest_attempts(private.shown_webhook(query ->> 'webhook_id'), (query ->> 'limit')::int));
end $function$;

CREATE OR REPLACE FUNCTION api.ready (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'anyone');
  return private.readiness();
end $function$;

CREATE OR REPLACE FUNCTION api.register_charger (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  serial     constant text := input ->> 'serial_number';
  account    uuid;
  connection uuid;
  model      core.charger_models;
  charger    core.chargers;
  active     int;
begin
  perform private.act_as(caller, 'cpo');
  account := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  -- of parallel registrations of one charger the later ones wait here, and then find it
  perform private.lock_chargers(account, null);
  charger := private.known_charger(account, serial);
  if charger.id is not null then
    return private.charger_answer(charger, true);
  end if;
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  model := private.choose_model(input);
  if serial is null then
    select h.* into charger from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active'
       and h.serial_number is null and h.catalog_charger_id = model.id;
    if found then
      return private.charger_answer(charger, true);
    end if;
  end if;
  active := private.require_charger_room(account, null);
  perform private.refuse_if('serial_number_required', active > 0 and serial is null);
  perform private.refuse_if('charger_claimed', not private.claim_serial_number(model.brand, serial));

  insert into core.chargers
    (partner_id, account_id, connection_id, catalog_charger_id, brand, serial_number, ocpp_vendor, ocpp_model, ocpp_meter_type, mid_eligible)
  values
    (private.partner_id(), account, connection, model.id, model.brand, serial, input ->> 'ocpp_vendor', input ->> 'ocpp_model',
     input ->> 'ocpp_meter_type', model.mid_meter)
  returning * into charger;
  perform private.advance_registration(account, true);
  perform private.audit('charger.registered', charger.id);
  return private.charger_answer(charger, false);
end $function$;

CREATE OR REPLACE FUNCTION api.register_own_charger (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account    uuid;
  connection uuid;
  charger    core.chargers;
begin
  perform private.act_as(caller, 'user', 'session');
  perform private.require_charger_room(null, private.user_id());
  select a.id, c.id into account, connection
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where a.user_id = private.user_id()
   order by c.created_at, c.id limit 1;
  perform private.refuse_if('ocpp_identity_taken', not private.claim_ocpp_identity(input ->> 'ocpp_identity'),
    json_build_object('ocpp_identity', input ->> 'ocpp_identity'));
  insert into core.chargers
    (partner_id, account_id, connection_id, user_id, nickname, connection_type, ocpp_identity, ocpp_password_hash)
  values (private.partner_id(), account, connection, private.user_id(), input ->> 'nickname', 'ocpp',
          input ->> 'ocpp_identity', decode(input ->> 'password_hash', 'hex'))
  returning * into charger;
  perform private.audit('charger.registered', charger.id), private.emit_charger('charger.registered', charger);
  return json_build_object('id', charger.id);
end $function$;

CREATE OR REPLACE FUNCTION api.remove_own_charger (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  removed uuid;
begin
  perform private.act_as(caller, 'session');
  update core.chargers h set status = 'removed', removed_at = private.now()
   where h.partner_id = private.partner_id() and h.user_id = private.user_id() and h.id = (request ->> 'id')::uuid and h.status = 'active'
  returning h.id into removed;
  perform private.audit('charger.removed', removed) where removed is not null;
  return json_build_object('removed', removed is not null);
end $function$;

CREATE OR REPLACE FUNCTION api.renew_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.mandate_links;
  rate jsonb;
begin
  link := private.lock_link(private.enter_link(caller, request));
  perform private.refuse_if('link_not_open', private.link_state(link) is distinct from 'signed' or not private.may_sign_again(link.connection_id));
  rate := private.debit('mandate_renewal:' || link.id, 'mandate_renewal');
  perform private.refuse_if('too_many_codes', not (rate ->> 'allowed')::boolean, json_build_object('rate', rate));
  perform private.issue_renewal_link(link.connection_id, request ->> 'new_token_hash', private.now() + interval '1209600 seconds', link.id);
  perform private.audit('mandate_link.issued', link.connection_id, '{"renewal": true}');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.renew_signed_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account    core.accounts;
  connection uuid;
  rate       jsonb;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  select c.id into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.id = (request ->> 'connection_id')::uuid for update;
  perform private.refuse_if('link_not_open', connection is null or not private.may_sign_again(connection));
  rate := private.debit('mandate_renewal:' || connection, 'mandate_renewal');
  perform private.refuse_if('too_many_codes', not (rate ->> 'allowed')::boolean, json_build_object('rate', rate));
  perform private.issue_renewal_link(connection, request ->> 'new_token_hash', private.now() + interval '1209600 seconds');
  perform private.audit('mandate_link.issued', connection, '{"renewal": true}');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.review_customer (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  outcome    constant text := input ->> 'outcome';
  customer   record;
  connection core.connections;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into customer from private.own_customer(input ->> 'id', input ->> 'key');
  if customer.account_id is null then
    -- or an account that a CPO client of the partner made
    customer.account_id := private.as_uuid(input ->> 'id');
  else
    perform private.act_for_person(private.house(), customer.user_id);
  end if;
  perform from core.accounts a where a.partner_id = private.partner_id() and a.id = customer.account_id for no key update;
  perform private.refuse_if('customer_not_found', not found);
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.account_id = customer.account_id and c.status = 'active'
   order by c.registration_status = 'ingediend' desc, c.submitted_at desc nulls last, c.id limit 1 for update;
  if connection.registration_status is distinct from 'ingediend' then
    perform private.refuse('nothing_to_review', json_build_object(
      'registration_status', connection.registration_status, 'closed_gates', private.closed_gates(connection)));
  end if;
  perform private.review_registration(connection, outcome);
  return json_build_object('ok', true, 'from', 'ingediend', 'to', outcome, 'closed_gates', private.closed_gates(connection));
end $function$;

CREATE OR REPLACE FUNCTION api.revoke_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft      core.drafts;
  connection uuid;
  refused    text;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  perform private.refuse_if('claim_not_open', draft.status is distinct from 'active');
  refused := (private.use_claim_code(draft, request - 'repeat_hash')).refused;
  if refused is not null then
    return private.refusal(refused);
  end if;
  perform private.enter_account(draft);
  connection := private.mandated_connection(draft.account_id);
  perform private.refuse_if('claim_not_open', connection is null);
  perform private.end_mandate(connection, 'revoked', 'customer');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.revoke_partner_key (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  revoked boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id() and k.revoked_at is null;
  revoked := found;
  perform private.audit('partner.key_revoked', private.partner_id()) where revoked;
  return json_build_object('ok', true, 'revoked', revoked);
end $function$;

CREATE OR REPLACE FUNCTION api.save_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  -- judged on the locked row: a code may have been proved since the page was opened
  perform private.refuse_if('claim_not_open', draft.status is distinct from 'claimed' or request ->> 'proved_by' = 'link' and private.ends_links(draft));
  return private.save_step(draft, request);
end $function$;

CREATE OR REPLACE FUNCTION api.send_account_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account core.accounts;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  perform private.refuse_if('account_not_found', account.payout_handler <> 'service_pays_customer');
  return private.mail_account_code(account, request);
end $function$;

CREATE OR REPLACE FUNCTION api.send_claim_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if private.draft_state(draft) not in ('open', 'active') or private.claim_stage(draft) <> coalesce(request ->> 'stage', private.claim_stage(draft)) then
    perform private.refuse('claim_not_open');
  elsif private.code_works('claim:' || draft.id, request ->> 'code_hash') then
    return json_build_object('ok', true);  -- this code was sent already
  end if;
  return private.mail_code('claim:' || draft.id, draft.email, 'claim_code:' || draft.id, request,
    counted => case when request ->> 'proved_by' = 'code' then private.own_code_fits('claim_code', draft.email, request #>> '{mail,key}') end);
end $function$;

CREATE OR REPLACE FUNCTION api.send_invitation_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  invitation constant core.manager_invitations := private.lock_invitation(caller, request ->> 'token_hash');
begin
  return private.mail_code('invitation:' || invitation.id, invitation.email, 'invitation_code:' || invitation.id, request);
end $function$;

CREATE OR REPLACE FUNCTION api.send_mandate_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link      core.mandate_links;
  recipient text;
begin
  link := private.enter_link(caller, request);
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  perform private.refuse_if('link_not_open', private.link_state(link) <> 'open');
  recipient := private.connection_facts(link.connection_id) ->> 'email';
  perform private.refuse_if('signatory_email_missing', recipient is null);
  return private.mail_code('mandate:' || link.id, recipient, 'mandate_code:' || link.id, request,
    jsonb_build_object('logo', private.partner_brand(private.own_partner()) -> 'logo'), connection => link.connection_id);
end $function$;

CREATE OR REPLACE FUNCTION api.send_withdrawal_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return private.mail_account_code((private.enter_signed_mandate(caller, request)).account, request);
end $function$;

CREATE OR REPLACE FUNCTION api.set_partner_return_url (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  sent constant text := nullif(btrim(input ->> 'return_url'), '');
  root constant text := private.return_root(sent);
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  if sent is not null and root is null then
    return json_build_object('ok', false);
  end if;
  update core.partners p set return_url = root where p.id = private.partner_id() and p.return_url is distinct from root;
  perform private.audit('partner.return_url_changed', private.partner_id()) where found;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.settle_sandbox (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  named   constant text := input ->> 'quarter';
  settled json;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  settled := private.settle_customers(
    private.partner_id(), make_date(left(named, 4)::int, right(named, 1)::int * 3 - 2, 1), (input ->> 'price_per_ere')::numeric);
  perform private.refuse_if('nothing_to_settle', settled ->> 'booking_id' is null, json_build_object('left_out', settled -> 'left_out'));
  perform private.audit('sandbox.settled', private.partner_id(), jsonb_build_object('quarter', named));
  return json_build_object(
    'ok', true, 'quarter', named, 'booking_id', settled -> 'booking_id', 'accounts', settled -> 'accounts', 'kwh', settled -> 'kwh',
    'ere', settled -> 'ere', 'gross_eur', settled -> 'gross_eur', 'net_eur', settled -> 'net_eur', 'accounts_left', settled -> 'accounts_left',
    'left_out', settled -> 'left_out');
end $function$;

CREATE OR REPLACE FUNCTION api.sign_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link   core.mandate_links;
  facts  jsonb;
  judged record;
begin
  link := private.lock_link(private.enter_link(caller, request));
  perform private.refuse_if('link_not_open', private.link_state(link) <> 'open');
  facts := private.signed_facts(private.connection_facts(link.connection_id),
                                private.mandate_periods(link.connection_id, link.validity_years), request);
  if facts ->> 'email' is not null then
    select * into judged from private.judge_guess('mandate:' || link.id, 'mandate', request);
    if judged.refused is not null then
      return private.refusal(judged.refused);
    elsif judged.email <> facts ->> 'email' then
      return private.refusal('code_expired');  -- it went to the address that was on file before
    end if;
    perform private.use_code('mandate:' || link.id);
  end if;
  perform private.record_signature(link.connection_id, link.id, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id,
                                 jsonb_build_object('logo', private.partner_brand(private.own_partner()) -> 'logo'));
  end if;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.update_connection (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  ean_register constant jsonb := input -> 'ean_register';
  wanted_id  uuid;
  connection core.connections;
  current    jsonb;
  wanted     jsonb;
  ean        text;
  signed     boolean;
  lapses     boolean;
  checked    record;
  changed    boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  wanted_id := private.find_connection((input #>> '{criteria,connection_id}')::uuid, (input #>> '{criteria,account_id}')::uuid, input #>> '{criteria,cpo_external_ref}');
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = wanted_id and c.status = 'active' for update;
  if not found then
    perform private.refuse('connection_not_found');  -- archived since it was looked up above
  end if;
  select jsonb_build_object('ean_code', connection.ean_code, 'postal_code', l.postal_code, 'house_number', l.house_number,
                            'house_number_addition', l.house_number_addition, 'street', l.street, 'city', l.city)
    into current from core.locations l where l.partner_id = connection.partner_id and l.id = connection.location_id;
  wanted := current || (input -> 'connection');
  ean := wanted ->> 'ean_code';
  select m.mandate_status = 'signed' into signed
    from core.connection_mandates m where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  -- a mandate that holds is lost; of one that ran out the months that still count by it
  lapses := signed or exists (
    select from core.delivered_months d
      join core.mandates m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.covered_until is not null
     where d.partner_id = connection.partner_id and d.connection_id = connection.id and d.status = 'staged');

  if lower(wanted::text) is distinct from lower(current::text) then
    if not private.claim_ean(ean, connection.id) then
      perform private.refuse('ean_in_use');
    elsif coalesce(jsonb_typeof(ean_register), 'null') = 'null' then
      return private.ask('ean_register', wanted::json);
    end if;
    -- a street that was not sent belongs to the old address
    if (wanted - 'street' - 'city' - 'ean_code') <> (current - 'street' - 'city' - 'ean_code') then
      wanted := jsonb_build_object('street', null, 'city', null) || (wanted - 'street' - 'city')
                || jsonb_strip_nulls(jsonb_build_object('street', input #> '{connection,street}', 'city', input #> '{connection,city}'));
    end if;
    select * into checked
      from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int, wanted ->> 'house_number_addition', ean_register);
    perform private.record_ean_check(connection.id, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    if checked.outcome = 'mismatch' then
      return private.refusal('ean_address_mismatch');
    elsif lapses and (input -> 'acknowledge_mandate_lapses') is distinct from 'true' then
      return private.refusal('mandate_acknowledgement_required');
    end if;

    perform private.correct_connection(connection, wanted || jsonb_strip_nulls(jsonb_build_object(
      'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city))), checked.outcome);
    perform private.lapse_mandates(connection.id);
    perform private.end_mandate(connection.id, 'revoked', 'connection_updated') where signed;
    perform private.audit('connection.updated', connection.id, jsonb_build_object('mandate_revoked', signed));
    changed := true;
  end if;
  return private.connection_update_answer(connection.id, changed, changed and signed);
end $function$;

CREATE OR REPLACE FUNCTION api.use_sign_in_link (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link   core.draft_links;
  draft  core.drafts;
  answer json;
begin
  perform private.act_as(caller, 'anyone');
  link := private.sign_in_link(request ->> 'token_hash');
  draft := private.enter_draft(link.draft_id, true);
  select * into link from core.draft_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  if link.used_by = decode(request ->> 'browser_hash', 'hex') and link.used_at > private.now() - interval '10 seconds' then
    -- a second click: the answer to the first never reached the browser
    link.used_at := null;
    request := request - 'browser_hash';
  end if;
  perform private.refuse_if('link_not_open', private.sign_in_link_state(link, draft) <> 'open' or private.draft_state(draft) not in ('open', 'active'));
  if not private.ends_links(draft) then
    answer := private.prove_draft(draft, true, request);
  end if;
  update core.draft_links l set used_at = private.now(), used_by = decode(request ->> 'browser_hash', 'hex') where l.partner_id = link.partner_id and l.id = link.id;
  update core.drafts d set progress = d.progress || jsonb_build_object('return_url', link.return_url)
   where d.partner_id = draft.partner_id and d.id = draft.id and link.return_url is not null and d.status <> 'conflict';
  return coalesce(answer, json_build_object('draft_id', draft.id, 'stage', case draft.status when 'active' then 'active' else 'claimed' end));
end $function$;

CREATE OR REPLACE FUNCTION api.withdraw_draft (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'partner');
  -- waits for a claim under way, and sees what came of it
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = (input ->> 'draft_id')::uuid for update;
  perform private.refuse_if('draft_not_found', draft.id is null, json_build_object('code', 'draft_not_found'));
  perform private.refuse_if('draft_active', draft.status = 'active', json_build_object('code', 'draft_active'));
  delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.release_customer(draft.user_id, draft.partner_id), private.drop_waiting_mail(draft.id);
  perform private.audit('draft.withdrawn', draft.id, jsonb_build_object('status', private.draft_status(draft)));
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.withdraw_manager_invitation (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  withdrawn boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.manager_invitations i set withdrawn_at = private.now()
   where i.partner_id = private.partner_id() and i.id = private.as_uuid(input ->> 'id') and private.invitation_state(i) = 'open';
  withdrawn := found;
  perform private.audit('partner.manager_invitation_withdrawn', private.as_uuid(input ->> 'id')) where withdrawn;
  return json_build_object('withdrawn', withdrawn);
end $function$;

CREATE OR REPLACE FUNCTION ops.account_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account constant core.accounts := private.account_meant(input);
begin
  perform private.audit('account.shown', account.id);
  return private.account_story(account);
end $function$;

CREATE OR REPLACE FUNCTION ops.app_create (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  app uuid;
begin
  perform private.act_as_operator(input);
  insert into core.oauth_clients (client_id, partner_id, name, operated_by, secret_hash, grant_types, scopes, redirect_uris)
  values (input ->> 'client_id',
          case when input ->> 'partner' is not null then (private.business_named(input)).id end,
          private.operator_name(input ->> 'name'),
          private.operator_name(input ->> 'operated_by'),
          decode(input ->> 'secret_hash', 'hex'),
          '{authorization_code,refresh_token}',
          private.read_scopes(input -> 'scopes', 'user'),
          private.read_redirect_uris(input -> 'redirect_uris'))
  on conflict on constraint oauth_clients_client_id_key do nothing
  returning id into app;
  perform private.refuse_if('client_id_taken', app is null, json_build_object('client_id', input ->> 'client_id'));
  perform private.audit('app.created', app, jsonb_build_object('scopes', input -> 'scopes', 'redirect_uris', input -> 'redirect_uris'));
  return json_build_object('app', private.app_row(app));
end $function$;

CREATE OR REPLACE FUNCTION ops.app_disable (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  app     core.oauth_clients := private.app_named(input);
  outcome json;
begin
  outcome := ops.client_disable(input || jsonb_build_object('client', app.client_id));
  return json_build_object('changed', outcome -> 'changed', 'app', private.app_row(app.id));
end $function$;

CREATE OR REPLACE FUNCTION ops.app_link (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  app     core.oauth_clients := private.app_named(input);
  outcome json;
begin
  outcome := ops.client_link(input || jsonb_build_object('client', app.client_id));
  return json_build_object('changed', outcome -> 'changed', 'app', private.app_row(app.id));
end $function$;

CREATE OR REPLACE FUNCTION ops.app_list (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('apps', coalesce(json_agg(private.app_row(c.id) order by c.created_at desc, c.id), '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.oauth_clients c on (chosen.id is null or c.partner_id = chosen.id) and 'authorization_code' = any (c.grant_types)
$function$;

CREATE OR REPLACE FUNCTION ops.app_rotate_secret (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  app core.oauth_clients := private.app_named(input);
begin
  perform ops.client_rotate_secret(input || jsonb_build_object('client', app.client_id));
  return json_build_object('app', private.app_row(app.id));
end $function$;

CREATE OR REPLACE FUNCTION ops.audit_chains (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  -- of a tenant that was made just now, or whose chains are gone, there is none yet
  select json_build_object('chains', coalesce(json_agg(json_build_object(
           'partner_id', p.id, 'partner_slug', p.slug, 'log', l.log, 'links', coalesce(c.position - c.checkpoint_position, 0),
           'first', c.checkpoint_position + 1, 'position', coalesce(c.position, 0), 'hash', encode(c.hash, 'hex')) order by p.slug, l.log), '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.partners p on chosen.id is null or p.id = chosen.id
   cross join (values ('audit'), ('ledger')) l (log)
    left join core.audit_chains c on c.partner_id = p.id and c.log = l.log
$function$;

CREATE OR REPLACE FUNCTION ops.audit_story (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account constant core.accounts := private.account_meant(input);
begin
  perform private.audit('account.story_shown', account.id);
  return (
    select json_build_object(
      'account_id', account.id, 'partner_slug', (select p.slug from core.partners p where p.id = account.partner_id),
      'cpo_external_ref', account.cpo_external_ref, 'balance_eur', private.balance(account.partner_id, 'EUR', 'customer', account.id),
      'events', coalesce(json_agg(json_build_object(
        'at', private.iso(e.at), 'what', e.what, 'by', e.by, 'period', e.period, 'kwh', e.kwh, 'ere', e.ere, 'eur', e.eur, 'note', e.note)
        order by e.at, e.period nulls first, e.what), '[]'))
      from private.account_events(account) e
     -- that it was looked at, just now and before, is in the audit log and no part of the story
     where e.what not in ('account.story_shown', 'account.shown'));
end $function$;

CREATE OR REPLACE FUNCTION ops.audit_verify_part (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  chain core.audit_chains;
  part  record;
  fault private.audit_fault;
begin
  select * into chain from core.audit_chains c where c.partner_id = (input ->> 'partner_id')::uuid and c.log = input ->> 'log';
  if not found then
    -- as one that has nothing yet: what has been written is named once it is ten minutes old
    chain.partner_id := (input ->> 'partner_id')::uuid;
    chain.log := input ->> 'log';
    chain.position := 0;
    chain.settled_id := 0;
    chain.checkpoint_position := 0;
  end if;
  part := private.verify_links(chain, (input ->> 'after')::bigint, (input ->> 'size')::int, decode(input ->> 'expect', 'hex'));
  fault := part.first_fault;
  if part.links < (input ->> 'size')::int and fault.fault is null then
    fault := private.verify_rest(chain);
  end if;
  return json_build_object(
    'last', part.last, 'links', part.links, 'is_there', part.is_there, 'done', part.links < (input ->> 'size')::int,
    'fault', case when fault.fault is not null then json_build_object(
      'fault', fault.fault, 'position', fault.position, 'row', fault.row_id, 'at', private.iso(fault.at), 'what', fault.what) end);
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_credit (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  lines    private.credit_line[];
  wrong    private.credit_line;
  granted  constant numeric := private.as_decimal(input ->> 'granted', 6);
  credited int;
  booking  constant core.bookings := private.submitted_booking_named(input);
begin
  if input ? 'granted' and granted is null then
    perform private.refuse('invalid_ere');
  elsif input ? 'rows' then
    lines := array(select l from private.read_credit_lines(booking, input -> 'rows') l);
  else
    lines := array(select row(0, r.id, r.kwh, null, null)::private.credit_line
                     from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.status = 'submitted');
  end if;
  select * into wrong from unnest(lines) l where l.problem is not null order by l.line limit 1;
  if found then
    perform private.refuse('credit_file_refused', json_build_object('line', wrong.line, 'row', wrong.row_id, 'problem', wrong.problem,
      'others', (select count(*) - 1 from unnest(lines) l where l.problem is not null)));
  end if;
  credited := private.credit_booking(booking, lines, granted);
  return private.booking_answer(booking, credited > 0 or granted is distinct from booking.granted_ere and granted is not null);
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_export (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  csv     text;
  hash    text;
  booking constant core.bookings := private.submitted_booking_named(input);
begin
  csv := private.export_csv(booking);
  hash := encode(sha256(convert_to(csv, 'UTF8')), 'hex');
  if booking.export_sha256 <> hash then
    raise exception 'the rows of booking % are not those that were exported', booking.id;
  end if;
  update core.bookings b set export_sha256 = hash, exported_at = private.now() where b.partner_id = booking.partner_id and b.id = booking.id
     and b.export_sha256 is null;
  perform private.audit('booking.exported', booking.id, jsonb_build_object('sha256', hash));
  return json_build_object('booking_id', booking.id, 'quarter', private.quarter_name(booking.quarter), 'again', booking.export_sha256 is not null,
                           'sha256', hash, 'csv', csv);
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_list (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner constant uuid := private.chosen_partner(input);
begin
  perform private.refuse_if('booking_not_found', input ? 'booking' and not exists (select from private.bookings_named(input ->> 'booking', partner)),
    json_build_object('booking', input ->> 'booking'));
  return (
    select json_build_object('bookings', coalesce(json_agg(private.booking_row(b) order by b.quarter desc, p.slug, b.number desc), '[]'))
      from (select * from private.bookings_named(input ->> 'booking', partner)
             where input ->> 'status' is null or status = input ->> 'status'
             order by quarter desc, opened_at desc, id limit coalesce((input ->> 'limit')::int, 1000)) b
      join core.partners p on p.id = b.partner_id);
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_open (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner constant uuid := private.chosen_partner(input);
  run     constant uuid := gen_random_uuid();
  wanted  date;
  chosen  uuid[];
  opened  core.bookings[] := '{}';
  tenant  uuid;
begin
  perform private.act_as_operator(input);
  wanted := private.read_quarter(input ->> 'quarter');
  perform private.refuse_if('quarter_not_begun', wanted > private.today(), json_build_object('quarter', input ->> 'quarter'));
  -- whoever has something that could be booked, and whoever has a booking open already
  chosen := array(
    select p.id from core.partners p
     where (partner is null or p.id = partner)
       and (exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted and b.status = 'open')
            or exists (select from core.delivered_months d
                        where d.partner_id = p.id and d.period >= wanted and d.period < (wanted + interval '3 months')::date
                          and d.status = 'staged'))
     order by p.id);
  foreach tenant in array chosen loop
    perform private.act_for_partner(tenant);
    opened := opened || private.open_booking(tenant, wanted, run);
  end loop;
  return json_build_object(
    'changed', exists (select from unnest(opened) b where b.run_id = run),
    'bookings', (select coalesce(json_agg(private.booking_row(b) order by p.slug), '[]') from unnest(opened) b join core.partners p on p.id = b.partner_id));
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_reverse_credit (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  line    core.booking_rows;
  booking core.bookings;
  changed boolean;
begin
  perform private.act_as_operator(input);
  select * into line from core.booking_rows r
   where r.partner_id = any (array(select p.id from core.partners p)) and r.id = private.as_uuid(input ->> 'row');
  perform private.refuse_if('row_not_found', not found, json_build_object('row', input ->> 'row'));
  perform private.act_for_partner(line.partner_id);
  booking := private.lock_booking(line.partner_id, line.booking_id);
  select * into line from core.booking_rows r where r.partner_id = line.partner_id and r.id = line.id;
  changed := private.reverse_credit(line, reason);
  perform private.settle_difference(booking);
  return private.booking_answer(booking, changed);
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_submit (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  taken   int;
  booking constant core.bookings := private.booking_named(input);
begin
  perform private.refuse_if('booking_withdrawn', booking.status = 'withdrawn', json_build_object('booking', booking.id));
  perform private.refuse_if('quarter_not_over', (booking.quarter + interval '3 months')::date > private.today(),
    json_build_object('quarter', private.quarter_name(booking.quarter)));
  taken := private.submit_booking(booking.partner_id, booking.id);
  return private.booking_answer(booking, coalesce(taken, 0) > 0);
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_withdraw (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  reason  constant text := case when input ->> 'reason' is not null then private.operator_reason(input ->> 'reason') end;
  booking constant core.bookings := private.booking_named(input);
  changed boolean;
begin
  changed := private.withdraw_booking(booking.partner_id, booking.id, reason);
  return private.booking_answer(booking, changed);
end $function$;

CREATE OR REPLACE FUNCTION ops.charger_confirm_mid (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  charger core.chargers;
  certain boolean;
  wanted  constant boolean := not coalesce((input ->> 'no_mid')::boolean, false);
  changed boolean;
begin
  perform private.act_as_operator(input);
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = private.as_uuid(input ->> 'charger') for update;
  perform private.refuse_if('charger_not_found', not found, json_build_object('charger', input ->> 'charger'));
  perform private.act_for_partner(charger.partner_id);
  changed := charger.mid_eligible is distinct from wanted;
  select m.mid_meter into certain from core.charger_models m where m.id = charger.catalog_charger_id;
  if changed and certain is not null then
    perform private.refuse('mid_is_certain', json_build_object('mid_meter', certain));
  elsif changed then
    update core.chargers h set mid_eligible = wanted
     where h.partner_id = charger.partner_id and h.id = charger.id returning * into charger;
    perform private.audit('charger.mid_confirmed', charger.id,
                          jsonb_build_object('mid_eligible', wanted, 'evidence', left(input ->> 'evidence', 200)));
    perform private.emit_charger('charger.mid_confirmed', charger), private.advance_registration(charger.account_id, wanted);
  end if;
  return json_build_object('changed', changed, 'charger', private.charger_row(charger));
end $function$;

CREATE OR REPLACE FUNCTION ops.client_create (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  client core.oauth_clients;
begin
  perform private.act_as_operator(input);
  insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes, return_url)
  values (input ->> 'client_id',
          case when input ->> 'partner' is not null then (private.business_named(input)).id end,
          private.operator_name(input ->> 'name'),
          decode(input ->> 'secret_hash', 'hex'),
          -- data goes where a client with cpo:webhooks says: only for who is given it by name
          case when input ->> 'scopes' is null then array_remove(private.scopes_of('client'), 'cpo:webhooks') else private.read_scopes(input -> 'scopes', 'client') end,
          private.read_return_url(input ->> 'return_url'))
  on conflict on constraint oauth_clients_client_id_key do nothing
  returning * into client;
  perform private.refuse_if('client_id_taken', client.id is null, json_build_object('client_id', input ->> 'client_id'));
  perform private.audit('client.created', client.id, jsonb_build_object('scopes', client.scopes));
  return json_build_object('client', private.client_row(client));
end $function$;

CREATE OR REPLACE FUNCTION ops.client_disable (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  client  core.oauth_clients := private.client_named(input);
  changed constant boolean := client.disabled_at is null;
begin
  if changed then
    update core.oauth_clients c set disabled_at = private.now() where c.id = client.id returning * into client;
    perform private.audit('client.disabled', client.id);
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $function$;

CREATE OR REPLACE FUNCTION ops.client_link (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner core.partners;
  changed boolean;
  client  core.oauth_clients := private.client_named(input);
begin
  partner := private.business_named(input);
  changed := client.partner_id is distinct from partner.id;
  if changed then
    -- accounts stay with the tenant they were created in: the client would lose them
    perform private.refuse_if('client_has_accounts', exists (select from core.accounts a where a.client_id = client.id),
      json_build_object('client', client.client_id));
    update core.oauth_clients c set partner_id = partner.id where c.id = client.id returning * into client;
    perform private.audit('client.linked', client.id);
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $function$;

CREATE OR REPLACE FUNCTION ops.client_list (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('clients', coalesce(json_agg(private.client_row(c) order by c.created_at desc, c.id), '[]'))
    from private.chosen_partner(input) as chosen (id) join core.oauth_clients c on chosen.id is null or c.partner_id = chosen.id
$function$;

CREATE OR REPLACE FUNCTION ops.client_rotate_secret (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  revoke constant boolean := coalesce((input ->> 'revoke_tokens')::boolean, false);
  client core.oauth_clients := private.client_named(input);
begin
  perform private.refuse_if('client_disabled', client.disabled_at is not null, json_build_object('client', client.client_id));
  update core.oauth_clients c
     set secret_hash = decode(input ->> 'secret_hash', 'hex'),
         secret_rotated_at = private.now(),
         tokens_valid_from = case when revoke then private.now() else c.tokens_valid_from end
   where c.id = client.id returning * into client;
  perform private.audit('client.secret_rotated', client.id, jsonb_build_object('revoke_tokens', revoke));
  return json_build_object('client', private.client_row(client));
end $function$;

CREATE OR REPLACE FUNCTION ops.client_set_scopes (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  wanted  constant text[] := private.read_scopes(input -> 'scopes', 'client');
  client  core.oauth_clients := private.client_named(input);
  changed constant boolean := not (client.scopes <@ wanted and client.scopes @> wanted);
begin
  if changed then
    perform private.audit('client.scopes_set', client.id, jsonb_build_object('before', client.scopes, 'after', wanted));
    update core.oauth_clients c set scopes = wanted where c.id = client.id returning * into client;
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $function$;

CREATE OR REPLACE FUNCTION ops.connection_add (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection core.connections;
  account    constant core.accounts := private.account_named(input);
begin
  -- of parallel calls for one account the later ones wait here, and then find the connection
  perform from core.accounts a where a.partner_id = account.partner_id and a.id = account.id for no key update;
  select * into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.status = 'active' and c.ean_code = input ->> 'ean_code';
  if found then
    return private.connection_answer(connection, false);
  end if;
  perform private.refuse_if('ean_in_use', not private.claim_ean(input ->> 'ean_code'), json_build_object('ean_code', input ->> 'ean_code'));
  -- the EAN register is asked by the weekly re-check, which finds this connection due as soon as its mandate is signed
  insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (account.partner_id, account.id, account.owner_id, private.location_for(input), input ->> 'ean_code', not private.is_test_ean(input ->> 'ean_code'),
          'unverified', '-infinity')
  returning * into connection;
  perform private.audit('connection.added', connection.id);
  return private.connection_answer(connection, true);
end $function$;

CREATE OR REPLACE FUNCTION ops.connection_archive (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection constant core.connections := private.connection_named(input);
begin
  if connection.status = 'archived' then
    return private.connection_answer(connection, false);
  end if;
  perform private.end_mandate(connection.id, 'revoked', 'connection_archived') from core.connection_mandates m
    where m.partner_id = connection.partner_id and m.connection_id = connection.id and m.mandate_status = 'signed';
  perform private.void_mandate_links(connection.id);
  -- otherwise a charger could not be registered again on another connection
  update core.chargers h set status = 'removed', removed_at = private.now()
   where h.partner_id = connection.partner_id and h.connection_id = connection.id and h.status = 'active';
  perform private.drop_charger_names(array(
    select h.id from core.chargers h where h.partner_id = connection.partner_id and h.connection_id = connection.id));
  update core.connections c set status = 'archived'
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.archived', connection.id);
  return private.connection_answer(connection, true);
end $function$;

CREATE OR REPLACE FUNCTION ops.connection_set_ean_status (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection core.connections;
  wanted     constant text := input ->> 'status';
begin
  perform private.refuse_if('invalid_ean_status', wanted is null or wanted not in ('manual', 'unverified'));
  connection := private.active_connection_named(input);
  if connection.ean_validation_status is not distinct from wanted then
    return private.connection_answer(connection, false);
  elsif wanted = 'unverified' and connection.ean_validation_status is distinct from 'manual' then
    -- an operator cannot take back what the EAN register answered
    perform private.refuse('ean_not_manual', json_build_object('ean_validation_status', connection.ean_validation_status));
  end if;
  update core.connections c set ean_validation_status = wanted
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.ean_status_set', connection.id,
                        jsonb_build_object('before', connection.ean_validation_status, 'after', wanted));
  perform private.emit('ean.status_changed', connection.account_id, connection.id,
                       jsonb_build_object('connection_id', connection.id, 'ean_validation_status', wanted));
  perform private.advance_registration(connection.account_id, wanted = 'manual');
  return private.connection_answer(connection, true);
end $function$;

CREATE OR REPLACE FUNCTION ops.customer_find (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  typed     constant text := btrim(input ->> 'text');
  -- of more than these, which come first by name cannot be said without reading them all
  most      constant int  := 1000;
  size      constant int  := least(coalesce((input ->> 'limit')::int, 20), most);
  customers jsonb;
  found_all bigint;
  customer  jsonb;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('text_too_short', length(array_to_string(private.words_of(typed), '')) < 3);
  with matched as (
    select 'account' as kind, f.partner_id, f.account_id as id, coalesce(s.full_name, a.display_name) as name, s.email, a.cpo_external_ref as reference,
           null::text[] as eans, null as status, f.exact
      from private.found_accounts(typed, most + 1) f
      join core.accounts a on a.partner_id = f.partner_id and a.id = f.account_id
      left join core.signatories s on s.partner_id = f.partner_id and s.account_id = f.account_id
    union all
    select 'draft', d.partner_id, d.id, coalesce(d.contact_name, d.name, d.company_name), d.email, d.external_ref,
           array_remove(array[d.ean], null), private.draft_status(d),
           coalesce(d.email = lower(typed) or d.external_ref = typed or d.ean = regexp_replace(typed, '[\s.-]', '', 'g') or d.id = private.as_uuid(typed), false)
      from private.found_drafts(typed, most + 1) d
  ), page as (
    select m.*, row_number() over (order by m.exact desc, lower(m.name) nulls last, m.kind, m.id) as place, count(*) over () as found_all from matched m
     order by place limit size
  )
  select coalesce(jsonb_agg(jsonb_build_object(
           'kind', p.kind, 'id', p.id, 'partner_id', p.partner_id, 'partner_slug', r.slug, 'name', p.name, 'email', p.email, 'reference', p.reference,
           'eans', case p.kind when 'draft' then to_jsonb(p.eans) else (
              select coalesce(jsonb_agg(c.ean_code order by c.status, c.created_at, c.id), '[]') from core.connections c
               where c.partner_id = p.partner_id and c.account_id = p.id) end,
           'status', case p.kind when 'draft' then p.status else (
              select m.mandate_status from core.connection_mandates m where m.partner_id = p.partner_id and m.account_id = p.id
               order by m.status, m.created_at limit 1) end) order by p.place), '[]'), coalesce(max(p.found_all), 0)
    into customers, found_all
    from page p join core.partners r on r.id = p.partner_id;
  for customer in select c.customer from jsonb_array_elements(customers) as c (customer) loop
    perform private.act_for_partner((customer ->> 'partner_id')::uuid), private.audit('customer.found', (customer ->> 'id')::uuid);
  end loop;
  return json_build_object('customers', customers, 'more', found_all > jsonb_array_length(customers));
end $function$;

CREATE OR REPLACE FUNCTION ops.draft_list (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  tenant uuid;
  found  json;
begin
  perform private.act_as_operator(input);
  if input ->> 'partner' is not null then
    tenant := (private.business_named(input)).id;
  end if;
  found := (
    select coalesce(json_agg(json_build_object(
             'draft_id', d.id, 'partner_slug', p.slug, 'status', private.draft_status(d), 'conflict_reason', d.conflict_reason, 'type', d.type,
             'name', coalesce(d.contact_name, d.name, d.company_name), 'email', d.email, 'external_ref', d.external_ref, 'ean_status', d.ean_status,
             'open_step', case when d.status = 'claimed' then private.claim_open_step(d) end, 'reminders_sent', d.reminders_sent,
             'created_at', private.iso(d.created_at), 'claimed_at', private.iso(d.claimed_at), 'expires_at', private.iso(d.expires_at))
             order by d.created_at desc, d.id desc), '[]')
      from private.newest_drafts(tenant, input ->> 'status', coalesce((input ->> 'limit')::int, 20)) d
      join core.partners p on p.id = d.partner_id);
  if json_array_length(found) > 0 then
    perform private.audit('drafts.listed', tenant, jsonb_build_object('drafts', json_array_length(found)));
  end if;
  return json_build_object('drafts', found);
end $function$;

CREATE OR REPLACE FUNCTION ops.evidence_open (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  csv     text;
  booking constant core.bookings := private.submitted_booking_named(input);
begin
  csv := private.export_csv(booking);
  perform private.audit('booking.evidence_shown', booking.id);
  return json_build_object(
    'booking_id', booking.id, 'partner_id', booking.partner_id,
    'partner_slug', (select p.slug from core.partners p where p.id = booking.partner_id),
    'quarter', private.quarter_name(booking.quarter), 'number', booking.number, 'submitted_at', private.iso(booking.submitted_at),
    'rows', (select count(*) from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id),
    'export_sha256', booking.export_sha256, 'csv', csv);
end $function$;

CREATE OR REPLACE FUNCTION ops.evidence_page (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  booking core.bookings;
  after   constant uuid := coalesce((input ->> 'after')::uuid, '00000000-0000-0000-0000-000000000000');
  size    constant int := (input ->> 'size')::int;
begin
  select * into booking from core.bookings b where b.partner_id = (input ->> 'partner_id')::uuid and b.id = (input ->> 'booking_id')::uuid;
  return (select json_build_object('lines', coalesce(json_agg(p.line order by p.key), '[]'), 'last', max(p.key::text))
            from private.evidence_lines(booking, input ->> 'part', after, size) p);
end $function$;

CREATE OR REPLACE FUNCTION ops.factor_set (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year   constant int := (input ->> 'delivery_year')::int;
  share  constant numeric := private.as_decimal(input ->> 'share', 4);
  before core.ere_factors;
  after  core.ere_factors;
begin
  perform private.act_as_operator(input);
  if year not between 2026 and 2100 or (input ? 'share' and (share is null or share > 1))
     or (input ? 'bookable_until' and private.as_day(input ->> 'bookable_until') is null) then
    perform private.refuse('invalid_factor');
  end if;
  -- a booking that is submitted now holds the row that it judges by, and is seen below
  select * into before from core.ere_factors f where f.delivery_year = year for update;
  perform private.refuse_if('factor_missing', not found and share is null, json_build_object('delivery_year', year));
  perform private.refuse_if('factor_in_use', share <> before.renewable_share and private.year_is_booked(year),
    json_build_object('delivery_year', year, 'renewable_share', before.renewable_share));
  insert into core.ere_factors as f (delivery_year, renewable_share, bookable_until)
  values (year, coalesce(share, before.renewable_share), coalesce(private.as_day(input ->> 'bookable_until'), before.bookable_until))
  on conflict on constraint ere_factors_pkey do update set renewable_share = excluded.renewable_share, bookable_until = excluded.bookable_until
  returning * into after;
  if after is distinct from before then
    perform private.audit('factor.set', null, jsonb_build_object('before', to_jsonb(before), 'after', to_jsonb(after)));
  end if;
  return json_build_object('changed', after is distinct from before, 'factor', private.factor_row(after));
end $function$;

CREATE OR REPLACE FUNCTION ops.figures_publish (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year   constant int := (input ->> 'delivery_year')::int;
  chosen uuid;
  tenant uuid;
  made   boolean := false;
begin
  perform private.act_as_operator(input);
  chosen := private.chosen_partner(input);
  perform private.refuse_if('factor_missing', not exists (select from core.ere_factors f where f.delivery_year = year),
    json_build_object('delivery_year', year));
  for tenant in select p.id from core.partners p where chosen is null or p.id = chosen order by p.id loop
    perform private.act_for_partner(tenant);
    if private.publish_figures(tenant, year) then
      made := true;
      perform private.audit('figures.published', tenant, jsonb_build_object('delivery_year', year));
    end if;
  end loop;
  return json_build_object('changed', made, 'figures', (
    select json_agg(private.figures_row(g) order by p.slug)
      from core.figures g join core.partners p on p.id = g.partner_id
     where g.delivery_year = year and (chosen is null or g.partner_id = chosen)));
end $function$;

CREATE OR REPLACE FUNCTION ops.host_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  deployment core.deployment;
begin
  select * into deployment from core.deployment;
  perform private.refuse_if('host_not_set', not found);
  return json_build_object('host', json_build_object('host', deployment.host, 'key_prefix', deployment.key_prefix, 'set_at', private.iso(deployment.set_at)));
end $function$;

CREATE OR REPLACE FUNCTION ops.invoice_issue (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  wanted   constant date := private.read_quarter(input ->> 'quarter');
  chosen   uuid;
  partner  core.partners;
  invoice  core.invoices;
  owed     numeric;
  issued   jsonb := '[]';
  left_out jsonb := '[]';
begin
  perform private.act_as_operator(input);
  if input ? 'partner' then
    chosen := (private.business_named(input)).id;
  end if;
  -- what is sold of a quarter that runs is a part of it
  perform private.refuse_if('quarter_not_over', wanted + interval '3 months' > private.today(),
    json_build_object('quarter', private.quarter_name(wanted)));
  for partner in
    select p.* from core.partners p
     where p.id <> private.house() and (chosen is null or p.id = chosen)
       and exists (select from core.ledger_accounts a
                    where a.partner_id = any (array[p.id, private.house()]) and a.owner = p.id and a.kind = 'partner' and a.unit = 'EUR')
     order by p.id
  loop
    for invoice in select * from private.issue_invoices(partner, wanted, session_user) loop
      issued := issued || private.invoice_row(invoice)::jsonb;
    end loop;
    owed := (select sum(e.amount) from private.share_entries(partner.id) e where e.quarter = wanted);
    if owed <> 0 and private.why_no_invoice(partner) is not null then
      left_out := left_out || jsonb_build_object('partner_slug', partner.slug, 'net_eur', owed, 'reason', private.why_no_invoice(partner));
    end if;
  end loop;
  return json_build_object('changed', issued <> '[]', 'invoices', issued, 'left_out', left_out);
end $function$;

CREATE OR REPLACE FUNCTION ops.invoice_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner constant core.partners := private.business_named(input);
  invoice core.invoices;
begin
  select * into invoice from core.invoices i where i.partner_id = partner.id and private.invoice_number(i) = input ->> 'number';
  perform private.refuse_if('invoice_not_found', not found, json_build_object('number', input ->> 'number', 'partner', partner.slug));
  return json_build_object('invoice', private.invoice_row(invoice), 'company', invoice.company, 'months', private.invoice_months(invoice));
end $function$;

CREATE OR REPLACE FUNCTION ops.mail_resend (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  mail    core.mail_outbox;
  partner core.partners;
begin
  perform private.act_as_operator(input);
  select * into mail from core.mail_outbox m
   where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id') and m.status <> 'nobody' for update;
  perform private.refuse_if('mail_not_found', mail.id is null, json_build_object('mail', input ->> 'id'));
  perform private.refuse_if('mail_sent', mail.status = 'sent', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_captured', mail.status = 'captured', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_dropped', mail.status = 'dropped', json_build_object('mail', mail.id));
  select * into partner from core.partners p where p.id = mail.partner_id;
  perform private.act_for_partner(mail.partner_id);
  if mail.template in ('claim', 'reminder', 'sign_in', 'mandate_link') and not partner.is_active then
    perform private.refuse('mail_of_inactive_partner', json_build_object('mail', mail.id, 'partner', partner.slug));
  -- its reader opted out of mail of this kind: the unsubscribe link has the hash of the address
  elsif private.is_suppressed(decode((regexp_match(mail.content ->> 'unsubscribe_url', '/([0-9a-f]{64})-[^/]*$'))[1], 'hex')) then
    perform private.refuse('mail_unwanted', json_build_object('mail', mail.id));
  elsif private.still_opens(mail) is not true then
    perform private.refuse('mail_outdated', json_build_object('mail', mail.id));
  elsif mail.status = 'queued' and mail.next_attempt_at <= private.now() + interval '5 minutes' then
    -- it goes by itself, or a worker has it in hand, which claims it for five minutes: it must not be sent twice
    return json_build_object('changed', false, 'mail', private.mail_row(mail));
  end if;
  update core.mail_outbox m set status = 'queued', attempts = 0, next_attempt_at = private.now(), done_at = null
   where m.partner_id = mail.partner_id and m.id = mail.id
  returning * into mail;
  perform private.act_for_partner(mail.partner_id), private.audit('mail.resent', mail.id);
  return json_build_object('changed', true, 'mail', private.mail_row(mail));
end $function$;

CREATE OR REPLACE FUNCTION ops.mail_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  mail core.mail_outbox;
begin
  perform private.act_as_operator(input);
  if input ->> 'id' is null then
    select * into mail from private.newest_mails(input, 1);
  else
    -- the key begins with the tenant; naming every tenant lets it serve
    select * into mail from core.mail_outbox m
     where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id');
  end if;
  perform private.refuse_if('mail_not_found', mail.id is null);
  -- a mail may hold a code or a link that lets its reader act as the recipient
  perform private.act_for_partner(mail.partner_id), private.audit('mail.shown', mail.id);
  return json_build_object('mail', private.mail_row(mail), 'locale', mail.locale, 'content', mail.content);
end $function$;

CREATE OR REPLACE FUNCTION ops.mandate_revoke (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  status     text;
  connection constant core.connections := private.connection_named(input);
begin
  select m.mandate_status into status from core.connection_mandates m
   where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  if status = 'revoked' then
    return private.connection_answer(connection, false);
  elsif status <> 'signed' then
    perform private.refuse('mandate_not_signed', json_build_object('mandate_status', status));
  end if;
  perform private.end_mandate(connection.id, 'revoked', case when (input ->> 'asked_by_customer')::boolean then 'customer' else 'operator' end);
  return private.connection_answer(connection, true);
end $function$;

CREATE OR REPLACE FUNCTION ops.partner_add_manager (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person  uuid;
  claimed record;
  partner constant core.partners := private.business_named(input);
begin
  select u.id into person from auth.users u where u.email = lower(input ->> 'user');
  perform private.refuse_if('user_not_found', not found, json_build_object('user', input ->> 'user'));
  perform private.refuse_if('login_not_proved', not exists (select from auth.users u where u.id = person and private.login_proved(u, partner.id)),
    json_build_object('user', input ->> 'user'));
  select * into claimed from private.claim_manager(person, partner.id);
  perform private.refuse_if('manages_another_partner', claimed.manages <> partner.id, json_build_object('user', input ->> 'user'));
  if claimed.added then
    perform private.audit('partner.manager_added', person);
    perform private.tell_managers('joined', lower(input ->> 'user'), null, array[lower(input ->> 'user')]);
  end if;
  return json_build_object('changed', claimed.added, 'manager', json_build_object('user_id', person, 'partner_id', partner.id, 'partner_slug', partner.slug));
end $function$;

CREATE OR REPLACE FUNCTION ops.partner_create (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  name    constant text := private.operator_name(input ->> 'name');
  -- letters lose their accents: Énergie becomes energie
  slug    constant text := coalesce(input ->> 'slug', btrim(left(btrim(regexp_replace(regexp_replace(
    lower(normalize(name, nfkd)), '[\u0300-\u036f]', '', 'g'), '[^a-z0-9]+', '-', 'g'), '-'), 60), '-'));
  partner core.partners;
begin
  perform private.act_as_operator(input);
  -- an id must never be read as somebody's slug
  perform private.refuse_if('invalid_slug', slug !~ '^[a-z0-9]+(-[a-z0-9]+)*$' or length(slug) > 60 or private.as_uuid(slug) is not null);
  insert into core.partners (name, slug) values (name, slug)
  on conflict on constraint partners_slug_key do nothing
  returning * into partner;
  perform private.refuse_if('slug_taken', partner.id is null, json_build_object('slug', slug));
  perform private.act_for_partner(partner.id), private.audit('partner.created', partner.id);
  return json_build_object('partner', private.partner_row(partner));
end $function$;

CREATE OR REPLACE FUNCTION ops.partner_invite (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  address constant text := lower(input ->> 'email');
  invited boolean;
  partner constant core.partners := private.business_named(input);
begin
  invited := private.invite_manager(address, input, null);
  perform private.refuse_if('too_many_invitations', invited is null);
  return json_build_object('changed', invited, 'invitation', json_build_object('email', address, 'partner_id', partner.id, 'partner_slug', partner.slug));
end $function$;

CREATE OR REPLACE FUNCTION ops.partner_mint_key (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  minted  jsonb;
  partner constant core.partners := private.business_named(input);
begin
  perform private.refuse_if('host_not_set', private.host() is null);
  perform private.refuse_if('key_of_another_host', input ->> 'prefix' <> (select d.key_prefix || case d.host when 'sandbox' then '_test_' else '_live_' end from core.deployment d),
    json_build_object('host', private.host()));
  perform from core.partners p where p.id = partner.id for no key update;
  minted := private.store_partner_key(input, coalesce((input ->> 'rotate')::boolean, false));
  perform private.refuse_if('api_key_exists', minted is null);
  return json_build_object('key', minted || jsonb_build_object('partner_id', partner.id, 'partner_slug', partner.slug));
end $function$;

CREATE OR REPLACE FUNCTION ops.partner_set (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  after  core.partners;
  before constant core.partners := private.business_named(input);
begin
  begin
    update core.partners p
       set return_url        = coalesce(private.read_return_url(input ->> 'return_url'), p.return_url),
           referral_code     = coalesce(upper(input ->> 'referral_code'), p.referral_code),
           default_fee_pct   = coalesce((input ->> 'fee_pct')::numeric, p.default_fee_pct),
           partner_share_pct = coalesce((input ->> 'share_pct')::numeric, p.partner_share_pct),
           vat_regime        = coalesce(input ->> 'vat_regime', p.vat_regime),
           locale            = case when input ? 'locale' then nullif(input ->> 'locale', 'any') else p.locale end,
           mandate_years     = case when input ? 'mandate_years' then nullif(input ->> 'mandate_years', 'any')::int else p.mandate_years end,
           charger_brands    = case when jsonb_typeof(input -> 'charger_brands') = 'array' then array(
                                 select b.brand from core.charger_brands b join jsonb_array_elements_text(input -> 'charger_brands') w (brand)
                                     on lower(w.brand) = lower(b.brand) order by 1) else p.charger_brands end
     where p.id = before.id
    returning * into after;
  exception
    when check_violation or numeric_value_out_of_range or invalid_text_representation then
      perform private.refuse('invalid_partner_setting');
    when unique_violation then
      perform private.refuse('referral_code_taken', json_build_object('referral_code', upper(input ->> 'referral_code')));
  end;
  perform private.refuse_if('unknown_charger_brand', cardinality(after.charger_brands) < coalesce(jsonb_array_length(input -> 'charger_brands'), 0));
  perform private.audit('partner.settings_changed', after.id) where after is distinct from before;
  return json_build_object('changed', after is distinct from before, 'partner', private.partner_settings(after));
end $function$;

CREATE OR REPLACE FUNCTION ops.partner_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner constant core.partners := private.partner_named(input);
begin
  perform private.audit('partner.shown', partner.id);
  return private.partner_story(partner);
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_approve (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  login   constant text := private.operator_login();
  batch   core.payout_batches := private.payout_batch_named(input);
  changed constant boolean := batch.status = 'prepared';
begin
  if batch.status = 'cancelled' then
    perform private.refuse('payout_cancelled', json_build_object('batch', batch.id));
  elsif batch.prepared_by = login then
    perform private.refuse('second_person_needed', json_build_object('batch', batch.id, 'login', login));
  elsif changed then
    update core.payout_batches b set status = 'approved', approved_by = login, approved_at = private.now() where b.id = batch.id returning * into batch;
    perform private.audit('payout.approved', batch.id), private.emit_payouts('payout.approved', private.lines_of(batch.id));
  end if;
  return json_build_object('changed', changed, 'batch', private.payout_batch_row(batch));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_cancel (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  batch   core.payout_batches;
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  batch := private.payout_batch_named(input);
  changed := batch.status <> 'cancelled';
  if batch.status in ('exported', 'settled') then
    perform private.refuse('payout_gone', json_build_object('batch', batch.id));
  elsif changed then
    perform private.return_lines(array(select l from core.payout_lines l where l.batch_id = batch.id));
    update core.payout_lines l set status = 'cancelled' where l.batch_id = batch.id;
    update core.payout_batches b set status = 'cancelled', cancelled_by = session_user, cancelled_at = private.now(), cancelled_reason = reason
     where b.id = batch.id returning * into batch;
    perform private.audit('payout.cancelled', batch.id);
    perform private.emit_payouts('payout.reversed', private.lines_of(batch.id)) where batch.approved_at is not null;
  end if;
  return json_build_object('changed', changed, 'batch', private.payout_batch_row(batch));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_export (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  again constant boolean := coalesce((input ->> 'again')::boolean, false);
  batch constant core.payout_batches := private.payout_batch_named(input);
begin
  if batch.status = 'approved' then
    return json_build_object(
      'batch', private.payout_batch_row(batch),
      'created_at', to_char(private.now() at time zone 'Europe/Amsterdam', 'YYYY-MM-DD"T"HH24:MI:SS'),
      'lines', (select json_agg(json_build_object(
                  'line_id', l.id, 'reference', private.payment_reference(l.id), 'partner_id', l.partner_id, 'name', l.name, 'amount_eur', l.amount,
                  'iban', json_build_object('ciphertext', l.iban_ciphertext, 'key_id', l.iban_key_id)) order by l.arrival)
                  from core.payout_lines l where l.batch_id = batch.id));
  elsif batch.file_sha256 is null then
    perform private.refuse('payout_not_approved', json_build_object('batch', batch.id, 'status', batch.status));
  elsif not again then
    perform private.refuse('payout_exported', json_build_object('batch', batch.id, 'exported_at', private.iso(batch.exported_at)));
  end if;
  perform private.audit('payout.exported_again', batch.id, jsonb_build_object('reason', private.operator_reason(input ->> 'reason')));
  return json_build_object('batch', private.payout_batch_row(batch), 'file', json_build_object('ciphertext', batch.file_ciphertext, 'key_id', batch.file_key_id));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_keep_file (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  batch core.payout_batches := private.payout_batch_named(input);
begin
  perform private.refuse_if('payout_cancelled', batch.status = 'cancelled', json_build_object('batch', batch.id));
  perform private.refuse_if('payout_exported', batch.status <> 'approved',
    json_build_object('batch', batch.id, 'exported_at', private.iso(batch.exported_at)));
  update core.payout_batches b
     set status = 'exported', exported_by = session_user, exported_at = private.now(),
         file_ciphertext = input #>> '{file,ciphertext}', file_key_id = input #>> '{file,key_id}', file_sha256 = input ->> 'sha256'
   where b.id = batch.id returning * into batch;
  perform private.notify_payments(batch.id, 'payout_sent'), private.audit('payout.exported', batch.id, jsonb_build_object('sha256', batch.file_sha256));
  return json_build_object('batch', private.payout_batch_row(batch));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_overview (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account constant core.accounts := private.account_named(input);
begin
  perform private.audit('account.overview_read', account.id);
  return json_build_object('overview', private.yearly_overview(account, (input ->> 'year')::int));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_release (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  line    core.payout_lines;
  other   core.payout_lines;
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  select l.* into line
    from core.payout_lines l
   where l.partner_id = any (array(select q.id from core.partners q)) and l.status = 'failed'
     and l.payee_id = coalesce(private.as_uuid(input ->> 'payee'), (select q.id from core.partners q where q.slug = input ->> 'payee'))
   order by l.released_at is null desc, l.arrival desc limit 1;
  perform private.refuse_if('nothing_to_release', not found, json_build_object('payee', input ->> 'payee'));
  changed := line.released_at is null;
  if changed then
    perform private.act_for_partner(line.partner_id);
    -- every one of them that failed: who asks for it names the payee
    for other in
      update core.payout_lines l set released_at = private.now(), released_reason = reason
       where l.partner_id = line.partner_id and l.payee_id = line.payee_id and l.status = 'failed' and l.released_at is null
      returning *
    loop
      perform private.audit('payout.released', other.payee_id, jsonb_build_object('line', other.id));
      if other.id = line.id then
        line := other;
      end if;
    end loop;
  end if;
  return json_build_object('changed', changed, 'line', private.payout_line_row(line));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_settle (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  failed constant text[] := array(select jsonb_array_elements_text(coalesce(input -> 'failed', '[]')));
  batch  core.payout_batches;
  paid   int := 0;
  lost   int;
begin
  perform private.refuse_if('nothing_to_settle', input ->> 'batch' is null and cardinality(failed) = 0);
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  if input ->> 'batch' is not null then
    batch := private.payout_batch_named(input);
    perform private.refuse_if('payout_not_exported', batch.status not in ('exported', 'settled'),
      json_build_object('batch', batch.id, 'status', batch.status));
  end if;
  lost := private.fail_lines(failed, private.operator_reason(coalesce(input ->> 'reason', 'the bank could not pay it')));
  perform private.act_for_partner(null);
  if batch.status = 'exported' then
    paid := private.pay_lines(batch.id);
    update core.payout_batches b set status = 'settled', settled_by = session_user, settled_at = private.now() where b.id = batch.id returning * into batch;
    perform private.audit('payout.settled', batch.id, jsonb_build_object('paid', paid));
  end if;
  return json_build_object(
    'changed', paid + lost > 0, 'paid', paid, 'failed', lost,
    'batch', case when batch.id is not null then private.payout_batch_row(batch) end,
    'lines', (select coalesce(json_agg(private.payout_line_row(l) order by l.arrival), '[]') from core.payout_lines l
               where l.partner_id = any (array(select p.id from core.partners p)) and l.id = any (array(select private.line_id_of(f) from unnest(failed) f))));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  batch constant core.payout_batches := private.payout_batch_named(input);
begin
  perform private.audit('payout.read', batch.id);
  return json_build_object(
    'batch', private.payout_batch_row(batch),
    'lines', (select coalesce(json_agg(private.payout_line_row(l) order by l.arrival), '[]')
                from (select l.* from core.payout_lines l
                       where l.batch_id = batch.id and (input ->> 'status' is null or l.status = input ->> 'status')
                       order by l.arrival limit coalesce((input ->> 'limit')::int, 1000)) l));
end $function$;

CREATE OR REPLACE FUNCTION ops.quarter_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  named   constant text := input ->> 'quarter';
  partner constant uuid := private.chosen_partner(input);
  wanted  date;
  spent   uuid[];
begin
  -- names of quarters sort as their days do
  perform private.refuse_if('quarter_not_begun', named ~ '^20[0-9]{2}-Q[1-4]$' and named > private.quarter_name(date_trunc('quarter', private.today()::timestamp)::date),
    json_build_object('quarter', named));
  wanted := private.read_quarter(named);
  spent := private.spent_bookings();
  return (
    with known as materialized (
      select p, exists (select from core.delivered_months d
                         where d.partner_id = p.id and d.period >= wanted and d.period < (wanted + interval '3 months')::date)
                or exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted and b.status <> 'withdrawn') as begun
        from core.partners p
       where partner is null and p.is_active or p.id = partner or
             partner is null and exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted and b.status <> 'withdrawn')
    )
    select json_build_object(
             'quarter', named, 'over', (wanted + interval '3 months')::date <= private.today(), 'last_day', (wanted + interval '3 months')::date - 1,
             'partners', coalesce((select json_agg(private.quarter_state(k.p, wanted, spent) order by (k.p).slug)
                                     from known k where k.begun or partner is not null), '[]'),
             'without', (select count(*) from known k where not k.begun and partner is null)));
end $function$;

CREATE OR REPLACE FUNCTION ops.rate_limit_reset (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  named   constant text := input ->> 'bucket';
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input), private.bucket_named(named, true);
  client := (private.client_named(input)).id;
  delete from core.rate_limit_overrides o where o.subject = 'client:' || client and o.bucket = named;
  changed := found;
  perform private.audit('rate_limit.reset', client, jsonb_build_object('bucket', named)) where changed;
  return json_build_object('changed', changed, 'rate_limit', private.rate_limit_row(named, client));
end $function$;

CREATE OR REPLACE FUNCTION ops.rate_limit_set (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  named   constant text := input ->> 'bucket';
  wanted  constant numeric := (input ->> 'quota')::numeric;
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input), private.bucket_named(named, input ->> 'client' is not null);
  -- beyond a million the time between two requests comes near the clock's microsecond
  perform private.refuse_if('invalid_quota', wanted is null or wanted not between 1 and 1000000 or wanted <> trunc(wanted));
  if input ->> 'client' is null then
    update core.rate_limits l set quota = wanted where l.bucket = named and l.quota <> wanted;
  else
    client := (private.client_named(input)).id;
    insert into core.rate_limit_overrides as o (subject, bucket, quota) values ('client:' || client, named, wanted)
    on conflict on constraint rate_limit_overrides_pkey do update set quota = excluded.quota where o.quota <> excluded.quota;
  end if;
  changed := found;
  perform private.audit('rate_limit.set', client, jsonb_build_object('bucket', named, 'quota', wanted)) where changed;
  return json_build_object('changed', changed, 'rate_limit', private.rate_limit_row(named, client));
end $function$;

CREATE OR REPLACE FUNCTION ops.registration_review (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection core.connections;
  verdict    constant text := input ->> 'verdict';
  closed     text[];
begin
  perform private.refuse_if('invalid_verdict', verdict is null or verdict not in ('goedgekeurd', 'afgekeurd'));
  connection := private.active_connection_named(input);
  if connection.registration_status = verdict then
    return private.connection_answer(connection, false);
  elsif connection.registration_status <> 'ingediend' then
    perform private.refuse('registration_not_submitted', json_build_object('registration_status', connection.registration_status));
  end if;
  closed := private.grounds_to_reject(connection);
  perform private.refuse_if('gates_closed', verdict = 'goedgekeurd' and cardinality(closed) > 0, json_build_object('gates', closed));
  perform private.review_registration(connection, verdict);
  return private.connection_answer(connection, true);
end $function$;

CREATE OR REPLACE FUNCTION ops.sale_record (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  wanted  core.sales;
  sale    core.sales;
  changed boolean;
  booking constant core.bookings := private.submitted_booking_named(input);
begin
  wanted := private.read_sale(booking, input);
  -- of two at once with one reference, for whatever bookings of a tenant, the second sees what the first recorded
  perform pg_advisory_xact_lock(hashtextextended('sale of ' || wanted.partner_id || ' ' || wanted.reference, 0));
  select * into sale from core.sales s where s.partner_id = wanted.partner_id and s.reference = wanted.reference;
  changed := not found;
  if changed then
    sale := private.record_sale(booking, wanted);
  elsif (sale.booking_id, sale.buyer, sale.ere, sale.price) <> (wanted.booking_id, wanted.buyer, wanted.ere, wanted.price)
        or input ? 'date' and sale.sold_on <> wanted.sold_on then
    perform private.refuse('reference_taken', json_build_object('reference', sale.reference));
  end if;
  return json_build_object('changed', changed, 'sale', private.sale_row(sale));
end $function$;

CREATE OR REPLACE FUNCTION ops.sale_reverse (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  reason constant text := private.operator_reason(input ->> 'reason');
  sale   core.sales;
  done   record;
begin
  perform private.lock_payouts(exclusively => false);
  sale := private.sale_named(input);
  perform private.lock_booking(sale.partner_id, sale.booking_id);
  select * into done from private.reverse_sale(sale, reason, coalesce((input ->> 'recover')::boolean, false));
  perform private.refuse_if('sale_paid_out', done.reversed = 0 and done.paid_out > 0, json_build_object('sale', sale.reference));
  return json_build_object('changed', done.reversed > 0, 'reversed', done.reversed, 'paid_out', done.paid_out, 'sale', private.sale_row(sale));
end $function$;

CREATE OR REPLACE FUNCTION ops.sale_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  sale constant core.sales := private.sale_named(input);
begin
  return json_build_object(
    'sale', private.sale_row(sale),
    'allocations', (
      select coalesce(json_agg(json_build_object(
               'row_id', a.row_id, 'account_id', a.account_id, 'ean_code', a.ean_code, 'period', to_char(a.period, 'YYYY-MM'), 'ere', a.ere,
               'gross_eur', a.gross, 'fee_pct', a.fee_pct, 'fee_eur', a.fee, 'partner_share_eur', a.partner_share, 'net_eur', a.net,
               'reversed', a.reversal_id is not null) order by a.row_id), '[]')
        from (select a.*, r.ean_code, r.period
                from core.allocations a join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
               where a.partner_id = sale.partner_id and a.sale_id = sale.id
               order by a.row_id limit coalesce((input ->> 'limit')::int, 1000)) a));
end $function$;

CREATE OR REPLACE FUNCTION ops.token_list (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person uuid;
begin
  if input ->> 'user' is not null then
    select u.id into person from auth.users u where u.id = private.as_uuid(input ->> 'user') or u.email = lower(input ->> 'user');
    perform private.refuse_if('user_not_found', person is null, json_build_object('user', input ->> 'user'));
  end if;
  return (
    select json_build_object('tokens', coalesce(json_agg(private.token_row(t.id) order by t.created_at desc, t.id), '[]'))
      from private.newest_tokens(person, coalesce((input ->> 'limit')::int, 50)) t);
end $function$;

CREATE OR REPLACE FUNCTION ops.token_revoke (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  token   constant uuid := private.as_uuid(input ->> 'token');
  person  uuid;
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input);
  select p.user_id into person from core.personal_tokens p where p.id = token;
  if person is not null then
    update core.personal_tokens p set revoked_at = private.now() where p.id = token and p.revoked_at is null;
    changed := found;
    perform private.audit('token.revoked', token) where changed;
  else
    select g.user_id, g.client_id into person, client from core.oauth_grants g where g.id = token for update;
    perform private.refuse_if('token_not_found', person is null, json_build_object('token', input ->> 'token'));
    changed := private.end_grant(token, 'revoked_by_operator');
    -- the last grant of this application: the person is done with it
    update core.oauth_consents o set withdrawn_at = private.now()
     where o.user_id = person and o.client_id = client and o.withdrawn_at is null
       and not exists (select from core.oauth_grants g where g.user_id = person and g.client_id = client and g.revoked_at is null);
  end if;
  return json_build_object(
    'changed', changed,
    'token', private.token_row(token));
end $function$;

CREATE OR REPLACE FUNCTION ops.vat_set (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  wanted  constant numeric := private.as_decimal(input ->> 'rate', 2);
  since   constant date := private.as_day(input ->> 'valid_from');
  changed boolean;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('invalid_vat_rate', wanted is null or wanted > 100 or since is null);
  changed := not exists (select from core.vat_rates r where r.valid_from = since and r.rate = wanted);
  if changed and exists (select from core.invoices i where i.issued_on >= since) then
    perform private.refuse('vat_rate_in_use', json_build_object('valid_from', since));
  elsif changed then
    insert into core.vat_rates as r (valid_from, rate) values (since, wanted)
    on conflict on constraint vat_rates_pkey do update set rate = excluded.rate;
    perform private.audit('vat.rate_set', null, jsonb_build_object('valid_from', since, 'rate', wanted));
  end if;
  return json_build_object('changed', changed, 'rate', json_build_object('valid_from', since, 'rate', wanted));
end $function$;

CREATE OR REPLACE FUNCTION ops.webhook_add (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  client   core.oauth_clients;
  partner  core.partners;
  endpoint core.webhook_endpoints;
begin
  perform private.act_as_operator(input);
  if input ? 'client' then
    client := private.client_named(input);
    select * into partner from core.partners p where p.id = client.partner_id;
    perform private.refuse_if('client_reads_no_log', partner.id is null or 'client_credentials' <> all (client.grant_types),
      json_build_object('client', input ->> 'client'));
  elsif input ? 'partner' then
    partner := private.partner_named(input);
    perform private.refuse_if('house_has_no_clients', partner.id = private.house());
  else
    perform private.refuse('whose_log');
  end if;
  perform private.act_for_partner(partner.id);
  endpoint := private.add_webhook(coalesce(client.id, partner.id), input);
  return json_build_object('changed', true, 'webhook', private.webhook_row(endpoint));
end $function$;

CREATE OR REPLACE FUNCTION ops.webhook_list (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('webhooks', coalesce(json_agg(private.webhook_row(e) order by p.slug, e.created_at, e.id), '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.partners p on chosen.id is null or p.id = chosen.id
    join core.webhook_endpoints e on e.partner_id = p.id
   where not coalesce((input ->> 'failing')::boolean, false) or e.status = 'disabled' or e.failing_since is not null
$function$;

CREATE OR REPLACE FUNCTION ops.webhook_ping (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select json_build_object('ping', private.ping_webhook(private.any_webhook(input))) $function$;

CREATE OR REPLACE FUNCTION ops.webhook_replay (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.replay_webhook(private.any_webhook(input), input) $function$;

CREATE OR REPLACE FUNCTION private.account_meant (
  input jsonb
)
  RETURNS core.accounts
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named      constant text := input ->> 'account';
  candidates constant uuid[] := array(
    select c.account_id from private.connections_named(regexp_replace(named, '[ .]', '', 'g')) c where named ~ '^[0-9 .]{18,}$'
    union
    select s.account_id from core.signatories s where s.email = lower(btrim(named))
    union
    select a.id from auth.users u join core.accounts a on a.user_id = u.id where u.email = lower(btrim(named)));
begin
  perform private.refuse_if('account_several', cardinality(candidates) > 1, json_build_object('account', named, 'accounts', candidates));
  return private.account_named(input || jsonb_build_object('account', coalesce(candidates[1]::text, named)));
end $function$;

CREATE OR REPLACE FUNCTION private.account_named (
  input jsonb
)
  RETURNS core.accounts
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named      constant text := input ->> 'account';
  candidates core.accounts[] := array(
    select a from core.accounts a
     where a.partner_id = any (array(select p.id from core.partners p)) and a.id = private.as_uuid(named)
    union
    select a
      from core.oauth_clients k
      join core.accounts a on a.partner_id = k.partner_id and a.client_id = k.id and a.cpo_external_ref = named);
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('account_not_found', cardinality(candidates) = 0, json_build_object('account', named));
  perform private.refuse_if('account_ambiguous', cardinality(candidates) > 1, json_build_object('account', named));
  perform private.act_for_partner((candidates[1]).partner_id);
  return candidates[1];
end $function$;

CREATE OR REPLACE FUNCTION private.act_as_manager()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if private.manager_id() is null then
    raise exception 'a partner key may not run this function' using errcode = 'insufficient_privilege';
  end if;
  -- one change of a partner's settings at a time
  perform from core.partners p where p.id = private.partner_id() for no key update;
  -- a colleague may have removed them while this waited
  perform private.refuse_if('no_partner_linked', private.managed_partner(private.manager_id()) is distinct from private.partner_id());
end $function$;

CREATE OR REPLACE FUNCTION private.active_connection_named (
  input jsonb
)
  RETURNS core.connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  connection constant core.connections := private.connection_named(input);
begin
  perform private.refuse_if('connection_archived', connection.status = 'archived', json_build_object('connection', connection.id));
  return connection;
end $function$;

CREATE OR REPLACE FUNCTION private.add_webhook (
  owner uuid,
  input jsonb
)
  RETURNS core.webhook_endpoints
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
begin
  -- the partner's row is locked, so that of two at once the second sees the first
  perform from core.partners p where p.id = private.partner_id() for no key update;
  select * into endpoint from core.webhook_endpoints e
   where e.partner_id = private.partner_id() and e.id = (input ->> 'id')::uuid and e.secret_id = (input ->> 'secret_id')::uuid;
  if found then
    return endpoint;
  end if;
  perform private.refuse_if('endpoint_limit', (select count(*) from core.webhook_endpoints e where e.partner_id = private.partner_id() and e.owner_id = owner) >= 10);
  insert into core.webhook_endpoints (partner_id, id, owner_id, url, types, pseudonymous, secret_ciphertext, secret_key_id, secret_id, delivered_to)
  values (private.partner_id(), (input ->> 'id')::uuid, owner, input ->> 'url',
          (select array_agg(t) from jsonb_array_elements_text(nullif(input -> 'types', 'null')) t), not private.is_partner_itself(),
          input #>> '{secret,ciphertext}', input #>> '{secret,key_id}', (input ->> 'secret_id')::uuid, private.place_in_log(owner, 'from', input ->> 'from'))
  returning * into endpoint;
  perform private.audit('webhook.added', endpoint.id);
  return endpoint;
end $function$;

CREATE OR REPLACE FUNCTION private.admit (
  ticket jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
declare
  credential constant jsonb := ticket -> 'credential';
  demand     constant jsonb := ticket -> 'demand';
  admitted   jsonb;
  state      record;
  ignored    text;
begin
  if ticket ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(ticket ->> 'host');
  end if;
  -- statements, because of an expression every branch is prepared
  case credential ->> 'kind'
    when 'cpo' then admitted := private.admit_cpo(credential, demand);
    when 'user', 'personal_token' then admitted := private.admit_user(credential, demand);
    when 'session' then admitted := private.admit_signed_in((credential ->> 'user_id')::uuid, private.as_uuid(credential ->> 'session_id'), demand);
    when 'page_session' then admitted := private.admit_page_session(credential, demand);
    when 'partner_key' then admitted := private.admit_partner_key(credential, demand);
    else perform private.refuse_admission('missing_or_invalid_token');
  end case;
  if ticket ->> 'tenant' <> admitted #>> '{caller,partner_id}' then
    perform private.refuse_admission('tenant_changed');
  end if;
  -- a look, so that who is over the limit is refused before the work; that the request fits is for charge() to decide
  state := private.limit_state(admitted ->> 'subject', demand ->> 'bucket');
  if not state.fits then
    perform private.refuse_admission('too_many_requests', json_build_object('rate',
      private.rate_json(demand ->> 'bucket', state.quota, state.window_seconds, state.full_in, false)));
  end if;
  ignored := set_config('app.admission', (admitted || jsonb_build_object(
    'bucket', demand -> 'bucket', 'quota', state.quota, 'window_seconds', state.window_seconds))::text, true);
  return admitted -> 'caller';
end $function$;

CREATE OR REPLACE FUNCTION private.admit_cpo (
  credential jsonb,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  client record;
  scope  constant text := demand ->> 'scope';
begin
  -- as a sub-select, which is looked up by its key: joined, few partners are read whole and hashed
  select c.id, c.partner_id, c.scopes, (select p.is_active from core.partners p where p.id = c.partner_id) into client
    from core.oauth_clients c
   where c.client_id = credential ->> 'client_id' and c.disabled_at is null
     and to_timestamp((credential ->> 'issued_at')::bigint) >= c.tokens_valid_from
     and not exists (select from core.revoked_access_tokens r where r.id = credential ->> 'token_id');
  if not found then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif demand ->> 'kind' is distinct from 'cpo' then
    perform private.refuse_admission('wrong_kind');
  elsif client.is_active is not true then
    perform private.refuse_admission('client_not_linked');
  elsif scope is not null and (scope = any (client.scopes) and credential -> 'scopes' ? scope) is not true then
    perform private.refuse_admission('insufficient_scope', json_build_object('required_scope', scope));
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'cpo', 'client_id', client.id, 'partner_id', client.partner_id),
    'subject', 'client:' || client.id);
end $function$;

CREATE OR REPLACE FUNCTION private.admit_page_session (
  credential jsonb,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  shown    core.page_sessions;
  admitted jsonb;
  partner  uuid;
begin
  select * into shown from core.page_sessions s
   where s.token_hash = decode(credential ->> 'token_hash', 'hex') and s.expires_at > private.now();
  if demand ->> 'kind' is distinct from 'partner' then
    if shown.user_id is null and shown.signatory is not null then
      return private.admit_signatory(shown, demand);
    end if;
    return jsonb_set(private.admit_signed_in(shown.user_id, shown.sign_in_session_id, demand), '{caller,signatory}',
                     coalesce(to_jsonb(shown.signatory), 'null'));
  end if;
  admitted := private.admit_signed_in(shown.user_id, shown.sign_in_session_id, demand || '{"kind": "session"}');
  partner := private.managed_partner(shown.user_id);
  if partner is null then
    perform private.refuse_admission('no_partner_linked');
  end if;
  return jsonb_set(admitted, '{caller}', admitted -> 'caller' || jsonb_build_object(
    'kind', 'partner', 'partner_id', partner, 'manager_id', shown.user_id, 'user_id', null));
end $function$;

CREATE OR REPLACE FUNCTION private.admit_partner_key (
  credential jsonb,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  holder record;
begin
  select * into holder from private.key_holder(credential);
  if holder.partner_id is null then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif (demand ->> 'kind' in ('partner', 'sandbox')) is not true then
    perform private.refuse_admission('wrong_kind');
  elsif (demand ->> 'key')::boolean is not true then
    perform private.refuse_admission('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif holder.partner_active is not true then
    perform private.refuse_admission('no_partner_linked');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'partner', 'partner_id', holder.partner_id),
    'subject', 'partner:' || holder.partner_id,
    'key_hash', credential -> 'key_hash');
end $function$;

CREATE OR REPLACE FUNCTION private.admit_signatory (
  shown  core.page_sessions,
  demand jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if not private.signs(shown.signatory) then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif demand ->> 'kind' is distinct from 'session' then
    perform private.refuse_admission('wrong_kind');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'signatory', 'signatory', shown.signatory, 'signed_in_at', shown.created_at),
    'subject', 'signatory:' || encode(sha256(convert_to(shown.signatory, 'UTF8')), 'hex'));
end $function$;

CREATE OR REPLACE FUNCTION private.admit_signed_in (
  person     uuid,
  session_id uuid,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  began constant timestamptz := private.signed_in_at(person, session_id);
begin
  if began is null or not private.login_stands(person) then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif demand ->> 'kind' is distinct from 'session' then
    perform private.refuse_admission('wrong_kind');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'session', 'user_id', person, 'partner_id', private.house(), 'signed_in_at', began),
    'subject', 'user:' || person);
end $function$;

CREATE OR REPLACE FUNCTION private.admit_user (
  credential jsonb,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  person  record;
  partner uuid;
  caller  jsonb;
begin
  select * into person from private.user_scopes(credential);
  if person.user_id is null or not private.login_stands(person.user_id) then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif (demand ->> 'kind' in ('user', 'partner')) is not true then
    perform private.refuse_admission('wrong_kind');
  elsif ((demand ->> 'scope') = any (person.scopes)) is not true then
    perform private.refuse_admission('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif demand ->> 'kind' = 'partner' then
    partner := private.managed_partner(person.user_id);
    if partner is null then
      perform private.refuse_admission('no_partner_linked');
    end if;
    -- manager_id says that a person asks, for whom customers are pseudonymised
    caller := jsonb_build_object('kind', 'partner', 'partner_id', partner, 'manager_id', person.user_id, 'client_id', person.client_id);
  else
    caller := jsonb_build_object('kind', 'user', 'user_id', person.user_id, 'client_id', person.client_id, 'partner_id', private.house());
  end if;
  return jsonb_build_object(
    'caller', caller,
    -- limits are kept per client and person, or per person for their own tokens
    'subject', 'user:' || person.user_id || coalesce(':' || person.client_id, ''),
    'token_hash', credential -> 'token_hash');
end $function$;

CREATE OR REPLACE FUNCTION private.allocate_sale (
  sale core.sales
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  postings private.posting[];
begin
  with allocated as (
    insert into core.allocations
      (partner_id, sale_id, row_id, account_id, owner_id, share_partner_id, ere, gross, fee_pct, partner_share_pct, partner_share)
    select sale.partner_id, sale.id, r.id, r.account_id, r.owner_id, r.share_partner_id, s.ere, s.gross, r.fee_pct, r.partner_share_pct,
           case when r.share_partner_id is null then 0
                else trunc(trunc(s.gross * r.fee_pct * 0.01, 2) * r.partner_share_pct * 0.01, 2) end
      from private.split_sale(sale) s
      cross join lateral (select * from core.booking_rows r where r.partner_id = sale.partner_id and r.id = s.row_id offset 0) r
    returning *
  )
  select array_agg(row('allocation:' || a.id || ':' || p.what, p.unit, p.amount, p.debit_kind, p.debit_owner, p.credit_kind, p.credit_owner)::private.posting)
    into postings
    from allocated a
    cross join lateral (values
      ('ere', 'ERE', a.ere, 'unsold', sale.booking_id, 'sold', sale.booking_id),
      ('net', 'EUR', a.net, 'buyer', sale.id, 'customer', a.account_id),
      ('share', 'EUR', a.partner_share, 'buyer', sale.id, 'partner', coalesce(a.share_partner_id, private.house())),
      ('fee', 'EUR', a.fee - a.partner_share, 'buyer', sale.id, 'service', private.house())
    ) p (what, unit, amount, debit_kind, debit_owner, credit_kind, credit_owner);
  perform private.post(sale.partner_id, postings);
  return cardinality(postings) / 4;
end $function$;

CREATE OR REPLACE FUNCTION private.app_named (
  input jsonb
)
  RETURNS core.oauth_clients
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named constant text := input ->> 'app';
  app   core.oauth_clients;
begin
  perform private.act_as_operator(input);
  select * into app from core.oauth_clients c
   where (c.id = private.as_uuid(named) or c.client_id = named) and 'authorization_code' = any (c.grant_types) for update;
  perform private.refuse_if('app_not_found', not found, json_build_object('app', named));
  perform private.act_for_partner(app.partner_id);
  return app;
end $function$;

CREATE OR REPLACE FUNCTION private.authenticate_client (
  request    jsonb,
  grant_type text,
  OUT        client core.oauth_clients,
  OUT        rate jsonb,
  OUT        refusal json
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  subject  text;
  failures text;
  failed   record;
begin
  -- one table a query: these four are prepared and run in two thirds of the time of one that joins them
  select * into client from core.oauth_clients c where c.client_id = left(request ->> 'client_id', 200);
  -- an unknown client_id shares one subject an address, so that guessing names does not grow the table
  subject := coalesce('client:' || client.id, 'unknown');
  failures := subject || '@' || (request ->> 'address_hash');
  if exists (select from core.rate_limit_state s where s.subject = failures and s.bucket = 'token_failures') then
    failed := private.limit_state(failures, 'token_failures');
    if not failed.fits then
      rate := private.rate_json('token_failures', failed.quota, failed.window_seconds, failed.full_in, false);
      refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
      return;
    end if;
  end if;
  if client.id is null or client.disabled_at is not null or client.secret_hash is distinct from decode(request ->> 'secret_hash', 'hex') then
    rate := private.debit(failures, 'token_failures');
    -- parallel guesses all passed the check above; only as many as the limit allows learn whether they were right
    refusal := private.refusal(case when (rate ->> 'allowed')::boolean then 'invalid_client' else 'too_many_requests' end,
                               json_build_object('rate', rate));
    return;
  end if;
  -- only the client itself spends its own requests: a stranger who knows its name cannot lock it out
  rate := private.debit(subject, 'token');
  if not (rate ->> 'allowed')::boolean then
    refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
  elsif not coalesce(grant_type, client.grant_types[1]) = any (client.grant_types)
        or grant_type in ('authorization_code', 'refresh_token') and not private.may_act_for_people(client) then
    refusal := private.refusal('unauthorized_client', json_build_object('rate', rate));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.average_price (
  tenant uuid,
  year   integer
)
  RETURNS numeric
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select round((sum(s.gross) - coalesce(sum(v.gross), 0)) / nullif(sum(s.ere) - coalesce(sum(v.ere), 0), 0), 6)
      from core.bookings b
      join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
      -- the parts of a sale add up to it, so only those that were taken back are looked up
      left join lateral (
        select sum(a.ere) as ere, sum(a.gross) as gross
          from core.allocations a
         where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null
           and exists (select from core.sale_reversals r where r.partner_id = s.partner_id and r.sale_id = s.id)) v on true
     where b.partner_id = tenant and b.quarter >= make_date(year, 1, 1) and b.quarter < make_date(year + 1, 1, 1));
end $function$;

CREATE OR REPLACE FUNCTION private.booking_named (
  input jsonb
)
  RETURNS core.bookings
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named      constant text := input ->> 'booking';
  candidates constant core.bookings[] := array(
    select b from private.bookings_named(coalesce(named, ''), private.chosen_partner(input)) b
     where b.status <> 'withdrawn' or b.id = private.as_uuid(named));
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('booking_not_found', cardinality(candidates) = 0, json_build_object('booking', named));
  perform private.refuse_if('booking_ambiguous', cardinality(candidates) > 1, json_build_object('booking', named));
  perform private.act_for_partner((candidates[1]).partner_id);
  return private.lock_booking((candidates[1]).partner_id, (candidates[1]).id);
end $function$;

CREATE OR REPLACE FUNCTION private.brought_by_then (
  person uuid,
  month  date
)
  RETURNS uuid
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (select e.partner_id from core.ended_attributions e
           where e.user_id = person and month between e.attached_month and e.last_month order by e.ended_at desc limit 1);
end $function$;

CREATE OR REPLACE FUNCTION private.bucket_named (
  bucket      text,
  of_a_client boolean
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  buckets text[] := array(
    select l.bucket from core.rate_limits l
     -- the others count addresses, links and people
     where not of_a_client or l.bucket = 'token' or l.bucket like 'cpo\_%' order by l.bucket);
begin
  perform private.refuse_if('unknown_bucket', bucket is null or not bucket = any (buckets), json_build_object('bucket', bucket, 'buckets', buckets));
end $function$;

CREATE OR REPLACE FUNCTION private.business_named (
  input jsonb
)
  RETURNS core.partners
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner constant core.partners := private.partner_named(input);
begin
  perform private.refuse_if('house_has_no_clients', partner.id = private.house());
  return partner;
end $function$;

CREATE OR REPLACE FUNCTION private.check_books (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET enable_nestloop TO 'off'
  SET search_path TO ''
  AS $function$
  select b.unit || ' sums to zero', 0, sum(b.balance), (sum(b.balance) <> 0)::int, b.unit
    from core.ledger_balances b where b.partner_id = tenant group by b.unit
  union all select * from private.check_kwh(tenant)
  union all select * from private.check_ere(tenant)
  union all select * from private.check_money(tenant)
  union all select * from private.check_owed(tenant)
  union all select * from private.check_sums(tenant)
  union all select * from private.check_payouts(tenant)
  union all select * from private.check_invoices(tenant)
$function$;

CREATE OR REPLACE FUNCTION private.check_ere (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with credited as materialized (
    select r.booking_id, r.id, c.ere, trunc(c.accepted_kwh * r.ere_per_kwh, 6) as by_factor
      from core.booking_rows r
      join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
     where r.partner_id = tenant
  ), sold as materialized (
    select a.row_id, sum(a.ere) as ere from core.allocations a where a.partner_id = tenant and a.reversal_id is null group by a.row_id
  ), booking as materialized (
    select b.id, b.granted_ere, coalesce(sum(c.ere), 0) as credited, coalesce(sum(s.ere), 0) as sold
      from core.bookings b
      left join credited c on c.booking_id = b.id
      left join sold s on s.row_id = c.id
     where b.partner_id = tenant group by b.id, b.granted_ere
  ), ledger as materialized (
    select b.owner, coalesce(sum(b.balance) filter (where b.kind = 'unsold'), 0) as unsold, coalesce(sum(b.balance) filter (where b.kind = 'sold'), 0) as sold,
           coalesce(-sum(b.balance) filter (where b.kind = 'register'), 0) as granted
      from core.ledger_balances b where b.partner_id = tenant and b.unit = 'ERE' and b.kind <> 'closed'
     -- of a booking that retention deleted its accounts stay, with nothing in them
     group by b.owner having bool_or(b.balance <> 0)
  ), judged as materialized (
    select b.*, coalesce(l.unsold, 0) as in_unsold, coalesce(l.sold, 0) as in_sold, coalesce(l.granted, 0) as in_granted
      from booking b full join ledger l on l.owner = b.id
  )
  select 'ERE credited are kWh by the factor', coalesce(sum(c.by_factor), 0), coalesce(sum(c.ere), 0),
         count(*) filter (where c.ere <> c.by_factor), min('row ' || c.id) filter (where c.ere <> c.by_factor)
    from credited c
  union all
  select 'ERE in the ledger are those credited', coalesce(sum(j.credited), 0), coalesce(sum(j.in_unsold + j.in_sold), 0),
         count(*) filter (where j.credited is distinct from j.in_unsold + j.in_sold),
         min('booking ' || j.id) filter (where j.credited is distinct from j.in_unsold + j.in_sold)
    from judged j
  union all
  select 'ERE sold are those allocated', coalesce(sum(j.sold), 0), coalesce(sum(j.in_sold), 0),
         count(*) filter (where j.sold is distinct from j.in_sold), min('booking ' || j.id) filter (where j.sold is distinct from j.in_sold)
    from judged j
  union all
  select 'ERE from the register are those granted', coalesce(sum(coalesce(j.granted_ere, j.credited)), 0), coalesce(sum(j.in_granted), 0),
         count(*) filter (where coalesce(j.granted_ere, j.credited) is distinct from j.in_granted or j.in_sold > j.in_granted),
         min('booking ' || j.id) filter (where coalesce(j.granted_ere, j.credited) is distinct from j.in_granted or j.in_sold > j.in_granted)
    from judged j
$function$;

CREATE OR REPLACE FUNCTION private.check_invoices (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with invoice as materialized (
    select i.id, i.net, i.vat, coalesce((select sum(e.amount) from core.invoice_entries e where e.partner_id = i.partner_id and e.invoice_id = i.id), 0) as entries,
           coalesce((select e.amount * case d.kind when 'input_vat' then 1 else -1 end
                       from core.ledger_entries e join core.ledger_accounts d on d.partner_id = e.partner_id and d.id = e.debit
                      where e.partner_id = tenant and e.cause = 'invoice:' || i.id || ':vat'), 0) as in_ledger
      from core.invoices i where i.partner_id = tenant
  )
  select 'VAT of credit notes is that of their sum', coalesce(sum(k.due), 0), coalesce(sum(k.vat), 0), count(*) filter (where k.due <> k.vat),
         min('invoice ' || k.corrects) filter (where k.due <> k.vat)
    from (select i.corrects, sum(i.vat) as vat, round(sum(i.net) * i.vat_rate * 0.01, 2) as due
            from core.invoices i where i.partner_id = tenant and i.corrects is not null group by i.corrects, i.vat_rate) k
  union all
  select 'invoices charge what they list', coalesce(sum(i.entries), 0), coalesce(sum(i.net), 0), count(*) filter (where i.net <> i.entries),
         min('invoice ' || i.id) filter (where i.net <> i.entries)
    from invoice i
  union all
  select 'VAT in the ledger is that of invoices', coalesce(sum(i.vat), 0), coalesce(sum(i.in_ledger), 0), count(*) filter (where i.vat <> i.in_ledger),
         min('invoice ' || i.id) filter (where i.vat <> i.in_ledger)
    from invoice i
  union all
  select 'numbers of invoices have no gaps', coalesce(sum(y.last), 0), coalesce(sum(y.invoices), 0), count(*) filter (where y.last <> y.invoices),
         min('year ' || y.year) filter (where y.last <> y.invoices)
    from (select i.year, max(i.number) as last, count(*) as invoices from core.invoices i where i.partner_id = tenant group by i.year) y
$function$;

CREATE OR REPLACE FUNCTION private.check_kwh (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with booked as materialized (
    select r.*, c.accepted_kwh
      from core.booking_rows r
      left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
     where r.partner_id = tenant and r.live
  ), month as materialized (
    select coalesce(d.connection_id, r.connection_id) as connection_id, coalesce(d.period, r.period) as period, d.total_kwh,
           case when d.locked then 0 else d.total_kwh end as left_out, r.kwh as booked,
           -- a locked month has a live row that says the same, and an open one has none
           coalesce(d.locked, false) is distinct from (r.id is not null) or r.kwh <> d.total_kwh or r.status <> d.status
             or r.accepted_kwh is distinct from d.accepted_kwh as is_wrong
      from (select * from core.delivered_months where partner_id = tenant) d
      full join booked r on r.connection_id = d.connection_id and r.period = d.period
  ), ledger as (
    select b.owner, b.kind, b.balance from core.ledger_balances b where b.partner_id = tenant and b.unit = 'kWh' and b.kind not in ('delivered', 'closed')
  ), booking as (
    select r.booking_id as owner, k.kind, sum(k.kwh) as kwh
      from booked r
      cross join lateral (values ('submitted', case r.status when 'submitted' then r.kwh end), ('registered', r.accepted_kwh),
                                 ('written_off', r.kwh - r.accepted_kwh)) k (kind, kwh)
     group by r.booking_id, k.kind
  ), account as (
    select coalesce(l.owner, b.owner) as owner, coalesce(l.balance, 0) as balance, coalesce(b.kwh, 0) as kwh
      from ledger l full join booking b on b.owner = l.owner and b.kind = l.kind
  )
  select 'kWh booked and left out are those delivered', coalesce(sum(m.total_kwh), 0), coalesce(sum(m.left_out), 0) + coalesce(sum(m.booked), 0),
         count(*) filter (where m.is_wrong), min(m.connection_id || ' ' || to_char(m.period, 'YYYY-MM')) filter (where m.is_wrong)
    from month m
  union all
  select 'kWh in the ledger are those booked', coalesce(sum(a.kwh), 0), coalesce(sum(a.balance), 0),
         count(*) filter (where a.kwh <> a.balance), min('booking ' || a.owner) filter (where a.kwh <> a.balance)
    from account a
$function$;

CREATE OR REPLACE FUNCTION private.check_ledger (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select * from private.check_books(tenant)
  union all select * from private.check_partner_sums(tenant)
$function$;

CREATE OR REPLACE FUNCTION private.check_money (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with moved as materialized (
    -- what was moved for each part, less what was moved back
    select k.allocation_id, sum(k.amount) filter (where k.what = 'net') as net, sum(k.amount) filter (where k.what = 'share') as share,
           sum(k.amount) filter (where k.what = 'fee') as fee
      from (select split_part(e.cause, ':', 2) as allocation_id, split_part(e.cause, ':', 3) as what,
                   case split_part(e.cause, ':', 4) when 'reversed' then -e.amount else e.amount end as amount
              from core.ledger_entries e
             where e.partner_id = tenant and e.cause > 'allocation:' and e.cause < 'allocation;') k
     group by k.allocation_id
  ), part as materialized (
    select a.*, a.reversal_id is null as stands, coalesce(m.net, 0) as in_net, coalesce(m.share, 0) as in_share, coalesce(m.fee, 0) as in_fee
      from (select * from core.allocations where partner_id = tenant) a
      left join moved m on m.allocation_id = a.id::text
  ), sale as materialized (
    select s.id, s.reference, s.gross, s.ere, sum(p.gross) as parts, sum(p.ere) as parts_ere, coalesce(sum(p.gross) filter (where p.stands), 0) as stands,
           -private.balance(tenant, 'EUR', 'buyer', s.id) as owed
      from core.sales s left join part p on p.sale_id = s.id
     where s.partner_id = tenant group by s.id, s.reference, s.gross, s.ere
  )
  select 'parts of sales add up to them', coalesce(sum(s.gross), 0), coalesce(sum(s.parts), 0),
         count(*) filter (where (s.gross, s.ere) is distinct from (s.parts, s.parts_ere)),
         min('sale ' || s.reference) filter (where (s.gross, s.ere) is distinct from (s.parts, s.parts_ere))
    from sale s
  union all
  select 'buyers owe what was sold', coalesce(sum(s.stands), 0), coalesce(sum(s.owed), 0),
         count(*) filter (where s.stands <> s.owed), min('sale ' || s.reference) filter (where s.stands <> s.owed)
    from sale s
  union all
  select 'customers, partners and the service got what was sold', coalesce(sum(p.gross) filter (where p.stands), 0),
         coalesce(sum(p.in_net + p.in_share + p.in_fee), 0), count(*) filter (where k.is_wrong), min('row ' || p.row_id) filter (where k.is_wrong)
    from part p
    cross join lateral (
      select (p.in_net, p.in_share, p.in_fee) is distinct from
             case when p.stands then row(p.net, p.partner_share, p.fee - p.partner_share) else row(0.00, 0.00, 0.00) end as is_wrong) k
$function$;

CREATE OR REPLACE FUNCTION private.check_owed (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with ledger as materialized (
    select b.kind, b.owner, b.balance from core.ledger_balances b where b.partner_id = tenant and b.unit = 'EUR'
  ), got as (
    select k.kind, k.owner, k.amount
      from core.allocations a
     cross join lateral (values ('customer', a.account_id, a.net), ('partner', coalesce(a.share_partner_id, private.house()), a.partner_share),
                                ('service', private.house(), a.fee - a.partner_share)) k (kind, owner, amount)
     where a.partner_id = tenant and a.reversal_id is null
    union all
    select k.kind, k.owner, k.amount
      from core.invoices i
     cross join lateral (values ('vat', i.partner_id, i.vat), ('input_vat', private.house(), -i.vat)) k (kind, owner, amount)
     where i.partner_id = tenant
    union all
    select p.kind, p.payee_id, -p.amount
      from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.ledger_partner_id = tenant and l.status in ('pending', 'paid')
  ), account as (
    select coalesce(b.owner, g.owner) as owner, coalesce(g.amount, 0) as amount, coalesce(b.balance, 0) as balance
      from (select * from ledger where kind in ('customer', 'partner', 'service', 'vat', 'input_vat')) b
      full join (select g.kind, g.owner, sum(g.amount) as amount from got g group by g.kind, g.owner) g on g.kind = b.kind and g.owner = b.owner
     -- of what retention deleted nobody can add up what was earned and paid
     where not exists (select from ledger where kind = 'closed')
  )
  select 'what is owed was earned, and not paid yet', coalesce(sum(a.amount), 0), coalesce(sum(a.balance), 0),
         count(*) filter (where a.amount <> a.balance), min('owner ' || a.owner) filter (where a.amount <> a.balance)
    from account a
$function$;

CREATE OR REPLACE FUNCTION private.check_partner_sums (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with counted as (
    select to_date(m.month, 'YYYY-MM') as period, m.kwh, m.ere_credits
      from json_to_recordset(private.count_dashboard(tenant) -> 'months') as m (month text, kwh numeric, ere_credits numeric)
  ), delivered as (
    select d.period, round(sum(d.total_kwh), 2) as kwh, round(coalesce(sum(m.ere), 0), 2) as ere_credits
      from core.attributions k
      join core.accounts a on a.partner_id = private.house() and a.user_id = k.user_id
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id and d.period >= k.attached_month
      left join core.counted_months m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.period = d.period
     where k.partner_id = tenant and (d.status = 'staged' or d.locked)
     group by d.period
  )
  select 'dashboards show what customers delivered', coalesce(sum(d.kwh), 0), coalesce(sum(c.kwh), 0),
         count(*) filter (where k.is_wrong), min(to_char(period, '"month "YYYY-MM')) filter (where k.is_wrong)
    from delivered d full join counted c using (period)
   cross join lateral (select (d.kwh, d.ere_credits) is distinct from (c.kwh, c.ere_credits) as is_wrong) k
$function$;

CREATE OR REPLACE FUNCTION private.check_payouts (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with part as materialized (
    select p.*, l.status, l.payee_id as line_payee_id
      from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.ledger_partner_id = tenant
  ), line as (
    select l.id, l.amount, coalesce(sum(p.amount), 0) as parts
      from core.payout_lines l left join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     where l.partner_id = tenant group by l.id, l.amount
  ), owed as (
    select k.kind, p.line_payee_id as payee_id, sum(p.amount) as amount
      from part p join (values ('payout', 'pending'), ('bank', 'paid')) k (kind, status) on k.status = p.status
     group by k.kind, p.line_payee_id
  ), balance as (
    select coalesce(b.owner, o.payee_id) as payee_id, coalesce(o.amount, 0) as amount, coalesce(b.balance, 0) as balance
      from (select * from core.ledger_balances where partner_id = tenant and unit = 'EUR' and kind in ('payout', 'bank')) b
      full join owed o on o.kind = b.kind and o.payee_id = b.owner
  ), entry as materialized (
    select e.part_id, e.ledger_partner_id, e.allocation_id, p.kind, p.status, e.amount
      from part p join core.payout_entries e on e.partner_id = p.partner_id and e.part_id = p.id
  ), pays as (
    select p.id, p.amount - p.forgotten as amount, coalesce(e.amount, 0) as entries
      from part p left join (select e.part_id, sum(e.amount) as amount from entry e group by e.part_id) e on e.part_id = p.id
     where p.kind <> 'vat'
  ), earned as (
    -- at most one standing payment pays a part of a sale; a reversed sale may still be on one
    select e.allocation_id, e.kind, e.amount, a.reversal_id is null as stands, case e.kind when 'customer' then a.net else a.partner_share end as due
      from (select e.allocation_id, e.kind, sum(e.amount) filter (where e.status in ('pending', 'paid')) as amount from entry e group by e.allocation_id, e.kind) e
      left join (select * from core.allocations where partner_id = tenant) a on a.id = e.allocation_id
  )
  select 'parts of payouts are the sales they pay', coalesce(sum(p.amount), 0), coalesce(sum(p.entries), 0),
         count(*) filter (where p.amount <> p.entries), min('part ' || p.id) filter (where p.amount <> p.entries)
    from pays p
  union all
  select 'each part of a sale is paid once', 0, count(*) filter (where k.is_wrong), count(*) filter (where k.is_wrong), min('allocation ' || e.allocation_id) filter (where k.is_wrong)
    from earned e
   cross join lateral (
     select e.due is null or coalesce(e.amount, 0) <> 0 and coalesce(e.amount, 0) <> e.due and (e.stands or e.amount <> -e.due) as is_wrong) k
  union all
  select 'lines of payouts are the sum of their parts', coalesce(sum(l.parts), 0), coalesce(sum(l.amount), 0),
         count(*) filter (where l.parts <> l.amount), min('line ' || l.id) filter (where l.parts <> l.amount)
    from line l
  union all
  select 'what is on its way, and what was paid, are lines of payouts', coalesce(sum(b.amount), 0), coalesce(sum(b.balance), 0),
         count(*) filter (where b.amount <> b.balance), min('payee ' || b.payee_id) filter (where b.amount <> b.balance)
    from balance b
$function$;

CREATE OR REPLACE FUNCTION private.check_sums (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select 'sums of bookings are those of their rows', coalesce(sum(s.kwh), 0), coalesce(sum(k.kwh), 0),
         count(*) filter (where s is distinct from k), min('booking ' || coalesce(s.booking_id, k.booking_id)) filter (where s is distinct from k)
    from (select * from core.booking_sums where partner_id = tenant) s
    full join (select * from core.account_bookings where partner_id = tenant) k on k.booking_id = s.booking_id and k.account_id = s.account_id
  union all
  select 'prices of figures are those of their sales', coalesce(sum(p.price), 0), coalesce(sum(f.price), 0),
         count(*) filter (where f.price is distinct from p.price), min('year ' || f.delivery_year) filter (where f.price is distinct from p.price)
    from core.figures f cross join lateral (select private.average_price(tenant, f.delivery_year) as price) p
   where f.partner_id = tenant
$function$;

CREATE OR REPLACE FUNCTION private.choose_model (
  input jsonb
)
  RETURNS core.charger_models
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  chosen   core.charger_models;
  resolved private.charger_resolution;
begin
  if input ->> 'catalog_charger_id' is not null then
    select * into chosen from core.charger_models m
     where m.id = (input ->> 'catalog_charger_id')::uuid and (m.mid_meter is not null or m.listed);
    perform private.refuse_if('catalog_unresolved', not found, json_build_object('suggestions', '[]'::json));
  else
    resolved := private.resolve_charger(input ->> 'ocpp_vendor', input ->> 'ocpp_model', input ->> 'ocpp_meter_type');
    perform private.refuse_if('catalog_unresolved', not resolved.resolved,
      json_build_object('detail', resolved.detail, 'suggestions', resolved.suggestions));
    select * into chosen from core.charger_models m where m.id = resolved.catalog_charger_id;
  end if;
  return chosen;
end $function$;

CREATE OR REPLACE FUNCTION private.chosen_partner (
  input jsonb
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return case when input ? 'partner' then (private.partner_named(input)).id end;
end $function$;

CREATE OR REPLACE FUNCTION private.claim_ean (
  ean            text,
  for_connection uuid DEFAULT NULL::uuid
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- the test values are everybody's at once
  perform pg_advisory_xact_lock(hashtextextended('ean ' || ean, 0)) where not private.is_test_ean(ean);
  return not private.ean_taken(ean, for_connection);
end $function$;

CREATE OR REPLACE FUNCTION private.claim_months (
  booking core.bookings,
  chosen  uuid[],
  held    uuid[]
)
  RETURNS private.posting[]
  LANGUAGE plpgsql
  SET enable_seqscan TO 'off'
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
  postings private.posting[];
begin
  with claimed as (
    insert into core.booking_rows
      (partner_id, booking_id, account_id, connection_id, owner_id, period, kwh, session_count, source, delivery_id, ere_per_kwh, ean_code,
       ean_exclusive, signatory, postal_code, house_number, house_number_addition, street, city, mandate_id, mandate_signed_at,
       mandate_valid_from, mandate_valid_until, fee_pct, partner_share_pct, share_partner_id, charger_brand, charger_model, charger_serial, flags)
    select booking.partner_id, booking.id, c.account_id, c.id, c.owner_id, j.period, j.kwh, j.session_count,
           case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end, j.delivery_id, j.ere_per_kwh, c.ean_code,
           c.ean_exclusive, coalesce(c.full_name, m.signed_name), c.postal_code, c.house_number, c.house_number_addition, c.street, c.city,
           m.id, m.signed_at, m.valid_from, m.valid_until, m.fee_pct, m.partner_share_pct,
           -- a person is in the house, and belongs to whoever had brought them by that month
           case when c.user_id is null then booking.partner_id when c.attached_month <= j.period then c.brought_by
                else private.brought_by_then(c.user_id, j.period) end,
           h.brands, h.models, h.serials, j.flags
      from (select j.connection_id, array_agg(j) as months
              from private.judge_quarter(booking.partner_id, booking.quarter, chosen, held) j where j.reason is null group by j.connection_id) q
     cross join lateral (
       select c.*, a.user_id, s.full_name, t.partner_id as brought_by, t.attached_month,
              l.postal_code, l.house_number, l.house_number_addition, l.street, l.city
         from core.connections c
         join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
         join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
         left join core.signatories s on s.partner_id = c.partner_id and s.account_id = c.account_id
         left join core.attributions t on t.user_id = a.user_id
        where c.partner_id = booking.partner_id and c.id = q.connection_id offset 0) c
     cross join lateral unnest(q.months) j
     cross join lateral (
       select string_agg(coalesce(h.brand, h.ocpp_vendor), '; ' order by h.created_at, h.id) as brands,
              string_agg(coalesce((select k.model from core.charger_models k where k.id = h.catalog_charger_id), h.ocpp_model), '; '
                         order by h.created_at, h.id) as models,
              string_agg(h.serial_number, '; ' order by h.created_at, h.id) as serials
         from core.chargers h
        where h.partner_id = booking.partner_id and h.connection_id = c.id and h.mid_eligible
          and (h.status = 'active' or h.removed_at >= j.period::timestamp at time zone 'Europe/Amsterdam')) h
     cross join lateral (select * from core.mandates m where m.partner_id = booking.partner_id and m.id = j.mandate_id offset 0) m
     order by j.ean_code, j.period  -- two tenants that claim the same EANs wait for each other in one order
    -- somebody else's booking took the EAN and month a moment ago
    on conflict do nothing
    returning id, account_id, connection_id, period, kwh
  ), locked as (
    update core.delivered_months d set status = 'submitted'
      from claimed r
     where d.partner_id = booking.partner_id and d.connection_id = r.connection_id and d.period = r.period
  )
  select array_agg(row('row:' || r.id || ':submitted', 'kWh', r.kwh, 'delivered', r.account_id, 'submitted', booking.id)::private.posting)
    into postings from claimed r;
  return postings;
end $function$;

CREATE OR REPLACE FUNCTION private.client_by_client_id (
  client_id text
)
  RETURNS core.oauth_clients
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ begin return (select c from core.oauth_clients c where c.client_id = client_by_client_id.client_id); end $function$;

CREATE OR REPLACE FUNCTION private.client_named (
  input jsonb
)
  RETURNS core.oauth_clients
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named  constant text := input ->> 'client';
  client core.oauth_clients;
begin
  perform private.act_as_operator(input);
  select * into client from core.oauth_clients c where c.id = private.as_uuid(named) or c.client_id = named for update;
  perform private.refuse_if('client_not_found', not found, json_build_object('client', named));
  perform private.act_for_partner(client.partner_id);
  return client;
end $function$;

CREATE OR REPLACE FUNCTION private.complete_charger (
  draft   core.drafts,
  answers jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  connection uuid;
  model      constant uuid := (answers ->> 'catalog_charger_id')::uuid;
  serial     constant text := answers ->> 'serial_number';
  active     int;
begin
  perform private.lock_chargers(null, draft.user_id);
  connection := private.mandated_connection(draft.account_id);
  perform private.refuse_if('claim_not_open', connection is null or model is null);
  if exists (select from core.chargers h
              where h.partner_id = private.partner_id() and h.account_id = draft.account_id and h.status = 'active'
                and h.catalog_charger_id = model and h.serial_number is not distinct from serial) then
    return;
  end if;
  active := private.require_charger_room(null, draft.user_id);
  perform private.refuse_if('serial_number_required', active > 0 and serial is null);
  perform private.add_own_charger(draft.account_id, connection, answers);
  perform private.advance_registration(draft.account_id, true);
end $function$;

CREATE OR REPLACE FUNCTION private.connection_named (
  input jsonb
)
  RETURNS core.connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named      constant text := input ->> 'connection';
  candidates core.connections[] := array(
    select c from private.connections_named(named) c where c.status = 'active' or c.id = private.as_uuid(named));
  connection core.connections;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('connection_not_found', cardinality(candidates) = 0, json_build_object('connection', named));
  perform private.refuse_if('connection_ambiguous', cardinality(candidates) > 1, json_build_object('connection', named));
  perform private.act_for_partner((candidates[1]).partner_id);
  select * into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (candidates[1]).id for update;
  return connection;
end $function$;

CREATE OR REPLACE FUNCTION private.count_dashboard (
  partner uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
  house constant uuid := private.house();
  today constant date := private.today();
begin
  return (
    -- a connection with each of its mandates, newest first, so that all months are joined once
    with connection as materialized (
      select k.user_id, k.attached_month, c.id, m.valid_from, m.covered_until, m.fee_pct * m.partner_share_pct as agreed,
             c.status = 'active' and m.status = 'signed' and today between m.valid_from and m.valid_until as holds,
             row_number() over mandates = 1 as is_first,
             -- where two mandates cover a month, the mandate signed last counts
             range_agg(daterange(m.valid_from, m.covered_until, '[]')) filter (where m.covered_until >= m.valid_from)
               over (mandates rows between unbounded preceding and 1 preceding) as covered_by_newer
        from core.attributions k
        join core.accounts a on a.partner_id = house and a.user_id = k.user_id
        join core.connections c on c.partner_id = house and c.account_id = a.id
        left join core.mandates m on m.partner_id = house and m.connection_id = c.id and m.status <> 'declined'
       where k.partner_id = count_dashboard.partner
      window mandates as (partition by c.id order by m.signed_at desc, m.id)
    ), delivered as materialized (
      select d.period, c.is_first, d.locked, v.covers, case when v.covers and not d.locked then c.agreed end as agreed,
             sum(d.total_kwh) as kwh, count(*) filter (where d.total_kwh > 0) as charged
        from connection c
        join core.delivered_months d on d.partner_id = house and d.connection_id = c.id and d.period >= c.attached_month and (d.status = 'staged' or d.locked)
       cross join lateral (
         select coalesce(d.period between c.valid_from and c.covered_until and (c.covered_by_newer @> d.period) is not true, false) as covers) v
       group by d.period, c.is_first, d.locked, v.covers, 5
    ), booked as (
      -- a booked month earns by what its row says, any other by the mandate that covers it
      select r.period, sum(coalesce(d.accepted_kwh, d.total_kwh) * r.fee_pct * r.partner_share_pct) as agreed_kwh
        from core.booking_rows r
        join connection c on c.id = r.connection_id and c.is_first and r.period >= c.attached_month
        join core.delivered_months d on d.partner_id = house and d.connection_id = r.connection_id and d.period = r.period and d.locked
       where r.partner_id = house and r.live and r.share_partner_id = count_dashboard.partner
       group by r.period
    ), several as (
      -- who charged at two connections in a month is one customer
      select d.period, count(*) - count(distinct c.user_id) as too_many
        from (select k.user_id from connection k where k.is_first group by k.user_id having count(*) > 1) k
        join connection c on c.user_id = k.user_id and c.is_first
        join core.delivered_months d on d.partner_id = house and d.connection_id = c.id and d.period >= c.attached_month and (d.status = 'staged' or d.locked)
             and d.total_kwh > 0
       group by d.period
    ), month as materialized (
      select d.period, d.kwh, d.charged - coalesce(s.too_many, 0) as active, d.counted_kwh * coalesce(f.ere_per_kwh, 0) as ere,
             (d.agreed_kwh + coalesce(b.agreed_kwh, 0)) * coalesce(f.ere_per_kwh, 0) as agreed_ere
        from (select d.period, sum(d.kwh) filter (where d.is_first) as kwh, sum(d.charged) filter (where d.is_first) as charged,
                     coalesce(sum(d.kwh) filter (where case when d.locked then d.is_first else d.covers end), 0) as counted_kwh,
                     coalesce(sum(d.kwh * d.agreed), 0) as agreed_kwh
                from delivered d group by d.period) d
        left join booked b on b.period = d.period
        left join several s on s.period = d.period
        left join core.ere_factors f on f.delivery_year = extract(year from d.period)
    ), sold as (
      select coalesce(sum(a.ere * a.fee_pct * a.partner_share_pct), 0) as ere
        from core.allocations a
        join core.booking_rows r on r.partner_id = house and r.id = a.row_id and r.live
        join connection c on c.id = r.connection_id and c.is_first and r.period >= c.attached_month
       where a.partner_id = house and a.share_partner_id = count_dashboard.partner and a.reversal_id is null
    )
    select json_build_object(
      'as_of', private.iso(private.now()),
      'customers_total', (select count(*) from core.attributions k where k.partner_id = count_dashboard.partner),
      'customers_active', (select count(distinct c.user_id) from connection c where c.holds),
      'drafts', (select json_object_agg(d.status, d.drafts order by d.place) from private.drafts_by_status(count_dashboard.partner) d),
      'chargers_total', (select count(*) from core.attributions k join core.chargers h on h.partner_id = house and h.user_id = k.user_id and h.status = 'active'
                          where k.partner_id = count_dashboard.partner),
      'kwh_total', (select round(coalesce(sum(m.kwh), 0), 2) from month m),
      'kwh_this_month', (select round(coalesce(sum(m.kwh), 0), 2) from month m where m.period = date_trunc('month', today)),
      'ere_estimated', (select round(coalesce(sum(m.ere), 0), 2) from month m),
      -- the partner's part, by percentages, of what is not sold yet
      'partner_share_estimated_eur', (select trunc(greatest(coalesce(sum(m.agreed_ere), 0) - (select s.ere from sold s), 0) / 10000
                                                   * coalesce(private.last_price(house), 0), 2) from month m),
      'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                            'active_customers', m.active) order by m.period desc), '[]') from month m)));
end $function$;

CREATE OR REPLACE FUNCTION private.count_visit (
  address_hash text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  rate constant jsonb := private.debit('address:' || address_hash, 'page');
begin
  perform private.refuse_if('too_many_requests', not (rate ->> 'allowed')::boolean, json_build_object('rate', rate));
end $function$;

CREATE OR REPLACE FUNCTION private.count_wrong_code (
  subject text
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$ update core.one_time_codes c set attempts = c.attempts + 1 where c.subject = count_wrong_code.subject $function$;

CREATE OR REPLACE FUNCTION private.coverage_of (
  connection uuid
)
  RETURNS core.connection_coverage
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (select k from core.connection_coverage k where k.partner_id = private.partner_id() and k.connection_id = coverage_of.connection);
end $function$;

CREATE OR REPLACE FUNCTION private.credit_rows (
  booking core.bookings,
  lines   private.credit_line[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  credited private.credited_row[];
begin
  -- a rejected month is open for a new delivery
  perform private.lock_connections(booking.partner_id, array(
    select r.connection_id from unnest(lines) l
      cross join lateral (select * from core.booking_rows r where r.partner_id = booking.partner_id and r.id = l.row_id offset 0) r
     where l.accepted_kwh = 0));
  credited := private.write_credits(booking.partner_id, lines);
  perform private.post(booking.partner_id, array(
    select row('credit:' || c.credit_id || ':' || p.what, p.unit, p.amount, p.debit_kind, booking.id, p.credit_kind, p.credit_owner)::private.posting
      from unnest(credited) c
      cross join lateral (values
        ('registered', 'kWh', c.accepted_kwh, 'submitted', 'registered', booking.id),
        ('written_off', 'kWh', case when c.accepted_kwh > 0 then c.kwh - c.accepted_kwh else 0 end, 'submitted', 'written_off', booking.id),
        ('rejected', 'kWh', case when c.accepted_kwh > 0 then 0 else c.kwh end, 'submitted', 'delivered', c.account_id),
        ('ere', 'ERE', c.ere, 'register', 'unsold', booking.id)) p (what, unit, amount, debit_kind, credit_kind, credit_owner)));
  perform private.release_charging_sessions(array_agg(c.connection_id), array_agg(c.period)) from unnest(credited) c where c.accepted_kwh = 0;
  perform private.emit_months(booking.partner_id, 'account.months_registered', array(select c.row_id from unnest(credited) c where c.accepted_kwh > 0)),
          private.emit_months(booking.partner_id, 'account.months_rejected', array(select c.row_id from unnest(credited) c where c.accepted_kwh = 0));
  return cardinality(credited);
end $function$;

CREATE OR REPLACE FUNCTION private.customer_state (
  account uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return (
    select jsonb_build_object(
             'registration_status', c.registration_status,
             'iban_present', a.iban_ciphertext is not null,
             'charger', (select private.virtual_charger_answer(v)
                           from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
                          where v.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'
                          order by v.created_at, v.id limit 1))
      from core.accounts a
      left join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
     where a.partner_id = private.house() and a.id = account
     order by c.created_at, c.id limit 1);
end $function$;

CREATE OR REPLACE FUNCTION private.delete_login (
  person uuid
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  tenant constant uuid := private.partner_id();
begin
  delete from auth.users u where u.id = person;
  perform private.act_for_partner(private.house()), private.audit('login.replaced', person), private.act_for_partner(tenant);
  return null;
exception when insufficient_privilege then
  return sqlerrm;
end $function$;

CREATE OR REPLACE FUNCTION private.ean_booked (
  ean   text,
  month date
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return exists (select from core.booking_rows r where r.ean_code = ean and r.period = month and r.live and r.ean_exclusive);
end $function$;

CREATE OR REPLACE FUNCTION private.ean_delivered (
  ean               text,
  month             date,
  except_connection uuid
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return exists (
    select from core.connections c
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id and d.period = month
       and d.delivery_id is not null and (d.status = 'staged' or d.locked)
     where (c.ean_code = ean and c.status = 'active' and c.ean_exclusive or c.ean_code = ean and c.status = 'archived' and c.ean_exclusive)
       and c.id <> except_connection);
end $function$;

CREATE OR REPLACE FUNCTION private.earned_of (
  tenant uuid,
  kind   text,
  payee  uuid
)
  RETURNS TABLE (
    allocation_id uuid,
    arrival       bigint,
    stands        boolean,
    due           numeric,
    paid          numeric,
    state         text,
    paid_at       timestamp with time zone
  )
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  -- one pass over what was sold and what was paid, which are brought together without a join: a partner may have a hundred thousand of each
  select m.id, max(m.arrival), bool_or(m.stands), sum(m.due), sum(m.paid),
         case when sum(m.paid) <> 0 then max(m.state) when bool_or(m.failed) then 'failed' else 'pending' end,
         case when sum(m.paid) <> 0 then max(m.paid_at) end
    from (
      select a.id, s.arrival, a.reversal_id is null as stands, case when a.reversal_id is null then a.net else 0 end as due, 0.00 as paid,
             null as state, false as failed, null::timestamptz as paid_at
        from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
       where earned_of.kind = 'customer' and a.partner_id = tenant and a.account_id = payee and a.net > 0
      union all
      select a.id, s.arrival, a.reversal_id is null, case when a.reversal_id is null then a.partner_share else 0 end, 0, null, false, null
        from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
       where earned_of.kind = 'partner' and a.partner_id = tenant and a.share_partner_id = payee and a.partner_share > 0
      union all
      -- of a part of a sale that stands one line at a time counts
      select e.allocation_id, null, null, 0, case when k.counts then e.amount else 0 end,
             case when not k.counts then null when l.status = 'paid' then 'paid' when b.status = 'prepared' then 'pending' else 'approved' end,
             l.status = 'failed', l.paid_at
        from core.payout_parts o
        join core.payout_lines l on l.partner_id = o.partner_id and l.id = o.line_id
        join core.payout_batches b on b.id = l.batch_id
       cross join lateral (select l.status in ('pending', 'paid') as counts) k
        join core.payout_entries e on e.partner_id = o.partner_id and e.part_id = o.id
       where o.ledger_partner_id = tenant and o.payee_id = payee and o.kind = earned_of.kind) m
   group by m.id;
end $function$;

CREATE OR REPLACE FUNCTION private.emit_months (
  tenant uuid,
  type   text,
  rows   uuid[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- what people have is in the house, and no partner sees months of theirs
  if tenant <> private.house() then
    perform private.emit_all(tenant, emit_months.type, array(
      select row(r.account_id, r.booking_id, jsonb_build_object(
               'periods', jsonb_agg(distinct r.period order by r.period),
               'status', case emit_months.type when 'account.months_locked' then 'submitted' when 'account.months_reopened' then 'staged'
                                               else replace(emit_months.type, 'account.months_', '') end))::private.occurrence
        from core.booking_rows r where r.partner_id = tenant and r.id = any (rows)
       group by r.account_id, r.booking_id order by min(r.id::text)));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.emit_payouts (
  type  text,
  lines core.payout_lines[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  tenant uuid;
begin
  -- customers of a CPO that settles with them itself are paid through it
  for tenant in select distinct l.partner_id from unnest(lines) l where l.account_id is null order by l.partner_id loop
    perform private.emit_all(tenant, emit_payouts.type, array(
      select row(p.account_id, l.id, jsonb_build_object('status', case emit_payouts.type when 'payout.reversed' then 'pending'
                                                                                         else replace(emit_payouts.type, 'payout.', '') end))::private.occurrence
        from unnest(lines) l
        join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id and p.account_id is not null
       where l.partner_id = tenant and l.account_id is null
       order by p.account_id));
  end loop;
  perform private.tell_payouts(array(select distinct l.partner_id from unnest(lines) l where l.account_id is null));
end $function$;

CREATE OR REPLACE FUNCTION private.emit_published (
  tenant uuid,
  year   integer
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.emit_all(tenant, 'ere.sold', array(
    select row(a.account_id, null, jsonb_build_object('delivery_year', year))::private.occurrence
      from core.allocations a
      join core.accounts c on c.partner_id = a.partner_id and c.id = a.account_id and c.payout_handler = 'via_cpo_invoicing'
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     where a.partner_id = tenant and a.reversal_id is null and extract(year from r.period) = year
     group by a.account_id order by a.account_id));
end $function$;

CREATE OR REPLACE FUNCTION private.emit_sale (
  tenant      uuid,
  type        text,
  allocations uuid[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  share record;
begin
  for share in
    select a.share_partner_id as partner, b.quarter
      from core.allocations a
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
      join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
     where a.partner_id = tenant and a.id = any (allocations) and a.partner_share > 0
     group by a.share_partner_id, b.quarter order by a.share_partner_id
  loop
    perform private.tell(share.partner, share.partner, emit_sale.type, private.payout_id(share.partner, share.quarter),
                         jsonb_build_object('payout_id', private.payout_id(share.partner, share.quarter), 'period', private.quarter_name(share.quarter)));
  end loop;
  perform private.emit_all(tenant, emit_sale.type, array(
    select row(a.account_id, null, jsonb_build_object('delivery_year', f.delivery_year))::private.occurrence
      from core.allocations a
      join core.accounts c on c.partner_id = a.partner_id and c.id = a.account_id and c.payout_handler = 'via_cpo_invoicing'
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
      -- a position says nothing of a year that is not published
      join core.figures f on f.partner_id = a.partner_id and f.delivery_year = extract(year from r.period)
     where a.partner_id = tenant and a.id = any (allocations)
     group by a.account_id, f.delivery_year order by a.account_id, f.delivery_year));
end $function$;

CREATE OR REPLACE FUNCTION private.end_customer (
  person  uuid,
  address text,
  key     text
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  insert into core.suppressions (email_hash)
  select private.claim_mac('ended:' || p.id || ':' || lower(address), (private.keys_for('opt_out', key))[1])
    from (select a.partner_id from core.attributions a where a.user_id = person
          union select a.partner_id from core.ended_attributions a where a.user_id = person
          union select d.partner_id from core.drafts d where d.user_id = person) p (id)
   where key is not null
  on conflict do nothing
$function$;

CREATE OR REPLACE FUNCTION private.end_sign_ins (
  address text,
  kept    text DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  delete from core.one_time_codes c where c.email = address and starts_with(c.subject, 'browser:') and c.subject is distinct from 'browser:' || kept;
  delete from core.page_sessions s where s.signatory = address;
end $function$;

CREATE OR REPLACE FUNCTION private.end_ways_in (
  person uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.personal_tokens t set revoked_at = private.now() where t.user_id = person and t.revoked_at is null;
  perform private.end_grant(g.id, 'login_secured') from core.oauth_grants g where g.user_id = person and g.revoked_at is null;
  delete from core.oauth_codes c using core.oauth_grants g where g.id = c.grant_id and g.user_id = person;
  delete from core.page_sessions s where s.user_id = person;
  -- the charger stays; it connects again with a password that its owner is shown
  update core.chargers c set ocpp_password_hash = extensions.digest(extensions.gen_random_bytes(32), 'sha256')
   where c.user_id = person and c.ocpp_password_hash is not null;
end $function$;

CREATE OR REPLACE FUNCTION private.enqueue_mails (
  mail    jsonb,
  letters jsonb
)
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  about    constant jsonb   := coalesce(mail -> 'content', mail - '{template,locale,key}'::text[]);
  captured constant boolean := private.is_sandbox();
  kind     constant text    := private.counted_kind(letters #>> '{0,cause}');
  fits     bigint[];
begin
  if kind is not null and letters #> '{0,counted}' is null then
    fits := array(select private.mails_that_fit(kind, array(select l.letter ->> 'recipient' from jsonb_array_elements(letters) with ordinality as l (letter, place) order by l.place),
                                                mail ->> 'key', (letters #>> '{0,connection}')::uuid));
  end if;
  insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status, done_at)
  select private.partner_id(), case when d.dropped then l.cause || ':dropped:' || gen_random_uuid() else l.cause end,
         mail ->> 'template', mail ->> 'locale', l.recipient,
         case when d.dropped then '{}' else about || l.content end,
         case when l.to_nobody then 'nobody' when d.dropped then 'dropped' when captured then 'captured' else 'queued' end,
         case when l.to_nobody or d.dropped or captured then private.now() end
    from rows from (jsonb_to_recordset(letters) as (recipient text, cause text, content jsonb, to_nobody boolean, counted boolean))
         with ordinality as l (recipient, cause, content, to_nobody, counted, place)
    cross join lateral (select not coalesce(l.counted, l.place = any (fits), true) as dropped offset 0) as d
  on conflict on constraint mail_outbox_cause_key do nothing;
  perform private.kick() where found and not captured;
  return (select count(*) from rows from (jsonb_to_recordset(letters) as (counted boolean)) with ordinality as l (counted, place) where not coalesce(l.counted, l.place = any (fits), true));
end $function$;

CREATE OR REPLACE FUNCTION private.enter_signed_account (
  account uuid
)
  RETURNS core.accounts
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  signed core.accounts;
begin
  select * into signed from private.signed_accounts(private.signatory()) a where a.id = account;
  perform private.refuse_if('account_not_found', signed.id is null);
  perform private.act_for_person(signed.partner_id, null), private.act_for_tenant(signed.partner_id), set_config('app.caller_kind', 'signatory', true);
  return signed;
end $function$;

CREATE OR REPLACE FUNCTION private.enter_signed_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS core.drafts
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, false);
  perform private.refuse_if('claim_not_open', private.draft_state(draft) is distinct from 'active' or not private.is_proven(draft, request -> 'session'));
  perform private.enter_account(draft);
  return draft;
end $function$;

CREATE OR REPLACE FUNCTION private.enter_signed_document (
  mandate uuid,
  line    uuid,
  part    uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account uuid;
begin
  select a.id into account
    from private.signed_accounts(private.signatory()) a
    join core.documents d on d.partner_id = a.partner_id and d.account_id = a.id
   where d.mandate_id = mandate or d.line_id = line or d.part_id = part;
  perform private.enter_signed_account(account) where account is not null;
end $function$;

CREATE OR REPLACE FUNCTION private.evidence_lines (
  booking core.bookings,
  part    text,
  after   uuid,
  size    integer
)
  RETURNS TABLE (
    key  uuid,
    line json
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select r.id, to_json(j)
    from (select * from core.booking_rows r
           where part = 'rows' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.id > after order by r.id limit size) r
    left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
   cross join lateral (
     select r.id as row_id, r.account_id, r.connection_id, r.ean_code, to_char(r.period, 'YYYY-MM') as period, r.status, r.kwh, r.session_count, r.source,
            r.ere_per_kwh, r.delivery_id, r.signatory, r.postal_code, r.house_number, r.house_number_addition, r.street, r.city,
            r.mandate_id, r.fee_pct, r.partner_share_pct, r.charger_brand, r.charger_model, r.charger_serial, r.flags,
            c.accepted_kwh, c.ere, c.reason) j
  union all
  select m.id, json_build_object(
           'mandate_id', m.id, 'connection_id', m.connection_id, 'status', m.status, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
           'signed_at', private.iso(m.signed_at), 'signed_name', m.signed_name, 'code_confirmed', m.code_confirmed, 'code_sent_to', m.code_sent_to,
           'address', m.address, 'user_agent', m.user_agent, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason,
           'document', m.document, 'document_sha256', m.document_sha256, 'pdf_sha256', d.sha256)
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'mandates' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    join core.mandates m on m.partner_id = booking.partner_id and m.id = k.mandate_id
    left join core.documents d on d.partner_id = m.partner_id and d.mandate_id = m.id
  union all
  -- of one that is not rendered yet there is a line too, without a document
  select k.mandate_id, json_build_object('mandate_id', k.mandate_id, 'sha256', d.sha256, 'pdf', translate(encode(d.pdf, 'base64'), e'\n', ''))
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'pdfs' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    left join core.documents d on d.partner_id = booking.partner_id and d.mandate_id = k.mandate_id
  union all
  select d.id, json_build_object(
           'delivery_id', d.id, 'connection_id', d.connection_id, 'client_id', d.client_id, 'request_id', d.request_id,
           'received_at', private.iso(d.received_at), 'body', d.body, 'body_sha256', d.body_sha256)
    from (select distinct r.delivery_id from core.booking_rows r
           where part = 'deliveries' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.delivery_id > after order by r.delivery_id limit size) k
    join core.deliveries d on d.partner_id = booking.partner_id and d.id = k.delivery_id
  union all
  select k.connection_id, json_build_object(
           'connection_id', k.connection_id,
           'chargers', (select coalesce(json_agg(json_build_object(
                'charger_id', h.id, 'status', h.status, 'brand', h.brand, 'serial_number', h.serial_number, 'ocpp_vendor', h.ocpp_vendor,
                'ocpp_model', h.ocpp_model, 'ocpp_meter_type', h.ocpp_meter_type, 'mid_eligible', h.mid_eligible, 'power_kw', h.power_kw,
                'model', m.model, 'mid_evidence', m.mid_evidence, 'mid_source', m.mid_source) order by h.created_at, h.id), '[]')
              from core.chargers h left join core.charger_models m on m.id = h.catalog_charger_id
             where h.partner_id = booking.partner_id and h.connection_id = k.connection_id),
           'ean_checks', (select coalesce(json_agg(json_build_object(
                'ean_code', e.ean_code, 'source', e.source, 'outcome', e.outcome, 'reason', e.reason, 'checked_at', private.iso(e.checked_at)) order by e.id), '[]')
              from core.ean_checks e where e.partner_id = booking.partner_id and e.connection_id = k.connection_id),
           'replaced_months', (select coalesce(json_agg(json_build_object(
                'period', to_char(r.period, 'YYYY-MM'), 'total_kwh', r.total_kwh, 'delivery_id', r.delivery_id, 'replaced_by', r.replaced_by,
                'replaced_at', private.iso(r.replaced_at)) order by r.period, r.replaced_at, r.received_at, r.replaced_by), '[]')
              from core.replaced_months r
             where r.partner_id = booking.partner_id and r.connection_id = k.connection_id
               and r.period >= booking.quarter and r.period < booking.quarter + interval '3 months'),
           'charging_sessions', (select coalesce(json_agg(json_build_object(
                'session_id', s.id, 'charger_id', s.charger_id, 'source', s.source, 'external_id', s.external_id, 'started_at', private.iso(s.started_at),
                'ended_at', private.iso(s.ended_at), 'wh', s.wh, 'flags', s.flags, 'received_at', private.iso(s.received_at)) order by s.started_at, s.id), '[]')
              from core.charging_sessions s
             where s.partner_id = booking.partner_id and s.connection_id = k.connection_id
               and s.month >= booking.quarter and s.month < booking.quarter + interval '3 months'))
    from (select distinct r.connection_id from core.booking_rows r
           where part = 'connections' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.connection_id > after order by r.connection_id limit size) k
  union all
  select k.subject, json_build_object(
           'subject', k.subject,
           'rows', (select coalesce(json_agg(json_build_object(
                'id', a.id, 'at', private.iso(a.at), 'actor', a.actor, 'action', a.action, 'details', a.details, 'request_id', a.request_id,
                'position', l.position, 'hash', encode(l.hash, 'hex')) order by a.id), '[]')
              from core.audit_log a
              left join core.audit_links l on l.partner_id = a.partner_id and l.log = 'audit' and l.row_id = a.id
              -- that somebody looked at this is no part of it, so that it stays the same
             where a.subject_id = k.subject and a.partner_id = booking.partner_id and a.action <> 'booking.evidence_shown'))
    from (select distinct s.subject
            from core.booking_rows r cross join lateral (values (r.booking_id), (r.account_id), (r.connection_id), (r.mandate_id)) s (subject)
           where part = 'audit' and r.partner_id = booking.partner_id and r.booking_id = booking.id and s.subject > after order by s.subject limit size) k
$function$;

CREATE OR REPLACE FUNCTION private.fail_lines (
  ids    text[],
  reason text
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named  text;
  line   core.payout_lines;
  status text;
  failed int := 0;
begin
  foreach named in array ids loop
    select * into line from core.payout_lines l
     where l.partner_id = any (array(select p.id from core.partners p)) and l.id = private.line_id_of(named);
    perform private.refuse_if('payout_line_not_found', not found, json_build_object('line', named));
    select b.status into status from core.payout_batches b where b.id = line.batch_id;
    perform private.refuse_if('payout_not_exported', status not in ('exported', 'settled'),
      json_build_object('batch', line.batch_id, 'status', status));
    if line.status <> 'failed' then
      perform private.fail_line(line, reason);
      failed := failed + 1;
    end if;
  end loop;
  return failed;
end $function$;

CREATE OR REPLACE FUNCTION private.find_account (
  id        uuid,
  reference text DEFAULT NULL::text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  account uuid;
begin
  select a.id into account from core.accounts a
   where (find_account.id is null or a.id = find_account.id)
     and (reference is null or a.client_id = private.client_id() and a.cpo_external_ref = reference);
  perform private.refuse_if('account_not_found', not found);
  return account;
end $function$;

CREATE OR REPLACE FUNCTION private.find_connection (
  id        uuid,
  account   uuid,
  reference text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  found_ids uuid[];
begin
  -- by way of the account, whose row-level security checks the client as well as the tenant
  select array_agg(c.id order by c.created_at, c.id) into found_ids
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where (account is null or a.id = account)
     and (reference is null or a.client_id = private.client_id() and a.cpo_external_ref = reference)
     and (find_connection.id is null or c.id = find_connection.id);
  perform private.refuse_if('connection_not_found', found_ids is null);
  perform private.refuse_if('ambiguous_connection', cardinality(found_ids) > 1);
  return found_ids[1];
end $function$;

CREATE OR REPLACE FUNCTION private.forget_claimed_drafts (
  size integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  draft   core.drafts;
  deleted int := 0;
begin
  for draft in
    select * from core.drafts d
     where d.status = 'claimed' and d.claimed_at <= private.now() - interval '180 days'
     order by d.partner_id, d.id limit size for update skip locked
  loop
    delete from core.mail_outbox m where m.partner_id = draft.partner_id and m.status = 'queued' and m.cause like 'claim%:' || draft.id || '%';
    delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
    perform private.release_customer(draft.user_id, draft.partner_id);
    insert into core.audit_log (actor, action, partner_id, subject_id, details)
    values ('worker', 'draft.deleted', draft.partner_id, draft.id, jsonb_build_object('status', draft.status));
    deleted := deleted + 1;
  end loop;
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.give_back (
  subject text,
  bucket  text
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  update core.rate_limit_state s set full_at = s.full_at - private.step(l.quota, l.window_seconds) * interval '1 microsecond'
    from core.rate_limits l
   where s.subject = give_back.subject and s.bucket = give_back.bucket and l.bucket = give_back.bucket
$function$;

CREATE OR REPLACE FUNCTION private.identify_charger (
  charger core.chargers,
  boot    jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  resolved constant private.charger_resolution :=
    private.resolve_charger(boot ->> 'ocpp_vendor', boot ->> 'ocpp_model', boot ->> 'ocpp_meter_type');
begin
  update core.chargers h
     set catalog_charger_id = m.id, brand = m.brand, mid_eligible = m.mid_meter, ocpp_vendor = boot ->> 'ocpp_vendor',
         ocpp_model = boot ->> 'ocpp_model', ocpp_meter_type = boot ->> 'ocpp_meter_type'
    from core.charger_models m
   where resolved.resolved and m.id = resolved.catalog_charger_id
     and h.partner_id = charger.partner_id and h.id = charger.id and h.catalog_charger_id is null
  returning h.* into charger;
  if found then
    perform private.audit('charger.identified', charger.id);
    perform private.emit_charger('charger.mid_confirmed', charger) where charger.mid_eligible is not null;
    perform private.advance_registration(charger.account_id, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.is_nobody_elses (
  partner uuid,
  address text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return not exists (
    select from auth.users u
     where u.email = address
       and (u.raw_app_meta_data ->> 'claimed_for' is distinct from partner::text
            or exists (select from core.partner_managers m where m.user_id = u.id and m.partner_id <> partner)
            or exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
            or exists (select from core.ended_attributions a where a.user_id = u.id and a.partner_id <> partner)
            -- what a person owns in the house is the reader's where the reader alone brought that person
            or exists (select from core.accounts a where a.user_id = u.id)
               and not exists (select from core.attributions a where a.user_id = u.id and a.partner_id = partner)))
     and not exists (
    select from core.signatories s
      join core.accounts a on a.partner_id = s.partner_id and a.id = s.account_id
     where s.email = address and s.partner_id <> partner
       and not exists (select from core.attributions t where t.user_id = a.user_id and t.partner_id = partner))
     and not exists (
    select from core.manager_invitations i
     where i.email = address and i.partner_id <> partner and i.used_at is null and i.withdrawn_at is null and i.expires_at > private.now());
end $function$;

CREATE OR REPLACE FUNCTION private.is_suppressed (
  email_hash bytea
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$ begin return exists (select from core.suppressions s where s.email_hash = is_suppressed.email_hash); end $function$;

CREATE OR REPLACE FUNCTION private.isolate (
  tenant_table regclass,
  privileges   text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  execute format('alter table %s enable row level security', tenant_table);
  -- not as a sub-select: inlined, it is a condition of the index, looked up once a scan, and the planner sees that joined tables have it alike
  execute format('create policy "a tenant reaches its own rows" on %s to api_owner '
                 'using (partner_id = private.partner_id()) with check (partner_id = private.partner_id())', tenant_table);
  execute format('grant %s on %s to api_owner', privileges, tenant_table);
  if exists (select from pg_catalog.pg_attribute a where a.attrelid = tenant_table and a.attname = 'owner_id' and not a.attisdropped) then
    perform private.keep_to_owner(tenant_table, 'owner_id');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_quarter (
  tenant  uuid,
  quarter date,
  chosen  uuid[] DEFAULT NULL::uuid[],
  held    uuid[] DEFAULT NULL::uuid[]
)
  RETURNS SETOF private.judged_month
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  today  constant date := private.today();
  -- a sandbox settlement names accounts. In January it takes the running month: mandates begin on 1 January, so no other month exists
  over   constant date := case when chosen is not null and extract(month from today) = 1 then date_trunc('year', today) + interval '1 month' else today end;
  factor core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return query
  -- what is a connection's is looked up once for all its months of the quarter
  select c.id, c.account_id, c.ean_code, m.period, m.total_kwh, m.session_count, m.delivery_id, s.mandate_id, factor.ere_per_kwh,
         case when m.total_kwh > 0 then array_remove(array[
           case when m.total_kwh > h.kw * l.hours then 'beyond_power' end,
           case when m.total_kwh > 5 * b.average then 'above_average' end,
           case when m.session_count > l.hours then 'too_many_sessions' end,
           case when b.repeats = 2 then 'repeated_total' end,
           case when m.session_count = 0 then 'no_sessions' end], null) else '{}' end,
         case when m.locked or c.ean_exclusive and private.ean_booked(c.ean_code, m.period) then 'already_booked'
              when (m.period + interval '1 month')::date > over then 'month_not_over'
              when factor.bookable_until < today then 'year_closed'
              when s.signed is null then 'no_mandate'
              when s.mandate_id is null then 'outside_mandate'
              when g.ean_validated is not true then 'gate:ean_validated'  -- an archived connection has no gates
              when h.mid_until >= m.period::timestamp at time zone 'Europe/Amsterdam' is not true then 'gate:mid_charger_registered'
              when not g.iban_present then 'gate:iban_present'
              when c.registration_status in ('concept', 'ingediend') then 'registration_open'
              when c.registration_status = 'afgekeurd' then 'registration_rejected'
              when m.status = 'rejected' then 'rejected_by_register'
              when m.total_kwh = 0 then 'zero_kwh'
              when m.delivery_id is null and c.ean_exclusive and private.ean_delivered(c.ean_code, m.period, c.id) then 'already_delivered' end
    from (select d.connection_id, array_agg(d) as months
            from core.delivered_months d
           where d.partner_id = tenant and d.period >= quarter and d.period < (quarter + interval '3 months')::date
             and (held is null or d.connection_id = any (held))
           group by d.connection_id) q
   cross join lateral (
     select * from core.connections c
      where c.partner_id = tenant and c.id = q.connection_id and (chosen is null or c.account_id = any (chosen)) offset 0) c
    left join lateral (select * from core.connection_gates g where g.partner_id = tenant and g.connection_id = c.id offset 0) g on true
   cross join lateral (
     -- of a charger that nobody described as much as of its sessions is believed; one that was taken off counts for as long as it stood there
     select coalesce(sum(coalesce(h.power_kw, 50)) filter (where h.status = 'active'), sum(coalesce(h.power_kw, 50))) as kw,
            max(case h.status when 'active' then 'infinity' else h.removed_at end) filter (where h.mid_eligible) as mid_until
       from core.chargers h where h.partner_id = tenant and h.connection_id = c.id) h
   cross join lateral unnest(q.months) m
    join private.months_of(quarter) l on l.period = m.period
   cross join lateral (
     select avg(p.total_kwh) as average,
            count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
       from core.delivered_months p
      where p.partner_id = tenant and p.connection_id = c.id
        and p.period >= (m.period - interval '12 months')::date and p.period < m.period) b
    left join lateral (
      -- one that covers the month before one that does not, the newest first
      select true as signed, case when k.covers then s.id end as mandate_id
        from core.mandates s
       cross join lateral (select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
       where s.partner_id = tenant and s.connection_id = c.id and s.status <> 'declined'
       order by k.covers desc, s.signed_at desc, s.id limit 1) s on true;
end $function$;

CREATE OR REPLACE FUNCTION private.keep_to_owner (
  tenant_table regclass,
  owner_column name
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  execute format('create policy "an owner reaches only their own rows" on %1$s as restrictive to api_owner '
                 -- Where the reach is null every row is like itself. As a sub-select, because it is asked of every row, and once, because each
                 -- costs a plan of its own. A case, of which the planner expects half the rows: of a comparison it would expect one
                 -- in two hundred, and join ten thousand with nested loops.
                 'using (case when coalesce((select private.reach()), %2$I) is not distinct from %2$I then true else false end)',
                 tenant_table, owner_column);
end $function$;

CREATE OR REPLACE FUNCTION private.kept_document (
  document core.documents,
  name     text
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  perform private.refuse_if('document_not_ready', document.pdf is null);
  return json_build_object('pdf', translate(encode(document.pdf, 'base64'), E'\n', ''), 'sha256', document.sha256, 'name', name);
end $function$;

CREATE OR REPLACE FUNCTION private.key_holder (
  credential jsonb,
  OUT        partner_id uuid,
  OUT        partner_active boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  select k.partner_id, p.is_active into key_holder.partner_id, key_holder.partner_active
    from core.partner_keys k join core.partners p on p.id = k.partner_id
   where k.key_hash = decode(credential ->> 'key_hash', 'hex') and k.revoked_at is null
     -- the sandbox handed out keys of the other prefix until September 2026
     and (credential ->> 'key_host' = credential ->> 'host' or credential ->> 'host' = 'sandbox' and k.created_at < '2026-09-01Z');
end $function$;

CREATE OR REPLACE FUNCTION private.known_charger (
  account uuid,
  serial  text
)
  RETURNS core.chargers
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  -- through the account, where row-level security holds the client as well as the tenant
  return (select h from core.accounts a join core.chargers h on h.partner_id = a.partner_id and h.account_id = a.id
           where a.id = account and h.serial_number = serial and h.status = 'active');
end $function$;

CREATE OR REPLACE FUNCTION private.lapse_mandates (
  connection uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.mandates m set lapsed_at = private.now()
   where m.partner_id = private.partner_id() and m.connection_id = connection and m.covered_until is not null;
  perform private.judge_months(connection) where found;
end $function$;

CREATE OR REPLACE FUNCTION private.limit_state (
  subject text,
  bucket  text,
  OUT     quota integer,
  OUT     window_seconds integer,
  OUT     full_in bigint,
  OUT     fits boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  -- as sub-selects, which are looked up by their keys: joined, small tables are read whole and hashed
  select coalesce((select o.quota from core.rate_limit_overrides o where o.subject = limit_state.subject and o.bucket = l.bucket), l.quota),
         l.window_seconds,
         coalesce(greatest(extract(epoch from (
           select s.full_at from core.rate_limit_state s where s.subject = limit_state.subject and s.bucket = l.bucket) - private.now()) * 1000000, 0), 0)
    into strict limit_state.quota, limit_state.window_seconds, limit_state.full_in
    from core.rate_limits l
   where l.bucket = limit_state.bucket;
  fits := full_in + private.step(quota, window_seconds) <= window_seconds * 1000000::bigint;
end $function$;

CREATE OR REPLACE FUNCTION private.lock_invitation (
  caller     jsonb,
  token_hash text
)
  RETURNS core.manager_invitations
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  entered    record;
  invitation core.manager_invitations;
begin
  perform private.act_as(caller, 'anyone');
  select * into entered from private.enter_invitation(lock_invitation.token_hash);
  perform private.act_for_tenant(entered.partner_id);
  select * into invitation from core.manager_invitations i where i.partner_id = entered.partner_id and i.id = entered.id for update;
  perform private.refuse_if('link_not_open', invitation.id is null or private.invitation_state(invitation) <> 'open');
  return invitation;
end $function$;

CREATE OR REPLACE FUNCTION private.login_create (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  role    constant name := 'operator_' || (input ->> 'name');
  setting text;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('invalid_login', coalesce(input ->> 'name', '') !~ '^[a-z][a-z0-9]{0,30}$');
  perform private.refuse_if('login_taken', exists (select from pg_catalog.pg_roles r where r.rolname = role),
    json_build_object('login', input ->> 'name'));
  execute format('create role %I login password %L', role, input ->> 'verifier');
  execute format('grant operator to %I with inherit true, set false', role);
  -- how long a statement may take is not inherited
  for setting in
    select unnest(s.setconfig) from pg_catalog.pg_db_role_setting s where s.setrole = 'operator'::regrole and s.setdatabase = 0
  loop
    execute format('alter role %I set %I = %L', role, split_part(setting, '=', 1), split_part(setting, '=', 2));
  end loop;
  perform private.audit('operator.login_created', null, jsonb_build_object('role', role));
  return json_build_object('login', private.login_row(role));
end $function$;

CREATE OR REPLACE FUNCTION private.login_disable (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  role    constant name := 'operator_' || (input ->> 'name');
  enabled boolean;
begin
  perform private.act_as_operator(input);
  select r.rolcanlogin into enabled from pg_catalog.pg_roles r where r.rolname = role;
  perform private.refuse_if('login_not_found', not found, json_build_object('login', input ->> 'name'));
  if enabled then
    execute format('alter role %I nologin', role);
    perform private.audit('operator.login_disabled', null, jsonb_build_object('role', role));
  end if;
  return json_build_object('changed', enabled, 'login', private.login_row(role));
end $function$;

CREATE OR REPLACE FUNCTION private.login_owns (
  person uuid
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return exists (select from core.accounts a where a.user_id = person)
      or exists (select from core.chargers c where c.user_id = person)
      or exists (select from core.attributions a where a.user_id = person)
      or exists (select from core.ended_attributions a where a.user_id = person)
      or exists (select from core.partner_managers m where m.user_id = person);
end $function$;

CREATE OR REPLACE FUNCTION private.mail_account_code (
  account core.accounts,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  address constant text := private.signatory();
begin
  return private.mail_code('browser:' || (request ->> 'token_hash'), address, 'account_code', request,
    jsonb_build_object('partner_name', (select p.name from core.partners p where p.id = account.partner_id)),
    counted => private.own_code_fits('account_code', address, request #>> '{mail,key}'));
end $function$;

CREATE OR REPLACE FUNCTION private.mail_code (
  subject    text,
  address    text,
  cause      text,
  request    jsonb,
  content    jsonb   DEFAULT '{}'::jsonb,
  connection uuid    DEFAULT NULL::uuid,
  counted    boolean DEFAULT NULL::boolean
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if not private.enqueue_mail(request -> 'mail', address, cause || ':' || (request ->> 'code_hash'), content, connection => connection, counted => counted) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_code(subject, address, request ->> 'code_hash');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION private.make_batch (
  payees    private.payee[],
  from_euro numeric,
  by_login  text,
  owners    uuid[]          DEFAULT NULL::uuid[]
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  made   uuid;
  ledger record;
begin
  insert into core.payout_batches (minimum, prepared_by) values (from_euro, by_login) returning id into made;
  for ledger in
    with part as materialized (
      select gen_random_uuid() as line_id, coalesce(y.account_id, y.partner_id) as payee_id, y.* from unnest(payees) y
    ), balance as materialized (
      select l.line_id, b.* from part l
        join private.payable_balances(owners) b on b.partner_id = l.partner_id and coalesce(b.account_id, b.partner_id) = l.payee_id
    ), lines as (
      insert into core.payout_lines (partner_id, id, batch_id, account_id, owner_id, amount, name, iban_ciphertext, iban_key_id, iban_last4)
      select l.partner_id, l.line_id, made, l.account_id, l.owner_id, b.amount, l.name, l.iban_ciphertext, l.iban_key_id, l.iban_last4
        from part l join (select b.line_id, sum(b.amount) as amount from balance b group by b.line_id) b on b.line_id = l.line_id
       order by l.name, l.line_id
    ), piece as materialized (
      select gen_random_uuid() as id, b.*, a.owner_id
        from balance b
        left join core.accounts a on a.partner_id = b.partner_id and a.id = b.of_account_id
    ), entry as materialized (
      select p.partner_id, p.id as part_id, p.ledger_partner_id, d.allocation_id, p.owner_id, d.due - d.paid as amount, d.stands
        from piece p
       cross join lateral private.earned_of(p.ledger_partner_id, p.kind, coalesce(p.of_account_id, p.partner_id)) d
       where d.due <> d.paid
    ), parts as (
      insert into core.payout_parts (partner_id, id, line_id, ledger_partner_id, kind, account_id, owner_id, amount, forgotten)
      select p.partner_id, p.id, p.line_id, p.ledger_partner_id, p.kind, p.of_account_id, p.owner_id, p.amount,
             case p.kind when 'vat' then 0 else p.amount - coalesce(e.amount, 0) end
        from piece p
        left join (select e.part_id, sum(e.amount) as amount from entry e group by e.part_id) e on e.part_id = p.id
      returning *
    ), entries as (
      insert into core.payout_entries (partner_id, part_id, ledger_partner_id, allocation_id, owner_id, amount, sold) select * from entry
    )
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id, p.amount, p.kind, p.payee_id, 'payout', y.payee_id)) as postings
      from parts p join part y on y.line_id = p.line_id
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  return made;
end $function$;

CREATE OR REPLACE FUNCTION private.mandate_document (
  mandate uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  name text;
begin
  select concat_ws('-', 'mandate', to_char(m.valid_from, 'YYYY'), nullif(to_char(m.valid_until, 'YYYY'), to_char(m.valid_from, 'YYYY'))) into name
    from core.mandates m where m.partner_id = private.partner_id() and m.id = mandate;
  perform private.refuse_if('mandate_not_found', name is null);
  return private.kept_document((
    select d from core.documents d where d.partner_id = private.partner_id() and d.mandate_id = mandate), name);
end $function$;

CREATE OR REPLACE FUNCTION private.mandated_connection (
  account       uuid,
  to_sign_again boolean DEFAULT false
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  connection uuid;
begin
  -- locked as every other change of a mandate does
  perform from core.connections c where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' for update;
  select c.id into connection
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
   where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active'
     and case when to_sign_again then private.may_sign_again(c.id) else m.mandate_status = 'signed' end
   order by m.signed_at desc, c.id limit 1;
  return connection;
end $function$;

CREATE OR REPLACE FUNCTION private.may_yield (
  account_partner uuid,
  account         uuid,
  spent           uuid[]
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return exists (
      select from core.connections c
        join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = account_partner and c.account_id = account and m.status = 'signed' and m.valid_until >= private.today())
    or exists (
      select from core.connections c
        join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
        join core.ere_factors f on f.delivery_year = extract(year from m.period)
       where c.partner_id = account_partner and c.account_id = account and m.status = 'staged' and m.total_kwh > 0
         -- of an archived connection, of one that is not registered and without a mandate will not be, or without a charger then, no month is booked
         and c.status = 'active' and c.registration_status in ('ingediend', 'goedgekeurd')
         and exists (select from core.chargers h
                      where h.partner_id = c.partner_id and h.connection_id = c.id
                        and (h.status = 'active' or h.removed_at >= m.period::timestamp at time zone 'Europe/Amsterdam'))
         and (f.bookable_until is null or f.bookable_until >= private.today()))
    or exists (
      select from core.connections c
        join core.booking_rows r on r.partner_id = c.partner_id and r.connection_id = c.id and r.live
        left join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
       where c.partner_id = account_partner and c.account_id = account
         and (k.id is null or k.ere > (select coalesce(sum(a.ere), 0) from core.allocations a
                                        where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null)
                              and r.booking_id <> all (spent)));
end $function$;

CREATE OR REPLACE FUNCTION private.name_charger (
  charger core.chargers,
  input   jsonb
)
  RETURNS text[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  given core.charger_names[];
  taken text;
begin
  given := array(
    select distinct on (n.kind, n.value, n.party)
           row(charger.partner_id, charger.owner_id, n.party, n.kind, private.charger_name_value(n.kind, n.value), charger.id, n.evse_no, null)::core.charger_names
      from (select '' as party, 'external_ref' as kind, input ->> 'external_ref' as value, null::int as evse_no
            union all
            select coalesce(upper(e.evse ->> 'party'), ''), k.kind, e.evse ->> k.kind, e.place::int
              from jsonb_array_elements(coalesce(nullif(input -> 'evses', 'null'), '[]')) with ordinality e (evse, place)
             cross join (values ('evse_uid'), ('evse_id'), ('meter_id')) k (kind)) n
     where n.value is not null and private.charger_name_value(n.kind, n.value) <> ''
     order by n.kind, n.value, n.party, n.evse_no);
  -- what is given replaces what was there; what is left out stays
  delete from core.charger_names n
   where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.ended_at is null
     and (n.kind = 'external_ref' and input ? 'external_ref' or n.kind <> 'external_ref' and jsonb_typeof(input -> 'evses') = 'array');
  insert into core.charger_names (partner_id, owner_id, party, kind, value, charger_id, evse_no)
  select g.partner_id, g.owner_id, g.party, g.kind, g.value, g.charger_id, g.evse_no from unnest(given) g
   order by g.kind, g.value, g.party
  on conflict do nothing;
  select g.kind into taken from unnest(given) g
   where not exists (
     select from core.charger_names n
      where n.partner_id = g.partner_id and n.owner_id = g.owner_id and n.kind = g.kind and n.value = g.value and n.party = g.party
        and n.charger_id = charger.id and n.ended_at is null)
   order by g.kind limit 1;
  perform private.refuse_if('name_taken', taken is not null, json_build_object('kind', taken));
  return array(select g.kind || ':' || g.value from unnest(given) g
               union select 'serial_number:' || charger.serial_number where charger.serial_number is not null);
end $function$;

CREATE OR REPLACE FUNCTION private.newest_attempts (
  endpoint core.webhook_endpoints,
  size     integer
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (select coalesce(json_agg(private.attempt_json(a) order by a.id desc), '[]')
            from (select * from core.webhook_attempts a where a.partner_id = endpoint.partner_id and a.endpoint_id = endpoint.id
                   order by a.id desc limit size) a);
end $function$;

CREATE OR REPLACE FUNCTION private.newest_mails (
  input jsonb,
  size  integer
)
  RETURNS SETOF core.mail_outbox
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  partner constant uuid := private.chosen_partner(input);
  wanted  constant text := lower(input ->> 'to');
begin
  if (input ->> 'failed')::boolean then
    return query
      select * from core.mail_outbox m
       where (m.status = 'failed' or m.status = 'queued' and m.last_error is not null)
         and (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted)
       order by m.created_at desc, m.id desc limit size;
  else
    return query
      select * from core.mail_outbox m
       where (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted) and m.status <> 'nobody'
       order by m.created_at desc, m.id desc limit size;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.note_eligibility (
  tenant   uuid,
  accounts uuid[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  turned private.occurrence[];
begin
  with now_so as (
    update core.accounts a set eligibility_told = g.ere_eligible
      from core.account_gates g
     where a.partner_id = tenant and a.id = any (accounts) and a.client_id is not null
       and g.partner_id = tenant and g.account_id = a.id and g.ere_eligible <> a.eligibility_told
    returning a.id, g.ere_eligible, g.checklist
  )
  select array_agg(row(n.id, null, jsonb_build_object('ere_eligible', n.ere_eligible, 'checklist', n.checklist))::private.occurrence order by n.id)
    into turned from now_so n;
  perform private.emit_all(tenant, 'account.eligibility_changed', turned) where turned is not null;
end $function$;

CREATE OR REPLACE FUNCTION private.notify_payments (
  batch uuid,
  kind  text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  expected constant jsonb := case kind when 'payout_sent' then
    jsonb_build_object('from', private.working_day(private.today(), 1), 'until', private.working_day(private.today(), 3)) else '{}' end;
begin
  insert into core.notices (partner_id, account_id, owner_id, kind, cause, details)
  select l.partner_id, l.account_id, l.owner_id, notify_payments.kind, notify_payments.kind || ':' || l.id,
         jsonb_build_object('amount_eur', l.amount, 'iban_last4', l.iban_last4) || expected
    from core.payout_lines l
   where l.batch_id = batch and l.account_id is not null and l.status = case kind when 'payout_sent' then 'pending' else 'paid' end
  on conflict on constraint notices_cause_key do nothing;
end $function$;

CREATE OR REPLACE FUNCTION private.operator_login()
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  perform private.refuse_if('own_login_needed', session_user !~ '^operator_', json_build_object('login', session_user));
  return session_user;
end $function$;

CREATE OR REPLACE FUNCTION private.operator_reason (
  value text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
  perform private.refuse_if('invalid_reason', coalesce(length(btrim(value)), 0) not between 1 and 500 or value ~ '[[:cntrl:]]');
  return btrim(value);
end $function$;

CREATE OR REPLACE FUNCTION private.overview_document (
  account core.accounts,
  year    integer
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  said     text;
  document core.documents;
begin
  perform private.refuse_if('statement_not_found', account.id is null or year not in (select private.overview_years(account)));
  said := encode(sha256(convert_to(private.overview_content(account, year)::text, 'UTF8')), 'hex');
  insert into core.documents (partner_id, account_id, owner_id, year, year_sha256)
  values (account.partner_id, account.id, account.owner_id, overview_document.year, said)
  on conflict on constraint documents_year_key do update
    set year_sha256 = excluded.year_sha256, pdf = null, sha256 = null, rendered_at = null, created_at = excluded.created_at, due_at = excluded.due_at
    where documents.year_sha256 <> excluded.year_sha256;
  select * into document from core.documents d
   where d.partner_id = account.partner_id and d.account_id = account.id and d.year = overview_document.year;
  if document.pdf is null then
    return private.refusal('document_not_ready');  -- that it was asked for stays
  end if;
  return private.kept_document(document, 'overview-' || year);
end $function$;

CREATE OR REPLACE FUNCTION private.own_account_rows()
  RETURNS SETOF core.accounts
  LANGUAGE plpgsql
  STABLE
  ROWS 1
  SET search_path TO ''
  AS $function$
begin
  if private.user_id() is not null then
    return query select a.* from core.accounts a where a.user_id = private.user_id();
  end if;
  if private.signatory() is not null then
    return query select * from private.signed_accounts(private.signatory());
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.own_partner()
  RETURNS core.partners
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$ begin return (select p from core.partners p where p.id = private.partner_id()); end $function$;

CREATE OR REPLACE FUNCTION private.own_partners_draft (
  draft_id uuid
)
  RETURNS core.drafts
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts;
begin
  select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = draft_id;
  perform private.refuse_if('draft_not_found', draft.id is null);
  return draft;
end $function$;

CREATE OR REPLACE FUNCTION private.own_webhook (
  named text
)
  RETURNS core.webhook_endpoints
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
begin
  endpoint := private.webhook_named(named);
  perform private.refuse_if('webhook_not_found', endpoint.owner_id <> private.log_owner());
  return endpoint;
end $function$;

CREATE OR REPLACE FUNCTION private.own_webhooks()
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (select coalesce(json_agg(private.webhook_json(e) order by e.created_at, e.id), '[]') from core.webhook_endpoints e
           where e.partner_id = private.partner_id() and e.owner_id = private.log_owner());
end $function$;

CREATE OR REPLACE FUNCTION private.paid_out_allocations (
  sale core.sales
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  if not exists (select from core.ledger_accounts a where a.partner_id = sale.partner_id and a.kind = 'payout') then
    return '{}';
  end if;
  return array(
    with payee as materialized (
      select distinct p.kind, p.owner
        from core.allocations a
       cross join lateral (values ('customer', a.account_id, a.net), ('partner', a.share_partner_id, a.partner_share)) p (kind, owner, amount)
       where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and p.amount > 0
    )
    select distinct a.id
      from payee y
     cross join lateral private.payments(sale.partner_id, y.kind, y.owner) p
      join core.allocations a on a.partner_id = sale.partner_id and a.id = p.allocation_id and a.sale_id = sale.id
     where p.taken);
end $function$;

CREATE OR REPLACE FUNCTION private.partner_figures (
  partner core.partners
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  fresh constant timestamptz := private.now() - interval '60 seconds';
  last  core.dashboards;
begin
  if (select count(*) from (select from core.attributions k where k.partner_id = partner.id limit private.counted_at_once() + 1) k) <= private.counted_at_once() then
    return private.count_dashboard(partner.id);
  end if;
  select * into last from core.dashboards d where d.partner_id = partner.id;
  if last.partner_id is null then
    last.figures := private.count_dashboard(partner.id);
    insert into core.dashboards (partner_id, as_of, figures) values (partner.id, private.now(), last.figures) on conflict do nothing;
  elsif last.as_of < fresh and (last.asked_at is null or last.asked_at < fresh) then
    -- one reader of many asks, and none waits for it
    update core.dashboards d set asked_at = private.now()
     where d.partner_id = (select a.partner_id from core.dashboards a
                            where a.partner_id = partner.id and a.as_of < fresh and (a.asked_at is null or a.asked_at < fresh) for update skip locked);
    perform private.kick() where found;
  end if;
  return last.figures;
end $function$;

CREATE OR REPLACE FUNCTION private.partner_may_yield (
  partner uuid,
  spent   uuid[]
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return exists (select from core.accounts a where a.partner_id = partner and private.may_yield(a.partner_id, a.id, spent))
      or exists (select from core.attributions t
                   join core.accounts a on a.partner_id = private.house() and a.user_id = t.user_id
                  where t.partner_id = partner and private.may_yield(a.partner_id, a.id, spent));
end $function$;

CREATE OR REPLACE FUNCTION private.partner_named (
  input jsonb
)
  RETURNS core.partners
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named   constant text := input ->> 'partner';
  partner core.partners;
begin
  perform private.act_as_operator(input);
  select * into partner from core.partners p where p.id = private.as_uuid(named) or p.slug = named;
  perform private.refuse_if('partner_not_found', not found, json_build_object('partner', named));
  perform private.act_for_partner(partner.id);
  return partner;
end $function$;

CREATE OR REPLACE FUNCTION private.pay_lines (
  batch uuid
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  ledger record;
  paid   int;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id || ':paid', p.amount, 'payout', l.payee_id, 'bank', l.payee_id)) as postings
      from core.payout_lines l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     where l.batch_id = batch and l.status = 'pending'
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  update core.payout_lines l set status = 'paid', paid_at = private.now() where l.batch_id = batch and l.status = 'pending';
  get diagnostics paid = row_count;
  perform private.request_statements(batch), private.notify_payments(batch, 'payout_paid');
  perform private.emit_payouts('payout.paid', array(select l from unnest(private.lines_of(batch)) l where l.status = 'paid'));
  return paid;
end $function$;

CREATE OR REPLACE FUNCTION private.payable_balances (
  owners uuid[]
)
  RETURNS TABLE (
    partner_id        uuid,
    account_id        uuid,
    ledger_partner_id uuid,
    kind              text,
    of_account_id     uuid,
    amount            numeric
  )
  LANGUAGE plpgsql
  STABLE
  SET enable_nestloop TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  with balance as materialized (
    select b.partner_id, b.kind, b.owner, b.balance
      from core.ledger_balances b where owners is null and b.unit = 'EUR' and b.kind in ('customer', 'partner', 'vat')
    union all
    select l.partner_id, l.kind, l.owner, private.balance(l.partner_id, l.unit, l.kind, l.owner)
      from core.ledger_accounts l
     where l.partner_id = any (array(select p.id from core.partners p)) and l.owner = any (owners)
       and l.unit = 'EUR' and l.kind in ('customer', 'partner', 'vat')
  )
  select b.partner_id, case a.payout_handler when 'service_pays_customer' then a.id end, b.partner_id, b.kind, a.id, b.balance
    from balance b
    join core.accounts a on a.partner_id = b.partner_id and a.id = b.owner
   where b.kind = 'customer' and b.balance <> 0
  union all
  select b.owner, null, b.partner_id, b.kind, null, b.balance from balance b where b.kind in ('partner', 'vat') and b.balance <> 0;
end $function$;

CREATE OR REPLACE FUNCTION private.payees (
  minimum numeric,
  owners  uuid[]  DEFAULT NULL::uuid[]
)
  RETURNS SETOF private.payee
  LANGUAGE plpgsql
  STABLE
  SET enable_nestloop TO 'off'
  SET search_path TO ''
  AS $function$
declare
  spent constant uuid[] := case when minimum > 0 then private.spent_bookings() else '{}' end;
begin
  return query
  with owed as materialized (
    select b.partner_id, b.account_id, sum(b.amount) as amount from private.payable_balances(owners) b group by b.partner_id, b.account_id
  )
  select o.partner_id, o.account_id, a.owner_id, o.amount, n.name, i.ciphertext, i.key_id, i.last4, i.changed_at,
         f.failed,
         case when o.amount < 0 then 'owes'
              when o.amount < minimum and case when o.account_id is null then private.partner_may_yield(o.partner_id, spent)
                                               else private.may_yield(o.partner_id, o.account_id, spent) end then 'below_minimum'
              when i.ciphertext is null then 'iban_missing'
              when i.changed_at > private.now() - interval '48 hours' then 'iban_changed'
              when n.name is null then 'name_unreadable' end
    from owed o
    join core.partners p on p.id = o.partner_id
    left join core.accounts a on a.partner_id = o.partner_id and a.id = o.account_id
    left join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
    cross join lateral (
      -- a business is paid in its own name
      select private.sepa_name(case when o.account_id is null then p.iban_holder
                                    else coalesce(case when a.type <> 'particulier' then a.company ->> 'name' end, s.full_name, a.display_name) end) as name) n
    cross join lateral (
      select case when o.account_id is null then p.iban_ciphertext else a.iban_ciphertext end as ciphertext,
             case when o.account_id is null then p.iban_key_id else a.iban_key_id end as key_id,
             case when o.account_id is null then p.iban_last4 else a.iban_last4 end as last4,
             case when o.account_id is null then p.iban_changed_at else a.iban_changed_at end as changed_at) i
    left join lateral (
      select jsonb_agg(jsonb_build_object('ciphertext', l.iban_ciphertext, 'key_id', l.iban_key_id) order by l.iban_ciphertext) as failed
        from (select distinct l.iban_ciphertext, l.iban_key_id from core.payout_lines l
               where l.partner_id = o.partner_id and l.payee_id = coalesce(o.account_id, o.partner_id)
                 and l.status = 'failed' and l.released_at is null) l) f on true
   where o.amount <> 0;
end $function$;

CREATE OR REPLACE FUNCTION private.payments (
  tenant uuid,
  kind   text,
  payee  uuid
)
  RETURNS TABLE (
    allocation_id uuid,
    amount        numeric,
    state         text,
    paid_at       timestamp with time zone,
    taken         boolean
  )
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  with earned as materialized (
    select e.*, sum(e.due) filter (where e.paid = 0) over (order by e.arrival, e.allocation_id) as up_to
      from private.earned_of(tenant, kind, payee) e where e.stands
  ), kept as materialized (
    -- what the balance lacks to be what no payment has yet: it settles what was paid and taken back since, the oldest first
    select (select sum(e.due) from earned e where e.paid = 0) - private.balance(tenant, 'EUR', payments.kind, payee) as debt
  ), last as materialized (
    select case when l.status = 'paid' then 'paid' when b.status = 'prepared' then 'pending' else 'approved' end as state, l.paid_at
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status in ('pending', 'paid')
      join core.payout_batches b on b.id = l.batch_id
     where p.ledger_partner_id = tenant and p.payee_id = payee and p.kind = payments.kind and (select k.debt from kept k) > 0
     order by l.arrival desc limit 1
  )
  select e.allocation_id, e.due,
         case when e.paid <> 0 then e.state when e.up_to <= k.debt then coalesce(l.state, 'paid') else e.state end,
         case when e.paid <> 0 then e.paid_at when e.up_to <= k.debt then l.paid_at end,
         e.paid <> 0 or coalesce(e.up_to - e.due < k.debt, false)
    from earned e
   cross join kept k
    left join last l on true;
end $function$;

CREATE OR REPLACE FUNCTION private.payout_batch_named (
  input jsonb
)
  RETURNS core.payout_batches
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named constant text := input ->> 'batch';
  batch core.payout_batches;
begin
  perform private.act_as_operator(input);
  select * into batch from core.payout_batches b where b.id = private.as_uuid(named) for update;
  perform private.refuse_if('payout_batch_not_found', not found, json_build_object('batch', named));
  return batch;
end $function$;

CREATE OR REPLACE FUNCTION private.place_in_log (
  owner uuid,
  field text,
  named text
)
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  head  constant core.event_heads := private.sequence_all(private.partner_id(), owner);
  place bigint;
begin
  if named is null then
    return head.sequence;
  elsif private.as_uuid(named) is not null then
    select e.sequence - case field when 'from' then 1 else 0 end into place from core.events e
     where e.partner_id = head.partner_id and e.owner_id = owner and e.id = private.as_uuid(named) and e.created_at > private.events_kept_since();
    perform private.refuse_if('event_not_found', not found,
      json_build_object('detail', format('%s: this log has no event with that id, or it is older than 90 days.', field)));
    return place;
  elsif not (named ~ '^\d{4}-\d\d-\d\d' and pg_input_is_valid(named, 'timestamptz')) then
    return private.start_of(head, named, field);
  elsif field = 'from' then
    select e.sequence - 1 into place from core.events e
     where e.partner_id = head.partner_id and e.owner_id = owner and e.sequence > private.oldest_event(head) and e.created_at >= named::timestamptz
     order by e.sequence limit 1;
    return coalesce(place, head.sequence);
  end if;
  -- moments are shown without fractions: whoever names one means the whole second
  select e.sequence into place from core.events e
   where e.partner_id = head.partner_id and e.owner_id = owner and date_trunc('second', e.created_at) <= named::timestamptz
   order by e.sequence desc limit 1;
  return coalesce(place, 0);
end $function$;

CREATE OR REPLACE FUNCTION private.post (
  partner  uuid,
  postings private.posting[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET enable_seqscan TO 'off'
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
  written int;
begin
  insert into core.ledger_accounts (partner_id, unit, kind, owner)
  select distinct partner, p.unit, side.kind, side.owner
    from unnest(postings) p
    cross join lateral (values (p.debit_kind, p.debit_owner), (p.credit_kind, p.credit_owner)) side (kind, owner)
   where p.amount <> 0
   order by 4, 3, 2  -- two transactions that open the same accounts wait for each other in one order
  on conflict on constraint ledger_accounts_owner_key do nothing;

  insert into core.ledger_entries (partner_id, debit, credit, unit, amount, cause)
  select partner, d.id, c.id, p.unit, p.amount, p.cause
    from unnest(postings) p
   cross join lateral (
     select a.id from core.ledger_accounts a
      where a.partner_id = partner and a.owner = p.debit_owner and a.kind = p.debit_kind and a.unit = p.unit offset 0) d
   cross join lateral (
     select a.id from core.ledger_accounts a
      where a.partner_id = partner and a.owner = p.credit_owner and a.kind = p.credit_kind and a.unit = p.unit offset 0) c
   where p.amount <> 0
   order by p.cause collate "C"
  on conflict on constraint ledger_entries_cause_key do nothing;
  get diagnostics written = row_count;

  -- what was there already has to be the same thing
  if written < (select count(*) from unnest(postings) p where p.amount <> 0) and exists (
    select from unnest(postings) p
      join core.ledger_entries e on e.partner_id = partner and e.cause = p.cause
      join core.ledger_accounts d on d.partner_id = partner and d.id = e.debit
      join core.ledger_accounts c on c.partner_id = partner and c.id = e.credit
     where (e.unit, e.amount, d.kind, d.owner, c.kind, c.owner)
           is distinct from (p.unit, p.amount, p.debit_kind, p.debit_owner, p.credit_kind, p.credit_owner)) then
    raise exception 'the ledger holds another entry of the same cause';
  end if;
  return written;
end $function$;

CREATE OR REPLACE FUNCTION private.preview_quarter (
  quarter date,
  partner uuid
)
  RETURNS TABLE (
    slug          text,
    taken         boolean,
    reason        text,
    flags         text[],
    account_id    uuid,
    connection_id uuid,
    ean_code      text,
    period        date,
    kwh           numeric,
    session_count integer,
    source        text,
    ere           numeric
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return query
  select p.slug, j.reason is null, j.reason, j.flags, j.account_id, j.connection_id, j.ean_code, j.period, j.kwh, j.session_count,
         case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end, j.kwh * j.ere_per_kwh
    from core.partners p
    cross join lateral private.judge_quarter(p.id, quarter) j
   where preview_quarter.partner is null or p.id = preview_quarter.partner
  union all
  -- charged, or corrected, after the month was booked
  select p.slug, false, 'arrived_after_lock', '{}', c.account_id, c.id, c.ean_code, s.month, sum(s.wh) / 1000.0, count(*)::int, 'own_sessions', null
    from core.charging_sessions s
    join core.partners p on p.id = s.partner_id
    join core.connections c on c.partner_id = s.partner_id and c.id = s.connection_id
   where s.month >= quarter and s.month < (quarter + interval '3 months')::date and 'after_lock' = any (s.flags)
     and (preview_quarter.partner is null or p.id = preview_quarter.partner)
   group by p.slug, c.account_id, c.id, c.ean_code, s.month;
end $function$;

CREATE OR REPLACE FUNCTION private.prove_draft (
  draft   core.drafts,
  by_link boolean,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  login record;
  proof record;
begin
  if draft.status = 'active' then
    perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash');
    return null;
  end if;
  if not by_link then
    select * into proof from private.prove_login(draft.email, draft.partner_id, request);
    if proof.next is not null then
      return proof.next;
    end if;
  end if;
  select * into login from private.claimant(draft.email, draft.partner_id);
  if login.taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return private.refusal('claim_conflict');
  elsif draft.status = 'invited' and draft.ean is not null and private.ean_taken(draft.ean) then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return private.refusal('claim_conflict');
  end if;
  update core.drafts d
     set status = 'claimed', user_id = case when login.proved then login.user_id end,
         progress = d.progress - 'by_link' || case when not by_link then '{"by_code": true}' when login.proved is not true then '{"by_link": true}' else '{}' end::jsonb,
         claimed_at = coalesce(d.claimed_at, private.now())
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash');
  perform private.audit('draft.claimed', draft.id), private.emit_draft('draft.claimed', draft.id, 'claimed') where draft.status = 'invited';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION private.read_credit_lines (
  booking core.bookings,
  lines   jsonb
)
  RETURNS SETOF private.credit_line
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return query
  with sent as materialized (
    select coalesce((l.item ->> 'line')::int, l.place::int) as line, private.as_uuid(l.item ->> 'row_id') as row_id,
           private.as_decimal(l.item ->> 'accepted_kwh', 3) as accepted_kwh, nullif(btrim(l.item ->> 'reason'), '') as reason
      from jsonb_array_elements(lines) with ordinality as l (item, place)
  )
  select s.line, s.row_id, s.accepted_kwh, s.reason,
         case when r.id is null then 'unknown_row'
              when r.booking_id <> booking.id then 'row_of_another_booking'
              when count(*) over (partition by s.row_id) > 1 then 'doubled_row'
              when s.accepted_kwh is null then 'invalid_kwh'
              when s.accepted_kwh > r.kwh then 'more_than_submitted'
              when s.accepted_kwh < r.kwh and s.reason is null then 'reason_missing'
              when length(s.reason) > 500 or s.reason ~ '[[:cntrl:]]' then 'invalid_reason'
              when c.accepted_kwh <> s.accepted_kwh then 'credited_otherwise' end
    from sent s
    left join lateral (select * from core.booking_rows r where r.partner_id = booking.partner_id and r.id = s.row_id offset 0) r on true
    left join lateral (
      select * from core.credits c where c.partner_id = booking.partner_id and c.row_id = r.id and c.reversed_at is null offset 0) c on true;
end $function$;

CREATE OR REPLACE FUNCTION private.read_minimum (
  input jsonb
)
  RETURNS numeric
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  minimum constant numeric := private.as_decimal(coalesce(input ->> 'minimum', '5'), 2);
begin
  perform private.refuse_if('invalid_minimum', minimum is null);
  return minimum;
end $function$;

CREATE OR REPLACE FUNCTION private.read_quarter (
  value text
)
  RETURNS date
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  quarter date;
begin
  if value ~ '^20[0-9]{2}-Q[1-4]$' then
    quarter := make_date(left(value, 4)::int, right(value, 1)::int * 3 - 2, 1);
  end if;
  perform private.refuse_if('invalid_quarter', quarter is null or quarter < private.first_delivery_month());
  perform private.refuse_if('factor_missing', not exists (select from core.ere_factors f where f.delivery_year = extract(year from quarter)),
    json_build_object('delivery_year', extract(year from quarter)));
  return quarter;
end $function$;

CREATE OR REPLACE FUNCTION private.read_return_url (
  url text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
  perform private.refuse_if('invalid_return_url', url is not null and private.return_root(url) is null);
  return private.return_root(url);
end $function$;

CREATE OR REPLACE FUNCTION private.read_sale (
  booking core.bookings,
  input   jsonb
)
  RETURNS core.sales
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  ere   constant numeric := private.as_decimal(input ->> 'ere', 6);
  price constant numeric := private.as_decimal(input ->> 'price', 6);
  sale  core.sales;
begin
  perform private.refuse_if('invalid_ere', ere > 0 is not true);
  perform private.refuse_if('invalid_price', (price > 0 and price < 1000000) is not true);
  perform private.refuse_if('invalid_date', input ? 'date' and (private.as_day(input ->> 'date') <= private.today()) is not true);
  sale.partner_id := booking.partner_id;
  sale.booking_id := booking.id;
  sale.reference := private.operator_name(input ->> 'reference');
  sale.buyer := private.operator_name(input ->> 'buyer');
  sale.ere := ere;
  sale.price := price;
  sale.gross := round(ere * price, 2);
  sale.sold_on := coalesce(private.as_day(input ->> 'date'), private.today());
  return sale;
end $function$;

CREATE OR REPLACE FUNCTION private.read_scopes (
  scopes jsonb,
  holder text
)
  RETURNS text[]
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  wanted constant text[] := array(select jsonb_array_elements_text(scopes));
  known  constant text[] := private.scopes_of(holder);
begin
  perform private.refuse_if('unknown_scope', cardinality(wanted) = 0 or not wanted <@ known, json_build_object('scopes', known));
  return array(select s from unnest(known) s where s = any (wanted));
end $function$;

CREATE OR REPLACE FUNCTION private.readiness()
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  version text;
begin
  -- the CLI's own table, which a database that was made of the schema files does not have
  if to_regclass('supabase_migrations.schema_migrations') is not null then
    execute 'select max(m.version) from supabase_migrations.schema_migrations m' into version;
  end if;
  return json_build_object('schema_version', version, 'worker_age_seconds', (
    select extract(epoch from private.now() - r.finished_at)::int from core.job_runs r where r.job = 'worker' order by r.id desc limit 1));
end $function$;

CREATE OR REPLACE FUNCTION private.record_sale (
  booking core.bookings,
  wanted  core.sales
)
  RETURNS core.sales
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  sellable constant numeric := private.sellable_ere(booking);
  sale     core.sales;
begin
  perform private.refuse_if('not_enough_ere', wanted.ere > sellable, json_build_object('ere', wanted.ere, 'sellable_ere', sellable));
  perform private.refuse_if('worth_nothing', wanted.gross = 0);
  insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
  values (wanted.partner_id, wanted.booking_id, wanted.reference, wanted.buyer, wanted.ere, wanted.price, wanted.gross, wanted.sold_on)
  returning * into sale;
  perform private.allocate_sale(sale);
  perform private.sum_booking(booking.partner_id, booking.id), private.price_figures(booking.partner_id, extract(year from booking.quarter)::int);
  perform private.audit('sale.recorded', sale.id, jsonb_build_object('reference', sale.reference, 'ere', sale.ere, 'gross', sale.gross));
  perform private.emit_sale(sale.partner_id, 'ere.sold', array(select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id));
  return sale;
end $function$;

CREATE OR REPLACE FUNCTION private.redeem_sign_in_code (
  request jsonb,
  purpose text,
  OUT     refused text,
  OUT     email text,
  OUT     again boolean
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  select * into refused, email, again from private.judge_sign_in_code(request, purpose);
  perform private.use_code('browser:' || (request ->> 'token_hash'), request ->> 'code_hash') where refused is null;
end $function$;

CREATE OR REPLACE FUNCTION private.refuse_admission (
  code   text,
  detail json DEFAULT '{}'::json
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  raise exception using errcode = 'RULE0', message = code, detail = detail::text;
end $function$;

CREATE OR REPLACE FUNCTION private.refuse_if (
  code      text,
  condition boolean,
  detail    json    DEFAULT '{}'::json
)
  RETURNS void
  LANGUAGE sql
RETURN CASE WHEN condition THEN private.refuse(code, detail) ELSE NULL::void END;

CREATE OR REPLACE FUNCTION private.require_agreement (
  tenant uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  found record;
begin
  select p.slug, k.what, k.example into found
    from core.partners p cross join lateral private.check_books(p.id) k where p.id = tenant and (k.wrong > 0 or k.expected <> k.found)
   order by k.what limit 1;
  perform private.refuse_if('ledger_disagrees', found.slug is not null,
    json_build_object('partner_slug', found.slug, 'check', found.what, 'first', found.example));
end $function$;

CREATE OR REPLACE FUNCTION private.require_charger_room (
  account uuid,
  person  uuid
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  active int;
begin
  perform private.lock_chargers(account, person);
  if person is null then
    select count(*) into active from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active';
  else
    select count(*) into active from core.chargers h where h.user_id = person and h.status = 'active';
  end if;
  perform private.refuse_if('charger_limit_reached', active >= 10);
  return active;
end $function$;

CREATE OR REPLACE FUNCTION private.require_customer (
  named text,
  key   text,
  OUT   account_id uuid,
  OUT   user_id uuid
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  select c.account_id, c.user_id into require_customer.account_id, require_customer.user_id from private.own_customer(named, key) c;
  perform private.refuse_if('customer_not_found', require_customer.account_id is null);
  -- from here on the transaction reaches what is the customer's; the audit log says who plays them
  perform private.act_for_person(private.house(), require_customer.user_id), set_config('app.caller_kind', 'sandbox', true);
end $function$;

CREATE OR REPLACE FUNCTION private.require_enabled (
  endpoint core.webhook_endpoints
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.refuse_if('endpoint_disabled', endpoint.status <> 'enabled');
end $function$;

CREATE OR REPLACE FUNCTION private.require_recent_sign_in()
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  perform private.refuse_if('recent_sign_in_required', not private.signed_in_recently());
end $function$;

CREATE OR REPLACE FUNCTION private.retention_step (
  kind text,
  size integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  border constant date := private.retention_border();
begin
  perform private.hold_books() where kind in ('invoices', 'bookings', 'payouts', 'ledger');
  return case kind
    when 'drafts' then private.forget_claimed_drafts(size)
    when 'payouts' then private.forget_payouts(border, size)
    when 'invoices' then private.forget_invoices(border, size)
    when 'bookings' then private.forget_bookings(border, size)
    when 'sessions' then private.forget_sessions(border, size)
    when 'mandates' then private.forget_mandates(border, size)
    when 'accounts' then private.forget_accounts(border, size)
    when 'audit_log' then private.forget_log('audit', border, size)
    when 'ledger' then private.forget_log('ledger', border, size)
    else case when kind = any (private.retention_kinds()) then private.delete_due(kind, border, size) end end;
end $function$;

CREATE OR REPLACE FUNCTION private.return_lines (
  lines core.payout_lines[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  ledger record;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg('payout:' || p.id) || coalesce(array_agg('payout:' || p.id || ':paid') filter (where l.status = 'paid'), '{}') as causes
      from unnest(lines) l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     group by p.ledger_partner_id
  loop
    perform private.reverse_postings(ledger.partner_id, ledger.causes);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION private.reverse_postings (
  partner uuid,
  causes  text[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
declare
  written int;
begin
  insert into core.ledger_entries (partner_id, debit, credit, unit, amount, cause)
  select e.partner_id, e.credit, e.debit, e.unit, e.amount, e.cause || ':reversed'
    from unnest(causes) c (cause)
   cross join lateral (select * from core.ledger_entries e where e.partner_id = partner and e.cause = c.cause offset 0) e
   order by e.cause
  on conflict on constraint ledger_entries_cause_key do nothing;
  get diagnostics written = row_count;
  return written;
end $function$;

CREATE OR REPLACE FUNCTION private.reverse_sale (
  sale    core.sales,
  reason  text,
  recover boolean,
  OUT     reversed integer,
  OUT     paid_out integer
)
  RETURNS record
  LANGUAGE plpgsql
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
declare
  paid     uuid[] := private.paid_out_allocations(sale);
  reversal uuid;
  causes   text[];
begin
  paid_out := cardinality(paid);
  if recover then
    paid := '{}';
  end if;
  if not exists (select from core.allocations a
                  where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)) then
    reversed := 0;
    return;
  end if;
  insert into core.sale_reversals (partner_id, sale_id, reason, recover) values (sale.partner_id, sale.id, reverse_sale.reason, reverse_sale.recover)
  returning id into reversal;
  with taken_back as (
    update core.allocations a set reversal_id = reversal
     where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)
    returning a.id)
  select array_agg('allocation:' || t.id || ':' || what), count(distinct t.id) into causes, reversed
    from taken_back t cross join unnest(array['ere', 'net', 'share', 'fee']) what;
  perform private.reverse_postings(sale.partner_id, causes);
  perform private.sum_booking(sale.partner_id, sale.booking_id), private.price_figures(sale.partner_id, (
            select extract(year from b.quarter)::int from core.bookings b where b.partner_id = sale.partner_id and b.id = sale.booking_id));
  perform private.audit('sale.reversed', sale.id, jsonb_build_object('allocations', reversed, 'recover', reverse_sale.recover));
  perform private.emit_sale(sale.partner_id, 'ere.sale_reversed', array(
            select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal)),
          private.tell_payouts(array(
            select distinct a.share_partner_id from core.allocations a
             where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal and a.partner_share > 0));
end $function$;

CREATE OR REPLACE FUNCTION private.sale_named (
  input jsonb
)
  RETURNS core.sales
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named      constant text := input ->> 'sale';
  partner    constant uuid := private.chosen_partner(input);
  candidates constant core.sales[] := array(
    select s from core.sales s
     where s.partner_id = any (array(select p.id from core.partners p where partner is null or p.id = partner))
       and (s.id = private.as_uuid(named) or s.reference = named));
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('sale_not_found', cardinality(candidates) = 0, json_build_object('sale', named));
  perform private.refuse_if('sale_ambiguous', cardinality(candidates) > 1, json_build_object('sale', named));
  perform private.act_for_partner((candidates[1]).partner_id);
  return candidates[1];
end $function$;

CREATE OR REPLACE FUNCTION private.save_step (
  draft   core.drafts,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  step     constant text  := request ->> 'step';
  typed    constant jsonb := request -> 'answers';
  before   constant jsonb := private.claim_answers(draft);
  kept     jsonb := draft.progress;
  answers  jsonb := coalesce(kept -> 'answers', '{}') || typed;
  points   jsonb;
  moved    boolean;
  checked  record;
begin
  case step
    when 'address' then
      moved := (before - 'street' - 'city') || (typed - 'street' - 'city') <> before - 'street' - 'city';
      points := private.candidates_at(typed, request -> 'ean_register');
      if points = '[]' and not moved then
        points := draft.ean_candidates;  -- the EAN register gives no answer now, but gave one when the draft was made
      end if;
      kept := kept || jsonb_build_object('candidates', points);
      answers := answers || jsonb_strip_nulls(jsonb_build_object(
        'street', coalesce(typed ->> 'street', points #>> '{0,street}'), 'city', coalesce(typed ->> 'city', points #>> '{0,city}')));
      if moved and before ->> 'postal_code' is not null then
        -- another address has another connection
        answers := answers || '{"ean_code": null}';
        kept := (kept - 'ean_check') || jsonb_build_object('confirmed', coalesce(kept -> 'confirmed', '[]') - 'ean');
      end if;
    when 'ean' then
      perform private.refuse_if('ean_in_use', private.ean_taken(typed ->> 'ean_code'));
      select * into checked from private.check_ean(typed ->> 'ean_code', before ->> 'postal_code', (before ->> 'house_number')::int,
        before ->> 'house_number_addition', request -> 'ean_register');
      perform private.refuse_if('ean_address_mismatch', checked.outcome = 'mismatch');
      kept := kept || jsonb_build_object('ean_check', to_jsonb(checked) - 'street' - 'city');
    when 'payout' then
      kept := case when jsonb_typeof(request -> 'iban') = 'object' then kept || jsonb_build_object('iban', request -> 'iban', 'iban_by_link', request ->> 'proved_by' = 'link')
                   when request -> 'later' = 'true' then kept - 'iban' - 'iban_by_link' else kept end;
    when 'charger' then
      perform private.refuse_if('charger_claimed', private.charger_taken(typed ->> 'brand', typed ->> 'serial_number'));
    else null;
  end case;
  update core.drafts d
     set progress = kept || jsonb_build_object(
           'answers', answers, 'confirmed', (coalesce(kept -> 'confirmed', '[]') - step) || to_jsonb(step))
   where d.partner_id = draft.partner_id and d.id = draft.id
  returning * into draft;
  return json_build_object('open_step', private.claim_open_step(private.draft_for(draft, request ->> 'proved_by')));
end $function$;

CREATE OR REPLACE FUNCTION private.secure_login (
  person uuid
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  tenant constant uuid := private.partner_id();
  held   record;
begin
  -- a partner's log would tell that the address had a login
  perform private.act_for_partner(private.house());
  update auth.users u
     set encrypted_password = extensions.crypt(encode(extensions.gen_random_bytes(32), 'hex'), extensions.gen_salt('bf')),
         confirmation_token = '', recovery_token = '', reauthentication_token = '',
         email_change = '', email_change_token_new = '', email_change_token_current = '',
         phone = null, phone_confirmed_at = null, phone_change = '', phone_change_token = '',
         email_confirmed_at = coalesce(u.email_confirmed_at, private.now()),
         raw_user_meta_data = '{}',
         raw_app_meta_data = coalesce(u.raw_app_meta_data, '{}') || '{"provider": "email", "providers": ["email"]}'
   where u.id = person;
  -- sessions, refresh tokens, factors, links and foreign identities: whatever Supabase Auth keeps for a login, in this version or a later one
  for held in
    select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'auth'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'user_id' and not a.attisdropped
     order by c.relname
  loop
    execute format('delete from auth.%I where user_id::text = $1', held.name)
            || case held.name when 'identities' then ' and provider <> ''email''' else '' end using person::text;
  end loop;
  perform private.end_ways_in(person), private.audit('login.secured', person), private.act_for_partner(tenant);
  return null;
exception when insufficient_privilege then
  return sqlerrm;
end $function$;

CREATE OR REPLACE FUNCTION private.set_partner_active (
  input  jsonb,
  wanted boolean
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  changed boolean;
  partner core.partners := private.partner_named(input);
begin
  perform private.refuse_if('house_stays_active', partner.id = private.house() and not wanted);
  update core.partners p set is_active = wanted where p.id = partner.id and p.is_active <> wanted;
  changed := found;
  if changed then
    partner.is_active := wanted;
    perform private.audit(case when wanted then 'partner.activated' else 'partner.deactivated' end, partner.id);
  end if;
  return json_build_object('changed', changed, 'partner', private.partner_row(partner));
end $function$;

CREATE OR REPLACE FUNCTION private.settle_accounts (
  tenant   uuid,
  accounts uuid[],
  quarter  date,
  price    numeric
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  run     constant uuid := gen_random_uuid();
  booking core.bookings;
  sale    core.sales;
  taken   int;
begin
  if not exists (select from private.judge_quarter(tenant, quarter, accounts) j where j.reason is null) then
    return;
  end if;
  perform private.act_for_partner(tenant);
  loop
    booking := private.open_booking(tenant, quarter, run);
    taken := private.submit_booking(tenant, booking.id, accounts);
    exit when taken is not null;  -- null: somebody submitted the one that was open
  end loop;
  if taken = 0 then
    -- another booking took the same months a moment ago
    delete from core.bookings b where b.partner_id = tenant and b.id = booking.id and b.run_id = run;
    return;
  end if;
  booking := private.lock_booking(tenant, booking.id);
  perform private.credit_booking(booking, array(
    select row(0, r.id, r.kwh, null, null)::private.credit_line
      from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id), null);
  sale.partner_id := tenant;
  sale.booking_id := booking.id;
  sale.reference := 'sandbox-' || booking.id;
  sale.buyer := 'Sandbox';
  sale.ere := private.sellable_ere(booking);
  sale.price := price;
  sale.gross := round(sale.ere * price, 2);
  sale.sold_on := private.today();
  -- less than half a cent is credited and stays unsold
  perform private.record_sale(booking, sale) where sale.gross > 0;
end $function$;

CREATE OR REPLACE FUNCTION private.settlement_document (
  part uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  document core.documents;
begin
  select d.* into document from core.documents d where d.partner_id = private.partner_id() and d.part_id = part;
  perform private.refuse_if('settlement_not_found', document.id is null);
  return private.kept_document(document, 'settlement-' || (document.created_at at time zone 'Europe/Amsterdam')::date);
end $function$;

CREATE OR REPLACE FUNCTION private.shown_webhook (
  named text
)
  RETURNS core.webhook_endpoints
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
begin
  select * into endpoint from core.webhook_endpoints e
   where e.partner_id = private.partner_id() and e.owner_id = private.log_owner() and e.id = private.as_uuid(named);
  perform private.refuse_if('webhook_not_found', not found);
  return endpoint;
end $function$;

CREATE OR REPLACE FUNCTION private.sign_again (
  draft   core.drafts,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner    constant core.partners := private.own_partner();
  connection uuid;
  facts      jsonb;
  refused    text;
  mandate    uuid;
begin
  perform private.enter_account(draft);
  connection := private.mandated_connection(draft.account_id, to_sign_again => true);
  perform private.refuse_if('claim_not_open', connection is null);
  facts := private.signed_facts(private.renewal_facts(connection, partner), private.mandate_periods(connection, partner.mandate_years), request);
  perform private.act_for_partner(draft.partner_id);
  refused := (private.use_claim_code(draft, request - 'repeat_hash')).refused;
  if refused is not null then
    return private.refusal(refused);
  end if;
  perform private.enter_account(draft);
  mandate := private.record_signature(connection, null, facts, request);
  perform private.act_for_partner(draft.partner_id);
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_signed:' || draft.id || ':' || mandate);
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION private.signed_accounts (
  address text
)
  RETURNS SETOF core.accounts
  LANGUAGE plpgsql
  STABLE
  ROWS 1
  SET search_path TO ''
  AS $function$
begin
  return query
    select a.*
      from core.partners p
      -- more is no person's, but that of a CPO that gave its own address for all: what it costs to look has an end, and a CPO that
      -- gives the address of another's customer takes nothing of it
      cross join lateral (select s.account_id from core.signatories s where s.email = address and s.partner_id = p.id limit 1000) s
      join core.accounts a on a.partner_id = p.id and a.id = s.account_id
      join core.oauth_clients k on k.id = a.client_id and k.disabled_at is null
     where p.is_active and exists (select from core.oauth_clients k where k.partner_id = p.id) and exists (select from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                    where c.partner_id = a.partner_id and c.account_id = a.id and m.document is not null)
     order by a.created_at desc, a.id
     limit 100;
end $function$;

CREATE OR REPLACE FUNCTION private.signed_facts (
  facts   jsonb,
  periods jsonb,
  request jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  signed constant jsonb := facts || (
    select p.period from jsonb_array_elements(periods) as p (period)
     where p.period -> 'validity_years' = request #> '{facts,validity_years}');
begin
  perform private.refuse_if('mandate_changed', signed is distinct from request -> 'facts');
  return signed;
end $function$;

CREATE OR REPLACE FUNCTION private.signed_in_at (
  person  uuid,
  session uuid
)
  RETURNS timestamp WITH time zone
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (select s.created_at from auth.sessions s
           where s.id = session and s.user_id = person and (s.not_after is null or s.not_after > private.now()));
end $function$;

CREATE OR REPLACE FUNCTION private.spent_bookings()
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return array(
    select b.id
      from core.bookings b
      left join lateral (select s.price from core.sales s where s.partner_id = b.partner_id and s.booking_id = b.id order by s.arrival desc limit 1) p on true
     where b.partner_id = any (array(select t.id from core.partners t)) and b.status = 'submitted' and (p.price is not null or b.granted_ere is not null)
       -- before the first sale nobody knows the price
       and private.sellable_ere(b) * coalesce(p.price, 1000000) < 0.005);
end $function$;

CREATE OR REPLACE FUNCTION private.split_sale (
  sale core.sales
)
  RETURNS TABLE (
    row_id uuid,
    ere    numeric,
    gross  numeric
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  -- whole numbers from here on: millionths of an ERE, and cents
  quantity constant numeric := sale.ere * 1000000;
  cents    constant numeric := sale.gross * 100;
begin
  return query
  with held as materialized (
    select r.id, (c.ere - s.ere) * 1000000 as unsold
      from core.booking_rows r
      cross join lateral (
        select c.ere from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null offset 0) c
      cross join lateral (
        select coalesce(sum(a.ere), 0) as ere from core.allocations a
         where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null) s
     where r.partner_id = sale.partner_id and r.booking_id = sale.booking_id and r.status = 'registered' and c.ere > s.ere
  ), share as (
    select h.id, div(quantity * h.unsold, sum(h.unsold) over ()) as whole, mod(quantity * h.unsold, sum(h.unsold) over ()) as rest from held h
  ), part as materialized (
    -- what the division leaves goes to the largest remainders, of equal ones to the first row ids, which are ordered as their text is
    select s.id, s.whole + (row_number() over (order by s.rest desc, s.id) <= quantity - sum(s.whole) over ())::int as micro
      from share s
  ), money as (
    select p.id, p.micro, div(cents * p.micro, quantity) as whole, mod(cents * p.micro, quantity) as rest from part p where p.micro > 0
  )
  select m.id, m.micro / 1000000,
         (m.whole + (row_number() over (order by m.rest desc, m.id) <= cents - sum(m.whole) over ())::int) / 100
    from money m;
end $function$;

CREATE OR REPLACE FUNCTION private.statement_document (
  line_id uuid,
  account uuid DEFAULT NULL::uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  line core.payout_lines;
begin
  select l.* into line from core.payout_lines l
   where l.partner_id = private.partner_id() and l.id = statement_document.line_id and l.status = 'paid'
     and l.account_id = coalesce(account, l.account_id);
  perform private.refuse_if('statement_not_found', line.id is null);
  return private.kept_document((
    select d from core.documents d where d.partner_id = line.partner_id and d.line_id = line.id),
    'statement-' || (line.paid_at at time zone 'Europe/Amsterdam')::date);
end $function$;

CREATE OR REPLACE FUNCTION private.submitted_booking_named (
  input jsonb
)
  RETURNS core.bookings
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking constant core.bookings := private.booking_named(input);
begin
  perform private.refuse_if('booking_not_submitted', booking.status <> 'submitted',
    json_build_object('booking', booking.id, 'status', booking.status));
  return booking;
end $function$;

CREATE OR REPLACE FUNCTION private.take (
  subject        text,
  bucket         text,
  quota          integer,
  window_seconds integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  at      constant timestamptz := private.now();
  step    constant interval := private.step(quota, window_seconds) * interval '1 microsecond';
  full_in bigint;
begin
  insert into core.rate_limit_state as s (subject, bucket, full_at)
  values (take.subject, take.bucket, at + step)
  on conflict on constraint rate_limit_state_pkey do update
     set full_at = greatest(s.full_at, at) + step
   where greatest(s.full_at, at) + step <= at + take.window_seconds * interval '1 second'
  returning extract(epoch from s.full_at - at) * 1000000 into full_in;
  if found then
    return private.rate_json(bucket, quota, window_seconds, full_in, true);
  end if;
  return private.rate_json(bucket, quota, window_seconds, (private.limit_state(subject, bucket)).full_in, false);
end $function$;

CREATE OR REPLACE FUNCTION private.tell_payouts (
  partners uuid[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  payout record;
begin
  for payout in
    with current as materialized (
      select p.id as partner_id, y.payout_id, y.period, nullif(y.status, 'none_due') as status from unnest(partners) p (id)
       cross join lateral json_to_recordset(private.partner_payouts(p.id)) as y (payout_id uuid, period text, status text)
    ), news as materialized (
      -- what was reversed whole is not listed any more
      select coalesce(c.partner_id, t.partner_id) as partner_id, coalesce(c.payout_id, t.payout_id) as payout_id,
             coalesce(c.period, t.period) as period, coalesce(c.status, 'pending') as status
        from current c
        full join (select t.* from core.told_payouts t where t.partner_id = any (partners)) t on t.partner_id = c.partner_id and t.payout_id = c.payout_id
       where coalesce(c.status, 'pending') <> coalesce(t.status, 'pending')
    ), noted as (
      insert into core.told_payouts (partner_id, payout_id, period, status) select n.partner_id, n.payout_id, n.period, n.status from news n
      on conflict on constraint told_payouts_pkey do update set status = excluded.status
    )
    select * from news n order by n.partner_id, n.period
  loop
    perform private.tell(payout.partner_id, payout.partner_id, case payout.status when 'pending' then 'payout.reversed' else 'payout.' || payout.status end,
                         payout.payout_id, jsonb_build_object('payout_id', payout.payout_id, 'period', payout.period, 'status', payout.status));
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION private.tell_secured (
  person  uuid,
  address text,
  mail    jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  tenant constant uuid := private.partner_id();
begin
  perform private.act_for_partner(private.house()), private.enqueue_mail(mail, address, 'login_secured:' || person || ':' || gen_random_uuid()),
          private.act_for_partner(tenant);
end $function$;

CREATE OR REPLACE FUNCTION private.unlock_months (
  tenant      uuid,
  connections uuid[],
  months      date[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  update core.delivered_months d set status = private.month_status(d.connection_id, d.period)
    from unnest(connections, months) as m (connection_id, month)
   where d.partner_id = tenant and d.connection_id = m.connection_id and d.period = m.month and d.locked;
  perform private.release_charging_sessions(connections, months);
end $function$;

CREATE OR REPLACE FUNCTION private.use_claim_code (
  draft   core.drafts,
  request jsonb,
  OUT     refused text,
  OUT     again boolean
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  select j.refused, j.again into refused, again from private.judge_claim_code(draft, request) j;
  perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash') where refused is null;
end $function$;

CREATE OR REPLACE FUNCTION private.user_scopes (
  credential jsonb,
  OUT        user_id uuid,
  OUT        client_id uuid,
  OUT        scopes text[]
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  if credential ->> 'kind' = 'personal_token' then
    select t.user_id, t.scopes into user_scopes.user_id, user_scopes.scopes
      from core.personal_tokens t
     where t.token_hash = decode(credential ->> 'token_hash', 'hex')
       and t.revoked_at is null and (t.expires_at is null or t.expires_at > private.now());
  else
    select g.user_id, c.id, array(select unnest(c.scopes) intersect select jsonb_array_elements_text(credential -> 'scopes'))
      into user_scopes.user_id, user_scopes.client_id, user_scopes.scopes
      from core.oauth_grants g
      join core.oauth_clients c on c.id = g.client_id
     where g.id = (credential ->> 'grant_id')::uuid and g.revoked_at is null
       and g.user_id = (credential ->> 'user_id')::uuid and c.client_id = credential ->> 'client_id'
       and c.disabled_at is null and private.may_act_for_people(c) and to_timestamp((credential ->> 'issued_at')::bigint) >= c.tokens_valid_from
       and not exists (select from core.revoked_access_tokens r where r.id = credential ->> 'token_id');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.webhook_named (
  named text
)
  RETURNS core.webhook_endpoints
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
begin
  select * into endpoint from core.webhook_endpoints e where e.partner_id = private.partner_id() and e.id = private.as_uuid(named) for update;
  perform private.refuse_if('webhook_not_found', not found);
  return endpoint;
end $function$;

CREATE OR REPLACE FUNCTION private.write_credits (
  tenant uuid,
  lines  private.credit_line[]
)
  RETURNS private.credited_row[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  credited private.credited_row[];
begin
  credited := array(
    select row(gen_random_uuid(), r.id, r.owner_id, r.account_id, r.connection_id, r.period, r.kwh, l.accepted_kwh,
               trunc(l.accepted_kwh * r.ere_per_kwh, 6), l.reason)::private.credited_row
      from unnest(lines) l
      cross join lateral (
        select * from core.booking_rows r where r.partner_id = tenant and r.id = l.row_id and r.status = 'submitted' offset 0) r);
  insert into core.credits (partner_id, id, row_id, owner_id, accepted_kwh, ere, reason)
  select tenant, c.credit_id, c.row_id, c.owner_id, c.accepted_kwh, c.ere, c.reason from unnest(credited) c;
  update core.booking_rows r set status = 'registered'
   where r.partner_id = tenant and r.id = any (array(select c.row_id from unnest(credited) c where c.accepted_kwh > 0));
  update core.booking_rows r set status = 'rejected'
   where r.partner_id = tenant and r.id = any (array(select c.row_id from unnest(credited) c where c.accepted_kwh = 0));
  update core.delivered_months d
     set status = case when c.accepted_kwh > 0 then 'registered' else 'rejected' end, accepted_kwh = nullif(c.accepted_kwh, 0)
    from unnest(credited) c
   where d.partner_id = tenant and d.connection_id = c.connection_id and d.period = c.period;
  return credited;
end $function$;

CREATE OR REPLACE FUNCTION private.write_invoice (
  partner core.partners,
  invoice core.invoices
)
  RETURNS core.invoices
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  invoice.issued_on := private.today();
  invoice.year := extract(year from invoice.issued_on);
  invoice.number := (select 1 + coalesce(max(i.number), 0) from core.invoices i where i.partner_id = partner.id and i.year = invoice.year);
  -- one statement: what is sold while it runs is on the next invoice
  with charged as materialized (
    select e.ledger_partner_id, e.entry_id, e.amount from private.share_entries(partner.id) e
     where e.quarter = invoice.quarter and e.corrects is not distinct from invoice.corrects
  ), written as (
    insert into core.invoices (partner_id, year, number, quarter, issued_on, issued_by, vat_regime, vat_rate, net, vat, corrects, name, company)
    select partner.id, invoice.year, invoice.number, invoice.quarter, invoice.issued_on, invoice.issued_by, invoice.vat_regime, invoice.vat_rate,
           sum(c.amount), round((sum(c.amount) + before.net) * invoice.vat_rate * 0.01, 2) - before.vat, invoice.corrects, coalesce(partner.company ->> 'name', partner.name), partner.company
      from charged c
     cross join (select coalesce(sum(i.net), 0) as net, coalesce(sum(i.vat), 0) as vat from core.invoices i
                  where i.partner_id = partner.id and i.corrects = invoice.corrects) before
     group by before.net, before.vat having sum(c.amount) <> 0
    returning *
  ), listed as (
    insert into core.invoice_entries (partner_id, ledger_partner_id, entry_id, invoice_id, amount)
    select w.partner_id, c.ledger_partner_id, c.entry_id, w.id, c.amount from written w cross join charged c
  )
  select * into invoice from written;
  if not found then
    return null;
  end if;
  if invoice.vat <> 0 then
    perform private.post(partner.id, array[private.euro_posting('invoice:' || invoice.id || ':vat', invoice.vat, 'input_vat', private.house(), 'vat', partner.id)]);
  end if;
  insert into core.documents (partner_id, invoice_id) values (invoice.partner_id, invoice.id);
  perform private.act_for_partner(partner.id),
          private.audit('invoice.issued', invoice.id, jsonb_build_object('number', private.invoice_number(invoice), 'net', invoice.net, 'vat', invoice.vat));
  return invoice;
end $function$;

CREATE OR REPLACE FUNCTION private.year_is_booked (
  year integer
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return exists (
    select from core.bookings b
      join core.booking_rows r on r.partner_id = b.partner_id and r.booking_id = b.id
     where extract(year from b.quarter) = year
       -- also where all of it was rejected, or taken back, since
       and (r.live or exists (select from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id)));
end $function$;

CREATE OR REPLACE FUNCTION private.yearly_overview (
  account core.accounts,
  year    integer
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    with sold as materialized (
      -- sold in that year, or taken back in it
      select k.at, b.quarter, s.price, a.ere * k.sign as ere, a.gross * k.sign as gross, a.fee * k.sign as fee, a.net * k.sign as net
        from core.allocations a
        join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
        join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
        left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
        cross join lateral (values (s.sold_on, 1), ((v.reversed_at at time zone 'Europe/Amsterdam')::date, -1)) k (at, sign)
       where a.partner_id = account.partner_id and a.account_id = account.id and extract(year from k.at) = yearly_overview.year
    ), payment as materialized (
      select (l.paid_at at time zone 'Europe/Amsterdam')::date as at, p.amount, l.account_id is null as to_partner, l.iban_last4
        from core.payout_parts p
        join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
       where p.ledger_partner_id = account.partner_id and p.payee_id = account.id and p.kind = 'customer'
         and extract(year from l.paid_at at time zone 'Europe/Amsterdam') = yearly_overview.year
    )
    select json_build_object(
      'account_id', account.id, 'year', yearly_overview.year, 'currency', 'EUR',
      'ere_sold', coalesce(sum(s.ere), 0), 'gross_eur', coalesce(sum(s.gross), 0), 'fee_eur', coalesce(sum(s.fee), 0), 'net_eur', coalesce(sum(s.net), 0),
      'paid_eur', (select coalesce(sum(p.amount), 0) from payment p),
      'sales', (select coalesce(json_agg(json_build_object(
                  'sold_on', q.at, 'quarter', private.quarter_name(q.quarter), 'price_per_ere_eur', q.price, 'ere', q.ere, 'gross_eur', q.gross,
                  'fee_eur', q.fee, 'net_eur', q.net) order by q.at, q.quarter, q.price, q.ere < 0), '[]')
                  from (select o.at, o.quarter, o.price, sum(o.ere) as ere, sum(o.gross) as gross, sum(o.fee) as fee, sum(o.net) as net
                          from sold o group by o.at, o.quarter, o.price, sign(o.ere)) q),
      'payments', (select coalesce(json_agg(json_build_object(
                     'paid_on', p.at, 'amount_eur', p.amount, 'to', case when p.to_partner then 'cpo' else 'customer' end, 'iban', '**** ' || p.iban_last4)
                     order by p.at), '[]') from payment p))
      from sold s);
end $function$;

COMMENT ON FUNCTION "api"."ready"(jsonb) IS 'What /health/ready asks: private.readiness.';

COMMENT ON FUNCTION "ops"."app_list"(jsonb) IS 'Applications, newest first, disabled ones included: {partner?} to {apps}. Never a secret.';

COMMENT ON FUNCTION "ops"."audit_chains"(jsonb) IS 'The chains of the audit log and of the ledger, of one partner or of all: {partner?} to {chains}.';

COMMENT ON FUNCTION "ops"."client_list"(jsonb) IS 'Clients, newest first, disabled ones included: {partner?} to {clients}. Never a secret.';

COMMENT ON FUNCTION "ops"."webhook_list"(jsonb) IS 'Endpoints of all partners or of one: {partner?, failing?} to {webhooks}.';

COMMENT ON FUNCTION "ops"."webhook_ping"(jsonb) IS 'Has the worker send a ping: {webhook} to {ping}, for ops.webhook_pinged.';

COMMENT ON FUNCTION "ops"."webhook_replay"(jsonb) IS 'Sends events again: {webhook, from?, to?, failed?} to {ok, from, to, events}.';

COMMENT ON FUNCTION "private"."customer_state"(uuid) IS 'The state of a draft''s account: registration, IBAN, first virtual charger. Definer, because accounts of people are in the house.';

COMMENT ON FUNCTION "private"."readiness"() IS 'The newest migration of this database, and the seconds since a run of the worker ended: {schema_version, worker_age_seconds}, each null if there is none. Definer, because these tables belong to no tenant.';

COMMENT ON TYPE "private"."check_result" IS 'One thing that ledger check compares: what should be, what is, how many things disagree, and the first of them.';

REVOKE ALL ON FUNCTION "ops"."app_list"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."app_list"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."app_list"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."app_list"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."audit_chains"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."audit_chains"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."audit_chains"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."audit_chains"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."client_list"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."client_list"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."client_list"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."client_list"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."webhook_list"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."webhook_list"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."webhook_list"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."webhook_list"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."webhook_ping"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."webhook_ping"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."webhook_ping"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."webhook_ping"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."webhook_replay"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."webhook_replay"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."webhook_replay"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."webhook_replay"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."account_meant"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."account_meant"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."account_meant"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."account_meant"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."account_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."account_named"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."account_named"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."account_named"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."active_connection_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."active_connection_named"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."active_connection_named"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."active_connection_named"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admit_cpo"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."admit_cpo"(jsonb, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."admit_page_session"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."admit_page_session"(jsonb, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."admit_partner_key"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."admit_partner_key"(jsonb, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."admit_user"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."admit_user"(jsonb, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."app_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."app_named"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."app_named"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."app_named"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."brought_by_then"(uuid, date) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."brought_by_then"(uuid, date) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."business_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."business_named"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."business_named"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."business_named"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_books"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_books"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_books"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_books"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_ere"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_ere"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_ere"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_ere"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_invoices"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_invoices"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_invoices"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_invoices"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_kwh"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_kwh"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_kwh"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_kwh"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_ledger"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_ledger"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_ledger"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_ledger"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_money"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_money"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_money"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_money"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_owed"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_owed"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_owed"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_owed"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_partner_sums"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_partner_sums"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_partner_sums"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_partner_sums"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_payouts"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_payouts"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_payouts"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_payouts"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."check_sums"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."check_sums"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."check_sums"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_sums"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."client_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."client_named"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."client_named"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."client_named"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."connection_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."connection_named"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."connection_named"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."connection_named"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_dashboard"(uuid) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."count_dashboard"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."count_wrong_code"(text) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."count_wrong_code"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."customer_state"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."customer_state"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."customer_state"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."customer_state"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."delete_login"(uuid) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."delete_login"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."ean_booked"(text, date) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."ean_booked"(text, date) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."ean_delivered"(text, date, uuid) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."ean_delivered"(text, date, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."emit_months"(uuid, text, uuid[]) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."emit_months"(uuid, text, uuid[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."emit_payouts"(text, core.payout_lines[]) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."emit_payouts"(text, core.payout_lines[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."emit_published"(uuid, integer) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."emit_published"(uuid, integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."emit_sale"(uuid, text, uuid[]) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."emit_sale"(uuid, text, uuid[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."end_sign_ins"(text, text) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."end_sign_ins"(text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."end_ways_in"(uuid) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."end_ways_in"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."evidence_lines"(core.bookings, text, uuid, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."evidence_lines"(core.bookings, text, uuid, integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."evidence_lines"(core.bookings, text, uuid, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."evidence_lines"(core.bookings, text, uuid, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."forget_claimed_drafts"(integer) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."forget_claimed_drafts"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."is_nobody_elses"(uuid, text) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."is_nobody_elses"(uuid, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."keep_delivery"() FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."keep_delivery"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."keep_to_owner"(regclass, name) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."keep_to_owner"(regclass, name) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."keep_to_owner"(regclass, name) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."keep_to_owner"(regclass, name) TO "postgres";

REVOKE ALL ON FUNCTION "private"."key_holder"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."key_holder"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."limit_state"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."limit_state"(text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."limit_state"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."limit_state"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."login_owns"(uuid) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."login_owns"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."mail_account_code"(core.accounts, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."mail_account_code"(core.accounts, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."mail_account_code"(core.accounts, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_account_code"(core.accounts, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_code"(text, text, text, jsonb, jsonb, uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."mail_code"(text, text, text, jsonb, jsonb, uuid, boolean) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."mail_code"(text, text, text, jsonb, jsonb, uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_code"(text, text, text, jsonb, jsonb, uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mandated_connection"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."mandated_connection"(uuid, boolean) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."mandated_connection"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mandated_connection"(uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."newest_attempts"(core.webhook_endpoints, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."newest_attempts"(core.webhook_endpoints, integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."newest_attempts"(core.webhook_endpoints, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."newest_attempts"(core.webhook_endpoints, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."own_account_rows"() FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."own_account_rows"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_webhooks"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_webhooks"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_webhooks"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_webhooks"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."partner_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."partner_named"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."partner_named"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."partner_named"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."payout_batch_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."payout_batch_named"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."payout_batch_named"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."payout_batch_named"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."readiness"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."readiness"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."readiness"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."readiness"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."refuse_admission"(text, json) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refuse_admission"(text, json) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."refuse_admission"(text, json) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refuse_admission"(text, json) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refuse_if"(text, boolean, json) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refuse_if"(text, boolean, json) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."refuse_if"(text, boolean, json) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refuse_if"(text, boolean, json) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_delivery"() FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."require_delivery"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."secure_login"(uuid) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."secure_login"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."signed_accounts"(text) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."signed_accounts"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."tell_payouts"(uuid[]) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."tell_payouts"(uuid[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."tell_secured"(uuid, text, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."tell_secured"(uuid, text, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."tell_sharing_ended"() FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."tell_sharing_ended"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."user_scopes"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."user_scopes"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."year_is_booked"(integer) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."year_is_booked"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."yearly_overview"(core.accounts, integer) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "private"."yearly_overview"(core.accounts, integer) TO "api_owner";

commit;
