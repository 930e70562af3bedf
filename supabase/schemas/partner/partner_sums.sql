-- What a partner's customers come to, kept as sums: to add up a hundred thousand customers took seconds.
-- Whatever changes a row that counts leaves a mark (core.recounts). As its transaction commits, the marked people are counted again from
-- their rows, each by one transaction at a time, and what they counted for before is replaced (core.customer_totals,
-- core.customer_months). The triggers of these two write each difference as a new row of core.partner_sums, so that nobody waits for a
-- sum that others write too; the worker folds such rows into one. None of the three has a foreign key: whoever writes them as a
-- transaction commits must wait for nobody who waits for them. With the attribution, or the login, their rows go in the same way.

create table core.customer_totals (
  partner_id uuid           not null,
  user_id    uuid           not null,
  chargers   int            not null,
  signed     datemultirange not null,
  constraint customer_totals_pkey primary key (partner_id, user_id)
);
comment on table core.customer_totals is
  'What a customer counts for in core.partner_sums, but for the months: one row for each attribution. signed: the days on which a mandate of an active connection holds. As long as the attribution.';
-- serves: for which partner a person counts
create index customer_totals_user on core.customer_totals (user_id);
select private.isolate('core.customer_totals', 'select');
select private.keep_to_owner('core.customer_totals', 'user_id');

create table core.customer_months (
  partner_id  uuid           not null,
  user_id     uuid           not null,
  period      date           not null,
  kwh         numeric        not null,
  counted_kwh numeric        not null,
  agreed_kwh  numeric        not null,
  sold_ere    numeric        not null,
  constraint customer_months_pkey primary key (partner_id, user_id, period)
);
comment on table core.customer_months is
  'What a month of a customer counts for in core.partner_sums, from the month of attachment on: all kWh, those that count toward ERE, and times fee and share in percent the kWh that earn the partner ERE, and the ERE of them that are sold. As long as the attribution.';
select private.isolate('core.customer_months', 'select');
select private.keep_to_owner('core.customer_months', 'user_id');

create table core.partner_sums (
  partner_id  uuid    not null,
  id          bigint  not null generated always as identity,
  what        text    not null,
  day         date,
  folded      boolean not null default false,
  amount      bigint  not null,
  active      bigint  not null default 0,
  kwh         numeric not null default 0,
  counted_kwh numeric not null default 0,
  agreed_kwh  numeric not null default 0,
  sold_ere    numeric not null default 0,
  constraint partner_sums_pkey primary key (partner_id, id),
  constraint partner_sums_what_known check (what in ('customers', 'chargers', 'signed', 'month', 'draft:invited', 'draft:claimed', 'draft:expired', 'draft:conflict', 'draft:active')),
  constraint partner_sums_day check ((day is not null) = (what in ('signed', 'month')))
);
comment on table core.partner_sums is
  'What a partner''s customers and drafts come to: the sum of all rows with the same what and day, always that of core.customer_totals, core.customer_months and core.drafts. No personal data. As long as the partner.';
comment on column core.partner_sums.day is 'Of a month its first day; of signed the day from which on so many more customers have a mandate.';
comment on column core.partner_sums.amount is 'How many; of a month how many customers have one.';
comment on column core.partner_sums.active is 'How many of the customers of a month charged in it.';
-- serves: the job that folds new rows
create index partner_sums_new on core.partner_sums (partner_id, what, day) where not folded;
select private.isolate('core.partner_sums', 'select');

create function private.counts_of(total core.customer_totals) returns table (what text, day date, amount bigint)
language sql immutable
set search_path = ''
as $$
  select 'customers', null::date, 1
  union all select 'chargers', null, total.chargers
  -- from the day it holds one more, from the day after its last one less
  union all select 'signed', lower(r), 1 from unnest(total.signed) r
  union all select 'signed', upper(r), -1 from unnest(total.signed) r
$$;
comment on function private.counts_of(core.customer_totals) is 'What a customer adds to the sums of its partner.';

create function private.sum_customer_totals() returns trigger
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'auto'
as $$
begin
  if tg_op = 'INSERT' then
    insert into core.partner_sums (partner_id, what, day, amount)
    select t.partner_id, k.what, k.day, sum(k.amount) from added t cross join lateral private.counts_of(t) k
     group by t.partner_id, k.what, k.day having sum(k.amount) <> 0;
  elsif tg_op = 'DELETE' then
    insert into core.partner_sums (partner_id, what, day, amount)
    select t.partner_id, k.what, k.day, -sum(k.amount) from gone t cross join lateral private.counts_of(t) k
     group by t.partner_id, k.what, k.day having sum(k.amount) <> 0;
  else
    insert into core.partner_sums (partner_id, what, day, amount)
    select c.partner_id, c.what, c.day, sum(c.amount)
      from (select t.partner_id, k.what, k.day, k.amount from added t cross join lateral private.counts_of(t) k
            union all select t.partner_id, k.what, k.day, -k.amount from gone t cross join lateral private.counts_of(t) k) c
     group by c.partner_id, c.what, c.day having sum(c.amount) <> 0;
  end if;
  return null;
