-- Rate limits: how many requests a subject may make in a window, refilled continuously.

-- The generic cell rate algorithm. A bucket of so many requests a window is full again at some time. Each request puts
-- that time off by a step, and fits while it is no further off than the window. Times are whole microseconds. Every
-- request runs this code, so it has few expressions: each transaction prepares them again.

-- Microseconds between two requests of a caller that uses its whole quota.
create function private.step(quota int, window_seconds int) returns bigint
language sql immutable parallel safe
-- rounded down: rounded up, the last request of a quota would not fit into its window
return greatest(window_seconds * 1000000::bigint / quota, 1);

-- The state of a bucket. packages/shared/src/foundation/rate.ts computes what the client reads: in SQL that took a 20th
-- of a token's time.
create function private.rate_json(bucket text, quota int, window_seconds int, full_in bigint,
                                  allowed boolean) returns jsonb
language sql stable parallel safe
return jsonb_build_object('allowed', allowed, 'bucket', bucket, 'quota', quota, 'window', window_seconds,
                          'full_in', full_in);

-- A subject's bucket: quota, window, microseconds until it is full, and whether one more request fits. Definers call
-- it: it has no tenant.
create function private.limit_state(subject text, bucket text, out quota int, out window_seconds int,
                                    out full_in bigint, out fits boolean)
language plpgsql stable
as $$
begin
  -- as sub-selects, which are looked up by their keys: joined, small tables are read whole and hashed
  select coalesce((select o.quota from core.rate_limit_overrides o where o.subject = limit_state.subject
                   and o.bucket = l.bucket), l.quota),
         l.window_seconds,
         coalesce(greatest(extract(epoch from (
           select s.full_at from core.rate_limit_state s where s.subject = limit_state.subject
               and s.bucket = l.bucket) - private.now()) * 1000000, 0), 0)
    into strict limit_state.quota, limit_state.window_seconds, limit_state.full_in
    from core.rate_limits l
   where l.bucket = limit_state.bucket;
  fits := full_in + private.step(quota, window_seconds) <= window_seconds * 1000000::bigint;
end $$;

create function private.take(subject text, bucket text, quota int, window_seconds int) returns jsonb
language plpgsql security definer
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
  return private.rate_json(bucket, quota, window_seconds, (private.limit_state(subject, bucket)).full_in, false);
end $$;
comment on function private.take(text, text, int, int) is
  'Takes one request from a subject''s bucket of this quota, if it fits, and returns what is left. Definer, because '
  'limits belong to no tenant.';

create function private.debit(subject text, bucket text) returns jsonb
language plpgsql security definer
as $$
declare
  policy record;
begin
  select coalesce((select o.quota from core.rate_limit_overrides o where o.subject = debit.subject
                   and o.bucket = l.bucket), l.quota) as quota,
         l.window_seconds
    into strict policy
    from core.rate_limits l
   where l.bucket = debit.bucket;
  return private.take(subject, bucket, policy.quota, policy.window_seconds);
end $$;
comment on function private.debit(text, text) is
  'private.take by the stored quota of a subject''s bucket. Definer, because limits belong to no tenant.';

-- Undoes private.debit of this transaction. Only definers call it, because limits belong to no tenant.
create function private.give_back(subject text, bucket text) returns void
language sql
as $$
  update core.rate_limit_state s set full_at = s.full_at - private.step(l.quota,
                                                                        l.window_seconds) * interval '1 microsecond'
    from core.rate_limits l
   where s.subject = give_back.subject and s.bucket = give_back.bucket and l.bucket = give_back.bucket
$$;

-- Counts a visit to a page by its network address, and refuses too many. A later refusal must be an answer, or the
-- visit would not count.
create function private.count_visit(address_hash text) returns void
language plpgsql
as $$
declare
  rate constant jsonb := private.debit('address:' || address_hash, 'page');
begin
  perform private.refuse_if('too_many_requests', not (rate ->> 'allowed')::boolean, json_build_object('rate', rate));
end $$;
