-- The operator and the register: the file for it, and what it granted.

-- The one submitted booking that is meant, as private.booking_named.
create function private.submitted_booking_named(input jsonb) returns core.bookings
language plpgsql
as $$
declare
  booking constant core.bookings := private.booking_named(input);
begin
  perform private.refuse_if('booking_not_submitted', booking.status <> 'submitted',
    json_build_object('booking', booking.id, 'status', booking.status));
  return booking;
end $$;

-- The file for the register: every row as submitted, whatever happened to it since. The same booking gives the same
-- text.
create function private.export_csv(booking core.bookings) returns text
language sql stable
as $$
  select private.csv_line('row_id', 'booking', 'quarter', 'period', 'ean', 'kwh', 'ere', 'signatory', 'postal_code',
                          'house_number', 'addition',
                          'street', 'city', 'mandate_id', 'mandate_signed_at', 'mandate_valid_from',
                              'mandate_valid_until', 'source',
                          'charger_brand', 'charger_model', 'charger_serial')
         || string_agg(private.csv_line(
              r.id::text, r.booking_id::text, private.quarter_name(booking.quarter), to_char(r.period, 'YYYY-MM'),
                  r.ean_code, r.kwh::text,
              trunc(r.kwh * r.ere_per_kwh, 6)::text, r.signatory, r.postal_code, r.house_number::text,
                  r.house_number_addition, r.street, r.city,
              r.mandate_id::text, private.iso(r.mandate_signed_at), to_char(r.mandate_valid_from, 'YYYY-MM-DD'),
              to_char(r.mandate_valid_until, 'YYYY-MM-DD'), r.source, r.charger_brand, r.charger_model,
                  r.charger_serial), ''
              order by r.ean_code, r.period, r.id)
    from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id
$$;

create function ops.booking_export(input jsonb) returns json
language plpgsql security definer
as $$
declare
  csv     text;
  hash    text;
  booking constant core.bookings := private.submitted_booking_named(input);
begin
  csv := private.export_csv(booking);
  hash := encode(sha256(convert_to(csv, 'UTF8')), 'hex');
  if booking.export_sha256 <> hash then
    raise exception 'the rows of booking % are not those that were exported', booking.id;
  end if;
  update core.bookings b set export_sha256 = hash, exported_at = private.now() where b.partner_id = booking.partner_id
      and b.id = booking.id
     and b.export_sha256 is null;
  perform private.audit('booking.exported', booking.id, jsonb_build_object('sha256', hash));
  return json_build_object('booking_id', booking.id, 'quarter', private.quarter_name(booking.quarter),
                           'again', booking.export_sha256 is not null,
                           'sha256', hash, 'csv', csv);
end $$;
comment on function ops.booking_export(jsonb) is
  'The file for the register: {booking, partner?} to {booking_id, quarter, again, sha256, csv}. Its hash is kept, and '
  'every export has the same bytes.';

create function ops.booking_credit(input jsonb) returns json
language plpgsql security definer
as $$
declare
  lines    private.credit_line[];
  wrong    private.credit_line;
  granted  constant numeric := private.as_decimal(input ->> 'granted', 6);
  credited int;
  booking  constant core.bookings := private.submitted_booking_named(input);
begin
  if input ? 'granted' and granted is null then
    perform private.refuse('invalid_ere');
  elsif input ? 'rows' then
    lines := array(select l from private.read_credit_lines(booking, input -> 'rows') l);
  else
    lines := array(select row(0, r.id, r.kwh, null, null)::private.credit_line
                     from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id
                         and r.status = 'submitted');
  end if;
  select * into wrong from unnest(lines) l where l.problem is not null order by l.line limit 1;
  if found then
    perform private.refuse('credit_file_refused', json_build_object('line', wrong.line, 'row', wrong.row_id,
                                                                    'problem', wrong.problem,
      'others', (select count(*) - 1 from unnest(lines) l where l.problem is not null)));
  end if;
  credited := private.credit_booking(booking, lines, granted);
  return private.booking_answer(booking, credited > 0 or granted is distinct from booking.granted_ere
                                and granted is not null);
