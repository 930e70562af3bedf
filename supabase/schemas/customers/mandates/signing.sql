-- The signing page: open a link, mail a code, sign, decline.

create function private.link_by_token(token_hash text) returns core.mandate_links
language sql stable security definer
as $$ select l from core.mandate_links l where l.token_hash = decode(link_by_token.token_hash, 'hex') $$;
comment on function private.link_by_token(text) is
  'Finds a link before its tenant is known; definer only for that. The token is the credential.';

-- Makes the bearer of a link the caller, within the link's tenant.
create function private.enter_link(caller jsonb, request jsonb) returns core.mandate_links
language plpgsql
as $$
declare
  link core.mandate_links;
begin
  perform private.act_as(caller, 'anyone');
  link := private.link_by_token(request ->> 'token_hash');
  perform private.set_tenant_and_see_all(link.partner_id), set_config('app.caller_kind', 'signatory', true);
  return link;
end $$;

create function private.link_state(link core.mandate_links) returns text
language sql stable
as $$
  select case
    when link.id is null then 'unknown'
    when link.used_at is not null then coalesce(
      (select case m.status when 'declined' then 'declined' else 'signed' end
         from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id), 'voided')
    -- a deactivated partner's links do not work; they work again once it is active
    when link.voided_at is not null or private.active_partner(link.partner_id) is null then 'voided'
    when link.expires_at <= private.now() then 'expired'
    else 'open' end
$$;

-- The facts of the mandate's text without its years, and the address that its code goes to. The same facts give the
-- same text.
create function private.connection_facts(connection uuid) returns jsonb
language sql stable
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
    'fee_pct', (private.terms_of(c.id, null)).fee_pct)
  from core.connections c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
  join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
  join core.partners p on p.id = c.partner_id
  where c.partner_id = private.partner_id() and c.id = connection_facts.connection
$$;

-- The facts of a signature, with the chosen years out of periods. Refused unless they equal request.facts, which the
-- signatory read.
create function private.signed_facts(facts jsonb, periods jsonb, request jsonb) returns jsonb
language plpgsql immutable
as $$
declare
  signed constant jsonb := facts || (
    select p.period from jsonb_array_elements(periods) as p (period)
     where p.period -> 'validity_years' = request #> '{facts,validity_years}');
begin
  perform private.refuse_if('mandate_changed', signed is distinct from request -> 'facts');
  return signed;
end $$;

-- A signed mandate, as its pages show it.
create function private.shown_mandate(mandate core.mandates) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'mandate_id', mandate.id,
    'status', case when mandate.status = 'signed' and mandate.valid_until < private.today() then 'expired'
                   else mandate.status end,
    'document', mandate.document, 'document_sha256', mandate.document_sha256, 'signed_name', mandate.signed_name,
    'signed_at', private.iso(mandate.signed_at), 'code_sent_to', mandate.code_sent_to,
    'valid_from', mandate.valid_from, 'valid_until', mandate.valid_until, 'ended_at', private.iso(mandate.ended_at),
    'covered_until', case when mandate.covered_until >= mandate.valid_from then mandate.covered_until end)
$$;

-- Whether a signatory may sign again alone: in the last weeks of what they signed for, and after it. After a revocation
-- only a person who withdrew the mandate of their own account; a CPO sends its customers a new link.
create function private.may_sign_again(connection uuid, tenant uuid default private.partner_id()) returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from core.connection_mandates m
     where m.partner_id = tenant and m.connection_id = may_sign_again.connection and m.status = 'active'
       and (m.mandate_status in ('signed', 'expired')
            or m.mandate_status = 'revoked' and exists (
              select from core.mandates w join core.accounts a on a.partner_id = w.partner_id and a.id = m.account_id
               where w.partner_id = m.partner_id and w.id = m.mandate_id and w.ended_reason = 'customer'
                 and private.login_stands(a.user_id)))
       and private.can_sign(m.connection_id, tenant));
end $$;

-- What the pages of a link show. Stable, so that it reads one moment: a signature changes what may be signed.
create function private.mandate_link_view(link_id uuid) returns json
language plpgsql stable
as $$
declare
  link    core.mandate_links;
  partner core.partners;
  state   text;
