-- POST /sandbox/v1/settle: a quarter of the caller's customers, from kWh to a paid euro, by the operator's functions.

-- Books every month of these accounts that can be booked, also of a running quarter, credits all but the rejected
-- months, and sells it at a price in euro.
create function private.settle_accounts(tenant uuid, accounts uuid[], quarter date, price numeric,
                                        rejected date[]) returns void
language plpgsql
as $$
declare
  run     constant uuid := gen_random_uuid();
  booking core.bookings;
  taken   int;
begin
  if not exists (select from private.judge_quarter(tenant, quarter, accounts) j where j.reason is null) then
    return;
  end if;
  perform private.set_tenant(tenant);
  loop
    booking := private.open_booking(tenant, quarter, run);
    taken := private.submit_booking(tenant, booking.id, accounts);
    exit when taken is not null;  -- null: somebody submitted the one that was open
  end loop;
  if taken = 0 then
    -- another booking took the same months a moment ago
    delete from core.bookings b where b.partner_id = tenant and b.id = booking.id and b.run_id = run;
    return;
  end if;
  booking := private.lock_booking(tenant, booking.id);
  perform private.credit_booking(booking, array(
    select row(0, r.id, case when r.period = any (rejected) then 0 else r.kwh end,
               case when r.period = any (rejected) then 'rejected in a rehearsal' end, null)::private.credit_line
      from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id), null);
  -- less than half a cent is credited and stays unsold
  perform private.record_sale(booking, 'sandbox-' || booking.id, 'Sandbox', s.ere, price, private.today())
     from private.sellable_ere(booking) s (ere) where round(s.ere * price, 2) > 0;
end $$;

-- What of a quarter of a partner's accounts, its own and in the people's tenant, is credited and sold, and (of left_out
-- the first 1000) what is not.
create function private.settled_quarter(partner uuid, accounts uuid[], quarter date) returns json
language plpgsql stable
as $$
declare
  tenants constant uuid[] := array[partner, private.people_tenant()];
begin
  return (
    with settled as (
      select r.account_id, r.connection_id, r.period, c.accepted_kwh,
          c.ere, s.gross, s.net
        from core.bookings b
        join core.booking_rows r on r.partner_id = b.partner_id and r.booking_id = b.id and r.status = 'registered'
            and r.account_id = any (accounts)
        join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
        cross join lateral (
          select coalesce(sum(a.gross), 0) as gross, coalesce(sum(a.net), 0) as net
            from core.allocations a where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null) s
       where b.partner_id = any (tenants) and b.quarter = settled_quarter.quarter
    ), left_out as (
      select j.account_id, to_char(j.period, 'YYYY-MM') as period, j.reason
        from unnest(tenants) t (id)
        cross join lateral private.judge_quarter(t.id, settled_quarter.quarter, accounts) j
       where j.reason is not null
         and not exists (select from settled s where s.connection_id = j.connection_id and s.period = j.period)
       order by j.account_id, j.period, j.connection_id limit 1000
    )
    select json_build_object(
      -- also if the register rejected all of it
      'booking_id', (select b.id from core.bookings b
                      where b.partner_id = any (tenants) and b.quarter = settled_quarter.quarter
                        and exists (select from core.booking_rows r
                                     where r.partner_id = b.partner_id and r.booking_id = b.id
                                       and r.account_id = any (accounts) and r.status in ('registered', 'rejected'))
                      order by b.partner_id = partner desc, b.number desc limit 1),
      'accounts', count(distinct t.account_id), 'kwh', coalesce(sum(t.accepted_kwh), 0), 'ere',
          coalesce(round(sum(t.ere), 2), 0),
      'gross_eur', coalesce(sum(t.gross), 0), 'net_eur', coalesce(sum(t.net), 0),
      'left_out', (select coalesce(json_agg(row_to_json(l)), '[]') from left_out l))
      from settled t);
end $$;

