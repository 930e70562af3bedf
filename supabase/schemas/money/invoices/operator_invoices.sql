-- The operator on invoices: issue, list, show; the rates of VAT.

-- An invoice as the operator sees it. Below zero it is a credit note, with the number of the invoice it corrects.
create function private.invoice_row(invoice core.invoices) returns json
language sql stable
as $$
  select json_build_object(
    'invoice_id', invoice.id, 'number', private.invoice_number(invoice), 'partner_slug',
        (select p.slug from core.partners p where p.id = invoice.partner_id),
    'name', invoice.name,
    'corrects', (select private.invoice_number(i) from core.invoices i where i.partner_id = invoice.partner_id
                 and i.id = invoice.corrects), 'quarter', private.quarter_name(invoice.quarter), 'issued_on',
                 invoice.issued_on, 'issued_by', invoice.issued_by,
    'vat_regime', invoice.vat_regime, 'vat_rate', invoice.vat_rate, 'net_eur', invoice.net, 'vat_eur', invoice.vat,
        'total_eur', invoice.net + invoice.vat)
$$;

create function ops.invoice_issue(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wanted   constant date := private.read_quarter(input ->> 'quarter');
  chosen   uuid;
  partner  core.partners;
  invoice  core.invoices;
  owed     numeric;
  issued   jsonb := '[]';
  left_out jsonb := '[]';
begin
  perform private.act_as_operator(input);
  if input ? 'partner' then
    chosen := (private.business_named(input)).id;
  end if;
  -- what is sold of a quarter that runs is a part of it
  perform private.refuse_if('quarter_not_over', private.next_quarter(wanted) > private.today(),
    json_build_object('quarter', private.quarter_name(wanted)));
  -- with look the invoices are written, read and rolled back: no other count is exact
  begin
    for partner in
      select p.* from core.partners p
       where p.id <> private.people_tenant() and (chosen is null or p.id = chosen)
         and exists (select from core.ledger_accounts a
                      where a.partner_id = any (array[p.id, private.people_tenant()]) and a.owner = p.id
                          and a.kind = 'partner' and a.unit = 'EUR')
       order by p.id
    loop
      for invoice in select * from private.issue_invoices(partner, wanted, session_user) loop
        issued := issued || private.invoice_row(invoice)::jsonb;
      end loop;
      owed := (select sum(e.amount) from private.share_entries(partner.id) e where e.quarter = wanted);
      if owed <> 0 and private.why_no_invoice(partner) is not null then
        left_out := left_out || jsonb_build_object('partner_slug', partner.slug, 'net_eur', owed,
                                                   'reason', private.why_no_invoice(partner));
      end if;
    end loop;
    if (input ->> 'look')::boolean then
      raise exception using errcode = 'RTEST';
    end if;
  exception when sqlstate 'RTEST' then
    null;
  end;
  return json_build_object('changed', issued <> '[]', 'invoices', issued, 'left_out', left_out);
end $$;
comment on function ops.invoice_issue(jsonb) is
  'Writes the invoices and credit notes that partners'' shares in a quarter of delivery need: {quarter, partner?, '
  'look?} to {changed, invoices, left_out}. With look it changes nothing.';

create function ops.invoice_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('invoices', coalesce(json_agg(private.invoice_row(i) order by i.issued_on desc, i.year desc,
                                                         i.number desc, i.partner_id), '[]'))
    from (select i.*
            from private.chosen_partner(input) as chosen (id) join core.invoices i on chosen.id is null
                or i.partner_id = chosen.id
           where input ->> 'quarter' is null or private.quarter_name(i.quarter) = upper(input ->> 'quarter')
           order by i.issued_on desc, i.year desc, i.number desc,
               i.partner_id limit coalesce((input ->> 'limit')::int, 50)) i
$$;
comment on function ops.invoice_list(jsonb) is 'Invoices, newest first: {quarter?, partner?, limit?} to {invoices}.';

create function ops.invoice_show(input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  partner constant core.partners := private.business_named(input);
  invoice core.invoices;
begin
  select * into invoice from core.invoices i where i.partner_id = partner.id
      and private.invoice_number(i) = input ->> 'number';
  perform private.refuse_if('invoice_not_found', not found,
                            json_build_object('number', input ->> 'number', 'partner', partner.slug));
  return json_build_object('invoice', private.invoice_row(invoice), 'company', invoice.company,
                           'months', invoice.months);
end $$;
comment on function ops.invoice_show(jsonb) is
  'An invoice, its company data, and what it charges by month of delivery: {partner, number} to {invoice, company, '
  'months}.';

create function ops.vat_set(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wanted  constant numeric := private.as_decimal(input ->> 'rate', 2);
  since   constant date := private.as_day(input ->> 'valid_from');
  changed boolean;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('invalid_vat_rate', wanted is null or wanted > 100 or since is null);
  changed := not exists (select from core.vat_rates r where r.valid_from = since and r.rate = wanted);
  if changed and exists (select from core.invoices i where i.issued_on >= since) then
    perform private.refuse('vat_rate_in_use', json_build_object('valid_from', since));
  elsif changed then
    insert into core.vat_rates as r (valid_from, rate) values (since, wanted)
    on conflict on constraint vat_rates_pkey do update set rate = excluded.rate;
    perform private.audit('vat.rate_set', null, jsonb_build_object('valid_from', since, 'rate', wanted));
  end if;
  return json_build_object('changed', changed, 'rate', json_build_object('valid_from', since, 'rate', wanted));
end $$;
comment on function ops.vat_set(jsonb) is
  'Sets the standard rate of VAT from a day on: {valid_from, rate} to {changed, rate}. Refused if an invoice was '
  'issued on that day or later.';

create function ops.vat_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('rates', json_agg(json_build_object('valid_from', r.valid_from, 'rate', r.rate)
                                             order by r.valid_from desc)) from core.vat_rates r
$$;
comment on function ops.vat_list(jsonb) is 'The standard rates of VAT, the latest first: {} to {rates}.';
