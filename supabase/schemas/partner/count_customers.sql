-- What each customer counts for, from the rows of whatever they have; and who is to be counted again.

create function private.months_of_customers(people uuid[], since date[], until date[]) returns setof core.customer_months
language plpgsql stable security definer
-- planned once, person by person and by their keys: a plan that was made while a table was empty would else read it whole
set search_path = '' set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  house constant uuid := private.house();
begin
  return query
  select k.partner_id, k.user_id, d.period, sum(d.total_kwh), coalesce(sum(d.total_kwh) filter (where d.locked or m.covered), 0),
         -- a booked month by what its row says, any other by the mandate that covers it
         coalesce(sum(case when r.id is null then d.total_kwh * m.agreed else coalesce(r.accepted_kwh, d.total_kwh) * r.agreed end), 0),
         coalesce(sum(r.sold), 0)
    from unnest(people, since, until) as p (user_id, since, until)
   cross join lateral (select * from core.attributions t where t.user_id = p.user_id offset 0) k
   cross join lateral (select a.id from core.accounts a where a.user_id = p.user_id and a.partner_id = house offset 0) a
   cross join lateral (select c.id from core.connections c where c.partner_id = house and c.account_id = a.id offset 0) c
   cross join lateral (
     -- what a customer charged before the partner brought them does not concern the partner
     select * from core.delivered_months d
      where d.partner_id = house and d.connection_id = c.id and d.period between greatest(p.since, k.attached_month) and p.until
        and (d.status = 'staged' or d.locked) offset 0) d
    left join lateral (
      select true as covered, m.fee_pct * m.partner_share_pct as agreed from core.mandates m
       where m.partner_id = house and m.connection_id = c.id and d.period between m.valid_from and m.covered_until
       order by m.signed_at desc, m.id limit 1) m on true
    left join lateral (
      select r.id, b.accepted_kwh, s.agreed, s.agreed * (
               select coalesce(sum(a.ere), 0) from core.allocations a where a.partner_id = house and a.row_id = r.id and a.reversal_id is null) as sold
        from core.booking_rows r
       cross join lateral (
         select case when r.share_partner_id = k.partner_id then r.fee_pct * r.partner_share_pct else 0 end as agreed) s
        left join core.credits b on b.partner_id = house and b.row_id = r.id and b.reversed_at is null
       where r.partner_id = house and r.connection_id = c.id and r.period = d.period and r.live) r on true
   group by k.partner_id, k.user_id, d.period;
end $$;
comment on function private.months_of_customers(uuid[], date[], date[]) is
  'What the months of people count for, of each from one month to another, from their rows. Definer, because people own what they have in the house.';

create function private.totals_of_customers(people uuid[]) returns setof core.customer_totals
language plpgsql stable security definer
set search_path = '' set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  house constant uuid := private.house();
begin
  return query
  select k.partner_id, k.user_id, h.chargers, coalesce(s.signed, '{}')
    from unnest(people) as p (user_id)
   cross join lateral (select * from core.attributions t where t.user_id = p.user_id offset 0) k
   cross join lateral (
     select count(*)::int as chargers from core.chargers h where h.partner_id = house and h.user_id = p.user_id and h.status = 'active') h
   cross join lateral (
     select range_agg(daterange(m.valid_from, m.valid_until, '[]')) as signed
       from core.accounts a
      cross join lateral (
        select c.id from core.connections c where c.partner_id = house and c.account_id = a.id and c.status = 'active' offset 0) c
      cross join lateral (
        -- one that ran out held until then, whether the job has noted its end or not
        select * from core.mandates m where m.partner_id = house and m.connection_id = c.id and m.status in ('signed', 'expired') offset 0) m
      where a.user_id = p.user_id and a.partner_id = house) s;
end $$;
comment on function private.totals_of_customers(uuid[]) is
  'What people count for but for their months, from their rows. Definer, as private.months_of_customers.';

create function private.count_customers(people uuid[], since date[], until date[]) returns void
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off
as $$
declare
  lane int;
