-- What the register grants for a booking, by row and in total, and how that is taken back.

-- The register's lines, [{line?, row_id, accepted_kwh, reason?}]. problem is null if the row can be credited, or is
-- already. Three decimals.
create function private.read_credit_lines(booking core.bookings, lines jsonb) returns setof private.credit_line
language plpgsql stable
as $$
begin
  return query
  with sent as (
    select coalesce((l.item ->> 'line')::int, l.place::int) as line, private.as_uuid(l.item ->> 'row_id') as row_id,
           private.as_decimal(l.item ->> 'accepted_kwh', 3) as accepted_kwh,
               nullif(btrim(l.item ->> 'reason'), '') as reason
      from jsonb_array_elements(lines) with ordinality as l (item, place)
  )
  select s.line, s.row_id, s.accepted_kwh, s.reason,
         case when r.id is null then 'unknown_row'
              when r.booking_id <> booking.id then 'row_of_another_booking'
              when count(*) over (partition by s.row_id) > 1 then 'doubled_row'
              when s.accepted_kwh is null then 'invalid_kwh'
              when s.accepted_kwh > r.kwh then 'more_than_submitted'
              when s.accepted_kwh < r.kwh and s.reason is null then 'reason_missing'
              when length(s.reason) > 500 or s.reason ~ '[[:cntrl:]]' then 'invalid_reason'
              when c.accepted_kwh <> s.accepted_kwh then 'credited_otherwise' end
    from sent s
    left join core.booking_rows r on r.partner_id = booking.partner_id and r.id = s.row_id
    left join core.credits c on c.partner_id = booking.partner_id and c.row_id = r.id and c.reversed_at is null;
end $$;

-- Why the register rejected a month, or credited less than was delivered, in its own words. Null for any other month,
-- and once it is delivered again.
create function private.register_reason(month core.delivered_months) returns text
language plpgsql stable
as $$
begin
  -- of most months nothing is looked up
  return case when month.status = 'rejected' or month.accepted_kwh < month.total_kwh then (
    select k.reason
      from core.booking_rows r
      join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
     where r.partner_id = month.partner_id and r.connection_id = month.connection_id and r.period = month.period
     order by k.credited_at desc limit 1) end;
end $$;

-- Stores what the register granted for the rows that wait, and marks them and their months. Returns what it stored.
create function private.write_credits(tenant uuid, lines private.credit_line[]) returns private.credited_row[]
language plpgsql
as $$
declare
  credited private.credited_row[];
begin
  credited := array(
    select row(gen_random_uuid(), r.id, r.owner_id, r.account_id, r.connection_id, r.period, r.kwh, l.accepted_kwh,
               trunc(l.accepted_kwh * r.ere_per_kwh, 6), l.reason)::private.credited_row
      from unnest(lines) l
      join core.booking_rows r on r.partner_id = tenant and r.id = l.row_id and r.status = 'submitted');
  insert into core.credits (partner_id, id, row_id, owner_id, accepted_kwh, ere, reason)
  select tenant, c.credit_id, c.row_id, c.owner_id, c.accepted_kwh, c.ere, c.reason from unnest(credited) c;
  update core.booking_rows r set status = 'registered'
   where r.partner_id = tenant and r.id = any (array(select c.row_id from unnest(credited) c where c.accepted_kwh > 0));
  update core.booking_rows r set status = 'rejected'
   where r.partner_id = tenant and r.id = any (array(select c.row_id from unnest(credited) c where c.accepted_kwh = 0));
  update core.delivered_months d
     set status = case when c.accepted_kwh > 0 then 'registered' else 'rejected' end,
         accepted_kwh = nullif(c.accepted_kwh, 0)
    from unnest(credited) c
   where d.partner_id = tenant and d.connection_id = c.connection_id and d.period = c.period;
  return credited;
end $$;

-- A total that differs from the sum of the rows has a ledger account for the difference, so that the ledger has what
-- the register granted.
create function private.settle_difference(booking core.bookings) returns void
language plpgsql
as $$
declare
  tenant   constant uuid := booking.partner_id;
  credited constant numeric := private.balance(tenant, 'ERE', 'unsold', booking.id) + private.balance(tenant, 'ERE',
      'sold', booking.id);
  missing  constant numeric := booking.granted_ere - credited - private.balance(tenant, 'ERE',
      'difference', booking.id);
  cause    text;
begin
  if missing <> 0 then
    select 'booking:' || booking.id || ':difference:' || 1 + count(*) into cause
      from core.ledger_entries e
     where e.partner_id = tenant and e.cause > 'booking:' || booking.id || ':difference:' and e.cause < 'booking:'
         || booking.id || ':difference;';
    perform private.post(tenant, array[case when missing > 0
      then row(cause, 'ERE', missing, 'register', booking.id, 'difference', booking.id)::private.posting
      else row(cause, 'ERE', -missing, 'difference', booking.id, 'register', booking.id)::private.posting end]);
  end if;
end $$;

