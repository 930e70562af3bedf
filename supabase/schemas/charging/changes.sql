-- What else changes what counts: a charger that moves or whose meter is confirmed, a month that is unlocked.

create function private.charger_changed() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform private.act_for_partner(new.partner_id);
  if new.connection_id is not null then
    update core.charging_sessions s set connection_id = new.connection_id
     where s.partner_id = new.partner_id and s.charger_id = new.id and s.connection_id is null;
  end if;
  perform private.deliver_charging_sessions(array_agg(m.connection_id), array_agg(m.month))
     from (select distinct s.connection_id, s.month from core.charging_sessions s
            where s.partner_id = new.partner_id and s.charger_id = new.id and s.connection_id is not null) m;
  return null;
end $$;
comment on function private.charger_changed() is
  'A charger that is bound to a connection, or whose MID meter is confirmed, counts with the sessions it already had.';
create trigger charger_changed after update of connection_id, mid_eligible on core.chargers
  for each row when (old.connection_id is distinct from new.connection_id or old.mid_eligible is distinct from new.mid_eligible)
  execute function private.charger_changed();

create function private.month_unlocked() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  months date[];
begin
  perform private.act_for_partner(new.partner_id);
  with released as (
    update core.charging_sessions s set flags = array_remove(s.flags, 'after_lock')
     where s.partner_id = new.partner_id and s.connection_id = new.connection_id and 'after_lock' = any (s.flags)
       and (s.month = new.period or exists (
              select from core.replaced_charging_sessions r where r.partner_id = s.partner_id and r.session_id = s.id and r.month = new.period))
    returning s.month)
  select array_append(array_agg(distinct r.month), new.period) into months from released r;
  perform private.deliver_charging_sessions(array_fill(new.connection_id, array[cardinality(months)]), months);
  return null;
end $$;
comment on function private.month_unlocked() is 'What came after a month was locked counts when it is open again.';
create trigger month_unlocked after update of status on core.delivered_months
  for each row when (old.locked and not new.locked)
  execute function private.month_unlocked();
