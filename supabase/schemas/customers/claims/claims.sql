-- The claim of a draft by its customer: its state, and what its pages show.

create function private.draft_by_id(draft uuid) returns core.drafts
language sql stable security definer
as $$ select d from core.drafts d where d.id = draft $$;
comment on function private.draft_by_id(uuid) is
  'Finds a draft before its tenant is known; definer only for that. The claim token, already verified, is the '
  'credential.';

create function private.claimant_stands(draft core.drafts) returns boolean
language plpgsql stable security definer
as $$
declare
  login constant uuid := coalesce(draft.user_id, (
    select u.id from auth.users u where u.email = draft.email and not u.is_sso_user and u.deleted_at is null));
begin
  return login is null or private.login_stands(login);
end $$;
comment on function private.claimant_stands(core.drafts) is
  'Whether the customer of a draft may act, by any link: false while their login is banned. Definer, because logins '
  'belong to Supabase Auth.';

-- Makes the bearer of a claim link the caller. A sandbox helper keeps its own kind. Null for an open draft of a
-- deactivated partner, or banned.
create function private.enter_draft(draft_id uuid, lock boolean) returns core.drafts
language plpgsql
as $$
declare
  draft core.drafts := private.draft_by_id(draft_id);
begin
  -- nobody claims for a partner that was deactivated; what a customer has signed stays theirs to see and to change
  if draft.status in ('invited', 'claimed') and private.active_partner(draft.partner_id) is null
      or not private.claimant_stands(draft) then
    draft := null;
  end if;
  perform private.set_tenant_and_see_all(draft.partner_id);
  if current_setting('app.caller_kind') = 'sandbox' then
    perform private.only_in_sandbox();
  else
    perform set_config('app.caller_kind', 'customer', true);
  end if;
  if lock then
    select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = draft_id for update;
  end if;
  return draft;
end $$;

create function private.draft_state(draft core.drafts) returns text
language sql stable
as $$
  select case
    when draft.id is null then 'gone'
    when private.draft_status(draft) in ('invited', 'claimed') then 'open'
    else private.draft_status(draft) end
$$;

-- The status of a claim. If the login was deleted since, the address must be proven again; one begun by a link may have
-- no login yet.
create function private.claim_stage(draft core.drafts) returns text
language plpgsql immutable
as $$
begin
  return case when draft.status = 'claimed' and draft.user_id is null and not draft.progress ? 'by_link' then 'invited'
              else draft.status end;
end $$;

-- What the partner uploaded, overlaid with what the customer confirmed or changed.
create function private.claim_answers(draft core.drafts) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'type', draft.type,
    'full_name', coalesce(draft.contact_name, draft.name),
    'company_name', coalesce(draft.company_name,
                             case when draft.type <> 'particulier' and draft.contact_name is not null
                                  then draft.name end),
    'kvk', draft.kvk,
    'vat', draft.vat,
    'phone', draft.phone,
    'postal_code', draft.postal_code,
    'house_number', draft.house_number,
    'house_number_addition', draft.house_number_addition,
    'street', draft.street,
    'city', draft.city,
    'ean_code', draft.ean,
    'brand', draft.charger ->> 'brand',
    'serial_number', draft.charger ->> 'serial_number') || coalesce(draft.progress -> 'answers', '{}')
$$;

-- The steps before the mandate, in order. A test compares them with STEP_NAMES in
-- packages/shared/src/domain/claim/model.ts.
create function private.claim_steps() returns text[]
language sql immutable
as $$ select array['details', 'company', 'address', 'ean', 'payout', 'charger'] $$;

-- The first step the customer has not confirmed; null when only the mandate is left.
create function private.claim_open_step(draft core.drafts) returns text
language sql stable
as $$
  select s.step
    from unnest(private.claim_steps()) with ordinality as s (step, place)
   where not coalesce(draft.progress -> 'confirmed', '[]') ? s.step
     and (s.step <> 'company' or private.claim_answers(draft) ->> 'type' <> 'particulier')
   order by s.place limit 1
$$;

-- A partner's name in a claim's mandate: its registered name, and the one its customers know.
create function private.partner_full_name(partner core.partners) returns text
language plpgsql stable
as $$ begin return concat(partner.name, ' (' || nullif(private.partner_display_name(partner), partner.name) || ')');
    end $$;

-- As private.connection_facts, for a draft. besides is the hash of all that was given: nothing changes between reading
-- and signing.
create function private.claim_facts(draft core.drafts) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'partner_name', private.partner_full_name(p),
    'type', a.answers ->> 'type',
    'company_name', case when a.answers ->> 'type' <> 'particulier' then a.answers ->> 'company_name' end,
    'kvk', case when a.answers ->> 'type' <> 'particulier' then a.answers ->> 'kvk' end,
    'full_name', a.answers ->> 'full_name',
    'email', draft.email,
    'ean_code', a.answers ->> 'ean_code',
    'street', a.answers ->> 'street',
    'house_number', (a.answers ->> 'house_number')::int,
    'house_number_addition', a.answers ->> 'house_number_addition',
    'postal_code', a.answers ->> 'postal_code',
    'city', a.answers ->> 'city',
    'fee_pct', p.default_fee_pct,
    -- the account number above all: somebody else may have a session of this claim too
    'besides', encode(sha256(convert_to(jsonb_build_array(a.answers, draft.progress -> 'iban')::text, 'UTF8')), 'hex'))
  from core.partners p, lateral (select private.claim_answers(draft) as answers) as a
  where p.id = draft.partner_id