-- Pays a partner and these accounts at once, without the 48 hours, the minimum, the second person and the bank. An IBAN
-- with a wrong checksum gets nothing. A payment for a failing account comes back: a customer's bank account is closed,
-- a partner's bank gives no reason. Returns whose payments did.
create function private.pay_accounts(partner uuid, accounts uuid[], failing uuid[]) returns uuid[]
language plpgsql
as $$
declare
  owners constant uuid[] := accounts || partner;
  payees constant private.payee[] := array(
    select y from private.payees(0, owners) y
      left join core.accounts a on a.partner_id = y.partner_id and a.id = y.account_id
     where y.amount > 0 and num_nulls(y.iban_ciphertext, y.name) = 0 and a.iban_checksum_ok is not false
         and (y.account_id = any (accounts) or y.account_id is null and y.partner_id = partner)
         -- the bank said that this account is closed
         and (y.failed @> jsonb_build_array(jsonb_build_object('ciphertext', y.iban_ciphertext))) is not true
         -- a repeat of the call makes no second payment that fails
         and not exists (
           select from core.payout_lines l join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
            where l.partner_id = y.partner_id and l.payee_id = coalesce(y.account_id, y.partner_id)
              and l.status = 'failed' and coalesce(l.account_id, p.account_id) = any (failing)));
  batch  uuid;
  lines  core.payout_lines[];
  failed jsonb := '{}';
begin
  if cardinality(payees) > 0 then
    batch := private.make_batch(payees, 0, 'sandbox', owners);
    lines := private.lines_of(batch);
    -- by its line, the accounts that it pays
    select coalesce(jsonb_object_agg(l.id, f.accounts), '{}') into failed
      from unnest(lines) l
     cross join lateral (
       select jsonb_agg(distinct coalesce(l.account_id, p.account_id)) as accounts from core.payout_parts p
        where p.partner_id = l.partner_id and p.line_id = l.id
          and coalesce(l.account_id, p.account_id) = any (failing)) f
     where f.accounts is not null;
    perform private.pay_lines(array(select l from unnest(lines) l where not failed ? l.id::text order by l.arrival));
    lines := array(select l from unnest(lines) l where failed ? l.id::text and l.account_id is not null
                    order by l.arrival);
    perform private.fail_lines(lines, 'AC04') where cardinality(lines) > 0;
    -- the partner has one account number for all its rehearsals: it stays good
    lines := array(select l from unnest(private.lines_of(batch)) l where failed ? l.id::text and l.account_id is null);
    perform private.fail_lines(lines, 'MS03') where cardinality(lines) > 0;
    update core.payout_batches b
       set status = 'settled', approved_by = 'sandbox: nobody', approved_at = private.now(), settled_by = 'sandbox',
           settled_at = private.now()
     where b.id = batch;
  end if;
  return array(select a.id::uuid from jsonb_each(failed) f, jsonb_array_elements_text(f.value) a (id) order by 1);
end $$;

-- How many accounts one call settles: seconds, also on a busy machine. A statement has a minute.
create function private.settled_at_once() returns int
language sql immutable
return 1000;

-- What a call asked for that was settled before and stays so: months to reject of which none is, and accounts that were
-- paid and whose payment never failed.
create function private.settled_before(partner uuid, accounts uuid[], rejected date[], failing uuid[]) returns text[]
language sql stable
as $$
  select array(
    select to_char(m.period, 'YYYY-MM')
      from unnest(rejected) m (period)
      join core.connections c on c.partner_id in (partner, private.people_tenant()) and c.account_id = any (accounts)
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id and d.period = m.period
     group by m.period having bool_or(d.locked) and not bool_or(d.status = 'rejected') order by 1)
    || array(
    select f.account::text
      from unnest(failing) f (account)
      join core.payout_parts p on p.ledger_partner_id in (partner, private.people_tenant()) and p.payee_id = f.account
          and p.kind = 'customer'
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     group by f.account having bool_or(l.status = 'paid') and not bool_or(l.status = 'failed') order by 1)
$$;

create function private.settle_customers(partner uuid, quarter date, price numeric, rejected date[],
                                         failing uuid[]) returns json
language plpgsql security definer
as $$
declare
  people_tenant constant uuid := private.people_tenant();
  most          constant int  := private.settled_at_once();
  people        uuid[];
  accounts      uuid[];
  due           uuid[];
  failed        uuid[];
