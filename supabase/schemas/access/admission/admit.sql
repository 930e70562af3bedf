-- Admission checks the credential, what it may do, and its rate limit, in the statement that does the work. charge()
-- debits the limit last, so that its row is locked only briefly. A ticket that lacks a field admits nobody: every
-- condition must be true, and null is not. Only definers call these functions: there is no tenant yet.

-- Refuses to admit. private.admit makes it an answer: what is raised is a line in Postgres's log, and made-up keys
-- would fill it. Unlike private.refuse, it costs the caller no request of its quota.
create function private.refuse_admission(code text, detail json default '{}') returns void
language plpgsql
as $$
begin
  raise exception using errcode = 'ADMIT', message = code, detail = detail::text;
end $$;

-- Admits a client-credentials token, its signature already verified. A scope holds only while token and client both
-- have it.
create function private.admit_cpo(credential jsonb, demand jsonb) returns jsonb
language plpgsql
as $$
declare
  client record;
  scope  constant text := demand ->> 'scope';
begin
  -- as a sub-select, which is looked up by its key: joined, few partners are read whole and hashed
  select c.id, c.partner_id, c.scopes, c.last_used_at,
         (select p.is_active from core.partners p where p.id = c.partner_id) into client
    from core.oauth_clients c
   where c.client_id = credential ->> 'client_id' and c.disabled_at is null
     and (credential ->> 'secret_number')::bigint >= c.tokens_from_secret
     and not exists (select from core.revoked_access_tokens r where r.id = credential ->> 'token_id');
  if not found then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif demand ->> 'kind' is distinct from 'cpo' then
    perform private.refuse_admission('wrong_kind');
  elsif client.is_active is not true then
    perform private.refuse_admission('client_not_linked');
  elsif scope is not null and (scope = any (client.scopes) and credential -> 'scopes' ? scope) is not true then
    perform private.refuse_admission('insufficient_scope', json_build_object('required_scope', scope));
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'cpo', 'client_id', client.id, 'partner_id', client.partner_id),
    'subject', 'client:' || client.id,
    'idle_client', case when client.last_used_at > private.now() - interval '1 minute' then null else client.id end);
end $$;

-- The person, client and scopes of a token; all null once the token is invalid. A scope holds only while token and
-- client both have it.
create function private.user_scopes(credential jsonb, out user_id uuid, out client_id uuid, out scopes text[])
language plpgsql stable
as $$
begin
  if credential ->> 'kind' = 'personal_token' then
    select t.user_id, t.scopes into user_scopes.user_id, user_scopes.scopes
      from core.personal_tokens t
     where t.token_hash = decode(credential ->> 'token_hash', 'hex')
       and t.revoked_at is null and (t.expires_at is null or t.expires_at > private.now());
  else
    select g.user_id, c.id,
        array(select unnest(c.scopes) intersect select jsonb_array_elements_text(credential -> 'scopes'))
      into user_scopes.user_id, user_scopes.client_id, user_scopes.scopes
      from core.oauth_grants g
      join core.oauth_clients c on c.id = g.client_id
     where g.id = (credential ->> 'grant_id')::uuid and g.revoked_at is null
       and g.user_id = (credential ->> 'user_id')::uuid and c.client_id = credential ->> 'client_id'
       and c.disabled_at is null and private.may_act_for_people(c)
       and (credential ->> 'secret_number')::bigint >= c.tokens_from_secret
       and not exists (select from core.revoked_access_tokens r where r.id = credential ->> 'token_id');
  end if;
end $$;

-- Admits a personal token, or an application's access token. With partners:* it acts for the partner that the person
-- manages.
create function private.admit_user(credential jsonb, demand jsonb) returns jsonb
language plpgsql
as $$
declare
  person  record;
  partner uuid;
  caller  jsonb;
