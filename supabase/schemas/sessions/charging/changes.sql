-- Other changes to what counts: a charger moves, its meter is confirmed, it is another registration's, or a month opens
-- again.

-- Counts the earlier sessions of a charger that is bound to a connection, whose MID meter is confirmed, or that another
-- registration holds, or no longer does.
create function private.charger_changed() returns trigger
language plpgsql
as $$
declare
  others uuid[];
  moved  jsonb;
  bound  uuid[];
begin
  perform private.set_tenant(new.partner_id);
  with bound as (
    update core.charging_sessions s set connection_id = new.connection_id
     where new.connection_id is not null and s.partner_id = new.partner_id and s.charger_id = new.id
       and s.connection_id is null
    returning s.id
  )
  select array_agg(b.id) into bound from bound b;
  -- one total, signature or booking at a time on a connection
  perform from core.connections c
    where c.partner_id = new.partner_id
      and (c.id = new.connection_id
           or c.id = any (array(select distinct s.connection_id from core.charging_sessions s
                                 where s.partner_id = new.partner_id and s.charger_id = new.id)))
    order by c.id for no key update;
  if old.mid_eligible and new.mid_eligible is not true then
    -- what is booked stays booked, whatever becomes of it before the meter is confirmed again
    perform private.keep_replaced(jsonb_agg(to_jsonb(s)), had_mid => true) from core.charging_sessions s
      where s.partner_id = new.partner_id and s.charger_id = new.id and s.counted and s.flags = '{}'
        and s.booked_as is null and exists (select from private.locked_month(s.connection_id, s.month))
     having count(*) > 0;
  elsif new.mid_eligible and (old.mid_eligible is not true or bound is not null) then
    -- what no booking has came after the lock
    with late as (
      update core.charging_sessions s set flags = '{after_lock}'
       where s.partner_id = new.partner_id and s.charger_id = new.id and s.counted and s.flags = '{}'
         and s.booked_as is null and (old.mid_eligible is not true or s.id = any (bound))
         and exists (select from private.locked_month(s.connection_id, s.month))
      returning s.id
    )
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select new.partner_id, new.owner_id, new.id, l.id from late l where new.user_id is null;
  end if;
  if (new.counts_from, new.counts_before) is distinct from (old.counts_from, old.counts_before) then
    others := array(select r.id from private.registrations_of(new) r);
    with changed as (
      update core.charging_sessions s
         set flags = case when 'other_registration' = any (s.flags) then array_remove(s.flags, 'other_registration')
                          else s.flags || '{other_registration}'::text[] end
        from (select t from core.charging_sessions t
               where t.partner_id = new.partner_id and t.charger_id = new.id
                 and private.owns_moment_since(new, t.started_at) = ('other_registration' = any (t.flags))) o
       where s.partner_id = new.partner_id and s.id = (o.t).id
         -- whoever told a charge first has it
         and not ('other_registration' = any (s.flags)
                  and private.counts_elsewhere(others, s.started_at, s.ended_at))
      returning (o.t).*
    )
    select jsonb_agg(to_jsonb(c)) into moved from changed c;
    -- it may be booked
    perform private.keep_replaced(moved) where moved is not null;
    perform private.total_sessions(private.judge_sessions(moved)) where moved is not null;
  end if;
  perform private.deliver_sessions((
    select jsonb_agg(jsonb_build_object('connection_id', m.connection_id, 'month', m.month))
      from (select distinct s.connection_id, s.month from core.charging_sessions s
             where s.partner_id = new.partner_id and s.charger_id = new.id and s.connection_id is not null) m));
  return null;
end $$;
create trigger charger_changed after update of connection_id, mid_eligible, counts_from, counts_before on core.chargers
  for each row when (old.connection_id is distinct from new.connection_id
                     or old.mid_eligible is distinct from new.mid_eligible
                     or old.counts_from is distinct from new.counts_from
                     or old.counts_before is distinct from new.counts_before)
  execute function private.charger_changed();

-- Called when locked months open again, whose connections are locked: sessions that came meanwhile count.
create function private.release_charging_sessions(connections uuid[], months date[]) returns void
language plpgsql
as $$
declare
  opened  constant jsonb := (select jsonb_agg(jsonb_build_object('connection_id', o.connection_id, 'month', o.month))
                               from unnest(connections, months) as o (connection_id, month));
  waiting jsonb;
begin
  with waiting as (
    select s.id, case when (s.connection_id, r.month) in (select * from unnest(connections, months))
                      then to_jsonb(r) end as booked
      from core.charging_sessions s
      left join lateral (
        select r.* from core.replaced_charging_sessions r
         where r.session_id = s.id and r.id = s.booked_as limit 1) r on true
     where s.partner_id = private.partner_id() and s.connection_id = any (connections)
       and ('after_lock' = any (s.flags) or s.booked_as is not null)
       and ((s.connection_id, r.month) in (select * from unnest(connections, months))
            or (s.connection_id, s.month) in (select * from unnest(connections, months)))
  ), freed as (
    update core.charging_sessions s set booked_as = null
      from waiting w
     where w.booked is not null and s.partner_id = private.partner_id() and s.id = w.id
  )
  -- what waited for what was booked may count now
  select jsonb_agg(coalesce(w.booked || jsonb_build_object('busy_from', w.booked -> 'started_at'), '{}')
                   || jsonb_build_object('id', w.id)) into waiting from waiting w;
  perform private.total_sessions(private.judge_sessions(waiting)) where waiting is not null;
  perform private.deliver_sessions(opened);
end $$;
