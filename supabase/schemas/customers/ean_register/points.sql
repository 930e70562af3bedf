-- The EAN register as a table of our own: the metering points of an address, and how they judge an EAN.

-- The six EANs with which an integrator picks the outcome of the check on the sandbox.
create function private.is_test_ean(ean text) returns boolean
language sql stable
as $$ select private.is_sandbox() and ean ~ '^8716870000000000(16|23|30|47|54|61)$' $$;

-- The metering points of an address in our own EAN register, in the form of the public one.
create function private.points_in_table(postal_code text, house_number int, addition text) returns jsonb
language plpgsql stable
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('ean_code', p.ean_code, 'street', p.street, 'city', p.city,
                                                 'house_number_addition', p.house_number_addition) order by p.ean_code),
                                                     '[]')
      from core.ean_register_points p
     where p.postal_code = points_in_table.postal_code and p.house_number = points_in_table.house_number
       and p.house_number_addition is not distinct from addition);
end $$;

-- Judges an EAN by the EAN register's answer for its address: {source, outcome, points, reason}, or {source: "table"}
-- to look it up here.
create function private.check_ean(
  ean text, postal_code text, house_number int, addition text, ean_register jsonb,
  out outcome text, out street text, out city text, out source text, out reason text)
language plpgsql
as $$
declare
  points jsonb := ean_register -> 'points';
begin
  source := ean_register ->> 'source';
  reason := ean_register ->> 'reason';
  if source = 'table' then
    points := private.points_in_table(postal_code, house_number, addition);
  elsif ean_register ->> 'outcome' = 'unavailable' then
    outcome := 'unavailable';
    return;
  end if;
  if points is null or jsonb_array_length(points) = 0 then
    outcome := 'unknown_address';
    return;
  end if;
  select case when bool_or(p.ean_code = ean) then 'matched' else 'mismatch' end, min(p.street), min(p.city)
    into outcome, street, city
    from jsonb_to_recordset(points) as p (ean_code text, street text, city text);
end $$;
