-- Invoices: the service writes them in a partner's name for its share (self-billing), with VAT on top.

-- A number as people write it: 2026-0001. Null of null.
create function private.invoice_number(invoice core.invoices) returns text
language sql immutable
return invoice.year || '-' || lpad(invoice.number::text, greatest(4, length(invoice.number::text)), '0');

-- Entries of a partner's share that no invoice has: quarter of delivery, euro, and the invoice that a reversal
-- corrects.
create function private.share_entries(partner uuid)
returns table (ledger_partner_id uuid, entry_id bigint, quarter date, amount numeric, corrects uuid)
language plpgsql stable
as $$
begin
  return query
  with account as (
    select a.partner_id, a.id from core.ledger_accounts a
     where a.partner_id = any (array[share_entries.partner, private.people_tenant()])
         and a.owner = share_entries.partner and a.kind = 'partner' and a.unit = 'EUR'
  ), entry as (
    select e.partner_id, e.id, e.cause, e.amount
      from account a join core.ledger_entries e on e.partner_id = a.partner_id and e.credit = a.id
          where e.cause like 'allocation:%'
    union all
    select e.partner_id, e.id, e.cause, -e.amount
      from account a join core.ledger_entries e on e.partner_id = a.partner_id and e.debit = a.id
          where e.cause like 'allocation:%'
  )
  select e.partner_id, e.id, b.quarter, e.amount, i.invoice_id
    from entry e
    join core.allocations a on a.partner_id = e.partner_id and a.id = private.as_uuid(split_part(e.cause, ':', 2))
    join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
    join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
    -- what is taken back, and the invoice that had it
    left join core.ledger_entries t on e.amount < 0 and t.partner_id = e.partner_id
        and t.cause = regexp_replace(e.cause, ':reversed$', '')
    left join core.invoice_entries i on i.partner_id = share_entries.partner and i.ledger_partner_id = t.partner_id
        and i.entry_id = t.id
   where not exists (select from core.invoice_entries o
                      where o.partner_id = share_entries.partner and o.ledger_partner_id = e.partner_id
                          and o.entry_id = e.id);
end $$;

-- Whether it looks like a Dutch VAT number. Nobody asks the tax authority.
create function private.dutch_vat_number(value text) returns boolean
language sql immutable
return regexp_replace(upper(value), '[ .-]', '', 'g') ~ '^NL[0-9]{9}B[0-9]{2}$';

-- The first thing that is missing of a partner to write an invoice in its name; null if nothing is.
create function private.why_no_invoice(partner core.partners) returns text
language sql immutable
as $$
  select case
    when partner.vat_regime is null then 'vat_regime_missing'
    when partner.vat_regime in ('regular', 'reverse_charge') and coalesce(partner.company ->> 'vat', '') = ''
        then 'vat_number_missing'
    when partner.vat_regime = 'regular' and not private.dutch_vat_number(partner.company ->> 'vat')
        then 'vat_number_not_dutch'
    when partner.vat_regime = 'reverse_charge' and private.dutch_vat_number(partner.company ->> 'vat')
        then 'vat_number_dutch'
    when coalesce(partner.company ->> 'street', '') = '' or coalesce(partner.company ->> 'city', '') = ''
        then 'address_missing' end
$$;

-- Writes an invoice of a quarter's entries that none has, or a credit note; null if there is nothing. The next payout
-- pays its VAT. Locked.
create function private.write_invoice(partner core.partners, quarter date, by_login text, corrects uuid,
                                      regime text, rate numeric)
returns core.invoices
language plpgsql
as $$
declare
  this_year constant int := extract(year from private.today());
  invoice   core.invoices;
begin
  -- one statement: what is sold while it runs is on the next invoice
  with charged as (
    select e.ledger_partner_id, e.entry_id, e.amount from private.share_entries(partner.id) e
     where e.quarter = write_invoice.quarter and e.corrects is not distinct from write_invoice.corrects
  ), written as (
    insert into core.invoices (partner_id, year, number, quarter, issued_on, issued_by, vat_regime, vat_rate, net, vat,
                               corrects, name, company)
    select partner.id, this_year, last.number + 1, write_invoice.quarter, private.today(), by_login, regime,
        rate, sum(c.amount),
           round((sum(c.amount) + before.net) * rate * 0.01, 2) - before.vat, write_invoice.corrects,
               coalesce(partner.company ->> 'name', partner.name), partner.company
      from charged c
     cross join (select coalesce(sum(i.net), 0) as net, coalesce(sum(i.vat), 0) as vat from core.invoices i
                  where i.partner_id = partner.id and i.corrects = write_invoice.corrects) before
     cross join (select coalesce(max(i.number), 0) as number from core.invoices i where i.partner_id = partner.id
                 and i.year = this_year) last
     group by before.net, before.vat, last.number having sum(c.amount) <> 0
    returning *
  ), listed as (
    insert into core.invoice_entries (partner_id, ledger_partner_id, entry_id, invoice_id, amount)
    select w.partner_id, c.ledger_partner_id, c.entry_id, w.id, c.amount from written w cross join charged c
  )
  select * into invoice from written;
  if not found then
    return null;
  end if;
  update core.invoices i set months = private.invoice_months(invoice)
   where i.partner_id = invoice.partner_id and i.id = invoice.id returning * into invoice;
  if invoice.vat <> 0 then
    perform private.post(partner.id,
                         array[private.euro_posting('invoice:' || invoice.id || ':vat', invoice.vat, 'input_vat',
                                                    private.people_tenant(), 'vat', partner.id)]);
  end if;
  insert into core.documents (partner_id, invoice_id) values (invoice.partner_id, invoice.id);
  perform private.set_tenant(partner.id),
          private.audit('invoice.issued', invoice.id, jsonb_build_object('number', private.invoice_number(invoice),
                                                                         'net', invoice.net, 'vat', invoice.vat));
  return invoice;