$$;

-- What a customer reads before signing: facts, periods to sign for, and the offer.
create function private.what_may_be_signed(facts jsonb, connection uuid, partner core.partners) returns jsonb
language sql stable
as $$
  select jsonb_build_object('facts', facts, 'periods', private.mandate_periods(connection, partner.mandate_years),
                            'offer', private.offer(private.people_tenant(), 'service_pays_customer'))
$$;

-- What a withdrawal today leaves and loses: {covered_until, month, lost_kwh}. Whole months before it stay covered.
create function private.withdrawal_means(connection uuid) returns jsonb
language sql stable
as $$
  with month as (select date_trunc('month', private.today())::date as began)
  select jsonb_build_object(
    'covered_until', case when exists (
      select from core.mandates m
       where m.partner_id = private.partner_id() and m.connection_id = connection
         and month.began - 1 between m.valid_from and m.covered_until) then month.began - 1 end,
    'month', month.began,
    'lost_kwh', coalesce((
      select sum(d.total_kwh) from core.delivered_months d
       where d.partner_id = private.partner_id() and d.connection_id = connection and d.period >= month.began
           and d.status = 'staged'), 0))
  from month
$$;

create function private.renewal_facts(connection uuid, partner core.partners) returns jsonb
language sql stable security definer
as $$ select private.connection_facts(connection)
    || coalesce((select jsonb_build_object('partner_name', private.partner_full_name(partner))
                                                                from core.attributions t where t.partner_id = partner.id
                                                                    and t.user_id = private.user_id()), '{}') $$;
comment on function private.renewal_facts(uuid, core.partners) is
  'The facts of a person''s connection in the people''s tenant, with the partner that brought them, unless they '
  'stopped sharing. Definer, because a partner is another tenant.';

-- What an active draft led to. If the customer may sign again, also facts, periods and offer.
create function private.claim_outcome(draft core.drafts) returns jsonb
language plpgsql
as $$
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
                        where r.partner_id = c.partner_id and r.connection_id = c.id and r.status = 'signed'
                            and r.valid_from > private.today()
                        order by r.valid_until desc limit 1),
           'held_until', private.signed_until(c.id),
           'withdrawal', case when k.mandate_status = 'signed' then private.withdrawal_means(c.id) end,
           'checklist', g.checklist,
           'registration_status', c.registration_status,
           'may_still_book', private.may_still_book(c.registration_status),
           'ean_validation_status', c.ean_validation_status,
           'iban_last4', a.iban_last4,
           -- only payments that have a statement
           'payouts', (select coalesce(jsonb_agg(jsonb_build_object('line_id', l.id,
                                                                    'paid_on', private.dutch_day(l.paid_at),
                                                                    'amount_eur', l.amount) order by l.arrival desc),
                                                                        '[]')
                         from (select l.* from core.documents d join core.payout_lines l on l.partner_id = d.partner_id
                               and l.id = d.line_id
                                where d.partner_id = a.partner_id and d.account_id = a.id
                                    order by l.arrival desc limit 100) l),
           'chargers', (select coalesce(jsonb_agg(jsonb_build_object('name', private.charger_name(h),
                                                                     'serial_number', h.serial_number,
                                                                     'mid_eligible', h.mid_eligible)
                                                                         order by h.created_at, h.id), '[]')
                          from core.chargers h where h.partner_id = c.partner_id and h.account_id = c.account_id
                              and h.status = 'active'))
         || case when private.may_sign_again(c.id) then private.what_may_be_signed(private.renewal_facts(c.id, partner),
             c.id, partner) else '{}' end
    into outcome
    from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
    join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    join core.mandates m on m.partner_id = c.partner_id and m.id = k.mandate_id and m.document is not null
    join core.account_gates g on g.partner_id = c.partner_id and g.account_id = c.account_id
   where c.partner_id = private.people_tenant() and c.account_id = draft.account_id
   order by c.status, m.created_at desc limit 1;
  perform private.set_tenant(draft.partner_id);
  return coalesce(outcome, '{}');
end $$;

-- The brands of the catalogue, and the models of one.
create function private.charger_choice(brand text) returns jsonb
language sql stable
as $$
  with models as (select m.* from core.charger_models m where m.mid_meter is not null or m.listed)
  select jsonb_build_object(
    'brands', (select jsonb_agg(b.brand order by lower(b.brand) collate "C")
               from (select distinct m.brand from models m) as b),
    'models', (select jsonb_agg(jsonb_build_object('id', m.id, 'model', m.model, 'mid_meter', m.mid_meter)
                                order by lower(m.model) collate "C")
                 from models m where m.brand = charger_choice.brand))
$$;

