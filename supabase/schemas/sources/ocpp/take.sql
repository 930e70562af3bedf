-- Makes charging sessions of OCPP messages.

-- From when a charger's clock may be right: as private.store_sessions judges it.
create function private.ocpp_clock_from(charger core.chargers) returns timestamptz
language sql stable
return greatest(timestamptz '2010-01-01Z', charger.created_at - interval '400 days');

-- A message as if the clock had been right. A time from before that clock could be right is the time of arrival, if
-- the message is live; else it stays, and nobody knows the time.
create function private.mend_ocpp_clock(charger core.chargers, said jsonb) returns jsonb
language plpgsql stable
as $$
declare
  since constant timestamptz := private.ocpp_clock_from(charger);
  here  constant text[] := case when said ? 'readings' then '{readings}' else '{}' end::text[];
  name  text;
begin
  if said ->> 'clock' = 'charger' and (said ->> 'at')::timestamptz < since then
    said := said || jsonb_build_object('clock', case when said ->> 'arrived_at' is null then 'wrong' else 'arrival' end,
                                       'at', coalesce(said ->> 'arrived_at', said ->> 'at'));
  end if;
  if said ->> 'arrived_at' is not null then
    foreach name in array '{begin,first,rise,last,end}'::text[] loop
      if (said #>> (here || name || 'at'::text))::timestamptz < since then
        said := jsonb_set(said, here || name || 'at'::text, said -> 'arrived_at');
      end if;
    end loop;
  end if;
  return said;
end $$;

-- The earlier of two times. A time from before the clock could be right does not count beside another.
create function private.earlier_ocpp(one timestamptz, other timestamptz, since timestamptz) returns timestamptz
language sql immutable
return case when other is null or (one < since, one) <= (other < since, other) then one else other end;

-- Whether a reading was taken after a transaction ended. A charger may take the last one a moment after the stop.
create function private.is_after_ocpp(known core.ocpp_transactions, at timestamptz) returns boolean
language sql immutable
return known.clock <> 'wrong' and at > known.ended_at + interval '1 minute';

-- Adds readings {begin, first, rise, last, end: {at, wh}} to a transaction. The earliest and the largest count, in
-- whatever order they come. A reading from after the end belongs to the next charge, unless we guessed the end. The
-- first values that name the transaction replace those that only came from its connector.
create function private.merge_ocpp_readings(charger core.chargers, known core.ocpp_transactions, readings jsonb,
                                            is_own boolean) returns core.ocpp_transactions
language plpgsql
as $$
declare
  -- a 1.6 charger tells its first reading with StartTransaction
  has_start constant boolean := known.source_id is null and known.meter_start_wh is not null;
  since constant timestamptz := private.ocpp_clock_from(charger);
  first constant jsonb := readings -> case when has_start then 'begin' else 'first' end;
  last  constant jsonb := readings -> 'last';
  rise  constant jsonb := readings -> 'rise';
  at    constant timestamptz := first ->> 'at';
  rise_at constant timestamptz := rise ->> 'at';
  is_late constant boolean := not known.end_guessed
                              and private.is_after_ocpp(known, (last ->> 'at')::timestamptz) is true;
begin
  if is_own and not known.own_values and coalesce(at, (last ->> 'at')::timestamptz) is not null then
    known.own_values := true;
    known.last_at := null;
    known.last_wh := null;
    known.rise_at := null;
    known.rise_wh := null;
    if not has_start then
      known.begin_at := null;
      known.begin_wh := null;
    end if;
  end if;
  if at is not null and (known.begin_at is null or private.earlier_ocpp(at, known.begin_at, since) = at
                                                    and (at <> known.begin_at
                                                         or (first ->> 'wh')::bigint < known.begin_wh))
                                                      then
    known.begin_at := at;
    known.begin_wh := first ->> 'wh';
  end if;
  if rise_at is not null and (known.rise_at is null or private.earlier_ocpp(rise_at, known.rise_at, since) = rise_at
                                                       and rise_at <> known.rise_at) then
    known.rise_at := rise_at;
    known.rise_wh := rise ->> 'wh';
  end if;
  if last ->> 'at' is not null and (known.last_wh is null or (last ->> 'wh')::bigint > known.last_wh) and not is_late
  then
    known.last_at := last ->> 'at';
    known.last_wh := last ->> 'wh';
  end if;
  if not is_late then
    known.final_wh := greatest(known.final_wh, (readings #>> '{end,wh}')::bigint);
  end if;
  return known;
end $$;

-- The most Wh that a charger gives in a time, as private.store_sessions bounds a session, and 0.1 kWh.
create function private.ocpp_allowance(charger core.chargers, took interval) returns numeric
language sql immutable
return 100 + coalesce(charger.power_kw, 50) * 1100 / 3600 * extract(epoch from greatest(took, interval '0'));

-- The last end of a connector's register before a transaction. Null if none is known, or if the register fell twice at
-- its last ten ends: then it counts from 0 at each charge.
create function private.register_before_ocpp(known core.ocpp_transactions) returns bigint
language plpgsql stable
as $$
declare
  ends  bigint[];
  falls int;
begin
  select array_agg(e.wh order by e.first_at desc, e.id desc), count(*) filter (where e.wh < e.before - 10)
    into ends, falls
    from (select b.*, lag(b.wh) over (order by b.first_at, b.id) as before
            from (select t.id, t.first_at, coalesce(nullif(t.end_wh, 0), t.final_wh, t.last_wh) as wh
                    from core.ocpp_transactions t
                   where t.partner_id = known.partner_id and t.charger_id = known.charger_id
                     and t.connector = known.connector and t.first_at <= known.first_at
                     and (t.first_at, t.id) < (known.first_at, known.id) and t.clock <> 'wrong'
                     and coalesce(nullif(t.end_wh, 0), t.final_wh, t.last_wh) > 0
                   order by t.first_at desc, t.id desc limit 10) b) e;
  return case when falls < 2 and known.clock <> 'wrong' then ends[1] end;
end $$;

-- The next transaction of a connector, whose time is known.
create function private.next_ocpp(known core.ocpp_transactions) returns core.ocpp_transactions
language plpgsql stable
as $$
begin
  return (select t from core.ocpp_transactions t
           where t.partner_id = known.partner_id and t.charger_id = known.charger_id
             and t.connector = known.connector and t.first_at > known.first_at and t.clock <> 'wrong'
           order by t.first_at, t.id limit 1);
end $$;

-- Whether the next transaction of a connector is the same charge: a stop of another connector seemed to end it, and
-- values went on by the same name, without a start.
create function private.goes_on_ocpp(charger core.chargers, known core.ocpp_transactions,
                                     after core.ocpp_transactions) returns boolean
language sql immutable
return coalesce(known.own_values and known.foreign_ids && after.foreign_ids and after.begin_wh >= known.last_wh
                and after.first_at - known.last_at <= interval '3 hours'
                and after.begin_wh - known.last_wh <= private.ocpp_allowance(charger, after.first_at - known.last_at)
                and num_nonnulls(after.meter_start_wh, after.source_started_at, after.source_id) = 0, false);

-- A transaction as an item of private.store_sessions. Without any reading it is no_end. decisions.md says which reading
-- counts.
create function private.ocpp_session(charger core.chargers, known core.ocpp_transactions) returns jsonb
language plpgsql
as $$
declare
  start_at constant timestamptz :=
    coalesce(known.started_at,
             private.earlier_ocpp(known.first_at, known.begin_at, private.ocpp_clock_from(charger)));
  start_wh constant bigint := coalesce(known.meter_start_wh, known.begin_wh);
  base     bigint := start_wh;
  -- of a charge of which only the end came, the time of the start is not known
  later_wh bigint := case when start_at = known.ended_at then null else known.rise_wh end;
  later    interval := known.rise_at - start_at;
  final    bigint;
  wh       bigint;
  said     constant text := case when known.source_id is null then 'stop' else 'end' end;
  before_wh bigint;
  from_values boolean := false;
  disagrees   boolean := false;
  -- without a stop, what its last reading showed
  ended_at timestamptz :=
    coalesce(known.ended_at, case when known.is_over and known.last_at > start_at then known.last_at end);
  after    core.ocpp_transactions;
begin
  if known.ended_at is null and known.is_over then
    after := private.next_ocpp(known);
    if after.first_at < ended_at then
      -- its last reading is of the next one, whose start came late
      ended_at := after.first_at;
      known.last_wh := least(known.last_wh, coalesce(nullif(after.meter_start_wh, 0), nullif(after.begin_wh, 0)));
    elsif private.goes_on_ocpp(charger, known, after) then
      ended_at := after.first_at;
      known.last_wh := greatest(known.last_wh, after.begin_wh);
    end if;
  end if;
  if start_wh = 0 then
    -- it may not have known its register yet; a Begin is of the start, whatever its time
    if known.begin_wh > 0 then
      later_wh := known.begin_wh;
      later := least(known.begin_at - start_at, interval '1 minute');
    end if;
    if later_wh > private.ocpp_allowance(charger, later) then
      base := later_wh;
    else
      -- no Begin says it: where the register was after the charge before
      later_wh := coalesce(later_wh, nullif(known.end_wh, 0), known.final_wh);
      before_wh := private.register_before_ocpp(known);
      if later_wh >= before_wh - 10 then
        base := least(before_wh, later_wh);
      else
        -- more than a car takes, and nothing says where its register began; beyond its power it is flagged anyway
        disagrees := coalesce(later_wh > 100000, false)
                     and (start_at < known.ended_at
                          and later_wh > private.ocpp_allowance(charger, known.ended_at - start_at)) is not true;
      end if;
    end if;
  else
    -- values that begin near 0 count from 0 at each charge
    disagrees := known.meter_start_wh is not null and known.begin_wh > 100
                 and abs(extract(epoch from known.begin_at - start_at)) <= 60
                 and abs(known.begin_wh - start_wh) > 100
              or abs(extract(epoch from later)) <= 60
                 and later_wh > start_wh + private.ocpp_allowance(charger, later);
  end if;
  if known.ended_at is not null then
    -- 0 after values that rose is no reading, nor is what lies below the start
    select e.wh, e.n > 1 and said = 'stop' into final, from_values
      from unnest(case said when 'stop' then array[known.end_wh, known.final_wh]
                            else array[known.final_wh, known.end_wh] end) with ordinality e (wh, n)
     where e.wh is not null and e.wh < base - 10 is not true and (e.wh = 0 and known.last_wh > base) is not true
     order by e.n limit 1;
    -- its end may be of another register than its values, or of another connector
    disagrees := disagrees or start_at < known.ended_at and known.clock = 'charger' and final > known.last_wh
                 and (start_wh = 0 and base = 0 or start_wh > 0 and known.last_wh >= start_wh)
                 and final - known.last_wh > private.ocpp_allowance(charger, known.ended_at - known.last_at);
  end if;
  if final is null then
    final := coalesce(known.last_wh, known.end_wh);
    from_values := known.last_wh is not null;
    if final < base - 10 and known.last_wh is not null and known.begin_wh <= 100 then
      base := known.begin_wh;
    elsif final < base - 10 and ended_at is not null and known.own_values and known.begin_wh is null
          and final > known.rise_wh
          and known.rise_wh <= private.ocpp_allowance(charger, known.rise_at - start_at) then
      -- values that rise from where a charge from 0 can be; the next start must not say that it was less
      base := 0;
      after := private.next_ocpp(known);
      disagrees := disagrees or final - (nullif(after.meter_start_wh, 0) - start_wh) > greatest(100, 0.01 * final)
                                is true;
    elsif final < base - 10 and known.ended_at is not null then
      final := coalesce(known.end_wh, final);
    end if;
    -- a charger that counts from 0 at each charge, and has values of another register
    if base <> start_wh and start_wh = 0 and final < base - 10 then
      base := case when final > 0 then 0 end;
    end if;
  end if;
  wh := final - base;
  -- without a stop, a last reading below its start is no proof of 0
  disagrees := disagrees or wh < -10 and known.ended_at is null and ended_at is not null;
  -- a stop may lie 10 Wh below the start, by rounding; a running value below the start is a fault of one sample
  if wh between -10 and -1 or known.ended_at is null then
    wh := greatest(wh, 0);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'charger_id', known.charger_id,
    'source', 'ocpp',
    'external_id', coalesce(known.source_id, '1.6:' || known.id),
    'connector', known.connector,
    'started_at', start_at,
    'ended_at', ended_at,
    'status', case when known.is_over then 'active' end,
    'wh', coalesce(wh, 0),
    -- a running charge's reading is noted by the time at which it was measured
    'meter_wh', case when known.ended_at is not null then final end,
    'meter_start_wh', case when wh > 0 then base end,
    'meter_end_wh', case when wh > 0 and ended_at is not null then final end,
    'end_from', case when ended_at is null then null when known.clock <> 'charger' then 'clock'
                     when from_values then 'values' end,
    'flags', to_jsonb(array_remove(array[case when known.ended_at is not null and wh is null then 'no_end' end,
                                         case when disagrees then 'meter_disagrees' end], null))));
end $$;

-- Writes a transaction back.
create function private.store_ocpp_transaction(known core.ocpp_transactions) returns void
language plpgsql
as $$
begin
  update core.ocpp_transactions t
     set id_tag = case when known.ended_at is null and not known.is_over then known.id_tag end,
         connector = known.connector, started_at = known.started_at, first_at = known.first_at,
         begin_at = known.begin_at,
         begin_wh = known.begin_wh, rise_at = known.rise_at, rise_wh = known.rise_wh, final_wh = known.final_wh,
         own_values = known.own_values,
         last_at = known.last_at, last_wh = known.last_wh, ended_at = known.ended_at, end_wh = known.end_wh,
             clock = known.clock,
         end_guessed = known.end_guessed, foreign_ids = known.foreign_ids, is_over = known.is_over,
         meter_start_wh = known.meter_start_wh, source_started_at = known.source_started_at
   where t.partner_id = known.partner_id and t.charger_id = known.charger_id and t.id = known.id;
end $$;

-- The transaction of a charger, or of one connector, that was open at a time and began with no higher reading. Null if
-- there is none, or more than one.
create function private.open_ocpp_transaction(charger core.chargers, on_connector int, at timestamptz,
                                              meter_wh bigint) returns core.ocpp_transactions
language plpgsql
as $$
declare
  found_ones core.ocpp_transactions[] := array(
    select t from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.ended_at is null
       and (on_connector is null or t.connector = on_connector)
       -- where the clock was ahead at the start, the time of arrival counts
       and (t.clock = 'wrong' or least(t.first_at, t.created_at) <= at)
       and (meter_wh is null or coalesce(t.meter_start_wh, t.begin_wh, 0) <= meter_wh + 10)
       -- one car at a time: a start before then ended it, without a stop
       and not private.ocpp_followed(t, at));
begin
  -- if two are open, we do not know which is meant
  return case when cardinality(found_ones) = 1 then found_ones[1] end;
end $$;

-- The transaction of a StartTransaction that comes late: its values, or its stop, made one before. Null if none did.
create function private.begun_before_start(charger core.chargers, said jsonb) returns core.ocpp_transactions
language plpgsql
as $$
declare
  at  constant timestamptz := said ->> 'at';
  wh  constant bigint := nullif((said ->> 'meter_wh')::bigint, 0);
  known core.ocpp_transactions;
  before constant core.ocpp_transactions :=
    private.ocpp_transaction_at(charger, (said ->> 'connector')::int, at - interval '2 minutes');
begin
  select e.* into known from (
    (select * from core.ocpp_transactions t
      where t.partner_id = charger.partner_id and t.charger_id = charger.id
        and t.connector = (said ->> 'connector')::int and t.first_at >= at - interval '1 minute'
      order by t.first_at, t.id limit 1)
    union all
    (select * from core.ocpp_transactions t
      where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector is null
        and t.source_id is null and t.first_at >= at - interval '1 minute'
      order by t.first_at, t.id limit 1)) e
   order by e.first_at, e.id limit 1;
  if known.id is null or known.source_id is not null or known.meter_start_wh is not null
     or known.source_started_at is not null or 'wrong' in (known.clock, said ->> 'clock')
     or (known.begin_wh between wh - 10
         and wh + private.ocpp_allowance(charger, known.begin_at - at)) is false
     -- one car at a time: values that came after another charge ended there are not of a start before that end
     or before.connector = known.connector and before.ended_at > at + interval '1 minute' then
    return null;
  end if;
  known.connector := said ->> 'connector';
  known.source_started_at := said ->> 'told';
  known.started_at := at;
  known.first_at := least(known.first_at, at);
  known.meter_start_wh := said ->> 'meter_wh';
  if wh is not null then
    -- its first value is no Transaction.Begin
    known.begin_at := null;
    known.begin_wh := null;
  end if;
  perform private.store_ocpp_transaction(known);
  return known;
end $$;

-- The transaction that a StartTransaction begins.
create function private.start_ocpp(charger core.chargers, said jsonb) returns core.ocpp_transactions
language plpgsql
as $$
declare
  known core.ocpp_transactions;
begin
  -- A repeat gets the same id. A charger without the time begins each charge alike, so its repeats are those of the
  -- last hour.
  select * into known from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.source_id is null
       and t.connector = (said ->> 'connector')::int
     and t.first_at between (said ->> 'at')::timestamptz - interval '1 day'
                        and (said ->> 'at')::timestamptz + interval '1 minute'
     and t.source_started_at is not distinct from (said ->> 'told')::timestamptz
         and t.meter_start_wh is not distinct from (said ->> 'meter_wh')::bigint
     and (said ->> 'clock' = 'charger'
          -- a register that rose never begins there again
          or t.created_at > private.now() - interval '1 hour'
             and (t.ended_at is null or t.meter_start_wh > 0 and t.end_wh > t.meter_start_wh))
   order by t.id desc limit 1;
  if known.id is null then
    known := private.begun_before_start(charger, said);
  end if;
  -- more than a thousand in a day are no charges: they have the id of the last one
  if known.id is null and (
      select count(*) from (
        select from core.ocpp_transactions t
         where t.partner_id = charger.partner_id and t.charger_id = charger.id
           and t.connector = (said ->> 'connector')::int
           and t.first_at > (said ->> 'at')::timestamptz - interval '1 day' limit 1000) t) = 1000 then
    known := private.ocpp_transaction_at(charger, (said ->> 'connector')::int, (said ->> 'at')::timestamptz);
  end if;
  if known.id is null then
    insert into core.ocpp_transactions (partner_id, charger_id, owner_id, connector, source_started_at, started_at,
                                        first_at, meter_start_wh, clock, id_tag)
    values (charger.partner_id, charger.id, charger.owner_id, (said ->> 'connector')::int,
            (said ->> 'told')::timestamptz,
            (said ->> 'at')::timestamptz, (said ->> 'at')::timestamptz, (said ->> 'meter_wh')::bigint, said ->> 'clock',
            said ->> 'id_tag')
    returning * into known;
    perform private.forget_ocpp_cards(known);
  end if;
  return known;
end $$;

-- Keeps a message until a later one says which transaction it means. Values make way for stops.
create function private.let_ocpp_wait(link core.ocpp_links, said jsonb) returns void
language plpgsql
as $$
begin
  update core.ocpp_links l
     set waiting = (
           select jsonb_agg(w order by w ->> 'kind' = 'stop', n)
             from jsonb_array_elements(case when jsonb_array_length(l.waiting) >= 8 then l.waiting - 0
                                            else l.waiting end || said) with ordinality e (w, n))
   where l.partner_id = link.partner_id and l.charger_id = link.charger_id
     and not l.waiting @> jsonb_build_array(said)
     and (said ->> 'kind' = 'stop' or jsonb_array_length(l.waiting) < 8);
end $$;

-- The session that a StopTransaction ends. If it has no transaction, the message's own values make a session. Null if
-- they are missing: then it waits for a message that says which transaction it ends.
create function private.stop_ocpp(charger core.chargers, link core.ocpp_links, is_mirror boolean, said jsonb)
  returns jsonb
language plpgsql
as $$
declare
  readings constant jsonb := said -> 'readings';
  is_foreign constant boolean := is_mirror or link.foreign_ids;
  named    constant text := private.ocpp_name(said ->> 'transaction');
  own      constant core.ocpp_transactions := private.own_ocpp_transaction(charger, said ->> 'transaction');
  match    record;
  known    core.ocpp_transactions;
  how      text;
begin
  select * into match from private.stopped_ocpp(charger, link, is_foreign, said);
  known := match.known;
  how := match.how;
  if how = 'repeat' then
    if known.end_guessed and known.id = own.id and not is_foreign then
      known.end_guessed := false;
      perform private.store_ocpp_transaction(known);
    end if;
    return private.ocpp_session(charger, known);
  elsif how is not null then
    if how = 'guess' and known.ended_at is not null then
      -- the stop that seemed to end it is of a charge whose start may come late
      perform private.let_ocpp_wait(link, jsonb_build_object(
        'kind', 'stop', 'at', private.iso(known.ended_at), 'clock', known.clock, 'meter_wh', known.end_wh,
        'waits', true, 'readings', '{}'::jsonb, 'by_mirror', is_foreign));
      known.final_wh := null;
      known.foreign_ids := case when known.own_values then known.foreign_ids else '{}' end;
    end if;
    known.ended_at := null;
    known := private.merge_ocpp_readings(charger, known, readings, true);
    known.ended_at := said ->> 'at';
    known.end_wh := said ->> 'meter_wh';
    known.end_guessed := how = 'guess';
    known.clock := case when known.clock = 'charger' then said ->> 'clock' else known.clock end;
    if known.id is distinct from own.id then
      known.foreign_ids := private.with_ocpp_name(known.foreign_ids, named);
      -- an id that we gave proves nothing: some chargers stop an earlier transaction twice
      perform private.note_foreign_ids(link, true) where named is not null and own.id is null;
    elsif not is_mirror then
      perform private.note_foreign_ids(link, false);
    end if;
    perform private.store_ocpp_transaction(known);
    return private.ocpp_session(charger, known);
  elsif own.ended_at is not null and not is_foreign then
    -- the first stop counts
    return private.ocpp_session(charger, own);
  elsif readings #>> '{begin,at}' is not null and readings #>> '{end,at}' is not null then
    insert into core.ocpp_transactions (partner_id, charger_id, owner_id, started_at, first_at, clock, foreign_ids)
    values (charger.partner_id, charger.id, charger.owner_id, (readings #>> '{begin,at}')::timestamptz,
            (readings #>> '{begin,at}')::timestamptz, said ->> 'clock', private.with_ocpp_name('{}', named))
    returning * into known;
    known := private.merge_ocpp_readings(charger, known, readings, true);
    known.ended_at := said ->> 'at';
    known.end_wh := said ->> 'meter_wh';
    perform private.store_ocpp_transaction(known);
    return private.ocpp_session(charger, known);
  elsif said ->> 'clock' <> 'wrong' and not said ? 'waits' then
    said := (said - 'evidence') #- '{readings,signed}' || jsonb_build_object('waits', true, 'by_mirror', is_mirror);
    perform private.let_ocpp_wait(link, said);
  end if;
  return null;
end $$;

-- The sessions of messages that waited, and whose transaction is known now.
create function private.retry_waiting_ocpp(charger core.chargers) returns jsonb
language plpgsql
as $$
declare
  link    core.ocpp_links;
  message jsonb;
  item    jsonb;
  items   jsonb := '[]';
begin
  select * into link from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  for message in select w from jsonb_array_elements(link.waiting) w loop
    item := case message ->> 'kind'
              when 'stop' then private.stop_ocpp(charger, link, (message ->> 'by_mirror')::boolean or link.foreign_ids,
                                                 message)
              else private.values_ocpp(charger, link, false, message) end;
    if message ->> 'kind' = 'values' and item is not null then
      item := private.end_followed_ocpp(charger, (message ->> 'connector')::int) || item;
    end if;
    items := items || coalesce(item, '[]');
    update core.ocpp_links l
       set waiting = (select coalesce(jsonb_agg(w), '[]') from jsonb_array_elements(l.waiting) w where w <> message)
     where l.partner_id = charger.partner_id and l.charger_id = charger.id
       -- after another charge there nothing tells more
       and (item is not null or message ->> 'kind' = 'values' and private.ocpp_followed(
              private.own_ocpp_transaction(charger, message ->> 'transaction'), 'infinity'));
  end loop;
  return items;
end $$;

-- Notes what the meter of a charger said, unless a later reading is known.
create function private.note_ocpp_meter(charger core.chargers, at timestamptz, wh bigint) returns void
language plpgsql
as $$
begin
  update core.chargers h set latest_meter_wh = wh, meter_updated_at = at
   where h.partner_id = charger.partner_id and h.id = charger.id and wh is not null
       and at > coalesce(h.meter_updated_at, '-infinity');
end $$;

-- Whether a TransactionEvent may be of a transaction that has its id and began before it. Some stations use ids again:
-- then another EVSE, a start, or energy after the end tells.
create function private.is_of_ocpp(known core.ocpp_transactions, said jsonb) returns boolean
language sql immutable
return (said ->> 'connector')::int = known.connector is not false
   and (known.clock = 'wrong'
        or case when known.ended_at is null
                -- it had told something before this start
                then said ->> 'type' <> 'Started' or 'arrival' in (said ->> 'clock', known.clock)
                     or (said ->> 'at')::timestamptz
                        <= greatest(known.first_at, known.last_at) + interval '1 minute'
                -- the first end counts
                else (said ->> 'at')::timestamptz <= known.ended_at or said ->> 'type' = 'Ended'
                     or said ->> 'type' = 'Updated'
                        and ((said #>> '{readings,last,wh}')::bigint
                             > coalesce(known.end_wh, known.final_wh, known.last_wh) + 100) is not true end);

-- The transaction that a TransactionEvent names: of those with its id the latest that it may be of, else another.
create function private.named_ocpp_transaction(charger core.chargers, said jsonb) returns core.ocpp_transactions
language plpgsql
as $$
declare
  name constant text := said ->> 'transaction';
  at   constant timestamptz := said ->> 'at';
  uses core.ocpp_transactions[];
  known core.ocpp_transactions;
begin
  uses := array(
    select t from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.source_id = name
    union all
    select t from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id
       -- A is the sign after @
       and t.source_id > name || '@' and t.source_id < name || 'A');
  if uses <> '{}' and said ->> 'clock' = 'wrong' then
    select u.* into known from unnest(uses) u order by u.id limit 1;
  elsif uses <> '{}' then
    select u.* into known from unnest(uses) u
     where u.first_at <= at and private.is_of_ocpp(u, said)
       -- one car at a time: what comes after another began at its EVSE is of a new use of the id
       and (u.ended_at is null and u.clock <> 'wrong'
            and (private.next_ocpp(u)).first_at < at - interval '1 minute') is not true
     order by u.first_at desc, u.id desc limit 1;
    if known.id is null then
      -- it comes late
      select u.* into known from unnest(uses) u
       where u.first_at > at and (said ->> 'connector')::int = u.connector is not false
         and (said ->> 'type' <> 'Started' or u.started_at is null) order by u.first_at, u.id limit 1;
    end if;
  end if;
  if known.id is null then
    insert into core.ocpp_transactions (partner_id, charger_id, owner_id, source_id, connector, first_at, clock)
    -- the connector too: an index has it, so that what is written next would write all indexes again
    values (charger.partner_id, charger.id, charger.owner_id,
            case when uses = '{}' then name else concat(name, '@', floor(extract(epoch from at))) end,
            (said ->> 'connector')::int, at, said ->> 'clock')
    on conflict (source_id, charger_id, partner_id) where source_id is not null do update
       set first_at = least(ocpp_transactions.first_at, excluded.first_at)
    returning * into known;
  end if;
  return known;
end $$;

-- The session of a TransactionEvent. Events may come twice, in any order and with gaps; the first Ended counts.
create function private.event_ocpp(charger core.chargers, said jsonb) returns jsonb
language plpgsql
as $$
declare
  readings constant jsonb := said -> 'readings';
  at       constant timestamptz := said ->> 'at';
  known     core.ocpp_transactions := private.named_ocpp_transaction(charger, said);
begin
  known := private.merge_ocpp_readings(charger, known, readings, true);
  known.connector := coalesce(known.connector, (said ->> 'connector')::int);
  known.first_at := private.earlier_ocpp(known.first_at, at, private.ocpp_clock_from(charger));
  known.id_tag := coalesce(said ->> 'id_tag', known.id_tag);
  if said ->> 'type' = 'Started' then
    if known.started_at is null then
      perform private.forget_ocpp_cards(known);
    end if;
    known.started_at := coalesce(known.started_at, at);
  elsif said ->> 'type' = 'Ended' and known.ended_at is null then
    known.ended_at := at;
    known.end_wh := coalesce(readings #>> '{end,wh}', readings #>> '{last,wh}');
    known.clock := case when known.clock = 'charger' then said ->> 'clock' else known.clock end;
  end if;
  perform private.store_ocpp_transaction(known);
  if known.ended_at is null and known.last_wh is not null then
    perform private.note_ocpp_meter(charger, known.last_at, known.last_wh);
  end if;
  return private.ocpp_session(charger, known);
end $$;

-- Values without those of before a time: what comes late of an earlier charge is passed on together with them.
create function private.ocpp_values_since(said jsonb, since timestamptz) returns jsonb
language plpgsql immutable
as $$
begin
  if since is null or said ->> 'clock' <> 'charger' or not said ? 'samples'
     or (said #>> '{first,at}')::timestamptz > since then
    return said;
  end if;
  return said || (
    select jsonb_build_object(
             'begin', null, 'end', null,
             'first', (array_agg(s order by s ->> 'at', (s ->> 'wh')::bigint))[1],
             'rise', (array_agg(s order by s ->> 'at') filter (where (s ->> 'wh')::bigint > 0))[1],
             'last', (array_agg(s order by (s ->> 'wh')::bigint desc, s ->> 'at'))[1])
      from jsonb_array_elements(said -> 'samples') s where (s ->> 'at')::timestamptz >= since);
end $$;

-- The session that MeterValues change. Null outside a transaction: then they change only the charger's meter.
create function private.values_ocpp(charger core.chargers, link core.ocpp_links, is_mirror boolean, said jsonb)
  returns jsonb
language plpgsql
as $$
declare
  last constant jsonb := coalesce(nullif(said -> 'last', 'null'), said -> 'begin');
  at   constant timestamptz := last ->> 'at';
  wh   constant bigint := last ->> 'wh';
  plug constant int := said ->> 'connector';
  named constant text := private.ocpp_name(said ->> 'transaction');
  own   constant core.ocpp_transactions := private.own_ocpp_transaction(charger, said ->> 'transaction');
  known core.ocpp_transactions := own;
  is_own  boolean := own.id is not null and own.connector = plug and not is_mirror
                     -- an end that we guessed may be passed until another transaction begins at the connector
                     and (at is null or not private.is_after_ocpp(own, at) is true or own.end_guessed)
                     and (at is null or own.ended_at is not null and not own.end_guessed
                          or not private.ocpp_followed(own, at));
  is_foreign constant boolean := is_mirror or link.foreign_ids or own.id is null
                                 -- our id of a charge elsewhere, which ended, or has other values
                                 or own.connector <> plug
                                    and (private.is_after_ocpp(own, at) is true or own.own_values
                                         or not private.ocpp_fits(charger, own, at, wh, said ->> 'clock'));
begin
  if is_own then
    perform private.note_foreign_ids(link, false);
    known.foreign_ids := case when known.foreign_ids = '{}' then known.foreign_ids
                              else private.with_ocpp_name(known.foreign_ids, own.id::text) end;
  elsif at is null then
    return null;
  elsif named is null or said ->> 'clock' = 'wrong' then
    known := private.open_ocpp_transaction(charger, plug, at, null);
    if known.id is null and said ->> 'transaction' is not null and said ->> 'clock' <> 'wrong' then
      known := private.begun_by_rise(charger, link, said);
      said := private.ocpp_values_since(said, known.first_at);
    end if;
  else
    known := private.ocpp_transaction_at(charger, plug, at);
    if private.ocpp_runs_at(known, at) then
      -- a reading that its charger cannot have reached is not its
      is_own := wh <= greatest(known.last_wh, known.meter_start_wh, known.begin_wh)
                or private.ocpp_fits(charger, known, at, wh, said ->> 'clock');
      known := case when is_own then known end;
      known.foreign_ids := case when is_own then private.with_ocpp_name(
        -- its values named it by our id before
        case when known.own_values and known.foreign_ids = '{}' then array[known.id::text]
             else known.foreign_ids end, named) end;
    elsif is_foreign and private.begins_by_values(known, named, wh) then
      said := private.ocpp_values_since(said, known.ended_at);
      insert into core.ocpp_transactions (partner_id, charger_id, owner_id, connector, first_at, clock, foreign_ids)
      values (charger.partner_id, charger.id, charger.owner_id, plug,
              coalesce((said #>> '{first,at}')::timestamptz, at), said ->> 'clock', array[named])
      returning * into known;
      is_own := true;
    elsif not is_foreign and own.connector = plug
          and coalesce((said #>> '{first,wh}')::bigint, wh)
              >= greatest(known.meter_start_wh, known.end_wh, known.final_wh, known.last_wh) then
      -- our id of a charge that ended here says no more than 0 does; below that end it is of that charge, told late
      known := private.begun_by_rise(charger, link, said);
      said := private.ocpp_values_since(said, known.first_at);
      is_own := known.id is not null;
      known.own_values := is_own;
      known.foreign_ids := array[named];
    else
      -- our id of another connector's charge: once that has values of its own, these are of another charge
      perform private.let_ocpp_wait(link, (said - 'evidence' - 'signed') || '{"waits": true}')
        where own.connector <> plug and not is_foreign and own.ended_at is null and not private.ocpp_runs_at(known, at)
          and not said ? 'waits';
      known := null;
    end if;
    perform private.note_foreign_ids(link, true) where is_own and not is_mirror;
  end if;
  -- a charger may send those of its main meter, of another register, without a transaction
  if known.id is not null and (is_own or not known.own_values) then
    if said ? 'samples' and (said #>> '{first,at}')::timestamptz < known.first_at then
      -- the latest transaction that had begun a second before
      said := private.ocpp_values_since(said, (private.ocpp_transaction_at(
        charger, plug, known.first_at - interval '1 minute 1 second')).ended_at);
    end if;
    known := private.merge_ocpp_readings(charger, known, said, is_own);
    perform private.store_ocpp_transaction(known);
    perform private.note_ocpp_meter(charger, known.last_at, known.last_wh);
    return private.ocpp_session(charger, known);
  end if;
  -- outside a transaction it is only what the meter says
  perform private.note_ocpp_meter(charger, at, wh);
  return null;
end $$;

-- A transaction whose start never came, and whose id is 0, negative, or ours of a charge that ended. Some chargers send
-- such values while no car charges. So only a register that rises begins one. Null if it does not; then the reading is
-- kept for the next.
create function private.begun_by_rise(charger core.chargers, link core.ocpp_links, said jsonb)
  returns core.ocpp_transactions
language plpgsql
as $$
declare
  last constant jsonb := coalesce(nullif(said -> 'last', 'null'), said -> 'begin');
  at   constant timestamptz := last ->> 'at';
  wh   constant bigint := last ->> 'wh';
  plug constant text := said ->> 'connector';
  before constant core.ocpp_transactions := private.ocpp_transaction_at(charger, plug::int, at);
  since_at timestamptz := link.idle #>> array[plug, 'at'];
  since_wh bigint := link.idle #>> array[plug, 'wh'];
  known core.ocpp_transactions;
begin
  if at <= since_at or private.ocpp_runs_at(before, at) then
    return null;
  end if;
  if since_at > coalesce(before.ended_at, before.last_at, before.first_at) is false or since_at is null then
    -- the message itself may tell where the register was
    said := private.ocpp_values_since(said, before.ended_at);
    since_at := said #>> '{first,at}';
    since_wh := said #>> '{first,wh}';
  end if;
  if since_at > at - interval '48 hours'
        and since_at > coalesce(before.ended_at, before.last_at, before.first_at) is not false
        and wh between since_wh + 20 and since_wh + private.ocpp_allowance(charger, at - since_at) then
    insert into core.ocpp_transactions
      (partner_id, charger_id, owner_id, connector, first_at, clock, begin_at, begin_wh)
    values
      (charger.partner_id, charger.id, charger.owner_id, plug::int, since_at, said ->> 'clock', since_at, since_wh)
    returning * into known;
  end if;
  update core.ocpp_links l
     set idle = l.idle || jsonb_build_object(plug, jsonb_build_object('at', last -> 'at', 'wh', last -> 'wh'))
   where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  return known;
end $$;

-- Whether values begin a transaction whose start never came. Values that a charger sends after its stop begin none.
create function private.begins_by_values(before core.ocpp_transactions, named text, wh bigint) returns boolean
language sql immutable
return before.id is null
    -- below the end of a register that is known they are of the charge before, told late
    or not named = any (before.foreign_ids)
       and (before.meter_start_wh > 0 and wh < before.end_wh - 10) is not true
    or wh > coalesce(before.end_wh, before.final_wh, before.last_wh, before.meter_start_wh, 0) + 100;

-- Notes that a connector is free: Finishing or Available.
create function private.status_ocpp(link core.ocpp_links, said jsonb) returns void
language plpgsql
as $$
begin
  update core.ocpp_links l
     set freed = l.freed || jsonb_build_object(said ->> 'connector', jsonb_build_object(
           'at', said ->> 'at', 'status', said ->> 'status'))
   where l.partner_id = link.partner_id and l.charger_id = link.charger_id;
  -- nobody charges there now
  update core.ocpp_transactions t set id_tag = null
   where t.partner_id = link.partner_id and t.charger_id = link.charger_id
     and t.connector = (said ->> 'connector')::int and t.ended_at is null and not t.is_over and t.id_tag is not null
     and said ->> 'status' = 'Available';
end $$;

-- The serial number of a BootNotification, as core.chargers has it. Null for one that many chargers send.
create function private.boot_serial(charger core.chargers, boot jsonb) returns text
language plpgsql stable
as $$
declare
  serial constant text := upper(regexp_replace(boot ->> 'serial_number', '\s', '', 'g'));
begin
  return case
    when length(serial) < 5 or serial ~ '^(.)\1*$'
         or serial = upper(regexp_replace(charger.ocpp_identity, '\s', '', 'g'))
         or strpos('01234567890123456789', serial) > 0 or strpos('98765432109876543210', serial) > 0
         or serial ~ ('^(TEST|DEMO|DUMMY|EXAMPLE|DEFAULT|UNKNOWN|UNDEFINED|NOT[-_]?(SET|AVAILABLE)|CHANGEME|'
                      || '(TEST|DEMO)?[-_]?(SERIAL([-_]?(NUMBER|NO))?|CHARGER|CHARGE[-_]?(POINT|BOX)))[^A-Z]*$')
      then null
    -- the hash stands for one that is too long
    when length(serial) > 64 then upper(encode(sha256(convert_to(serial, 'UTF8')), 'hex'))
    else serial end;
end $$;

-- Stores a BootNotification; the first one also writes an event. Resolves the model once. Takes the serial number if
-- the charger has none and no other charger has it.
create function private.boot_ocpp(charger core.chargers, link core.ocpp_links, protocol text, boot jsonb) returns void
language plpgsql
as $$
declare
  serial text := private.boot_serial(charger, boot);
begin
  perform private.emit_charger('charger.connected', charger) where link.booted_at is null;
  update core.ocpp_links l set boot = boot_ocpp.boot, booted_at = private.now(), protocol = boot_ocpp.protocol
   where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  -- what was told before it, in the same request, may have changed it
  select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
  if charger.catalog_charger_id is null and boot ->> 'vendor' is not null and boot ->> 'model' is not null then
    perform private.identify_charger(charger, jsonb_build_object(
      'ocpp_vendor', boot ->> 'vendor', 'ocpp_model', boot ->> 'model', 'ocpp_meter_type', boot ->> 'meter_type'));
    select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
    -- what it told before its model was known
    serial := coalesce(serial, charger.booted_as);
  end if;
  perform private.take_boot_serial(charger, serial, link.booted_at is null);
end $$;

-- Whether what a mirror tells is of another charger: its line booted as a number that this charger does not have. Once
-- two chargers used the address, a new line counts for neither until it boots.
create function private.is_of_another_ocpp(charger core.chargers, link core.ocpp_links, line bigint, said jsonb)
  returns boolean
language plpgsql
as $$
declare
  serial constant text := case when said ->> 'kind' = 'boot' then private.boot_serial(charger, said -> 'boot') end;
  noted  jsonb := link.mirror;
  is_other boolean := (noted #>> array['lines', line::text])::boolean;
begin
  if serial is null then
    return coalesce(is_other, line >= (noted ->> 'since')::bigint, false);
  end if;
  -- what was told before it, in the same request, may have changed it
  select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
  is_other := private.boot_serial(charger, link.boot) is not null
              and not serial = any (private.charger_numbers(charger));
  if not is_other and noted = '{}' then
    return false;
  end if;
  noted := jsonb_build_object('since', line) || noted;
  noted := noted || jsonb_build_object('lines', (
    select coalesce(jsonb_object_agg(l.key, l.value), '{}') from (
      select e.key, e.value from jsonb_each(
          coalesce(noted -> 'lines', '{}') || jsonb_build_object(line::text, is_other)) e
       -- a later one is of another anyway: however often that one boots, the charger's own stay
       where e.value = 'false' or e.key::bigint < (noted ->> 'since')::bigint
       order by e.key::bigint desc limit 20) l));
  if is_other then
    noted := noted || jsonb_build_object('serial', serial, 'at', private.now());
  end if;
  update core.ocpp_links l set mirror = noted
   where l.partner_id = link.partner_id and l.charger_id = link.charger_id;
  return is_other;
end $$;

-- Gives a charger the serial number that it named, if it has none; else it is noted beside its own. While another
-- active registration has that number, the sessions of this one are other_registration: counts_from is infinity. For a
-- charger that has a number of its own, only from then on, and only if it is the other's own number.
create function private.take_boot_serial(charger core.chargers, serial text, is_first boolean default true)
  returns void
language plpgsql
as $$
declare
  since   timestamptz := charger.counts_from;
  earlier timestamptz := charger.counts_before;
  own     text        := charger.serial_number;
  before  text[]      := charger.booted_before;
  has_own constant boolean := own is not null;
  is_held constant boolean := charger.counts_from = 'infinity' is true;
  named   core.chargers := charger;
  former  tstzrange;
begin
  if serial ~ '^[^[:space:]a-z]{1,64}$' is not true then
    return;
  elsif charger.brand is null then
    -- until its model is known
    null;
  elsif not private.reserve_serial_number(charger.brand, serial, charger.id, has_own) then
    if not is_held then
      earlier := case when has_own and not is_first
                      then case when since is null then private.now() else earlier end end;
      since := 'infinity';
    end if;
  elsif not has_own or is_held or is_first and serial <> own then
    own := coalesce(own, serial);
    -- both numbers are this charger's, whoever had it by one of them
    named.serial_number := own;
    named.booted_as := nullif(serial, own);
    former := private.succeed_charger(named);
    if is_held and charger.booted_as <> serial then
      -- what it told under the number of another one stays the other's
      former := private.both_spans(former, tstzrange(coalesce(earlier, '-infinity'), private.now()));
    end if;
    since := upper(former);
    earlier := lower(former);
  end if;
  if charger.brand is not null and not is_held and charger.booted_as <> serial and charger.booted_as <> own then
    before := (array_remove(before, charger.booted_as) || charger.booted_as)[greatest(1, cardinality(before) - 18):];
  end if;
  update core.chargers h
     set counts_from = since, counts_before = earlier, serial_number = own, booted_as = nullif(serial, own),
         booted_before = before
   where h.partner_id = charger.partner_id and h.id = charger.id
     and (h.counts_from, h.counts_before, h.serial_number, h.booted_as, h.booted_before)
         is distinct from (since, earlier, own, nullif(serial, own), before);
end $$;

-- One span over two, either of which may be none.
create function private.both_spans(one tstzrange, other tstzrange) returns tstzrange
language sql immutable
return case when coalesce(isempty(one), true) then other
            when coalesce(isempty(other), true) then one
            else range_merge(one, other) end;

-- Stores a message that belongs to no session, such as a stop of an unknown transaction without values; not over the
-- charger's quota.
create function private.keep_ocpp_words(charger core.chargers, said jsonb) returns void
language plpgsql
as $$
declare
  document constant jsonb := said #> '{evidence,document}';
  sent     constant bytea := decode(said #>> '{evidence,sent_sha256}', 'hex');
  signed   constant text[] := array(select jsonb_array_elements_text(coalesce(said #> '{evidence,signed}', '[]')));
  told     constant bigint := private.evidence_size('ocpp', document, signed);
begin
  if told > (select r.bytes from private.evidence_room(charger.owner_id, charger.id) r)
     -- the gateway may bring the same message again
     or exists (select from core.charging_evidence e
                 where e.partner_id = charger.partner_id and e.charger_id = charger.id and e.session_id is null
                   and e.sent_sha256 = sent) then
    return;
  end if;
  insert into core.charging_evidence
    (partner_id, charger_id, owner_id, source, external_id, request_id, document, document_sha256, sent_sha256,
     signed, signature)
  values (charger.partner_id, charger.id, charger.owner_id, 'ocpp', coalesce(said ->> 'transaction', said ->> 'kind'),
          nullif(current_setting('app.request_id', true), ''), document, sha256(convert_to(document::text, 'UTF8')),
          sent, signed, case when signed <> '{}' then 'unchecked' end);
  perform private.count_evidence(told, charger.owner_id, charger.id);
end $$;

create function private.connected_charger(charger_id uuid, generation bigint) returns core.chargers
language plpgsql security definer
as $$
declare
  charger core.chargers;
begin
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = connected_charger.charger_id
       and h.status = 'active'
     for no key update;
  -- charger before link, as everywhere; until this transaction ends, nobody else connects or reports as this charger.
  -- Several connections may speak for it; none from before its password was renewed
  perform from core.ocpp_links l
    where l.partner_id = charger.partner_id and l.charger_id = charger.id
        and connected_charger.generation between l.valid_from and l.generation for update;
  if not found then
    perform private.refuse('connection_superseded');
  end if;
  perform private.act_for_person(charger.partner_id, charger.owner_id);
  return charger;
end $$;
comment on function private.connected_charger(uuid, bigint) is
  'The charger for which a connection of the gateway may speak; the transaction then acts for its owner. Refuses if it '
  'was removed, or its password renewed since. Definer, because the gateway knows no tenant.';

create function api.take_ocpp_messages(caller jsonb, input jsonb) returns json
language plpgsql security definer
set enable_seqscan = off  -- as private.store_sessions
as $$
declare
  charger  core.chargers;
  known     core.ocpp_transactions;
  said     jsonb;
  item     jsonb;
  items    jsonb := '[]';
  ids      int[] := '{}';
  ended    jsonb;
  other    jsonb;
  link     core.ocpp_links;
  is_mirror constant boolean := coalesce((input ->> 'mirror')::boolean, false);
begin
  perform private.act_as(caller, 'gateway');
  charger := private.connected_charger((input ->> 'charger_id')::uuid, (input ->> 'generation')::bigint);
  -- whoever had the serial number of this charger may have it no longer
  if charger.counts_from = 'infinity' and charger.booted_as is not null then
    perform private.take_boot_serial(charger, charger.booted_as);
  end if;
  for said in select s from jsonb_array_elements(input -> 'happened') s loop
    known := null;
    item := null;
    said := private.mend_ocpp_clock(charger, said);
    select * into link from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id;
    if is_mirror and private.is_of_another_ocpp(charger, link, (input ->> 'generation')::bigint, said) then
      ids := ids || null::int;
      perform private.keep_ocpp_words(charger, said) where said ? 'evidence';
      continue;
    end if;
    case said ->> 'kind'
      when 'boot' then perform private.boot_ocpp(charger, link, input ->> 'protocol', said -> 'boot');
      when 'start' then
        known := private.start_ocpp(charger, said);
        items := items || private.correct_stopped_ocpp(charger, known);
        item := private.ocpp_session(charger, known);
      when 'stop' then item := private.stop_ocpp(charger, link, is_mirror, said);
      when 'event' then item := private.event_ocpp(charger, said);
      when 'values' then item := private.values_ocpp(charger, link, is_mirror, said);
      when 'status' then
        perform private.status_ocpp(link, said);
        items := items || private.correct_freed_ocpp(charger, link, said);
    end case;
    ids := ids || known.id;
    if item is null and said ? 'evidence' then
      perform private.keep_ocpp_words(charger, said);
    end if;
    -- what else it changed: a start ends what was open at its connector, and a stop may have waited for it
    ended := case when said ->> 'kind' in ('start', 'values', 'event')
                  then private.end_followed_ocpp(charger, (said ->> 'connector')::int) else '[]' end
          || case when link.waiting <> '[]' then private.retry_waiting_ocpp(charger) else '[]' end
          || case when item is not null then private.beside_ocpp(charger, item) else '[]' end;
    if ended <> '[]' then
      for other in select e from jsonb_array_elements(ended) e loop
        if other ->> 'external_id' = item ->> 'external_id' then
          item := other;
        else
          items := items || other;
        end if;
      end loop;
    end if;
    if item is not null then
      items := items || (item || coalesce(said -> 'evidence', '{}'));
    end if;
  end loop;
  if items <> '[]' then
    -- what has an end comes last: it does not open again, and its last word counts
    perform private.store_sessions((select jsonb_agg(i.item order by i.item ? 'ended_at', i.n)
                                      from jsonb_array_elements(items) with ordinality i (item, n)));
  end if;
  return json_build_object('ids', ids);
end $$;
comment on function api.take_ocpp_messages(jsonb, jsonb) is
  'What happened at a connected charger: {charger_id, generation, protocol, mirror?, happened: [{kind: '
  'boot|start|values|stop|event|status, evidence?, …}]} (domain/charging_in/ocpp) to {ids}, the transaction ids of '
  'starts, null for others. mirror: their ids are another back office''s. Idempotent.';

-- The sessions that a change of another one at their connector changes: the next, if it may begin where this one ended,
-- and the one before, if it has no stop.
create function private.beside_ocpp(charger core.chargers, item jsonb) returns jsonb
language plpgsql
as $$
declare
  at     constant timestamptz := item ->> 'started_at';
  plug   constant int := item ->> 'connector';
  beside core.ocpp_transactions;
  items  jsonb := '[]';
begin
  for beside in
    (select * from core.ocpp_transactions t
      where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector = plug and t.first_at > at
      order by t.first_at, t.id limit 1)
    union all
    (select * from core.ocpp_transactions t
      where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector = plug and t.first_at < at
      order by t.first_at desc, t.id desc limit 1)
  loop
    if beside.first_at > at and coalesce(beside.meter_start_wh, beside.begin_wh) = 0
       or beside.first_at < at and beside.is_over and beside.ended_at is null then
      items := items || private.ocpp_session(charger, beside);
    end if;
  end loop;
  return items;
end $$;

-- Ends transactions of a charger without news for 48 hours by their last reading, 500 at most. One without any
-- reading is no longer shown as charging. Returns the sessions.
create function private.end_silent_ocpp(charger core.chargers) returns jsonb
language plpgsql
as $$
declare
  silent core.ocpp_transactions;
  items  jsonb := '[]';
begin
  for silent in
    update core.ocpp_transactions t set is_over = true, id_tag = null
     where t.partner_id = charger.partner_id and t.id = any (array(
             select s.id from core.ocpp_transactions s
              where s.partner_id = charger.partner_id and s.charger_id = charger.id and s.ended_at is null
                and not s.is_over and greatest(s.last_at, s.created_at) < private.now() - interval '48 hours'
              limit 500))
    returning t.*
  loop
    items := items || private.ocpp_session(charger, silent);
  end loop;
  return items;
end $$;

-- Whose charges ended without news for 48 hours since their last reading.
create function private.owners_of_silent_charges() returns table (partner_id uuid, owner_id uuid)
language sql stable
as $$
  select distinct t.partner_id, t.owner_id from core.ocpp_transactions t
   where t.ended_at is null and not t.is_over
     and greatest(t.last_at, t.created_at) < private.now() - interval '48 hours' limit 100
$$;

-- Ends these charges of an owner by their last reading, at a hundred chargers at most. Returns at how many.
create function private.end_silent_charges(partner uuid, owner uuid) returns bigint
language plpgsql
as $$
declare
  charger core.chargers;
  ended   bigint := 0;
begin
  perform private.act_for_person(partner, owner);
  -- one that just tells something has its turn in the next run
  for charger in
    select h.* from core.chargers h
     where h.partner_id = partner and h.owner_id = owner and exists (
       select from core.ocpp_transactions t
        where t.partner_id = h.partner_id and t.charger_id = h.id and t.ended_at is null and not t.is_over
          and greatest(t.last_at, t.created_at) < private.now() - interval '48 hours')
     order by h.id limit 100 for no key update skip locked
  loop
    perform private.store_sessions(private.end_silent_ocpp(charger));
    ended := ended + 1;
  end loop;
  perform private.act_for_person(null, null);
  return ended;
end $$;

create function private.give_up_charges() returns int
language plpgsql security definer
as $$
declare
  given_up int;
begin
  -- we lock chargers first, as everywhere, and skip those that tell something now
  with lost as (
    select s.partner_id, s.charger_id, s.id from core.charging_sessions s
     where s.source = 'ocpp' and s.status = 'active' and not 'no_end' = any (s.flags)
       and s.started_at < private.now() - interval '48 hours'
       -- by its own age too: else each of thousands that were told since is compared with all of them
       and s.received_at < private.now() - interval '48 hours'
       and exists (
         select from core.ocpp_transactions t
          where t.partner_id = s.partner_id and t.charger_id = s.charger_id and t.connector = s.connector
            and t.first_at > s.started_at and t.created_at < private.now() - interval '48 hours')
  ), free as (
    select h.partner_id, h.id from core.chargers h
     where (h.partner_id, h.id) in (select l.partner_id, l.charger_id from lost l)
       for no key update skip locked
  )
  update core.charging_sessions s set flags = s.flags || '{no_end}'::text[]
    from lost l join free f on f.partner_id = l.partner_id and f.id = l.charger_id
   where s.partner_id = l.partner_id and s.id = l.id and s.status = 'active' and not 'no_end' = any (s.flags);
  get diagnostics given_up = row_count;
  return given_up;
end $$;
comment on function private.give_up_charges() is
  'Flags a running session without a reading as no_end once it and another at its connector were told 48 hours ago. '
  'Its stop replaces that if it comes after all. Definer, because it looks at every tenant.';
