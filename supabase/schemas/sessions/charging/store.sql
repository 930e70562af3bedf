-- Charging sessions: one function stores them, from any source, and adds up the months in the same transaction.

-- The id of a session, by which it is known: an RFC 9562 UUID of version 8, of the SHA-256 of charger, source and
-- external id.
create function private.session_id(charger uuid, source text, external_id text) returns uuid
language sql stable
return overlay(overlay(left(encode(sha256(convert_to(concat_ws(' ', charger, source, external_id), 'UTF8')), 'hex'), 32)
                       placing '8' from 13) placing '8' from 17)::uuid;

-- Sessions as doors write them, each read on its own: [{charger_id, source, external_id, connector?, evse_no?,
-- evse_assumed?, started_at, ended_at?, wh, status?, meter_wh?, meter_id?, meter_start_wh?, meter_end_wh?,
-- power_type?: AC|DC, flags?: [no_end|meter_disagrees|abroad], end_from?, document?, sent_sha256?: hex, signed?:
-- [text], client_id?, upload_id?, request_id?, parked_at?, place?, sheet_row?}]. reason is null, or bad_ and the
-- unreadable field. Without ended_at a session is charging, unless status says active. What is beside the session comes
-- from our own doors, which checked its shape. received_at is when it was parked, else now: of two parked words the
-- later one counts, whenever stored. shared: sent_sha256 and upload_id of all. resolved: the charger of each, as
-- private.resolve_chargers answers.
create function private.read_sessions(items jsonb, shared jsonb, resolved jsonb)
returns table (n int, place int, sheet_row int, reason text, charger_id uuid, connector int, evse_assumed boolean,
               session_id uuid, source text, external_id text, started_at timestamptz, ended_at timestamptz, wh bigint,
               status text, meter_wh bigint, meter_id text, meter_start_wh bigint, meter_end_wh bigint, power_type text,
               source_flags text[], end_from text, document jsonb, sent_sha256 bytea, signed text[], names text[],
               client_id uuid, upload_id uuid, request_id text, received_at timestamptz)
language sql stable
begin atomic
  -- materialized: read once, though judged by several columns
  with item as materialized (
    select e.n::int as n, i.*, f.names as found_names, f.reason as not_found,
           coalesce(f.charger_id, private.as_uuid(i.charger_id)) as charger,
           case when coalesce(f.evse_no, i.evse_no) is not null then coalesce(f.evse_no, i.evse_no)
                when i.connector is null then 1
                when private.as_count(i.connector) between 1 and 100 then private.as_count(i.connector)::int
                end as evse,
           f.evse_no is null and (i.evse_assumed is true or num_nonnulls(i.evse_no, i.connector) = 0) as assumed,
           private.as_moment(i.started_at) as start, private.as_moment(i.ended_at) as finish,
           private.as_count(i.wh) as energy,
           case when i.ended_at is not null then 'completed' else coalesce(i.status, 'charging') end as state
      from jsonb_array_elements(items) with ordinality e (item, n)
     cross join lateral jsonb_to_record(e.item) as i (
       place int, sheet_row int, charger_id text, connector jsonb, evse_no int, evse_assumed boolean, source text,
       external_id text, started_at text, ended_at text, wh jsonb, status text, meter_wh jsonb, meter_id text,
       meter_start_wh jsonb, meter_end_wh jsonb, power_type text, flags jsonb, end_from text, document jsonb,
       sent_sha256 text, signed jsonb, client_id uuid, upload_id uuid, request_id text, names text[],
       parked_at timestamptz)
      left join jsonb_to_recordset(resolved) as f (n int, charger_id uuid, evse_no int, names text[], reason text)
        on f.n = e.n
  )
  select i.n, coalesce(i.place, i.n), i.sheet_row,
         case when i.not_found is not null then i.not_found
              when i.charger is null then 'bad_charger_id'
              when length(i.source) between 1 and 40 is not true then 'bad_source'
              -- a session without an id of its own is known by EVSE and start
              when length(i.external_id) between 1 and 120 is not true
               and (i.external_id is not null or i.source <> 'file') then 'bad_external_id'
              when i.evse is null then 'bad_connector'
              when i.start is null then 'bad_started_at'
              when i.ended_at is not null and i.finish is null then 'bad_ended_at'
              when i.energy is null then 'bad_wh'
              when i.state not in ('active', 'charging') and i.finish is null then 'bad_status' end,
         i.charger, i.evse, i.assumed,
         private.session_id(i.charger, i.source, coalesce(i.external_id, i.evse || '@' || i.started_at)),
         i.source, coalesce(i.external_id, i.evse || '@' || i.started_at), i.start, i.finish, i.energy, i.state,
         private.as_count(i.meter_wh), left(i.meter_id, 120), private.as_count(i.meter_start_wh),
         private.as_count(i.meter_end_wh), i.power_type,
         case when i.flags is null then '{}'::text[]
              else array(select f from jsonb_array_elements_text(i.flags) f
                          where f in ('no_end', 'meter_disagrees', 'abroad')) end,
         i.end_from, i.document, decode(coalesce(shared ->> 'sent_sha256', i.sent_sha256), 'hex'),
         case when i.signed is null then '{}'::text[] else array(select jsonb_array_elements_text(i.signed)) end,
         coalesce(i.found_names, i.names, '{}'), coalesce(i.client_id, private.client_id()),
         coalesce((shared ->> 'upload_id')::uuid, i.upload_id),
         coalesce(i.request_id, nullif(current_setting('app.request_id', true), '')),
         coalesce(i.parked_at, private.now())
    from item i;
