-- The card of a charge is kept while it runs (core.ocpp_transactions.id_tag), for the owner alone.

-- Drops the other cards of a transaction's connector: it begins there, so no other runs.
create function private.forget_ocpp_cards(known core.ocpp_transactions) returns void
language plpgsql
as $$
begin
  update core.ocpp_transactions t set id_tag = null
   where t.partner_id = known.partner_id and t.charger_id = known.charger_id and t.connector = known.connector
     and t.ended_at is null and t.id_tag is not null and t.id <> known.id;
end $$;

create function private.forget_silent_cards() returns int
language plpgsql security definer
as $$
declare
  dropped int;
begin
  -- chargers are locked first, as everywhere; we skip one that is telling something now
  with silent as (
    select h.partner_id, h.id from core.chargers h
     where (h.partner_id, h.id) in (select t.partner_id, t.charger_id from core.ocpp_transactions t
                                     where t.ended_at is null and not t.is_over and t.id_tag is not null)
       and (h.status = 'removed' or h.last_seen_at < private.now() - interval '48 hours')
       for no key update skip locked
  )
  update core.ocpp_transactions t set id_tag = null
    from silent s
   where t.partner_id = s.partner_id and t.charger_id = s.id and t.ended_at is null and t.id_tag is not null;
  get diagnostics dropped = row_count;
  return dropped;
end $$;
comment on function private.forget_silent_cards() is
  'Drops the card of a charger that was removed, or not heard of for 48 hours: nobody knows that its charge still '
  'runs. Definer, because it looks at every tenant.';