end $$;

-- Writes what a partner's share in a quarter still needs: a credit note for each invoice with reversals, and an invoice
-- of the rest.
create function private.issue_invoices(partner core.partners, wanted date, by_login text) returns setof core.invoices
language plpgsql
as $$
declare
  due     record;
  invoice core.invoices;
begin
  -- of two at once the second finds nothing left, and the numbers have no gaps
  perform private.lock('invoices', partner.id::text);
  for due in
    select i.id as corrects, i.vat_regime, i.vat_rate, i.year, i.number from core.invoices i
     where i.partner_id = partner.id
       and i.id in (select e.corrects from private.share_entries(partner.id) e where e.quarter = wanted)
    union all
    select null, partner.vat_regime, case partner.vat_regime when 'regular' then (
             select r.rate from core.vat_rates r where r.valid_from <= private.today()
               order by r.valid_from desc limit 1) else 0 end, null, null
     where private.why_no_invoice(partner) is null
     order by year, number  -- the invoice of the rest comes last
  loop
    invoice := private.write_invoice(partner, wanted, by_login, due.corrects, due.vat_regime, due.vat_rate);
    if invoice.id is not null then
      return next invoice;
    end if;
  end loop;
end $$;

-- What an invoice charges by the month of delivery: [{period, customers, ere, fee_eur, share_eur}].
create function private.invoice_months(invoice core.invoices) returns json
language sql stable
as $$
  -- materialized: else without statistics each entry is joined with every part
  with charged as materialized (
    select i.ledger_partner_id, i.amount, private.as_uuid(split_part(e.cause, ':', 2)) as allocation_id
      from core.invoice_entries i
      join core.ledger_entries e on e.partner_id = i.ledger_partner_id and e.id = i.entry_id
     where i.partner_id = invoice.partner_id and i.invoice_id = invoice.id
  )
  select coalesce(json_agg(json_build_object('period', to_char(m.period, 'YYYY-MM'), 'customers', m.customers,
                                             'ere', m.ere, 'fee_eur', m.fee,
                                             'share_eur', m.share) order by m.period), '[]')
    from (select r.period, count(distinct a.account_id) as customers, sum(a.ere * sign(c.amount)) as ere,
          sum(a.fee * sign(c.amount)) as fee, sum(c.amount) as share
            from charged c
            join core.allocations a on a.partner_id = c.ledger_partner_id and a.id = c.allocation_id
            join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
           group by r.period) m
$$;

create function private.check_invoices(tenant uuid) returns setof private.check_result
language sql stable
as $$
  with invoice as (
    select i.id, i.net, i.vat,
        coalesce((select sum(e.amount) from core.invoice_entries e where e.partner_id = i.partner_id
                  and e.invoice_id = i.id), 0) as entries,
           coalesce((select e.amount * case d.kind when 'input_vat' then 1 else -1 end
                       from core.ledger_entries e join core.ledger_accounts d on d.partner_id = e.partner_id
                           and d.id = e.debit
                      where e.partner_id = tenant and e.cause = 'invoice:' || i.id || ':vat'), 0) as in_ledger
      from core.invoices i where i.partner_id = tenant
  )
  select 'VAT of credit notes is that of their sum', coalesce(sum(k.due), 0), coalesce(sum(k.vat), 0),
      count(*) filter (where k.due <> k.vat),
         min('invoice ' || k.corrects) filter (where k.due <> k.vat)
    from (select i.corrects, sum(i.vat) as vat, round(sum(i.net) * i.vat_rate * 0.01, 2) as due
            from core.invoices i where i.partner_id = tenant and i.corrects is not null
                group by i.corrects, i.vat_rate) k
  union all
  select 'invoices charge what they list', coalesce(sum(i.entries), 0), coalesce(sum(i.net), 0),
      count(*) filter (where i.net <> i.entries),
         min('invoice ' || i.id) filter (where i.net <> i.entries)
    from invoice i
  union all
  select 'VAT in the ledger is that of invoices', coalesce(sum(i.vat), 0), coalesce(sum(i.in_ledger), 0),
      count(*) filter (where i.vat <> i.in_ledger),
         min('invoice ' || i.id) filter (where i.vat <> i.in_ledger)
    from invoice i
  union all
  select 'numbers of invoices have no gaps', coalesce(sum(y.last), 0), coalesce(sum(y.invoices), 0),
      count(*) filter (where y.last <> y.invoices),
         min('year ' || y.year) filter (where y.last <> y.invoices)
    from (select i.year, max(i.number) as last, count(*) as invoices from core.invoices i where i.partner_id = tenant
          group by i.year) y
$$;
