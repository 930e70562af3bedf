-- The operator on people's tokens: list, revoke.

-- A personal token, or an application's grant (last used when last refreshed), as the operator sees it.
create function private.token_row(token uuid) returns json
language sql stable
as $$
  select json_build_object(
           'id', p.id, 'kind', 'personal', 'user_id', p.user_id, 'email', (private.user_profile(p.user_id)).email,
           'name', p.name, 'scopes', p.scopes, 'created_at', private.iso(p.created_at),
           'last_used_at', private.iso(p.last_used_at), 'expires_at', private.iso(p.expires_at), 'revoked_at',
               private.iso(p.revoked_at))
    from core.personal_tokens p where p.id = token
  union all
  select json_build_object(
           'id', g.id, 'kind', 'application', 'user_id', g.user_id, 'email', (private.user_profile(g.user_id)).email,
           'name', c.name, 'scopes', g.scopes, 'created_at', private.iso(g.created_at),
           'last_used_at', private.iso(newest.created_at), 'expires_at', private.iso(newest.expires_at), 'revoked_at',
               private.iso(g.revoked_at))
    from core.oauth_grants g
    join core.oauth_clients c on c.id = g.client_id
    left join lateral (select t.created_at, t.expires_at from core.oauth_refresh_tokens t
                        where t.grant_id = g.id order by t.generation desc limit 1) newest on true
   where g.id = token
$$;

-- The newest personal tokens and grants of a person, or of everybody.
create function private.newest_tokens(person uuid, size int) returns table (id uuid, created_at timestamptz)
language plpgsql stable
as $$
begin
  return query
    (select p.id, p.created_at from core.personal_tokens p where person is null or p.user_id = person
     order by p.created_at desc limit size)
    union all
    (select g.id, g.created_at from core.oauth_grants g where person is null or g.user_id = person
     order by g.created_at desc limit size)
    order by 2 desc, 1 limit size;
end $$;

create function ops.token_list(input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  person uuid;
begin
  if input ->> 'user' is not null then
    select u.id into person from auth.users u where u.id = private.as_uuid(input ->> 'user')
        or u.email = lower(input ->> 'user');
    perform private.refuse_if('user_not_found', person is null, json_build_object('user', input ->> 'user'));
  end if;
  return (
    select json_build_object('tokens', coalesce(json_agg(private.token_row(t.id) order by t.created_at desc, t.id),
                                                '[]'))
      from private.newest_tokens(person, coalesce((input ->> 'limit')::int, 50)) t);
end $$;
comment on function ops.token_list(jsonb) is
  'Personal tokens and applications'' grants, newest first: {user?: id or e-mail, limit?} to {tokens}. Never a token.';

create function ops.token_revoke(input jsonb) returns json
language plpgsql security definer
as $$
declare
  token   constant uuid := private.as_uuid(input ->> 'token');
  person  uuid;
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input);
  select p.user_id into person from core.personal_tokens p where p.id = token;
  if person is not null then
    update core.personal_tokens p set revoked_at = private.now() where p.id = token and p.revoked_at is null;
    changed := found;
    perform private.audit('token.revoked', token) where changed;
  else
    select g.user_id, g.client_id into person, client from core.oauth_grants g where g.id = token for update;
    perform private.refuse_if('token_not_found', person is null, json_build_object('token', input ->> 'token'));
    changed := private.end_grant(token, 'revoked_by_operator');
    -- the last grant of this application: the person is done with it
    update core.oauth_consents o set withdrawn_at = private.now()
     where o.user_id = person and o.client_id = client and o.withdrawn_at is null
       and not exists (select from core.oauth_grants g where g.user_id = person and g.client_id = client
                       and g.revoked_at is null);
  end if;
  return json_build_object(
    'changed', changed,
    'token', private.token_row(token));
end $$;
comment on function ops.token_revoke(jsonb) is
  'Ends a personal token, or an application''s grant, at once: {token} to {changed, token}.';
