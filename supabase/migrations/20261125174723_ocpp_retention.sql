begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.forget_sessions (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone    core.charging_sessions[] := array(select s from core.charging_sessions s where s.month < border limit size for update skip locked);
  deleted int;
begin
  delete from core.replaced_charging_sessions r using unnest(gone) s
   where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id;
  delete from core.charging_evidence e using unnest(gone) s
   where e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id;
  -- by our clock: that of a charger may say 1970
  delete from core.ocpp_transactions t where t.created_at < private.dutch_midnight(border);
  -- words that belong to no session
  delete from core.charging_evidence e where e.session_id is null and e.received_at < private.dutch_midnight(border);
  delete from core.charging_sessions d using unnest(gone) s where d.partner_id = s.partner_id and d.charger_id = s.charger_id and d.id = s.id;
  get diagnostics deleted = row_count;
  delete from core.charger_months m
   where m.month < border and not exists (
     select from core.charging_sessions s where s.partner_id = m.partner_id and s.charger_id = m.charger_id and s.month = m.month);
  return deleted;
end $function$;

commit;
