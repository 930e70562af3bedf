-- The people who manage a partner. Only they change where money and mail go; the partner's API key cannot.

create function private.reserve_manager(person uuid, partner uuid, out added boolean, out manages uuid)
language plpgsql security definer
as $$
begin
  insert into core.partner_managers (partner_id, user_id) values (partner, person)
  on conflict on constraint partner_managers_user_id_key do nothing;
  added := found;
  select m.partner_id into manages from core.partner_managers m where m.user_id = person;
end $$;
comment on function private.reserve_manager(uuid, uuid) is
  'Lets a person manage a partner unless they manage one already. Returns whether it did, and which one they manage. '
  'Definer, because it looks across tenants.';

create function private.managed_partner(person uuid) returns uuid
language plpgsql stable security definer
as $$
begin
  return (select m.partner_id from core.partner_managers m join core.partners p on p.id = m.partner_id and p.is_active
          where m.user_id = person);
end $$;
comment on function private.managed_partner(uuid) is
  'The active partner a person manages, or null. Definer, because admission runs before a tenant is set.';

-- A second check behind admission: only a person who manages the partner now changes settings, never a key. One change
-- at a time.
create function private.act_as_manager() returns void
language plpgsql
as $$
begin
  if private.manager_id() is null then
    raise exception 'a partner key may not run this function' using errcode = 'insufficient_privilege';
  end if;
  -- one change of a partner's settings at a time
  perform from core.partners p where p.id = private.partner_id() for no key update;
  -- a colleague may have removed them while this waited
  perform private.refuse_if('no_partner_linked',
                            private.managed_partner(private.manager_id()) is distinct from private.partner_id());
end $$;

create function private.manager_emails(partner uuid) returns setof text
language sql stable security definer
as $$
  select u.email
    from core.partner_managers m join auth.users u on u.id = m.user_id
   where m.partner_id = partner and u.email is not null
$$;
comment on function private.manager_emails(uuid) is
  'The addresses for mail about a partner itself. Definer, because logins belong to Supabase Auth.';

-- Mails the same to each of these addresses; to nobody where there are none.
create function private.mail_each(template text, locale text, cause text, content jsonb, recipients text[]) returns void
language plpgsql
as $$
declare
  letters constant jsonb := (
    select jsonb_agg(jsonb_build_object('recipient', r, 'cause', mail_each.cause || ':' || gen_random_uuid(),
                                        'content', mail_each.content))
      from unnest(recipients) r);
begin
  if letters is not null then
    perform private.enqueue_mails(jsonb_build_object('template', template, 'locale', locale), letters);
  end if;
end $$;

-- Mails the managers, and others, that a person was invited, joined, removed or left. by is null for the service. Not
-- to those in but.
create function private.mail_managers(change text, person text, by text, but text[],
                                      others text[] default '{}') returns void
language plpgsql
as $$
declare
  partner constant core.partners := private.own_partner();
begin
  perform private.mail_each(
    'managers_changed', coalesce(partner.locale, 'nl'), 'managers_changed',
    jsonb_build_object('change', change, 'partner_name', private.partner_display_name(partner), 'person', person,
                       'by', by),
    array(select t.email
            from (select m.email from private.manager_emails(partner.id) m (email) union select unnest(others)) t
           where t.email <> all (array_remove(but, null))));
end $$;

create function private.managed_alone(person uuid) returns text
language sql stable security definer
as $$
  select private.partner_display_name(p)
    from core.partner_managers m join core.partners p on p.id = m.partner_id and p.is_active
   where m.user_id = person and not exists (select from core.partner_managers o where o.partner_id = m.partner_id
                                            and o.user_id <> person)
$$;
comment on function private.managed_alone(uuid) is
  'The name of the active partner that only this person manages, or null. Definer, because they act for the people''s '
  'tenant.';

create function private.leave_partner(person uuid, operator text) returns void
language plpgsql security definer
as $$
declare
  tenant constant uuid := private.partner_id();
  email  constant text := (private.user_profile(person)).email;
  left_partner uuid;
begin
  -- as a colleague who removes somebody: one at a time
  select p.id into left_partner from core.partners p join core.partner_managers m on m.partner_id = p.id
   where m.user_id = person for no key update of p;
  delete from core.partner_managers m where m.user_id = person and m.partner_id = left_partner;
  if not found then
    return;
  end if;
  perform private.set_tenant(left_partner), private.mail_managers('left', email, null, array[email]);
  if not exists (select from core.partner_managers m where m.partner_id = left_partner) then
    perform private.enqueue_mail('{"template": "managers_changed", "locale": "nl"}', operator,
                                 'managers_changed:' || gen_random_uuid(), jsonb_build_object(
      'change', 'alone', 'partner_name', private.partner_display_name(private.own_partner()), 'person', email));
  end if;
  perform private.audit('partner.manager_removed', person);
  perform private.set_tenant(tenant);
end $$;
comment on function private.leave_partner(uuid, text) is
  'Ends a person''s management of a partner when they close their account. Tells the others, or if there are none the '
  'operator, at this address. Definer, because the person acts for the people''s tenant.';
