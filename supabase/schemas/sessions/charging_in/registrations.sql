-- Registrations of one physical charger: each moment belongs to one of them, whoever has it.

create function private.succeed_charger(brand text, serial_number text) returns timestamptz
language plpgsql security definer
as $$
begin
  -- locked first: whoever stores a session of it now is seen below
  perform from core.chargers h
    where h.brand = succeed_charger.brand
     and (h.serial_number = succeed_charger.serial_number or h.booted_as = succeed_charger.serial_number)
      and h.status = 'removed' and h.counts_until is null
    order by h.id for no key update;
  update core.chargers h
     set counts_until = case when exists (
             select from core.charger_months m
              where m.partner_id = h.partner_id and m.charger_id = h.id and m.sessions > 0)
           -- typed months, and what was booked before it was withdrawn, are its kWh too
           or exists (
             select from core.delivered_months d
              where d.partner_id = h.partner_id and d.connection_id = h.connection_id and d.delivery_id is not null
                and d.total_kwh > 0)
           or exists (
             select from core.charging_sessions s
               join core.delivered_months d on d.partner_id = s.partner_id and d.connection_id = s.connection_id
                                           and d.period = s.month
              where s.partner_id = h.partner_id and s.charger_id = h.id and 'withdrawn' = any (s.flags) and d.locked)
         -- a charge that was going on at the removal is the former one's, for a day
         then greatest(h.removed_at, (
           select max(least(s.ended_at, h.removed_at + interval '1 day')) from core.charging_sessions s
            where s.partner_id = h.partner_id and s.charger_id = h.id and s.counted
              and s.started_at > h.removed_at - interval '31 days'))
         else '-infinity' end
   where h.brand = succeed_charger.brand
     and (h.serial_number = succeed_charger.serial_number or h.booted_as = succeed_charger.serial_number)
     and h.status = 'removed' and h.counts_until is null;
  return (select nullif(max(h.counts_until), '-infinity') from core.chargers h
           where h.brand = succeed_charger.brand
     and (h.serial_number = succeed_charger.serial_number or h.booted_as = succeed_charger.serial_number)
             and h.status = 'removed');
end $$;
comment on function private.succeed_charger(text, text) is
  'Ends the spans of the former registrations of a charger, which the caller has reserved, and returns since when a '
  'new one counts; null if always. Definer, because these may be of any tenant; the answer does not tell whose.';
