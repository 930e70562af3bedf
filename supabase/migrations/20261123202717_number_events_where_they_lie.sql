begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.sequence_events (
  partner uuid,
  owner   uuid
)
  RETURNS core.event_heads
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  head core.event_heads;
begin
  if exists (select from core.events e where e.partner_id = partner and e.owner_id = owner and e.sequence is null) then
    insert into core.event_heads (partner_id, owner_id) values (partner, owner) on conflict on constraint event_heads_pkey do nothing;
    -- one at a time numbers a log, and who comes next sees what that one numbered: numbers are committed in their order
    select * into head from core.event_heads h where h.partner_id = partner and h.owner_id = owner for update;
    -- the first of them by arrival: of what waited for another, and of one transaction, none comes before it
    with numbered as (
      update core.events e set sequence = head.sequence + n.place
        from (select u.ctid, row_number() over (order by u.arrival) as place
                from core.events u where u.partner_id = partner and u.owner_id = owner and u.sequence is null
               order by u.arrival limit private.events_at_once()) n
       where e.ctid = n.ctid  -- where it lies, for nobody moves it meanwhile: by a key, old statistics may pick the index that fits least
      returning 1)
    update core.event_heads h set sequence = h.sequence + (select count(*) from numbered) where h.partner_id = partner and h.owner_id = owner;
  end if;
  select * into head from core.event_heads h where h.partner_id = partner and h.owner_id = owner;
  return case when head.partner_id is null then row(partner, owner, 0, 0)::core.event_heads else head end;
end $function$;

CREATE OR REPLACE FUNCTION private.sweep_log (
  head core.event_heads,
  most bigint
)
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  swept bigint;
begin
  with gone as (
    delete from core.events e
     where e.ctid = any (array(
       select d.ctid from core.events d
        where d.partner_id = head.partner_id and d.owner_id = head.owner_id and d.sequence is not null and d.created_at <= private.events_kept_since()
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
end $function$;

commit;