begin
  -- Each person is counted by one transaction at a time, which then sees what all before it did. By lanes, in one order: a lock for each
  -- person would be more than Postgres has room for.
  for lane in select distinct hashtext(p.user_id::text) & 255 as lane from unnest(people) as p (user_id) order by lane loop
    perform pg_advisory_xact_lock(hashtext('customers are counted'), lane);
  end loop;
  with wanted as materialized (
    select * from private.months_of_customers(people, since, until)
  ), kept as (
    select m.* from unnest(people, since, until) as p (user_id, since, until)
      join core.customer_totals t on t.user_id = p.user_id
      join core.customer_months m on m.partner_id = t.partner_id and m.user_id = t.user_id and m.period between p.since and p.until
  ), removed as (
    delete from core.customer_months m using kept k
     where m.partner_id = k.partner_id and m.user_id = k.user_id and m.period = k.period
       and not exists (select from wanted w where w.partner_id = k.partner_id and w.user_id = k.user_id and w.period = k.period)
  )
  insert into core.customer_months as m select * from wanted
  on conflict on constraint customer_months_pkey do update
     set kwh = excluded.kwh, counted_kwh = excluded.counted_kwh, agreed_kwh = excluded.agreed_kwh, sold_ere = excluded.sold_ere
   where (m.kwh, m.counted_kwh, m.agreed_kwh, m.sold_ere) is distinct from (excluded.kwh, excluded.counted_kwh, excluded.agreed_kwh, excluded.sold_ere);

  people := array(select p.user_id from unnest(people, since) as p (user_id, since) where p.since = '-infinity');
  if cardinality(people) > 0 then
    -- after the months, which are found by whom a person is kept to count for
    with wanted as materialized (
      select * from private.totals_of_customers(people)
    ), removed as (
      delete from core.customer_totals t using unnest(people) as p (user_id)
       where t.user_id = p.user_id and not exists (select from wanted w where w.partner_id = t.partner_id and w.user_id = t.user_id)
    )
    insert into core.customer_totals as t select * from wanted
    on conflict on constraint customer_totals_pkey do update set chargers = excluded.chargers, signed = excluded.signed
     where (t.chargers, t.signed) is distinct from (excluded.chargers, excluded.signed);
  end if;
end $$;
comment on function private.count_customers(uuid[], date[], date[]) is
  'Counts people again, each person''s months from one to another; with all of them the rest too. At the end of a transaction only, since who waits here for another holds locks. Definer, because customers are of every tenant.';

create table core.recounts (
  tx      xid8   not null default pg_current_xact_id(),
  id      bigint not null generated always as identity,
  user_id uuid   not null,
  month   date,
  constraint recounts_pkey primary key (tx, id)
);
comment on table core.recounts is 'Who is to be counted again when a transaction commits, of which month or (null) of all. Gone by then: nobody but that transaction ever sees a row.';
alter table core.recounts enable row level security;

create function private.recount_customers() returns trigger
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'auto'
as $$
declare
  people uuid[];
  since  date[];
  until  date[];
  last   bigint := coalesce(nullif(current_setting('app.recounted_to', true), ''), '0')::bigint;
begin
  -- the first row of a transaction finds all of them; the others are not to look through what was deleted for them
  if new.id <= last then
    return null;
  end if;
  perform set_config('app.recounted_to', (select max(r.id) from core.recounts r where r.tx = new.tx)::text, true);
  with marked as (
    delete from core.recounts r where r.tx = new.tx and r.id > last returning r.user_id, r.month
  ), person as (
    select m.user_id, case when bool_or(m.month is null) then '-infinity' else min(m.month) end as since,
           case when bool_or(m.month is null) then 'infinity' else max(m.month) end as until
      from marked m group by m.user_id
  )
  select array_agg(p.user_id), array_agg(p.since), array_agg(p.until) into people, since, until from person p;
  perform private.count_customers(people, since, until);
  return null;
end $$;
comment on function private.recount_customers() is 'Counts again whom this transaction marked, as it commits. Definer, as private.count_customers.';
create constraint trigger recount_customers after insert on core.recounts deferrable initially deferred
  for each row execute function private.recount_customers();

-- Called for each row, of functions too that have each statement planned for what it is given: not these.
create function private.mark_month() returns trigger
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'auto'
as $$
begin
  if tg_op = 'DELETE' then
    insert into core.recounts (user_id, month) values (old.owner_id, old.period);
  else
    insert into core.recounts (user_id, month) values (new.owner_id, new.period);
  end if;
  return null;
