-- Events of money: booked months, sales, payouts. They are written set by set, because a booking has thousands.

-- Writes one event for each account with months among these booking rows. Only definers call it, as private.emit_all.
create function private.emit_months(tenant uuid, type text, rows uuid[]) returns void
language plpgsql
as $$
begin
  -- what people have is in the people's tenant, and no partner sees months of theirs
  if tenant <> private.people_tenant() then
    perform private.emit_all(tenant, emit_months.type, array(
      select row(r.account_id, r.booking_id, jsonb_build_object(
               'periods', jsonb_agg(distinct r.period order by r.period),
               'status', case emit_months.type when 'account.months_locked' then 'submitted'
                              when 'account.months_reopened' then 'staged'
                                               else replace(emit_months.type, 'account.months_', '') end)
               -- each with the register's own words
               || case emit_months.type when 'account.months_rejected' then jsonb_build_object('months', jsonb_agg(
                    jsonb_build_object('period', r.period, 'connection_id', r.connection_id, 'reason', k.reason)
                      order by r.period, r.connection_id)) else '{}' end)::private.occurrence
        from core.booking_rows r
        left join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
       where r.partner_id = tenant and r.id = any (rows)
       group by r.account_id, r.booking_id order by min(r.id::text)));
  end if;
end $$;

-- Writes events of parts of a sale, for each partner with a share and each account its CPO pays. Only definers call it.
create function private.emit_sale(tenant uuid, type text, allocations uuid[]) returns void
language plpgsql
as $$
declare
  share record;
begin
  for share in
    select a.share_partner_id as partner, b.quarter
      from core.allocations a
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
      join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
     where a.partner_id = tenant and a.id = any (allocations) and a.partner_share > 0
     group by a.share_partner_id, b.quarter order by a.share_partner_id
  loop
    perform private.append_event(share.partner, share.partner, emit_sale.type,
                                 private.payout_id(share.partner, share.quarter),
                         jsonb_build_object('payout_id', private.payout_id(share.partner, share.quarter),
                                            'period', private.quarter_name(share.quarter)));
  end loop;
  perform private.emit_all(tenant, emit_sale.type, array(
    select row(a.account_id, null, jsonb_build_object('delivery_year', f.delivery_year))::private.occurrence
      from core.allocations a
      join core.accounts c on c.partner_id = a.partner_id and c.id = a.account_id
          and c.payout_handler = 'via_cpo_invoicing'
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
      -- a position says nothing of a year that is not published
      join core.figures f on f.partner_id = a.partner_id and f.delivery_year = extract(year from r.period)
     where a.partner_id = tenant and a.id = any (allocations)
     group by a.account_id, f.delivery_year order by a.account_id, f.delivery_year));
end $$;

-- Tells these partners what is new of their payouts. Called after any change to one. Only definers call it, as
-- private.partner_payouts.
create function private.announce_payouts(partners uuid[]) returns void
language plpgsql
as $$
declare
  payout record;
begin
  for payout in
    with current as (
      select p.id as partner_id, y.payout_id, y.period, nullif(y.status, 'none_due') as status
       from unnest(partners) p (id)
       cross join lateral json_to_recordset(private.partner_payouts(p.id)) as y (payout_id uuid,
           period text, status text)
    ), news as (
      -- what was reversed whole is not listed any more
      select coalesce(c.partner_id, t.partner_id) as partner_id, coalesce(c.payout_id, t.payout_id) as payout_id,
             coalesce(c.period, t.period) as period, coalesce(c.status, 'pending') as status
        from current c
        full join (select t.* from core.announced_payouts t where t.partner_id = any (partners)) t
            on t.partner_id = c.partner_id and t.payout_id = c.payout_id
       where coalesce(c.status, 'pending') <> coalesce(t.status, 'pending')
    ), noted as (
      insert into core.announced_payouts (partner_id, payout_id, period, status) select n.partner_id, n.payout_id,
          n.period, n.status from news n
      on conflict on constraint announced_payouts_pkey do update set status = excluded.status
    )
    select * from news n order by n.partner_id, n.period
  loop
    perform private.append_event(payout.partner_id, payout.partner_id,
                                 case payout.status when 'pending' then 'payout.reversed'
                                      else 'payout.' || payout.status end,
                         payout.payout_id, jsonb_build_object('payout_id', payout.payout_id, 'period', payout.period,
                                                              'status', payout.status));
  end loop;
end $$;

-- The lines of a batch.
create function private.lines_of(batch uuid) returns core.payout_lines[]
language sql stable
as $$ select array(select l from core.payout_lines l where l.batch_id = batch order by l.arrival) $$;

-- Writes the events of payout lines, for accounts paid through their CPO and for the partners. Only definers call it:
-- every tenant at once.
create function private.emit_payouts(type text, lines core.payout_lines[]) returns void
language plpgsql
as $$
declare
  tenant uuid;
begin
  -- customers of a CPO that settles with them itself are paid through it
  for tenant in select distinct l.partner_id from unnest(lines) l where l.account_id is null order by l.partner_id loop
    perform private.emit_all(tenant, emit_payouts.type, array(
      select row(p.account_id, l.id,
                 jsonb_build_object('status', case emit_payouts.type when 'payout.reversed' then 'pending'
                                     else replace(emit_payouts.type, 'payout.', '') end))::private.occurrence
        from unnest(lines) l
        join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id and p.account_id is not null
       where l.partner_id = tenant and l.account_id is null
       order by p.account_id));
  end loop;
  perform private.announce_payouts(array(select distinct l.partner_id from unnest(lines) l where l.account_id is null));
end $$;
