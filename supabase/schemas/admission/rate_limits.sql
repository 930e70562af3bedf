-- Rate limits: how many requests a subject may make in a window, refilled continuously.

create table core.rate_limits (
  bucket         text not null,
  quota          int  not null,
  window_seconds int  not null default 60,
  constraint rate_limits_pkey primary key (bucket),
  constraint rate_limits_positive check (quota > 0 and window_seconds > 0)
);
comment on table core.rate_limits is 'Requests a subject may make per window, refilled continuously. Changed by the operator.';
alter table core.rate_limits enable row level security;

insert into core.rate_limits (bucket, quota, window_seconds) values
  ('cpo_read',        300,     60),
  ('cpo_write',       120,     60),
  ('cpo_sessions',     60,     60),
  ('token',            60,     60),
  ('token_failures',   10,    300),
  ('page',             60,     60),
  ('user',             60,     60),
  ('partner_read',    120,     60),
  ('partner_write',    60,     60),
  ('partner_import',   10,     60),
  ('sandbox',          60,     60),
  -- ten codes at once, then one each 2.4 hours, five guesses a code: over the 14 days of a link a guess succeeds with less than 1 in 1,000
  ('mandate_code',     10,  86400),
  -- ten codes at once, then one each six hours, five guesses a code: over a draft's 60 days a guess succeeds with about 1 in 800
  ('claim_code',       10, 216000),
  -- Sign-ins on the consent page, counted before Supabase Auth is asked. A browser that signed in to the account before (OWASP: device
  -- cookies) is counted alone: by sign_in, sign_in_day and sign_in_code of its own, and by nothing that others use up. All others:
  -- per account and address in five minutes and in a day, per account, and per address whatever the account.
  -- A hundred a day (NIST SP 800-63B section 5.2.2) are all the passwords that browsers new to an account try, from however many
  -- addresses, and twenty the codes they have mailed, of which one is guessed right in 10,000 days (five guesses each). One address gets
  -- half of either. So a stranger with one address locks nobody out. One with two can use up both, and then the owner gets in from a
  -- browser that was signed in before, and from a new one neither by password nor by code while the stranger goes on; after that within
  -- a quarter of an hour by password, and 72 minutes by code.
  ('sign_in',          10,    300),
  ('sign_in_day',      50,  86400),
  ('sign_in_account', 100,  86400),
  ('sign_in_address',  30,    300),
  ('sign_in_code',     10,  86400),
  ('sign_in_mail',     20,  86400),
  -- links a partner may have mailed to the customer of a draft in a day
  ('draft_mail',       10,  86400);

create table core.rate_limit_overrides (
  subject text not null,
  bucket  text not null,
  quota   int  not null,
  constraint rate_limit_overrides_pkey primary key (subject, bucket),
  constraint rate_limit_overrides_bucket_fkey foreign key (bucket) references core.rate_limits (bucket),
  constraint rate_limit_overrides_positive check (quota > 0)
);
comment on table core.rate_limit_overrides is 'A quota of one subject (client:<uuid>) that differs from the bucket''s.';
alter table core.rate_limit_overrides enable row level security;

-- Unlogged, because it is written on every request and may be lost in a crash.
create unlogged table core.rate_limit_state (
  subject    text        not null,
  bucket     text        not null,
  full_at    timestamptz not null,
  constraint rate_limit_state_pkey primary key (subject, bucket)
) with (fillfactor = 50);
comment on table core.rate_limit_state is
  'When a subject''s bucket is full again (the generic cell rate algorithm). Addresses appear hashed. Rows in the past are swept.';
-- No index has full_at in it: an update then stays on its page and leaves the primary key alone (HOT), and the sweep reads the
-- table, which holds those who called within their window.
alter table core.rate_limit_state enable row level security;

create function private.debit(subject text, bucket text, cost int default 1) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  at       constant timestamptz := private.now();
  policy   record;
  step     interval;
  full_at  timestamptz;
  allowed  boolean := true;
  slack    numeric;
begin
  select coalesce(o.quota, l.quota) as quota, make_interval(secs => l.window_seconds) as span, l.window_seconds
    into strict policy
    from core.rate_limits l
    left join core.rate_limit_overrides o on o.bucket = l.bucket and o.subject = debit.subject
   where l.bucket = debit.bucket;
  -- rounded down to whole microseconds: rounded up, the last request of a quota would not fit into its window
  step := greatest(floor(policy.window_seconds * 1e6 / policy.quota), 1) * interval '1 microsecond';

  insert into core.rate_limit_state as s (subject, bucket, full_at)
  values (debit.subject, debit.bucket, at + step * cost)
  on conflict on constraint rate_limit_state_pkey do update
     set full_at = greatest(s.full_at, at) + step * cost
   where greatest(s.full_at, at) + step * cost <= at + policy.span
  returning s.full_at into full_at;

  if not found then
    allowed := false;
    select s.full_at into full_at from core.rate_limit_state s where s.subject = debit.subject and s.bucket = debit.bucket;
  end if;

  slack := extract(epoch from at + policy.span - full_at);
  return jsonb_build_object(
    'allowed', allowed,
    'bucket', debit.bucket,
    'quota', policy.quota,
    'window', policy.window_seconds,
    'remaining', least(greatest(floor(slack / extract(epoch from step)), 0), policy.quota)::int,
    'reset', greatest(ceil(extract(epoch from full_at - at)), 0)::int,
    'retry_after', greatest(ceil(extract(epoch from step) - slack), case when allowed then 0 else 1 end)::int);
end $$;
comment on function private.debit(text, text, int) is
  'Takes from a subject''s bucket and says what is left. Definer, because limits belong to no tenant. A cost of 0 only looks.';
grant execute on function private.debit(text, text, int) to api_owner;

create function private.count_visit(request jsonb) returns void
language plpgsql
set search_path = ''
as $$
declare
  rate constant jsonb := private.debit('address:' || (request ->> 'address_hash'), 'page');
begin
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_requests', json_build_object('rate', rate));
  end if;
end $$;
comment on function private.count_visit(jsonb) is
  'Counts a visit to a page against the address it comes from, {address_hash}; too many are refused. What is refused after it has to be an answer, or the visit would not count.';
grant execute on function private.count_visit(jsonb) to api_owner;

create function private.sweep_rate_limits() returns bigint
language sql security definer
set search_path = ''
as $$
  -- what a request holds is in use, and not waited for
  with swept as (
    delete from core.rate_limit_state s
     where s.ctid = any (array(select f.ctid from core.rate_limit_state f where f.full_at < private.now() for update skip locked))
    returning 1)
  select count(*) from swept
$$;
comment on function private.sweep_rate_limits() is 'Deletes buckets that are full again: same as never used. Definer, because limits belong to no tenant.';
grant execute on function private.sweep_rate_limits() to api_owner;
