-- The log of events for integrators, numbered after the commit by private.sequence_events. A cursor over ids or moments
-- would lose events: of two transactions the first to begin may commit last, after a reader has passed it.

-- Events of this moment or before count as gone, whether or not they were deleted.
create function private.events_kept_since() returns timestamptz
language sql stable parallel safe
return private.now() - interval '90 days';

-- How many events of a log one statement searches.
create function private.events_at_once() returns int
language sql immutable parallel safe
return 10000;

create function private.sequence_events(partner uuid, owner uuid) returns core.event_heads
language plpgsql security definer
as $$
declare
  head core.event_heads;
begin
  if exists (select from core.events e where e.partner_id = partner and e.owner_id = owner and e.sequence is null) then
    insert into core.event_heads (partner_id, owner_id) values (partner, owner)
      on conflict on constraint event_heads_pkey do nothing;
    -- one at a time numbers a log, and who comes next sees what that one numbered: numbers are committed in their order
    select * into head from core.event_heads h where h.partner_id = partner and h.owner_id = owner for update;
    -- the first of them by arrival: of what waited for another, and of one transaction, none comes before it
    with numbered as (
      update core.events e set sequence = head.sequence + n.place
        from (select u.ctid, row_number() over (order by u.arrival) as place
                from core.events u where u.partner_id = partner and u.owner_id = owner and u.sequence is null
               order by u.arrival limit private.events_at_once()) n
       -- where it lies, for nobody moves it meanwhile: by a key, old statistics may pick the index that fits least
       where e.ctid = n.ctid
      returning 1)
    update core.event_heads h set sequence = h.sequence + (select count(*) from numbered) where h.partner_id = partner
        and h.owner_id = owner;
  end if;
  select * into head from core.event_heads h where h.partner_id = partner and h.owner_id = owner;
  return case when head.partner_id is null then row(partner, owner, 0, 0)::core.event_heads else head end;
end $$;
comment on function private.sequence_events(uuid, uuid) is
  'Numbers the committed events of a log, ten thousand at most, and returns its head. Every reader of a log calls this '
  'first; no writer does. Definer, because nothing else changes an event.';

-- Whether a log has events behind its head, for the next private.sequence_events.
create function private.has_unnumbered(head core.event_heads) returns boolean
language plpgsql stable
as $$
begin
  return exists (select from core.events e where e.partner_id = head.partner_id and e.owner_id = head.owner_id
                 and e.sequence is null);
end $$;

-- private.sequence_events to the end of a log. private.sweep_events numbers what nobody read for an hour, so there is
-- little left.
create function private.sequence_all(partner uuid, owner uuid) returns core.event_heads
language plpgsql
as $$
declare
  head core.event_heads;
begin
  loop
    head := private.sequence_events(partner, owner);
    exit when not private.has_unnumbered(head);
  end loop;
  return head;
end $$;

-- Deletes events of a log older than 90 days, at most this many, with their retries. Returns how many. The caller holds
-- the head.
create function private.sweep_log(head core.event_heads, most bigint) returns bigint
language plpgsql
as $$
declare
  swept bigint;
begin
  with gone as (
    delete from core.events e
     where e.ctid = any (array(
       select d.ctid from core.events d
        where d.partner_id = head.partner_id and d.owner_id = head.owner_id and d.sequence is not null
            and d.created_at <= private.events_kept_since()
        order by d.sequence limit most))
    returning e.sequence, e.id
  ), given_up as (
    delete from core.webhook_retries r
     using gone g, core.webhook_endpoints w
     where w.partner_id = head.partner_id and w.owner_id = head.owner_id
       and r.partner_id = w.partner_id and r.endpoint_id = w.id and r.event_id = g.id
  ), noted as (
    update core.event_heads h set swept = greatest(h.swept, (select max(g.sequence) from gone g))
     where h.partner_id = head.partner_id and h.owner_id = head.owner_id
  )
  select count(*) into swept from gone;
  return swept;
end $$;

create function private.sweep_events() returns bigint
language plpgsql security definer
as $$
declare
  log   record;
  head  core.event_heads;
  swept bigint := 0;
begin
  for log in
    select l.partner_id, l.owner_id from (
      (select e.partner_id, e.owner_id from core.events e where e.created_at <= private.events_kept_since()
       order by e.created_at limit private.events_at_once())
      union
      -- what nobody has read: numbered bit by bit, before it is much for one reader
      (select e.partner_id, e.owner_id from core.events e
        where e.sequence is null
            and e.created_at <= private.now() - interval '1 hour' limit private.events_at_once())) l
     order by l.partner_id, l.owner_id
  loop
    -- we look first, because an insert of a head that exists waits for whoever changes it
    if not exists (select from core.event_heads h where h.partner_id = log.partner_id and h.owner_id = log.owner_id)
        then
      insert into core.event_heads (partner_id, owner_id) values (log.partner_id, log.owner_id)
        on conflict on constraint event_heads_pkey do nothing;
    end if;
    -- A run of jobs keeps its locks until all jobs are done. So it locks heads in the same order as
    -- private.lease_webhooks, and leaves a locked head to the next run. It waits only for a transaction that is
    -- inserting the same head.
    select * into head from core.event_heads h where h.partner_id = log.partner_id
        and h.owner_id = log.owner_id for update skip locked;
    continue when not found;
    perform private.sequence_events(log.partner_id, log.owner_id);
    swept := swept + private.sweep_log(head, private.events_at_once() - swept);
  end loop;
  return swept;
end $$;
comment on function private.sweep_events() is
  'Deletes events older than 90 days, ten thousand in a run, and numbers those that nobody read for an hour. Definer: '
  'every tenant at once.';
