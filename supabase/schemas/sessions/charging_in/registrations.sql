-- Registrations of one physical charger: each moment belongs to one of them, whoever has it.

-- When the span of a registration began. Null if no charge with energy of it counts, or is in a locked month: it has no
-- span. A client tells of charges of before, so its span has no begin. A person's begins when the charger was added:
-- whoever has an account could else take a serial number's history with one charge. Typed months do not say when.
create function private.registration_began(charger core.chargers) returns timestamptz
language sql stable
return (select case
  when exists (
    select from core.delivered_months d
     where d.partner_id = charger.partner_id and d.connection_id = charger.connection_id
       and d.delivery_id is not null and d.total_kwh > 0)
  then '-infinity'
  when charger.user_id is null then case when b.began is not null then '-infinity'::timestamptz end
  else greatest(case when b.began is not null then charger.created_at end, b.began) end
  from (values (least(
    (select s.started_at from core.charging_sessions s
      where s.partner_id = charger.partner_id and s.charger_id = charger.id and s.counted and s.wh > 0
      order by s.started_at limit 1),
    (select min(b.started_at) from private.still_booked(charger.id, '-infinity', 'infinity') b where b.wh > 0)))) b (
      began));

create function private.succeed_charger(brand text, serial_number text, only_own boolean default false,
                                        account uuid default null) returns tstzrange
language plpgsql security definer
as $$
declare
  formers core.chargers[];
begin
  -- a statement of its own: whoever stores a session of it now is seen below
  formers := array(
    select h from core.chargers h
     where h.brand = succeed_charger.brand
       and (h.serial_number = succeed_charger.serial_number
            or h.account_id = account
               and (succeed_charger.serial_number is null
                    or private.charger_numbers(h.serial_number, h.booted_as, h.booted_before) = '{}')
            or not only_own and (h.booted_as = succeed_charger.serial_number
                                 or h.booted_before @> array[succeed_charger.serial_number]))
       and h.status = 'removed'
     order by h.id for no key update);
  update core.chargers h
     set counts_until = case when private.registration_began(f) is not null
         -- a charge that was going on at the removal is the former one's, for a day
         then greatest(h.removed_at, (
           select max(least(s.ended_at, h.removed_at + interval '1 day')) from core.charging_sessions s
            where s.partner_id = h.partner_id and s.charger_id = h.id and s.counted and s.wh > 0
              and s.started_at > h.removed_at - interval '31 days'))
         else '-infinity' end
    from unnest(formers) f
   where h.partner_id = f.partner_id and h.id = f.id and f.counts_until is null;
  return (
    select case when count(*) > 0 then tstzrange(least(min(s.began), max(s.until)), max(s.until), '[]') end
      -- decided once: what was withdrawn since gives its time to nobody; what was released has none
      from (select coalesce(private.registration_began(f), case when f.counts_from is distinct from 'infinity' then
                     case when f.user_id is null then '-infinity' else f.created_at end end) as began,
                   h.counts_until as until
              from unnest(formers) f join core.chargers h on h.partner_id = f.partner_id and h.id = f.id) s
     where s.began is not null and s.until > '-infinity');
end $$;
comment on function private.succeed_charger(text, text, boolean, uuid) is
  'Ends the spans of the former registrations of a charger, which the caller has reserved. Returns the span that '
  'covers them all, or null: a new registration counts nothing of it. only_own leaves out registrations that only '
  'booted as that number. Where one has no number, the former ones are those of the account. Definer, because these '
  'may be of any tenant; the answer does not tell whose.';
