-- Who manages a partner, in its pages: managers invite and remove each other.

create function private.managers_of(partner uuid) returns json
language sql stable security definer
as $$
  select json_agg(json_build_object('user_id', m.user_id, 'email', u.email, 'since', private.iso(m.created_at),
                                    'last_sign_in_at', private.iso(u.last_sign_in_at))
                  order by m.created_at, m.user_id)
    from core.partner_managers m join auth.users u on u.id = m.user_id
   where m.partner_id = partner
$$;
comment on function private.managers_of(uuid) is
  'Who manages a partner, and when they signed in last. Definer, because logins belong to Supabase Auth.';

create function api.read_portal_colleagues(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object(
    'who', private.portal_who(),
    'own_id', private.manager_id(),
    'signed_in_recently', private.signed_in_recently(),
    'managers', private.managers_of(private.partner_id()),
    'invitations', (select coalesce(json_agg(json_build_object('id', i.id, 'email', i.email,
                                                               'expires_at', private.iso(i.expires_at))
                                                               order by i.created_at), '[]')
                      from core.manager_invitations i where i.partner_id = private.partner_id()
                          and private.invitation_state(i) = 'open'));
end $$;
comment on function api.read_portal_colleagues(jsonb) is
  'Who manages the partner, and who was invited to: {who, own_id, signed_in_recently, managers: [{user_id, email, '
  'since, last_sign_in_at}], invitations: [{id, email, expires_at}]}.';

create function api.invite_manager(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  return json_build_object('invited', private.invite_manager(input ->> 'email', input,
                                                             (private.user_profile(private.manager_id())).email));
end $$;
comment on function api.invite_manager(jsonb, jsonb) is
  'A manager invites a colleague: {email, token_hash, mail} to {invited}, as private.invite_manager.';

create function api.withdraw_manager_invitation(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  withdrawn boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.manager_invitations i set withdrawn_at = private.now()
   where i.partner_id = private.partner_id() and i.id = private.as_uuid(input ->> 'id')
       and private.invitation_state(i) = 'open';
  withdrawn := found;
  perform private.audit('partner.manager_invitation_withdrawn', private.as_uuid(input ->> 'id')) where withdrawn;
  return json_build_object('withdrawn', withdrawn);
end $$;
comment on function api.withdraw_manager_invitation(jsonb, jsonb) is
  'Ends an open invitation of the partner: {id} to {withdrawn}.';

create function api.remove_manager(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
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
    perform private.mail_managers(case when own = theirs then 'left' else 'removed' end, coalesce(theirs, person::text),
                                  own, array[own], array[theirs]);
  end if;
  return json_build_object('removed', removed);
end $$;
comment on function api.remove_manager(jsonb, jsonb) is
  'Removes a manager of the partner at once: {user_id} to {removed}. False for the last one, and for somebody who does '
  'not manage it. Also oneself. Mails the others and the one who goes.';
