-- Delivery: one worker at a time leases an endpoint, sends what is next, and stores the results.

-- Whether an enabled endpoint may have something to send now, and the owner of its log may read it.
create function private.webhook_is_due(endpoint core.webhook_endpoints) returns boolean
language plpgsql stable
as $$
begin
  return (exists (select from core.webhook_retries r
                   where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id
                       and r.next_attempt_at = '-infinity')
      or case when endpoint.failures >= 5 then endpoint.probe_at <= private.now()
              else exists (select from core.webhook_retries r
                            where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id
                                and r.next_attempt_at <= private.now())
                or exists (select from core.events e where e.partner_id = endpoint.partner_id
                           and e.owner_id = endpoint.owner_id and e.sequence is null)
                or exists (select from core.events e
                            where e.partner_id = endpoint.partner_id and e.owner_id = endpoint.owner_id
                                and e.sequence > endpoint.delivered_to) end)
     -- what GET /v1/events refuses is not sent either
     and exists (select from core.partners p where p.id = endpoint.partner_id and p.is_active)
     and (endpoint.owner_id = endpoint.partner_id
          or exists (select from core.oauth_clients c
                      where c.partner_id = endpoint.partner_id and c.id = endpoint.owner_id and c.disabled_at is null
                          and 'cpo:accounts:read' = any (c.scopes)));
end $$;

-- What to send to an endpoint next: pings, due retries and replays, then the next events of the log.
create function private.posts_of(endpoint core.webhook_endpoints, head core.event_heads, key text,
                                 most int) returns jsonb
language plpgsql stable
as $$
begin
  return (
    with retry as (
      select r.event_id, r.attempts, r.next_attempt_at, e as event
        from core.webhook_retries r
        left join core.events e on e.partner_id = r.partner_id and e.id = r.event_id
            and e.created_at > private.events_kept_since()
       where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.next_attempt_at <= private.now()
       order by r.next_attempt_at limit most
    ), turn as (
      select e.id as event_id, e as event, e.sequence
        from core.events e
       where e.partner_id = endpoint.partner_id and e.owner_id = endpoint.owner_id
           and e.sequence > endpoint.delivered_to and e.sequence <= head.sequence
         and e.created_at > private.events_kept_since() and (endpoint.types is null or e.type = any (endpoint.types))
         and private.is_shown(e, not endpoint.pseudonymous)
       order by e.sequence limit most
    ), post as (
      select r.event_id, r.event, r.attempts + 1 as attempt, true as again,
          case when r.next_attempt_at = '-infinity' then 0 else 2 end as rank,
             r.next_attempt_at, null::bigint as sequence from retry r
      union all
      -- every other probe sends the next event of the log: the receiver may fail on one event alone
      select t.event_id, t.event, 1, false, case when endpoint.failures >= 5 and endpoint.failures % 2 = 1 then 1
                                                 else 3 end, null, t.sequence from turn t
    )
    select coalesce(jsonb_agg(jsonb_build_object(
             'event_id', p.event_id, 'attempt', p.attempt, 'again', p.again, 'sequence', p.sequence,
             'type', coalesce((p.event).type, 'ping'),
             'body', case when (p.event).id is null then jsonb_build_object('type', 'ping',
                                                                            'timestamp', private.iso(private.now()),
                                                                            'data', '{}'::jsonb)
                          else jsonb_build_object('type', (p.event).type,
                                                  'timestamp', private.iso((p.event).created_at), 'sequence',
                                                  (p.event).sequence,
                                                  'data', private.event_data(p.event, not endpoint.pseudonymous, key))
                                                      end) order by p.rank, p.next_attempt_at, p.sequence), '[]')
      from (select * from post p order by p.rank, p.next_attempt_at, p.sequence limit most) p);
end $$;

create function private.lease_webhooks(size int, key text) returns jsonb
language plpgsql security definer
as $$
declare
  endpoint core.webhook_endpoints;
  head     core.event_heads;
  posts    jsonb;
  more     boolean;
  leased   jsonb := '[]';
