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
      order by created_at desc, id limit 1) h on true;
  return json_build_object(
    'examined', needs.examined, 'all', needs.examined < private.customers_examined(),
    'without_charger', needs.without_charger, 'without_mid', needs.without_mid,
    'mail', needs.mail,
    -- of several connections the list shows one
    'rejected', case when needs.rejected = '{}' then 0
                     else json_array_length(private.customer_page(partner, disclosing, jsonb_build_object(
                  'ids', needs.rejected, 'for', jsonb_build_object('registration', 'afgekeurd'), 'key', key))) end);
end $$;
comment on function private.customers_in_need(core.partners, boolean, text) is
  'Counts what a partner''s newest customers lack, as far as it may see: {examined, all, without_charger, '
  'without_mid, mail, rejected}. Accounts of its clients are among them. all: there are no others. mail leaves the '
  'accounts out, because an index counts them. Definer, because people own what they have in the people''s tenant. '
  'It discloses counts.';

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

create function private.partner_coming(partner uuid) returns numeric
language sql stable security definer
as $$
  select coalesce((select sum(b.amount) from private.payable_balances(array[partner]) b
                    where b.partner_id = partner and b.account_id is null), 0)
       + coalesce((select sum(l.amount) from core.payout_lines l
                    where l.partner_id = partner and l.account_id is null and l.status = 'pending'), 0)
$$;
comment on function private.partner_coming(uuid) is
  'What a partner is owed, VAT included and debts taken off, with what is on its way to the bank. Definer, because '
  'what people own is in the people''s tenant.';

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
                                'won_before', private.customers_won((began - span)::date, began)),
    'terms', json_build_object('fee_pct', partner.default_fee_pct, 'share_pct', partner.partner_share_pct,
                               'price_per_ere_eur', private.last_price(private.people_tenant()),
                               'accounts_price_per_ere_eur', private.last_price(partner.id),
                               'iban_last4', partner.iban_last4),
    'payouts', case when many then last.payouts else private.partner_payouts(partner.id) end,
    'coming_eur', private.partner_coming(partner.id),
    'attention', json_build_object(
      'drafts', private.drafts_in_need(),
      'customers', case when many then last.needs
                        else private.customers_in_need(partner, private.is_partner_itself(), query ->> 'key') end,
      'webhooks', private.webhooks_counted(partner.id),
      'account_missing', partner.iban_ciphertext is null,
      'iban_wrong', (select count(*) from core.accounts a where a.partner_id = partner.id and not a.iban_checksum_ok),
      'mail_failed', (select count(*) from core.signatories s where s.partner_id = partner.id
                      and s.mail_failed_at is not null),
      'invoices_need', private.why_no_invoice(partner),
      'cap', private.draft_cap(),
      'cap_left', greatest(private.draft_cap() - private.drafts_made(), 0)));
end $$;
comment on function api.show_portal_start(jsonb, jsonb) is
  'What the people who manage a partner see first: {key, year} to {who, own_pages, figures, accounts, period, terms, '
  'payouts, coming_eur, attention}, figures as GET /partner/dashboard, accounts the same of the accounts of its CPO '
  'clients, and payouts as GET /partner/payouts. These and the '
  'customers of attention are of one count where there are many, and null before the first. own_pages: they have an '
  'account of their own too. period is {won, won_before} of the year, else of this month, each {customers, '
  'at_least}. terms are what its share is estimated with. attention is {drafts, customers, webhooks, '
  'account_missing, iban_wrong, mail_failed, invoices_need, cap, cap_left} of what is newest. iban_wrong: '
  'the accounts of its CPO clients that cannot be paid, because the checksum of their IBAN is wrong. '
  'mail_failed: those of them whom mail does not reach.';
