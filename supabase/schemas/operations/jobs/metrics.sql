-- Figures for monitoring, never of a partner or a person. Each uses an index and counts to ten thousand, so that a
-- scrape stays cheap.

-- How long ago a moment was; 0 for null.
create function private.seconds_since(moment timestamptz) returns numeric
language sql stable
return coalesce(round(extract(epoch from private.now() - moment), 3), 0);

-- Delivered months by status: exact up to ten thousand in all, above that the planner's estimate.
create function private.months_by_status() returns table (status text, months numeric)
language plpgsql stable
as $$
declare
  most   constant int := 10000;
  counts jsonb;
begin
  select jsonb_object_agg(s.status, s.months) into counts
    from (select m.status, count(*) as months
            from (select d.status from core.delivered_months d limit most + 1) m group by m.status) s;
  if (select sum(c.value::numeric) from jsonb_each_text(counts) c) > most then
    -- what the planner knows since the last analyze; an estimate of a million costs no more than one of a thousand
    counts := coalesce((
      select jsonb_object_agg(v.status, round(v.share * greatest(c.reltuples, 0)))
        from pg_catalog.pg_class c
        join pg_catalog.pg_stats s on s.schemaname = 'core' and s.tablename = 'delivered_months'
            and s.attname = 'status'
       cross join unnest(s.most_common_vals::text::text[], s.most_common_freqs) v (status, share)
       where c.oid = 'core.delivered_months'::regclass), counts);
  end if;
  return query
    select k.status, coalesce((counts ->> k.status)::numeric, 0)
      from unnest(array['staged', 'outside_mandate', 'submitted', 'registered', 'rejected']) k (status);
end $$;

-- How many rows of a log wait for their hash, counted up to ten thousand.
create function private.unchained(of_log text) returns bigint
language plpgsql stable
as $$
begin
  return (
    select count(*)
      from (select
              from core.audit_chains c
             cross join lateral (
               select from core.audit_log a where of_log = 'audit' and a.partner_id = c.partner_id
                   and a.id > c.last_id limit 10000) r
             where c.log = of_log and of_log = 'audit'
            union all
            select
              from core.audit_chains c
             cross join lateral (
               select from core.ledger_entries e where of_log = 'ledger' and e.partner_id = c.partner_id
                   and e.id > c.last_id limit 10000) r
             where c.log = of_log and of_log = 'ledger'
            limit 10000) w);
end $$;

create function private.metrics() returns table (name text, label text, value numeric)
language sql stable security definer
as $$
  with due_mail as (
    select m.next_attempt_at from core.mail_outbox m
     where m.status in ('queued', 'nobody') and m.status = 'queued' and m.next_attempt_at <= private.now()
     order by m.next_attempt_at limit 10000
  ), due_documents as (
    select d.created_at from core.documents d where d.pdf is null order by d.due_at limit 10000
  ), last_runs as (
    select j.job, r.ok, r.ms, r.finished_at
      from unnest(array['worker', 'documents']) j (job)
      left join lateral (select r.* from core.job_runs r where r.job = j.job order by r.id desc limit 1) r on true
  )
  select 'mail_due', null::text, count(*)::numeric from due_mail
  union all select 'mail_oldest_due_seconds', null, private.seconds_since(min(m.next_attempt_at)) from due_mail m
  union all
  select 'mail_failed', null, count(*) from (
    select from core.mail_outbox m
     where (m.status in ('failed', 'bounced') or m.status = 'queued' and m.last_error is not null)
       and m.status = 'failed' and m.created_at > private.now() - interval '1 day' limit 10000) f
  union all
  select 'notices_oldest_due_seconds', null, private.seconds_since(min(n.due_at)) from core.notices n
   where n.due_at <= private.now()
  union all
  select 'webhooks_oldest_due_seconds', null, private.seconds_since(min(w.since))
    from core.webhook_endpoints e
    join core.partners p on p.id = e.partner_id and p.is_active
   cross join lateral (
     select least(
       (select n.created_at from core.events n
         where n.partner_id = e.partner_id and n.owner_id = e.owner_id and n.sequence > e.delivered_to
             order by n.sequence limit 1),
       (select n.created_at from core.events n
         where n.partner_id = e.partner_id and n.owner_id = e.owner_id and n.sequence is null
             order by n.arrival limit 1),
       (select r.next_attempt_at from core.webhook_retries r
         where r.partner_id = e.partner_id and r.endpoint_id = e.id and r.next_attempt_at > '-infinity'
             and r.next_attempt_at <= private.now()
         order by r.next_attempt_at limit 1)) as since) w
   where e.status = 'enabled' and e.failures < 5
  union all select 'webhooks_failing', null, count(*) from core.webhook_endpoints e where e.status = 'enabled'
      and e.failures >= 5
  union all select 'webhook_secrets_unreadable', null, count(*) from core.webhook_endpoints e where e.status = 'enabled'
      and e.last_error = 'secret_unreadable'
  union all select 'job_age_seconds', r.job, extract(epoch from private.now() - r.finished_at) from last_runs r
  union all select 'job_ok', r.job, r.ok::int from last_runs r where r.job is not null and r.ok is not null
  union all select 'job_duration_seconds', r.job, r.ms / 1000.0 from last_runs r where r.ms is not null
  union all
  select 'jobs_failing', j.job, count(f.job)
    from unnest(array['client', 'service']) j (job)
    left join core.failing_jobs f
      on f.failures >= 3 and (f.client_id = private.no_client()) = (j.job = 'service')
   group by j.job
  union all
  select 'register_failures', null, count(*) from (
    select from core.ean_checks e where e.outcome = 'unavailable'
        and e.checked_at > private.now() - interval '1 hour' limit 10000) f
  union all
  select 'register_lookups_failed', null, count(*) from (
    select from core.drafts d
     where d.ean_status in ('pending', 'failed') and d.status in ('invited', 'claimed')
         and d.ean_status = 'failed' limit 10000) f
  union all select 'charging_parked', null, count(*) from (select from core.parked_charging limit 10000) p
  union all
  select 'charging_evidence_over_quota', s.kind, count(k.kind)
    from unnest(array['client', 'charger']) s (kind)
    left join (select k.kind from core.kept_evidence k
                where k.exceeded and k.day = private.today() limit 10000) k on k.kind = s.kind
   group by s.kind
  union all
  select 'charging_flagged', f.flag, count(s.flag)
    from unnest(array['negative', 'ends_before_start', 'wrong_clock', 'too_long', 'beyond_power', 'overlapping',
                      'after_lock', 'withdrawn',
                      'duplicate', 'no_end', 'meter_disagrees', 'abroad', 'beyond_capacity',
                      'other_registration']) f (flag)
    left join (
      select unnest(r.flags) as flag
        from (select s.flags from core.charging_sessions s
               where s.flags <> '{}' and s.received_at > private.now() - interval '1 day' limit 10000) r) s
                   on s.flag = f.flag
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
$$;
comment on function private.metrics() is 'Definer: the figures are of all tenants at once.';

create function api.list_metrics(caller jsonb) returns json
language sql stable security definer
as $$
  select private.act_as(caller, 'worker');
  select (select json_agg(json_build_object('name', m.name, 'label', m.label, 'value', m.value))
          from private.metrics() m);
$$;
comment on function api.list_metrics(jsonb) is
  'Figures for monitoring: [{name, label, value}]. label is the job, status, flag or log; value is null if nothing was '
  'ever counted. No personal data, no partner.';
grant execute on function api.list_metrics(jsonb) to edge_slow;