-- Credits the waiting rows of a locked booking, and stores the granted total, if given. No kWh is a rejection; fewer
-- are written off.
create function private.credit_booking(booking core.bookings, lines private.credit_line[], granted numeric) returns int
language plpgsql
as $$
declare
  credited private.credited_row[];
  sold     constant numeric := private.balance(booking.partner_id, 'ERE', 'sold', booking.id);
begin
  -- a rejected month is open for a new delivery
  perform private.lock_connections(booking.partner_id, array(
    select r.connection_id from unnest(lines) l
      join core.booking_rows r on r.partner_id = booking.partner_id and r.id = l.row_id
     where l.accepted_kwh = 0));
  credited := private.write_credits(booking.partner_id, lines);
  perform private.post(booking.partner_id, array(
    select row('credit:' || c.credit_id || ':' || p.what, p.unit, p.amount, p.debit_kind, booking.id, p.credit_kind,
               p.credit_owner)::private.posting
      from unnest(credited) c
      cross join lateral (values
        ('registered', 'kWh', c.accepted_kwh, 'submitted', 'registered', booking.id),
        ('written_off', 'kWh', case when c.accepted_kwh > 0 then c.kwh - c.accepted_kwh else 0 end, 'submitted',
         'written_off', booking.id),
        ('rejected', 'kWh', case when c.accepted_kwh > 0 then 0 else c.kwh end, 'submitted', 'delivered', c.account_id),
        ('ere', 'ERE', c.ere, 'register', 'unsold', booking.id)) p (what, unit, amount, debit_kind, credit_kind,
                                                                    credit_owner)));
  perform private.release_charging_sessions(array_agg(c.connection_id), array_agg(c.period)) from unnest(credited) c
      where c.accepted_kwh = 0;
  perform private.emit_months(booking.partner_id, 'account.months_registered',
                              array(select c.row_id from unnest(credited) c where c.accepted_kwh > 0)),
          private.emit_months(booking.partner_id, 'account.months_rejected',
                              array(select c.row_id from unnest(credited) c where c.accepted_kwh = 0));
  if granted < sold then
    perform private.refuse('granted_below_sold', json_build_object('granted_ere', granted, 'sold_ere', sold));
  elsif granted is distinct from booking.granted_ere and granted is not null then
    update core.bookings b set granted_ere = granted where b.partner_id = booking.partner_id and b.id = booking.id;
    perform private.audit('booking.granted', booking.id,
                          jsonb_build_object('before', booking.granted_ere, 'after', granted));
    booking.granted_ere := granted;
  end if;
  perform private.settle_difference(booking);
  if cardinality(credited) > 0 then
    perform private.sum_booking(booking.partner_id, booking.id);
    perform private.audit('booking.credited', booking.id, jsonb_build_object('rows', cardinality(credited)));
  end if;
  return cardinality(credited);
end $$;

-- Takes back what the register said of a row, whose booking is locked. False: it has no credit. Refused while its ERE
-- are sold.
create function private.reverse_credit(line core.booking_rows, reason text) returns boolean
language plpgsql
as $$
declare
  credit core.credits;
  sold   text;
begin
  select * into credit from core.credits c where c.partner_id = line.partner_id and c.row_id = line.id
      and c.reversed_at is null;
  if not found then
    return false;
  end if;
  select min(s.reference) into sold
    from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
   where a.partner_id = line.partner_id and a.row_id = line.id and a.reversal_id is null;
  if sold is not null then
    perform private.refuse('row_sold', json_build_object('row', line.id, 'reference', sold));
  elsif line.status = 'rejected' then
    perform private.lock_connections(line.partner_id, array[line.connection_id]);
    if not exists (select from core.delivered_months d
                    where d.partner_id = line.partner_id and d.connection_id = line.connection_id
                        and d.period = line.period
                      and d.status = 'rejected' and d.total_kwh = line.kwh)
       or line.ean_exclusive and private.ean_booked(line.ean_code, line.period) then
      perform private.refuse('month_delivered_again', json_build_object('row', line.id,
                                                                        'period', to_char(line.period, 'YYYY-MM')));
    end if;
  end if;
  update core.credits c set reversed_at = private.now(), reversed_reason = reverse_credit.reason
   where c.partner_id = credit.partner_id and c.id = credit.id;
  update core.booking_rows r set status = 'submitted' where r.partner_id = line.partner_id and r.id = line.id;
  update core.delivered_months d set status = 'submitted', accepted_kwh = null
   where d.partner_id = line.partner_id and d.connection_id = line.connection_id and d.period = line.period;
  perform private.reverse_postings(line.partner_id, array(
    select 'credit:' || credit.id || ':' || what
     from unnest(array['registered', 'written_off', 'rejected', 'ere']) what));
  perform private.sum_booking(line.partner_id, line.booking_id);
  perform private.audit('credit.reversed', line.id, jsonb_build_object('accepted_kwh', credit.accepted_kwh));
  -- the month waits for the register again, locked as before the credit
  perform private.emit_months(line.partner_id, 'account.months_locked', array[line.id]);
  return true;
end $$;