begin
  for endpoint in
    with leased as (
      update core.webhook_endpoints e set lease_id = gen_random_uuid(),
          lease_until = private.now() + interval '60 seconds'
       where (e.partner_id, e.id) in (
         select w.partner_id, w.id from core.webhook_endpoints w
          where w.status = 'enabled' and (w.lease_until is null or w.lease_until <= private.now())
              and private.webhook_is_due(w)
          order by w.lease_until nulls first limit size for update skip locked)
      returning e.*)
    -- two workers that number the same logs lock them in one order
    select * from leased l order by l.partner_id, l.owner_id, l.id
  loop
    head := private.sequence_events(endpoint.partner_id, endpoint.owner_id);
    -- retention deleted the events up to here
    endpoint.delivered_to := greatest(endpoint.delivered_to, head.swept);
    -- a long log may have few events of the wanted types: one turn reads a part of it
    more := head.sequence > endpoint.delivered_to + private.events_at_once();
    head.sequence := least(head.sequence, endpoint.delivered_to + private.events_at_once());
    -- drops retries of deleted events, among the next fifty only, because many may wait
    delete from core.webhook_retries r
     using (select n.event_id from core.webhook_retries n
             where n.partner_id = endpoint.partner_id and n.endpoint_id = endpoint.id
                 and n.next_attempt_at > '-infinity' and n.next_attempt_at <= private.now()
             order by n.next_attempt_at limit 50) n
     where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = n.event_id
       and not exists (select from core.events e where e.partner_id = r.partner_id and e.id = r.event_id
                       and e.created_at > private.events_kept_since());
    posts := private.posts_of(endpoint, head, key, case when endpoint.failures >= 5 then 1 else 50 end);
    if jsonb_array_length(posts) = 0 then
      -- the new events are of other types, and no retry is due
      update core.webhook_endpoints e
         set delivered_to = case when endpoint.failures < 5 then head.sequence else e.delivered_to end,
             lease_id = case when more then e.lease_id end,
             lease_until = case when more then e.lease_until else private.now() end, probe_at = null,
                 failures = case when endpoint.failures >= 5 then 4 else e.failures end
       where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
    end if;
    -- without posts too, if the next turn reads the rest of the log
    if more or jsonb_array_length(posts) > 0 then
      leased := leased || jsonb_build_object(
        'partner_id', endpoint.partner_id, 'webhook_id', endpoint.id, 'lease_id', endpoint.lease_id, 'url',
            endpoint.url, 'posts', posts,
        'secrets', jsonb_build_array(jsonb_build_object('ciphertext', endpoint.secret_ciphertext,
                                                        'key_id', endpoint.secret_key_id))
                   || case when endpoint.previous_until > private.now()
                           then jsonb_build_array(jsonb_build_object('ciphertext', endpoint.previous_ciphertext,
                                                                     'key_id', endpoint.previous_key_id))
                                                                     else '[]' end);
    end if;
  end loop;
  return leased;
end $$;
comment on function private.lease_webhooks(int, text) is
  'Leases endpoints with something to send, each for a minute, with at most fifty events. A failing endpoint gets one '
  'event. Definer: every tenant at once.';

