-- What a person's own pages show. Each page runs one statement.

create function private.own_draft(account uuid) returns uuid
language plpgsql stable security definer
as $$
begin
  return (select d.id from core.drafts d where d.user_id = private.user_id() and d.account_id = account
          and d.status = 'active'
           order by d.activated_at desc limit 1);
end $$;
comment on function private.own_draft(uuid) is
  'The claim that an account of this transaction''s person began with; null if there was none. Its pages can do more. '
  'Definer, because drafts are in the partner''s tenant.';

create function private.own_brand() returns jsonb
language plpgsql stable security definer
as $$
begin
  return (select jsonb_build_object('partner_id', p.id, 'name', private.partner_display_name(p), 'source', a.source,
                                    'since', a.attached_month)
            from core.attributions a join core.partners p on p.id = a.partner_id
           where a.user_id = private.user_id());
end $$;
comment on function private.own_brand() is
  'The partner that brought this transaction''s person: {partner_id, name, source, since}; null if nobody did, or no '
  'longer. Definer, because a partner is another tenant.';

create function private.own_accounts() returns json
language sql stable security definer
as $$
  select coalesce(json_agg(json_build_object(
           'account_id', a.id,
           'draft_id', private.own_draft(a.id),
           'cpo', case when a.client_id is not null then (select p.name from core.partners p where p.id = a.partner_id)
                       end,
           'payout_handler', a.payout_handler,
           'fee_pct', (select m.fee_pct from core.connections c
                         join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                             and m.status <> 'declined'
                        where c.partner_id = a.partner_id and c.account_id = a.id
                        order by m.signed_at desc limit 1),
           'iban_last4', a.iban_last4,
           'iban_held_until',
               case when a.iban_ciphertext is not null then private.iso(private.iban_held_until(a.iban_changed_at)) end,
           'payment_back', private.payment_back(a.partner_id, a.id, a.iban_last4, a.iban_changed_at),
           'sent', private.balance(a.partner_id, 'EUR', 'customer', a.id) <= 0 and not exists (
             select from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id
                 and l.id = p.line_id and l.status = 'pending'
               join core.payout_batches b on b.id = l.batch_id and b.status <> 'exported'
              where p.ledger_partner_id = a.partner_id and p.payee_id = a.id and p.kind = 'customer'),
           'checklist', g.checklist,
           'chargers', (select json_build_object('count', count(*), 'with_mid', count(*) filter (where h.mid_eligible),
                                                 'waiting', count(*) filter (where h.mid_eligible is null))
                          from core.chargers h where h.partner_id = a.partner_id and h.account_id = a.id
                              and h.status = 'active'),
           'connections', (select coalesce(json_agg(json_build_object(
                                    'connection_id', c.connection_id, 'ean_code', c.ean_code, 'ean_validation_status',
                                        c.ean_validation_status,
                                    'street', l.street, 'house_number', l.house_number, 'house_number_addition',
                                        l.house_number_addition,
                                    'postal_code', l.postal_code, 'city', l.city,
                                    'registration_status', c.registration_status, 'mandate_status', c.mandate_status,
                                    'valid_from', c.valid_from, 'valid_until', c.valid_until, 'renewed_until',
                                        c.renewed_until,
                                    'may_sign_again', private.may_sign_again(c.connection_id, c.partner_id))
                                        order by c.created_at, c.connection_id), '[]')
                             from core.connection_mandates c
                             join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
                            where c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'))
           order by a.created_at, a.id), '[]')
    from private.own_account_rows() a
    join core.account_gates g on g.partner_id = a.partner_id and g.account_id = a.id
$$;
comment on function private.own_accounts() is
  'The accounts of this transaction''s person: {account_id, draft_id, cpo, payout_handler, fee_pct, iban_last4, '
  'iban_held_until, payment_back, sent, checklist, chargers, connections}. sent: we asked the bank to pay all that we '
  'owe. cpo names the CPO of an account that a CPO made, null for their own. fee_pct is of the last signature. '
  'Definer, because a CPO''s accounts are in its tenant.';

-- The years from the first charging of this transaction's person to this one, newest first.
create function private.own_years() returns json
language sql stable
as $$
  select json_agg(y order by y desc)
    from (select least((select min(m.month) from core.charger_months m where m.owner_id = private.user_id()
                        and m.sessions > 0),
                       (select min(m.month) from private.signed_months('-infinity', 'infinity') m)) as first) k,
         generate_series(extract(year from coalesce(least(k.first, private.today()), private.today()))::int,
                         extract(year from private.today())::int) y
$$;

create function private.managed_name(person uuid) returns text
language sql stable security definer
as $$ select private.partner_display_name(p) from core.partners p where p.id = private.managed_partner(person) $$;
comment on function private.managed_name(uuid) is
  'The name of the partner that somebody manages; null if they manage none. Definer, because a partner is another '
  'tenant.';

create function private.own_name() returns text
language plpgsql stable security definer
as $$
begin
  return coalesce((private.user_profile(private.user_id())).name, (
    select s.full_name from private.own_account_rows() a
      join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
     order by a.created_at limit 1));
end $$;
comment on function private.own_name() is
  'The name of this transaction''s person, as far as known. Definer, as private.own_accounts.';

create function private.own_left_out(year int) returns json
language sql stable security definer
as $$
  with month as (
    select d.*, d as whole from private.own_account_rows() a
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
     where d.period >= make_date(year, 1, 1) and d.period < make_date(year + 1, 1, 1)
  ), left_out as (
    select d.period, d.connection_id, d.total_kwh - coalesce(d.accepted_kwh, 0) as kwh,
           case when d.status = 'staged' then 'no_factor'
                when d.status <> 'outside_mandate' then 'register'
                when d.period < private.first_delivery_month() then 'before_ere'
                when exists (select from core.mandates m
                              where m.partner_id = d.partner_id and m.connection_id = d.connection_id
                                  and m.status = 'revoked'
                                and d.period between m.valid_from and least(m.valid_until,
                                                                            private.dutch_day(m.ended_at)))
                                                                            then 'mandate_ended'
                else 'outside_mandate' end as why, private.register_reason(d.whole) as reason
      from month d
     where d.status in ('outside_mandate', 'rejected') and d.total_kwh > 0 or d.status = 'registered'
         and d.accepted_kwh < d.total_kwh
          or d.status = 'staged' and d.total_kwh > 0
             and not exists (select from core.ere_factors f where f.delivery_year = year)
             and exists (select from core.mandates m where m.partner_id = d.partner_id
                         and m.connection_id = d.connection_id
                                                       and d.period between m.valid_from and m.covered_until)
    union all
    -- kWh of MID chargers beyond the booked total; private.own_idle_chargers has the other chargers
    select d.period, d.connection_id, h.wh / 1000.0 - d.total_kwh, 'after_booking', null
      from month d
      join lateral (select sum(m.wh) as wh from core.chargers h
                      join core.charger_months m on m.partner_id = h.partner_id and m.charger_id = h.id
                          and m.month = d.period
                     where h.partner_id = d.partner_id and h.connection_id = d.connection_id and h.mid_eligible) h
                         on h.wh > d.total_kwh * 1000
     where d.locked and d.source = 'sessions'
  )
  select coalesce(json_agg(json_build_object('month', l.period, 'kwh', l.kwh, 'why', l.why, 'reason', l.reason)
                           order by l.period, l.connection_id, l.why), '[]')
    from left_out l
$$;
comment on function private.own_left_out(int) is
  'The kWh of a person''s year that do not count toward ERE: [{month, kwh, why, reason}]. why is before_ere, '
  'outside_mandate, mandate_ended, register, after_booking or no_factor. after_booking: the kWh came, or the meter was '
  'confirmed as MID, after the month was booked. no_factor: the year has no factor yet. reason has the register''s own '
  'words, if any. Definer, as private.own_accounts.';

create function private.own_payouts(year int) returns json
language sql stable security definer
as $$
  select coalesce(json_agg(json_build_object('line_id', l.id, 'part_id', l.part_id, 'cpo', l.cpo,
                                             'paid_on', private.dutch_day(l.paid_at), 'amount_eur', l.amount,
                                             'quarters', m.quarters, 'kwh', m.kwh)
                                             order by l.arrival desc, l.part_id), '[]')
    from (select d.partner_id, d.account_id, d.line_id as paid_line,
                 case when d.line_id is not null then l.id end as id, d.part_id,
          case when d.part_id is not null then p.name end as cpo,
                 l.paid_at, coalesce(t.amount, l.amount) as amount, l.arrival
            from private.own_account_rows() a
            join core.documents d on d.partner_id = a.partner_id and d.account_id = a.id
            left join core.payout_parts t on t.partner_id = d.partner_id and t.id = d.part_id
            join core.payout_lines l on l.partner_id = d.partner_id and l.id = coalesce(d.line_id, t.line_id)
            join core.partners p on p.id = a.partner_id
           where l.paid_at >= private.dutch_midnight(make_date(own_payouts.year, 1, 1))
             and l.paid_at < private.dutch_midnight(make_date(own_payouts.year + 1, 1, 1))
           order by l.arrival desc limit 100) l
    left join lateral private.paid_for(l.partner_id, l.account_id, l.paid_line, l.part_id) m on true
$$;
comment on function private.own_payouts(int) is
  'What this transaction''s person was paid in a year, newest first, a hundred at most: [{line_id, part_id, cpo, '
  'paid_on, amount_eur, quarters, kwh}]. quarters are those it was for, by their first day. A payment to the CPO that '
  'settles with them has a part_id and the CPO''s name, any other a '
  'line_id. Definer, as private.own_accounts.';

create function private.own_overviews() returns json
language sql stable security definer
as $$
  select coalesce(json_agg(json_build_object('account_id', a.id, 'year', y.year) order by y.year desc,
                           a.created_at, a.id), '[]')
    from private.own_account_rows() a cross join lateral private.overview_years(a) y (year)
$$;
comment on function private.own_overviews() is
  'The past years with money of each account of this transaction''s person, newest first: [{account_id, year}]. '
  'Definer, as private.own_accounts.';

create function private.own_account(account uuid) returns core.accounts
language sql stable security definer
as $$ select a from private.own_account_rows() a where a.id = account $$;
comment on function private.own_account(uuid) is
  'An account of this transaction''s person; null if it is not theirs. Definer, as private.own_accounts.';

create function private.own_mandates() returns json
language sql stable security definer
as $$
  select coalesce(json_agg(m.shown order by m.signed_at desc), '[]')
    from (select m.signed_at, private.shown_mandate(m) || jsonb_build_object('connection_id', m.connection_id) as shown
            from private.own_account_rows() a
            join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
            join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.document is not null
           order by m.signed_at desc limit 100) m
$$;
comment on function private.own_mandates() is
  'The mandates that this transaction''s person signed, newest first, a hundred at most, as private.shown_mandate. '
  'Definer, as private.own_accounts.';

create function private.own_paid(year int) returns json
language sql stable security definer
as $$
  select json_build_object(
    'year_eur', coalesce(sum(p.amount) filter (where l.paid_at >= private.dutch_midnight(make_date(year, 1, 1))), 0),
    'all_eur', coalesce(sum(p.amount), 0),
    'debts', (
      select coalesce(json_agg(json_build_object(
               'eur', -d.owed,
               'unsold', (select coalesce(json_agg(u.part), '[]')
                            from private.own_quarters('-infinity', 'infinity', d.id) q,
                                json_array_elements(q.unsold) u (part))) order by d.id), '[]')
        from (select a.id, private.still_owed(a.partner_id, a.id) as owed from private.own_account_rows() a) d
       where d.owed < 0))
    from private.own_account_rows() a
    join core.payout_parts p on p.ledger_partner_id = a.partner_id and p.partner_id = a.partner_id and p.payee_id = a.id
        and p.kind = 'customer'
    join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
$$;
comment on function private.own_paid(int) is
  'What this transaction''s person, or the CPO that settles with them, was paid since the year began and ever: '
  '{year_eur, all_eur, debts: [{eur, unsold}]}. debts has each account that was paid for a sale that was reversed '
  'later, with its unsold ERE; its next payments are lower. Definer, as private.own_accounts.';

create function private.own_progress() returns json
language sql stable security definer
as $$
  select coalesce(json_object_agg(a.id, json_build_object(
           'signed_on', private.dutch_day(m.signed_at),
           'withdrawn_on', private.dutch_day(m.withdrawn_at),
           'approved_on', private.dutch_day(e.reviewed_at),
           'charger_on', private.dutch_day(h.since),
           'silent_chargers', h.silent,
           'first_month', e.first_month,
           'booked_quarters', (
             select coalesce(json_agg(distinct b.quarter), '[]')
               from core.connections c
               join core.booking_rows r on r.partner_id = c.partner_id and r.connection_id = c.id and r.live
               join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
              where c.partner_id = a.partner_id and c.account_id = a.id),
           'booked_on', private.dutch_day(e.booked_at),
           'sold_on', s.sold_on,
           'paid_on', (select max(private.dutch_day(l.paid_at))
                         from core.payout_parts p
                         join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
                             and l.status = 'paid'
                        where p.ledger_partner_id = a.partner_id and p.partner_id = a.partner_id and p.payee_id = a.id
                            and p.kind = 'customer'))), '{}')
    from private.own_account_rows() a
    left join lateral (
      select min(m.signed_at) as signed_at, max(m.ended_at) filter (where m.status = 'revoked') as withdrawn_at
        from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = a.partner_id and c.account_id = a.id and m.status <> 'declined') m on true
    left join lateral (
      select min(h.created_at) filter (where h.mid_eligible) as since,
             coalesce(json_agg(private.charger_name(h) order by h.created_at)
                        filter (where h.status = 'active' and h.ocpp_identity is not null and h.last_seen_at is null),
                            '[]') as silent
        from core.chargers h where h.partner_id = a.partner_id and h.account_id = a.id) h on true
    left join lateral (
      select min(k.first_month) as first_month, max(k.booked_at) as booked_at,
             min(c.reviewed_at) filter (where c.registration_status = 'goedgekeurd') as reviewed_at
        from core.connections c
       cross join lateral (
         select (select min(m.period) from core.counted_months m
                  where m.partner_id = c.partner_id and m.connection_id = c.id and m.total_kwh > 0) as first_month,
                (select max(b.submitted_at) from core.booking_rows r join core.bookings b on b.partner_id = r.partner_id
                 and b.id = r.booking_id
                  where r.partner_id = c.partner_id and r.connection_id = c.id and r.live) as booked_at) k
       where c.partner_id = a.partner_id and c.account_id = a.id) e on true
    left join lateral (
      select max(s.sold_on) as sold_on
        from core.allocations l join core.sales s on s.partner_id = l.partner_id and s.id = l.sale_id
       where l.partner_id = a.partner_id and l.account_id = a.id and l.reversal_id is null) s on true
$$;
comment on function private.own_progress() is
  'How far each account of this transaction''s person is, by its id: {signed_on, withdrawn_on, approved_on, '
  'charger_on, silent_chargers, first_month, booked_quarters, booked_on, sold_on, paid_on}. Days in Amsterdam, null '
  'until then; the '
  'last three are the latest. silent_chargers names those that connect by OCPP and never did. Definer, as '
  'private.own_accounts.';

-- The chargers of this transaction's person whose kWh of a year do not count: [{name, kwh, why}], most kWh first.
create function private.own_idle_chargers(year int) returns json
language sql stable
as $$
  select coalesce(json_agg(json_build_object(
           'name', private.charger_name(h), 'kwh', round(k.wh / 1000.0, 3),
           'why', case when h.mid_eligible is null then 'mid_unknown' when not h.mid_eligible then 'no_mid'
                       else 'no_connection' end)
           order by k.wh desc, h.id), '[]')
    from core.chargers h
    join lateral (select sum(case when d.locked then least(m.wh, greatest(d.charged - d.total_kwh * 1000, 0))
                                  else m.wh end) as wh
                    from core.charger_months m
                    -- of a booked month only the kWh beyond its total do not count
                    left join lateral (
                      select d.locked, d.total_kwh,
                             (select sum(o.wh) from core.chargers n join core.charger_months o
                              on o.partner_id = n.partner_id and o.charger_id = n.id
                               where n.partner_id = d.partner_id and n.connection_id = d.connection_id
                                   and o.month = d.period) as charged
                        from core.delivered_months d
                       where d.partner_id = h.partner_id and d.connection_id = h.connection_id and d.period = m.month
                           and d.locked) d on true
                   where m.partner_id = h.partner_id and m.charger_id = h.id
                     and m.month >= make_date(year, 1, 1) and m.month < make_date(year + 1, 1, 1)) k on k.wh > 0
   where h.user_id = private.user_id() and (h.mid_eligible is not true or h.connection_id is null)
$$;

-- The quarters in which something counts, with their euro.
create function private.own_earned(since date, until date) returns json
language sql stable
as $$
  select coalesce(json_agg(json_build_object('quarter', q.quarter, 'kwh', q.kwh, 'ere', q.ere, 'sold_ere', q.sold_ere,
                                             'net_eur', q.net, 'unpaid_eur', q.unpaid, 'unsold', q.unsold)
                                                 order by q.quarter), '[]')
    from private.own_quarters(since, until) q
$$;

create function api.read_own_start(caller jsonb) returns json
language plpgsql stable security definer
as $$
declare
  this_month constant date := date_trunc('month', private.today());
  last_month constant date := this_month - interval '1 month';
  year       constant int := extract(year from this_month);
  charged    record;
begin
  perform private.act_as(caller, 'session', 'signatory');
  select coalesce(sum(m.kwh) filter (where m.month >= make_date(year, 1, 1)), 0) as in_year,
         coalesce(sum(m.kwh) filter (where m.month = this_month), 0) as in_month,
         coalesce(sum(m.kwh) filter (where m.month = last_month), 0) as before
    into charged
    from private.own_months(least(make_date(year, 1, 1), last_month), make_date(year + 1, 1, 1)) m;
  return json_build_object(
    'email', private.own_email(), 'year', year, 'month', this_month,
    'manages', private.managed_name(private.user_id()),
    'name', private.own_name(),
    'charged_kwh', charged.in_year, 'month_kwh', charged.in_month, 'month_before_kwh', charged.before,
    'quarters', private.own_earned('-infinity', 'infinity'),
    'paid', private.own_paid(year),
    'payouts', private.own_payouts(year),
    'offer', (select private.offer(a.partner_id, a.payout_handler) from private.own_account_rows() a limit 1),
    'progress', private.own_progress(),
    'idle_chargers', private.own_idle_chargers(year),
    'left_out', private.own_left_out(year),
    'accounts', private.own_accounts());
end $$;
comment on function api.read_own_start(jsonb) is
  'What a person sees first: {email, manages, name, year, month, charged_kwh, month_kwh, month_before_kwh, quarters, '
  'paid, payouts, offer, progress, idle_chargers, left_out, accounts}. manages names the partner whose pages they have '
  'too. quarters has every one in which something counts. offer is that of one of the accounts.';

create function api.read_own_charging(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  year      constant int  := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
  one_month constant date := (query ->> 'month')::date;
  page      core.charging_sessions[];
begin
  perform private.act_as(caller, 'session', 'signatory');
  page := private.own_charging_sessions(private.dutch_midnight(one_month),
                                        private.dutch_midnight((one_month + interval '1 month')::date),
                                            null, true, query);
  return json_build_object(
    'email', private.own_email(),
    'year', year,
    'years', private.own_years(),
    'months', (select coalesce(json_agg(m order by m.month), '[]')
               from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
    'left_out', private.own_left_out(year),
    'idle_chargers', private.own_idle_chargers(year),
    'sessions', (select coalesce(json_agg(private.charging_session_row(s) order by s.started_at desc, s.id desc), '[]')
                   from unnest(page[:(query ->> 'limit')::int]) s),
    'has_more', cardinality(page) > (query ->> 'limit')::int);
end $$;
comment on function api.read_own_charging(jsonb, jsonb) is
  'A person''s charging in a year by month, and a page of one month''s sessions: {year, month, limit, offset} to '
  '{email, year, years, months, left_out, idle_chargers, sessions, has_more}. Without a month there are no sessions.';

create function api.read_own_earnings(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  year constant int := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(),
    'year', year,
    'years', private.own_years(),
    'position', private.own_ere_position(year),
    'quarters', private.own_earned(make_date(year, 1, 1), make_date(year + 1, 1, 1)),
    'left_out', private.own_left_out(year),
    'idle_chargers', private.own_idle_chargers(year),
    'accounts', private.own_accounts(),
    'payouts', private.own_payouts(year),
    'debts', private.own_paid(year) -> 'debts',
    'overviews', private.own_overviews());
end $$;
comment on function api.read_own_earnings(jsonb, jsonb) is
  'What a person''s charging yields in a year, and what they were paid: {year} to {email, year, years, position, '
  'quarters, left_out, idle_chargers, accounts, payouts, debts, overviews}. debts is as private.own_paid has them.';

create function api.read_own_mandates(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(),
    'accounts', private.own_accounts(),
    'mandates', private.own_mandates());
end $$;
comment on function api.read_own_mandates(jsonb) is
  'What a person signed, newest first, and for which of their accounts: {email, accounts, mandates}.';

create function api.open_own_document(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  account core.accounts;
begin
  perform private.act_as(caller, 'session', 'signatory');
  if request ->> 'year' is not null then
    account := private.own_account((request ->> 'account_id')::uuid);
    perform private.enter_signed_account(account.id) where account.client_id is not null;
    return private.overview_document(account, (request ->> 'year')::int);
  end if;
  perform private.enter_signed_document((request ->> 'mandate_id')::uuid, (request ->> 'line_id')::uuid,
                                        (request ->> 'part_id')::uuid)
    where private.signatory() is not null;
  if request ->> 'mandate_id' is not null then
    return private.mandate_document((request ->> 'mandate_id')::uuid);
  elsif request ->> 'part_id' is not null then
    return private.settlement_document((request ->> 'part_id')::uuid);
  end if;
  return private.statement_document((request ->> 'line_id')::uuid);
end $$;
comment on function api.open_own_document(jsonb, jsonb) is
  'A document of a person: {mandate_id}, {line_id}, {part_id}, or of a year {account_id, year}, to '
  'private.kept_document. Other people''s are not found.';

create function api.open_own_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  draft uuid;
begin
  perform private.act_as(caller, 'session');
  select private.own_draft(a.id) into draft from core.accounts a
   where a.user_id = private.user_id() and a.id = (request ->> 'account_id')::uuid;
  perform private.refuse_if('account_not_found', draft is null);
  perform private.audit('claim.entered', draft);
  return json_build_object('draft_id', draft);
end $$;
comment on function api.open_own_claim(jsonb, jsonb) is
  'Takes a person to the claim pages of their account: {account_id} to {draft_id}. Moving money or ending the mandate '
  'there still needs a mailed code.';
