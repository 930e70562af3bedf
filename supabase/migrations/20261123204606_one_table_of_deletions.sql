begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."forget_checks"(date, integer);

DROP FUNCTION "private"."forget_deliveries"(date, integer);

DROP FUNCTION "private"."forget_months"(date, integer);

DROP FUNCTION "private"."purge_invitations"();

DROP FUNCTION "private"."purge_logos"();

DROP FUNCTION "private"."purge_mail"();

DROP FUNCTION "private"."purge_oauth"();

DROP FUNCTION "private"."sweep_job_runs"();

DROP FUNCTION "private"."sweep_mail_counts"();

DROP FUNCTION "private"."sweep_rate_limits"();

DROP FUNCTION "private"."sweep_webhook_attempts"();

CREATE OR REPLACE FUNCTION api.run_due_jobs (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object(
    'mandates_expired', private.expire_mandates(),
    'endings_announced', private.announce_endings(),
    'missing_asked', private.announce_missing(),
    'mail_purged', private.sweep('mail'),
    'logos_purged', private.sweep('logos'),
    'invitations_purged', private.sweep('invitations'),
    'oauth_purged', private.sweep('oauth'),
    'sessions_synced', private.sync_virtual_chargers(),
    'registrations_reviewed', private.review_due_registrations(),
    'partitions_made', private.make_due_partitions(),
    'events_swept', private.sweep_events(),
    'webhook_attempts_swept', private.sweep('webhook_attempts', 10000),
    'job_runs_swept', private.sweep('job_runs'),
    'mail_counts_swept', private.sweep('mail_counts'),
    -- last: whose bucket it deletes waits until this transaction ends
    'rate_limits_swept', private.sweep('rate_limits'));
end $function$;

CREATE OR REPLACE FUNCTION private.delete_due (
  of_kind text,
  border  date,
  size    integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  deletion core.deletions;
  counted  int;
  deleted  int := 0;
begin
  for deletion in select * from core.deletions d where d.kind = of_kind order by d.step loop
    -- What somebody holds is in use, and left to the next run. By ctid, which is of one table: `only` spares a partitioned one.
    execute format('delete from only core.%1$I d where d.ctid = any (array(
                      select d.ctid from only core.%1$I d where %2$s limit $2 for update of d skip locked))',
                   deletion.of_table, replace(deletion.due, ':border', '$1')) using border, size;
    get diagnostics counted = row_count;
    deleted := deleted + counted;
  end loop;
  return deleted;
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
  if kind in ('invoices', 'bookings', 'payouts', 'ledger') then
    perform private.hold_books();
  end if;
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

CREATE OR REPLACE FUNCTION private.sweep (
  of_kind text,
  size    integer DEFAULT NULL::integer
)
  RETURNS integer
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.delete_due(of_kind, null, size) $function$;

CREATE VIEW "core"."deletions" WITH (security_invoker=true) AS  SELECT step,
    kind,
    of_table,
    due
   FROM ( VALUES (1,'months'::text,'delivered_months'::text,'d.period < :border and not exists (
     select from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period)'::text), (2,'deliveries'::text,'deliveries'::text,'d.received_at < private.dutch_midnight(:border)
     and not exists (select from core.delivered_months m where m.partner_id = d.partner_id and m.delivery_id = d.id)
     and not exists (select from core.booking_rows r where r.partner_id = d.partner_id and r.delivery_id = d.id)'::text), (3,'ean_checks'::text,'ean_checks'::text,'d.checked_at < private.dutch_midnight(:border)'::text), (4,'mail'::text,'mail_outbox'::text,'d.status = ''nobody'' or d.created_at < private.now() - interval ''90 days'' and d.status <> ''queued'''::text), (5,'logos'::text,'partner_logos'::text,'d.replaced_at < private.now() - interval ''90 days'''::text), (6,'invitations'::text,'manager_invitations'::text,'d.expires_at < private.now() - interval ''30 days'''::text), (7,'oauth'::text,'revoked_access_tokens'::text,'d.expires_at < private.now()'::text), (8,'oauth'::text,'oauth_codes'::text,'d.expires_at < private.now() - interval ''1 day'''::text), (9,'oauth'::text,'oauth_refresh_tokens'::text,'d.expires_at < private.now()'::text), (10,'oauth'::text,'sign_in_codes'::text,'d.expires_at < private.now()'::text), (11,'oauth'::text,'page_sessions'::text,'d.expires_at < private.now()'::text), (12,'oauth'::text,'oauth_grants'::text,'d.created_at < private.now() - interval ''1 day''
     and not exists (select from core.oauth_codes c where c.grant_id = d.id)
     and not exists (select from core.oauth_refresh_tokens t where t.grant_id = d.id)'::text), (13,'webhook_attempts'::text,'webhook_attempts'::text,'d.at <= private.now() - interval ''30 days'' order by d.at'::text), (14,'job_runs'::text,'job_runs'::text,'d.finished_at < private.now() - interval ''7 days'' or d.id <= (select max(n.id) from core.job_runs n) - 100000'::text), (15,'mail_counts'::text,'mail_counts'::text,'d.day < private.today()'::text), (16,'rate_limits'::text,'rate_limit_state'::text,'d.full_at < private.now()'::text)) deletion(step, kind, of_table, due);

COMMENT ON FUNCTION "private"."delete_due"(text, date, integer) IS 'Deletes what is due of a kind of core.deletions, so many rows of a table at most, and says how many.';

COMMENT ON FUNCTION "private"."sweep"(text, integer) IS 'What the worker deletes of a kind. Without a border, before which nothing is: what is kept for years stays. Definer: every tenant at once.';

COMMENT ON VIEW "core"."deletions" IS 'What is deleted row by row when it is due: a row is a condition on rows d of a table of core, in which :border is the day before which nothing need be kept. A kind is deleted step by step.';

REVOKE ALL ON FUNCTION "private"."delete_due"(text, date, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."delete_due"(text, date, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."delete_due"(text, date, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."sweep"(text, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."sweep"(text, integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."sweep"(text, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sweep"(text, integer) TO "postgres";

commit;
