begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.forget_accounts (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone        core.accounts[];
  connections core.connections[];
begin
  -- we owe these customers nothing, and may delete all of their rows
  gone := array(
    select a from core.accounts a
     where a.created_at < private.dutch_midnight(border)
       and not exists (select from core.payout_lines l where l.partner_id = a.partner_id and l.account_id = a.id)
       and not exists (select from core.payout_parts p where p.partner_id = a.partner_id and p.account_id = a.id)
       and not exists (select from core.booking_rows r where r.partner_id = a.partner_id and r.account_id = a.id)
       and not exists (
         select from core.connections c
          where c.partner_id = a.partner_id and c.account_id = a.id
            and (exists (select from core.mandates m where m.partner_id = c.partner_id and m.connection_id = c.id)
                 or exists (select from core.delivered_months d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.deliveries d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.charging_sessions s where s.partner_id = c.partner_id and s.connection_id = c.id)))
       and not exists (
         select from core.chargers h
          where h.partner_id = a.partner_id and h.account_id = a.id
            and (exists (select from core.charging_sessions s where s.partner_id = h.partner_id and s.charger_id = h.id)
                 or exists (select from core.charging_evidence e where e.partner_id = h.partner_id and e.charger_id = h.id)))
       and private.balance(a.partner_id, 'EUR', 'customer', a.id) = 0
     order by a.partner_id, a.id limit size for update of a);
  connections := array(select c from core.connections c join unnest(gone) a on c.partner_id = a.partner_id and c.account_id = a.id);
  delete from core.notices n using unnest(gone) a where n.partner_id = a.partner_id and n.account_id = a.id;
  delete from core.documents d using unnest(gone) a where d.partner_id = a.partner_id and d.account_id = a.id;
  delete from core.virtual_chargers v using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where v.partner_id = h.partner_id and v.charger_id = h.id;
  delete from core.charger_months m using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where m.partner_id = h.partner_id and m.charger_id = h.id;
  delete from core.charger_names n using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where n.partner_id = h.partner_id and n.charger_id = h.id;
  delete from core.chargers h using unnest(gone) a where h.partner_id = a.partner_id and h.account_id = a.id;
  delete from core.ean_checks e using unnest(connections) c where e.partner_id = c.partner_id and e.connection_id = c.id;
  delete from core.mandate_links l using unnest(connections) c where l.partner_id = c.partner_id and l.connection_id = c.id;
  delete from core.connections d using unnest(connections) c where d.partner_id = c.partner_id and d.id = c.id;
  delete from core.locations l using unnest(connections) c
   where l.partner_id = c.partner_id and l.id = c.location_id
     and not exists (select from core.connections o where o.partner_id = l.partner_id and o.location_id = l.id);
  delete from core.drafts d using unnest(gone) a where d.account_id = a.id;
  delete from core.signatories s using unnest(gone) a where s.partner_id = a.partner_id and s.account_id = a.id;
  delete from core.accounts d using unnest(gone) a where d.partner_id = a.partner_id and d.id = a.id;
  return cardinality(gone);
end $function$;

COMMENT ON FUNCTION "api"."withdraw_drafts"(jsonb, jsonb) IS 'Withdraws up to 50 drafts: {draft_ids} to {withdrawn, kept}. Drafts that became customers are kept.';

commit;
