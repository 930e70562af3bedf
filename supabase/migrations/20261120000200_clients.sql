-- Partners, the OAuth clients of charge-point operators, rate limits, and admission: the first of a request's two statements.

create table core.partners (
  id         uuid        not null default gen_random_uuid(),
  name       text        not null,
  slug       text        not null,
  is_active  boolean     not null default true,
  created_at timestamptz not null default private.now(),
  constraint partners_pkey primary key (id),
  constraint partners_slug_key unique (slug),
  constraint partners_slug_shape check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 60),
  constraint partners_name_length check (length(name) between 1 and 120)
);
comment on table core.partners is 'A tenant: a charge-point operator, installer or other business. Kept as long as its customers'' records are.';

create table core.oauth_clients (
  id                uuid        not null default gen_random_uuid(),
  client_id         text        not null,
  partner_id        uuid,
  name              text        not null,
  grant_types       text[]      not null default '{client_credentials}',
  secret_hash       bytea       not null,
  secret_rotated_at timestamptz not null default private.now(),
  scopes            text[]      not null default '{}',
  return_url        text,
  tokens_valid_from timestamptz not null default '-infinity',
  disabled_at       timestamptz,
  created_at        timestamptz not null default private.now(),
  constraint oauth_clients_pkey primary key (id),
  constraint oauth_clients_client_id_key unique (client_id),
  constraint oauth_clients_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint oauth_clients_grant_types_known check (grant_types <@ '{client_credentials,authorization_code,refresh_token}'),
  constraint oauth_clients_scopes_known check (scopes <@ array[
    'cpo:accounts:read', 'cpo:accounts:write', 'cpo:mandates:write', 'cpo:chargers:write', 'cpo:sessions:write']),
  constraint oauth_clients_secret_is_sha256 check (length(secret_hash) = 32),
  constraint oauth_clients_return_url_length check (length(return_url) <= 500)
);
comment on table core.oauth_clients is
  'A registered OAuth client. secret_hash is the SHA-256 of 32 random bytes; the secret is shown once and never stored. Never deleted: disabled.';
comment on column core.oauth_clients.partner_id is 'Null until the operator links the client; a client without partner is refused with client_not_linked.';
comment on column core.oauth_clients.tokens_valid_from is 'Access tokens issued earlier are refused: how an operator ends the tokens a leaked secret bought.';
-- serves: the clients of one partner in the operator's list
create index oauth_clients_partner_id on core.oauth_clients (partner_id);

alter table core.partners enable row level security;
alter table core.oauth_clients enable row level security;
create policy "a tenant sees itself" on core.partners
  for select to api_owner using (id = (select private.partner_id()));
create policy "a client sees itself" on core.oauth_clients
  for select to api_owner using (id = (select private.client_id()));
grant select on core.partners, core.oauth_clients to api_owner;

-- Rate limits --------------------------------------------------------------------------------------------------------

create table core.rate_limits (
  bucket         text not null,
  quota          int  not null,
  window_seconds int  not null default 60,
  constraint rate_limits_pkey primary key (bucket),
  constraint rate_limits_positive check (quota > 0 and window_seconds > 0)
);
comment on table core.rate_limits is 'Requests a subject may make per window, refilled continuously. Changed by the operator.';
insert into core.rate_limits (bucket, quota, window_seconds) values
  ('cpo_read',       300,  60),
  ('cpo_write',      120,  60),
  ('cpo_sessions',    60,  60),
  ('token',           60,  60),
  ('token_failures',  10, 300),
  ('page',            60,  60);

create table core.rate_limit_overrides (
  subject text not null,
  bucket  text not null,
  quota   int  not null,
  constraint rate_limit_overrides_pkey primary key (subject, bucket),
  constraint rate_limit_overrides_bucket_fkey foreign key (bucket) references core.rate_limits (bucket),
  constraint rate_limit_overrides_positive check (quota > 0)
);
comment on table core.rate_limit_overrides is 'A quota of one subject (client:<uuid>) that differs from the bucket''s.';

-- Unlogged: written on every request, worth nothing after a crash.
create unlogged table core.rate_limit_state (
  subject    text        not null,
  bucket     text        not null,
  full_at    timestamptz not null,
  constraint rate_limit_state_pkey primary key (subject, bucket)
) with (fillfactor = 50);
comment on table core.rate_limit_state is
  'When a subject''s bucket is full again (the generic cell rate algorithm). Addresses appear hashed. Rows in the past are swept.';
