-- What closed gates prevent.

-- The closed gates that prevent approval. A missing IBAN prevents nothing, nor an ended mandate or a removed charger
-- while months wait.
create function private.grounds_to_reject(connection core.connections) returns text[]
language plpgsql stable
as $$
declare
  closed constant text[] := (private.gates_of(connection)).closed_for_approval;
begin
  -- who stopped has no mandate and maybe no charger any more; what was delivered while they had both still counts
  if 'mandate_signed' = any (closed) and exists (
    select from core.counted_months m
      join core.chargers h on h.partner_id = m.partner_id and h.connection_id = m.connection_id and h.mid_eligible
       and (h.status = 'active' or h.removed_at >= private.dutch_midnight(m.period))
     where m.partner_id = connection.partner_id and m.connection_id = connection.id and m.status = 'staged'
         and m.total_kwh > 0) then
    return array_remove(array_remove(closed, 'mandate_signed'), 'mid_charger_registered');
  end if;
  return closed;
end $$;
