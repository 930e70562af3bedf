begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.partner_log (
  before bigint,
  size   integer,
  skip   integer
)
  RETURNS TABLE (
    id         bigint,
    at         timestamp with time zone,
    actor      text,
    action     text,
    subject_id uuid,
    details    jsonb
  )
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select a.id, a.at, a.actor, a.action, a.subject_id, a.details from core.audit_log a
   where a.partner_id = private.partner_id() and a.actor ~ '^(partner|operator)' and a.id < coalesce(partner_log.before, 9223372036854775807)
   order by a.id desc limit size offset skip
$function$;

commit;
