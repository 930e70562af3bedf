-- The login of an address that a code of ours proved. A stranger may sign up first with somebody's address and a
-- password: they keep nothing of the login once its owner types our code. Only definers call these functions, because
-- logins belong to Supabase Auth.

-- Whether a code of ours proved this address for this login. Only the service key and this schema write that mark.
create function private.login_proved(login auth.users, tenant uuid) returns boolean
language plpgsql stable
as $$
begin
  return coalesce(login.raw_app_meta_data ->> 'proved_email' = login.email, false)
     -- on the sandbox a tenant reads the codes of logins that were made for it, so that these prove nothing to another
     -- tenant
     and (tenant is null or not private.is_sandbox()
          or coalesce(login.raw_app_meta_data ->> 'claimed_for' = tenant::text, true));
end $$;

-- Ends the sign-in codes of an address, but for the kept token_hash, and its page sessions as a signatory. Only
-- definers call it.
create function private.end_sign_ins(address text, kept text default null) returns void
language plpgsql
as $$
begin
  delete from core.one_time_codes c where c.email = address and starts_with(c.subject, 'browser:')
      and c.subject is distinct from 'browser:' || kept;
  delete from core.page_sessions s where s.signatory = address;
end $$;

-- Ends every way into a login that its owner did not make. Returns null, or what its own owner may not do; then nothing
-- is done.
create function private.secure_login(person uuid) returns text
language plpgsql
as $$
declare
  tenant constant uuid := private.partner_id();
  held   record;
begin
  -- a partner's log would tell that the address had a login
  perform private.set_tenant(private.people_tenant());
  update auth.users u
     set encrypted_password = extensions.crypt(encode(extensions.gen_random_bytes(32), 'hex'),
                                               extensions.gen_salt('bf')),
         confirmation_token = '', recovery_token = '', reauthentication_token = '',
         email_change = '', email_change_token_new = '', email_change_token_current = '',
         phone = null, phone_confirmed_at = null, phone_change = '', phone_change_token = '',
         email_confirmed_at = coalesce(u.email_confirmed_at, private.now()),
         raw_user_meta_data = '{}',
         raw_app_meta_data = coalesce(u.raw_app_meta_data, '{}') || '{"provider": "email", "providers": ["email"]}'
   where u.id = person;
  -- sessions, refresh tokens, factors, links and foreign identities: whatever Supabase Auth keeps for a login, in this
  -- version or a later one
  for held in
    select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'auth'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'user_id'
         and not a.attisdropped
     order by c.relname
  loop
    execute format('delete from auth.%I where user_id::text = $1', held.name)
            || case held.name when 'identities' then ' and provider <> ''email''' else '' end using person::text;
  end loop;
  update core.personal_tokens t set revoked_at = private.now() where t.user_id = person and t.revoked_at is null;
  perform private.end_grant(g.id, 'login_secured') from core.oauth_grants g
      where g.user_id = person and g.revoked_at is null;
  delete from core.oauth_codes c using core.oauth_grants g where g.id = c.grant_id and g.user_id = person;
  delete from core.page_sessions s where s.user_id = person;
  -- the charger stays; it connects again with a password that its owner is shown
  update core.chargers c set ocpp_password_hash = extensions.digest(extensions.gen_random_bytes(32), 'sha256'),
         ocpp_mirror_hash = null
   where c.user_id = person and c.ocpp_password_hash is not null;
  perform private.audit('login.secured', person), private.set_tenant(tenant);
  return null;
exception when insufficient_privilege then
  return sqlerrm;
end $$;

-- Deletes a login that owns nothing, as private.secure_login. Only definers call it, because logins belong to Supabase
-- Auth.
create function private.delete_login(person uuid) returns text
language plpgsql
as $$
declare
  tenant constant uuid := private.partner_id();
begin
  delete from auth.users u where u.id = person;
  perform private.set_tenant(private.people_tenant()), private.audit('login.replaced', person),
      private.set_tenant(tenant);
  return null;
exception when insufficient_privilege then
  return sqlerrm;
end $$;

create function private.prove_login(address text, tenant uuid, request jsonb, out user_id uuid, out need json)
language plpgsql security definer
as $$
declare
  login   auth.users;
  refused text;
  acting  uuid;
begin
  select * into login from auth.users u where u.email = address and not u.is_sso_user and u.deleted_at is null;
  user_id := login.id;
  if private.login_proved(login, tenant) or login.id is not null and not private.login_stands(login.id) then
    return;
  end if;
  -- locked, so that nobody proves it or adds to what it owns meanwhile
  select * into login from auth.users u where u.id = user_id for update;
  if private.login_proved(login, tenant) then
    return;
  elsif login.id is null or not exists (
    -- what must stay: tokens, consents and sessions need not
    select from core.accounts a where a.user_id = login.id
    union all select from core.chargers c where c.user_id = login.id
    union all select from core.attributions a where a.user_id = login.id
    union all select from core.ended_attributions a where a.user_id = login.id
    union all select from core.partner_managers m where m.user_id = login.id) then
    if request ? 'login' then
      -- a login was made and is gone: somebody signed up with the address at that moment. The code still works
      perform private.refuse('service_unavailable');
    end if;
    user_id := null;
    if login.id is not null then
      perform private.end_sign_ins(address, request ->> 'token_hash');
      refused := private.delete_login(login.id);
    end if;
    need := private.need('login', json_build_object('email', address, 'partner_id', tenant, 'refused', refused));
    return;
  end if;
  perform private.end_sign_ins(address, request ->> 'token_hash');
  refused := private.secure_login(login.id);
  if refused is not null or request #>> '{login,secured}' is distinct from login.id::text then
    -- twice: a sign-in by the old password that was under way gets its session after the first time
    need := private.need('login', json_build_object('email', address, 'secured', login.id, 'refused', refused,
      'locale', (select p.locale from core.partners p where p.id = tenant)));
    return;
  end if;
  update auth.users u
     set raw_app_meta_data = u.raw_app_meta_data || jsonb_build_object('proved_email', u.email)
         || case when tenant is not null and private.is_sandbox() then jsonb_build_object('claimed_for', tenant)
                 else '{}' end
   where u.id = login.id;
  -- in the service's own name; the caller may act for a tenant
  acting := private.partner_id();
  perform private.set_tenant(private.people_tenant()),
          private.enqueue_mail(request #> '{login,mail}', address, 'login_secured:' || login.id || ':'
                               || gen_random_uuid()),
          private.set_tenant(acting);
end $$;
comment on function private.prove_login(text, uuid, jsonb) is
  'The login of an address that our code has just proved: user_id, or first need, which the caller returns. A login '
  'that was proved before stays as it is. Any other may be a stranger''s. If it owns nothing it is deleted and made '
  'again; else it is secured, and the person is mailed. A banned login stays; the caller refuses it. Definer, because '
  'logins belong to Supabase Auth.';
