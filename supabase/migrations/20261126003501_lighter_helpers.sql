begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."document_content"(core.documents);

DROP FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb);

DROP FUNCTION "private"."login_owns"(uuid);

DROP FUNCTION "private"."unsubscribe_url"(text, jsonb);

DROP FUNCTION "private"."unsubscribe_token"(text, text);

DROP FUNCTION "private"."year_is_booked"(integer);

CREATE OR REPLACE FUNCTION ops.factor_set (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year   constant int := (input ->> 'delivery_year')::int;
  share  constant numeric := private.as_decimal(input ->> 'share', 4);
  before core.ere_factors;
  after  core.ere_factors;
begin
  perform private.act_as_operator(input);
  if year not between 2026 and 2100 or (input ? 'share' and (share is null or share > 1))
     or (input ? 'bookable_until' and private.as_day(input ->> 'bookable_until') is null) then
    perform private.refuse('invalid_factor');
  end if;
  -- a booking that is submitted now holds the row that it judges by, and is seen below
  select * into before from core.ere_factors f where f.delivery_year = year for update;
  perform private.refuse_if('factor_missing', not found and share is null, json_build_object('delivery_year', year));
  perform private.refuse_if('factor_in_use', share <> before.renewable_share and exists (
      select from core.bookings b
        join core.booking_rows r on r.partner_id = b.partner_id and r.booking_id = b.id
       where extract(year from b.quarter) = year
         -- a booking of which everything was rejected or taken back counts too
         and (r.live or exists (select from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id))),
    json_build_object('delivery_year', year, 'renewable_share', before.renewable_share));
  insert into core.ere_factors as f (delivery_year, renewable_share, bookable_until)
  values (year, coalesce(share, before.renewable_share), coalesce(private.as_day(input ->> 'bookable_until'), before.bookable_until))
  on conflict on constraint ere_factors_pkey do update set renewable_share = excluded.renewable_share, bookable_until = excluded.bookable_until
  returning * into after;
  if after is distinct from before then
    perform private.audit('factor.set', null, jsonb_build_object('before', to_jsonb(before), 'after', to_jsonb(after)));
  end if;
  return json_build_object('changed', after is distinct from before, 'factor', private.factor_row(after));
end $function$;

CREATE OR REPLACE FUNCTION private.claim_outcome (
  draft core.drafts
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner core.partners;
  outcome jsonb;
begin
  select * into partner from core.partners p where p.id = draft.partner_id;
  perform private.enter_account(draft);
  -- in one statement, so that it is all of one moment: what may be signed is other once somebody has signed
  select jsonb_build_object(
           'signed', private.shown_mandate(m),
           'renewal', (select private.shown_mandate(r) from core.mandates r
                        where r.partner_id = c.partner_id and r.connection_id = c.id and r.status = 'signed' and r.valid_from > private.today()
                        order by r.valid_until desc limit 1),
           'held_until', private.signed_until(c.id),
           'withdrawal', case when k.mandate_status = 'signed' then private.withdrawal_means(c.id) end,
           'checklist', g.checklist,
           'registration_status', c.registration_status,
           'ean_validation_status', c.ean_validation_status,
           'iban_last4', a.iban_last4,
           -- only payments that have a statement
           'payouts', (select coalesce(jsonb_agg(jsonb_build_object('line_id', l.id, 'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date,
                                                                    'amount_eur', l.amount) order by l.arrival desc), '[]')
                         from (select l.* from core.documents d join core.payout_lines l on l.partner_id = d.partner_id and l.id = d.line_id
                                where d.partner_id = a.partner_id and d.account_id = a.id order by l.arrival desc limit 100) l),
           'chargers', (select coalesce(jsonb_agg(jsonb_build_object('name', private.charger_name(h), 'serial_number', h.serial_number,
                                                                     'mid_eligible', h.mid_eligible) order by h.created_at, h.id), '[]')
                          from core.chargers h where h.partner_id = c.partner_id and h.account_id = c.account_id and h.status = 'active'))
         || case when private.may_sign_again(c.id) then private.what_may_be_signed(private.renewal_facts(c.id, partner), c.id, partner) else '{}' end
    into outcome
    from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
    join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    join core.mandates m on m.partner_id = c.partner_id and m.id = k.mandate_id and m.document is not null
    join core.account_gates g on g.partner_id = c.partner_id and g.account_id = c.account_id
   where c.partner_id = private.house() and c.account_id = draft.account_id
   order by c.status, m.created_at desc limit 1;
  perform private.act_for_partner(draft.partner_id);
  return coalesce(outcome, '{}');
end $function$;

CREATE OR REPLACE FUNCTION private.expire_mandates()
  RETURNS bigint
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  expired core.mandates[];
  tenant  uuid;
begin
  with ended as (
    update core.mandates m set status = 'expired', ended_at = private.now(), ended_reason = 'last_year_over'
     where (m.partner_id, m.id) in (
       -- on 1 January all of them: a part in each run, so that mail and the other jobs go on
       select e.partner_id, e.id
         from core.mandates e
         join core.connections c on c.partner_id = e.partner_id and c.id = e.connection_id
         join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
        where e.status = 'signed' and e.valid_until < private.today()
        limit 10000 for key share of a skip locked for update of e skip locked)
    returning m as mandate
  ), noted as (
    insert into core.audit_log (actor, action, partner_id, subject_id)
    select 'worker', 'mandate.expired', (e.mandate).partner_id, (e.mandate).connection_id from ended e
  ), told as (
    insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
    select c.partner_id, c.account_id, c.owner_id, c.id, 'mandate_ended', 'mandate_ended:' || (e.mandate).id,
           jsonb_build_object('valid_until', (e.mandate).valid_until)
      from ended e
      join core.connections c on c.partner_id = (e.mandate).partner_id and c.id = (e.mandate).connection_id and c.status = 'active'
     where (e.mandate).lapsed_at is null and not private.is_renewed(e.mandate)
    on conflict on constraint notices_cause_key do nothing
  )
  select array_agg(e.mandate) into expired from ended e;
  for tenant in select distinct m.partner_id from unnest(expired) m order by m.partner_id loop
    perform private.emit_all(tenant, 'mandate.expired', array(
      select row(c.account_id, c.connection_id, jsonb_build_object('connection_id', c.connection_id, 'mandate_status', 'expired'))::private.occurrence
        from core.connection_mandates c
       -- a renewed mandate has not expired: its next years have begun
       where c.partner_id = tenant and c.connection_id in (select m.connection_id from unnest(expired) m where m.partner_id = tenant)
         and c.status = 'active' and c.mandate_status = 'expired'
       order by c.connection_id));
    perform private.note_eligibility(tenant, array(
      select distinct c.account_id from core.connections c
       where c.partner_id = tenant and c.id in (select m.connection_id from unnest(expired) m where m.partner_id = tenant)));
  end loop;
  return coalesce(cardinality(expired), 0);
end $function$;

CREATE OR REPLACE FUNCTION private.lease_documents (
  size integer
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with claimed as (
    update core.documents d set due_at = private.now() + interval '5 minutes'
     where (d.partner_id, d.id) in (
       select w.partner_id, w.id from core.documents w
        where w.pdf is null and w.due_at <= private.now()
        order by w.due_at limit size for update skip locked)
    returning d.*)
  select coalesce(json_agg(json_build_object(
           'partner_id', d.partner_id, 'id', d.id, 'kind', case when d.mandate_id is not null then 'mandate' when d.invoice_id is not null then 'invoice'
                                                                        when d.year is not null then 'overview' else 'statement' end, 'created_at', private.iso(d.created_at),
           'content', case
             when d.line_id is not null or d.part_id is not null then private.statement_content(d)
             when d.year is not null then (select private.overview_content(a, d.year) from core.accounts a where a.partner_id = d.partner_id and a.id = d.account_id)
             when d.invoice_id is not null then private.invoice_content(d)
             else (select json_build_object('document', m.document, 'document_sha256', m.document_sha256, 'signed_name', m.signed_name,
                                            'signed_at', private.iso(m.signed_at), 'code_sent_to', m.code_sent_to, 'valid_from', m.valid_from,
                                            'valid_until', m.valid_until, 'mandate_id', m.id, 'connection_id', m.connection_id)
                     from core.mandates m where m.partner_id = d.partner_id and m.id = d.mandate_id) end) order by d.created_at, d.id), '[]')
    from claimed d
$function$;

CREATE OR REPLACE FUNCTION private.prove_login (
  address text,
  tenant  uuid,
  request jsonb,
  OUT     user_id uuid,
  OUT     next json
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  login   auth.users;
  refused text;
  acting  uuid;
begin
  select * into login from auth.users u where u.email = address and not u.is_sso_user and u.deleted_at is null;
  user_id := login.id;
  if private.login_proved(login, tenant) or login.id is not null and not private.login_stands(login.id) then
    return;
  end if;
  -- locked, so that nobody proves it or adds to what it owns meanwhile
  select * into login from auth.users u where u.id = user_id for update;
  if private.login_proved(login, tenant) then
    return;
  elsif login.id is null or not exists (
    -- what must stay: tokens, consents and sessions need not
    select from core.accounts a where a.user_id = login.id
    union all select from core.chargers c where c.user_id = login.id
    union all select from core.attributions a where a.user_id = login.id
    union all select from core.ended_attributions a where a.user_id = login.id
    union all select from core.partner_managers m where m.user_id = login.id) then
    if request ? 'login' then
      -- a login was made and is gone: somebody signed up with the address at that moment. The code still works
      perform private.refuse('service_unavailable');
    end if;
    user_id := null;
    if login.id is not null then
      perform private.end_sign_ins(address, request ->> 'token_hash');
      refused := private.delete_login(login.id);
    end if;
    next := private.ask('login', json_build_object('email', address, 'partner_id', tenant, 'refused', refused));
    return;
  end if;
  perform private.end_sign_ins(address, request ->> 'token_hash');
  refused := private.secure_login(login.id);
  if refused is not null or request #>> '{login,secured}' is distinct from login.id::text then
    -- twice: a sign-in by the old password that was under way gets its session after the first time
    next := private.ask('login', json_build_object('email', address, 'secured', login.id, 'refused', refused,
      'locale', (select p.locale from core.partners p where p.id = tenant)));
    return;
  end if;
  update auth.users u
     set raw_app_meta_data = u.raw_app_meta_data || jsonb_build_object('proved_email', u.email)
         || case when tenant is not null and private.is_sandbox() then jsonb_build_object('claimed_for', tenant) else '{}' end
   where u.id = login.id;
  -- in the service's own name; the caller may act for a tenant
  acting := private.partner_id();
  perform private.act_for_partner(private.house()),
          private.enqueue_mail(request #> '{login,mail}', address, 'login_secured:' || login.id || ':' || gen_random_uuid()),
          private.act_for_partner(acting);
end $function$;

CREATE OR REPLACE FUNCTION private.unsubscribe_url (
  email text,
  links jsonb
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  hash constant text := encode(private.email_hash(email, links ->> 'key'), 'hex');
begin
  return (links ->> 'pages_url') || '/unsubscribe/' || hash || '-'
      || private.base64url(private.claim_mac('unsubscribe:' || hash, (private.keys_for('opt_out', links ->> 'key'))[1]));
end $function$;

CREATE OR REPLACE FUNCTION private.letter_content (
  draft core.drafts,
  brand jsonb,
  links jsonb
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
RETURN
  jsonb_build_object('full_name', COALESCE((draft).contact_name, (draft).name, (draft).company_name), 'brand', brand, 'claim_url', private.claim_url((draft).id, links),
  'unsubscribe_url', private.unsubscribe_url((draft).email, links));

REVOKE ALL ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."unsubscribe_url"(text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."unsubscribe_url"(text, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."unsubscribe_url"(text, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unsubscribe_url"(text, jsonb) TO "postgres";

commit;
