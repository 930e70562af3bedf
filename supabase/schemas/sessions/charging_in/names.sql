-- Names of chargers: how a source means a charger of its client.

-- A name as it is compared: upper-case and trimmed; an EVSE id also without stars, dashes and spaces.
create function private.charger_name_value(kind text, value text) returns text
language sql immutable
return left(upper(case kind when 'evse_id' then regexp_replace(value, '[*[:space:]-]', '', 'g') else btrim(value) end),
            120);

-- A party as it is compared: NL-TNM, however it was written; empty for none.
create function private.party_value(party text) returns text
language sql immutable
return coalesce(regexp_replace(upper(party), '^(..)-?(...)$', '\1-\2'), '');

-- Keeps the names of a client while its sessions are stored by them.
create function private.hold_names(owner uuid) returns void
language sql
return private.lock('charger_names', owner::text, shared => true);

-- Waits for who stores sessions by the names of a client: then they may be taken away.
create function private.hold_names_alone(owner uuid) returns void
language sql
as $$ select private.lock('charger_names', owner::text) $$;

-- Whether what began at a moment is this registration's, and not a former one's.
create function private.owns_moment_since(charger core.chargers, moment timestamptz) returns boolean
language sql immutable
return coalesce(moment >= charger.counts_from, true) or coalesce(moment < charger.counts_before, false);

-- Whether a registration of a charger owns this moment: each moment of a charger belongs to one.
create function private.owns_moment(charger core.chargers, moment timestamptz) returns boolean
language sql immutable
return private.owns_moment_since(charger, moment)
   and moment < coalesce(charger.counts_until, charger.removed_at, 'infinity');

-- The chargers of a client that items mean: [{charger_id?, external_ref?, serial_number?, evse_uid?, evse_id?,
-- meter_id?, party?, started_at}]. A name means a charger as it did at the start, and there the registration that owned
-- the charger then, if it is the client's. Unknown names do not matter beside a known one; a party's own name comes
-- before one for all. reason: unknown_charger, ambiguous_charger, charger_removed. names: each as kind:value. waits:
-- a name may appear that means its charger; by our own id alone none will.
create function private.resolve_chargers(owner uuid, items jsonb)
returns table (n int, charger_id uuid, evse_no int, names text[], reason text, waits boolean)
language plpgsql stable
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off  -- as private.store_sessions
as $$
#variable_conflict use_column
begin
  return query
  with name as (
    select e.n::int as n, k.rank, k.kind, private.charger_name_value(k.kind, k.value) as value,
           coalesce(private.as_moment(i.started_at), private.now()) as moment,
           array_remove(array[nullif(private.party_value(i.party), ''), ''], null) as parties
      from jsonb_array_elements(items) with ordinality e (item, n)
     cross join lateral jsonb_to_record(e.item) as i (
       party text, started_at text, charger_id text, external_ref text, serial_number text, evse_uid text, evse_id text,
       meter_id text)
     cross join lateral (
       values (0, 'charger_id', i.charger_id), (1, 'external_ref', i.external_ref),
              (2, 'serial_number', i.serial_number), (3, 'evse_uid', i.evse_uid), (4, 'evse_id', i.evse_id),
              (5, 'meter_id', i.meter_id)) k (rank, kind, value)
     where k.value is not null
  ), meant as (
    -- where the name stood, or ended and did not begin again
    select w.n, w.rank, w.moment, s.charger_id, s.evse_no, s.stands
      from name w
     cross join lateral (
       select x.* from unnest(w.parties) with ordinality p (party, place)
        cross join lateral (
          select coalesce(a.charger_id, f.charger_id) as charger_id, coalesce(a.evse_no, f.evse_no) as evse_no,
                 a.charger_id is null or a.until is null or w.moment < a.until as stands,
                 case when a.charger_id is null then f.since end as early
            from (values (true)) as one (row)
            left join lateral (
              select c.* from core.charger_names c
               where c.partner_id = private.partner_id() and c.owner_id = owner and c.kind = w.kind
                 and c.value = w.value and c.party = p.party and c.since <= w.moment
               order by c.since desc limit 1) a on true
            left join lateral (
              select c.* from core.charger_names c
               where c.partner_id = private.partner_id() and c.owner_id = owner and c.kind = w.kind
                 and c.value = w.value and c.party = p.party
                 and (a.since is null or c.since > a.since)
               order by c.since limit 1) f on true
           where coalesce(a.charger_id, f.charger_id) is not null
             -- ended, and begun again later: between the two it means no charger
             and (a.charger_id is null or a.until is null or w.moment < a.until or f.charger_id is null)) x
        -- what began before a party's name is that of all's, if all had it earlier
        order by not x.stands, x.early nulls first, p.place limit 1) s
     where w.kind not in ('charger_id', 'serial_number')
    union all
    select w.n, w.rank, w.moment, h.id, null, true
      from name w
     cross join lateral (
       select h.id from core.chargers h
        where h.partner_id = private.partner_id() and h.id = private.as_uuid(w.value) and h.owner_id = owner
          and h.user_id is null limit 1) h
     where w.kind = 'charger_id'
    union all
    select w.n, w.rank, w.moment, h.id, null, true
      from name w
     cross join lateral (
       -- of each brand one: the registration that owned the moment is looked for from any
       select distinct on (h.brand) h.id from core.chargers h
        where h.partner_id = private.partner_id() and h.serial_number = w.value and h.owner_id = owner
          and h.user_id is null
        order by h.brand, h.removed_at desc nulls first, h.id limit 100) h
     where w.kind = 'serial_number'
  ), led as (
    select m.n, m.rank, m.evse_no,
           case when not m.stands then null
                when private.owns_moment(h.h, m.moment) then (h.h).id
                else coalesce(
                  (select r.id from core.chargers r
                    where r.partner_id = private.partner_id() and r.serial_number = (h.h).serial_number
                      and r.brand = (h.h).brand and r.owner_id = owner and r.user_id is null
                      and private.owns_moment(r, m.moment) limit 1),
                  -- another's at that moment: it is stored here, and counts nowhere
                  case when m.moment < coalesce((h.h).removed_at, 'infinity') then (h.h).id end) end as charger_id,
           (h.h).removed_at is not null as removed
      from meant m
     cross join lateral (
       select h from core.chargers h
        where h.partner_id = private.partner_id() and h.id = m.charger_id limit 1) h
  ), verdict as (
    select l.n, array_agg(distinct l.charger_id) filter (where l.charger_id is not null) as chargers,
           (array_agg(l.evse_no order by l.rank) filter (where l.charger_id is not null
                                                           and l.evse_no is not null))[1] as evse_no,
           bool_or(l.removed) as removed
      from led l group by l.n
  ), called as (
    select w.n, array_agg(w.kind || ':' || w.value order by w.rank) as names, max(w.rank) > 0 as waits
      from name w group by w.n
  )
  select e.n::int, case when cardinality(v.chargers) = 1 then v.chargers[1] end, v.evse_no, c.names,
         case when v.chargers is null and v.removed then 'charger_removed'
              when v.chargers is null then 'unknown_charger'
              when cardinality(v.chargers) > 1 then 'ambiguous_charger' end,
         v.chargers is null and c.waits is true
    from jsonb_array_elements(items) with ordinality e (item, n)
    left join verdict v on v.n = e.n
    left join called c on c.n = e.n
   order by e.n;
