begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.has_under_name (
  charger    uuid,
  kind       text,
  value      text,
  started_at timestamp with time zone,
  ended_at   timestamp with time zone
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select exists (
    select from core.charging_sessions s
      join core.charging_evidence e on e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id
     where s.partner_id = private.partner_id() and s.charger_id = charger and not 'withdrawn' = any (s.flags)
       and s.started_at > has_under_name.started_at - interval '31 days'
       and s.started_at <= greatest(has_under_name.started_at + interval '5 minutes', has_under_name.ended_at)
       and (s.started_at >= has_under_name.started_at - interval '5 minutes' or s.ended_at > has_under_name.started_at)
       and (has_under_name.kind = 'charger_id' or exists (
              select from jsonb_path_query(e.document, 'strict $.** ? (@.type() == "string")') word
               where private.charger_name_value(has_under_name.kind, word #>> '{}') = has_under_name.value
                  or (lower(word #>> '{}'), s.started_at, s.ended_at)
                   = (charger::text, has_under_name.started_at, has_under_name.ended_at))))
$function$;

commit;
