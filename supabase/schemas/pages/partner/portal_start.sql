-- What the people who manage a partner see first.

-- Who is signed in to the pages of a partner, and for whom: {email, partner_name}.
create function private.portal_who() returns json
language sql stable
as $$
  select json_build_object('email', (private.user_profile(private.manager_id())).email,
                           'partner_name', private.partner_display_name(private.own_partner()))
$$;

-- How many of the tenant's newest drafts need what attention: {examined, all, conflict, mail, ean, expiring}. all:
-- there are no other drafts.
create function private.drafts_in_need() returns json
language sql stable
as $$
  select json_build_object('examined', count(*), 'all', count(*) < private.drafts_examined(),
                           'conflict', count(*) filter (where d.needs = 'conflict'),
                           'mail', count(*) filter (where d.needs = 'mail'),
                           'ean', count(*) filter (where d.needs = 'ean'),
                           'expiring', count(*) filter (where d.needs = 'expiring'))
    from (select private.needs_attention(d) as needs from core.drafts d
           where d.partner_id = private.partner_id() order by d.created_at desc,
               d.id desc limit private.drafts_examined()) d
$$;

-- Accounts of a partner's clients with a month that the register rejected and nobody delivered again. whole is false
-- where 3,000 months are not all of them.
create function private.accounts_rejected(partner uuid, out accounts uuid[], out whole boolean)
language sql stable
as $$
  with found as (
    select d.connection_id from core.delivered_months d
     where d.partner_id = accounts_rejected.partner and d.status = 'rejected'
     limit 3000
  )
  select array(select distinct n.account_id from found f
                 join core.connections n on n.partner_id = accounts_rejected.partner and n.id = f.connection_id
                     and n.status = 'active'),
         (select count(*) < 3000 from found)
$$;

-- The accounts of a partner's clients with private.paid_back_on; up to 1,001.
create function private.accounts_paid_back(partner uuid) returns uuid[]
language sql stable
as $$
  select array(
    select a.id
      from (select distinct l.account_id from core.payout_lines l
             where l.partner_id = accounts_paid_back.partner and l.failed_effect = 'account'
                 and l.released_at is null) l
      join core.accounts a on a.partner_id = accounts_paid_back.partner and a.id = l.account_id
     where a.client_id is not null and private.paid_back_on(a) is not null
     limit 1001)
$$;

create function private.customers_in_need(partner core.partners, disclosing boolean, key text) returns json
language plpgsql stable security definer
as $$
declare
  people_tenant constant uuid := private.people_tenant();
  needs record;