end $$;

-- The latest start from a moment on of a session that was stored by a name; null for none.
create function private.name_used_since(span core.charger_names, moment timestamptz) returns timestamptz
language plpgsql stable
as $$
begin
  return (
    select s.started_at from core.charging_sessions s
     where s.partner_id = span.partner_id
       -- or another registration of its charger, to which the name led
       and s.charger_id = any (array(
         select coalesce(r.id, h.id) from core.chargers h
           left join core.chargers r on r.partner_id = h.partner_id and r.brand = h.brand
                and r.serial_number = h.serial_number and r.owner_id = h.owner_id and r.user_id is null
          where h.partner_id = span.partner_id and h.id = span.charger_id))
       and s.started_at >= moment
       and s.started_at < coalesce(span.until, 'infinity') and not 'withdrawn' = any (s.flags)
       and span.kind || ':' || span.value = any (s.names)
     order by s.started_at desc limit 1);
end $$;

-- Ends a span of a name at a moment.
create function private.end_charger_name(span core.charger_names, moment timestamptz) returns void
language plpgsql
as $$
begin
  delete from core.charger_names n
   where n.partner_id = span.partner_id and n.owner_id = span.owner_id and n.kind = span.kind and n.value = span.value
     and n.party = span.party and n.since = span.since;
  if moment > span.since then
    span.until := moment;
  -- the first span also means what began before it
  elsif private.name_used_since(span, '-infinity') is not null and not exists (
    select from core.charger_names n
     where n.partner_id = span.partner_id and n.owner_id = span.owner_id and n.kind = span.kind
       and n.value = span.value and n.party = span.party and n.since < span.since) then
    span.since := moment - interval '1 microsecond';
    span.until := moment;
  else
    return;
  end if;
  insert into core.charger_names (partner_id, owner_id, party, kind, value, since, until, charger_id, evse_no)
  values (span.partner_id, span.owner_id, span.party, span.kind, span.value, span.since, span.until, span.charger_id,
          span.evse_no);
end $$;

-- Ends the names of removed chargers: then they are free for others.
create function private.end_charger_names(chargers uuid[]) returns void
language plpgsql
as $$
begin
  perform private.end_charger_name(n, private.now()) from core.charger_names n
    where n.partner_id = private.partner_id() and n.charger_id = any (chargers) and n.until is null;
end $$;

