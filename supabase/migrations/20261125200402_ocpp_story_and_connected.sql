begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

ALTER TABLE "core"."events"
  DROP CONSTRAINT "events_type_known";

CREATE OR REPLACE FUNCTION ops.charger_conflicts (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('conflicts', coalesce(json_agg(json_build_object(
           'charger_id', c.charger_id, 'brand', c.brand, 'serial_number', c.serial_number, 'held_by', c.held_by, 'booted_at', private.iso(c.booted_at))
           order by c.booted_at desc, c.charger_id), '[]'))
    from (select h.id as charger_id, h.brand, o.serial_number, o.id as held_by, l.booted_at
            from core.ocpp_links l
            join core.chargers h on h.partner_id = l.partner_id and h.id = l.charger_id and h.status = 'active'
            join core.chargers o
              on o.partner_id = any (array(select p.id from core.partners p)) and o.brand = h.brand and o.serial_number = private.boot_serial(l.boot)
             and o.status = 'active' and o.id <> h.id
           order by l.booted_at desc, h.id limit (input ->> 'limit')::int) c
$function$;

CREATE OR REPLACE FUNCTION ops.charger_story (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  charger core.chargers;
begin
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = private.as_uuid(input ->> 'charger');
  perform private.refuse_if('charger_not_found', not found, json_build_object('charger', input ->> 'charger'));
  return json_build_object(
    'charger', private.charger_row(charger)::jsonb || jsonb_build_object(
      'ocpp_identity', charger.ocpp_identity, 'last_seen_at', private.iso(charger.last_seen_at),
      'meter_kwh', charger.latest_meter_wh / 1000.0, 'meter_updated_at', private.iso(charger.meter_updated_at)),
    'link', (
      select json_build_object('protocol', l.protocol, 'connections', l.generation, 'connected_at', private.iso(l.connected_at),
                               'booted_at', private.iso(l.booted_at), 'boot', l.boot)
        from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id),
    'transactions', (
      select coalesce(json_agg(json_build_object(
               'transaction', coalesce(t.told_id, t.id::text), 'evse_no', t.connector, 'started_at', private.iso(coalesce(t.started_at, t.first_at)),
               'ended_at', private.iso(t.ended_at), 'start_wh', coalesce(t.meter_start_wh, t.begin_wh), 'last_wh', t.last_wh, 'end_wh', t.end_wh,
               'clock', t.clock) order by t.id desc), '[]')
        from (select * from core.ocpp_transactions t
               where t.partner_id = charger.partner_id and t.charger_id = charger.id order by t.id desc limit (input ->> 'limit')::int) t),
    'changes', (
      select coalesce(json_agg(json_build_object('at', private.iso(a.at), 'what', a.action, 'by', a.actor) order by a.id), '[]')
        from core.audit_log a where a.subject_id = charger.id));
end $function$;

CREATE OR REPLACE FUNCTION private.boot_ocpp (
  charger  core.chargers,
  protocol text,
  boot     jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  serial constant text := private.boot_serial(boot);
begin
  perform private.emit_charger('charger.connected', charger)
    from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id and l.booted_at is null;
  update core.ocpp_links l set boot = boot_ocpp.boot, booted_at = private.now(), protocol = boot_ocpp.protocol
   where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  if charger.catalog_charger_id is null and boot ->> 'vendor' is not null and boot ->> 'model' is not null then
    perform private.identify_charger(charger, jsonb_build_object(
      'ocpp_vendor', boot ->> 'vendor', 'ocpp_model', boot ->> 'model', 'ocpp_meter_type', boot ->> 'meter_type'));
    select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
  -- one that is active elsewhere stays there: the EAN keeps a month from being booked twice
  if charger.serial_number is null and charger.brand is not null and serial ~ '^[^[:space:]a-z]{1,64}$'
     and private.claim_serial_number(charger.brand, serial) then
    update core.chargers h set serial_number = serial where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.boot_serial (
  boot jsonb
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
RETURN upper(regexp_replace((boot ->> 'serial_number'::text), '\s'::text, ''::text, 'g'::text));

CREATE OR REPLACE FUNCTION private.charging_session_flags (
  item     private.charging_session_item,
  power_kw numeric
)
  RETURNS text[]
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select array_remove(array[
    case when item.wh < 0 then 'negative' end,
    case when item.ended_at < item.started_at then 'ends_before_start' end,
    -- five minutes, because clocks differ; a charger that lost the time starts again in 1970 or 2000
    case when greatest(item.started_at, item.ended_at) > private.now() + interval '5 minutes' or item.started_at < '2010-01-01Z' then 'wrong_clock' end,
    case when item.ended_at - item.started_at > interval '31 days' then 'too_long' end,
    -- A tenth for the meter's and the grid's tolerance, a minute for the clock's. 50 kW is the most an AC charger of ours may have, 400 kW a
    -- fast one.
    case when item.wh > coalesce(power_kw, case item.power_type when 'DC' then 400 else 50 end) * 1000 * 1.1
                        * (extract(epoch from greatest(coalesce(item.ended_at, private.now())
                           - case when item.source = 'ocpp' and item.started_at = item.ended_at then private.idle_since(item) else item.started_at end,
                           interval '0')) + 60) / 3600
         then 'beyond_power' end,
    case when 'no_end' = any (item.told_flags) then 'no_end' end,
    case when 'meter_disagrees' = any (item.told_flags)
           or abs(item.meter_end_wh - item.meter_start_wh - item.wh) > greatest(100, 0.01 * item.wh) then 'meter_disagrees' end,
    case when 'abroad' = any (item.told_flags) then 'abroad' end
  ], null)
$function$;

CREATE OR REPLACE FUNCTION private.idle_since (
  item private.charging_session_item
)
  RETURNS timestamp WITH time zone
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(max(s.ended_at), item.ended_at - interval '24 hours')
    from core.charging_sessions s
   where s.partner_id = private.partner_id() and s.charger_id = item.charger_id and s.connector = item.connector
     and s.started_at between item.ended_at - interval '31 days' and item.ended_at
     and s.ended_at between item.ended_at - interval '24 hours' and item.ended_at
     and (s.source, s.external_id) <> (item.source, item.external_id)
$function$;

CREATE OR REPLACE FUNCTION private.metrics()
  RETURNS TABLE (
    name  text,
    label text,
    value numeric
  )
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with due_mail as materialized (
    select m.next_attempt_at from core.mail_outbox m
     where m.status in ('queued', 'nobody') and m.status = 'queued' and m.next_attempt_at <= private.now()
     order by m.next_attempt_at limit 10000
  ), due_documents as materialized (
    select d.created_at from core.documents d where d.pdf is null order by d.due_at limit 10000
  ), last_runs as materialized (
    select j.job, r.ok, r.ms, r.finished_at
      from unnest(array['worker', 'documents']) j (job)
      left join lateral (select r.* from core.job_runs r where r.job = j.job order by r.id desc limit 1) r on true
  )
  select 'mail_due', null::text, count(*)::numeric from due_mail
  union all select 'mail_oldest_due_seconds', null, private.seconds_since(min(m.next_attempt_at)) from due_mail m
  union all
  select 'mail_failed', null, count(*) from (
    select from core.mail_outbox m
     where (m.status = 'failed' or m.status = 'queued' and m.last_error is not null) and m.status = 'failed'
       and m.created_at > private.now() - interval '1 day' limit 10000) f
  union all
  select 'notices_oldest_due_seconds', null, private.seconds_since(min(n.due_at)) from core.notices n where n.due_at <= private.now()
  union all
  select 'webhooks_oldest_due_seconds', null, private.seconds_since(min(w.since))
    from core.webhook_endpoints e
    join core.partners p on p.id = e.partner_id and p.is_active
   cross join lateral (
     select least(
       (select n.created_at from core.events n
         where n.partner_id = e.partner_id and n.owner_id = e.owner_id and n.sequence > e.delivered_to order by n.sequence limit 1),
       (select n.created_at from core.events n
         where n.partner_id = e.partner_id and n.owner_id = e.owner_id and n.sequence is null order by n.arrival limit 1),
       (select r.next_attempt_at from core.webhook_retries r
         where r.partner_id = e.partner_id and r.endpoint_id = e.id and r.next_attempt_at > '-infinity' and r.next_attempt_at <= private.now()
         order by r.next_attempt_at limit 1)) as since) w
   where e.status = 'enabled' and e.failures < 5
  union all select 'webhooks_failing', null, count(*) from core.webhook_endpoints e where e.status = 'enabled' and e.failures >= 5
  union all select 'webhook_secrets_unreadable', null, count(*) from core.webhook_endpoints e where e.status = 'enabled' and e.last_error = 'secret_unreadable'
  union all select 'job_age_seconds', r.job, extract(epoch from private.now() - r.finished_at) from last_runs r
  union all select 'job_ok', r.job, r.ok::int from last_runs r where r.job is not null and r.ok is not null
  union all select 'job_duration_seconds', r.job, r.ms / 1000.0 from last_runs r where r.ms is not null
  union all
  select 'register_failures', null, count(*) from (
    select from core.ean_checks e where e.outcome = 'unavailable' and e.checked_at > private.now() - interval '1 hour' limit 10000) f
  union all
  select 'register_lookups_failed', null, count(*) from (
    select from core.drafts d
     where d.ean_status in ('pending', 'failed') and d.status in ('invited', 'claimed') and d.ean_status = 'failed' limit 10000) f
  union all select 'charging_parked', null, count(*) from (select from core.parked_charging limit 10000) p
  union all
  select 'charging_flagged', f.flag, count(s.flag)
    from unnest(array['negative', 'ends_before_start', 'wrong_clock', 'too_long', 'beyond_power', 'overlapping', 'after_lock', 'withdrawn',
                      'duplicate', 'no_end', 'meter_disagrees', 'abroad']) f (flag)
    left join (
      select unnest(r.flags) as flag
        from (select s.flags from core.charging_sessions s
               where s.flags <> '{}' and s.received_at > private.now() - interval '1 day' limit 10000) r) s on s.flag = f.flag
   group by f.flag
  union all select 'months', m.status, m.months from private.months_by_status() m
  union all select 'ledger_wrong', null, coalesce(sum(c.wrong), 0) from core.ledger_checks c
  union all
  select 'ledger_check_age_seconds', null, private.seconds_since(min(coalesce(c.checked_at, p.created_at)))
    from core.partners p left join core.ledger_checks c on c.partner_id = p.id
  union all select 'documents_due', null, count(*) from due_documents
  union all select 'documents_oldest_due_seconds', null, private.seconds_since(min(d.created_at)) from due_documents d
  union all select 'unchained_entries', l.log, private.unchained(l.log) from unnest(array['audit', 'ledger']) l (log)
$function$;

CREATE OR REPLACE FUNCTION private.told_of_customer (
  type   text,
  source text
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
RETURN
  ((TYPE = ANY (ARRAY['mandate.signed'::text, 'mandate.renewed'::text, 'mandate.revoked'::text, 'mandate.expired'::text, 'charger.registered'::text, 'charger.connected'::text,
  'charger.mid_confirmed'::text])) OR ((TYPE ~~ 'registration.%'::text) AND (source = ANY (ARRAY['partner_upload'::text, 'partner_invite'::text]))));

ALTER TABLE "core"."events"
  ADD CONSTRAINT "events_type_known"
    CHECK
    ((type = ANY (ARRAY['account.created'::text, 'account.eligibility_changed'::text, 'account.months_locked'::text, 'account.months_registered'::text,
    'account.months_rejected'::text,
    'account.months_reopened'::text,
    'mandate.signed'::text,
    'mandate.renewed'::text,
    'mandate.declined'::text,
    'mandate.revoked'::text,
    'mandate.expired'::text,
    'ean.status_changed'::text,
    'charger.registered'::text,
    'charger.connected'::text,
    'charger.mid_confirmed'::text,
    'registration.submitted'::text,
    'registration.approved'::text,
    'registration.rejected'::text,
    'draft.claimed'::text,
    'draft.active'::text,
    'draft.expired'::text,
    'draft.conflict'::text,
    'customer.sharing_ended'::text,
    'ere.sold'::text,
    'ere.sale_reversed'::text,
    'charging.parked'::text, 'payout.approved'::text, 'payout.paid'::text, 'payout.failed'::text, 'payout.reversed'::text, 'webhook_endpoint.disabled'::text])));

CREATE INDEX charging_sessions_flagged ON core.charging_sessions USING btree (received_at)
  WHERE (flags <> '{}'::text[]);

COMMENT ON FUNCTION "api"."metrics"(jsonb) IS 'Figures for monitoring: [{name, label, value}]. label is the job, status, flag or log; value is null if nothing was ever counted. No personal data, no partner.';

COMMENT ON FUNCTION "ops"."charger_conflicts"(jsonb) IS 'Chargers whose BootNotification tells a serial number that another charger has, newest boot first: {limit} to {conflicts: [{charger_id, brand, serial_number, held_by, booted_at}]}.';

COMMENT ON FUNCTION "ops"."charger_story"(jsonb) IS 'One charger: {charger, limit} to {charger, link: its last connection and BootNotification or null, transactions: the newest by OCPP, changes}.';

REVOKE ALL ON FUNCTION "ops"."charger_conflicts"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."charger_conflicts"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."charger_conflicts"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."charger_conflicts"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."charger_story"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."charger_story"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."charger_story"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."charger_story"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."boot_serial"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."boot_serial"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."boot_serial"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."boot_serial"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."idle_since"(private.charging_session_item) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."idle_since"(private.charging_session_item) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."idle_since"(private.charging_session_item) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."idle_since"(private.charging_session_item) TO "postgres";

commit;
