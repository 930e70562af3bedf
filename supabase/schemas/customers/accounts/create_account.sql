-- POST /v1/accounts.

create function private.account_answer(account uuid, idempotent boolean) returns json
language plpgsql stable
as $$
begin
  return (select json_build_object(
    'ok', true,
    'idempotent', idempotent,
    'account_id', a.id,
    'connection_id', c.id,
    'location_id', c.location_id,
    'ean_validation_status', c.ean_validation_status,
    'iban_stored', a.iban_ciphertext is not null,
    'iban_checksum_ok', a.iban_checksum_ok,
    'mandate_status', m.mandate_status,
    'account', json_build_object(
      'id', a.id, 'type', a.type, 'display_name', a.display_name, 'payout_handler', a.payout_handler,
      'cpo_external_ref', a.cpo_external_ref, 'created_at', private.iso(a.created_at)))
  from core.accounts a
  -- the connection it was created with, unless that one was archived and another took its place
  join lateral (
    select * from core.connections c
     where c.partner_id = a.partner_id and c.account_id = a.id
     order by c.status, c.created_at, c.id
     limit 1) c on true
  join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
  where a.id = account);
end $$;

-- Tells the signatory that the client changed the IBAN. On production the first five of a day at once, the others
-- together at its end.
create function private.notify_of_iban(before core.accounts, last4 text) returns void
language plpgsql
as $$
declare
  notified constant bigint := (select count(*) from core.notices n
                            where n.partner_id = before.partner_id and n.account_id = before.id
                                and n.kind = 'payout_iban_changed'
                              and n.created_at > private.now() - interval '1 day');
begin
  if before.payout_handler <> 'service_pays_customer'
     or not private.was_signed(before.id) then
    return;
  elsif notified < 5 or private.is_sandbox() then
    perform private.notify(before.id, 'payout_iban_changed', 'payout_iban_changed:' || before.id || ':'
                           || gen_random_uuid(),
                           jsonb_build_object('iban_last4', last4));
  else
    -- no money goes to any of these numbers within 48 hours
    insert into core.notices (partner_id, account_id, owner_id, kind, cause, due_at)
    values (before.partner_id, before.id, before.owner_id, 'payout_iban_changed', 'payout_iban_changed:' || before.id
            || ':' || private.today(),
            private.dutch_midnight(private.today() + 1))
    on conflict on constraint notices_cause_key do nothing;
  end if;
end $$;

-- A repeat by cpo_external_ref stores a new IBAN and nothing else (specification section 4.1). It may ask for
-- same_iban, {as: ciphertext, same}.
create function private.repeat_account(account uuid, input jsonb) returns json
language plpgsql
as $$
declare
  iban   constant jsonb := input -> 'iban';
  stored core.accounts;
begin
  if jsonb_typeof(iban) = 'object' then
    select * into stored from core.accounts a where a.partner_id = private.partner_id()
        and a.id = account for no key update;
    -- each encryption gives another ciphertext: only TypeScript, which has the keys, can compare the numbers
    if stored.iban_last4 = iban ->> 'last4' and input #>> '{same_iban,as}' is null then
      return private.need('same_iban', json_build_object('partner_id', stored.partner_id, 'sent', iban,
        'stored', json_build_object('ciphertext', stored.iban_ciphertext, 'key_id', stored.iban_key_id)));
    elsif input #> '{same_iban,same}' is distinct from 'true'
        or input #>> '{same_iban,as}' is distinct from stored.iban_ciphertext then
      perform private.store_iban(account, iban), private.notify_of_iban(stored, iban ->> 'last4');
    end if;
  end if;
  return private.account_answer(account, true);
end $$;

create function api.repeat_account(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  account uuid;
begin
  perform private.act_as(caller, 'cpo');
  account := private.known_account(input ->> 'cpo_external_ref');
  return case when account is not null then private.repeat_account(account, input) end;
end $$;
comment on function api.repeat_account(jsonb, jsonb) is
  'Repeats POST /v1/accounts with an otherwise invalid body: {cpo_external_ref, iban} to the account''s answer, null '
  'for a new reference.';

create function api.create_account(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  ean_register constant jsonb := input -> 'ean_register';
  reference  constant text  := input ->> 'cpo_external_ref';
  wanted     constant jsonb := input -> 'connection';
  ean        constant text  := wanted ->> 'ean_code';
  account    uuid;
  connection uuid;
  checked    record;
begin
  perform private.act_as(caller, 'cpo');
  if reference is not null then
    -- parallel first calls queue here, so that the later ones find the account of the first
    perform private.lock('account', private.client_id() || ' ' || reference);
    account := private.known_account(reference);
    if account is not null then
      return private.repeat_account(account, input);
    end if;
  end if;

  if not private.reserve_ean(ean) then
    perform private.refuse('ean_in_use');
  elsif coalesce(jsonb_typeof(ean_register), 'null') = 'null' then
    return private.need('ean_register', wanted::json);
  end if;
  select * into checked
    from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
                           wanted ->> 'house_number_addition', ean_register);
  if checked.outcome = 'mismatch' then
    perform private.record_ean_check(null, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    return private.refusal('ean_address_mismatch');
  end if;

  insert into core.accounts
    (partner_id, client_id, type, display_name, payout_handler, cpo_external_ref, company, iban_ciphertext,
     iban_key_id, iban_last4, iban_checksum_ok)
  values
    (private.partner_id(), private.client_id(), input ->> 'type', input ->> 'display_name', input ->> 'payout_handler',
     reference,
     nullif(input -> 'company', 'null'), input #>> '{iban,ciphertext}', input #>> '{iban,key_id}',
         input #>> '{iban,last4}', (input #>> '{iban,checksum_ok}')::boolean)
  returning id into account;

  insert into core.signatories (partner_id, account_id, full_name, email, phone)
  values (private.partner_id(), account, input #>> '{person,full_name}', input #>> '{person,email}',
          input #>> '{person,phone}');

  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_exclusive, ean_validation_status,
                                ean_checked_at)
  values (private.partner_id(), account,
          private.location_for(wanted || jsonb_strip_nulls(jsonb_build_object(
            'street', coalesce(wanted ->> 'street', checked.street), 'city',
                coalesce(wanted ->> 'city', checked.city)))),
          ean, not private.is_test_ean(ean),
          case checked.outcome when 'matched' then 'matched' else 'unverified' end, private.now())
  returning id into connection;

  perform private.record_ean_check(connection, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
    wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
  perform private.audit('account.created', account);
  perform private.emit('account.created', account, connection, jsonb_build_object('connection_id', connection));
  return private.account_answer(account, false);
end $$;
comment on function api.create_account(jsonb, jsonb) is
  'POST /v1/accounts: the body, its iban sealed, and ean_register, the EAN register''s answer. Asks for ean_register '
  'before it stores anything, if it needs the answer and has none.';
