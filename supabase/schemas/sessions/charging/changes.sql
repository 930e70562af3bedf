-- Other changes to what counts: a charger moves, its meter is confirmed, it is another registration's, or a month opens
-- again.

-- Counts the earlier sessions of a charger that is bound to a connection, whose MID meter is confirmed, or that another
-- registration holds, or no longer does.
create function private.charger_changed() returns trigger
language plpgsql
as $$
declare
  others uuid[];
  olds   jsonb;
  moved  jsonb;
begin
  perform private.set_tenant(new.partner_id);
  if new.connection_id is not null then
    update core.charging_sessions s set connection_id = new.connection_id
     where s.partner_id = new.partner_id and s.charger_id = new.id and s.connection_id is null;
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
    select jsonb_agg(to_jsonb(c)),
           jsonb_agg(json_build_object('charger_id', c.charger_id, 'session_id', c.id, 'busy_from', c.busy_from,
                                       'ended_at', c.ended_at, 'old_busy_from', c.busy_from,
                                       'old_ended_at', c.ended_at, 'old_month', c.month))
      into olds, moved from changed c;
    -- it may be booked
    perform private.keep_replaced(olds) where olds is not null;
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

-- Called when locked months open again: sessions that came meanwhile count.
create function private.release_charging_sessions(connections uuid[], months date[]) returns void
language plpgsql
as $$
declare
  touched jsonb;
  changed jsonb;
begin
  with opened as (
    select * from unnest(connections, months) as o (connection_id, month)
  ), released as (
    update core.charging_sessions s set flags = array_remove(s.flags, 'after_lock')
      from opened o
     where s.partner_id = private.partner_id() and s.connection_id = o.connection_id and 'after_lock' = any (s.flags)
       and (s.month = o.month or exists (
              select from core.replaced_charging_sessions r where r.partner_id = s.partner_id
                  and r.charger_id = s.charger_id and r.session_id = s.id and r.month = o.month))
       and not exists (
              select from core.delivered_months d
               where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.period = s.month
                 and d.locked)
       -- a session that moved to another month waits for the month that it is booked in
       and not exists (
              select from core.replaced_charging_sessions r where r.session_id = s.id and private.was_booked(r))
    returning s.charger_id, s.id, s.connection_id, s.month, s.busy_from, s.ended_at
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select h.partner_id, h.owner_id, h.id, r.id
      from released r join core.chargers h on h.partner_id = private.partner_id() and h.id = r.charger_id
          and h.user_id is null)
  select (select jsonb_agg(distinct jsonb_build_object('connection_id', t.connection_id, 'month', t.month))
            from (select r.connection_id, r.month from released r union select * from opened) t),
         (select jsonb_agg(jsonb_build_object('charger_id', r.charger_id, 'session_id', r.id, 'busy_from', r.busy_from,
                                              'ended_at', r.ended_at, 'old_busy_from', b.started_at,
                                              'old_ended_at', b.ended_at, 'old_month', b.month))
            from released r
           cross join lateral (
             select l.* from core.replaced_charging_sessions l
              where l.session_id = r.id and not 'after_lock' = any (l.flags) order by l.id desc limit 1) b
           where b.flags = '{}')
    into touched, changed;
  perform private.deliver_sessions(touched);
  -- what waited for what was booked may count now
  perform private.total_sessions(private.judge_sessions(changed)) where changed is not null;
end $$;
