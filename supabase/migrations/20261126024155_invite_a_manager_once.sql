begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.invite_manager (
  address    text,
  input      jsonb,
  invited_by text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner    constant uuid := private.partner_id();
  invitation constant uuid := gen_random_uuid();
  rate       jsonb;
begin
  if exists (select from private.manager_emails(partner) m (email) where m.email = address) then
    return false;
  end if;
  -- a form that was sent twice
  if exists (select from core.manager_invitations i
              where i.partner_id = partner and i.email = address and i.token_hash = decode(input ->> 'token_hash', 'hex')) then
    return true;
  end if;
  -- withdrawn ones count: their mail was sent
  if (select count(*) from core.manager_invitations i
       where i.partner_id = partner and i.email = address and i.created_at > private.now() - interval '1 day') >= 3 then
    return null;
  end if;
  rate := private.debit('partner:' || partner, 'manager_invitation');
  if not (rate ->> 'allowed')::boolean then
    return null;
  end if;
  if not private.enqueue_mail(input -> 'mail', address, 'manager_invitation:' || invitation, jsonb_build_object(
       'partner_name', (select private.partner_display_name(p) from core.partners p where p.id = partner), 'invited_by', invited_by),
       -- the operator chooses no stranger's address
       counted => case when invited_by is null then true end) then
    return null;
  end if;
  -- one link works for an address: the newest
  update core.manager_invitations i set withdrawn_at = private.now()
   where i.partner_id = partner and i.email = address and i.used_at is null and i.withdrawn_at is null;
  insert into core.manager_invitations (partner_id, id, email, token_hash, invited_by)
  values (partner, invitation, address, private.reserve_token_hash(input ->> 'token_hash'), private.manager_id());
  perform private.tell_managers('invited', address, invited_by, array[invited_by]);
  perform private.audit('partner.manager_invited', invitation);
  return true;
end $function$;

commit;
