-- Which transaction of a charger a message of OCPP 1.6 means. Behind a mirror the ids are those of another back office.
-- They may equal ours, repeat, or be missing. So an id alone proves nothing: connector, time and reading must agree.

-- The id by which another back office knows a transaction. Null if it is none: chargers without one send 0, a negative
-- number or the largest.
create function private.ocpp_name(named text) returns text
language sql immutable
return case when named !~ '^(-[0-9]+|0*)$' and named not in ('2147483647', '4294967295', '9223372036854775807')
            then named end;

-- The 1.6 transaction of that id, if it was given to this charger.
create function private.own_ocpp_transaction(charger core.chargers, named text) returns core.ocpp_transactions
language plpgsql
as $$
declare
  known core.ocpp_transactions;
begin
  if named ~ '^[1-9][0-9]{0,9}$' and named::bigint <= 2147483647 then
    select * into known from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.source_id is null
       and t.id = named::int;
  end if;
  return known;
end $$;

-- The transactions that began after another of its connector. If a clock was wrong, the order of arrival counts.
create function private.ocpp_later(known core.ocpp_transactions) returns setof core.ocpp_transactions
language sql stable
begin atomic
  select l.* from core.ocpp_transactions l
   where l.partner_id = known.partner_id and l.charger_id = known.charger_id and l.connector = known.connector
     and l.first_at > known.first_at and 'wrong' not in (l.clock, known.clock)
  union all
  select l.* from core.ocpp_transactions l
   where l.partner_id = known.partner_id and l.charger_id = known.charger_id and l.connector = known.connector
     and l.clock = 'wrong' and l.id > known.id
  union all
  select l.* from core.ocpp_transactions l
   where l.partner_id = known.partner_id and l.charger_id = known.charger_id and l.connector = known.connector
     and known.clock = 'wrong' and l.clock <> 'wrong' and l.id > known.id;
end;

-- Whether another transaction had begun at its connector by then. One car at a time.
create function private.ocpp_followed(known core.ocpp_transactions, at timestamptz) returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from private.ocpp_later(known) l where 'wrong' in (l.clock, known.clock) or l.first_at <= at);
end $$;

-- Whether a reading may be of a transaction: not below its last one, and no more above it than the charger can give.
create function private.ocpp_fits(charger core.chargers, known core.ocpp_transactions, at timestamptz, wh bigint,
                                  clock text) returns boolean
language plpgsql stable
as $$
declare
  -- a start of 0 may be one that the charger did not know
  start_wh constant bigint := nullif(coalesce(known.meter_start_wh, known.begin_wh), 0);
  has_last constant boolean := coalesce(known.last_wh >= coalesce(start_wh, 0), false);
  from_wh  constant bigint := case when has_last then known.last_wh else start_wh end;
begin
  return wh is null
      -- 0 after values that rose is no reading
      or wh = 0 and known.last_wh > 0
      or wh >= coalesce(from_wh, 0) - 10
         and (from_wh is null or 'wrong' in (known.clock, clock)
              or wh - from_wh <= private.ocpp_allowance(charger, at - case when has_last then known.last_at
                                                                            else known.first_at end));
end $$;

-- The transaction of a connector at a time: the latest that had begun. A minute, because clocks of messages differ.
create function private.ocpp_transaction_at(charger core.chargers, at_connector int, at timestamptz)
  returns core.ocpp_transactions
language plpgsql stable
as $$
declare
  known core.ocpp_transactions;
  whole core.ocpp_transactions;
begin
  select * into known from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector = at_connector
     and t.first_at <= at + interval '1 minute'
   order by t.first_at desc, t.id desc limit 1;
  -- one of which only the stop came names no connector
  select * into whole from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector is null
     and t.source_id is null and t.first_at <= at and t.ended_at >= at
   order by t.first_at desc limit 1;
  return case when whole.id is not null and whole.first_at > known.first_at is not false then whole else known end;
end $$;

