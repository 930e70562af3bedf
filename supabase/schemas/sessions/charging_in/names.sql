-- Names of chargers: how a source means a charger of its client.

-- A name as it is compared: upper-case and trimmed; an EVSE id also without stars, dashes and spaces.
create function private.charger_name_value(kind text, value text) returns text
language sql immutable
return left(upper(case kind when 'evse_id' then regexp_replace(value, '[*[:space:]-]', '', 'g') else btrim(value) end),
            120);

-- The names of an item, each with its kind, as they are compared.
create function private.names_told(wanted private.named_charger) returns table (rank int, kind text, value text)
language sql immutable
begin atomic
  select n.rank, n.kind, private.charger_name_value(n.kind, n.value)
    from (values (0, 'charger_id', wanted.charger_id::text), (1, 'external_ref', wanted.external_ref),
          (2, 'serial_number', wanted.serial_number),
                 (3, 'evse_uid', wanted.evse_uid), (4, 'evse_id', wanted.evse_id),
                     (5, 'meter_id', wanted.meter_id)) n (rank, kind, value)
   where n.value is not null;
end;

-- Whether a charger has a session, not withdrawn, that its source told by this name, and that overlaps a charge or
-- begins within five minutes of it. By the id of the same charger, registered again: whatever its source called it. A
-- session told by the charger's id leaves no trace of a name it was told by again; it is the charge if begin and end
-- are equal.
create function private.has_under_name(charger uuid, kind text, value text, started_at timestamptz,
                                       ended_at timestamptz) returns boolean