-- serves: the sweep of buckets that are full again
create index rate_limit_state_full_at on core.rate_limit_state (full_at);

alter table core.rate_limits enable row level security;
alter table core.rate_limit_overrides enable row level security;
alter table core.rate_limit_state enable row level security;

create function private.debit(subject text, bucket text, cost int default 1) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  at       constant timestamptz := private.now();
  policy   record;
  step     interval;
  full_at  timestamptz;
  allowed  boolean := true;
  slack    numeric;
begin
  select coalesce(o.quota, l.quota) as quota, make_interval(secs => l.window_seconds) as span, l.window_seconds
    into strict policy
    from core.rate_limits l
    left join core.rate_limit_overrides o on o.bucket = l.bucket and o.subject = debit.subject
   where l.bucket = debit.bucket;
  -- rounded down to whole microseconds: rounded up, the last request of a quota would not fit into its window
  step := greatest(floor(policy.window_seconds * 1e6 / policy.quota), 1) * interval '1 microsecond';

  insert into core.rate_limit_state as s (subject, bucket, full_at)
  values (debit.subject, debit.bucket, at + step * cost)
  on conflict on constraint rate_limit_state_pkey do update
     set full_at = greatest(s.full_at, at) + step * cost
   where greatest(s.full_at, at) + step * cost <= at + policy.span
  returning s.full_at into full_at;

  if not found then
    allowed := false;
    select s.full_at into full_at from core.rate_limit_state s where s.subject = debit.subject and s.bucket = debit.bucket;
  end if;

  slack := extract(epoch from at + policy.span - full_at);
  return jsonb_build_object(
    'allowed', allowed,
    'bucket', debit.bucket,
    'quota', policy.quota,
    'window', policy.window_seconds,
    'remaining', least(greatest(floor(slack / extract(epoch from step)), 0), policy.quota)::int,
    'reset', greatest(ceil(extract(epoch from full_at - at)), 0)::int,
    'retry_after', greatest(ceil(extract(epoch from step) - slack), case when allowed then 0 else 1 end)::int);
end $$;
comment on function private.debit(text, text, int) is
  'Takes from a subject''s bucket and says what is left. Definer, because limits belong to no tenant. A cost of 0 only looks.';
grant execute on function private.debit(text, text, int) to api_owner;

create function private.sweep_rate_limits() returns bigint
language sql security definer
set search_path = ''
as $$
  with swept as (delete from core.rate_limit_state where full_at < private.now() returning 1)
  select count(*) from swept
$$;
comment on function private.sweep_rate_limits() is 'Deletes buckets that are full again: same as never used. Definer, because limits belong to no tenant.';
grant execute on function private.sweep_rate_limits() to api_owner;

-- Client authentication ----------------------------------------------------------------------------------------------

create function private.client_by_client_id(client_id text) returns core.oauth_clients
language plpgsql stable security definer
set search_path = ''
as $$
declare
  client core.oauth_clients;
begin
  select * into client from core.oauth_clients c where c.client_id = client_by_client_id.client_id;
  return client;
end $$;
comment on function private.client_by_client_id(text) is
  'Looks a client up before its tenant is known; definer for that reason alone.';

create function private.active_partner(partner uuid) returns uuid
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select p.id from core.partners p where p.id = active_partner.partner and p.is_active);
end $$;
comment on function private.active_partner(uuid) is
  'The partner if it is active, else null; definer because admission runs before a tenant is set.';

grant execute on function private.client_by_client_id(text), private.active_partner(uuid) to api_owner;

create function private.authenticate_client(
  request jsonb, grant_type text, out client core.oauth_clients, out rate jsonb, out refusal json)
language plpgsql
set search_path = ''
as $$
declare
  subject  text;
  failures text;
