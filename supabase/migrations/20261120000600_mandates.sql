-- Mandates (machtigingen): the link that leads to the signing page, the one-time code, the signature and its evidence.

create table core.mandate_links (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  connection_id   uuid        not null,
  token_hash      bytea       not null,
  locale          text        not null,
  validity_years  int         not null,
  return_url      text,
  expires_at      timestamptz not null,
  voided_at       timestamptz,
  used_at         timestamptz,
  code_hash       bytea,
  code_expires_at timestamptz,
  code_attempts   int         not null default 0,
  created_at      timestamptz not null default private.now(),
  constraint mandate_links_pkey primary key (partner_id, id),
  constraint mandate_links_token_hash_key unique (token_hash),
  constraint mandate_links_connection_fkey foreign key (partner_id, connection_id) references core.connections (partner_id, id),
  constraint mandate_links_locale_known check (locale in ('nl', 'en')),
  constraint mandate_links_validity_known check (validity_years in (1, 3, 5))
);
comment on table core.mandate_links is
  'A link a signatory signs through: good for 14 days, one signature, and until a newer one is issued. token_hash is the SHA-256 of 256 random bits; code_hash of the one-time code with that token.';
-- serves: voiding the older links of a connection
create index mandate_links_connection on core.mandate_links (partner_id, connection_id);
select private.isolate('core.mandate_links', 'select, insert, update');

create table core.mandates (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  connection_id   uuid        not null,
  link_id         uuid        not null,
  status          text        not null,
  valid_from      date,
  valid_until     date,
  signed_name     text,
  signed_at       timestamptz,
  document        text,
  document_sha256 text,
  code_confirmed  boolean     not null default false,
  code_sent_to    text,
  address         text,
  user_agent      text,
  ended_at        timestamptz,
  ended_reason    text,
  created_at      timestamptz not null default private.now(),
  constraint mandates_pkey primary key (partner_id, id),
  constraint mandates_connection_fkey foreign key (partner_id, connection_id) references core.connections (partner_id, id),
  constraint mandates_link_fkey foreign key (partner_id, link_id) references core.mandate_links (partner_id, id),
  constraint mandates_link_key unique (partner_id, link_id),
  constraint mandates_status_known check (status in ('signed', 'revoked', 'expired', 'declined')),
  constraint mandates_signed_whole check (
    status = 'declined' or num_nulls(valid_from, valid_until, signed_name, signed_at, document, document_sha256) = 0)
);
comment on table core.mandates is
  'What a signatory decided, with the evidence: the text as shown, its SHA-256, the typed name, the code proof, network address and user agent. Personal data; append-only but for its end; kept seven years after it.';
-- serves: the latest mandate of a connection
create index mandates_connection on core.mandates (partner_id, connection_id, created_at desc);
-- serves: the job that ends mandates after their last year
create index mandates_ending on core.mandates (valid_until) where status = 'signed';
select private.isolate('core.mandates', 'select, insert, update');

create view core.connection_mandates with (security_invoker = true) as
select c.partner_id,
       c.id as connection_id,
       case when m.id is null then 'pending'
            when m.status = 'signed' and m.valid_until < private.today() then 'expired'
            else m.status end as mandate_status,
       m.valid_from,
       m.valid_until,
       m.signed_at
  from core.connections c
  left join lateral (
    select * from core.mandates m
     where m.partner_id = c.partner_id and m.connection_id = c.id
     order by m.created_at desc limit 1) m on true;
comment on view core.connection_mandates is
  'Where a connection stands with its mandate: its latest decision, read against the calendar, so that the year''s end needs no job to be on time.';
grant select on core.connection_mandates to api_owner;

-- What a signature changes -------------------------------------------------------------------------------------------

create function private.end_mandate(connection uuid, new_status text, reason text) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.mandates m
     set status = new_status, ended_at = private.now(), ended_reason = reason
   where m.connection_id = connection and m.status = 'signed'
     and m.valid_until >= private.today();  -- one that ran out keeps covering its years, whether the job has noted its end or not
  perform private.judge_months(connection);
  perform private.audit('mandate.' || new_status, connection, jsonb_build_object('reason', reason));
end $$;
comment on function private.end_mandate(uuid, text, text) is 'Ends the signed mandate of a connection; months it covered are judged again.';

create function private.void_mandate_links(connection uuid) returns void
language sql
set search_path = ''
as $$
  update core.mandate_links l set voided_at = private.now()
   where l.partner_id = private.partner_id() and l.connection_id = connection and l.voided_at is null and l.used_at is null
$$;

grant execute on function private.end_mandate(uuid, text, text), private.void_mandate_links(uuid) to api_owner;

