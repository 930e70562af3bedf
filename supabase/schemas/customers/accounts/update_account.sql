-- POST /v1/accounts:update.

-- Whether somebody ever signed for an account: the evidence names the person and the company as they were.
create function private.was_signed(account uuid) returns boolean
language sql stable
as $$
  select exists (
    select from core.connections c
      join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.document is not null
     where c.partner_id = private.partner_id() and c.account_id = account)
$$;

-- The links of an account by which somebody can still sign.
create function private.open_mandate_links(account uuid) returns setof core.mandate_links
language sql stable
as $$
  select l.* from core.connections c
    join core.mandate_links l on l.partner_id = c.partner_id and l.connection_id = c.id
   where c.partner_id = private.partner_id() and c.account_id = account
     and l.voided_at is null and l.used_at is null and l.expires_at > private.now()
$$;

-- Mails the signatory a link like this one, which is voided. False if a limit dropped the mail.
create function private.replace_mandate_link(old core.mandate_links, signatory core.signatories, token_hash text,
                                             url text, key jsonb) returns boolean
language plpgsql
as $$
declare
  link core.mandate_links;
begin
  insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, return_url,
                                  mailed, expires_at)
  values (old.partner_id, old.connection_id, old.owner_id, private.reserve_token_hash(replace_mandate_link.token_hash),
          old.locale, old.validity_years, old.return_url, true,
          greatest(old.expires_at, private.now() + interval '1209600 seconds'))
  returning * into link;
  if not private.mail_mandate_link(link, signatory, url, key) then
    perform private.void_mandate_links(link.connection_id);  -- nobody has it
    return false;
  end if;
  perform private.audit('mandate_link.issued', link.connection_id, '{"address_changed": true}');
  return true;
end $$;

-- Tells a signatory, at the address that was on file, that the CPO changed e-mail or telephone. False if a limit
-- dropped the mail.
create function private.mail_contact_change(signatory core.signatories, changed text[], key jsonb) returns boolean
language plpgsql
as $$
declare
  partner constant core.partners := private.own_partner();
  locale  constant text := (
    select m.locale from core.connections c
      join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.locale is not null
     where c.partner_id = signatory.partner_id and c.account_id = signatory.account_id
     order by m.created_at desc limit 1);
begin
  return private.enqueue_mail(
    jsonb_build_object('template', 'contact_changed', 'locale', coalesce(locale, partner.locale, 'nl'), 'key', key),
    signatory.email, 'contact_changed:' || signatory.account_id || ':' || gen_random_uuid(),
    jsonb_build_object('full_name', signatory.full_name, 'partner_name', partner.name,
                       'logo', private.partner_brand(partner) -> 'logo', 'changed', changed,
                       -- the mail about it may go to the new address
                       'iban_last4', (
                         select a.iban_last4 from core.accounts a
                          where a.partner_id = signatory.partner_id and a.id = signatory.account_id
                            and a.created_at < a.iban_changed_at
                            and private.iban_held_until(a.iban_changed_at) is not null)));
end $$;

create function api.update_account(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  key       constant jsonb := input -> 'key';
  new_links constant jsonb := input -> 'new_links';
  found_id  uuid;
  account   core.accounts;
  signatory core.signatories;
  wanted    core.signatories;
  wanted_company jsonb;
  signed    boolean;
  fields    text[];
  mailed    core.mandate_links[] := '{}';
  link      core.mandate_links;
  place     int := 0;
  voided    int := 0;
  sent      int := 0;
begin
  perform private.act_as(caller, 'cpo');
  found_id := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  -- connections first, as a signature does: each sees what the other did
  perform from core.connections c where c.partner_id = private.partner_id() and c.account_id = found_id
    order by c.id for update;
  select * into account from core.accounts a where a.partner_id = private.partner_id() and a.id = found_id;
  select * into signatory from core.signatories s where s.partner_id = account.partner_id
      and s.account_id = account.id for update;
  wanted := jsonb_populate_record(signatory, jsonb_strip_nulls(coalesce(nullif(input -> 'person', 'null'), '{}')));
  wanted_company := coalesce(account.company, '{}')
                    || jsonb_strip_nulls(coalesce(nullif(input -> 'company', 'null'), '{}'));
  fields := array_remove(array[
    case when wanted.full_name <> signatory.full_name then 'full_name' end,
    case when wanted_company <> coalesce(account.company, '{}') then 'company' end,
    case when wanted.email is distinct from signatory.email then 'email' end,
    case when wanted.phone is distinct from signatory.phone then 'phone' end], null);
  signed := private.was_signed(account.id);
  perform private.refuse_if('account_signed', signed and fields && array['full_name', 'company']);

  if 'email' = any (fields) then
    mailed := array(
      select distinct on (l.connection_id) l from private.open_mandate_links(account.id) l where l.mailed
       order by l.connection_id, l.created_at desc);
    if cardinality(mailed) > coalesce(jsonb_array_length(nullif(new_links, 'null')), 0) then
      return private.need('new_links', json_build_object('count', cardinality(mailed)));
    end if;
  end if;
  if fields <> '{}' then
    update core.signatories s set full_name = wanted.full_name, email = wanted.email, phone = wanted.phone
     where s.partner_id = account.partner_id and s.account_id = account.id;
    update core.accounts a set company = wanted_company
     where a.partner_id = account.partner_id and a.id = account.id and 'company' = any (fields);
    -- who signed is told, or nothing changes
    if signed and signatory.email is not null and not private.mail_contact_change(signatory, fields, key) then
      perform private.refuse('too_many_requests', json_build_object('rate', private.mail_rate()));
    end if;
    perform private.audit('account.updated', account.id, jsonb_build_object('fields', fields));
  end if;
  if 'email' = any (fields) then
    -- the old address may be a stranger's, and whoever had a link there reads a name and an EAN by it
    voided := (select count(*) from private.open_mandate_links(account.id));
    perform private.void_mandate_links(c.id) from core.connections c
      where c.partner_id = account.partner_id and c.account_id = account.id;
    perform private.end_others_sign_ins(wanted.email, account.partner_id) where signed;
    foreach link in array mailed loop
      sent := sent + private.replace_mandate_link(link, wanted, new_links -> place ->> 'token_hash',
                                                  new_links -> place ->> 'url', key)::int;
      place := place + 1;
    end loop;
  end if;
  return json_build_object(
    'ok', true,
    'changed', fields <> '{}',
    'account_id', account.id,
    'cpo_external_ref', account.cpo_external_ref,
    'person', json_build_object('full_name', wanted.full_name, 'email', wanted.email, 'phone', wanted.phone),
    'company', nullif(wanted_company, '{}'),
    'signed', signed,
    'mandate_links_voided', voided,
    'mandate_links_mailed', sent);
end $$;
comment on function api.update_account(jsonb, jsonb) is
  'POST /v1/accounts:update: {account_id, cpo_external_ref, person, company, key, new_links}. After a signature only '
  'e-mail and telephone change, and the old address is told. Another e-mail address voids the open mandate links. '
  'It asks for new_links, [{token_hash, url}], in place of links that we mailed, and mails them.';