begin
  -- of most customers only what is counted is read: their whole rows took four times as long
  with newest as (
    select i.id, t.user_id is null as is_account,
           disclosing and coalesce(t.source in ('partner_upload', 'partner_invite'), true) as is_disclosed
      from unnest(private.customer_candidates(partner.id, '{}', null, private.customers_examined())) i (id)
      left join core.attributions t on t.partner_id = partner.id and t.user_id = i.id
  )
  select count(*) as examined,
         count(*) filter (where h.id is null) as without_charger,
         count(*) filter (where h.id is not null and h.mid_eligible is not true) as without_mid,
         coalesce(array_agg(n.id) filter (where n.is_disclosed and (exists (
           select from core.accounts b
             join core.connections c on c.partner_id = b.partner_id and c.account_id = b.id
            where b.partner_id = people_tenant and b.user_id = n.id and c.status = 'active'
                and c.registration_status = 'afgekeurd')
           or n.is_account and exists (
           select from core.connections c where c.partner_id = partner.id and c.account_id = n.id
              and c.status = 'active' and c.registration_status = 'afgekeurd'))), '{}') as rejected,
         count(*) filter (where c.mandate_status = 'pending') as unsigned,
         count(*) filter (where c.mandate_status is not null
                          and c.ean_validation_status in ('mismatch', 'not_found')) as ean,
         count(*) filter (where n.is_disclosed and not n.is_account and exists (
           select from core.accounts b
             join core.signatories s on s.partner_id = b.partner_id and s.account_id = b.id
            where b.partner_id = people_tenant and b.user_id = n.id and s.mail_failed_at is not null)) as mail
    into needs
    from newest n
    left join lateral (
      select h.id, h.mid_eligible, h.created_at from core.chargers h
       where not n.is_account and h.partner_id = people_tenant and h.user_id = n.id and h.status = 'active'
      union all
      select h.id, h.mid_eligible, h.created_at from core.chargers h
       where n.is_account and h.partner_id = partner.id and h.account_id = n.id and h.status = 'active'
      order by created_at desc, id limit 1) h on true
    -- the connection that the list shows
    left join lateral (
      select m.mandate_status, m.ean_validation_status from core.connection_mandates m
       where n.is_account and m.partner_id = partner.id and m.account_id = n.id and m.status = 'active'
       order by m.mandate_status = 'signed' desc, m.created_at, m.connection_id limit 1) c on true;
  return json_build_object(
    'examined', needs.examined, 'all', needs.examined < private.customers_examined(),
    'without_charger', needs.without_charger, 'without_mid', needs.without_mid,
    'mail', needs.mail, 'unsigned', needs.unsigned, 'ean', needs.ean,
    'months_rejected', (select json_build_object('customers', cardinality(r.accounts), 'at_least', not r.whole)
                          from private.accounts_rejected(partner.id) r),
    -- of several connections the list shows one
    'rejected', case when needs.rejected = '{}' then 0
                     else json_array_length(private.customer_page(partner, disclosing, jsonb_build_object(
                  'ids', needs.rejected, 'for', jsonb_build_object('registration', 'afgekeurd'), 'key', key))) end);
end $$;
comment on function private.customers_in_need(core.partners, boolean, text) is
  'Counts what a partner''s newest customers lack, as far as it may see: {examined, all, without_charger, '
  'without_mid, mail, unsigned, ean, months_rejected, rejected}. Accounts of its clients are among them. all: there '
  'are no others. mail leaves the accounts out, because an index counts them. unsigned, ean and months_rejected count '
  'only accounts: the mandate waits for a signature, the EAN is not of the address or not in the register, the '
  'register rejected a month. Definer, because people own what they have in the people''s tenant. It discloses counts.';

-- How many customers a partner won from one day until another, which is left out: people that it brought, counted up to
-- 10,000 (the index attributions_by_month has them), and accounts of its clients.
create function private.customers_won(began date, ended date, out customers bigint, out at_least boolean)
language sql stable
as $$
  select count(*) + private.accounts_made(private.partner_id(), began, ended), count(*) = 10000
    from (select from core.attributions a
           where a.partner_id = private.partner_id() and a.attached_month >= began
               and a.attached_month < ended limit 10000) a
$$;

create function private.has_own_pages(person uuid) returns boolean
language sql stable security definer
as $$ select exists (select from core.accounts a where a.user_id = person) $$;
comment on function private.has_own_pages(uuid) is
  'Whether somebody who manages a partner is a customer too. Definer, because people own what they have in the '
  'people''s tenant.';

-- The CPO clients of a partner that need something: [{id, name, failing, disabled, parked}]. failing and disabled
-- count their webhooks. parked counts charging sessions that wait for their charger, up to 1,001.
create function private.clients_in_need() returns json
language sql stable
as $$
  select coalesce(json_agg(json_build_object('id', c.id, 'name', c.name, 'failing', w.failing,
                                             'disabled', w.disabled, 'parked', p.parked) order by c.created_at, c.id),
                  '[]')
    from private.cpo_clients() c
   cross join lateral (
     select count(*) filter (where e.status = 'disabled') as disabled,
            count(*) filter (where e.status = 'enabled' and e.failing_since is not null) as failing
       from core.webhook_endpoints e where e.partner_id = c.partner_id and e.owner_id = c.id) w
   cross join lateral (
     select count(*) as parked
       from (select from core.parked_charging g
              where g.partner_id = c.partner_id and g.owner_id = c.id limit 1001) g) p
   where c.disabled_at is null and w.failing + w.disabled + p.parked > 0
