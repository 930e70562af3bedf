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

create function private.forget_silent_cards() returns void
language plpgsql security definer
as $$
begin
  update core.ocpp_transactions t set id_tag = null
    from core.chargers h
   where t.ended_at is null and t.id_tag is not null and h.partner_id = t.partner_id and h.id = t.charger_id
     and (h.status = 'removed' or h.last_seen_at < private.now() - interval '48 hours');
end $$;
comment on function private.forget_silent_cards() is
  'Drops the card of a charger that was removed, or not heard of for 48 hours: nobody knows that the charge still runs. '
  'Definer, because it looks at every tenant.';
