begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.find_chargers (
  owner  uuid,
  wanted private.named_charger[]
)
  RETURNS SETOF private.found_charger
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  with named as materialized (
    -- each name is looked up once
    select n.kind, n.value, coalesce(w.party, '') as party, array_agg(row(w.place, w.started_at, n.rank, w.ended_at)::private.told_name) as told
      from unnest(wanted) w left join lateral private.names_told(w) n on true
     group by n.kind, n.value, coalesce(w.party, '')
  ), meant as materialized (
    select n.told, n.kind, n.value, l.*
      from named n
      left join lateral (
        select c.party, c.charger_id, c.evse_no, c.ended_at, c.given_up
          from core.charger_names c
         where c.partner_id = private.partner_id() and c.owner_id = owner and c.kind = n.kind and c.value = n.value and c.party in (n.party, '')
        union all
        select '', h.id, null, h.removed_at, false from core.chargers h
         where n.kind = 'serial_number' and h.partner_id = private.partner_id() and h.serial_number = n.value and h.owner_id = owner and h.user_id is null
        union all
        select '', h.id, null, h.removed_at, false from core.chargers h
         where n.kind = 'charger_id' and h.partner_id = private.partner_id() and h.id = lower(n.value)::uuid and h.owner_id = owner
           and h.user_id is null
        union all
        -- it was registered before, under another id
        select '', r.id, null, r.removed_at, true
          from core.chargers h join core.chargers r on r.partner_id = h.partner_id and r.serial_number = h.serial_number
         where n.kind = 'charger_id' and h.partner_id = private.partner_id() and h.id = lower(n.value)::uuid and h.owner_id = owner
           and h.user_id is null and r.owner_id = owner and r.user_id is null and r.brand = h.brand and r.removed_at is not null and r.id <> h.id) l on true
  ), hit as (
    select t.place, t.rank, m.charger_id, m.evse_no, s.stood, m.given_up,
           -- a name of the party before one for all; of those who had the name then, the first to lose it
           s.stood is not null and rank() over (
             partition by t.place, t.rank order by s.stood desc nulls last, m.party desc nulls last, coalesce(m.ended_at, 'infinity')) = 1 as nearest
      from meant m
     cross join lateral unnest(m.told) t
     cross join lateral (
       select case when m.charger_id is null then null
                   when m.ended_at is null then true
                   when not m.given_up then t.started_at < m.ended_at
                   when t.started_at < m.ended_at and private.has_under_name(m.charger_id, m.kind, m.value, t.started_at, t.ended_at) then true end as stood) s
  ), verdict as (
    select h.place, array_agg(distinct h.charger_id) filter (where h.stood and h.nearest) as chargers,
           (array_agg(h.evse_no order by h.rank) filter (where h.stood and h.nearest and h.evse_no is not null))[1] as evse_no,
           bool_or(h.nearest) as named, bool_or(h.nearest and h.given_up) as moved
      from hit h group by h.place
  )
  select v.place, case when cardinality(v.chargers) = 1 then v.chargers[1] end, v.evse_no,
         case when v.named is not true then 'unknown_charger'
              when v.chargers is null then 'charger_removed'
              when cardinality(v.chargers) > 1 then 'ambiguous_charger' end,
         v.moved
    from verdict v order by v.place;
end $function$;

CREATE OR REPLACE FUNCTION private.has_under_name (
  charger    uuid,
  kind       text,
  value      text,
  started_at timestamp with time zone,
  ended_at   timestamp with time zone
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select exists (
    select from core.charging_sessions s
      join core.charging_evidence e on e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id
     where s.partner_id = private.partner_id() and s.charger_id = charger and not 'withdrawn' = any (s.flags)
       and s.started_at > has_under_name.started_at - interval '31 days'
       and s.started_at <= greatest(has_under_name.started_at + interval '5 minutes', has_under_name.ended_at)
       and (s.started_at >= has_under_name.started_at - interval '5 minutes' or s.ended_at > has_under_name.started_at)
       and (has_under_name.kind = 'charger_id' or exists (
              select from jsonb_path_query(e.document, 'strict $.** ? (@.type() == "string")') word
               where private.charger_name_value(has_under_name.kind, word #>> '{}') = has_under_name.value)))
$function$;

commit;
