-- The operator on one quarter: where each partner stands, and which step comes next.

-- Where a partner stands in a quarter, and the first step that waits. submitted_kwh wait for the register; due_eur is
-- without VAT. payable: whether a batch has anybody to pay now; else invoices need not wait for it.
create function private.quarter_state(tenant core.partners, quarter date, spent uuid[], payable boolean) returns json
language sql stable
as $$
  with booking as (
    select b.id, b.number, b.status, b.export_sha256, r.waiting, r.waiting_kwh,
           case when b.status = 'submitted' and b.id <> all (spent) then greatest(private.sellable_ere(b), 0)
                else 0 end as sellable,
           count(*) over () = 1 as alone
      from core.bookings b
     cross join lateral (
       select count(*) as waiting, coalesce(sum(r.kwh), 0) as waiting_kwh
         from core.booking_rows r where r.partner_id = b.partner_id and r.booking_id = b.id
             and r.status = 'submitted') r
     where b.partner_id = tenant.id and b.quarter = quarter_state.quarter and b.status <> 'withdrawn'
  ), credited as (
    select coalesce(sum(c.ere), 0) as ere
      from booking b
      join core.booking_rows r on r.partner_id = tenant.id and r.booking_id = b.id
      join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
  ), allocation as (
    select a.id, a.ere, a.reversal_id is null as stands, a.gross, a.net + a.partner_share as due
      from booking b
      join core.sales s on s.partner_id = tenant.id and s.booking_id = b.id
      join core.allocations a on a.partner_id = s.partner_id and a.sale_id = s.id
  ), sold as (
    select coalesce(sum(a.ere), 0) as ere, coalesce(sum(a.gross), 0) as gross, coalesce(sum(a.due), 0) as due
     from allocation a where a.stands
  ), entry as (
    select e.amount, l.status, l.batch_id
      from allocation a
      join core.payout_entries e on e.ledger_partner_id = tenant.id and e.allocation_id = a.id
      join core.payout_parts p on p.partner_id = e.partner_id and p.id = e.part_id
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where l.status in ('paid', 'pending')
  ), paid as (
    select coalesce(sum(e.amount) filter (where e.status = 'paid'), 0) as paid, coalesce(sum(e.amount), 0) as taken
     from entry e
  ), batch as (
    select b.id, b.status, b.reject_asked_by is not null as rejecting from core.payout_batches b
     where b.id in (select e.batch_id from entry e where e.status = 'pending') order by b.prepared_at, b.id limit 1
  ), delivered as (
    select count(*) as months, coalesce(sum(j.kwh), 0) as kwh, count(*) filter (where j.reason is null) as bookable,
           count(*) filter (where j.reason <> 'already_booked') as left_out
      from private.judge_quarter(tenant.id, quarter) j
  ), figures as (
    select exists (select from core.figures f where f.partner_id = tenant.id and f.delivery_year = extract(year
        from quarter)) as published
  ), invoice as (
    select exists (
      select from core.partners p cross join lateral private.share_entries(p.id) e
       where p.id <> private.people_tenant() and tenant.id in (p.id, private.people_tenant())
           and e.quarter = quarter_state.quarter
       group by p.id having sum(e.amount) <> 0) as waits
  ), next as (
    -- the first step of the chain that waits
    select case
             when d.bookable > 0 and private.next_quarter(quarter) > private.today()
                 then json_build_object('step', 'wait')
             when d.bookable > 0
                 then json_build_object('step', case when exists (select from booking b where b.status = 'open')
                                                     then 'submit' else 'open' end)
             else coalesce(
               (select json_build_object('step', case when b.export_sha256 is null then 'export' else 'credit' end,
                                         'booking', case when b.alone then null else b.id end)
                  from booking b where b.waiting > 0 order by b.number limit 1),
               (select json_build_object('step', 'sell', 'booking', case when b.alone then null else b.id end,
                                         'ere', b.sellable)
                  from booking b where b.sellable > 0 order by b.number limit 1),
               case when s.ere > 0 and not f.published then json_build_object('step', 'publish') end,
               (select json_build_object('step', case b.status when 'prepared' then 'approve'
                                                      when 'approved' then 'send' else 'settle' end, 'batch', b.id,
                                         'rejecting', b.rejecting)
                  from batch b),
               case when s.due > p.taken and payable then json_build_object('step', 'pay')
                    when s.ere > 0 and (select i.waits from invoice i) then json_build_object('step', 'invoice')
                    when s.due > p.taken then json_build_object('step', 'pay')
                    when s.ere > 0 then json_build_object('step', 'done')
                    when d.left_out > 0 then json_build_object('step', 'preview')
                    when d.months > 0 then json_build_object('step', 'done')
                    else json_build_object('step', 'deliver') end)
           end as step
      from delivered d, figures f, sold s, paid p
  )
  select json_build_object(
           'partner_slug', tenant.slug, 'months', d.months, 'kwh', d.kwh, 'to_book', d.bookable, 'left_out', d.left_out,
           'open', (select count(*) from booking b where b.status = 'open'),
           'submitted_kwh', (select coalesce(sum(b.waiting_kwh), 0) from booking b),
           'credited_ere', c.ere, 'sold_ere', s.ere, 'gross_eur', s.gross, 'due_eur', s.due, 'paid_eur', p.paid,
               'figures', f.published, 'next', n.step)
    from delivered d, credited c, sold s, paid p, figures f, next n
$$;