$$;

create function api.show_portal_start(caller jsonb, query jsonb) returns json
language plpgsql security definer
as $$
declare
  partner core.partners;
  figures json;
  many    boolean;
  last    core.dashboards;
  year  constant int      := (query ->> 'year')::int;
  began constant date     := coalesce(make_date(year, 1, 1), date_trunc('month', private.today())::date);
  span  constant interval := case when year is null then interval '1 month' else interval '1 year' end;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  figures := private.partner_figures(partner);
  many    := private.has_many(partner.id);
  select * into last from core.dashboards d where many and d.partner_id = partner.id;
  return json_build_object(
    'who', private.portal_who(),
    'own_pages', private.has_own_pages(private.manager_id()),
    -- of the same count as the payouts
    'figures', case when many then last.figures else figures end,
    'accounts', case when many then last.accounts else private.count_dashboard(partner.id, true) end,
    'period', json_build_object('won', private.customers_won(began, (began + span)::date),
                                'won_before', private.customers_won((began - span)::date, began),
                                'has_factor', exists (select from core.ere_factors f
                                                       where f.delivery_year = extract(year from began))),
    'terms', json_build_object('fee_pct', partner.default_fee_pct, 'share_pct', partner.partner_share_pct,
                               'price_per_ere_eur', private.last_price(private.people_tenant()),
                               'accounts_price_per_ere_eur', private.last_price(partner.id),
                               'iban_last4', partner.iban_last4,
                               'iban_held_until', case when partner.iban_ciphertext is not null then
                                   private.iso(private.iban_held_until(partner.iban_changed_at)) end),
    'payouts', case when many then last.payouts else private.partner_payouts(partner.id) end,
    'coming_eur', case when many then last.coming_eur else private.partner_coming(partner.id) end,
    'attention', json_build_object(
      'drafts', private.drafts_in_need(),
      'customers', case when many then last.needs
                        else private.customers_in_need(partner, private.is_partner_itself(), query ->> 'key') end,
      'webhooks', private.webhooks_counted(partner.id),
      'account_missing', partner.iban_ciphertext is null,
      'payment_failed', private.payment_back(partner.id, partner.id, partner.iban_last4,
                                             partner.iban_changed_at) -> 'because',
      'clients', private.clients_in_need(),
      'iban_wrong', (select count(*) from (select from core.accounts a where a.partner_id = partner.id
                                            and not a.iban_checksum_ok limit 1001) a),
      'paid_back', cardinality(private.accounts_paid_back(partner.id)),
      'mail_failed', (select count(*) from (select from core.signatories s where s.partner_id = partner.id
                                             and s.mail_failed_at is not null limit 1001) s),
      'invoices_need', private.why_no_invoice(partner),
      'cap', private.draft_cap(),
      'cap_left', greatest(private.draft_cap() - private.drafts_made(), 0)));
end $$;
comment on function api.show_portal_start(jsonb, jsonb) is
  'What the people who manage a partner see first: {key, year} to {who, own_pages, figures, accounts, period, terms, '
  'payouts, coming_eur, attention}, figures as GET /partner/dashboard, accounts the same of the accounts of its CPO '
  'clients, and payouts as GET /partner/payouts. These, coming_eur (private.partner_coming) and the customers of '
  'attention are of one count where there are many, and null before the first. own_pages: they have an '
  'account of their own too. period is {won, won_before, has_factor} of the year, else of this month: won each '
  '{customers, at_least}, has_factor whether an ERE factor is set. '
  'terms are what its share is estimated with. attention is {drafts, customers, webhooks, '
  'account_missing, payment_failed, clients, iban_wrong, paid_back, mail_failed, invoices_need, cap, cap_left} of what '
  'is newest. paid_back is the number of private.accounts_paid_back. payment_failed is because of '
  'private.payment_back, clients private.clients_in_need. iban_wrong: the accounts of its CPO clients that cannot be '
  'paid, because the checksum of their IBAN is wrong, up to 1,001. mail_failed: those of them whom mail does not '
  'reach, up to 1,001.';