end $$;
comment on function ops.booking_credit(jsonb) is
  'What the register granted: {booking, partner?, rows?, granted?} to {changed, booking}. rows, [{line?, row_id, '
  'accepted_kwh, reason?}], credits or rejects only those. Without rows every waiting row is credited in full. granted '
  'is the total ERE, if it differs from the sum. If one row is wrong, nothing is credited.';

create function ops.booking_credit_preview(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wrong record;
begin
  perform private.act_as_operator(input);
  -- one pass over the rows of the file: a quarter may have a hundred thousand
  with sent as (
    select coalesce((l.item ->> 'line')::int, l.place::int) as line, private.as_uuid(l.item ->> 'row_id') as row_id,
           l.item ->> 'row_id' as named, private.as_decimal(l.item ->> 'accepted_kwh', 3) as accepted_kwh
      from jsonb_array_elements(input -> 'rows') with ordinality as l (item, place)
  ), line as (
    select s.*, r.partner_id, r.booking_id, r.kwh
      from sent s left join core.booking_rows r on r.id = s.row_id
  ), booking as (
    select o.partner_id, o.booking_id, count(*) as rows, sum(o.kwh) as kwh, sum(o.accepted_kwh) as accepted_kwh,
           count(*) filter (where o.accepted_kwh = 0) as rejected, json_agg(o.named) as row_ids
      from line o where o.booking_id is not null group by 1, 2
  )
  select u.*, (
           select coalesce(json_agg(json_build_object(
                    'booking_id', b.id, 'partner_slug', p.slug, 'quarter', private.quarter_name(b.quarter),
                    'number', b.number, 'rows', k.rows, 'kwh', k.kwh, 'accepted_kwh', k.accepted_kwh,
                    'rejected', k.rejected, 'row_ids', k.row_ids) order by b.quarter, p.slug, b.number), '[]')
             from booking k
             join core.bookings b on b.partner_id = k.partner_id and b.id = k.booking_id
             join core.partners p on p.id = k.partner_id) as bookings
    into wrong
    from (select count(*) as rows, (array_agg(o.line order by o.line))[1] as line,
                 (array_agg(o.named order by o.line))[1] as named
            from line o where o.booking_id is null) u;
  perform private.refuse_if('credit_file_refused', wrong.rows > 0, json_build_object(
    'line', wrong.line, 'row', wrong.named, 'problem', 'unknown_row', 'others', wrong.rows - 1));
  return json_build_object('bookings', wrong.bookings);
end $$;
comment on function ops.booking_credit_preview(jsonb) is
  'Which bookings the rows of a credit file are of, whatever the tenant: {rows} to {bookings: [{booking_id, '
  'partner_slug, quarter, number, rows, kwh, accepted_kwh, rejected, row_ids}]}. Refused if a row is of none.';

create function ops.booking_reverse_credit(input jsonb) returns json
language plpgsql security definer
as $$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  line    core.booking_rows;
  booking core.bookings;
  changed boolean;
begin
  perform private.act_as_operator(input);
  select * into line from core.booking_rows r
   where r.partner_id = any (array(select p.id from core.partners p)) and r.id = private.as_uuid(input ->> 'row');
  perform private.refuse_if('row_not_found', not found, json_build_object('row', input ->> 'row'));
  perform private.set_tenant(line.partner_id);
  booking := private.lock_booking(line.partner_id, line.booking_id);
  select * into line from core.booking_rows r where r.partner_id = line.partner_id and r.id = line.id;
  changed := private.reverse_credit(line, reason);
  perform private.settle_difference(booking);
  return private.booking_answer(booking, changed);
end $$;
comment on function ops.booking_reverse_credit(jsonb) is
  'Takes back what the register granted for a row, or its rejection: {row, reason} to {changed, booking}. The row '
  'waits for another credit.';