end;

-- The flags that other sessions and locks give; the rest a session has by its own words and its charger.
create function private.own_flags(flags text[]) returns text[]
language sql immutable
return array_remove(array_remove(array_remove(array_remove(
         flags, 'overlapping'), 'duplicate'), 'beyond_capacity'), 'after_lock');

-- The last end at an EVSE before a moment, at most 24 hours before it. A charger that told only the end of a charge
-- drew its energy since.
create function private.idle_since(charger uuid, evse int, moment timestamptz, session uuid) returns timestamptz
language sql stable
as $$
  select coalesce(max(s.ended_at), moment - interval '24 hours')
    from core.charging_sessions s
   where s.partner_id = private.partner_id() and s.charger_id = charger and s.connector = evse
     and s.started_at between moment - interval '31 days' and moment
     and s.ended_at between moment - interval '24 hours' and moment and s.id <> session
$$;

create function private.counts_elsewhere(registrations uuid[], began timestamptz, ended timestamptz) returns boolean
language plpgsql stable security definer
as $$
begin
  return exists (
    select from unnest(registrations) r
     cross join lateral (
       select from core.charging_sessions s
        where s.charger_id = r and s.started_at > began - interval '31 days'
          and s.started_at < ended and s.ended_at > began and s.counted and s.wh > 0 limit 1) s);
end $$;
comment on function private.counts_elsewhere(uuid[], timestamptz, timestamptz) is
  'Whether one of these registrations, the others of a physical charger, has a session with energy that counts at this '
  'time. Definer, because they may be of any tenant; the answer does not tell whose.';

-- Stores sessions, items as private.read_sessions takes them. status: created, updated, unchanged, superseded (a later
-- item of the batch has the same id) or rejected, with a reason. Idempotent by charger, source and external_id. What
-- changes something leaves the words of its source as evidence, or over the quota of the day their hash. The items are
-- of one source. counted in shared says that their words were counted when they were parked; what they replace is not,
-- because other rows are locked later.
--
-- Plans are kept, because planning one session takes longer than storing it. A plan may be made while tables are empty.
-- So each row is looked up by its key in a lateral query with a limit, which no plan turns into reading a table.
create function private.store_sessions(items jsonb, shared jsonb default '{}', resolved jsonb default '[]')
returns table (place int, sheet_row int, source_id text, status text, reason text, charger_id uuid, session_id uuid,
               flags text[])
