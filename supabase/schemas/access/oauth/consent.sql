-- A person allows an application: consents, authorization codes (RFC 6749 section 4.1, RFC 7636).

create function private.scope_words(scope text) returns text[]
language sql immutable
as $$ select array(select distinct s.word from string_to_table(scope, ' ') as s (word) where s.word <> '') $$;

-- The client and scopes of {client_id, redirect_uri, scope}, or why not. Without a valid redirect URI no answer goes by
-- redirect.
create function private.check_authorization(
  request jsonb, out client core.oauth_clients, out scopes text[], out refusal text)
language plpgsql stable
as $$
declare
  wanted constant text[] := private.scope_words(request ->> 'scope');
begin
  client := private.client_by_client_id(left(request ->> 'client_id', 200));
  scopes := array(select s from unnest(private.scopes_of('user')) s where s = any (wanted) and s = any (client.scopes));
  refusal := case
    when client.id is null or client.disabled_at is not null then 'invalid_client'
    when not (request ->> 'redirect_uri') = any (client.redirect_uris) then 'invalid_redirect_uri'
    when not 'authorization_code' = any (client.grant_types) or not private.may_act_for_people(client)
        then 'unauthorized_client'
    when wanted = '{}' or not wanted <@ scopes then 'invalid_scope'
  end;
end $$;

create function private.consent(person uuid, client core.oauth_clients, scopes text[], request jsonb) returns void
language plpgsql security definer
as $$
declare
  grant_id uuid;
begin
  insert into core.oauth_consents (user_id, client_id, scopes) values (person, client.id, scopes)
  on conflict on constraint oauth_consents_pkey do nothing;
  if not found then
    update core.oauth_consents c set scopes = consent.scopes, last_at = private.now(), withdrawn_at = null
     where c.user_id = person and c.client_id = consent.client.id;
  -- the first consent, and only that, may attribute (specification section 4.5)
  elsif client.partner_id is not null
        and (private.user_profile(person)).created_at >= private.now() - interval '7 days'
        and private.reserve_customer(person, client.partner_id, 'oauth_consent') = 'new' then
    perform private.audit('user.attributed', person,
                          jsonb_build_object('source', 'oauth_consent', 'to', client.partner_id));
  end if;

  insert into core.oauth_grants (user_id, client_id, scopes) values (person, client.id, scopes)
    returning id into grant_id;
  insert into core.oauth_codes (code_hash, grant_id, redirect_uri, code_challenge, expires_at)
  values (private.reserve_token_hash(request ->> 'code_hash'), grant_id, request ->> 'redirect_uri',
          request ->> 'code_challenge',
          private.now() + interval '10 minutes');
  perform private.audit('oauth.consented', grant_id,
                        jsonb_build_object('client_id', client.client_id, 'scopes', scopes));
end $$;
comment on function private.consent(uuid, core.oauth_clients, text[], jsonb) is
  'Records a person''s consent, attributes them on the first one, and begins a grant with its code. Definer: no caller '
  'may read consents, grants and codes.';

create function api.issue_authorization_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  checked record;
begin
  perform private.act_as(caller, 'session');
  select * into checked from private.check_authorization(request);
  perform private.refuse_if(checked.refusal, checked.refusal is not null);
  -- it changes where money goes, and makes keys
  perform private.require_recent_sign_in() where 'partners:write' = any (checked.scopes);
  perform private.consent(private.user_id(), checked.client, checked.scopes, request);
  return json_build_object('scope', array_to_string(checked.scopes, ' '));
end $$;
comment on function api.issue_authorization_code(jsonb, jsonb) is
  'The person allows an application: {client_id, redirect_uri, scope, code_challenge, code_hash} to {scope}. The code '
  'lives ten minutes. partners:write needs a recent sign-in.';

create function api.describe_authorization(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  checked record;
begin
  perform private.act_as(caller, 'anyone');
  perform private.count_visit(request ->> 'address_hash');
  select * into checked from private.check_authorization(request);
  if checked.refusal is not null then
    return private.refusal(checked.refusal);
  end if;
  perform private.set_tenant((checked.client).partner_id);
  return json_build_object(
    'name', (checked.client).name,
    'operated_by', coalesce((checked.client).operated_by,
                            (select p.name from core.partners p where p.id = private.partner_id())),
    'scopes', checked.scopes);
end $$;
comment on function api.describe_authorization(jsonb, jsonb) is
  'What the consent page shows of {client_id, redirect_uri, scope, address_hash}: {name, operated_by, scopes}. '
  'Refusals are answers, because a visit must be counted.';