begin
  select * into person from private.user_scopes(credential);
  if person.user_id is null or not private.login_stands(person.user_id) then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif (demand ->> 'kind' in ('user', 'partner')) is not true then
    perform private.refuse_admission('wrong_kind');
  elsif ((demand ->> 'scope') = any (person.scopes)) is not true then
    perform private.refuse_admission('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif demand ->> 'kind' = 'partner' then
    partner := private.managed_partner(person.user_id);
    if partner is null then
      perform private.refuse_admission('no_partner_linked');
    end if;
    -- client_id pseudonymises customers; grant_id and secret_number are for a key that the application mints
    caller := jsonb_build_object('kind', 'partner', 'partner_id', partner, 'manager_id', person.user_id,
                                 'client_id', person.client_id, 'grant_id', credential -> 'grant_id',
                                 'secret_number', credential -> 'secret_number');
  else
    caller := jsonb_build_object('kind', 'user', 'user_id', person.user_id, 'client_id', person.client_id,
                                 'partner_id', private.people_tenant());
  end if;
  return jsonb_build_object(
    'caller', caller,
    -- limits are kept per client and person, or per person for their own tokens
    'subject', 'user:' || person.user_id || coalesce(':' || person.client_id, ''),
    'token_hash', credential -> 'token_hash');
end $$;

-- Admits a person by a session of Supabase Auth, which the caller verified. Session and login must still be valid.
create function private.admit_signed_in(person uuid, session_id uuid, demand jsonb) returns jsonb
language plpgsql
as $$
declare
  began constant timestamptz := private.signed_in_at(person, session_id);
begin
  if began is null or not private.login_stands(person) then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif demand ->> 'kind' is distinct from 'session' then
    perform private.refuse_admission('wrong_kind');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'session', 'user_id', person, 'partner_id', private.people_tenant(),
                                 'signed_in_at', began),
    -- apart from personal tokens, so that a thief of one cannot keep its owner from revoking it
    'subject', 'session:' || person);
end $$;

-- Admits a partner API key: {key_hash, key_host, host}, key_host by the key's prefix. Routes that need a managing
-- person refuse it. A key that an application minted sees what the application does.
create function private.admit_partner_key(credential jsonb, demand jsonb) returns jsonb
language plpgsql
as $$
declare
  key core.partner_keys;
begin
  select * into key
    from core.partner_keys k
   where k.key_hash = decode(credential ->> 'key_hash', 'hex')
     -- the sandbox handed out keys of the other prefix until September 2026
     and (credential ->> 'key_host' = credential ->> 'host' or credential ->> 'host' = 'sandbox'
          and k.created_at < '2026-09-01Z');
  if key.id is null or not private.key_stands(key) then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif (demand ->> 'kind' in ('partner', 'sandbox')) is not true then
    perform private.refuse_admission('wrong_kind');
  elsif (demand ->> 'key')::boolean is not true then
    perform private.refuse_admission('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif (select p.is_active from core.partners p where p.id = key.partner_id) is not true then
    perform private.refuse_admission('no_partner_linked');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'partner', 'partner_id', key.partner_id) || coalesce(
      (select jsonb_build_object('client_id', g.client_id) from core.oauth_grants g where g.id = key.grant_id), '{}'),
    'subject', 'partner:' || key.partner_id,
    'key_hash', credential -> 'key_hash');
end $$;

create function private.admit(ticket jsonb) returns jsonb
language plpgsql security definer
-- Looks up by key only: a plan made while tables are small reads them whole. After 20,000 limits were taken: 2.0 ms
-- instead of 0.4.
set enable_seqscan = off
as $$
declare
  credential constant jsonb := ticket -> 'credential';
  demand     constant jsonb := ticket -> 'demand';
  admitted   jsonb;
  state      record;
  ignored    text;
  refused    text;
  detail     text;
begin
  if ticket ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(ticket ->> 'host');
  end if;
  -- statements, because of an expression every branch is prepared
  case credential ->> 'kind'
    when 'cpo' then admitted := private.admit_cpo(credential, demand);
    when 'user', 'personal_token' then admitted := private.admit_user(credential, demand);
    when 'session' then admitted := private.admit_signed_in((credential ->> 'user_id')::uuid,
                                                            private.as_uuid(credential ->> 'session_id'), demand);
    when 'page_session' then admitted := private.admit_page_session(credential, demand);
    when 'ocpi_token' then admitted := private.admit_ocpi(credential, demand);
    when 'partner_key' then admitted := private.admit_partner_key(credential, demand);
    else perform private.refuse_admission('missing_or_invalid_token');
  end case;
  -- somebody who signs for an account is of no tenant
  if ticket ? 'tenant' and ticket ->> 'tenant' is distinct from admitted #>> '{caller,partner_id}' then
    perform private.refuse_admission('tenant_changed');
  end if;
  -- a look, so that who is over the limit is refused before the work; that the request fits is for charge() to decide
  state := private.limit_state(admitted ->> 'subject', demand ->> 'bucket');
  if not state.fits then
    perform private.refuse_admission('too_many_requests', json_build_object('rate',
      private.rate_json(demand ->> 'bucket', state.quota, state.window_seconds, state.full_in, false)));
  end if;
  ignored := set_config('app.admission', (admitted || jsonb_build_object(
    'bucket', demand -> 'bucket', 'quota', state.quota, 'window_seconds', state.window_seconds))::text, true);
  return admitted -> 'caller' || jsonb_build_object('host', ticket -> 'host', 'request_id', ticket -> 'request_id');
