begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.remove_manager (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person  constant uuid := private.as_uuid(input ->> 'user_id');
  own     text;
  theirs  text;
  removed boolean;
begin
  -- one at a time, and only by who manages the partner still: of two who remove each other the second is too late
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  delete from core.partner_managers m
   where m.partner_id = private.partner_id() and m.user_id = person
     and exists (select from core.partner_managers o where o.partner_id = m.partner_id and o.user_id <> m.user_id);
  removed := found;
  if removed then
    own := (private.user_profile(private.manager_id())).email;
    theirs := (private.user_profile(person)).email;
    perform private.audit('partner.manager_removed', person);
    perform private.tell_managers(case when own = theirs then 'left' else 'removed' end, coalesce(theirs, person::text), own, array[own], array[theirs]);
  end if;
  return json_build_object('removed', removed);
end $function$;

commit;
