begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "api"."begin_ledger_check"(jsonb);

DROP FUNCTION "api"."chain_audit"(jsonb, jsonb);

DROP FUNCTION "api"."claim_documents"(jsonb, jsonb);

DROP FUNCTION "api"."claim_mail"(jsonb, jsonb);

DROP FUNCTION "api"."claim_webhooks"(jsonb, jsonb);

DROP FUNCTION "api"."count_waiting_mail"(jsonb);

DROP FUNCTION "api"."create_webhook"(jsonb, jsonb);

DROP FUNCTION "api"."due_draft_lookups"(jsonb, jsonb);

DROP FUNCTION "api"."due_ean_checks"(jsonb, jsonb);

DROP FUNCTION "api"."due_notices"(jsonb, jsonb);

DROP FUNCTION "api"."finish_ledger_check"(jsonb, jsonb);

DROP FUNCTION "api"."lease_mail"(jsonb, jsonb);

DROP FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb);

DROP FUNCTION "api"."mail_notices"(jsonb, jsonb);

DROP FUNCTION "api"."metrics"(jsonb);

DROP FUNCTION "api"."ping_webhook"(jsonb, jsonb);

DROP FUNCTION "api"."read_logo"(jsonb, jsonb);

DROP FUNCTION "api"."ready"(jsonb);

DROP FUNCTION "api"."record_draft_lookup"(jsonb, jsonb, jsonb);

DROP FUNCTION "api"."recount_dashboard"(jsonb);

DROP FUNCTION "api"."replay_webhook"(jsonb, jsonb);

DROP FUNCTION "api"."rotate_webhook"(jsonb, jsonb);

DROP FUNCTION "api"."run_due_jobs"(jsonb);

DROP FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb);