-- Which payees of these partners cannot be paid now, and why, as far as it shows without the keys: {payee,
-- partner_slug, is_partner, amount_eur, reason, until, because}. Also whose IBAN is wrong and who has months in the
-- quarter, before anything is owed; and who is paid again to an account from which the bank sent the last payment back,
-- for a reason that bars nothing (came_back, because: its code).
create function private.unpayable(payees private.payee[], tenants uuid[], quarter date) returns json
language sql stable
as $$
  with payee as (
    select y.partner_id, coalesce(y.account_id, y.partner_id) as payee, y.amount,
           w.reason,
           case w.reason when 'iban_changed' then private.iso(private.iban_held_until(y.iban_changed_at)) end as until,
           b.because
      from unnest(payees) y
      left join core.accounts a on a.partner_id = y.partner_id and a.id = y.account_id
      cross join lateral (
        select exists (select from core.payout_lines l
                        where l.partner_id = y.partner_id and l.payee_id = coalesce(y.account_id, y.partner_id)
                          and l.failed_effect = 'account' and l.released_at is null
                          and private.to_same_iban(l, y.iban_last4, y.iban_changed_at)) as barred) f
      left join lateral (
        select c.because
          from private.last_payment(y.partner_id, coalesce(y.account_id, y.partner_id)) l
          join core.payout_batches b on b.id = l.batch_id and b.status <> 'rejected'
         cross join lateral (
           select coalesce(substring(l.failed_reason from '^[A-Z0-9]{4}(?= |$)'), 'NARR') as because) c
         where l.status = 'failed' and l.failed_effect = 'none'
           and private.to_same_iban(l, y.iban_last4, y.iban_changed_at)
           and c.because not in (select r.code from private.bank_reasons() r where r.effect in ('ours', 'before'))) b
        on true
      cross join lateral (
        -- an IBAN that is wrong or barred is not paid when its 48 hours are over
        select case when coalesce(y.reason, 'iban_changed') <> 'iban_changed' then y.reason
                    when not a.iban_checksum_ok then 'iban_invalid' when f.barred then 'iban_failed'
                    else coalesce(y.reason, case when b.because is not null then 'came_back' end) end as reason) w
     where y.partner_id = any (tenants)
  ), wrong as (
    select a.partner_id, a.id, null::numeric, 'iban_invalid', null, null
      from core.accounts a
     where a.partner_id = any (tenants) and not a.iban_checksum_ok and a.id not in (select y.payee from payee y)
       and exists (select from core.connections c
                     join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
                    where c.partner_id = a.partner_id and c.account_id = a.id
                      and d.period >= unpayable.quarter and d.period < private.next_quarter(unpayable.quarter))
  )
  select coalesce(json_agg(json_build_object(
           'payee', u.payee, 'partner_slug', p.slug, 'is_partner', u.payee = u.partner_id,
           'amount_eur', u.amount, 'reason', u.reason, 'until', u.until, 'because', u.because)
           order by u.reason, p.slug, u.amount desc nulls last, u.payee), '[]')
    from (select * from payee y where y.reason is not null union all select * from wrong) u
    join core.partners p on p.id = u.partner_id
$$;

create function ops.quarter_show(input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  named   constant text := input ->> 'quarter';
  partner constant uuid := private.chosen_partner(input);
  wanted  date;
  spent   uuid[];
  begun   uuid[];
  shown   uuid[];
  payees  private.payee[];
  unpayable json;
  payable boolean;
begin
  wanted := private.read_quarter(named);
  spent := private.spent_bookings();
  begun := array(
    select p.id from core.partners p
     where p.is_active and exists (select from core.delivered_months d
                                    where d.partner_id = p.id and private.quarter_of(d.period) = wanted)
        or exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted
                                                 and b.status <> 'withdrawn'));
  shown := case when partner is null then begun else array[partner] end;
  payees := array(select y from private.payees(private.read_minimum('{}')) y);
  unpayable := private.unpayable(payees, shown, wanted);
  payable := exists (
    select from unnest(payees) y
     where y.reason is null and coalesce(y.account_id, y.partner_id)::text not in (
       select u ->> 'payee' from json_array_elements(unpayable) u where u ->> 'reason' <> 'came_back'));
  return (
    with stand as (
      select p.slug, private.quarter_state(p, wanted, spent, payable) as state
        from core.partners p where p.id = any (shown)
    )
    select json_build_object(
             'quarter', named, 'over', private.next_quarter(wanted) <= private.today(), 'last_day',
                 private.next_quarter(wanted) - 1,
             'partners', coalesce((select json_agg(s.state order by s.slug) from stand s), '[]'),
             'payable', case when exists (select from stand s
                                           where s.state #>> '{next,step}' in ('pay', 'invoice')
                                             and (s.state ->> 'due_eur')::numeric > (s.state ->> 'paid_eur')::numeric)
                             then payable end,
             'unpayable', unpayable,
             'conflicts', (select count(*) from private.charger_conflicts() c
                            where c.reason = 'other_brand'),
             'without', case when partner is null then (
               select count(*) from core.partners p where p.is_active and p.id <> all (begun)) else 0 end));
end $$;
comment on function ops.quarter_show(jsonb) is
  'Where each partner stands in a quarter: {quarter, partner?} to {quarter, over, last_day, partners, payable, '
  'unpayable, conflicts, without}. Each partner has next: {step, booking?, batch?, ere?, rejecting?}. without counts '
  'the partners that delivered and booked nothing. conflicts: pairs of chargers that both count and may be one. '
  'payable: whether anybody can be paid now, null where no partner waits for that. unpayable: who cannot be, with the '
  'reason, or came_back. No personal data.';