-- POST /v1/mandate-links ---------------------------------------------------------------------------------------------

create function private.find_account(criteria jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  account uuid;
begin
  select a.id into account from core.accounts a
   where (criteria ->> 'account_id' is null or a.id = (criteria ->> 'account_id')::uuid)
     and (criteria ->> 'cpo_external_ref' is null or a.client_id = private.client_id() and a.cpo_external_ref = criteria ->> 'cpo_external_ref');
  if not found then
    perform private.refuse('account_not_found');
  end if;
  return account;
end $$;
comment on function private.find_account(jsonb) is 'The account that agrees with every id given: {account_id, cpo_external_ref}, at least one of them.';

create function private.pick_connection(account uuid, wanted uuid, otherwise_first boolean) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  active uuid[] := array(
    select c.id from core.connections c
     where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' and (wanted is null or c.id = wanted)
     order by c.created_at, c.id);
begin
  if cardinality(active) = 0 then
    perform private.refuse('no_connection');
  elsif cardinality(active) > 1 and not otherwise_first then
    perform private.refuse('ambiguous_connection');
  end if;
  return active[1];
end $$;
comment on function private.pick_connection(uuid, uuid, boolean) is
  'The active connection of an account: the one wanted, the only one, or the first where otherwise_first says that will do.';

create function private.return_url_allowed(return_url text, registered text) returns boolean
language sql immutable
set search_path = ''
as $$
  select coalesce(
    starts_with(return_url, registered) and substr(return_url, length(registered) + 1, 1) in ('', '/', '?')
    and position('#' in return_url) = 0
    -- a browser resolves these, and would end up above the registered URL
    and split_part(return_url, '?', 1) !~* '[/\\](\.|%2e){2}([/\\]|$)', false)
$$;
comment on function private.return_url_allowed(text, text) is
  'Whether a return URL is the registered one followed by /, ? or nothing, without a fragment and not climbing out of it.';

grant execute on function
  private.find_account(jsonb), private.pick_connection(uuid, uuid, boolean), private.return_url_allowed(text, text)
to api_owner;

create function api.issue_mandate_link(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account    uuid;
  connection uuid;
  registered text;
  signatory  core.signatories;
  link       core.mandate_links;
  status     text;
  send_email constant boolean := (input ->> 'send_email')::boolean;
begin
  perform private.act_as(caller, 'cpo');
  select c.return_url into registered from core.oauth_clients c where c.id = private.client_id();
  if input ->> 'return_url' is not null and not private.return_url_allowed(input ->> 'return_url', registered) then
    perform private.refuse('return_url_not_allowed', json_build_object('message',
      'return_url must be the URL registered for this client, followed by /, ? or nothing, without a fragment.'));
  end if;
  account := private.find_account(input);
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, false);
  -- one link, signature or correction at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for update;
  select m.mandate_status into status
    from core.connection_mandates m where m.partner_id = private.partner_id() and m.connection_id = connection;
  if status = 'signed' then
    perform private.refuse('mandate_already_signed');
  end if;
  select * into signatory from core.signatories s where s.partner_id = private.partner_id() and s.account_id = account;
  if send_email and signatory.email is null then
    perform private.refuse('signatory_email_missing');
  end if;

  perform private.void_mandate_links(connection);
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, return_url, expires_at)
  values (private.partner_id(), connection, decode(input ->> 'token_hash', 'hex'), input ->> 'locale', (input ->> 'validity_years')::int,
          coalesce(input ->> 'return_url', registered), private.now() + interval '1209600 seconds')
  returning * into link;
  if send_email then
    perform private.enqueue_mail(input -> 'mail', signatory.email, 'mandate_link:' || link.id,
      json_build_object('full_name', signatory.full_name,
                        'partner_name', (select p.name from core.partners p where p.id = link.partner_id))::jsonb);
  end if;
  perform private.audit('mandate_link.issued', connection);
  return json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'mandate_link', input ->> 'mandate_link',
    'expires_at', private.iso(link.expires_at),
    'expires_in', 1209600,
    'mandate_status', status,
    'email_sent', send_email);
end $$;
comment on function api.issue_mandate_link(jsonb, jsonb) is
  'POST /v1/mandate-links: {account_id, cpo_external_ref, connection_id, token_hash, mandate_link, locale, validity_years, return_url, send_email, mail}. Voids the older link.';
select private.expose('api.issue_mandate_link(jsonb, jsonb)');

-- The signing page ---------------------------------------------------------------------------------------------------

