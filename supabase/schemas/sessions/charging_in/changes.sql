-- What changed of the sessions of a CPO client, numbered once it is committed, as events are (outbox/events/events.sql
-- says why).

create function private.sequence_charging(partner uuid, owner uuid) returns core.charging_heads
language plpgsql security definer
as $$
declare
  head core.charging_heads;
begin
  if exists (select from core.charging_changes c where c.partner_id = partner and c.owner_id = owner
             and c.position is null) then
    insert into core.charging_heads (partner_id, owner_id) values (partner, owner)
      on conflict on constraint charging_heads_pkey do nothing;
    select * into head from core.charging_heads h where h.partner_id = partner and h.owner_id = owner for update;
    with numbered as (
      update core.charging_changes c set position = head.position + n.place
        from (select u.ctid, row_number() over (order by u.arrival) as place
                from core.charging_changes u where u.partner_id = partner and u.owner_id = owner and u.position is null
               order by u.arrival limit private.events_at_once()) n
       where c.ctid = n.ctid
      returning 1)
    update core.charging_heads h set position = h.position + (select count(*) from numbered)
     where h.partner_id = partner and h.owner_id = owner;
  end if;
  select * into head from core.charging_heads h where h.partner_id = partner and h.owner_id = owner;
  return case when head.partner_id is null then row(partner, owner, 0, 0)::core.charging_heads else head end;
end $$;
comment on function private.sequence_charging(uuid, uuid) is
  'Numbers the committed changes of a client, ten thousand at most, and returns its head. Every reader calls this '
  'first. Definer, because nothing else changes a row.';

create function private.sweep_charging_changes() returns bigint
language plpgsql security definer
as $$
declare
  client record;
  swept  bigint := 0;
begin
  for client in
    select distinct c.partner_id, c.owner_id
      from (select c.partner_id, c.owner_id from core.charging_changes c where c.at <= private.events_kept_since()
             order by c.at limit private.events_at_once()) c
     order by 1, 2
  loop
    perform private.sequence_charging(client.partner_id, client.owner_id);
    -- a request that numbers this log holds the head: the next run deletes from it
    perform from core.charging_heads h where h.partner_id = client.partner_id
        and h.owner_id = client.owner_id for update skip locked;
    continue when not found;
    with gone as (
      delete from core.charging_changes c
       where c.ctid = any (array(
         select d.ctid from core.charging_changes d
          where d.partner_id = client.partner_id and d.owner_id = client.owner_id and d.position is not null
              and d.at <= private.events_kept_since()
          order by d.position limit private.events_at_once()))
      returning c.position
    ), noted as (
      update core.charging_heads h set swept = greatest(h.swept, (select max(g.position) from gone g))
       where h.partner_id = client.partner_id and h.owner_id = client.owner_id
    )
    select swept + count(*) into swept from gone;
  end loop;
  return swept;
end $$;
comment on function private.sweep_charging_changes() is
  'Deletes changes of sessions older than 90 days, ten thousand a client in a run. Definer: every tenant at once.';