begin
  select * into link from core.mandate_links l where l.partner_id = private.partner_id() and l.id = link_id;
  select * into partner from core.partners p where p.id = link.partner_id;
  state := private.link_state(link);
  if state not in ('open', 'signed', 'declined') then
    return json_build_object('state', state, 'locale', coalesce(link.locale, partner.locale));
  end if;
  return json_build_object(
    'state', state,
    'locale', coalesce(link.locale, partner.locale),
    'code_sent', private.code_sent('mandate:' || link.id),
    'partner_name', partner.name,
    'brand', case when partner.id <> private.people_tenant() then private.partner_brand(partner) end,
    'return_url', link.return_url,
    'facts', case when state = 'open' then private.connection_facts(link.connection_id) end,
    'periods', case when state = 'open' then private.mandate_periods(link.connection_id, link.validity_years) end,
    'offer', case when state = 'open' then (
      select private.offer(a.partner_id, a.payout_handler)
        from core.connections c join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
       where c.partner_id = link.partner_id and c.id = link.connection_id) end,
    'held_until', private.signed_until(link.connection_id),
    'signed', case when state = 'signed' then (
      select private.shown_mandate(m) from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id)
          end,
    'may_sign_again', state = 'signed' and private.may_sign_again(link.connection_id));
end $$;

create function api.open_mandate_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.count_visit(request ->> 'address_hash');
  return private.mandate_link_view((private.enter_link(caller, request)).id);
end $$;
comment on function api.open_mandate_link(jsonb, jsonb) is
  'What a link opens: {token_hash, address_hash} to {state: open|signed|declined|voided|expired|unknown, locale}. If '
  'the state allows also code_sent, partner_name, brand, return_url, facts, periods to sign for, offer, held_until, '
  'signed, may_sign_again.';

create function api.send_mandate_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  link      core.mandate_links;
  recipient text;
begin
  link := private.enter_link(caller, request);
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  perform private.refuse_if('link_not_open', private.link_state(link) <> 'open');
  recipient := private.connection_facts(link.connection_id) ->> 'email';
  perform private.refuse_if('signatory_email_missing', recipient is null);
  return private.mail_code('mandate:' || link.id, recipient, 'mandate_code:' || link.id, request,
    jsonb_build_object('logo', private.partner_brand(private.own_partner()) -> 'logo'),
        connection => link.connection_id);
