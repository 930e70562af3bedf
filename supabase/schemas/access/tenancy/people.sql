-- People: logins of Supabase Auth, and the partner that brought each of them.

create function private.user_profile(person uuid, out email text, out name text, out created_at timestamptz)
language sql stable security definer
as $$
  select u.email, coalesce(u.raw_user_meta_data ->> 'full_name', u.raw_user_meta_data ->> 'name'), u.created_at
    from auth.users u where u.id = person and u.deleted_at is null
$$;
comment on function private.user_profile(uuid) is
  'E-mail, name and age of a login, all null when it is gone. Definer, because logins belong to Supabase Auth; we keep '
  'no copy.';

create function private.login_stands(person uuid) returns boolean
language plpgsql stable security definer
as $$
begin
  return exists (select from auth.users u
                  where u.id = person and u.deleted_at is null
                      and (u.banned_until is null or u.banned_until <= private.now()));
end $$;
comment on function private.login_stands(uuid) is
  'Whether a login is there and not banned: else no credential of the person is valid. Supabase Auth can delete by a '
  'mark alone. Definer, because logins belong to it.';

-- When a person signed in; null if that session has ended. Its JWT lives on for an hour. Only definers call it:
-- sessions are of Auth.
create function private.signed_in_at(person uuid, session uuid) returns timestamptz
language plpgsql stable
as $$
begin
  return (select s.created_at from auth.sessions s
           where s.id = session and s.user_id = person and (s.not_after is null or s.not_after > private.now()));
end $$;

create function private.login_at(address text) returns uuid
language sql stable security definer
as $$
  select u.id from auth.users u
   where u.email = address and not u.is_sso_user and private.login_stands(u.id)
$$;
comment on function private.login_at(text) is
  'The login at an address that a mailed code opens, or null. private.prove_login judges one that a stranger may have '
  'made. Definer, because logins belong to Supabase Auth.';

create function private.reserve_customer(person uuid, partner uuid, source text,
                                         external_ref text default null) returns text
language plpgsql security definer
as $$
begin
  insert into core.attributions (partner_id, user_id, source, external_ref, attached_month)
  select p.id, person, reserve_customer.source, reserve_customer.external_ref,
      date_trunc('month', private.today())::date
    from core.partners p where p.id = partner and p.is_active
  -- whoever came a moment ago: of this partner, or of another one
  on conflict do nothing;
  return case when found then 'new'
              when exists (select from core.attributions a where a.user_id = person and a.partner_id = partner)
                  then 'own' end;
end $$;
comment on function private.reserve_customer(uuid, uuid, text, text) is
  'Attributes a person to an active partner unless somebody has them already. Returns new, own if this partner has '
  'them, else null. Definer, because it looks across tenants.';

create function private.stop_sharing(person uuid, partner uuid) returns boolean
language plpgsql security definer
as $$
declare
  ended core.attributions;
begin
  delete from core.attributions a where a.user_id = person and a.partner_id = partner returning * into ended;
  if ended.user_id is null then
    return false;
  end if;
  -- this month is not over, and was not shared whole
  insert into core.ended_attributions (partner_id, user_id, attached_month, last_month)
  select partner, person, ended.attached_month, (date_trunc('month', private.today()) - interval '1 month')::date
   where ended.attached_month < date_trunc('month', private.today())
  on conflict on constraint ended_attributions_pkey do update set last_month = excluded.last_month,
      ended_at = private.now();
  perform private.audit('user.sharing_stopped', person, jsonb_build_object('with', partner));
  return true;
end $$;
comment on function private.stop_sharing(uuid, uuid) is
  'Ends the attribution of a person; returns whether there was one. Definer, because attributions are otherwise only '
  'read.';

-- The partner that a month of a person counts for after they stopped sharing. Only definers call it: it looks across
-- tenants.
create function private.brought_by_then(person uuid, month date) returns uuid
language plpgsql stable
as $$
begin
  return (select e.partner_id from core.ended_attributions e
           where e.user_id = person and month between e.attached_month and e.last_month
               order by e.ended_at desc limit 1);
end $$;
