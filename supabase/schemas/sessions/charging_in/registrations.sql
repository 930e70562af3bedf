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

create function private.succeed_charger(charger core.chargers) returns tstzrange
language plpgsql security definer
as $$
declare
  formers core.chargers[];
begin
  -- a statement of its own: whoever stores a session of it now is seen below
  formers := array(
    select h from private.registrations_of(charger) r
      join core.chargers h on h.partner_id = r.partner_id and h.id = r.id
     where h.status = 'removed'
     order by h.id for no key update of h);
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
  -- what waits there for another session is the next one's: it would count twice once that is withdrawn
  with flagged as (
    update core.charging_sessions s set flags = s.flags || '{other_registration}'::text[]
      from unnest(formers) f
      join core.chargers h on h.partner_id = f.partner_id and h.id = f.id and h.counts_until = '-infinity'
     where f.counts_until is null and s.partner_id = h.partner_id and s.charger_id = h.id
       and s.flags && '{overlapping,duplicate,beyond_capacity}' and not 'other_registration' = any (s.flags)
    returning s.partner_id, s.owner_id, s.charger_id, s.id, h.user_id is null as noted
  )
  insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
  select g.partner_id, g.owner_id, g.charger_id, g.id from flagged g where g.noted;
  return (
    select case when count(*) > 0 then tstzrange(least(min(s.began), max(s.until)), max(s.until), '[]') end
      -- decided once: what was withdrawn since gives its time to nobody; what was released has none
      from (select coalesce(private.registration_began(f), case when f.counts_from is distinct from 'infinity' then
                     case when f.user_id is null then '-infinity' else f.created_at end end) as began,
                   h.counts_until as until
              from unnest(formers) f join core.chargers h on h.partner_id = f.partner_id and h.id = f.id) s
     where s.began is not null and s.until > '-infinity');
end $$;
comment on function private.succeed_charger(core.chargers) is
  'Ends the spans of the former registrations of a charger, whose numbers the caller has reserved. Returns the span '
  'that covers them all, or null: the charger counts nothing of it. Definer, because these may be of any tenant; the '
  'answer does not tell whose.';
