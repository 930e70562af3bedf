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
  -- wrong codes of an address and a purpose: over the 60 days of a draft a guess succeeds with about 1 in 800, however many drafts or links
  ('code_guesses',     20,  86400),
  -- links to renew a mandate, by the link that signed it
  ('mandate_renewal',  10,  86400),
  -- Sign-ins on the consent page, counted before Supabase Auth is asked. A browser that signed in to the account before (OWASP: device
  -- cookies) is counted by sign_in, sign_in_day and sign_in_code of its own, and per account with such browsers alone: by nothing that
  -- strangers use up. All others: per account and address in five minutes and in a day, per account, and per address whatever the account.
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
  -- These five are counted by Dutch day in core.mail_counts, and on production only. Mails to an address, or about a connection: of all
  -- kinds, and of one; sign-in codes that one network, or one browser that signed in before, may have mailed to an address: half of what
  -- strangers have together, so that one of them uses up nobody's codes alone.
  ('mail',             20,  86400),
  ('mail_kind',        10,  86400),
  ('mail_place',        5,  86400),
  -- invitations of one partner to an address, and of all partners together: withdrawing a draft and making it again mails its customer
  -- each time
  ('draft_invitation',  3,  86400),
  ('draft_invitation_any', 5, 86400),
  -- invitations to manage a partner, in a day
  ('manager_invitation', 20, 86400);

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

-- The generic cell rate algorithm: a bucket of so many requests a window is full again at some time; each request puts that off by a
-- step, and fits as long as it is no further off than the window. In whole microseconds; what every request runs is written in few
-- expressions, because each is prepared anew in every transaction.

create function private.step(quota int, window_seconds int) returns bigint
language sql immutable parallel safe
-- rounded down: rounded up, the last request of a quota would not fit into its window
return greatest(window_seconds * 1000000::bigint / quota, 1);
comment on function private.step(int, int) is 'Microseconds between two requests of who makes use of a whole quota.';
grant execute on function private.step(int, int) to api_owner;

create function private.rate_json(bucket text, quota int, window_seconds int, full_in bigint, allowed boolean) returns jsonb
language sql stable parallel safe
return jsonb_build_object('allowed', allowed, 'bucket', bucket, 'quota', quota, 'window', window_seconds, 'full_in', full_in);
comment on function private.rate_json(text, int, int, bigint, boolean) is
  'How a bucket stands that is full again in so many microseconds. What follows from it for the client, packages/shared/src/foundation/rate.ts works out: here it took 80 of the 1,700 thousand instructions of a token.';
grant execute on function private.rate_json(text, int, int, bigint, boolean) to api_owner;

create function private.standing(subject text, bucket text, out quota int, out window_seconds int, out full_in bigint, out fits boolean)
language plpgsql stable security definer
set search_path = ''
as $$
begin
  -- as sub-selects, which are looked up by their keys: joined, small tables are read whole and hashed
  select coalesce((select o.quota from core.rate_limit_overrides o where o.subject = standing.subject and o.bucket = l.bucket), l.quota),
         l.window_seconds,
         coalesce(greatest(extract(epoch from (
           select s.full_at from core.rate_limit_state s where s.subject = standing.subject and s.bucket = l.bucket) - private.now()) * 1000000, 0), 0)
    into strict standing.quota, standing.window_seconds, standing.full_in
    from core.rate_limits l
   where l.bucket = standing.bucket;
  fits := full_in + private.step(quota, window_seconds) <= window_seconds * 1000000::bigint;
end $$;
comment on function private.standing(text, text) is
  'A look at a subject''s bucket: its size, in how many microseconds it is full again, and whether one more request fits. Definer, because limits belong to no tenant.';
grant execute on function private.standing(text, text) to api_owner;

create function private.take(subject text, bucket text, quota int, window_seconds int) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  at      constant timestamptz := private.now();
  step    constant interval := private.step(quota, window_seconds) * interval '1 microsecond';
  full_in bigint;
begin
  insert into core.rate_limit_state as s (subject, bucket, full_at)
  values (take.subject, take.bucket, at + step)
  on conflict on constraint rate_limit_state_pkey do update
     set full_at = greatest(s.full_at, at) + step
   where greatest(s.full_at, at) + step <= at + take.window_seconds * interval '1 second'
  returning extract(epoch from s.full_at - at) * 1000000 into full_in;
  if found then
    return private.rate_json(bucket, quota, window_seconds, full_in, true);
  end if;
  return private.rate_json(bucket, quota, window_seconds, (private.standing(subject, bucket)).full_in, false);
end $$;
comment on function private.take(text, text, int, int) is
  'Takes one request from a subject''s bucket of this size, if it fits, and says what is left. Definer, because limits belong to no tenant.';
grant execute on function private.take(text, text, int, int) to api_owner;

create function private.debit(subject text, bucket text) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  policy record;
begin
  select coalesce((select o.quota from core.rate_limit_overrides o where o.subject = debit.subject and o.bucket = l.bucket), l.quota) as quota,
         l.window_seconds
    into strict policy
    from core.rate_limits l
   where l.bucket = debit.bucket;
  return private.take(subject, bucket, policy.quota, policy.window_seconds);
end $$;
comment on function private.debit(text, text) is 'Takes one request from a subject''s bucket, if it fits, and says what is left. Definer, because limits belong to no tenant.';
grant execute on function private.debit(text, text) to api_owner;

create function private.give_back(subject text, bucket text) returns void
language sql security definer
set search_path = ''
as $$
  update core.rate_limit_state s set full_at = s.full_at - private.step(l.quota, l.window_seconds) * interval '1 microsecond'
    from core.rate_limits l
   where s.subject = give_back.subject and s.bucket = give_back.bucket and l.bucket = give_back.bucket
$$;
comment on function private.give_back(text, text) is 'Takes back what private.debit took in this transaction. Definer, because limits belong to no tenant.';
grant execute on function private.give_back(text, text) to api_owner;

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