-- As private.end_charger_name. Refuses with name_in_use where a session was stored by the name since.
create function private.take_charger_name(span core.charger_names, moment timestamptz) returns void
language plpgsql
as $$
declare
  latest constant timestamptz := private.name_used_since(span, moment);
begin
  perform private.refuse_if('name_in_use', latest is not null,
                            json_build_object('kind', span.kind, 'started_at', private.iso(latest)));
  perform private.end_charger_name(span, moment);
end $$;

-- Gives a charger of a client its names from a moment on: {external_ref?, evses?: [{party?, evse_uid?, evse_id?,
-- meter_id?}]}; the first is EVSE 1. What is given replaces what was there; what is left out stays. Returns what may
-- free parked sessions. Refuses with name_taken a name of another charger of the client, and with name_in_use.
create function private.name_charger(charger core.chargers, input jsonb, moment timestamptz default private.now())
returns text[]
language plpgsql
as $$
declare
  given  jsonb;
  name   record;
  span   core.charger_names;
  latest timestamptz;
begin
  given := (
    select coalesce(jsonb_agg(distinct jsonb_build_object('kind', n.kind, 'value', n.value, 'party', n.party,
                                                          'evse_no', n.evse_no)), '[]')
      from (
        select distinct on (k.kind, k.value, k.party) k.*
          from (select 'external_ref' as kind, private.charger_name_value('external_ref', input ->> 'external_ref')
                         as value, '' as party, null::int as evse_no
                union all
                select k.kind, private.charger_name_value(k.kind, e.evse ->> k.kind),
                       private.party_value(e.evse ->> 'party'), e.place::int
                  from jsonb_array_elements(coalesce(nullif(input -> 'evses', 'null'), '[]')) with ordinality
                         e (evse, place)
                 cross join (values ('evse_uid'), ('evse_id'), ('meter_id')) k (kind)) k
         where k.value <> ''
         order by k.kind, k.value, k.party, k.evse_no) n);
  -- what it no longer has
  for span in
    select n.* from core.charger_names n
     where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.until is null
       and case n.kind when 'external_ref' then input ? 'external_ref'
                       else jsonb_typeof(input -> 'evses') = 'array' end
       and not exists (
         select from jsonb_to_recordset(given) as g (kind text, value text, party text, evse_no int)
          where (g.kind, g.value, g.party) = (n.kind, n.value, n.party) and g.evse_no is not distinct from n.evse_no)
     order by n.kind, n.value
  loop
    perform private.take_charger_name(span, moment);
  end loop;
  for name in
    select * from jsonb_to_recordset(given) as g (kind text, value text, party text, evse_no int) order by 1, 2, 3
  loop
    select n.* into span from core.charger_names n
     where n.partner_id = charger.partner_id and n.owner_id = charger.owner_id and n.kind = name.kind
       and n.value = name.value and n.party = name.party and n.until is null;
    perform private.refuse_if('name_taken', span.charger_id <> charger.id, json_build_object('kind', name.kind));
    continue when moment >= span.since;
    -- whoever had it from then on has it no longer; its own span begins earlier
    for span in
      select n.* from core.charger_names n
       where n.partner_id = charger.partner_id and n.owner_id = charger.owner_id and n.kind = name.kind
         and n.value = name.value and n.party = name.party and coalesce(n.until, 'infinity') > moment
         and (n.until is not null or n.charger_id = charger.id)
       order by n.since
    loop
      if span.until is null then
        delete from core.charger_names n
         where n.partner_id = span.partner_id and n.owner_id = span.owner_id and n.kind = span.kind
           and n.value = span.value and n.party = span.party and n.since = span.since;
      else
        perform private.take_charger_name(span, moment);
      end if;
    end loop;
    -- nor may it mean what was stored by the same name of all, or of a party before that had it
    for span in
      select n.* from core.charger_names n
       where n.partner_id = charger.partner_id and n.owner_id = charger.owner_id and n.kind = name.kind
         and n.value = name.value and n.party <> name.party and '' in (n.party, name.party)
         and n.charger_id <> charger.id
       order by n.party, n.since
    loop
      span.until := case when name.party = '' then span.since else span.until end;
      latest := private.name_used_since(span, moment);
      perform private.refuse_if('name_in_use', latest is not null,
                                json_build_object('kind', span.kind, 'started_at', private.iso(latest)));
    end loop;
    insert into core.charger_names (partner_id, owner_id, party, kind, value, since, charger_id, evse_no)
    values (charger.partner_id, charger.owner_id, name.party, name.kind, name.value, moment, charger.id, name.evse_no)
    on conflict do nothing;
    perform private.refuse_if('name_taken', not found, json_build_object('kind', name.kind));
  end loop;
  return array(select g.kind || ':' || g.value from jsonb_to_recordset(given) as g (kind text, value text)
               union select 'serial_number:' || charger.serial_number where charger.serial_number is not null);
end $$;
