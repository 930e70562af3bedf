-- The signing page: open a link, mail a code, sign, decline.

create function private.link_by_token(token_hash text) returns core.mandate_links
language sql stable security definer
set search_path = ''
as $$ select l from core.mandate_links l where l.token_hash = decode(link_by_token.token_hash, 'hex') $$;
comment on function private.link_by_token(text) is 'Finds a link before its tenant is known; definer for that reason alone. The token is the credential.';
grant execute on function private.link_by_token(text) to api_owner;

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
grant execute on function private.enter_link(jsonb, jsonb) to api_owner;

create function private.link_state(link core.mandate_links) returns text
language sql stable
set search_path = ''
as $$
  select case
    when link.id is null then 'unknown'
    when link.used_at is not null then coalesce(
      (select case m.status when 'declined' then 'declined' else 'signed' end
         from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id), 'voided')
    -- nobody signs for a partner that was deactivated; once it is active again, its links are good again
    when link.voided_at is not null or private.active_partner(link.partner_id) is null then 'voided'
    when link.expires_at <= private.now() then 'expired'
    else 'open' end
$$;
grant execute on function private.link_state(core.mandate_links) to api_owner;

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
grant execute on function private.mandate_facts(core.mandate_links) to api_owner;

create function api.open_mandate_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link  core.mandate_links;
  state text;
begin
  perform private.count_visit(request);
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
    perform private.refuse('link_not_open');
  end if;
  recipient := private.mandate_facts(link) ->> 'email';
  if recipient is null then
    perform private.refuse('signatory_email_missing');
  end if;
  rate := private.debit('mandate_link:' || link.id, 'mandate_code');
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_codes', json_build_object('rate', rate));
  end if;
  update core.mandate_links l
     set code_hash = decode(request ->> 'code_hash', 'hex'), code_expires_at = private.code_expiry(), code_attempts = 0
   where l.partner_id = link.partner_id and l.id = link.id;
  perform private.enqueue_mail(request -> 'mail', recipient, 'mandate_code:' || link.id || ':' || (request ->> 'code_hash'));
  return json_build_object('ok', true);
end $$;
comment on function api.send_mandate_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts; ten codes a day: {token_hash, code_hash, mail}.';
select private.expose('api.send_mandate_code(jsonb, jsonb)');

create function private.link_code_refusal(link core.mandate_links, code_hash text) returns text
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
comment on function private.link_code_refusal(core.mandate_links, text) is 'Why a one-time code is refused, or null; a wrong one is counted, so the refusal has to be an answer.';
grant execute on function private.link_code_refusal(core.mandate_links, text) to api_owner;

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

create function private.record_signature(link core.mandate_links, facts jsonb, request jsonb, brought_by uuid default null) returns void
language plpgsql
set search_path = ''
as $$
declare
  terms record;
begin
  select * into strict terms from private.terms_of(link.connection_id, brought_by);
  insert into core.mandates
    (partner_id, connection_id, link_id, status, fee_pct, partner_share_pct, valid_from, valid_until, signed_name, signed_at, document,
     document_sha256, code_confirmed, code_sent_to, address, user_agent)
  values
    (link.partner_id, link.connection_id, link.id, 'signed', terms.fee_pct, terms.partner_share_pct,
     (facts ->> 'valid_from')::date, (facts ->> 'valid_until')::date,
     request ->> 'signed_name', private.now(), request ->> 'document', request ->> 'document_sha256',
     facts ->> 'email' is not null, facts ->> 'email', left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.judge_months(link.connection_id);
  perform private.advance_registration(c.account_id, true) from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id;
  perform private.audit('mandate.signed', link.connection_id, jsonb_build_object('code_confirmed', facts ->> 'email' is not null));
end $$;
comment on function private.record_signature(core.mandate_links, jsonb, jsonb, uuid) is
  'The signature itself, its evidence and what follows from it, wherever it was given: {signed_name, document, document_sha256, address, user_agent} on facts. Who signs has been proven by the caller; brought_by is the partner who brings them with this signature.';
grant execute on function private.record_signature(core.mandate_links, jsonb, jsonb, uuid) to api_owner;

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
    perform private.refuse('link_not_open');
  end if;
  facts := private.mandate_facts(link);
  if facts is distinct from request -> 'facts' then
    perform private.refuse('mandate_changed');
  end if;
  if facts ->> 'email' is not null then
    refused := private.link_code_refusal(link, request ->> 'code_hash');
    if refused is not null then
      return private.refusal(refused);
    end if;
  end if;
  perform private.record_signature(link, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id);
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.sign_mandate(jsonb, jsonb) is
  'Signs: {token_hash, facts, signed_name, code_hash, document, document_sha256, address, user_agent, mail}. '
  'facts must still be what was shown.';
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
    perform private.refuse('link_not_open');
  end if;
  insert into core.mandates (partner_id, connection_id, link_id, status, address, user_agent)
  values (link.partner_id, link.connection_id, link.id, 'declined', left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  return json_build_object('ok', true);
end $$;
comment on function api.decline_mandate(jsonb, jsonb) is 'Declines to sign: {token_hash, address, user_agent}.';
select private.expose('api.decline_mandate(jsonb, jsonb)');