-- Whether a transaction took the reading of a time: it was open, and no other had begun at its connector.
create function private.ocpp_runs_at(known core.ocpp_transactions, at timestamptz) returns boolean
language plpgsql stable
as $$
begin
  return known.id is not null
     and case when known.ended_at is null
              then known.clock = 'wrong' or at < greatest(known.last_at, known.first_at) + interval '48 hours'
              else not coalesce(private.is_after_ocpp(known, at), false) end;
end $$;

-- The transactions that a stop may end: open at its time, the latest of their connector then, without a later reading,
-- and none began there below its reading since.
create function private.stoppable_ocpp(charger core.chargers, at timestamptz, wh bigint)
  returns core.ocpp_transactions[]
language plpgsql stable
as $$
begin
  return array(
    select t from (
      -- the latest of each connector are among them
      (select * from core.ocpp_transactions o
        where o.partner_id = charger.partner_id and o.charger_id = charger.id and o.ended_at is null
        order by o.first_at desc limit 100)
      union
      (select * from core.ocpp_transactions o
        where o.partner_id = charger.partner_id and o.charger_id = charger.id and o.ended_at is null
          and o.first_at <= at
        order by o.first_at desc limit 100)) t
     where
       -- where the clock was ahead at the start, the time of arrival counts
           (t.clock = 'wrong' or least(t.first_at, t.created_at) <= at)
       and (t.clock = 'wrong' or t.last_at > at + interval '1 minute' is not true)
       and t.source_id is null and not private.ocpp_followed(t, at)
       and not exists (
         select from private.ocpp_later(t) l where l.meter_start_wh > 0 and l.meter_start_wh < wh - 10));
end $$;

-- Whether a connector said near a time that its charge was over.
create function private.ocpp_freed(link core.ocpp_links, connector int, at timestamptz, only_finishing boolean)
  returns boolean
