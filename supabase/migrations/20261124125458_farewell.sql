begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."email_hashes"(text, text);

DROP FUNCTION "private"."forget_opt_outs"(text[], text);

DROP FUNCTION "private"."opted_out"(text, text);

CREATE OR REPLACE FUNCTION api.clear_fixture (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into erased from private.erase_customers(private.partner_id(), array(
    select d.id from core.drafts d where d.partner_id = private.partner_id() and d.external_ref = input ->> 'external_ref'), input ->> 'key');
  perform private.forget_opt_outs(array[input ->> 'email'], input ->> 'key', private.partner_id());
  return json_build_object('drafts_deleted', erased.drafts);
end $function$;

CREATE OR REPLACE FUNCTION api.close_own_account (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person     uuid;
  ending     json;
  connection uuid;
  brand      jsonb;
begin
  perform private.act_as(caller, 'session');
  person := private.user_id();
  perform private.require_recent_sign_in();
  ending := private.own_end();
  if (ending ->> 'balance_eur')::numeric > 0 and (ending ->> 'iban_missing')::boolean then
    return json_build_object('closed', false);
  end if;
  perform from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
   where a.user_id = person and c.status = 'active' order by c.id for update of c;
  for connection in
    select c.connection_id from core.connection_mandates c
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
     where a.user_id = person and c.status = 'active' and c.mandate_status = 'signed' order by c.connection_id
  loop
    perform private.end_mandate(connection, 'revoked', 'customer');
  end loop;
  update core.chargers h set status = 'removed', removed_at = private.now() where h.partner_id = private.partner_id() and h.user_id = person and h.status = 'active';
  brand := private.own_brand();
  if brand is not null then
    perform private.stop_sharing(person, (brand ->> 'partner_id')::uuid);
  end if;
  perform private.audit('user.account_closed', person);
  perform private.leave_partner(person, coalesce(input ->> 'operator', input #>> '{mails,operator}'));
  perform private.say_farewell(person, ending, input);
  perform private.close_login(person);
  return json_build_object('closed', true, 'end', ending);
end $function$;

CREATE OR REPLACE FUNCTION private.email_hashes (
  email  text,
  key    text,
  tenant uuid DEFAULT NULL::uuid
)
  RETURNS bytea[]
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  hashes bytea[] := '{}';
  each   text;
begin
  foreach each in array private.keys_for('opt_out', key) loop
    hashes := hashes || private.claim_mac('email:' || lower(email), each);
    if tenant is not null then
      hashes := hashes || private.claim_mac('ended:' || tenant || ':' || lower(email), each);
    end if;
  end loop;
  return hashes;
end $function$;

CREATE OR REPLACE FUNCTION private.end_customer (
  person  uuid,
  address text,
  key     text
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  insert into core.suppressions (email_hash)
  select private.claim_mac('ended:' || p.id || ':' || lower(address), (private.keys_for('opt_out', key))[1])
    from (select a.partner_id from core.attributions a where a.user_id = person
          union select a.partner_id from core.ended_attributions a where a.user_id = person
          union select d.partner_id from core.drafts d where d.user_id = person) p (id)
   where key is not null
  on conflict do nothing
$function$;

CREATE OR REPLACE FUNCTION private.erase_customers (
  partner uuid,
  chosen  uuid[],
  key     text,
  OUT     customers bigint,
  OUT     drafts bigint
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  house       constant uuid := private.house();
  everything  constant boolean := chosen is null;
  gone        core.drafts[];
  people      uuid[];
  logins      uuid[];
  accounts    uuid[];
  chargers    uuid[];
  connections uuid[];
begin
  -- before any row, as who prepares a payout does
  perform private.only_in_sandbox(), private.lock_payouts_of(partner);
  -- waits for requests under way on these drafts, to see what they changed
  gone := array(select d from core.drafts d where d.partner_id = partner and (everything or d.id = any (chosen)) order by d.id for update);
  people := array(
    select d.user_id from unnest(gone) d where d.user_id is not null
    union select a.user_id from core.attributions a where everything and a.partner_id = partner
    -- a withdrawn draft leaves its login behind
    union select u.id from auth.users u where everything and u.raw_app_meta_data ->> 'claimed_for' = partner::text);
  -- a login is deleted only where a claim of this partner made it and nobody else relies on it
  logins := array(
    select u.id from auth.users u
     where u.id = any (people) and u.raw_app_meta_data ->> 'claimed_for' = partner::text
       and not exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
       and not exists (select from core.partner_managers m where m.user_id = u.id));
  accounts := array(
    select a.id from core.accounts a
     where a.partner_id = house and (a.id = any (array(select d.account_id from unnest(gone) d)) or a.user_id = any (logins))
     order by a.id for update);
  perform private.lock_bookings_of(private.house(), accounts);
  -- an opt-out outlives its draft; what remembers a draft that was withdrawn is the mail by which its customer opted out
  perform private.forget_opt_outs(array(
    select d.email from unnest(gone) d
    union select u.email from auth.users u where u.id = any (people)
    union select m.recipient from core.mail_outbox m where everything and m.partner_id = partner and m.cause like 'claim%'), key, partner);
  -- locked in the order in which charging sessions lock them
  perform from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
    where v.partner_id = house and (h.account_id = any (accounts) or h.user_id = any (logins)) order by v.id for update of v;
  chargers := array(select h.id from core.chargers h
                     where h.partner_id = house and (h.account_id = any (accounts) or h.user_id = any (logins)) order by h.id for update);
  connections := array(select c.id from core.connections c where c.partner_id = house and c.account_id = any (accounts) order by c.id for update);

  perform private.erase_accounts(accounts, chargers, connections);

  -- what was written about drafts; the mandates of CPO accounts may have gone to the same people
  delete from core.mail_outbox m
   where m.partner_id = partner and m.cause like 'claim%'
     and (everything or m.recipient = any (array(select d.email from unnest(gone) d)));
  delete from core.mail_outbox m using auth.users u where u.id = any (logins) and m.partner_id = house and m.recipient = u.email;
  delete from core.one_time_codes c where c.subject = any (array(select 'claim:' || g.id from unnest(gone) g));
  delete from core.drafts d where d.partner_id = partner and d.id = any (array(select g.id from unnest(gone) g));
  drafts := cardinality(gone);
  -- deleted drafts do not count toward the cap
  delete from core.draft_uploads u
   where u.partner_id = partner
     and (everything or u.id in (select n.id from core.draft_uploads n where n.partner_id = partner order by n.id desc limit drafts));
  delete from core.imports i where everything and i.partner_id = partner;
  with ended as (delete from core.attributions a where a.partner_id = partner and a.user_id = any (people) returning 1)
  select count(*) into customers from ended;
  delete from core.ended_attributions a where a.partner_id = partner and (everything or a.user_id = any (people));
  -- a code that waits would make a login that nobody knows to be this partner's
  delete from core.one_time_codes c using auth.users u where u.id = any (logins) and c.email = u.email and starts_with(c.subject, 'browser:');
  delete from auth.users u where u.id = any (logins);
end $function$;

CREATE OR REPLACE FUNCTION private.forget_opt_outs (
  emails text[],
  key    text,
  tenant uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.only_in_sandbox();
  delete from core.suppressions s where s.email_hash = any (array(select unnest(private.email_hashes(e, key, tenant)) from unnest(emails) e));
end $function$;

CREATE OR REPLACE FUNCTION private.known_addresses (
  emails text[],
  tenant uuid,
  key    text,
  others boolean
)
  RETURNS TABLE (
    email  text,
    reason text
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return query
  with open as (
    select d.email, bool_or(d.partner_id = tenant) as own, bool_or(d.partner_id <> tenant and p.is_active) as foreign
      from core.drafts d
      join core.partners p on p.id = d.partner_id
     where d.email = any (emails) and (others or d.partner_id = tenant) and d.status in ('invited', 'claimed') and (d.status = 'claimed' or d.expires_at > private.now())
     group by d.email
  ), people as (
    select distinct u.email::text as email from auth.users u
     -- the condition of Auth's own index on the address
     where others and u.email = any (emails) and u.is_sso_user = false
       and (exists (select from core.attributions a where a.user_id = u.id)
            or exists (select from core.accounts a where a.user_id = u.id))
  )
  select e.email,
         case when o.own then 'already_drafted'
              when p.email is not null then 'existing_user'
              when others and private.opted_out(e.email, key, tenant) then 'suppressed'
              when o.foreign then 'conflict' end
    from unnest(emails) as e (email)
    left join open o on o.email = e.email
    left join people p on p.email = e.email;
end $function$;

CREATE OR REPLACE FUNCTION private.opted_out (
  email  text,
  key    text,
  tenant uuid DEFAULT NULL::uuid
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ begin return exists (select from core.suppressions s where s.email_hash = any (private.email_hashes(email, key, tenant))); end $function$;

CREATE OR REPLACE FUNCTION private.own_end()
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with month as (select date_trunc('month', private.today())::date as began)
  select json_build_object(
    'balance_eur', private.own_balance(),
    'accounts', count(*),
    'managed_alone', private.managed_alone(private.user_id()),
    'lost_kwh', coalesce((
      select sum(m.total_kwh) from core.counted_months m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
       where c.account_id in (select o.id from core.accounts o where o.user_id = private.user_id())
         and c.registration_status in ('concept', 'afgekeurd') and m.status = 'staged' and m.period < (select began from month)), 0),
    'month', (select began from month),
    'month_kwh', coalesce((
      select sum(m.total_kwh) from core.counted_months m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
       where c.account_id in (select o.id from core.accounts o where o.user_id = private.user_id())
         and m.status = 'staged' and m.period >= (select began from month)), 0),
    'iban_missing', coalesce(bool_or(a.iban_ciphertext is null and a.payout_handler = 'service_pays_customer'), false),
    -- of this delivery year, which is the last one
    'kept_until', case when count(*) > 0 then make_date(extract(year from private.today())::int + 7, 1, 1) end)
    from core.accounts a where a.user_id = private.user_id()
$function$;

CREATE OR REPLACE FUNCTION private.say_farewell (
  person uuid,
  ending json,
  input  jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  tenant  constant uuid := private.partner_id();
  address constant text := (private.user_profile(person)).email;
begin
  perform private.end_customer(person, address, input ->> 'key');
  -- the functions of the release before send no mail
  if jsonb_typeof(input -> 'mail') = 'object' then
    perform private.act_for_partner(private.house()),
            private.enqueue_mail(input -> 'mail', address, 'account_closed:' || person, jsonb_build_object('end', ending)),
            private.act_for_partner(tenant);
  end if;
end $function$;

COMMENT ON FUNCTION "api"."close_own_account"(jsonb, jsonb) IS 'A person closes their account: {operator, key, mail}, operator as private.leave_partner takes it. Mandates end, chargers and credentials go, and what they are owed is paid without a minimum. Answers {closed, end}; closed is false if there is money and no IBAN. They are mailed what it meant, and the partner that brought them cannot invite them again. Refused with recent_sign_in_required a quarter of an hour after signing in. docs/retention.md says what is kept.';

COMMENT ON FUNCTION "private"."email_hashes"(text, text, uuid) IS 'The hashes of an address on the opt-out list: one for each key that opt-outs were ever stored with. With a tenant also those of a customer of that partner who ended the account.';

COMMENT ON FUNCTION "private"."end_customer"(uuid, text, text) IS 'Keeps the partners that brought a person from inviting the address again, once the person ended the account. Kept as opt-outs are, for these partners alone. Definer, because no tenant owns the list.';

COMMENT ON FUNCTION "private"."forget_opt_outs"(text[], text, uuid) IS 'Takes addresses off the opt-out list, for a reset of the sandbox. Definer, because no tenant owns the list.';

COMMENT ON FUNCTION "private"."opted_out"(text, text, uuid) IS 'Whether an address opted out of mail, or with a tenant was a customer of that partner who ended the account. Definer, because no tenant may read the list.';

COMMENT ON FUNCTION "private"."own_end"() IS 'What closing the account means for this transaction''s person: {balance_eur, accounts, managed_alone, lost_kwh, month, month_kwh, iban_missing, kept_until}. Without accounts nothing is kept. lost_kwh, of months before this one, would count if their unsubmitted or rejected registration were approved first. month_kwh, of this month, is lost in any case.';

COMMENT ON FUNCTION "private"."say_farewell"(uuid, json, jsonb) IS 'Mails a person what closing the account meant, and keeps the partners that brought them from inviting them again: {key, mail}. Definer, because the list of opt-outs belongs to no tenant.';

COMMENT ON TABLE "core"."suppressions" IS 'Addresses that opted out of mail, as SHA-256 of the address with a key of the deployment; and of customers who ended the account, each with its partner. Kept for good.';

REVOKE ALL ON FUNCTION "private"."email_hashes"(text, text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."email_hashes"(text, text, uuid) TO "api_owner";



REVOKE ALL ON FUNCTION "private"."end_customer"(uuid, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."end_customer"(uuid, text, text) TO "api_owner";



REVOKE ALL ON FUNCTION "private"."forget_opt_outs"(text[], text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."forget_opt_outs"(text[], text, uuid) TO "api_owner";



REVOKE ALL ON FUNCTION "private"."opted_out"(text, text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."opted_out"(text, text, uuid) TO "api_owner";



REVOKE ALL ON FUNCTION "private"."say_farewell"(uuid, json, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."say_farewell"(uuid, json, jsonb) TO "api_owner";



commit;