exception when sqlstate 'ADMIT' then
  get stacked diagnostics refused = message_text, detail = pg_exception_detail;
  return private.refusal(refused, detail::json)::jsonb || '{"admission": true}';
end $$;
comment on function private.admit(jsonb) is
  'The caller of a ticket {credential: {kind, …}, demand: {kind, scope, key, bucket}, tenant, host, request_id}, or '
  'why not, as {refused, with, admission: true}. Checks credential, kind, scope, partner and rate limit, and leaves in '
  'app.admission what charge() needs. wrong_kind is a valid credential of another kind; admit.ts has the refusal for '
  'it. tenant_changed is a credential of another partner than the request was made for. Definer, because there is no '
  'tenant yet.';

create function api.enter(ticket jsonb) returns jsonb
language plpgsql security definer
as $$ begin return private.admit(ticket); end $$;
comment on function api.enter(jsonb) is
  'Begins every statement with a ticket: the caller, for the function that does the work, or why they are not '
  'admitted. An answer, so that made-up keys write nothing to the log of Postgres.';

create function private.note_use(key_hash bytea, token_hash bytea, client uuid) returns void
language plpgsql security definer
as $$
begin
  -- to the minute is enough to show, and saves a write on most requests
  update core.partner_keys k set last_used_at = private.now()
   where k.key_hash = note_use.key_hash
       and (k.last_used_at is null or k.last_used_at < private.now() - interval '1 minute');
  update core.personal_tokens t set last_used_at = private.now()
   where t.token_hash = note_use.token_hash
       and (t.last_used_at is null or t.last_used_at < private.now() - interval '1 minute');
  update core.oauth_clients c set last_used_at = private.now()
   where c.id = client and (c.last_used_at is null or c.last_used_at < private.now() - interval '1 minute');
end $$;
comment on function private.note_use(bytea, bytea, uuid) is
  'Notes when a partner key, a personal token or a CPO client was last used. Definer, because admission itself sets no '
  'tenant.';

create function api.charge() returns json
language plpgsql security definer
as $$
declare
  admitted constant jsonb := current_setting('app.admission');
  rate     jsonb;
  ignored  text;
begin
  -- a request that wrote nothing until here commits without waiting for the disk: a crash loses its debit
  if pg_current_xact_id_if_assigned() is null then
    ignored := set_config('synchronous_commit', 'off', true);
  end if;
  if coalesce(admitted ->> 'key_hash', admitted ->> 'token_hash', admitted ->> 'idle_client') is not null then
    perform private.note_use(decode(admitted ->> 'key_hash', 'hex'), decode(admitted ->> 'token_hash', 'hex'),
                             (admitted ->> 'idle_client')::uuid);
  end if;
  -- the last lock of all: who holds a limit's row waits for nothing more, so that nobody waits for each other
  rate := private.take(admitted ->> 'subject', admitted ->> 'bucket', (admitted ->> 'quota')::int,
                       (admitted ->> 'window_seconds')::int);
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse_admission('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object('caller', admitted -> 'caller', 'rate', rate);
end $$;
comment on function api.charge() is
  'Ends every statement that began with a ticket: {caller, rate}. Notes that the credential was used, and debits its '
  'rate limit. Of concurrent requests for the last one of a quota, all but one fail here and are undone.';

create function api.admit(ticket jsonb) returns json
language plpgsql security definer
as $$
declare
  caller constant jsonb := private.admit(ticket);
begin
  if caller ? 'refused' then
    return caller;
  end if;
  return api.charge()::jsonb || jsonb_build_object('flushed', pg_current_wal_flush_lsn());
end $$;
comment on function api.admit(jsonb) is
  'Admission alone: a ticket to {caller, rate, flushed}. For a request that does nothing else in the database, was '
  'refused there, or reads on a replica: flushed is how far the log is on disk, so all that was answered before is in '
  'front of it.';