language sql immutable
return coalesce(
  abs(extract(epoch from (link.freed #>> array[connector::text, 'at'])::timestamptz - at)) <= 120
  and (not only_finishing or link.freed #>> array[connector::text, 'status'] = 'Finishing'), false);

-- Whether a stop of a name may be of a transaction: nothing named it otherwise. Our id may be another back office's of
-- another connector, so beside other names it says something only where one connector is used.
create function private.ocpp_called(known core.ocpp_transactions, named text) returns boolean
language plpgsql stable
as $$
begin
  return named is null or known.foreign_ids = '{}' or named = any (known.foreign_ids)
      or named = known.id::text and not exists (
           select from core.ocpp_transactions o
            where o.partner_id = known.partner_id and o.charger_id = known.charger_id
              and (o.connector < known.connector or o.connector > known.connector));
end $$;

-- Whether the next start at its connector begins where a stop ended.
create function private.ocpp_goes_on(known core.ocpp_transactions, wh bigint) returns boolean
language plpgsql stable
as $$
declare
  after constant core.ocpp_transactions := private.next_ocpp(known);
begin
  return coalesce(abs(nullif(after.meter_start_wh, 0) - wh) <= 10, false);
end $$;

-- Whether the register of another connector, where none was open, can have reached a reading by then.
create function private.ocpp_reachable_elsewhere(charger core.chargers, at_connector int, at timestamptz, wh bigint)
  returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from (select distinct t.connector from core.ocpp_transactions t
                  where t.partner_id = charger.partner_id and t.charger_id = charger.id
                    and t.connector <> at_connector) c,
           lateral private.ocpp_transaction_at(charger, c.connector, at) o,
           lateral coalesce(nullif(o.end_wh, 0), o.final_wh, o.last_wh) since_wh
     where o.ended_at < at and wh >= since_wh - 10 is not false
       and wh - since_wh <= private.ocpp_allowance(charger, at - o.ended_at) is not false);
end $$;

-- Whether a reading may be of a charge at another connector, whose start was lost: a charge of 31 days has no stop, so
-- messages get lost.
create function private.ocpp_reached_elsewhere(charger core.chargers, at_connector int, at timestamptz, wh bigint)
  returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.ended_at is null and t.is_over
       and t.first_at between at - interval '31 days' and at)
     and private.ocpp_reachable_elsewhere(charger, at_connector, at, wh);
end $$;

-- Whether another connector of its charger ever had a transaction.
create function private.ocpp_charged_elsewhere(of core.ocpp_transactions) returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from core.ocpp_transactions o
     where o.partner_id = of.partner_id and o.charger_id = of.charger_id and o.connector <> of.connector);
end $$;

-- The transaction whose guessed end a stop disproves. A register only grows: of two stops the later one is lower, so
-- they are of two connectors. The lower one counts, unless only the higher one can be of this connector. A second stop
-- of one name is of one charge, and its first stop counts.
create function private.misjudged_ocpp(charger core.chargers, link core.ocpp_links, named text, at timestamptz,
                                       wh bigint)
  returns core.ocpp_transactions
language plpgsql stable
as $$
begin
  return (
    select t from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.source_id is null and t.end_guessed
       and t.ended_at >= at - interval '24 hours' and t.ended_at < at and t.end_wh > wh + 10 and t.clock = 'charger'
       and t.meter_start_wh > 0 and wh >= greatest(t.meter_start_wh, t.last_wh) - 10
       and (named = any (t.foreign_ids)) is not true
       and not private.ocpp_followed(t, at)
       and (exists (select from jsonb_object_keys(link.freed) c (connector) where c.connector::int <> t.connector)
            or private.ocpp_charged_elsewhere(t))
       and not (private.ocpp_reachable_elsewhere(charger, t.connector, at, wh)
                and not private.ocpp_reachable_elsewhere(charger, t.connector, t.ended_at, t.end_wh))
     order by t.ended_at desc limit 1);
end $$;

-- Whether a connector, and no other, said Finishing within 10 seconds of a time.
create function private.ocpp_finished_alone(link core.ocpp_links, connector int, at timestamptz) returns boolean
language sql immutable
return coalesce(array[connector::text] = (
  select array_agg(f.key) from jsonb_each(link.freed) f
   where f.value ->> 'status' = 'Finishing'
     and abs(extract(epoch from (f.value ->> 'at')::timestamptz - at)) <= 10), false);

-- The transaction that a StopTransaction ends, and how we know: own, its id is ours; named, another back office calls
-- it so; repeat, this stop came before; guess, no other fits. Null if none is.
create function private.stopped_ocpp(charger core.chargers, link core.ocpp_links, is_foreign boolean, said jsonb,
                                     out known core.ocpp_transactions, out how text)
language plpgsql
as $$
declare
  at       constant timestamptz := said ->> 'at';
  wh       constant bigint := said ->> 'meter_wh';
  by_clock    constant text := said ->> 'clock';
  named    constant text := private.ocpp_name(said ->> 'transaction');
  begun_at constant timestamptz := said #>> '{readings,begin,at}';
  begun_wh constant bigint := said #>> '{readings,begin,wh}';
  own      constant core.ocpp_transactions := private.own_ocpp_transaction(charger, said ->> 'transaction');
  is_ours  constant boolean := own.id is not null and not is_foreign;
  -- our id, which may be another back office's name of another one
  is_shared boolean;
  could    core.ocpp_transactions[];
  fitting  core.ocpp_transactions[];
  freed    core.ocpp_transactions[];
  going_on core.ocpp_transactions[];
begin
  could := private.stoppable_ocpp(charger, at, wh);
  is_shared := exists (select from unnest(could) t
                        where t.id <> own.id and named = any (t.foreign_ids)
                          and private.ocpp_fits(charger, t, at, wh, by_clock));
  if is_ours and own.ended_at is null and private.ocpp_called(own, named) and not is_shared
     and private.ocpp_fits(charger, own, at, wh, by_clock) then
    known := own;
    -- an id of another back office may equal ours: without values that name it, another may be meant
    how := case when not own.own_values and exists (
                  select from unnest(could) t
                   where t.id <> own.id and private.ocpp_fits(charger, t, at, wh, by_clock)) then 'guess'
                else 'own' end;
    return;
  end if;
  fitting := array(select t from unnest(could) t
                    where named = any (t.foreign_ids) and private.ocpp_fits(charger, t, at, wh, by_clock));
  if cardinality(fitting) = 1
     -- one id may name all charges: what ended one comes twice, and ends no other
     and not exists (
       select from core.ocpp_transactions t
        where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.source_id is null
          and t.ended_at = at and t.end_wh = wh and named = any (t.foreign_ids))
     and (is_ours and own.ended_at is null and private.ocpp_called(own, named) and fitting[1].id <> own.id
          and private.ocpp_fits(charger, own, at, wh, by_clock)) is not true then
    known := fitting[1];
    how := 'named';
    return;
  end if;
  -- the same reading at the same time; a charger without the time sends it again with another
  select * into known from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.source_id is null
     and t.ended_at between at - case when by_clock = 'arrival' then interval '1 hour' else interval '0' end and at
     and t.end_wh is not distinct from wh
     and (wh is not null or t.end_guessed or t.id = own.id or named = any (t.foreign_ids)
          or t.connector is null and t.final_wh = (said #>> '{readings,end,wh}')::bigint)
   order by t.id = own.id desc nulls last, t.id desc limit 1;
  if known.id is null and own.ended_at is not null and own.end_wh = wh then
    known := own;
  end if;
  if known.id is not null then
    -- the stop of the transaction itself confirms the end that another one guessed
    how := 'repeat';
    return;
  end if;
  if is_ours and own.end_guessed and private.ocpp_called(own, named)
     and private.ocpp_fits(charger, own, at, wh, by_clock)
     and not private.ocpp_followed(own, at)
     and (at <= own.ended_at or not exists (select from unnest(could) t
                                             where private.ocpp_fits(charger, t, at, wh, by_clock))) then
    known := own;
    how := 'own';
    return;
  end if;
  fitting := array(
    select t from unnest(could) t
     where private.ocpp_fits(charger, t, at, wh, by_clock)
       -- another name is another transaction, unless its connector or its readings say more
       and (private.ocpp_called(t, named) or private.ocpp_goes_on(t, wh) or begun_wh > 0 and t.meter_start_wh > 0
            or private.ocpp_finished_alone(link, t.connector, at))
       -- a second stop of an ended transaction ends no other that the charger calls by our id
       and (own.ended_at is not null and t.own_values and t.foreign_ids = '{}' and not is_foreign) is not true
       and (begun_at is null or (t.clock <> 'charger' or abs(extract(epoch from t.first_at - begun_at)) <= 300)
                                and (coalesce(t.meter_start_wh, 0) = 0 or abs(t.meter_start_wh - begun_wh) <= 10)));
  -- a reading that a charge of another connector passed meanwhile is that one's: values after it may be of the next
  fitting := array(
    select t from unnest(fitting) t
     where not exists (
       select from core.ocpp_transactions o
        where o.partner_id = charger.partner_id and o.charger_id = charger.id and o.ended_at is null
          and o.connector <> t.connector and o.first_at <= at and o.last_at > at + interval '1 minute'
          and coalesce(o.meter_start_wh, o.begin_wh) <= wh and wh <= o.last_wh));
  freed := array(select t from unnest(fitting) t where private.ocpp_freed(link, t.connector, at, false));
  going_on := array(select t from unnest(fitting) t where private.ocpp_goes_on(t, wh));
  if cardinality(fitting) > 1 and cardinality(freed) = 1 then
    known := freed[1];
  elsif cardinality(fitting) > 1 and cardinality(going_on) = 1 then
    known := going_on[1];
  elsif cardinality(fitting) > 1 and freed = '{}' and own.ended_at is null and not link.foreign_ids and not is_shared
        and own.id in (select t.id from unnest(fitting) t) then
    -- a mirror may translate ids to ours
    known := own;
  elsif cardinality(fitting) = 1
    -- not if another connector ended then, whose start we do not know
    and (cardinality(freed) = 1 or not exists (
      select from jsonb_object_keys(link.freed) c (connector)
       where private.ocpp_freed(link, c.connector::int, at, true) and not exists (
         select from core.ocpp_transactions t
          where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector = c.connector::int
            and t.ended_at between at - interval '2 minutes' and at + interval '2 minutes')))
    and (cardinality(freed) = 1 or cardinality(going_on) = 1
         or not private.ocpp_reached_elsewhere(charger, fitting[1].connector, at, wh)) then
    known := fitting[1];
  elsif is_ours and own.ended_at is null and fitting = '{}' and private.ocpp_called(own, named) then
    -- its reading is flagged
    known := own;
    how := 'own';
    return;
  end if;
  if known.id is null and by_clock = 'charger' and (is_ours and own.ended_at is not null) is not true then
    known := private.misjudged_ocpp(charger, link, named, at, wh);
  end if;
  how := case when known.id is not null then 'guess' end;
end $$;

-- Takes back the end of a transaction: the stop was not its. Returns its session, which shows its last reading, or
-- none. A stop may end it after all.
create function private.withdraw_ocpp_end(charger core.chargers, wrong core.ocpp_transactions) returns jsonb
language plpgsql
as $$
declare
  item jsonb;
  over jsonb;
begin
  wrong.end_wh := null;
  wrong.final_wh := null;
  wrong.is_over := wrong.is_over or private.ocpp_followed(wrong, 'infinity');
  item := private.ocpp_session(charger, wrong);
  wrong.ended_at := null;
  over := private.ocpp_session(charger, wrong);
  wrong.end_guessed := false;
  wrong.foreign_ids := case when wrong.own_values then wrong.foreign_ids else '{}' end;
  perform private.store_ocpp_transaction(wrong);
  -- a session that ended does not open again
  return case when over ? 'ended_at' then over else item end;
end $$;

-- Gives the end of a transaction to another one that was open then, if its reading may be of that one, and takes it
-- from the first. Returns their sessions.
create function private.move_ocpp_end(charger core.chargers, wrong core.ocpp_transactions,
                                      right_one core.ocpp_transactions) returns jsonb
language plpgsql
as $$
declare
  items jsonb := '[]';
begin
  if right_one.ended_at is null and right_one.first_at <= wrong.ended_at
     and private.ocpp_fits(charger, right_one, wrong.ended_at, wrong.end_wh, wrong.clock) then
    right_one.ended_at := wrong.ended_at;
    right_one.end_wh := wrong.end_wh;
    right_one.end_guessed := true;
    perform private.store_ocpp_transaction(right_one);
    items := items || private.ocpp_session(charger, right_one);
  end if;
  return items || private.withdraw_ocpp_end(charger, wrong);
end $$;

-- Finishing of a connector tells that a stop near it was its, and not of the other one that we guessed. Then the stop
-- ends what was open there. Returns the sessions.
create function private.correct_freed_ocpp(charger core.chargers, link core.ocpp_links, said jsonb) returns jsonb
language plpgsql
as $$
declare
  at    constant timestamptz := said ->> 'at';
  plug  constant int := said ->> 'connector';
  wrong core.ocpp_transactions;
  right_one core.ocpp_transactions;
begin
  select * into wrong from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.source_id is null and t.end_guessed
     and t.ended_at between at - interval '1 minute' and at + interval '1 minute' and t.connector <> plug
     and not t.own_values and not private.ocpp_freed(link, t.connector, t.ended_at, false)
   order by t.ended_at desc limit 1;
  if said ->> 'status' = 'Finishing' is not true or wrong.id is null or exists (
    select from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector = plug
       and t.ended_at between at - interval '2 minutes' and at + interval '2 minutes') then
    return '[]';
  end if;
  select * into right_one from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector = plug
     and t.source_id is null and t.first_at <= wrong.ended_at
   order by t.first_at desc limit 1;
  return private.move_ocpp_end(charger, wrong, right_one);
end $$;

-- A start can disprove an end that a stop without our id gave. The register of its connector begins below that end, or
-- begins where a stop ended the other connector's transaction. Then that one keeps its last reading, and the stop ends
-- what was open here. Returns the sessions.
create function private.correct_stopped_ocpp(charger core.chargers, begun core.ocpp_transactions)
  returns jsonb
language plpgsql
as $$
declare
  wh    constant bigint := nullif(begun.meter_start_wh, 0);
  since constant timestamptz := begun.first_at - interval '24 hours';
  wrong core.ocpp_transactions;
  right_one core.ocpp_transactions;
begin
  select * into wrong from core.ocpp_transactions t
   where t.partner_id = begun.partner_id and t.charger_id = begun.charger_id and t.source_id is null
     and t.ended_at between since and begun.first_at and t.connector = begun.connector and t.end_guessed
     and t.end_wh > wh + 10
     -- the stop may have been of another connector; a register that counts from its start each time, or that lost its
     -- last watt-hours, says nothing
     and (t.foreign_ids <> '{}' or wh > t.meter_start_wh + 1000 and t.end_wh > wh + 1000
          or private.ocpp_charged_elsewhere(t))
   order by t.ended_at desc limit 1;
  if wrong.id is null then
    select * into right_one from core.ocpp_transactions t
     where t.partner_id = begun.partner_id and t.charger_id = begun.charger_id and t.connector = begun.connector
       and t.first_at < begun.first_at
     order by t.first_at desc limit 1;
    select * into wrong from core.ocpp_transactions t
     where t.partner_id = begun.partner_id and t.charger_id = begun.charger_id and t.source_id is null
       and t.ended_at between since and begun.first_at and t.connector <> begun.connector
       and abs(t.end_wh - wh) <= 10
       and case when right_one.end_wh is null
                then t.end_guessed
                     or right_one.source_id is null and right_one.first_at <= t.ended_at
                        and private.ocpp_fits(charger, right_one, t.ended_at, t.end_wh, t.clock)
                -- it was of a charge here whose start never came; not if both connectors have one register
                else t.end_guessed and abs(right_one.end_wh - wh) > 10 and not exists (
                       select from core.ocpp_transactions o
                        where o.partner_id = t.partner_id and o.charger_id = t.charger_id and o.connector = t.connector
                          and o.first_at between right_one.ended_at and t.first_at
                          and abs(o.meter_start_wh - right_one.end_wh) <= 10) end
     order by t.ended_at desc limit 1;
  end if;
  return case when wrong.id is not null then private.move_ocpp_end(charger, wrong, right_one) else '[]' end;
end $$;

-- Ends what a later start at the connector left open: its last reading is its end. Returns the sessions.
create function private.end_followed_ocpp(charger core.chargers, at_connector int) returns jsonb
language plpgsql
as $$
declare
  left_open core.ocpp_transactions;
  items jsonb := '[]';
begin
  for left_open in
    update core.ocpp_transactions t set is_over = true, id_tag = null
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector = at_connector
       and t.ended_at is null and not t.is_over and private.ocpp_followed(t, 'infinity')
    returning t.*
  loop
    items := items || private.ocpp_session(charger, left_open);
  end loop;
  return items;
end $$;

-- Notes whether the ids of a charger are another back office's, by an id that was used rightly.
create function private.note_foreign_ids(link core.ocpp_links, is_foreign boolean) returns void
language plpgsql
as $$
begin
  update core.ocpp_links l set foreign_ids = is_foreign
   where l.partner_id = link.partner_id and l.charger_id = link.charger_id and l.foreign_ids <> is_foreign;
end $$;

-- The names of a transaction, with one more; eight at most.
create function private.with_ocpp_name(names text[], named text) returns text[]
language sql immutable
return case when named is null or named = any (names) then names
            else (names || named)[greatest(1, cardinality(names) - 6):] end;