CREATE OR REPLACE FUNCTION api.begin_ledger_check (
  caller jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select json_build_object('partner_id', private.begin_ledger_check()); $function$;

ALTER FUNCTION "api"."begin_ledger_check"(jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.chain_audit (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.chain_audit((input ->> 'size')::int); $function$;

ALTER FUNCTION "api"."chain_audit"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.claim_documents (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.lease_documents((batch ->> 'size')::int); $function$;

ALTER FUNCTION "api"."claim_documents"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.claim_mail (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select '[]'::json; $function$;

ALTER FUNCTION "api"."claim_mail"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.claim_webhooks (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.lease_webhooks((batch ->> 'size')::int, batch ->> 'key')::json; $function$;

ALTER FUNCTION "api"."claim_webhooks"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.count_waiting_mail (
  caller jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.count_waiting_mail(); $function$;

ALTER FUNCTION "api"."count_waiting_mail"(jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.create_webhook (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.act_on_webhooks(caller), private.require_recent_sign_in();
  select private.webhook_json(private.add_webhook(private.log_owner(), input));
$function$;

ALTER FUNCTION "api"."create_webhook"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.due_draft_lookups (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.due_draft_lookups((batch ->> 'size')::int); $function$;

ALTER FUNCTION "api"."due_draft_lookups"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.due_ean_checks (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.due_ean_checks((batch ->> 'size')::int); $function$;

ALTER FUNCTION "api"."due_ean_checks"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.due_notices (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.due_notices((batch ->> 'size')::int)::json; $function$;

ALTER FUNCTION "api"."due_notices"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.finish_ledger_check (
  caller jsonb,
  due    jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.act_as(caller, 'worker');
  select json_build_object('wrong', private.finish_ledger_check((due ->> 'partner_id')::uuid));
$function$;

ALTER FUNCTION "api"."finish_ledger_check"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.lease_mail (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.lease_mail((batch ->> 'size')::int, batch ->> 'key'); $function$;

ALTER FUNCTION "api"."lease_mail"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.lease_ocpi_pulls (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select private.lease_ocpi_pulls((batch ->> 'size')::int); $function$;

ALTER FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.mail_notices (
  caller jsonb,
  posts  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.act_as(caller, 'worker');
  select json_build_object('mailed', (
    select count(*) filter (where private.mail_notice(p.post)) from jsonb_array_elements(posts) as p (post)));
$function$;

ALTER FUNCTION "api"."mail_notices"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.metrics (
  caller jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.act_as(caller, 'worker');
  select (select json_agg(json_build_object('name', m.name, 'label', m.label, 'value', m.value)) from private.metrics() m);
$function$;

ALTER FUNCTION "api"."metrics"(jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.ping_webhook (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.act_on_webhooks(caller);
  select json_build_object('ping', private.ping_webhook(private.own_webhook(input ->> 'webhook_id')));
$function$;

ALTER FUNCTION "api"."ping_webhook"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.read_logo (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'anyone'); select json_build_object('png', private.logo_at(decode(request ->> 'hash', 'hex'))); $function$;

ALTER FUNCTION "api"."read_logo"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.ready (
  caller jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'anyone'); select private.readiness(); $function$;

ALTER FUNCTION "api"."ready"(jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.record_draft_lookup (
  caller       jsonb,
  due          jsonb,
  ean_register jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.act_as(caller, 'worker'), private.act_for_partner((due ->> 'partner_id')::uuid);
  select private.record_draft_lookup((due ->> 'draft_id')::uuid, ean_register);
$function$;

ALTER FUNCTION "api"."record_draft_lookup"(jsonb, jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.recount_dashboard (
  caller jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select (select row_to_json(r) from private.recount_dashboard() r); $function$;

ALTER FUNCTION "api"."recount_dashboard"(jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.replay_webhook (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_on_webhooks(caller); select private.replay_webhook(private.own_webhook(input ->> 'webhook_id'), input); $function$;

ALTER FUNCTION "api"."replay_webhook"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.rotate_webhook (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.act_on_webhooks(caller), private.require_recent_sign_in();
  select private.webhook_json(private.rotate_webhook(private.own_webhook(input ->> 'webhook_id'), input));
$function$;

ALTER FUNCTION "api"."rotate_webhook"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.run_due_jobs (
  caller jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select private.act_as(caller, 'worker');
  select json_build_object(
    'mandates_expired', private.expire_mandates(),
    'endings_announced', private.announce_endings(),
    'missing_asked', private.announce_missing(),
    'mail_purged', private.sweep('mail'),
    'logos_purged', private.sweep('logos'),
    'invitations_purged', private.sweep('invitations'),
    'oauth_purged', private.sweep('oauth'),
    'sessions_synced', private.sync_virtual_chargers(),
    'charges_given_up', private.give_up_charges(),
    'parked_stored', private.judge_due_parked(),
    'registrations_reviewed', private.review_due_registrations(),
    'partitions_made', private.make_due_partitions(),
    'events_swept', private.sweep_events(),
    'charging_changes_swept', private.sweep_charging_changes(),
    'parked_swept', private.sweep('parked'),
    'webhook_attempts_swept', private.sweep('webhook_attempts'),
    'job_runs_swept', private.sweep('job_runs'),
    'mail_counts_swept', private.sweep('mail_counts'),
    -- last: whose bucket it deletes waits until this transaction ends
    'rate_limits_swept', private.sweep('rate_limits'));
$function$;

ALTER FUNCTION "api"."run_due_jobs"(jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.settle_ocpi_pull (
  caller  jsonb,
  settled jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.act_as(caller, 'worker'); select json_build_object('settled', private.settle_ocpi_pull(settled)); $function$;

ALTER FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) OWNER TO "api_owner";

COMMENT ON FUNCTION "api"."begin_ledger_check"(jsonb) IS 'The tenant whose books are checked now: {partner_id}, null if none is due. Leased for a day, so that a check that does not end is not repeated at once.';

COMMENT ON FUNCTION "api"."chain_audit"(jsonb, jsonb) IS 'Continues the chains of the audit log and the ledger: {size} to {chained, more, sealed: {day, hash} or null}. Safe to call at any time, from several callers at once.';

COMMENT ON FUNCTION "api"."claim_documents"(jsonb, jsonb) IS 'The next documents to render: {size} to [{partner_id, id, kind, created_at, content}]. Each is leased for five minutes, then offered again.';

COMMENT ON FUNCTION "api"."claim_mail"(jsonb, jsonb) IS 'What the worker of 0.9.0 asks for until it is replaced: no mail, because it does not know how to write one. To be deleted with release 1.0.0.';

COMMENT ON FUNCTION "api"."claim_webhooks"(jsonb, jsonb) IS 'The next endpoints to send to: {size, key} to [{partner_id, webhook_id, lease_id, url, secrets, posts: [{event_id, attempt, again, sequence, type, body}]}].';

COMMENT ON FUNCTION "api"."count_waiting_mail"(jsonb) IS 'How many mails wait to be sent, as {waiting}, for a worker without a mail server to report.';

COMMENT ON FUNCTION "api"."create_webhook"(jsonb, jsonb) IS 'POST /partner/webhooks and /v1/webhooks: {id, url, types, secret, secret_id, from} to the endpoint. The secret is sealed before it comes here.';

COMMENT ON FUNCTION "api"."due_draft_lookups"(jsonb, jsonb) IS 'The next addresses to look up: {size} to [{partner_id, draft_id, postal_code, house_number, house_number_addition}].';

COMMENT ON FUNCTION "api"."due_ean_checks"(jsonb, jsonb) IS 'The next connections to re-check: {size} to [{partner_id, connection_id, ean_code, postal_code, house_number, house_number_addition}].';

COMMENT ON FUNCTION "api"."due_notices"(jsonb, jsonb) IS 'The next notices to mail: {size} to [{partner_id, notice_id, notice, locale, full_name, partner_name, brand, account, draft_id, may_sign_in, may_sign}].';

COMMENT ON FUNCTION "api"."finish_ledger_check"(jsonb, jsonb) IS 'Checks the books of one tenant: {partner_id} to {wrong}, how many things disagree.';

COMMENT ON FUNCTION "api"."lease_mail"(jsonb, jsonb) IS 'The next mails to send: {size, key} to [{partner_id, id, recipient, template, locale, content}]. Each is leased for five minutes, then offered again. Mail that its reader opted out of since, or whose link or code is of no use any more, is dropped.';

COMMENT ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) IS 'The next platforms to read CDRs of: {size} to [{partner_id, owner_id, lease_id, versions_url, cdrs_url, origins, their_token, date_from, date_to, offset}].';

COMMENT ON FUNCTION "api"."mail_notices"(jsonb, jsonb) IS 'Mails due notices: [{partner_id, notice_id, draft_id, token_hash, mail}] to {mailed}. token_hash is of the mail''s link to sign by, or null.';

COMMENT ON FUNCTION "api"."metrics"(jsonb) IS 'Figures for monitoring: [{name, label, value}]. label is the job, status, flag or log; value is null if nothing was ever counted. No personal data, no partner.';

COMMENT ON FUNCTION "api"."ping_webhook"(jsonb, jsonb) IS 'POST /partner/webhooks/{webhook_id}/test and /v1/…: {webhook_id} to {ping}, for api.pinged_webhook.';

COMMENT ON FUNCTION "api"."read_logo"(jsonb, jsonb) IS 'The picture at the address of a logo: {hash} to {png}, base64, null if there is none.';

COMMENT ON FUNCTION "api"."ready"(jsonb) IS 'What /health/ready asks: private.readiness.';

COMMENT ON FUNCTION "api"."record_draft_lookup"(jsonb, jsonb, jsonb) IS 'Stores the EAN register''s answer for a due draft; null if it no longer waits.';

COMMENT ON FUNCTION "api"."recount_dashboard"(jsonb) IS 'Counts the next dashboard that is due: {partner_id, error}. partner_id is null if none is, error if the count did not fail.';

COMMENT ON FUNCTION "api"."replay_webhook"(jsonb, jsonb) IS 'POST /partner/webhooks/{webhook_id}/replay and /v1/…: {webhook_id, from, to | failed} to {ok, from, to, events}.';

COMMENT ON FUNCTION "api"."rotate_webhook"(jsonb, jsonb) IS 'POST /partner/webhooks/{webhook_id}/rotate and /v1/…: {webhook_id, secret, secret_id, now} to the endpoint.';

COMMENT ON FUNCTION "api"."run_due_jobs"(jsonb) IS 'Does everything that is due, in one transaction: counts by job. Safe to call at any time, from several callers at once.';

COMMENT ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) IS 'Ends a pull, or its turn: {partner_id, owner_id, lease_id, whole, error?, operator} to {settled}. operator is an address to warn too.';

REVOKE ALL ON FUNCTION "api"."begin_ledger_check"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."begin_ledger_check"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."begin_ledger_check"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."begin_ledger_check"(jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."chain_audit"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."chain_audit"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."chain_audit"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."chain_audit"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."claim_documents"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."claim_documents"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."claim_documents"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."claim_documents"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."claim_mail"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."claim_mail"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."claim_mail"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."claim_mail"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."claim_webhooks"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."claim_webhooks"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."claim_webhooks"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."claim_webhooks"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."count_waiting_mail"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."count_waiting_mail"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."count_waiting_mail"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."count_waiting_mail"(jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."create_webhook"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."create_webhook"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."create_webhook"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."create_webhook"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."due_draft_lookups"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."due_draft_lookups"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."due_draft_lookups"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."due_draft_lookups"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."due_ean_checks"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."due_ean_checks"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."due_ean_checks"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."due_ean_checks"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."due_notices"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."due_notices"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."due_notices"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."due_notices"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."finish_ledger_check"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."finish_ledger_check"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."finish_ledger_check"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."finish_ledger_check"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."lease_mail"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."lease_mail"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."lease_mail"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."lease_mail"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."mail_notices"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."mail_notices"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."mail_notices"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."mail_notices"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."metrics"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."metrics"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."metrics"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."metrics"(jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."ping_webhook"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."ping_webhook"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."ping_webhook"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."ping_webhook"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."read_logo"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."read_logo"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."read_logo"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."read_logo"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."ready"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."ready"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."ready"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."ready"(jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."record_draft_lookup"(jsonb, jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."record_draft_lookup"(jsonb, jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."record_draft_lookup"(jsonb, jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."record_draft_lookup"(jsonb, jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."recount_dashboard"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."recount_dashboard"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."recount_dashboard"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."recount_dashboard"(jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."replay_webhook"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."replay_webhook"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."replay_webhook"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."replay_webhook"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."rotate_webhook"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."rotate_webhook"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."rotate_webhook"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."rotate_webhook"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."run_due_jobs"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."run_due_jobs"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."run_due_jobs"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."run_due_jobs"(jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) TO "edge_slow";

commit;
