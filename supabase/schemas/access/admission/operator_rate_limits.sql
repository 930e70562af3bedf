-- The operator on rate limits: list, set for all or for one, reset.

create function private.rate_limit_row(bucket text, client uuid) returns json
language sql stable
as $$
  select json_build_object(
    'bucket', l.bucket,
    'client_id', (select c.client_id from core.oauth_clients c where c.id = client),
    'quota', coalesce(o.quota, l.quota),
    'window_seconds', l.window_seconds,
    'is_default', o.quota is null)
  from core.rate_limits l
  left join core.rate_limit_overrides o on o.bucket = l.bucket and o.subject = 'client:' || client
  where l.bucket = rate_limit_row.bucket
$$;

create function ops.rate_limit_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('rate_limits', coalesce(json_agg(private.rate_limit_row(r.bucket, r.client)
                                                            order by r.bucket, r.client nulls first), '[]'))
    from (select l.bucket, null::uuid as client from core.rate_limits l
          union all
          select o.bucket, private.as_uuid(substr(o.subject, 8)) from core.rate_limit_overrides o
           where o.subject like 'client:%') r
$$;
comment on function ops.rate_limit_list(jsonb) is
  'The quota of every bucket, and of clients that have their own: {} to {rate_limits}.';

create function private.bucket_named(bucket text, of_a_client boolean) returns void
language plpgsql
as $$
declare
  buckets text[] := array(
    select l.bucket from core.rate_limits l
     -- the others count addresses, links and people
     where not of_a_client or l.bucket = 'token' or l.bucket like 'cpo\_%' order by l.bucket);
begin
  perform private.refuse_if('unknown_bucket', bucket is null or not bucket = any (buckets),
                            json_build_object('bucket', bucket, 'buckets', buckets));
end $$;

create function ops.rate_limit_set(input jsonb) returns json
language plpgsql security definer
as $$
declare
  named   constant text := input ->> 'bucket';
  wanted  constant numeric := (input ->> 'quota')::numeric;
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input), private.bucket_named(named, input ->> 'client' is not null);
  -- beyond a million the time between two requests comes near the clock's microsecond
  perform private.refuse_if('invalid_quota', wanted is null or wanted not between 1 and 1000000
                            or wanted <> trunc(wanted));
  if input ->> 'client' is null then
    update core.rate_limits l set quota = wanted where l.bucket = named and l.quota <> wanted;
  else
    client := (private.client_named(input)).id;
    insert into core.rate_limit_overrides as o (subject, bucket, quota) values ('client:' || client, named, wanted)
    on conflict on constraint rate_limit_overrides_pkey do update set quota = excluded.quota
        where o.quota <> excluded.quota;
  end if;
  changed := found;
  perform private.audit('rate_limit.set', client, jsonb_build_object('bucket', named, 'quota', wanted)) where changed;
  return json_build_object('changed', changed, 'rate_limit', private.rate_limit_row(named, client));
end $$;
comment on function ops.rate_limit_set(jsonb) is
  'Sets the quota of a bucket, for everybody or for one client: {bucket, quota, client?} to {changed, rate_limit}. In '
  'force at once.';

create function ops.rate_limit_reset(input jsonb) returns json
language plpgsql security definer
as $$
declare
  named   constant text := input ->> 'bucket';
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input), private.bucket_named(named, true);
  client := (private.client_named(input)).id;
  delete from core.rate_limit_overrides o where o.subject = 'client:' || client and o.bucket = named;
  changed := found;
  perform private.audit('rate_limit.reset', client, jsonb_build_object('bucket', named)) where changed;
  return json_build_object('changed', changed, 'rate_limit', private.rate_limit_row(named, client));
end $$;
comment on function ops.rate_limit_reset(jsonb) is
  'Puts a client back to the bucket''s own quota: {bucket, client} to {changed, rate_limit}.';
