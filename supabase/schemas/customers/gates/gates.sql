-- The four gates of eligibility, computed here and nowhere else.

-- The closed gates of a connection, by their names in the checklist.
create function private.closed_gates(connection core.connections) returns text[]
language plpgsql stable
as $$
begin
  return (
    select array_remove(array[case when not g.mandate_signed then 'mandate_signed' end,
                              case when not g.ean_validated then 'ean_validated' end,
                              case when not g.mid_charger_registered then 'mid_charger_registered' end,
                              case when not g.iban_present then 'iban_present' end], null)
      from core.connection_gates g where g.partner_id = connection.partner_id and g.connection_id = connection.id);
end $$;

-- The closed gates that prevent approval. A missing IBAN prevents nothing, nor an ended mandate or a removed charger while months wait.
create function private.grounds_to_reject(connection core.connections) returns text[]
language plpgsql stable
as $$
declare
  closed constant text[] := array_remove(private.closed_gates(connection), 'iban_present');
begin
  -- who stopped has no mandate and maybe no charger any more; what was delivered while they had both still counts
  if 'mandate_signed' = any (closed) and exists (
    select from core.counted_months m
      join core.chargers h on h.partner_id = m.partner_id and h.connection_id = m.connection_id and h.mid_eligible
       and (h.status = 'active' or h.removed_at >= m.period::timestamp at time zone 'Europe/Amsterdam')
     where m.partner_id = connection.partner_id and m.connection_id = connection.id and m.status = 'staged' and m.total_kwh > 0) then
    return array_remove(array_remove(closed, 'mandate_signed'), 'mid_charger_registered');
  end if;
  return closed;
end $$;
