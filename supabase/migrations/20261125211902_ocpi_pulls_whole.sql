begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION ops.ocpi_pull (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections := private.ocpi_standing(input);
begin
  perform private.refuse_if('ocpi_no_pull', link.status <> 'registered' or link.cdrs_url is null, json_build_object('client', input ->> 'client'));
  update core.ocpi_connections c
     -- a later beginning would leave a gap that nobody reads
     set pull_due_at = private.now(),
         pull_from = case when input ? 'from' then least(private.dutch_midnight((input ->> 'from')::date), c.pulled_to - interval '48 hours') else c.pull_from end,
         pull_until = case when input ? 'from' then null else c.pull_until end, pull_offset = case when input ? 'from' then 0 else c.pull_offset end,
         pull_pages = 0,
         pull_lease_id = null, pull_lease_until = null
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  perform private.audit('ocpi.pull_asked', link.owner_id, jsonb_build_object('from', input -> 'from'));
  return json_build_object('changed', true, 'connection', private.ocpi_row(link));
end $function$;

CREATE OR REPLACE FUNCTION private.lease_ocpi_pulls (
  size integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  pulls json;
begin
  with leased as (
    update core.ocpi_connections c
       set pull_lease_id = gen_random_uuid(), pull_lease_until = private.now() + interval '60 seconds',
           -- a pass keeps its borders until it is whole; 31 days at most, so that a long one ends
           pull_until = coalesce(c.pull_until, least(private.now(), private.ocpi_pull_from(c) + interval '31 days'))
     where (c.partner_id, c.owner_id) in (
       select d.partner_id, d.owner_id from core.ocpi_connections d
        where d.pull_due_at <= private.now() and (d.pull_lease_until is null or d.pull_lease_until <= private.now())
          and d.status = 'registered' and d.cdrs_url is not null and d.their_token_ciphertext is not null
          and exists (select from core.partners p where p.id = d.partner_id and p.is_active)
          and exists (select from core.oauth_clients o where o.id = d.owner_id and o.partner_id = d.partner_id and o.disabled_at is null)
        order by d.pull_due_at limit size for update skip locked)
    returning c.*)
    select coalesce(json_agg(json_build_object(
           'partner_id', l.partner_id, 'owner_id', l.owner_id, 'lease_id', l.pull_lease_id, 'versions_url', l.versions_url, 'cdrs_url', l.cdrs_url,
           'origins', l.origins, 'their_token', json_build_object('ciphertext', l.their_token_ciphertext, 'key_id', l.their_token_key_id),
           'date_from', private.iso(private.ocpi_pull_from(l)), 'date_to', private.iso(l.pull_until), 'offset', l.pull_offset)), '[]') into pulls
    from leased l;
  return pulls;
end $function$;

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
  union all select 'ocpi_requests_total', a.status_code, coalesce((
      select sum(case a.status_code when '1000' then c.taken else c.refused end) from core.ocpi_connections c), 0)
    from unnest(array['1000', '2001']) a (status_code)
  union all
  select 'ocpi_pull_lag_seconds', null, private.seconds_since(min(coalesce(c.pulled_to, c.registered_at)))
    from core.ocpi_connections c
    join core.partners p on p.id = c.partner_id and p.is_active
    join core.oauth_clients o on o.id = c.owner_id and o.disabled_at is null
   where c.pull_due_at is not null
  union all select 'documents_due', null, count(*) from due_documents
  union all select 'documents_oldest_due_seconds', null, private.seconds_since(min(d.created_at)) from due_documents d
  union all select 'unchained_entries', l.log, private.unchained(l.log) from unnest(array['audit', 'ledger']) l (log)
$function$;

CREATE OR REPLACE FUNCTION private.ocpi_pull_from (
  link core.ocpi_connections
)
  RETURNS timestamp WITH time zone
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(link.pull_from, link.pulled_to - interval '48 hours', private.dutch_midnight(date_trunc('year', link.created_at at time zone 'Europe/Amsterdam')::date))
$function$;

CREATE OR REPLACE FUNCTION private.settle_ocpi (
  link  core.ocpi_connections,
  input jsonb
)
  RETURNS core.ocpi_connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  renewed constant boolean := link.status = 'registered';
begin
  update core.ocpi_connections c
     set status = 'registered', versions_url = input ->> 'versions_url', cdrs_url = input ->> 'cdrs_url',
         parties = array(select jsonb_array_elements_text(input -> 'parties')),
         previous_token_hash = case when renewed then coalesce(c.previous_token_hash, c.token_hash) end,
         -- the hour begins with the first PUT: the old token cannot be held on to by asking again
         previous_until = case when renewed then coalesce(c.previous_until, private.now() + interval '1 hour') end,
         token_hash = decode(input ->> 'token_hash', 'hex'), registration_token_hash = null, registration_until = null,
         their_token_ciphertext = input #>> '{their_token,ciphertext}', their_token_key_id = input #>> '{their_token,key_id}',
         registered_at = private.now(), pull_due_at = case when input ->> 'cdrs_url' is not null then private.now() end,
         -- an offset is of the list that was read: this may be another
         pull_offset = 0, pull_pages = 0, pull_lease_id = null, pull_lease_until = null, failing_since = null, last_error = null, warned = false
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  perform private.audit('ocpi.registered', link.owner_id, jsonb_build_object('parties', link.parties));
  return link;
end $function$;

commit;
