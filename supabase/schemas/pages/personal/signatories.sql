-- Signatories of a CPO's customers. They have no login, and sign in by a code mailed to the address on file. They reach
-- the accounts that they signed for, of any CPO. Every statement looks these up again: a changed address or a CPO that
-- is switched off ends it at once. Row-level security gives them no row, so the definers here read all of it, beginning
-- at private.own_account_rows.

-- The one rule of whose accounts these are: a person's own, and those they signed for as a CPO's customer. Only
-- definers call it.
create function private.own_account_rows() returns setof core.accounts
language plpgsql stable rows 1
as $$
begin
  if private.user_id() is not null then
    return query select a.* from core.accounts a where a.user_id = private.user_id();
  end if;
  if private.signatory() is not null then
    return query select * from private.signed_accounts(private.signatory());
  end if;
end $$;

create function private.own_email() returns text
language plpgsql stable security definer
as $$ begin return coalesce((private.user_profile(private.user_id())).email, private.signatory()); end $$;
comment on function private.own_email() is
  'The address of this transaction''s person, of their login if they have one. Definer, because logins belong to '
  'Supabase Auth.';

create function private.enter_signed_account(account uuid, connection uuid default null) returns core.accounts
language plpgsql security definer
as $$
declare
  signed core.accounts;
begin
  select * into signed from private.signed_accounts(private.signatory()) a
   where a.id = account or exists (select from core.connections c where c.partner_id = a.partner_id
                                   and c.account_id = a.id and c.id = connection);
  perform private.refuse_if('account_not_found', signed.id is null);
  perform private.act_for_person(signed.partner_id, null), private.set_tenant_and_see_all(signed.partner_id),
      set_config('app.caller_kind', 'signatory', true);
  return signed;
end $$;
comment on function private.enter_signed_account(uuid, uuid) is
  'Enters the tenant of an account that the caller signed for, or that has this connection, as by a mandate link. '
  'Refused with account_not_found for any other. Definer, because it looks across tenants.';

create function private.enter_signed_document(mandate uuid, line uuid, part uuid) returns void
language plpgsql security definer
as $$
declare
  account uuid;
begin
  select a.id into account
    from private.signed_accounts(private.signatory()) a
    join core.documents d on d.partner_id = a.partner_id and d.account_id = a.id
   where d.mandate_id = mandate or d.line_id = line or d.part_id = part;
  perform private.enter_signed_account(account) where account is not null;
end $$;
comment on function private.enter_signed_document(uuid, uuid, uuid) is
  'private.enter_signed_account, if a document is of an account that the caller signed for. Else nothing changes, and '
  'it is looked for among the caller''s own. Definer, because it looks across tenants.';

-- Mails a signatory a code to change something of an account: {token_hash, code_hash, mail}.
create function private.mail_account_code(account core.accounts, request jsonb) returns json
language plpgsql
as $$
declare
  address constant text := private.signatory();