begin
  client := private.client_by_client_id(left(request ->> 'client_id', 200));
  -- an unknown client_id shares one subject an address, so that guessing names does not grow the table
  subject := coalesce('client:' || client.id, 'unknown');
  failures := subject || '@' || (request ->> 'address_hash');
  rate := private.debit(failures, 'token_failures', 0);
  if (rate ->> 'remaining')::int < 1 then
    refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
  elsif client.id is null or client.disabled_at is not null or client.secret_hash <> decode(request ->> 'secret_hash', 'hex') then
    rate := private.debit(failures, 'token_failures');
    -- guesses sent at once were all let in by the look above; only as many as are allowed learn anything
    refusal := private.refusal(case when (rate ->> 'allowed')::boolean then 'invalid_client' else 'too_many_requests' end,
                               json_build_object('rate', rate));
  else
    -- only the client itself spends its own requests: a stranger who knows its name cannot lock it out
    rate := private.debit(subject, 'token');
    if not (rate ->> 'allowed')::boolean then
      refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
    elsif not coalesce(grant_type, client.grant_types[1]) = any (client.grant_types) then
      refusal := private.refusal('unauthorized_client', json_build_object('rate', rate));
    end if;
  end if;
end $$;
comment on function private.authenticate_client(jsonb, text) is
  'The client of {client_id, secret_hash, address_hash} when its secret is right and it has the grant type (null: any); else a refusal. '
  'A refusal is an answer, because a failed attempt must be counted.';
grant execute on function private.authenticate_client(jsonb, text) to api_owner;

create function api.grant_client_credentials(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  door    record;
  client  core.oauth_clients;
  wanted  text[];
begin
  perform private.act_as(caller, 'anyone');
  select * into door from private.authenticate_client(request, 'client_credentials');
  if door.refusal is not null then
    return door.refusal;
  end if;
  client := door.client;
  wanted := array(select s.word from string_to_table(request ->> 'scope', ' ') as s (word) where s.word <> '');
  if not wanted <@ client.scopes then
    return private.refusal('invalid_scope', json_build_object('rate', door.rate));
  end if;
  if wanted = '{}' then
    wanted := client.scopes;
  end if;
  return json_build_object(
    'client_id', client.client_id,
    'scope', (select coalesce(string_agg(s, ' '), '') from unnest(client.scopes) s where s = any (wanted)),
    'rate', door.rate);
end $$;
comment on function api.grant_client_credentials(jsonb, jsonb) is
  'Authenticates a client for the client-credentials grant (RFC 6749 section 4.4): {client_id, secret_hash, scope, address_hash} to {client_id, scope, rate}. '
  'Refusals are answers, because a failed attempt must be counted.';
select private.expose('api.grant_client_credentials(jsonb, jsonb)');

-- Admission ----------------------------------------------------------------------------------------------------------

create function private.admit_cpo(credential jsonb, demand jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  client  core.oauth_clients := private.client_by_client_id(credential ->> 'client_id');
  scope   constant text := demand ->> 'scope';
  rate    jsonb;
begin
  if client.id is null or client.disabled_at is not null
     or to_timestamp((credential ->> 'issued_at')::bigint) < client.tokens_valid_from then
    return private.refusal('missing_or_invalid_token');
  elsif demand ->> 'kind' <> 'cpo' then
    return json_build_object('wrong_kind', true);
  elsif private.active_partner(client.partner_id) is null then
    return private.refusal('client_not_linked');
  elsif scope is not null and not (scope = any (client.scopes) and credential -> 'scopes' ? scope) then
    return private.refusal('insufficient_scope', json_build_object('required_scope', scope));
  end if;

  rate := private.debit('client:' || client.id, demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'cpo', 'client_id', client.id, 'partner_id', client.partner_id),
    'rate', rate);
end $$;
comment on function private.admit_cpo(jsonb, jsonb) is
  'A client-credentials token, its signature already verified. A scope holds only while token and client both have it.';
grant execute on function private.admit_cpo(jsonb, jsonb) to api_owner;

create function api.admit(credential jsonb, demand jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  if private.is_revoked(credential ->> 'token_id') then
    return private.refusal('missing_or_invalid_token');
  end if;
  return case credential ->> 'kind'
    when 'cpo' then private.admit_cpo(credential, demand)
    when 'user' then private.admit_user(credential, demand)
    when 'personal_token' then private.admit_user(credential, demand)
    when 'session' then private.admit_session(credential, demand)
    when 'partner_key' then private.admit_partner_key(credential, demand)
    else private.refusal('missing_or_invalid_token')
  end;
end $$;
comment on function api.admit(jsonb, jsonb) is
  'The first of a request''s two statements: credential still good, partner active, scope held, rate limit debited, in that order. '
  'credential {kind, …}, demand {kind, scope, bucket} to {caller, rate}, or {wrong_kind} for a good credential of another kind. Refusals are answers: the debit must stay.';
select private.expose('api.admit(jsonb, jsonb)');