end $$;
comment on function private.mark_month() is 'Marks the month of the person that a row is about. Definer, because marks are nobody else''s.';

create function private.mark_month_of_row() returns trigger
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'auto'
as $$
declare
  change record := case tg_op when 'DELETE' then old else new end;
begin
  insert into core.recounts (user_id, month)
  values (change.owner_id, (select r.period from core.booking_rows r where r.partner_id = change.partner_id and r.id = change.row_id));
  return null;
end $$;
comment on function private.mark_month_of_row() is 'Marks the month of the person that a row of a booking is about. Definer, because marks are nobody else''s.';

create function private.mark_person() returns trigger
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'auto'
as $$
begin
  insert into core.recounts (user_id)
  select p.id from (values (((case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end) ->> tg_argv[0])::uuid)) as p (id) where p.id is not null;
  return null;
end $$;
comment on function private.mark_person() is 'Marks the person in the column that is its argument. Definer, because marks are nobody else''s.';

-- What the functions above read. People are in the house: what a CPO delivers costs it nothing.
create trigger mark_added after insert on core.delivered_months
  for each row when (new.partner_id = private.house()) execute function private.mark_month();
create trigger mark_changed after update on core.delivered_months
  for each row when (new.partner_id = private.house() and (old.total_kwh, old.status) is distinct from (new.total_kwh, new.status)) execute function private.mark_month();
create trigger mark_gone after delete on core.delivered_months
  for each row when (old.partner_id = private.house()) execute function private.mark_month();
create trigger mark_added after insert on core.booking_rows
  for each row when (new.partner_id = private.house()) execute function private.mark_month();
create trigger mark_changed after update of status on core.booking_rows
  for each row when (new.partner_id = private.house() and old.live <> new.live) execute function private.mark_month();
create trigger mark_gone after delete on core.booking_rows
  for each row when (old.partner_id = private.house()) execute function private.mark_month();
create trigger mark_added after insert on core.credits
  for each row when (new.partner_id = private.house()) execute function private.mark_month_of_row();
create trigger mark_changed after update of reversed_at on core.credits
  for each row when (new.partner_id = private.house()) execute function private.mark_month_of_row();
create trigger mark_gone after delete on core.credits
  for each row when (old.partner_id = private.house()) execute function private.mark_month_of_row();
create trigger mark_added after insert on core.allocations
  for each row when (new.partner_id = private.house()) execute function private.mark_month_of_row();
create trigger mark_changed after update of reversal_id on core.allocations
  for each row when (new.partner_id = private.house()) execute function private.mark_month_of_row();
create trigger mark_gone after delete on core.allocations
  for each row when (old.partner_id = private.house()) execute function private.mark_month_of_row();
create trigger mark_added after insert on core.mandates
  for each row when (new.partner_id = private.house()) execute function private.mark_person('owner_id');
-- that one has run out is in its dates already
create trigger mark_changed after update on core.mandates
  for each row when (new.partner_id = private.house()
                     and (old.valid_from, old.valid_until, old.covered_until, old.status in ('signed', 'expired'))
                         is distinct from (new.valid_from, new.valid_until, new.covered_until, new.status in ('signed', 'expired')))
  execute function private.mark_person('owner_id');
create trigger mark_gone after delete on core.mandates
  for each row when (old.partner_id = private.house()) execute function private.mark_person('owner_id');
create trigger mark_changed after update of status on core.connections
  for each row when (new.partner_id = private.house() and old.status <> new.status) execute function private.mark_person('owner_id');
create trigger mark_added after insert on core.chargers
  for each row when (new.partner_id = private.house()) execute function private.mark_person('user_id');
create trigger mark_changed after update of status on core.chargers
  for each row when (new.partner_id = private.house() and old.status <> new.status) execute function private.mark_person('user_id');
create trigger mark_gone after delete on core.chargers
  for each row when (old.partner_id = private.house()) execute function private.mark_person('user_id');
create trigger mark_added after insert on core.attributions for each row execute function private.mark_person('user_id');
create trigger mark_changed after update on core.attributions for each row execute function private.mark_person('user_id');
create trigger mark_gone after delete on core.attributions for each row execute function private.mark_person('user_id');
