begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.act_as (
  caller   jsonb,
  VARIADIC kinds text[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  admitted jsonb := caller;
  kind     text;
  client   text;
  person   text;
  ignored  text;
begin
  if caller ? 'credential' then
    admitted := private.admit(caller);
  -- compared here, which takes a third of calling who knows what to say of it
  elsif caller ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(caller ->> 'host');
  end if;
  kind := admitted ->> 'kind';
  if kind = any (kinds) is not true then
    raise exception 'caller kind % may not run this function', coalesce(kind, 'none')
      using errcode = 'insufficient_privilege';
  end if;
  client := coalesce(admitted ->> 'client_id', '');
  person := coalesce(admitted ->> 'user_id', '');
  -- assignments, because plpgsql evaluates these by themselves: a perform of the same goes through the executor
  ignored := set_config('app.caller_kind', kind, true);
  ignored := set_config('app.partner_id',  coalesce(admitted ->> 'partner_id', ''), true);
  ignored := set_config('app.client_id',   client, true);
  ignored := set_config('app.user_id',     person, true);
  -- an application that acts for a person, or for a partner, owns nothing: what it reaches is what they do
  ignored := set_config('app.owner_id',    case when kind = 'cpo' then client else person end, true);
  -- Whoever comes by a link sees all of a tenant only from private.act_for_tenant on. Nobody is the house as a partner: it holds what
  -- people own.
  ignored := set_config('app.breadth', case when kind = 'worker' or kind = 'partner' and admitted ->> 'partner_id' <> private.house()::text
                                            then 'tenant' else '' end, true);
  ignored := set_config('app.manager_id',  coalesce(admitted ->> 'manager_id', ''), true);
  ignored := set_config('app.signatory',   coalesce(admitted ->> 'signatory', ''), true);
  ignored := set_config('app.signed_in_at', coalesce(admitted ->> 'signed_in_at', ''), true);
  ignored := set_config('app.request_id',  coalesce(caller ->> 'request_id', ''), true);
end $function$;

commit;