begin
  perform private.only_in_sandbox(), private.lock_payouts_of(partner);
  -- a reset locks accounts before their bookings too
  people := array(
    select a.id from core.attributions t
      join core.accounts a on a.partner_id = people_tenant and a.user_id = t.user_id
     where t.partner_id = partner and t.source in ('partner_upload', 'partner_invite')
     order by a.id for key share of a);
  accounts := array(select a.id from core.accounts a where a.partner_id = partner order by a.id for key share);
  due := array(
    select distinct j.account_id
      from unnest(array[people_tenant, partner]) t (id)
      cross join lateral private.judge_quarter(t.id, settle_customers.quarter, people || accounts) j
     where j.reason is null
     order by j.account_id);
  if due <> '{}' then
    -- the authority publishes a year's factor late; a rehearsal takes the one of the year before
    insert into core.ere_factors (delivery_year, renewable_share)
    select extract(year from quarter), f.renewable_share from core.ere_factors f
     where f.delivery_year < extract(year from quarter) order by f.delivery_year desc limit 1
    on conflict on constraint ere_factors_pkey do nothing;
    -- both before the year of either, as the operator does
    perform private.lock('booking', t.id || ' ' || quarter)
       from (select t.id from unnest(array[people_tenant, partner]) t (id) order by t.id) t;
  end if;
  perform private.settle_accounts(people_tenant, due[1:most], quarter, price, rejected),
      private.settle_accounts(partner, due[1:most], quarter, price, rejected);
  failed := private.pay_accounts(partner, people || accounts, failing);
  perform private.set_tenant(partner);
  perform private.publish_figures(partner, f.delivery_year) from core.ere_factors f
      where f.delivery_year = extract(year from quarter);
  return (private.settled_quarter(partner, people || accounts, quarter)::jsonb
          || jsonb_build_object('accounts_left', greatest(0, cardinality(due) - most), 'payments_failed',
                                failed, 'before', private.settled_before(partner, people || accounts, rejected,
                                                                         failing)))::json;
end $$;
comment on function private.settle_customers(uuid, date, numeric, date[], uuid[]) is
  'Settles a quarter of a partner''s CPO accounts and of people it uploaded or invited, a thousand accounts at most. '
  'Pays them, publishes the year''s figures, and answers what is settled and how many accounts are left. Definer, '
  'because people are in the people''s tenant, and only the operator books. before is private.settled_before.';

create function private.has_customers(partner uuid, accounts uuid[]) returns boolean
language plpgsql stable security definer
as $$
begin
  return not exists (
    select from unnest(accounts) as w (id)
     where not exists (select from core.accounts a where a.partner_id = partner and a.id = w.id)
       and not exists (
         select from core.accounts a
           join core.attributions t on t.user_id = a.user_id and t.partner_id = has_customers.partner
               and t.source in ('partner_upload', 'partner_invite')
          where a.partner_id = private.people_tenant() and a.id = w.id));
end $$;
comment on function private.has_customers(uuid, uuid[]) is
  'Whether each of these is an account of a partner''s CPO clients, or of a person it uploaded or invited. Definer, '
  'because people are in the people''s tenant.';

create function api.settle_sandbox(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  named   constant text := input ->> 'quarter';
  failing constant uuid[] := array(select a::uuid from jsonb_array_elements_text(input -> 'fail') a);
  quarter constant date := make_date(left(named, 4)::int, right(named, 1)::int * 3 - 2, 1);
  settled json;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  perform private.refuse_if('nothing_to_settle', quarter > private.today(), json_build_object(
    'left_out', '[]'::json, 'detail', named || ' has not begun: nothing is delivered for it yet.'));
  perform private.refuse_if('customer_not_found', not private.has_customers(private.partner_id(), failing));
  settled := private.settle_customers(
    private.partner_id(), quarter, (input ->> 'price_per_ere')::numeric,
        array(select (m || '-01')::date from jsonb_array_elements_text(input -> 'reject') m),
        failing);
  perform private.refuse_if('already_settled', settled ->> 'before' <> '[]',
                            json_build_object('settled', settled -> 'before'));
  perform private.refuse_if('nothing_to_settle', settled ->> 'booking_id' is null,
                            json_build_object('left_out', settled -> 'left_out'));
  perform private.audit('sandbox.settled', private.partner_id(), jsonb_build_object('quarter', named));
  return json_build_object(
    'ok', true, 'quarter', named, 'booking_id', settled -> 'booking_id', 'accounts', settled -> 'accounts', 'kwh',
        settled -> 'kwh',
    'ere', settled -> 'ere', 'gross_eur', settled -> 'gross_eur', 'net_eur', settled -> 'net_eur', 'accounts_left',
        settled -> 'accounts_left',
    'payments_failed', settled -> 'payments_failed', 'left_out', settled -> 'left_out');
end $$;
comment on function api.settle_sandbox(jsonb, jsonb) is
  'POST /sandbox/v1/settle: {quarter, price_per_ere, reject, fail} to {ok, quarter, booking_id, accounts, kwh, ere, '
  'gross_eur, net_eur, accounts_left, payments_failed, left_out}. Settled months stay as they are; price and reject '
  'are for the others.';
grant execute on function api.settle_sandbox(jsonb, jsonb) to edge_slow;
