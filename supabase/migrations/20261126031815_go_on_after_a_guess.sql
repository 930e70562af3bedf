begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.is_after_ocpp (
  told core.ocpp_transactions,
  at   timestamp with time zone
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
RETURN (((told).clock <> 'wrong'::text) AND (NOT (told).end_guessed) AND (at > ((told).ended_at + '00:01:00'::interval)));

commit;