end $$;
comment on function api.send_mandate_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts, within the limits of its address: {token_hash, '
  'code_hash, mail}.';

create function private.lock_link(link core.mandate_links) returns core.mandate_links
language plpgsql
as $$
begin
  -- connection first, as connections:update does, so that the two cannot wait for each other
  perform from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id for update;
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  return link;
end $$;

create function private.end_others_sign_ins(address text, partner uuid) returns void
language plpgsql security definer
as $$
begin
  if private.is_sandbox() and not exists (select from private.signed_accounts(address) a where a.partner_id = partner)
      then
    perform private.end_sign_ins(address);
  end if;
end $$;
comment on function private.end_others_sign_ins(text, uuid) is
  'On the sandbox a tenant''s first signature ends the sign-ins at that address: another tenant may have read the '
  'code. Definer, because it looks across tenants.';

-- Stores a signature on facts, by a mandate link, or a claim without one. The caller has proven who signs; brought_by
-- brings them with it.
create function private.record_signature(connection uuid, link uuid, facts jsonb, request jsonb,
                                         brought_by uuid default null) returns uuid
language plpgsql
as $$
declare
  signed_for core.connections;
  terms      record;
  mandate    uuid;
begin
  select * into strict signed_for from core.connections c where c.partner_id = private.partner_id()
      and c.id = connection;
  select * into strict terms from private.terms_of(connection, brought_by);
  perform private.end_others_sign_ins(facts ->> 'email', signed_for.partner_id);
  insert into core.mandates
    (partner_id, connection_id, owner_id, link_id, status, renewal, fee_pct, partner_share_pct, valid_from, valid_until,
     signed_name, signed_at, document,
     document_sha256, code_confirmed, code_sent_to, address, user_agent, locale)
  values
    (signed_for.partner_id, connection, signed_for.owner_id, link, 'signed',
     (facts ->> 'valid_from')::date > private.today(),
     terms.fee_pct, terms.partner_share_pct, (facts ->> 'valid_from')::date, (facts ->> 'valid_until')::date,
     request ->> 'signed_name', private.now(), request ->> 'document', request ->> 'document_sha256',
     facts ->> 'email' is not null, facts ->> 'email', left(request ->> 'address', 64),
         left(request ->> 'user_agent', 400),
     request #>> '{mail,locale}')
  returning id into mandate;
  insert into core.documents (partner_id, account_id, owner_id, mandate_id)
  values (signed_for.partner_id, signed_for.account_id, signed_for.owner_id, mandate);
  update core.mandate_links l set used_at = private.now() where l.partner_id = signed_for.partner_id and l.id = link;
  perform private.void_mandate_links(connection), private.judge_months(connection);
  perform private.emit(case when (facts ->> 'valid_from')::date > private.today() then 'mandate.renewed'
                            else 'mandate.signed' end,
                       signed_for.account_id, connection,
                           jsonb_build_object('connection_id', connection, 'mandate_status', 'signed')),
          private.advance_registration(signed_for.account_id, true);
  perform private.audit('mandate.signed', connection,
                        jsonb_build_object('code_confirmed', facts ->> 'email' is not null));
  return mandate;
end $$;

create function api.sign_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  link   core.mandate_links;
  facts  jsonb;
  judged record;
begin
  link := private.lock_link(private.enter_link(caller, request));
  perform private.refuse_if('link_not_open', private.link_state(link) <> 'open');
  facts := private.signed_facts(private.connection_facts(link.connection_id),
                                private.mandate_periods(link.connection_id, link.validity_years), request);
  if facts ->> 'email' is not null then
    select * into judged from private.judge_guess('mandate:' || link.id, 'mandate', request);
    if judged.refused is not null then
      return private.refusal(judged.refused);
    elsif judged.email <> facts ->> 'email' then
      return private.refusal('code_expired');  -- the code went to the previous address
    end if;
    perform private.use_code('mandate:' || link.id);
  end if;
  perform private.record_signature(link.connection_id, link.id, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id,
                                 jsonb_build_object('logo', private.partner_brand(private.own_partner()) -> 'logo'));
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.sign_mandate(jsonb, jsonb) is
  'Signs: {token_hash, facts, signed_name, code_hash, key, document, document_sha256, address, user_agent, mail}. '
  'facts, with the chosen years, must still be what was shown.';

create function api.decline_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  link core.mandate_links;
begin
  link := private.lock_link(private.enter_link(caller, request));
  perform private.refuse_if('link_not_open', private.link_state(link) <> 'open');
  insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, renewal, address, user_agent)
  values (link.partner_id, link.connection_id, link.owner_id, link.id, 'declined',
          private.signed_until(link.connection_id) is not null, left(request ->> 'address', 64),
          left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now() where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  -- declining the years after the signed years changes nothing
  perform private.emit('mandate.declined', c.account_id, c.id,
                       jsonb_build_object('connection_id', c.id, 'mandate_status', 'declined'))
     from core.connections c
    where c.partner_id = link.partner_id and c.id = link.connection_id and private.signed_until(c.id) is null;
  return json_build_object('ok', true);
end $$;
comment on function api.decline_mandate(jsonb, jsonb) is
  'Declines to sign: {token_hash, address, user_agent}. While a mandate holds this is about later years, and changes '
  'nothing.';

-- Makes a link to sign again, like signed_by or the link signed last: same language, fixed years and return URL.
create function private.issue_renewal_link(connection uuid, token_hash text, expires_at timestamptz,
                                           signed_by uuid default null, mailed boolean default false) returns void
language sql
as $$
  -- an open link of the CPO keeps working; a signature by one link voids the other
  insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years,
                                  return_url, mailed, expires_at)
  select m.partner_id, connection, m.owner_id, private.reserve_token_hash(issue_renewal_link.token_hash),
         case when l.id is null then m.locale else l.locale end, l.validity_years, l.return_url,
             issue_renewal_link.mailed, issue_renewal_link.expires_at
    from core.mandates m
    left join core.mandate_links l on l.partner_id = m.partner_id and l.id = m.link_id
   where m.partner_id = private.partner_id() and m.connection_id = connection and m.status <> 'declined'
       and (signed_by is null or m.link_id = signed_by)
   order by m.created_at desc limit 1
$$;

create function api.renew_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  link core.mandate_links;
  rate jsonb;
begin
  link := private.lock_link(private.enter_link(caller, request));
  perform private.refuse_if('link_not_open', private.link_state(link) is distinct from 'signed'
                            or not private.may_sign_again(link.connection_id));
  rate := private.debit('mandate_renewal:' || link.id, 'mandate_renewal');
  perform private.refuse_if('too_many_codes', not (rate ->> 'allowed')::boolean, json_build_object('rate', rate));
  perform private.issue_renewal_link(link.connection_id, request ->> 'new_token_hash',
                                     private.now() + interval '1209600 seconds', link.id);
  perform private.audit('mandate_link.issued', link.connection_id, '{"renewal": true}');
  return json_build_object('ok', true);
end $$;
comment on function api.renew_mandate(jsonb, jsonb) is
  'Gives the bearer of a signed link one to sign again, from 1 November of the last year on: {token_hash, '
  'new_token_hash}. Ten a day.';
