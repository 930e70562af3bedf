-- POST /sandbox/v1/customers/{id}/sign, …/expire-mandate.

create function private.mandate_played(account uuid, connection uuid) returns json
language plpgsql stable
as $$
begin
  return (
    select json_build_object('ok', true, 'account_id', account, 'connection_id', m.connection_id,
                             'mandate_status', m.mandate_status, 'mandate_valid_from', m.valid_from,
                             'mandate_valid_until', m.valid_until)
      from core.connection_mandates m
     where m.partner_id = private.partner_id() and m.connection_id = mandate_played.connection);
end $$;

-- Begins a rehearsal of the signing page for a CPO's customer: it makes a link beside the open ones.
create function api.prepare_signature(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  account    core.accounts;
  connection core.connections;
  partner    core.partners;
  picked     uuid;
  email      text;
  status     text;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  partner := private.own_partner();
  select * into account from core.accounts a
   where a.partner_id = private.partner_id() and a.id = private.as_uuid(input ->> 'id');
  if account.id is null and (private.own_customer(input ->> 'id', input ->> 'key')).account_id is not null then
    perform private.refuse('customer_not_found', json_build_object('detail',
      'This customer signs on the claim pages: see POST /sandbox/v1/drafts/{id}/claim.'));
  end if;
  perform private.refuse_if('customer_not_found', account.id is null);
  picked := private.pick_connection(account.id, (input ->> 'connection_id')::uuid, false);
  select * into connection from core.connections c
   where c.partner_id = account.partner_id and c.id = picked for update;
  select s.email into email from core.signatories s where s.partner_id = account.partner_id
      and s.account_id = account.id;
  select m.mandate_status into status from core.connection_mandates m
   where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  if input ->> 'outcome' = 'revoked' then
    perform private.refuse_if('mandate_not_signed', status <> 'signed'),
            private.refuse_if('signatory_email_missing', email is null, json_build_object('detail',
              'The signatory has no e-mail address, and ends the mandate by a code that we mail. Give one first.'));
  else
    perform private.refuse_if('mandate_already_signed', not private.can_sign(connection.id));
    insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, expires_at)
    values (connection.partner_id, connection.id, connection.owner_id,
            private.reserve_token_hash(input ->> 'token_hash'), partner.locale,
            coalesce((input ->> 'years')::int, partner.mandate_years), private.now() + interval '10 minutes');
  end if;
  return json_build_object('connection_id', connection.id, 'email', email, 'locale', coalesce(partner.locale, 'nl'));
end $$;
comment on function api.prepare_signature(jsonb, jsonb) is
  'Begins POST /sandbox/v1/customers/{id}/sign: {id, key, connection_id, outcome, years, token_hash} to '
  '{connection_id, email, locale}. To sign or decline it makes a link for ten minutes; an open link of the CPO works '
  'on.';

create function api.read_played_mandate(caller jsonb, input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  account uuid;
begin
  perform private.act_as(caller, 'partner');
  select c.account_id into account from core.connections c
   where c.partner_id = private.partner_id() and c.id = (input ->> 'connection_id')::uuid;
  return private.mandate_played(account, (input ->> 'connection_id')::uuid);
end $$;
comment on function api.read_played_mandate(jsonb, jsonb) is
  'Ends POST /sandbox/v1/customers/{id}/sign: {connection_id} to {ok, account_id, connection_id, mandate_status, '
  'mandate_valid_from, mandate_valid_until}.';

create function private.end_last_year(tenant uuid, connection uuid) returns boolean
language plpgsql security definer
as $$
declare
  last_year constant int := extract(year from private.today())::int - 1;
  signed    uuid[];
  years     int;
  expired   core.mandates[];
begin
  perform private.only_in_sandbox();
  select array_agg(m.id), extract(year from max(m.valid_until))::int - last_year into signed, years
    from core.mandates m
   where m.partner_id = tenant and m.connection_id = end_last_year.connection and m.status = 'signed';
  if signed is null then
    return false;
  end if;
  -- years signed ahead stay behind the others
  with ended as (
    update core.mandates m
       set valid_from = (m.valid_from - make_interval(years => greatest(years, 0)))::date,
           valid_until = (m.valid_until - make_interval(years => greatest(years, 0)))::date,
           status = 'expired', ended_at = private.now(), ended_reason = 'last_year_over'
     where m.partner_id = tenant and m.id = any (signed)
    returning m as mandate)
  select array_agg(e.mandate) into expired from ended e;
  perform private.judge_months(connection);
  perform private.note_expired(expired);
  return true;
end $$;
comment on function private.end_last_year(uuid, uuid) is
  'Moves the signed years of a connection into the past, the last one to last year, and ends them as the job on 1 '
  'January does. False if nothing is signed. Definer, because the job is: it tells customers of every tenant.';

create function api.expire_sandbox_mandate(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  account    uuid;
  connection uuid;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  account := private.enter_customer(input ->> 'id', input ->> 'key');
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, false);
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for update;
  if not private.end_last_year(private.partner_id(), connection) then
    perform private.refuse('mandate_not_signed');
  end if;
  return private.mandate_played(account, connection);
end $$;
comment on function api.expire_sandbox_mandate(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/expire-mandate: {id, key, connection_id} to {ok, account_id, connection_id, '
  'mandate_status, mandate_valid_from, mandate_valid_until}. Months of this year that are not booked become '
  'outside_mandate.';