create function api.lease_webhooks(caller jsonb, batch jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.lease_webhooks((batch ->> 'size')::int,
                                                                             batch ->> 'key')::json; $$;
comment on function api.lease_webhooks(jsonb, jsonb) is
  'The next endpoints to send to: {size, key} to [{partner_id, webhook_id, lease_id, url, secrets, posts: [{event_id, '
  'attempt, again, sequence, type, body}]}].';
grant execute on function api.lease_webhooks(jsonb, jsonb) to edge_slow;

-- The delay before an event is sent again after this failed attempt; null after the tenth.
create function private.webhook_delay(attempt int) returns interval
language sql volatile
as $$
  -- a tenth more or less: events that failed together are retried apart
  select (array['5 seconds', '5 minutes', '30 minutes', '2 hours', '5 hours', '10 hours', '14 hours', '20 hours',
                '24 hours']::interval[])[attempt]
         * (0.9 + random() * 0.2)
$$;

-- Applies the result of one attempt (see api.settle_webhook), and returns the changed endpoint.
create function private.settle_attempt(endpoint core.webhook_endpoints, result jsonb) returns core.webhook_endpoints
language plpgsql
as $$
declare
  event     constant uuid := (result ->> 'event_id')::uuid;
  attempt   constant int := (result ->> 'attempt')::int;
  again     constant boolean := (result ->> 'again')::boolean;
  succeeded constant boolean := (result ->> 'status')::int between 200 and 299;
  retry_in  constant interval := (result ->> 'retry_after')::int * interval '1 second';
  unsigned  constant boolean := coalesce(result ->> 'error' = 'secret_unreadable', false);
  -- we could not sign the event: we retry it as if the receiver failed, and count no attempt
  probing   constant boolean := endpoint.failures >= 5 or unsigned;
  next      timestamptz;
begin
  if succeeded then
    endpoint.failures := 0;
    endpoint.failing_since := null;
    endpoint.last_error := null;
    endpoint.warnings := 0;
    endpoint.probe_at := null;
    if again then
      delete from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id
          and r.event_id = event;
    end if;
  else
    endpoint.failures := greatest(endpoint.failures + 1, case when unsigned then 5 end);
    -- the receiver did not fail while we could not read the secret
    endpoint.failing_since := case when endpoint.last_error = 'secret_unreadable' and not unsigned then private.now()
                                   else coalesce(endpoint.failing_since, private.now()) end;
    endpoint.last_error := left(coalesce(result ->> 'error', 'http_' || (result ->> 'status')), 200);
    if endpoint.failures >= 5 then
      endpoint.probe_at := private.now() + coalesce(retry_in, (0.9 + random() * 0.2)
        * coalesce((array['5 seconds', '1 minute', '5 minutes']::interval[])[endpoint.failures - 4], '10 minutes'));
    end if;
    if result ->> 'type' = 'ping' then
      delete from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id
          and r.event_id = event;
    elsif again and probing then
      -- this attempt probed the receiver, so it does not count for the event; the next probe sends another event
      next := endpoint.probe_at;
      update core.webhook_retries r set next_attempt_at = private.now()
       where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    elsif again then
      next := private.now() + coalesce(case when attempt < 10 then retry_in end, private.webhook_delay(attempt));
      update core.webhook_retries r set attempts = attempt, next_attempt_at = next
       where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    elsif endpoint.failures < 5 and (result ->> 'status')::int is distinct from 410 then
      next := private.now() + coalesce(retry_in, private.webhook_delay(attempt));
      insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts, next_attempt_at)
      values (endpoint.partner_id, endpoint.id, event, attempt, next)
      on conflict on constraint webhook_retries_pkey do nothing;
    else
      next := endpoint.probe_at;
    end if;
  end if;
  -- if the receiver keeps failing, the cursor stays where it is
  if not again and (succeeded or endpoint.failures < 5) and (result ->> 'status')::int is distinct from 410 then
    endpoint.delivered_to := greatest(endpoint.delivered_to, (result ->> 'sequence')::bigint);
  end if;
  insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, status, ms, error,
                                     next_attempt_at)
  values (endpoint.partner_id, endpoint.id, event, result ->> 'type', attempt, (result ->> 'at')::timestamptz,
          (result ->> 'status')::int,
          (result ->> 'ms')::int, left(result ->> 'error', 200), next);
  return endpoint;
end $$;