-- ten codes at once, then one each 2.4 hours, five guesses a code: over the 14 days of a link a guess succeeds with less than 1 in 1,000
insert into core.rate_limits (bucket, quota, window_seconds) values ('mandate_code', 10, 86400);

create function private.link_by_token(token_hash text) returns core.mandate_links
language sql stable security definer
set search_path = ''
as $$ select l from core.mandate_links l where l.token_hash = decode(link_by_token.token_hash, 'hex') $$;
comment on function private.link_by_token(text) is 'Finds a link before its tenant is known; definer for that reason alone. The token is the credential.';

create function private.enter_link(caller jsonb, request jsonb) returns core.mandate_links
language plpgsql
set search_path = ''
as $$
declare
  link core.mandate_links;
begin
  perform private.act_as(caller, 'anyone');
  link := private.link_by_token(request ->> 'token_hash');
  perform private.act_for_partner(link.partner_id), set_config('app.caller_kind', 'signatory', true);
  return link;
end $$;
comment on function private.enter_link(jsonb, jsonb) is 'Makes the bearer of a link the caller, within the link''s tenant.';

create function private.link_state(link core.mandate_links) returns text
language sql stable
set search_path = ''
as $$
  select case
    when link.id is null then 'unknown'
    when link.used_at is not null then coalesce(
      (select case m.status when 'declined' then 'declined' else 'signed' end
         from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id), 'voided')
    when link.voided_at is not null then 'voided'
    when link.expires_at <= private.now() then 'expired'
    else 'open' end
$$;

create function private.mandate_facts(link core.mandate_links) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    'partner_name', p.name,
    'type', a.type,
    'company_name', case when a.type <> 'particulier' then coalesce(a.company ->> 'name', a.display_name) end,
    'kvk', case when a.type <> 'particulier' then a.company ->> 'kvk' end,
    'full_name', s.full_name,
    'email', s.email,
    'ean_code', c.ean_code,
    'street', l.street,
    'house_number', l.house_number,
    'house_number_addition', l.house_number_addition,
    'postal_code', l.postal_code,
    'city', l.city,
    'valid_from', make_date(extract(year from private.today())::int, 1, 1),
    'valid_until', make_date(extract(year from private.today())::int + link.validity_years - 1, 12, 31))
  from core.connections c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
  join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
  join core.partners p on p.id = c.partner_id
  where c.partner_id = link.partner_id and c.id = link.connection_id
$$;
comment on function private.mandate_facts(core.mandate_links) is
  'Everything the mandate''s text is composed of, and where its code goes: the same facts give the same text.';

grant execute on function
  private.link_by_token(text), private.enter_link(jsonb, jsonb), private.link_state(core.mandate_links),
  private.mandate_facts(core.mandate_links)
to api_owner;

create function api.open_mandate_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate  constant jsonb := private.debit('address:' || (request ->> 'address_hash'), 'page');
  link  core.mandate_links;
  state text;
begin
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  link := private.enter_link(caller, request);
  state := private.link_state(link);
  return json_build_object(
    'state', state,
    'locale', link.locale,
    'code_sent', coalesce(link.code_expires_at > private.now(), false),
    'partner_name', case when state in ('open', 'signed', 'declined') then (select p.name from core.partners p where p.id = link.partner_id) end,
    'return_url', case when state in ('open', 'signed', 'declined') then link.return_url end,
    'facts', case when state = 'open' then private.mandate_facts(link) end,
    'signed', case when state = 'signed' then (
      select json_build_object('status', case when m.status = 'signed' and m.valid_until < private.today() then 'expired' else m.status end,
                               'document', m.document, 'document_sha256', m.document_sha256, 'signed_name', m.signed_name,
                               'signed_at', private.iso(m.signed_at), 'code_sent_to', m.code_sent_to,
                               'valid_from', m.valid_from, 'valid_until', m.valid_until)
        from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id) end);
end $$;
comment on function api.open_mandate_link(jsonb, jsonb) is
  'What a link opens: {token_hash, address_hash} to {state: open|signed|declined|voided|expired|unknown, locale, code_sent, partner_name, return_url, facts, signed}. '
  'Names, facts and the signed text only where the state allows.';
select private.expose('api.open_mandate_link(jsonb, jsonb)');

create function api.send_mandate_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link      core.mandate_links;
  recipient text;
  rate      jsonb;
