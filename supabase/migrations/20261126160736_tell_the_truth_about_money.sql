begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."document_logo"(uuid);

DROP FUNCTION "private"."own_counted_months"(date, date);

CREATE OR REPLACE FUNCTION private.claim_view (
  draft   core.drafts,
  request jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  state  constant text := private.draft_state(draft);
  answers jsonb;
  view   jsonb;
begin
  draft := private.draft_for(draft, request #>> '{session,proved_by}');
  draft.status := private.claim_stage(draft);
  select jsonb_build_object('state', state, 'status', draft.status, 'locale', coalesce(draft.locale, p.locale),
                            'brand', case when draft.status <> 'active' or exists (
                              select from core.attributions t where t.partner_id = p.id and t.user_id = draft.user_id) then private.partner_brand(p) end, 'partner_name', p.name) into view
    from core.partners p where p.id = draft.partner_id;
  if state not in ('open', 'active') then
    return coalesce(view, jsonb_build_object('state', state));
  end if;
  view := view || jsonb_build_object('email', draft.email, 'code_sent', private.code_sent('claim:' || draft.id));
  if not private.is_proven(draft, request -> 'session') or state = 'open' and draft.status <> 'claimed' then
    -- the link alone shows nothing of what is known or typed, but what anybody may earn
    return view || jsonb_build_object('offer', private.offer(private.house(), 'service_pays_customer'),
                                      'fee_pct', (private.own_partner()).default_fee_pct);
  elsif state = 'active' then
    view := view || private.claim_outcome(draft) || jsonb_build_object(
      'login', private.claim_login(draft, request -> 'session'),
      'return_url', coalesce(draft.progress ->> 'return_url', (select p.return_url from core.partners p where p.id = draft.partner_id)));
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
    || case when request ->> 'step' = 'charger' then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION private.document_logo (
  account core.accounts
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$ begin return (
    select json_build_object('name', private.partner_display_name(p), 'png', replace(encode(l.png, 'base64'), E'\n', ''), 'width', l.width, 'height', l.height)
      from core.partner_logos l join core.partners p on p.id = l.partner_id
     where l.partner_id = coalesce((select t.partner_id from core.attributions t where t.user_id = account.user_id), account.partner_id) and l.replaced_at is null); end $function$;

CREATE OR REPLACE FUNCTION private.end_mandate (
  connection uuid,
  new_status text,
  reason     text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.mandates m
     set status = new_status, ended_at = private.now(), ended_reason = reason
   where m.connection_id = connection and m.status = 'signed'
     and m.valid_until >= private.today();  -- one that ran out keeps covering its years, whether the job has noted its end or not
  perform private.judge_months(connection);
  perform private.notify(c.account_id, 'mandate_withdrawn', 'mandate_withdrawn:' || k.mandate_id,
                         jsonb_build_object('by', reason,
                           'covered_until', (select max(m.covered_until) from core.mandates m
                            where m.partner_id = c.partner_id and m.connection_id = c.id and m.covered_until >= m.valid_from and not r.missing),
                           'lost_kwh', (select coalesce(sum(d.total_kwh), 0) from core.delivered_months d
                             join core.mandates m on m.partner_id = d.partner_id and m.connection_id = d.connection_id
                                                 and m.ended_at = private.now() and d.period between m.valid_from and m.valid_until
                            where d.partner_id = c.partner_id and d.connection_id = c.id and (d.status = 'outside_mandate' or d.status = 'staged' and r.missing))), c.id)
     from core.connections c
    cross join lateral (select c.registration_status in ('concept', 'afgekeurd') as missing) r  -- then no month is booked any more
     join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    where c.partner_id = private.partner_id() and c.id = connection;
  perform private.audit('mandate.' || new_status, connection, jsonb_build_object('reason', reason));
  perform private.emit('mandate.' || new_status, c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', new_status))
     from core.connections c
    -- a client that corrects a connection acknowledges that, and reads it in the answer
    where c.partner_id = private.partner_id() and c.id = connection and reason <> 'connection_updated';
  perform private.note_eligibility(c.partner_id, array[c.account_id])
     from core.connections c where c.partner_id = private.partner_id() and c.id = connection;
end $function$;

CREATE OR REPLACE FUNCTION private.forecast_kwh (
  this_month date
)
  RETURNS numeric
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with counted as materialized (
    select * from private.own_counted_months((this_month - interval '12 months')::date, (this_month + interval '1 month')::date, true)
  ), past as (
    -- complete months since the first that counted, at most the last twelve; one without charging is a zero among them
    select coalesce(sum(c.kwh) / nullif(
             (extract(year from age(this_month, min(c.month))) * 12 + extract(month from age(this_month, min(c.month))))::int, 0), 0) as average
      from counted c where c.month < this_month and c.month >= this_month - interval '12 months'
  )
  select (select coalesce(sum(y.kwh), 0) from private.own_counted_months(date_trunc('year', this_month)::date, (this_month + interval '1 month')::date) y)
         + greatest(t.average - coalesce(sum(c.kwh) filter (where c.month = this_month), 0), 0)
         + t.average * (12 - extract(month from this_month))
    from past t left join counted c on true
   group by t.average
$function$;

CREATE OR REPLACE FUNCTION private.notice_post (
  notice core.notices
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  details constant jsonb := private.notice_details(notice);
begin
  return (
    select jsonb_build_object(
             'partner_id', notice.partner_id,
             'notice_id', notice.id,
             'notice', details || jsonb_build_object('kind', notice.kind),
             'locale', coalesce(
               (select m.locale from core.mandates m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
                 where c.partner_id = a.partner_id and c.account_id = a.id and m.locale is not null order by m.created_at desc limit 1),
               d.locale, p.locale, 'nl'),
             'full_name', s.full_name,
             'partner_name', p.name,
             -- a person is spoken to in the name of who brought them, a CPO's customer in the service's own
             'brand', case when t.user_id is not null then private.partner_brand(p) end,
             'account', case when a.user_id is null then 'cpo' else 'own' end,
             'draft_id', d.id,
             'may_sign_in', case when notice.kind not like 'payout\_%' then false
                                 when a.user_id is not null then private.login_stands(a.user_id) else private.signs(s.email) end,
             'may_sign', notice.kind in ('mandate_ending', 'mandate_ended') and private.may_sign_again(notice.connection_id))
      from core.accounts a
      join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id and s.email is not null
      left join lateral (
        select d.* from core.drafts d where d.user_id = a.user_id and d.account_id = a.id and d.status = 'active' limit 1) d on true
      left join core.attributions t on t.partner_id = d.partner_id and t.user_id = d.user_id
      join core.partners p on p.id = coalesce(t.partner_id, a.partner_id)
     where a.partner_id = notice.partner_id and a.id = notice.account_id and details is not null);
end $function$;

CREATE OR REPLACE FUNCTION private.overview_content (
  account core.accounts,
  year    integer
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return (
    select json_build_object(
      'locale', private.customer_locale(account),
      'customer', private.customer_name(account),
      'logo', private.document_logo(account),
      'cpo', case when account.payout_handler = 'via_cpo_invoicing' then (
        select coalesce(p.company ->> 'name', p.name) from core.partners p where p.id = account.partner_id) end,
      'overview', private.yearly_overview(account, year)));
end $function$;

CREATE OR REPLACE FUNCTION private.overview_document (
  account core.accounts,
  year    integer
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  said     text;
  document core.documents;
begin
  perform private.refuse_if('statement_not_found', account.id is null or year not in (select private.overview_years(account)));
  said := encode(sha256(convert_to(private.overview_content(account, year)::text, 'UTF8')), 'hex');
  insert into core.documents (partner_id, account_id, owner_id, year, year_sha256)
  values (account.partner_id, account.id, account.owner_id, overview_document.year, said)
  on conflict on constraint documents_year_key do update
    set year_sha256 = excluded.year_sha256, pdf = null, sha256 = null, rendered_at = null, created_at = excluded.created_at, due_at = excluded.due_at
    where documents.year_sha256 <> excluded.year_sha256;
  select * into document from core.documents d
   where d.partner_id = account.partner_id and d.account_id = account.id and d.year = overview_document.year;
  if document.pdf is null then
    return private.refusal('document_not_ready');  -- that it was asked for stays
  end if;
  return private.kept_document(document, concat_ws('-', 'overview', year, left(account.id::text, 8)));
end $function$;

CREATE OR REPLACE FUNCTION private.own_accounts()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object(
           'account_id', a.id,
           'draft_id', private.own_draft(a.id),
           'cpo', case when a.client_id is not null then (select p.name from core.partners p where p.id = a.partner_id) end,
           'payout_handler', a.payout_handler,
           'fee_pct', (select m.fee_pct from core.connections c
                         join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.status <> 'declined'
                        where c.partner_id = a.partner_id and c.account_id = a.id
                        order by m.signed_at desc limit 1),
           'iban_last4', a.iban_last4,
           'iban_held_until', case when a.iban_ciphertext is not null and a.iban_changed_at > private.now() - interval '48 hours'
                                   then private.iso(a.iban_changed_at + interval '48 hours') end,
           'sent', private.balance(a.partner_id, 'EUR', 'customer', a.id) <= 0 and not exists (
             select from core.payout_lines l join core.payout_batches b on b.id = l.batch_id and b.status <> 'exported'
              where l.partner_id = a.partner_id and l.payee_id in (a.id, a.partner_id) and l.status = 'pending'),
           'checklist', g.checklist,
           'chargers', (select json_build_object('count', count(*), 'with_mid', count(*) filter (where h.mid_eligible),
                                                 'waiting', count(*) filter (where h.mid_eligible is null))
                          from core.chargers h where h.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'),
           'connections', (select coalesce(json_agg(json_build_object(
                                    'connection_id', c.connection_id, 'ean_code', c.ean_code, 'ean_validation_status', c.ean_validation_status,
                                    'street', l.street, 'house_number', l.house_number, 'house_number_addition', l.house_number_addition,
                                    'postal_code', l.postal_code, 'city', l.city,
                                    'registration_status', c.registration_status, 'mandate_status', c.mandate_status,
                                    'valid_from', c.valid_from, 'valid_until', c.valid_until, 'renewed_until', c.renewed_until,
                                    'may_sign_again', private.may_sign_again(c.connection_id, c.partner_id)) order by c.created_at, c.connection_id), '[]')
                             from core.connection_mandates c
                             join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
                            where c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'))
           order by a.created_at, a.id), '[]')
    from private.own_account_rows() a
    join core.account_gates g on g.partner_id = a.partner_id and g.account_id = a.id
$function$;

CREATE OR REPLACE FUNCTION private.own_balance()
  RETURNS numeric
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ begin return (select coalesce(sum(private.balance(a.partner_id, 'EUR', 'customer', a.id)), 0) from core.accounts a where a.user_id = private.user_id()); end $function$;

CREATE OR REPLACE FUNCTION private.own_counted_months (
  since    date,
  until    date,
  going_on boolean DEFAULT false
)
  RETURNS TABLE (
    month date,
    kwh   numeric,
    ere   numeric
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return query
  select m.period, sum(m.kwh), sum(m.ere)
    from private.own_account_rows() a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
   where m.period >= since and m.period < until
     and (not going_on or exists (select from core.mandates d where d.partner_id = c.partner_id and d.connection_id = c.id
                                                                and private.today() between d.valid_from and d.covered_until))
   group by m.period;
end $function$;

CREATE OR REPLACE FUNCTION private.own_drafts()
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ begin return (select coalesce(json_agg(d.id), '[]') from core.drafts d where d.user_id = private.user_id() and d.status = 'active'); end $function$;

CREATE OR REPLACE FUNCTION private.own_end()
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with month as (select date_trunc('month', private.today())::date as began), lost as (
    select coalesce(sum(m.total_kwh) filter (where m.period < t.began and c.registration_status in ('concept', 'afgekeurd')), 0) as lost_kwh,
           coalesce(sum(m.total_kwh) filter (where m.period >= t.began), 0) as month_kwh
      from month t cross join core.counted_months m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
     where c.account_id in (select o.id from core.accounts o where o.user_id = private.user_id()) and m.status = 'staged')
  select json_build_object(
    'balance_eur', private.own_balance(),
    'accounts', count(*),
    'managed_alone', private.managed_alone(private.user_id()),
    'lost_kwh', (select lost_kwh from lost),
    'month', (select began from month),
    'month_kwh', (select month_kwh from lost),
    'iban_missing', coalesce(bool_or(a.iban_ciphertext is null and a.payout_handler = 'service_pays_customer'), false),
    -- of this delivery year, which is the last one
    'kept_until', case when count(*) > 0 then make_date(extract(year from private.today())::int + 7, 1, 1) end)
    from core.accounts a where a.user_id = private.user_id()
$function$;

CREATE OR REPLACE FUNCTION private.own_left_out (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with month as (
    select d.* from private.own_account_rows() a
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
     where d.period >= make_date(year, 1, 1) and d.period < make_date(year + 1, 1, 1)
  ), left_out as (
    select d.period, d.connection_id, d.total_kwh - coalesce(k.accepted_kwh, 0) as kwh,
           case when d.status = 'staged' then 'no_factor'
                when d.status <> 'outside_mandate' then 'register'
                when d.period < private.first_delivery_month() then 'before_ere'
                when exists (select from core.mandates m
                              where m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.status = 'revoked'
                                and d.period between m.valid_from and least(m.valid_until, m.ended_at at time zone 'Europe/Amsterdam')) then 'mandate_ended'
                else 'outside_mandate' end as why, k.reason
      from month d
      left join lateral (
        select k.accepted_kwh, k.reason
          from core.booking_rows r
          join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
         where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period
           and (d.status = 'registered' and r.live or d.status = 'rejected' and r.status = 'rejected')
         order by k.credited_at desc limit 1) k on d.status in ('registered', 'rejected')
     where d.status in ('outside_mandate', 'rejected') and d.total_kwh > 0 or d.status = 'registered' and k.accepted_kwh < d.total_kwh
          or d.status = 'staged' and d.total_kwh > 0
             and not exists (select from core.ere_factors f where f.delivery_year = year)
             and exists (select from core.mandates m where m.partner_id = d.partner_id and m.connection_id = d.connection_id
                                                       and d.period between m.valid_from and m.covered_until)
    union all
    -- what its chargers with a MID meter charged beyond what was booked: the others are private.own_idle_chargers
    select d.period, d.connection_id, h.wh / 1000.0 - d.total_kwh, 'after_booking', null
      from month d
      join lateral (select sum(m.wh) as wh from core.chargers h
                      join core.charger_months m on m.partner_id = h.partner_id and m.charger_id = h.id and m.month = d.period
                     where h.partner_id = d.partner_id and h.connection_id = d.connection_id and h.mid_eligible) h on h.wh > d.total_kwh * 1000
     where d.locked and d.source = 'sessions'
  )
  select coalesce(json_agg(json_build_object('month', l.period, 'kwh', l.kwh, 'why', l.why, 'reason', l.reason)
                           order by l.period, l.connection_id, l.why), '[]')
    from left_out l
$function$;

CREATE OR REPLACE FUNCTION private.own_progress()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(json_object_agg(a.id, json_build_object(
           'signed_on', (m.signed_at at time zone 'Europe/Amsterdam')::date,
           'withdrawn_on', (m.withdrawn_at at time zone 'Europe/Amsterdam')::date,
           'approved_on', (e.reviewed_at at time zone 'Europe/Amsterdam')::date,
           'charger_on', (h.since at time zone 'Europe/Amsterdam')::date,
           'silent_chargers', h.silent,
           'first_month', e.first_month,
           'booked_on', (e.booked_at at time zone 'Europe/Amsterdam')::date,
           'sold_on', s.sold_on,
           'paid_on', (select max((l.paid_at at time zone 'Europe/Amsterdam')::date)
                         from core.payout_parts p
                         join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
                        where p.ledger_partner_id = a.partner_id and p.partner_id = a.partner_id and p.payee_id = a.id and p.kind = 'customer'))), '{}')
    from private.own_account_rows() a
    left join lateral (
      select min(m.signed_at) as signed_at, max(m.ended_at) filter (where m.status = 'revoked') as withdrawn_at
        from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = a.partner_id and c.account_id = a.id and m.status <> 'declined') m on true
    left join lateral (
      select min(h.created_at) filter (where h.mid_eligible) as since,
             coalesce(json_agg(private.charger_name(h) order by h.created_at)
                        filter (where h.status = 'active' and h.ocpp_identity is not null and h.last_seen_at is null), '[]') as silent
        from core.chargers h where h.partner_id = a.partner_id and h.account_id = a.id) h on true
    left join lateral (
      select min(k.first_month) as first_month, max(k.booked_at) as booked_at,
             min(c.reviewed_at) filter (where c.registration_status = 'goedgekeurd') as reviewed_at
        from core.connections c
       cross join lateral (
         select (select min(m.period) from core.counted_months m
                  where m.partner_id = c.partner_id and m.connection_id = c.id and m.total_kwh > 0) as first_month,
                (select max(b.submitted_at) from core.booking_rows r join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
                  where r.partner_id = c.partner_id and r.connection_id = c.id and r.live) as booked_at) k
       where c.partner_id = a.partner_id and c.account_id = a.id) e on true
    left join lateral (
      select max(s.sold_on) as sold_on
        from core.allocations l join core.sales s on s.partner_id = l.partner_id and s.id = l.sale_id
       where l.partner_id = a.partner_id and l.account_id = a.id and l.reversal_id is null) s on true
$function$;

CREATE OR REPLACE FUNCTION private.settlement_document (
  part uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  document core.documents;
begin
  select d.* into document from core.documents d where d.partner_id = private.partner_id() and d.part_id = part;
  perform private.refuse_if('settlement_not_found', document.id is null);
  return private.kept_document(document, concat_ws('-', 'settlement', (document.created_at at time zone 'Europe/Amsterdam')::date, left(document.account_id::text, 8)));
end $function$;

CREATE OR REPLACE FUNCTION private.signed_months (
  since date,
  until date
)
  RETURNS TABLE (
    month    date,
    kwh      numeric,
    sessions bigint
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return query
  select d.period, sum(d.total_kwh), sum(d.session_count)
    from private.signed_accounts(private.signatory()) a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
   where private.signatory() is not null and d.period >= since and d.period < until and d.total_kwh > 0
   group by d.period;
end $function$;

CREATE OR REPLACE FUNCTION private.statement_content (
  document core.documents
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with line as materialized (
    select l.partner_id, l.id, p.id as part_id, p.account_id, p.amount, l.account_id is null as to_partner, l.paid_at, l.iban_last4
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.partner_id = document.partner_id and p.kind = 'customer' and p.account_id = document.account_id
       and (p.line_id = document.line_id or p.id = document.part_id)
  ), months as materialized (
    select r.ean_code, r.period, round(sum(a.ere) / r.ere_per_kwh, 3) as kwh, sum(a.ere) as ere, s.price, sum(a.gross) as gross, sum(a.fee) as fee, sum(a.net) as net
      from line l
      join core.payout_entries e on e.partner_id = l.partner_id and e.part_id = l.part_id and e.sold
      join core.allocations a on a.partner_id = e.ledger_partner_id and a.id = e.allocation_id
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     group by r.id, r.ean_code, r.period, r.ere_per_kwh, s.price
  ), total as (
    select coalesce(sum(m.kwh), 0.000) as kwh, coalesce(sum(m.ere), 0.000000) as ere, coalesce(sum(m.gross), 0.00) as gross,
           coalesce(sum(m.fee), 0.00) as fee, coalesce(sum(m.net), 0.00) as net
      from months m
  )
  select json_build_object(
           'locale', private.customer_locale(a),
           'customer', private.customer_name(a),
           'logo', private.document_logo(a),
           'reference', private.payment_reference(l.id),
           'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date,
           'iban_last4', case when not l.to_partner then l.iban_last4 end,
           'paid_to', case when l.to_partner then (select coalesce(t.company ->> 'name', t.name) from core.partners t where t.id = l.partner_id) end,
           'rows', (select coalesce(json_agg(json_build_object(
                             'period', to_char(m.period, 'YYYY-MM'), 'ean_code', m.ean_code, 'kwh', m.kwh::text, 'ere', m.ere::text, 'price', m.price::text,
                             'gross', m.gross::text, 'fee', m.fee::text, 'net', m.net::text) order by m.ean_code, m.period, m.price), '[]') from months m),
           'totals', json_build_object('kwh', t.kwh::text, 'ere', t.ere::text, 'gross', t.gross::text, 'fee', t.fee::text, 'net', t.net::text),
           'other', (l.amount - t.net)::text,
           'amount', l.amount::text)
    from line l
    cross join total t
    join core.accounts a on a.partner_id = l.partner_id and a.id = l.account_id
$function$;

CREATE OR REPLACE FUNCTION private.statement_document (
  line_id uuid,
  account uuid DEFAULT NULL::uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  line core.payout_lines;
begin
  select l.* into line from core.payout_lines l
   where l.partner_id = private.partner_id() and l.id = statement_document.line_id and l.status = 'paid'
     and l.account_id = coalesce(account, l.account_id);
  perform private.refuse_if('statement_not_found', line.id is null);
  return private.kept_document((
    select d from core.documents d where d.partner_id = line.partner_id and d.line_id = line.id),
    concat_ws('-', 'statement', (line.paid_at at time zone 'Europe/Amsterdam')::date, private.payment_reference(line.id)));
end $function$;

CREATE OR REPLACE FUNCTION private.yearly_overview (
  account core.accounts,
  year    integer
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    with sold as materialized (
      -- sold in that year, or taken back in it
      select k.at, b.quarter, s.price, a.ere / r.ere_per_kwh * k.sign as kwh, a.ere * k.sign as ere, a.gross * k.sign as gross, a.fee * k.sign as fee, a.net * k.sign as net
        from core.allocations a
        join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
        join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
        join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
        left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
        cross join lateral (values (s.sold_on, 1), ((v.reversed_at at time zone 'Europe/Amsterdam')::date, -1)) k (at, sign)
       where a.partner_id = account.partner_id and a.account_id = account.id and extract(year from k.at) = yearly_overview.year
    ), payment as materialized (
      select (l.paid_at at time zone 'Europe/Amsterdam')::date as at, p.amount, l.account_id is null as to_partner, l.iban_last4, l.id
        from core.payout_parts p
        join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
       where p.ledger_partner_id = account.partner_id and p.payee_id = account.id and p.kind = 'customer'
         and extract(year from l.paid_at at time zone 'Europe/Amsterdam') = yearly_overview.year
    )
    select json_build_object(
      'account_id', account.id, 'year', yearly_overview.year, 'currency', 'EUR', 'kwh_sold', round(coalesce(sum(s.kwh), 0), 3),
      'ere_sold', coalesce(sum(s.ere), 0), 'gross_eur', coalesce(sum(s.gross), 0), 'fee_eur', coalesce(sum(s.fee), 0), 'net_eur', coalesce(sum(s.net), 0),
      'paid_eur', (select coalesce(sum(p.amount), 0) from payment p),
      'sales', (select coalesce(json_agg(json_build_object(
                  'sold_on', q.at, 'quarter', private.quarter_name(q.quarter), 'price_per_ere_eur', q.price, 'kwh', round(q.kwh, 3), 'ere', q.ere, 'gross_eur', q.gross,
                  'fee_eur', q.fee, 'net_eur', q.net) order by q.at, q.quarter, q.price, q.ere < 0), '[]')
                  from (select o.at, o.quarter, o.price, sum(o.kwh) as kwh, sum(o.ere) as ere, sum(o.gross) as gross, sum(o.fee) as fee, sum(o.net) as net
                          from sold o group by o.at, o.quarter, o.price, sign(o.ere)) q),
      'payments', (select coalesce(json_agg(json_build_object(
                     'paid_on', p.at, 'amount_eur', p.amount, 'to', case when p.to_partner then 'cpo' else 'customer' end, 'iban', '**** ' || p.iban_last4,
                     'reference', private.payment_reference(p.id))
                     order by p.at), '[]') from payment p))
      from sold s);
end $function$;

COMMENT ON COLUMN "core"."notices"."details" IS 'registration_rejected {grounds}; mandate_ending {valid_until, reminder}; mandate_ended {valid_until}; mandate_withdrawn {by, covered_until, lost_kwh}; payout_sent {amount_eur, iban_last4, from, until}, the days on which it is expected; payout_paid, payout_failed {amount_eur, iban_last4}; payout_iban_changed {iban_last4, by, held_until}, without the number if told at the end of the day.';

COMMENT ON FUNCTION "private"."own_accounts"() IS 'The accounts of this transaction''s person: {account_id, draft_id, cpo, payout_handler, fee_pct, iban_last4, iban_held_until, sent, checklist, chargers, connections}. sent: the bank was asked to pay all that is owed. cpo names the CPO whose customer they signed as, null for their own account. fee_pct is what they signed for last. Definer, because that is in the tenant of the CPO.';

COMMENT ON FUNCTION "private"."own_counted_months"(date, date, boolean) IS 'What counts toward ERE for this transaction''s person, over all connections, or over those whose mandate goes on; of a credited month the accepted kWh. since inclusive, until exclusive. Definer, because what they signed for at a CPO is in its tenant.';

COMMENT ON FUNCTION "private"."own_left_out"(integer) IS 'What of a person''s year does not count toward ERE: [{month, kwh, why, reason}]. why is before_ere, outside_mandate, mandate_ended, register, after_booking (it came, or its charger''s meter was known as MID, after the month was booked), or no_factor as long as the year has none; reason has the register''s own words, if any. Definer, as private.own_accounts.';

REVOKE ALL ON FUNCTION "private"."document_logo"(core.accounts) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."document_logo"(core.accounts) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_counted_months"(date, date, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_counted_months"(date, date, boolean) TO "api_owner";

commit;