-- Whether sign-in links no longer open a claim: a code proved the address, or it was signed. The partner may have
-- opened a link.
create function private.ends_links(draft core.drafts) returns boolean
language plpgsql stable
as $$ begin return draft.progress ? 'by_code' or draft.status = 'active' and not (private.draft_login(draft)).empty;
    end $$;

-- Whether a claim session {proved_by: code|link, stage} shows that the customer is here. private.ends_links ends what a
-- link began.
create function private.is_proven(draft core.drafts, session jsonb) returns boolean
language plpgsql stable
as $$
begin
  return coalesce(case session ->> 'proved_by'
    when 'code' then true
    when 'link' then session ->> 'stage' = draft.status and not private.ends_links(draft) end, false);
end $$;

-- The draft for a session proved by code or link. An IBAN typed behind a link may be the partner's, so a proved
-- customer types it again.
create function private.draft_for(draft core.drafts, proved_by text) returns core.drafts
language plpgsql immutable
as $$
begin
  if proved_by is distinct from 'link' and draft.progress -> 'iban_by_link' = 'true' then
    draft.progress := (draft.progress - 'iban' - 'iban_by_link')
      || jsonb_build_object('confirmed', coalesce(draft.progress -> 'confirmed', '[]') - 'payout');
  end if;
  return draft;
end $$;

create function private.claim_login(draft core.drafts, session jsonb) returns text
language plpgsql stable security definer
as $$
begin
  return (select u.email from auth.users u
           where session ->> 'proved_by' = 'code' and u.id = draft.user_id and u.email = draft.email
             and private.login_proved(u, draft.partner_id) and private.login_stands(u.id));
end $$;
comment on function private.claim_login(core.drafts, jsonb) is
  'The address of the login that a browser may be signed in to from a signed claim: its session proved the address by '
  'a code, and so did the owner of the login. Null for any other login at that address. Definer, because logins belong '
  'to Supabase Auth.';

-- What the pages of a claim may show: state open|active|expired|conflict|gone, brand unless they stopped sharing, and
-- the address that codes go to. Before it is proven, also what a year yields (offer, fee_pct). With a {session} that
-- proves it, what was uploaded and typed.
create function private.claim_view(draft core.drafts, request jsonb) returns jsonb
language plpgsql
as $$
declare
  state  constant text := private.draft_state(draft);
  answers jsonb;
  view   jsonb;
begin
  draft := private.draft_for(draft, request #>> '{session,proved_by}');
  draft.status := private.claim_stage(draft);
  select jsonb_build_object('state', state, 'status', draft.status, 'locale', coalesce(draft.locale, p.locale),
                            'brand', case when draft.status <> 'active' or exists (
                              select from core.attributions t where t.partner_id = p.id and t.user_id = draft.user_id)
                                  then private.partner_brand(p) end, 'partner_name', p.name) into view
    from core.partners p where p.id = draft.partner_id;
  if state not in ('open', 'active') then
    return coalesce(view, jsonb_build_object('state', state));
  end if;
  view := view || jsonb_build_object('email', draft.email, 'code_sent', private.code_sent('claim:' || draft.id));
  if not private.is_proven(draft, request -> 'session') or state = 'open' and draft.status <> 'claimed' then
    -- the link alone shows nothing of what is known or typed, but what anybody may earn
    return view || jsonb_build_object('offer', private.offer(private.people_tenant(), 'service_pays_customer'),
                                      'fee_pct', (private.own_partner()).default_fee_pct);
  elsif state = 'active' then
    view := view || private.claim_outcome(draft) || jsonb_build_object(
      'login', private.claim_login(draft, request -> 'session'),
      'return_url', coalesce(draft.progress ->> 'return_url',
                             (select p.return_url from core.partners p where p.id = draft.partner_id)));
    -- what the partner uploaded describes the first charger, not a second one
    answers := case when view -> 'chargers' = '[]' then coalesce(draft.charger, '{}') else '{}' end;
  else
    answers := private.claim_answers(draft);
    view := view || jsonb_build_object(
      'confirmed', coalesce(draft.progress -> 'confirmed', '[]'),
      'open_step', private.claim_open_step(draft),
      'candidates', coalesce(draft.progress -> 'candidates', '[]'),
      'iban_last4', draft.progress #>> '{iban,last4}',
      'charger', (select jsonb_build_object('name', m.brand || ' ' || m.model, 'mid_meter', m.mid_meter)
                    from core.charger_models m where m.id = (answers ->> 'catalog_charger_id')::uuid))
      || case when private.claim_open_step(draft) is null
              then private.what_may_be_signed(private.claim_facts(draft), null, private.own_partner()) else '{}' end;
  end if;
  return view || jsonb_build_object('answers', answers)
    || case when request ->> 'step' = 'charger'
            then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
end $$;

create function api.open_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  perform private.count_visit(request ->> 'address_hash');
  return private.claim_view(private.enter_draft((request ->> 'draft_id')::uuid, false), request)::json;
end $$;
comment on function api.open_claim(jsonb, jsonb) is
  'What a claim link opens: {draft_id, address_hash, session, step, brand} to private.claim_view. session is from the '
  'browser''s claim session, or null.';
