-- The operator on factors: what a kWh of a year is worth.

create function private.factor_row(factor core.ere_factors) returns json
language sql stable
as $$
  select json_build_object('delivery_year', factor.delivery_year, 'renewable_share', factor.renewable_share,
                           'ere_per_kwh', factor.ere_per_kwh,
                           'bookable_until', factor.bookable_until)
$$;

create function ops.factor_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('factors', coalesce(json_agg(private.factor_row(f) order by f.delivery_year desc), '[]'))
   from core.ere_factors f
$$;
comment on function ops.factor_list(jsonb) is 'The factors, newest year first: {} to {factors}.';

create function ops.factor_set(input jsonb) returns json
language plpgsql security definer
as $$
declare
  year   constant int := (input ->> 'delivery_year')::int;
  share  constant numeric := private.as_decimal(input ->> 'share', 4);
  before core.ere_factors;
  after  core.ere_factors;
begin
  perform private.act_as_operator(input);
  if year not between 2026 and 2100 or (input ? 'share' and (share is null or share > 1))
     or (input ? 'bookable_until' and private.as_day(input ->> 'bookable_until') is null) then
    perform private.refuse('invalid_factor');
  end if;
  -- a booking that is submitted now holds the row that it judges by, and is seen below
  select * into before from core.ere_factors f where f.delivery_year = year for update;
  perform private.refuse_if('factor_missing', not found and share is null, json_build_object('delivery_year', year));
  perform private.refuse_if('factor_in_use', share <> before.renewable_share and exists (
      select from core.bookings b
        join core.booking_rows r on r.partner_id = b.partner_id and r.booking_id = b.id
       where extract(year from b.quarter) = year
         -- a booking of which everything was rejected or taken back counts too
         and (r.live or exists (select from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id))),
    json_build_object('delivery_year', year, 'renewable_share', before.renewable_share));
  insert into core.ere_factors as f (delivery_year, renewable_share, bookable_until)
  values (year, coalesce(share, before.renewable_share), coalesce(private.as_day(input ->> 'bookable_until'),
                                                                  before.bookable_until))
  on conflict on constraint ere_factors_pkey do update set renewable_share = excluded.renewable_share,
      bookable_until = excluded.bookable_until
  returning * into after;
  if after is distinct from before then
    perform private.audit('factor.set', null, jsonb_build_object('before', to_jsonb(before), 'after', to_jsonb(after)));
  end if;
  return json_build_object('changed', after is distinct from before, 'factor', private.factor_row(after));
end $$;
comment on function ops.factor_set(jsonb) is
  'Sets what a kWh of a year is worth, and until when its months can be booked: {delivery_year, share?, '
  'bookable_until?} to {changed, factor}. A new year needs the share, which is fixed once something is booked by it.';