-- Mails managers and operator that an endpoint fails, or that we disabled it. In production at most ten times a day for
-- each log.
create function private.warn_of_webhook(endpoint core.webhook_endpoints, warning text, operator text) returns void
language plpgsql
as $$
begin
  -- the owner of an endpoint can make it fail, and enable it, as often as they like
  if not private.is_sandbox() and not exists (select from private.take_mails(array['webhooks:' || endpoint.owner_id],
                                                                             'webhook', 'mail_kind', 'mail_kind')) then
    return;
  end if;
  perform private.set_tenant(endpoint.partner_id);
  perform private.enqueue_mails(jsonb_build_object('template', 'webhook_' || warning, 'locale', 'nl'), (
    select jsonb_agg(jsonb_build_object(
             'recipient', t.email, 'cause', 'webhook_' || warning || ':' || endpoint.id || ':'
                 || private.iso(endpoint.failing_since) || ':' || endpoint.warnings || ':' || t.email,
             'content', jsonb_build_object('partner_name', p.name, 'url', endpoint.url,
                                           'since', private.iso(endpoint.failing_since))))
      from core.partners p
      cross join lateral (select m.email from private.manager_emails(p.id) m (email) union select operator) t
     where p.id = endpoint.partner_id and t.email is not null));
end $$;

create function private.settle_webhook(settled jsonb, operator text) returns boolean
language plpgsql security definer
as $$
declare
  endpoint core.webhook_endpoints;
  result   jsonb;
  gone     boolean := false;
begin
  select * into endpoint from core.webhook_endpoints e
   where e.partner_id = (settled ->> 'partner_id')::uuid and e.id = (settled ->> 'webhook_id')::uuid for update;
  -- it was revoked or moved, or another worker leased it: these events are sent once more
  if not found or endpoint.lease_id is distinct from (settled ->> 'lease_id')::uuid then
    return false;
  end if;
  for result in select r from jsonb_array_elements(settled -> 'results') r loop
    endpoint := private.settle_attempt(endpoint, result);
    gone := gone or (result ->> 'status')::int = 410;
  end loop;
  update core.webhook_endpoints e
     set failures = endpoint.failures, failing_since = endpoint.failing_since, last_error = endpoint.last_error,
         probe_at = endpoint.probe_at, delivered_to = endpoint.delivered_to,
         warnings = case when endpoint.failing_since <= private.now() - interval '96 hours' then 2
                         when endpoint.failing_since <= private.now() - interval '24 hours' then 1 else 0 end,
         -- an endpoint that just had its turn goes to the end of the queue
         lease_id = null, lease_until = private.now()
   where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
  -- only the operator can mend a secret that we cannot read: the metrics tell them
  if endpoint.status = 'disabled' or endpoint.last_error = 'secret_unreadable' then
    return true;
  elsif gone or endpoint.failing_since <= private.now() - interval '5 days' then
    perform private.set_tenant(endpoint.partner_id),
        private.disable_webhook(endpoint, case when gone then 'gone' else 'failing' end);
    perform private.warn_of_webhook(endpoint, 'disabled', operator);
  elsif endpoint.failing_since <= private.now() - interval '96 hours' and endpoint.warnings < 2
     or endpoint.failing_since <= private.now() - interval '24 hours' and endpoint.warnings < 1 then
    perform private.warn_of_webhook(endpoint, 'failing', operator);
  end if;
  return true;
end $$;
comment on function private.settle_webhook(jsonb, text) is
  'Stores the results of a leased endpoint, and ends the lease. An answer of 410 disables it, and so do five days '
  'without a success. Mails go out after 24 and 96 hours. False: the caller has lost the lease. Definer: every tenant '
  'at once.';

create function api.settle_webhook(caller jsonb, settled jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object('settled', private.settle_webhook(settled, settled ->> 'operator'));
end $$;
comment on function api.settle_webhook(jsonb, jsonb) is
  'Stores the results of an endpoint: {partner_id, webhook_id, lease_id, results: [{event_id, type, attempt, again, '
  'sequence, at, status, ms, error, retry_after}], operator} to {settled}. operator is an address to warn too.';
grant execute on function api.settle_webhook(jsonb, jsonb) to edge_slow;