language sql stable
as $$
  select exists (
    select from core.charging_sessions s
      join core.charging_evidence e on e.partner_id = s.partner_id and e.charger_id = s.charger_id
          and e.session_id = s.id
     where s.partner_id = private.partner_id() and s.charger_id = charger and not 'withdrawn' = any (s.flags)
       and s.started_at > has_under_name.started_at - interval '31 days'
       and s.started_at <= greatest(has_under_name.started_at + interval '5 minutes', has_under_name.ended_at)
       and (s.started_at >= has_under_name.started_at - interval '5 minutes' or s.ended_at > has_under_name.started_at)
       and (has_under_name.kind = 'charger_id' or exists (
              select from jsonb_path_query(e.document, 'strict $.** ? (@.type() == "string")') word
               where private.charger_name_value(has_under_name.kind, word #>> '{}') = has_under_name.value
                  or (lower(word #>> '{}'), s.started_at, s.ended_at)
                   = (charger::text, has_under_name.started_at, has_under_name.ended_at))))
$$;

-- The chargers of a client that sessions name, with the EVSE, by place. Unknown names do not matter as long as one is
-- known; a removed charger is meant by what began before. A charge that a charger has under a name stays with it if the
-- name goes to another: it would count at both.
create function private.find_chargers(owner uuid, wanted private.named_charger[]) returns setof private.found_charger
language plpgsql stable
set plan_cache_mode = 'force_generic_plan'  -- as in store_named_sessions
as $$
begin
  return query
  with named as materialized (
    -- each name is looked up once
    select n.kind, n.value, coalesce(w.party, '') as party,
        array_agg(row(w.place, w.started_at, n.rank, w.ended_at)::private.told_name) as told
      from unnest(wanted) w left join lateral private.names_told(w) n on true
     group by n.kind, n.value, coalesce(w.party, '')
  ), meant as materialized (
    select n.told, n.kind, n.value, l.*
      from named n
      left join lateral (
        select c.party, c.charger_id, c.evse_no, c.ended_at, c.given_up
          from core.charger_names c
         where c.partner_id = private.partner_id() and c.owner_id = owner and c.kind = n.kind and c.value = n.value
             and c.party in (n.party, '')
        union all
        select '', h.id, null, h.removed_at, false from core.chargers h
         where n.kind = 'serial_number' and h.partner_id = private.partner_id() and h.serial_number = n.value
             and h.owner_id = owner and h.user_id is null
        union all
        select '', h.id, null, h.removed_at, false from core.chargers h
         where n.kind = 'charger_id' and h.partner_id = private.partner_id() and h.id = lower(n.value)::uuid
             and h.owner_id = owner
           and h.user_id is null
        union all
        -- it was registered before, under another id
        select '', r.id, null, r.removed_at, true
          from core.chargers h join core.chargers r on r.partner_id = h.partner_id and r.serial_number = h.serial_number
         where n.kind = 'charger_id' and h.partner_id = private.partner_id() and h.id = lower(n.value)::uuid
             and h.owner_id = owner
           and h.user_id is null and r.owner_id = owner and r.user_id is null and r.brand = h.brand
               and r.removed_at is not null and r.id <> h.id) l on true
  ), hit as (
    select t.place, t.rank, m.charger_id, m.evse_no, s.stood, m.given_up,
           -- a name of the party before one for all; of those who had the name then, the first to lose it
           s.stood is not null and rank() over (
             partition by t.place, t.rank order by s.stood desc nulls last, m.party desc nulls last,
                 coalesce(m.ended_at, 'infinity')) = 1 as nearest
      from meant m
     cross join lateral unnest(m.told) t
     cross join lateral (
       select case when m.charger_id is null then null
                   when m.ended_at is null then true
                   when not m.given_up then t.started_at < m.ended_at
                   when t.started_at < m.ended_at and private.has_under_name(m.charger_id, m.kind, m.value,
                                                                             t.started_at, t.ended_at) then true
                                                                             end as stood) s
  ), verdict as (
    select h.place, array_agg(distinct h.charger_id) filter (where h.stood and h.nearest) as chargers,
           (array_agg(h.evse_no order by h.rank) filter (where h.stood and h.nearest
                                                         and h.evse_no is not null))[1] as evse_no,
           bool_or(h.nearest) as named, bool_or(h.nearest and h.given_up) as moved
      from hit h group by h.place
  )
  select v.place, case when cardinality(v.chargers) = 1 then v.chargers[1] end, v.evse_no,
         case when v.named is not true then 'unknown_charger'
              when v.chargers is null then 'charger_removed'
              when cardinality(v.chargers) > 1 then 'ambiguous_charger' end,
         v.moved
    from verdict v order by v.place;
end $$;

-- Keeps the names of a client while its sessions are stored by them. taken: waits for these, and then takes a name
-- away. Otherwise a session that is sent again would not see what is being stored under the former name.
create function private.hold_names(owner uuid, taken boolean default false) returns void
language plpgsql
as $$
begin
  perform private.lock('charger_names', owner::text, shared => not taken);
end $$;

-- Frees the names of removed chargers for others. They still mean these chargers for sessions that began earlier.
create function private.drop_charger_names(chargers uuid[]) returns void
language sql
as $$
  update core.charger_names n set ended_at = private.now()
   where n.partner_id = private.partner_id() and n.charger_id = any (chargers) and n.ended_at is null
$$;

-- Gives a charger of a client its names: {external_ref?, evses?: [{party?, evse_uid?, evse_id?, meter_id?}]}; the first
-- is EVSE 1. Returns what may free parked sessions. Refuses with name_taken a name of another charger of the client.
create function private.name_charger(charger core.chargers, input jsonb) returns text[]
language plpgsql
as $$
declare
  given core.charger_names[];
  taken text;
begin
  given := array(
    select distinct on (n.kind, n.value, n.party)
           row(charger.partner_id, charger.owner_id, n.party, n.kind, private.charger_name_value(n.kind, n.value),
               charger.id, n.evse_no, null, false)::core.charger_names
      from (select '' as party, 'external_ref' as kind, input ->> 'external_ref' as value, null::int as evse_no
            union all
            select coalesce(regexp_replace(upper(e.evse ->> 'party'), '^(..)-?(...)$', '\1-\2'), ''), k.kind,
                   e.evse ->> k.kind, e.place::int
              from jsonb_array_elements(coalesce(nullif(input -> 'evses', 'null'), '[]')) with ordinality e (evse,
                  place)
             cross join (values ('evse_uid'), ('evse_id'), ('meter_id')) k (kind)) n
     where n.value is not null and private.charger_name_value(n.kind, n.value) <> ''
     order by n.kind, n.value, n.party, n.evse_no);
  -- what is given replaces what was there; what is left out stays
  update core.charger_names n set ended_at = private.now(), given_up = true
   where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.ended_at is null
     and (n.kind = 'external_ref' and input ? 'external_ref' or n.kind <> 'external_ref'
          and jsonb_typeof(input -> 'evses') = 'array');
  delete from core.charger_names n using unnest(given) g
   where n.partner_id = g.partner_id and n.owner_id = g.owner_id and n.kind = g.kind and n.value = g.value
       and n.party = g.party
     and n.charger_id = charger.id;
  insert into core.charger_names (partner_id, owner_id, party, kind, value, charger_id, evse_no)
  select g.partner_id, g.owner_id, g.party, g.kind, g.value, g.charger_id, g.evse_no from unnest(given) g
   order by g.kind, g.value, g.party
  on conflict do nothing;
  select g.kind into taken from unnest(given) g
   where not exists (
     select from core.charger_names n
      where n.partner_id = g.partner_id and n.owner_id = g.owner_id and n.kind = g.kind and n.value = g.value
          and n.party = g.party
        and n.charger_id = charger.id and n.ended_at is null)
   order by g.kind limit 1;
  perform private.refuse_if('name_taken', taken is not null, json_build_object('kind', taken));
  return array(select g.kind || ':' || g.value from unnest(given) g
               union select 'serial_number:' || charger.serial_number where charger.serial_number is not null);
end $$;
