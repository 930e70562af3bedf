begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.redeem_sign_in_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  redeemed record;
  proof    record;
begin
  perform private.act_as(caller, 'anyone');
  select * into redeemed from private.judge_sign_in_code(request, 'sign_in');
  if redeemed.refused is null
     -- a signatory of a CPO's customer needs no login
     and (private.login_at(redeemed.email) is not null or not (request ->> 'signatory_hash' is not null and private.signs(redeemed.email))) then
    select * into proof from private.prove_login(redeemed.email, private.reader_of_codes(redeemed.email), request);
    if proof.next is not null then
      return proof.next;
    end if;
  end if;
  if redeemed.refused is null then
    select * into redeemed from private.redeem_sign_in_code(request, 'sign_in');
  end if;
  if redeemed.refused is not null then
    return private.refusal(redeemed.refused);  -- a wrong code was counted
  end if;
  return json_build_object(
    'email', redeemed.email,
    'login', private.login_at(redeemed.email) is not null,
    'signatory', request ->> 'signatory_hash' is not null and private.begin_signatory_session(request ->> 'signatory_hash', redeemed.email));
end $function$;

CREATE OR REPLACE FUNCTION private.close_login (
  person uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  held uuid;
begin
  for held in select g.id from core.oauth_grants g where g.user_id = person and g.revoked_at is null order by g.id loop
    perform private.end_grant(held, 'account_closed');
  end loop;
  delete from core.oauth_consents o where o.user_id = person;
  delete from core.personal_tokens t where t.user_id = person;
  delete from core.page_sessions s where s.user_id = person;
  -- a code that waits in another browser would make the login anew
  delete from core.sign_in_codes c using auth.users u where u.id = person and c.email = u.email;
  if exists (select from core.accounts a where a.user_id = person) or exists (select from core.chargers h where h.user_id = person) then
    -- as Supabase Auth deletes where rows must stay: by a mark, and with nothing left that says who it was
    update auth.users u
       set deleted_at = private.now(), email = 'closed-' || u.id || '@deleted.invalid', encrypted_password = null, raw_user_meta_data = '{}'
     where u.id = person;
  else
    delete from auth.users u where u.id = person;
  end if;
end $function$;

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
  SET plan_cache_mode TO 'force_custom_plan'
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
    union select m.recipient from core.mail_outbox m where everything and m.partner_id = partner and m.cause like 'claim%'), key);
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
  delete from core.sign_in_codes c using auth.users u where u.id = any (logins) and c.email = u.email;
  delete from auth.users u where u.id = any (logins);
end $function$;

CREATE OR REPLACE FUNCTION private.reader_of_codes (
  address text
)
  RETURNS uuid
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return (select min(a.partner_id::text)::uuid from private.signed_accounts(address) a
           where private.is_sandbox() and not exists (select from auth.users u where u.email = address and not u.is_sso_user)
          having count(distinct a.partner_id) = 1);
end $function$;

COMMENT ON FUNCTION "private"."reader_of_codes"(text) IS 'On the sandbox the tenant that reads the codes of an address without a login, as its signatory''s: a login that such a code makes was made for it. Else null. Definer, because it looks across tenants.';

REVOKE ALL ON FUNCTION "private"."reader_of_codes"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reader_of_codes"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reader_of_codes"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reader_of_codes"(text) TO "postgres";

commit;