language plpgsql
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off  -- else a plan that was made while a table was small reads all of it when it has grown
as $$
#variable_conflict use_column
declare
  chargers  constant uuid[] := array(
    select distinct coalesce(f.charger_id, private.as_uuid(e.item ->> 'charger_id'))
      from jsonb_array_elements(items) with ordinality e (item, n)
      left join jsonb_to_recordset(resolved) as f (n int, charger_id uuid, reason text) on f.n = e.n
     where f.reason is null);
  now       constant timestamptz := private.now();
  -- whose words these are, unless the client's
  teller    constant uuid := case when items -> 0 ->> 'source' not in ('api', 'file', 'ocpi') then chargers[1] end;
  owner     uuid := private.owner_id();
  told      bigint;
  outcome   jsonb;
  changed   jsonb;
  corrected boolean;
begin
  -- the worker acts for no owner
  if owner is null then
    owner := (select h.owner_id from core.chargers h where h.partner_id = private.partner_id() and h.id = chargers[1]);
  end if;
  -- one batch at a time on a charger and a connection; in order, so that two batches cannot wait for each other
  perform from core.chargers h where h.partner_id = private.partner_id() and h.id = any (chargers)
    order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select h.connection_id from core.chargers h
                             where h.partner_id = private.partner_id() and h.id = any (chargers) and h.mid_eligible))
    order by c.id for no key update;
  with item as (
    select r.*, max(r.n) filter (where r.reason is null)
                  over (partition by r.session_id) as latest
      from private.read_sessions(items, shared, resolved) r
  ), known as materialized (  -- else flags that are used twice are judged twice
    select i.*, h.id as known_charger, h.connection_id, h.owner_id, p.watts, f.own, s as old
      from item i
      left join lateral (
        select * from core.chargers h
         where i.reason is null and h.partner_id = private.partner_id() and h.id = i.charger_id limit 1) h on true
      left join lateral (
        select * from core.charging_sessions s
         where h.id is not null and s.partner_id = private.partner_id() and s.id = i.session_id limit 1) s on true
     -- A tenth for the meter's and the grid's tolerance. 50 kW is the most an AC charger of ours may have, 400 kW a
     -- fast one.
     cross join lateral (
       select coalesce(h.power_kw, case i.power_type when 'DC' then 400 else 50 end) * 1100 as watts) p
     cross join lateral (
       -- why it is implausible, by its own words and its charger
       select array_remove(array[
         case when i.wh < 0 then 'negative' end,
         case when i.ended_at < i.started_at then 'ends_before_start' end,
         -- five minutes, because clocks differ; a charger that lost the time starts again in 1970 or 2000
         case when greatest(i.started_at, i.ended_at) > now + interval '5 minutes' or i.started_at < '2010-01-01Z'
                or i.started_at < h.created_at - interval '400 days' and i.source <> 'sandbox' then 'wrong_clock' end,
         case when i.ended_at - i.started_at > interval '31 days' then 'too_long' end,
         case when i.wh > p.watts / 3600
                          * (60 + extract(epoch from greatest(coalesce(i.ended_at, now)
                             - case when i.source = 'ocpp' and i.started_at = i.ended_at
                                    then private.idle_since(i.charger_id, i.connector, i.ended_at, i.session_id)
                                    else i.started_at end, interval '0')))
              then 'beyond_power' end,
         case when 'no_end' = any (i.source_flags) then 'no_end' end,
         -- over 1 % and 0.1 kWh
         case when 'meter_disagrees' = any (i.source_flags)
                or abs(i.meter_end_wh - i.meter_start_wh - i.wh) > greatest(100, 0.01 * i.wh)
              then 'meter_disagrees' end,
         case when 'abroad' = any (i.source_flags) then 'abroad' end,
         case when i.started_at < h.counts_from and i.started_at < h.counts_before is not true
                or i.started_at >= h.counts_until
                -- at the border of two registrations: by their clocks both may seem to have the charge
                -- a former one's charge may run on for a day: else it could keep a month of the next from counting
                or i.ended_at > h.counts_until + interval '1 day'
                -- and before the first charge of the former one
                or case when h.counts_until is not null or i.started_at < h.counts_from + interval '1 day'
                        then private.counts_elsewhere(array(select r.id from private.registrations_of(h) r),
                                                      i.started_at, i.ended_at) end
                -- the same request may bring both
                or h.counts_until is not null and exists (
                     select from private.registrations_of(h) r join item o on o.charger_id = r.id
                      where r.partner_id = h.partner_id
                        and (i.ended_at > h.counts_until or o.started_at < r.counts_before)
                        and o.started_at < i.ended_at and o.ended_at > i.started_at and o.wh > 0)
              then 'other_registration' end,
         -- A client may tell again what it withdrew; a credited CDR stays credited.
         case when 'withdrawn' = any (s.flags) and i.source not in ('api', 'file') then 'withdrawn' end
       ], null) as own) f
  ), beside as (
    select k.*, e.busy_from, k.names <@ (k.old).names as called_so,
           case when k.known_charger is null then 'rejected'
                when k.n < k.latest then 'superseded'
                when (k.old).id is null then 'created'
                -- late news of a charge that has ended since does not open it again
                when ((k.old).ended_at is null or k.ended_at is not null)
                 and ((k.old).connector, (k.old).evse_assumed, (k.old).started_at, (k.old).ended_at, (k.old).wh,
                      (k.old).status, (k.old).meter_id, (k.old).meter_start_wh, (k.old).meter_end_wh,
                      private.own_flags((k.old).flags))
                     is distinct from (k.connector, k.evse_assumed, k.started_at, k.ended_at, k.wh, k.status,
                                       k.meter_id, k.meter_start_wh, k.meter_end_wh, k.own) then 'updated'
                else 'unchanged' end as outcome
      from known k
     -- a minute for the clock, and no more than a tenth of what a short charge takes
     cross join lateral (
       select case when 'beyond_power' = any (k.own) then k.started_at
                   else least(k.started_at, k.ended_at
                          - make_interval(secs => least(86400, t.secs - least(60, t.secs / 10))::float8))
                   end as busy_from
         from (select k.wh * 3600 / k.watts as secs) t) e
  ), created as (
    insert into core.charging_sessions as s
      (partner_id, charger_id, id, connection_id, owner_id, source, external_id, connector, evse_assumed, started_at,
       ended_at, busy_from, wh, status, names, flags, received_at, meter_id, meter_start_wh, meter_end_wh)
    select private.partner_id(), b.charger_id, b.session_id, b.connection_id, b.owner_id, b.source, b.external_id,
           b.connector, b.evse_assumed, b.started_at, b.ended_at, b.busy_from, b.wh, b.status, b.names, b.own,
           b.received_at, b.meter_id, b.meter_start_wh, b.meter_end_wh
      from beside b where b.outcome = 'created'
     order by b.started_at, b.source, b.external_id
  ), updated as (
    update core.charging_sessions s
       set connector = b.connector, evse_assumed = b.evse_assumed, started_at = b.started_at, ended_at = b.ended_at,
           busy_from = b.busy_from, wh = b.wh, status = b.status, received_at = b.received_at, meter_id = b.meter_id,
           meter_start_wh = b.meter_start_wh, meter_end_wh = b.meter_end_wh,
           connection_id = coalesce(s.connection_id, b.connection_id),
           names = case when b.called_so then s.names
                        else array(select distinct n from unnest(s.names || b.names) n) end,
           -- what others gave is judged again, by what it was
           flags = b.own || array(select f from unnest(s.flags) f
                                   where f in ('duplicate', 'beyond_capacity', 'after_lock'))
      from beside b
     where b.outcome = 'updated' and s.partner_id = private.partner_id() and s.id = b.session_id
  ), called as (
    update core.charging_sessions s set names = array(select distinct n from unnest(s.names || b.names) n)
      from beside b
     where b.outcome = 'unchanged' and not b.called_so and s.partner_id = private.partner_id()
       and s.id = b.session_id
  ), worded as (
    select b.*, private.evidence_size(b.source, b.document, b.signed) as size
      from beside b where b.outcome in ('created', 'updated') and b.document is not null
  ), evidence as (
    insert into core.charging_evidence
      (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, upload_id, request_id, document,
       document_sha256, sent_sha256, signed, signature, meter_id, meter_start_wh, meter_end_wh, end_from, received_at)
    select private.partner_id(), b.charger_id, b.session_id, b.owner_id, b.source, b.external_id, b.client_id,
           b.upload_id, b.request_id, case when b.fits and b.source <> 'ocpi' then b.document end,
           sha256(convert_to(b.document::text, 'UTF8')), b.sent_sha256, case when b.fits then b.signed else '{}' end,
           case when b.fits and b.signed <> '{}' then 'unchecked' end, b.meter_id, b.meter_start_wh, b.meter_end_wh,
           b.end_from, b.received_at
      from (select w.*, shared ? 'counted'
                        or sum(w.size) over (order by w.started_at, w.n)
                           <= (select r.bytes from private.evidence_room(owner, teller) r) as fits
              from worded w) b
     order by b.started_at, b.n
  )
  select jsonb_agg(jsonb_build_object(
           'n', b.n, 'place', b.place, 'sheet_row', b.sheet_row, 'outcome', b.outcome,
           'reason', case when b.outcome = 'rejected' then coalesce(b.reason, 'unknown_charger') end,
           'charger_id', b.charger_id, 'session_id', b.session_id,
           'source_id', case when b.source <> 'file' then b.external_id end,
           'seen_at', least(coalesce(b.ended_at, now), now), 'meter_wh', b.meter_wh) order by b.n),
         jsonb_agg(case b.outcome when 'created' then jsonb_build_object('id', b.session_id) else to_jsonb(b.old) end)
           filter (where b.outcome in ('created', 'updated')),
         case when not shared ? 'counted' then (select coalesce(sum(w.size), 0) from worded w) end,
         bool_or(b.outcome = 'updated')
    into outcome, changed, told, corrected from beside b;
  if corrected then
    told := told + private.keep_replaced(changed);
  end if;

  if changed is not null then
    perform private.total_sessions(private.judge_sessions(changed));
  end if;

  -- when a charger was last heard of, and its meter's reading at the end of a charge or during one
  update core.chargers h
     set last_seen_at = greatest(h.last_seen_at, l.at),
         latest_meter_wh = case when l.meter_at >= coalesce(h.meter_updated_at, '-infinity') then l.meter_wh
                                else h.latest_meter_wh end,
         meter_updated_at = greatest(h.meter_updated_at, l.meter_at)
    from (select o.charger_id, max(o.seen_at) as at, max(o.seen_at) filter (where o.meter_wh is not null) as meter_at,
                 (array_agg(o.meter_wh order by o.seen_at desc, o.n desc) filter (where o.meter_wh is not null))[1]
                   as meter_wh
            from jsonb_to_recordset(outcome) as o (n int, outcome text, charger_id uuid, seen_at timestamptz,
                                                   meter_wh bigint)
           where o.outcome in ('created', 'updated', 'unchanged')
           group by o.charger_id) l
   where h.partner_id = private.partner_id() and h.id = l.charger_id
     and (l.at > h.last_seen_at or h.last_seen_at is null or l.meter_at is not null);
  if told > 0 then
    perform private.count_evidence(told, owner, teller);
  end if;

  return query
  select o.place, o.sheet_row, o.source_id, o.outcome, o.reason, o.charger_id, s.id, s.flags
    from jsonb_to_recordset(outcome) as o (n int, place int, sheet_row int, outcome text, reason text, charger_id uuid,
                                           session_id uuid, source_id text)
    left join lateral (
      select s.id, s.flags from core.charging_sessions s
       where o.outcome <> 'rejected' and s.partner_id = private.partner_id() and s.id = o.session_id limit 1) s on true
   order by o.n;
end $$;
