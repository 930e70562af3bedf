-- Who sees what of a person: the partner that brought them, and applications they allowed.

create function private.own_applications() returns json
language plpgsql stable security definer
as $$
begin
  return (
    select coalesce(json_agg(json_build_object(
             'client_id', c.id, 'name', c.name, 'operated_by', coalesce(c.operated_by, p.name), 'scopes', g.scopes,
             'allowed_at', private.iso(o.last_at), 'last_used_at', private.iso(g.last_used_at)) order by o.last_at desc,
                 c.id), '[]')
      from core.oauth_consents o
      join core.oauth_clients c on c.id = o.client_id
      left join core.partners p on p.id = c.partner_id
      join lateral (
        select (select array_agg(distinct s order by s) from core.oauth_grants h, unnest(h.scopes) s
                 where h.user_id = o.user_id and h.client_id = o.client_id and h.revoked_at is null) as scopes,
               max(coalesce(t.created_at, g.created_at)) as last_used_at
          from core.oauth_grants g
          left join core.oauth_refresh_tokens t on t.grant_id = g.id
         where g.user_id = o.user_id and g.client_id = o.client_id and g.revoked_at is null) g on g.scopes is not null
     where o.user_id = private.user_id());
end $$;
comment on function private.own_applications() is
  'What applications hold of this transaction''s person: {client_id, name, operated_by, scopes, allowed_at, '
  'last_used_at}, newest first. last_used_at is when they last got a token. Definer, because nobody may read consents '
  'and refresh tokens.';

create function private.end_application(person uuid, client uuid) returns boolean
language plpgsql security definer
as $$
declare
  ended boolean := false;
  held  uuid;
begin
  update core.oauth_consents o set withdrawn_at = private.now() where o.user_id = person and o.client_id = client
      and o.withdrawn_at is null;
  for held in select g.id from core.oauth_grants g where g.user_id = person and g.client_id = client
      and g.revoked_at is null order by g.id loop
    ended := private.end_grant(held, 'user') or ended;
  end loop;
  return ended;
end $$;
comment on function private.end_application(uuid, uuid) is
  'Ends what an application holds of a person, at once; returns whether it held anything. Definer, because nobody may '
  'write grants.';

create function private.own_cpos() returns json
language sql stable security definer
as $$
  select coalesce(json_agg(n.name order by n.name), '[]')
    from (select distinct p.name from private.own_account_rows() a join core.partners p on p.id = a.partner_id
          where a.client_id is not null) n
$$;
comment on function private.own_cpos() is
  'The names of the CPOs whose customer this transaction''s person signed as. Definer, as private.own_accounts.';

create function api.read_own_sharing(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(),
    'partner', private.own_brand(),
    'cpos', private.own_cpos(),
    'applications', private.own_applications());
end $$;
comment on function api.read_own_sharing(jsonb) is 'Who sees what of a person: {email, partner, cpos, applications}.';

create function api.stop_sharing(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'session');
  return json_build_object('ended', private.stop_sharing(private.user_id(), (request ->> 'partner_id')::uuid));
end $$;
comment on function api.stop_sharing(jsonb, jsonb) is
  'A person stops sharing with the partner that brought them: {partner_id} to {ended}. Their draft stays active, and '
  'the months before still count for the partner. A second time changes nothing.';

create function api.stop_application(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'session');
  return json_build_object('ended', private.end_application(private.user_id(), (request ->> 'client_id')::uuid));
end $$;
comment on function api.stop_application(jsonb, jsonb) is
  'A person takes back what they allowed an application: {client_id} to {ended}. Its tokens end at once. A second time '
  'changes nothing.';