end $$;
comment on function private.sum_customer_totals() is 'Adds what changed in core.customer_totals to core.partner_sums. Definer, because sums are otherwise only read.';
create trigger sum_added after insert on core.customer_totals referencing new table as added
  for each statement execute function private.sum_customer_totals();
create trigger sum_changed after update on core.customer_totals referencing old table as gone new table as added
  for each statement execute function private.sum_customer_totals();
create trigger sum_gone after delete on core.customer_totals referencing old table as gone
  for each statement execute function private.sum_customer_totals();

create function private.sum_customer_months() returns trigger
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'auto'
as $$
begin
  if tg_op = 'INSERT' then
    insert into core.partner_sums (partner_id, what, day, amount, active, kwh, counted_kwh, agreed_kwh, sold_ere)
    select m.partner_id, 'month', m.period, count(*), count(*) filter (where m.kwh > 0), sum(m.kwh), sum(m.counted_kwh), sum(m.agreed_kwh), sum(m.sold_ere)
      from added m group by m.partner_id, m.period;
  elsif tg_op = 'DELETE' then
    insert into core.partner_sums (partner_id, what, day, amount, active, kwh, counted_kwh, agreed_kwh, sold_ere)
    select m.partner_id, 'month', m.period, -count(*), -count(*) filter (where m.kwh > 0), -sum(m.kwh), -sum(m.counted_kwh), -sum(m.agreed_kwh), -sum(m.sold_ere)
      from gone m group by m.partner_id, m.period;
  else
    insert into core.partner_sums (partner_id, what, day, amount, active, kwh, counted_kwh, agreed_kwh, sold_ere)
    select m.partner_id, 'month', m.period, 0, sum(m.sign) filter (where m.kwh > 0), sum(m.sign * m.kwh), sum(m.sign * m.counted_kwh),
           sum(m.sign * m.agreed_kwh), sum(m.sign * m.sold_ere)
      from (select 1 as sign, a.* from added a union all select -1, g.* from gone g) m group by m.partner_id, m.period;
  end if;
  return null;
end $$;
comment on function private.sum_customer_months() is 'Adds what changed in core.customer_months to core.partner_sums. Definer, because sums are otherwise only read.';
create trigger sum_added after insert on core.customer_months referencing new table as added
  for each statement execute function private.sum_customer_months();
create trigger sum_changed after update on core.customer_months referencing old table as gone new table as added
  for each statement execute function private.sum_customer_months();
create trigger sum_gone after delete on core.customer_months referencing old table as gone
  for each statement execute function private.sum_customer_months();

create function private.sum_drafts() returns trigger
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'auto'
as $$
begin
  if tg_op = 'INSERT' then
    insert into core.partner_sums (partner_id, what, amount)
    select d.partner_id, 'draft:' || d.status, count(*) from added d group by d.partner_id, d.status;
  elsif tg_op = 'DELETE' then
    insert into core.partner_sums (partner_id, what, amount)
    select d.partner_id, 'draft:' || d.status, -count(*) from gone d group by d.partner_id, d.status;
  else
    insert into core.partner_sums (partner_id, what, amount)
    values (new.partner_id, 'draft:' || old.status, -1), (new.partner_id, 'draft:' || new.status, 1);
  end if;
  return null;
end $$;
comment on function private.sum_drafts() is 'Adds what changed in core.drafts to core.partner_sums. Definer, because sums are otherwise only read.';
create trigger sum_added after insert on core.drafts referencing new table as added
  for each statement execute function private.sum_drafts();
create trigger sum_changed after update of status on core.drafts
  for each row when (old.status <> new.status) execute function private.sum_drafts();
create trigger sum_gone after delete on core.drafts referencing old table as gone
  for each statement execute function private.sum_drafts();

create function private.fold_partner_sums() returns bigint
language plpgsql security definer
set search_path = '' set enable_seqscan = off
as $$
declare
  folded bigint;
begin
  with fresh as (
    delete from core.partner_sums s where not s.folded returning s.*
  ), kind as materialized (
    select f.partner_id, f.what, f.day from fresh f group by f.partner_id, f.what, f.day
  ), stale as (
    delete from core.partner_sums s using kind k
     where s.folded and s.partner_id = k.partner_id and s.what = k.what and s.day is not distinct from k.day returning s.*
  ), sums as (
    insert into core.partner_sums (partner_id, what, day, folded, amount, active, kwh, counted_kwh, agreed_kwh, sold_ere)
    select s.partner_id, s.what, s.day, true, sum(s.amount), sum(s.active), sum(s.kwh), sum(s.counted_kwh), sum(s.agreed_kwh), sum(s.sold_ere)
      from (select * from fresh union all select * from stale) s
     group by s.partner_id, s.what, s.day
    having (sum(s.amount), sum(s.active), sum(s.kwh), sum(s.counted_kwh), sum(s.agreed_kwh), sum(s.sold_ere)) is distinct from (0, 0, 0, 0, 0, 0)
  )
  select count(*) into folded from fresh;
  return folded;
end $$;
comment on function private.fold_partner_sums() is
  'Makes one row of the new rows of each sum, and says how many those were; no sum changes by it. Of two at once each takes the rows that the other has not. Definer, because sums are of every tenant.';
grant execute on function private.fold_partner_sums() to api_owner;