begin
  link := private.enter_link(caller, request);
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  if private.link_state(link) <> 'open' then
    return json_build_object('outcome', 'not_open');
  end if;
  recipient := private.mandate_facts(link) ->> 'email';
  if recipient is null then
    return json_build_object('outcome', 'no_email');
  end if;
  rate := private.debit('mandate_link:' || link.id, 'mandate_code');
  if not (rate ->> 'allowed')::boolean then
    return json_build_object('outcome', 'too_many_codes', 'retry_after', rate -> 'retry_after');
  end if;
  update core.mandate_links l
     set code_hash = decode(request ->> 'code_hash', 'hex'), code_expires_at = private.code_expiry(), code_attempts = 0
   where l.partner_id = link.partner_id and l.id = link.id;
  perform private.enqueue_mail(request -> 'mail', recipient, 'mandate_code:' || link.id || ':' || (request ->> 'code_hash'));
  return json_build_object('outcome', 'sent');
end $$;
comment on function api.send_mandate_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts; ten codes a day: {token_hash, code_hash, mail} to {outcome: sent|no_email|too_many_codes|not_open}.';
select private.expose('api.send_mandate_code(jsonb, jsonb)');

create function private.code_outcome(link core.mandate_links, code_hash text) returns text
language plpgsql
set search_path = ''
as $$
declare
  refused constant text := private.judge_code(link.code_hash, link.code_expires_at, link.code_attempts, code_hash);
begin
  if refused = 'wrong_code' then
    update core.mandate_links l set code_attempts = l.code_attempts + 1 where l.partner_id = link.partner_id and l.id = link.id;
  end if;
  return refused;
end $$;
comment on function private.code_outcome(core.mandate_links, text) is 'Why a one-time code is refused, or null; a wrong one is counted.';
grant execute on function private.code_outcome(core.mandate_links, text) to api_owner;

create function private.lock_link(link core.mandate_links) returns core.mandate_links
language plpgsql
set search_path = ''
as $$
begin
  -- connection first, as connections:update does, so that the two cannot wait for each other
  perform from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id for update;
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  return link;
end $$;
grant execute on function private.lock_link(core.mandate_links) to api_owner;

create function private.record_signature(link core.mandate_links, facts jsonb, request jsonb) returns void
language plpgsql
set search_path = ''
as $$
begin
  insert into core.mandates
    (partner_id, connection_id, link_id, status, valid_from, valid_until, signed_name, signed_at, document, document_sha256,
     code_confirmed, code_sent_to, address, user_agent)
  values
    (link.partner_id, link.connection_id, link.id, 'signed', (facts ->> 'valid_from')::date, (facts ->> 'valid_until')::date,
     request ->> 'signed_name', private.now(), request ->> 'document', request ->> 'document_sha256',
     facts ->> 'email' is not null, facts ->> 'email', left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.judge_months(link.connection_id);
  perform private.advance_registration(c.account_id, true) from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id;
  perform private.audit('mandate.signed', link.connection_id, jsonb_build_object('code_confirmed', facts ->> 'email' is not null));
end $$;
comment on function private.record_signature(core.mandate_links, jsonb, jsonb) is
  'The signature itself, its evidence and what follows from it, wherever it was given: {signed_name, document, document_sha256, address, user_agent} on facts. Who signs has been proven by the caller.';
grant execute on function private.record_signature(core.mandate_links, jsonb, jsonb) to api_owner;

create function api.sign_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link    core.mandate_links;
  facts   jsonb;
  refused text;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) <> 'open' then
    return json_build_object('outcome', 'not_open');
  end if;
  facts := private.mandate_facts(link);
  if facts is distinct from request -> 'facts' then
    return json_build_object('outcome', 'changed');
  end if;
  if facts ->> 'email' is not null then
    refused := private.code_outcome(link, request ->> 'code_hash');
    if refused is not null then
      return json_build_object('outcome', refused);
    end if;
  end if;
  perform private.record_signature(link, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id);
  end if;
  return json_build_object('outcome', 'signed');
end $$;
comment on function api.sign_mandate(jsonb, jsonb) is
  'Signs: {token_hash, facts, signed_name, code_hash, document, document_sha256, address, user_agent, mail}. '
  'Outcome signed|changed|wrong_code|code_expired|too_many_attempts|not_open; facts must still be what was shown.';
select private.expose('api.sign_mandate(jsonb, jsonb)');

create function api.decline_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link core.mandate_links;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) <> 'open' then
    return json_build_object('outcome', 'not_open');
  end if;
  insert into core.mandates (partner_id, connection_id, link_id, status, address, user_agent)
  values (link.partner_id, link.connection_id, link.id, 'declined', left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  return json_build_object('outcome', 'declined');
end $$;
comment on function api.decline_mandate(jsonb, jsonb) is 'Declines to sign: {token_hash, address, user_agent}. Outcome declined|not_open.';
select private.expose('api.decline_mandate(jsonb, jsonb)');