begin
  return private.mail_code('browser:' || (request ->> 'token_hash'), address, 'account_code', request,
    jsonb_build_object('partner_name', (select p.name from core.partners p where p.id = account.partner_id)),
    counted => private.own_code_fits('account_code', address, request #>> '{mail,key}'));
end $$;

create function api.send_account_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  account core.accounts;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  perform private.refuse_if('account_not_found', account.payout_handler <> 'service_pays_customer');
  return private.mail_account_code(account, request);
end $$;
comment on function api.send_account_code(jsonb, jsonb) is
  'Mails a signatory the code to change the IBAN of an account that the service pays: {account_id, token_hash, '
  'code_hash, mail}. Ten minutes, five attempts, within the limits of the address; a newer code replaces the older.';

create function api.read_signed_account(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
declare
  account core.accounts;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  perform private.refuse_if('account_not_found', account.payout_handler <> 'service_pays_customer');
  return json_build_object(
    'email', private.own_email(), 'partner_id', account.partner_id, 'iban_last4', account.iban_last4,
    'partner_name', (select p.name from core.partners p where p.id = account.partner_id),
    'code_sent', private.code_sent('browser:' || (request ->> 'token_hash')));
end $$;
comment on function api.read_signed_account(jsonb, jsonb) is
  'An account that the service pays, for its signatory to change the IBAN: {account_id, token_hash} to {email, '
  'partner_id, partner_name, iban_last4, code_sent}.';

create function api.change_signed_iban(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  account core.accounts;
  used    record;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  perform private.refuse_if('account_not_found', account.payout_handler <> 'service_pays_customer'
                            or account.partner_id <> (request ->> 'partner_id')::uuid);
  select * into used from private.redeem_sign_in_code(request, 'account');
  if used.refused is not null then
    return private.refusal(used.refused);  -- a wrong code was counted
  elsif used.email is distinct from private.signatory() then
    perform private.refuse('account_not_found');
  elsif used.again then
    -- a second click: the number is there; another one takes a code of its own
    return case when account.iban_last4 is distinct from request #>> '{iban,last4}' then private.refusal('code_expired')
                else json_build_object('ok', true) end;
  end if;
  perform private.store_iban(account.id, request -> 'iban');
  perform private.notify(account.id, 'payout_iban_changed', 'payout_iban_changed:' || account.id || ':'
                         || gen_random_uuid(),
                         jsonb_build_object('iban_last4', request #>> '{iban,last4}', 'by', 'signatory',
                                            'held_until', private.iso(private.iban_held_until(private.now()))));
  return json_build_object('ok', true);
end $$;
comment on function api.change_signed_iban(jsonb, jsonb) is
  'A signatory changes the IBAN, by a code mailed for it: {account_id, partner_id, token_hash, code_hash, key, iban}. '
  'partner_id is the tenant that the IBAN was encrypted for. They are told by mail, and no money goes there for 48 '
  'hours.';

create function api.renew_signed_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  account    core.accounts;
  connection uuid;
  rate       jsonb;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  select c.id into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id
       and c.id = (request ->> 'connection_id')::uuid for update;
  perform private.refuse_if('link_not_open', connection is null or not private.may_sign_again(connection));
  rate := private.debit('mandate_renewal:' || connection, 'mandate_renewal');
  perform private.refuse_if('too_many_codes', not (rate ->> 'allowed')::boolean, json_build_object('rate', rate));
  perform private.issue_renewal_link(connection, request ->> 'new_token_hash',
                                     private.now() + interval '1209600 seconds');
  perform private.audit('mandate_link.issued', connection, '{"renewal": true}');
  return json_build_object('ok', true);
end $$;
comment on function api.renew_signed_mandate(jsonb, jsonb) is
  'Gives a signatory a link to sign again, from 1 November of the last year on: {account_id, connection_id, '
  'new_token_hash}. Ten a day. Refused with link_not_open before.';

-- Enters the tenant of a connection, {connection_id}, whose mandate the signatory signed; returns account and address.
create function private.enter_signed_mandate(caller jsonb, request jsonb, out account core.accounts, out address text)
language plpgsql
as $$
declare
  connection constant uuid := (request ->> 'connection_id')::uuid;
begin
  perform private.act_as(caller, 'session', 'signatory');
  address := private.signatory();
  account := private.enter_signed_account(null, connection);
  -- of two clicks the second finds it ended
  perform from core.connections c where c.partner_id = account.partner_id and c.id = connection for update;
  if not exists (select from core.connection_mandates c
                  where c.partner_id = account.partner_id and c.connection_id = connection and c.status = 'active'
                      and c.mandate_status = 'signed') then
    perform private.refuse('link_not_open');
  end if;
end $$;

create function api.open_signed_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  entered    record;
  connection constant uuid := (request ->> 'connection_id')::uuid;
begin
  select * into entered from private.enter_signed_mandate(caller, request);
  return (
    select json_build_object(
      'email', entered.address,
      'partner_name', (select p.name from core.partners p where p.id = (entered.account).partner_id),
      'ean_code', c.ean_code, 'registration_status', c.registration_status,
      'may_still_book', private.may_still_book(c.registration_status), 'renewed_until', c.renewed_until,
      'withdrawal', private.withdrawal_means(connection),
      'code_sent', private.code_sent('browser:' || (request ->> 'token_hash')))
      from core.connection_mandates c where c.partner_id = (entered.account).partner_id
          and c.connection_id = connection);
end $$;
comment on function api.open_signed_mandate(jsonb, jsonb) is
  'What withdrawing the mandate for a connection would mean: {connection_id, token_hash} to {email, partner_name, '
  'ean_code, registration_status, may_still_book, renewed_until, withdrawal, code_sent}; withdrawal as '
  'private.withdrawal_means.';

create function api.send_withdrawal_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  return private.mail_account_code((private.enter_signed_mandate(caller, request)).account, request);
end $$;
comment on function api.send_withdrawal_code(jsonb, jsonb) is
  'Mails a signatory the code to withdraw the mandate for a connection: {connection_id, token_hash, code_hash, mail}. '
  'Ten minutes, five attempts, within the limits of the address; a newer code replaces the older.';

create function api.withdraw_signed_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  entered record;
  partner core.partners;
  used    record;
begin
  select * into entered from private.enter_signed_mandate(caller, request);
  select * into used from private.redeem_sign_in_code(request, 'account');
  if used.refused is not null then
    return private.refusal(used.refused);  -- a wrong code was counted
  elsif used.email is distinct from entered.address then
    perform private.refuse('account_not_found');
  end if;
  perform private.end_mandate((request ->> 'connection_id')::uuid, 'revoked', 'customer');
  partner := private.own_partner();
  perform private.mail_each(
    'customer_withdrew', coalesce(partner.locale, 'nl'), 'customer_withdrew',
    jsonb_build_object('partner_name', private.partner_display_name(partner),
                       'reference', coalesce((entered.account).cpo_external_ref, (entered.account).id::text)),
    array(select private.manager_emails(partner.id)));
  return json_build_object('ok', true);
end $$;
comment on function api.withdraw_signed_mandate(jsonb, jsonb) is
  'A signatory withdraws the mandate for a connection, by a code mailed for it: {connection_id, token_hash, code_hash, '
  'key}. The whole months before it count. The signatory and the partner''s managers are told by mail, the client by '
  'its event.';
