-- Invitations to manage a partner. The person who proves the invited address manages it; if it has no login, that makes
-- one.

-- open, used, withdrawn or expired. Withdrawn too, if the inviter no longer manages the partner, or is banned.
create function private.invitation_state(invitation core.manager_invitations) returns text
language sql stable
as $$
  select case when invitation.used_at is not null then 'used'
              when invitation.withdrawn_at is not null or invitation.invited_by is not null and not exists (
                select from core.partner_managers m where m.partner_id = invitation.partner_id
                    and m.user_id = invitation.invited_by and private.login_stands(m.user_id)) then 'withdrawn'
              when invitation.expires_at <= private.now() then 'expired'
              else 'open' end
$$;

-- Mails an invitation, {token_hash, mail}, and tells the managers; both name invited_by, or if null the service. False
-- for somebody who manages the partner already. Null over a limit: twenty a day, three for an address, or its mail of
-- today. The same token mails nothing.
create function private.invite_manager(address text, input jsonb, invited_by text) returns boolean
language plpgsql
as $$
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
              where i.partner_id = partner and i.email = address and i.token_hash = decode(input ->> 'token_hash',
                  'hex')) then
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
       'partner_name', (select private.partner_display_name(p) from core.partners p where p.id = partner),
           'invited_by', invited_by),
       -- the operator chooses no stranger's address
       counted => case when invited_by is null then true end) then
    return null;
  end if;
  -- one link works for an address: the newest
  update core.manager_invitations i set withdrawn_at = private.now()
   where i.partner_id = partner and i.email = address and i.used_at is null and i.withdrawn_at is null;
  insert into core.manager_invitations (partner_id, id, email, token_hash, invited_by)
  values (partner, invitation, address, private.reserve_token_hash(input ->> 'token_hash'), private.manager_id());
  perform private.mail_managers('invited', address, invited_by, array[invited_by]);
  perform private.audit('partner.manager_invited', invitation);
  return true;
end $$;

create function private.enter_invitation(token_hash text, out partner_id uuid, out id uuid)
language plpgsql stable security definer
as $$
begin
  select i.partner_id, i.id into enter_invitation.partner_id, enter_invitation.id
    from core.manager_invitations i join core.partners p on p.id = i.partner_id and p.is_active
   where i.token_hash = decode(enter_invitation.token_hash, 'hex');
end $$;
comment on function private.enter_invitation(text) is
  'The invitation of a link, of an active partner; definer, because a link has no tenant yet.';

-- The open invitation of a link, one request at a time. Its partner becomes the tenant of the transaction.
create function private.lock_invitation(caller jsonb, token_hash text) returns core.manager_invitations
language plpgsql
as $$
declare
  entered    record;
  invitation core.manager_invitations;
begin
  perform private.act_as(caller, 'anyone');
  select * into entered from private.enter_invitation(lock_invitation.token_hash);
  perform private.set_tenant_and_see_all(entered.partner_id);
  select * into invitation from core.manager_invitations i where i.partner_id = entered.partner_id
      and i.id = entered.id for update;
  perform private.refuse_if('link_not_open', invitation.id is null or private.invitation_state(invitation) <> 'open');
  return invitation;
end $$;

create function api.open_invitation(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  entered record;
begin
  perform private.act_as(caller, 'anyone'), private.count_visit(request ->> 'address_hash');
  select * into entered from private.enter_invitation(request ->> 'token_hash');
  perform private.set_tenant_and_see_all(entered.partner_id);
  return coalesce((
    select json_build_object('state', private.invitation_state(i), 'email', i.email,
                             'partner_name', private.partner_display_name(p),
                             'code_sent', private.code_sent('invitation:' || i.id))
      from core.manager_invitations i join core.partners p on p.id = i.partner_id
     where i.partner_id = entered.partner_id and i.id = entered.id), json_build_object('state', 'unknown'));
end $$;
comment on function api.open_invitation(jsonb, jsonb) is
  'What the link of an invitation opens: {token_hash, address_hash} to {state: open|used|withdrawn|expired|unknown, '
  'email, partner_name, code_sent}.';

create function api.send_invitation_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  invitation constant core.manager_invitations := private.lock_invitation(caller, request ->> 'token_hash');
begin
  return private.mail_code('invitation:' || invitation.id, invitation.email, 'invitation_code:' || invitation.id,
                           request);
end $$;
comment on function api.send_invitation_code(jsonb, jsonb) is
  'Mails a one-time code to the invited address, with a login or without: {token_hash, code_hash, mail}.';

create function api.accept_invitation(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  invitation constant core.manager_invitations := private.lock_invitation(caller, request ->> 'token_hash');
  refused    constant text := (private.judge_guess('invitation:' || invitation.id, 'invitation', request)).refused;
  login      record;
  reserved   record;
begin
  if refused is not null then
    return private.refusal(refused);
  end if;
  -- on the sandbox the partner can read later sign-in codes of this login, as for a login that a claim made
  select * into login
   from private.prove_login(invitation.email, case when private.is_sandbox() then invitation.partner_id end, request);
  if login.need is not null then
    return login.need;
  elsif not private.login_stands(login.user_id) then
    perform private.refuse('link_not_open');
  end if;
  select * into reserved from private.reserve_manager(login.user_id, invitation.partner_id);
  perform private.use_code('invitation:' || invitation.id);
  update core.manager_invitations i set used_at = private.now()
   where i.partner_id = invitation.partner_id and i.id = invitation.id and reserved.manages = invitation.partner_id;
  if reserved.added then
    perform private.audit('partner.manager_added', login.user_id);
    perform private.mail_managers('joined', invitation.email, null, array[invitation.email]);
  end if;
  return json_build_object('email', invitation.email, 'accepted', reserved.manages = invitation.partner_id);
end $$;
comment on function api.accept_invitation(jsonb, jsonb) is
  'Makes the person who proves the invited address by its code a manager, and tells the others: {token_hash, '
  'code_hash, key} to {email, accepted}. Not accepted if they manage another partner, which they may leave first. Asks '
  'for a login if the address has none.';
