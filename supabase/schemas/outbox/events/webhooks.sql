-- Webhook endpoints: where the events of one log are sent, and up to where.

create function private.webhook_json(endpoint core.webhook_endpoints) returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object(
    'id', endpoint.id, 'url', endpoint.url, 'types', coalesce(to_jsonb(endpoint.types), '["*"]'), 'pseudonymous',
        endpoint.pseudonymous,
    'status', endpoint.status, 'disabled_reason', endpoint.disabled_reason, 'created_at',
        private.iso(endpoint.created_at),
    'delivered_to', endpoint.delivered_to, 'failing_since', private.iso(endpoint.failing_since), 'last_error',
        endpoint.last_error);
end $$;

-- The number behind which something in a log begins (from), or at which it ends (to): a cursor, an event or a moment,
-- included; null is the end.
create function private.place_in_log(owner uuid, field text, named text) returns bigint
language plpgsql
as $$
declare
  head  constant core.event_heads := private.sequence_all(private.partner_id(), owner);
  place bigint;
begin
  if named is null then
    return head.sequence;
  elsif private.as_uuid(named) is not null then
    select e.sequence - case field when 'from' then 1 else 0 end into place from core.events e
     where e.partner_id = head.partner_id and e.owner_id = owner and e.id = private.as_uuid(named)
         and e.created_at > private.events_kept_since();
    perform private.refuse_if('event_not_found', not found,
      json_build_object('detail', format('%s: this log has no event with that id, or it is older than 90 days.',
                                         field)));
    return place;
  elsif not (named ~ '^\d{4}-\d\d-\d\d' and pg_input_is_valid(named, 'timestamptz')) then
    return private.start_of(head, named, field);
  elsif field = 'from' then
    select e.sequence - 1 into place from core.events e
     where e.partner_id = head.partner_id and e.owner_id = owner and e.sequence > private.oldest_event(head)
         and e.created_at >= named::timestamptz
     order by e.sequence limit 1;
    return coalesce(place, head.sequence);
  end if;
  -- moments are shown without fractions: whoever names one means the whole second
  select e.sequence into place from core.events e
   where e.partner_id = head.partner_id and e.owner_id = owner
       and date_trunc('second', e.created_at) <= named::timestamptz
   order by e.sequence desc limit 1;
  return coalesce(place, 0);
end $$;

-- An endpoint of the tenant, its row locked.
create function private.webhook_named(named text) returns core.webhook_endpoints
language plpgsql
as $$
declare
  endpoint core.webhook_endpoints;
begin
  select * into endpoint from core.webhook_endpoints e where e.partner_id = private.partner_id()
      and e.id = private.as_uuid(named) for update;
  perform private.refuse_if('webhook_not_found', not found);
  return endpoint;
end $$;

-- Adds an endpoint of a log of the tenant: {id, url, types, secret, secret_id, from}. Ten a log: a partner's own, and
-- each client's.
create function private.add_webhook(owner uuid, input jsonb) returns core.webhook_endpoints
language plpgsql
as $$
declare
  endpoint core.webhook_endpoints;
begin
  -- the partner's row is locked, so that of two at once the second sees the first
  perform from core.partners p where p.id = private.partner_id() for no key update;
  select * into endpoint from core.webhook_endpoints e
   where e.partner_id = private.partner_id() and e.id = (input ->> 'id')::uuid
       and e.secret_id = (input ->> 'secret_id')::uuid;
  if found then
    return endpoint;
  end if;
  perform private.refuse_if('endpoint_limit',
                            (select count(*) from core.webhook_endpoints e where e.partner_id = private.partner_id()
                             and e.owner_id = owner) >= 10);
  insert into core.webhook_endpoints (partner_id, id, owner_id, url, types, pseudonymous, secret_ciphertext,
                                      secret_key_id, secret_id, delivered_to)
  values (private.partner_id(), (input ->> 'id')::uuid, owner, input ->> 'url',
          (select array_agg(t) from jsonb_array_elements_text(nullif(input -> 'types', 'null')) t),
              not private.is_partner_itself(),
          input #>> '{secret,ciphertext}', input #>> '{secret,key_id}', (input ->> 'secret_id')::uuid,
              private.place_in_log(owner, 'from', input ->> 'from'))
  returning * into endpoint;
  perform private.audit('webhook.added', endpoint.id);
  return endpoint;
end $$;

-- Replaces the secret, {secret, secret_id, now}. Both sign for 24 hours, or with now only the new one.
create function private.rotate_webhook(endpoint core.webhook_endpoints, input jsonb) returns core.webhook_endpoints
language plpgsql
as $$
declare
  at_once constant boolean := coalesce((input ->> 'now')::boolean, false);
begin
  if endpoint.secret_id = (input ->> 'secret_id')::uuid then
    return endpoint;
  end if;
  update core.webhook_endpoints e
     set secret_id = (input ->> 'secret_id')::uuid, secret_ciphertext = input #>> '{secret,ciphertext}',
         secret_key_id = input #>> '{secret,key_id}',
         previous_ciphertext = case when not at_once then e.secret_ciphertext end,
             previous_key_id = case when not at_once then e.secret_key_id end,
         previous_until = case when not at_once then private.now() + interval '24 hours' end
   where e.partner_id = endpoint.partner_id and e.id = endpoint.id returning * into endpoint;
  perform private.audit('webhook.rotated', endpoint.id, jsonb_build_object('at_once', at_once));
  return endpoint;
end $$;

-- Stops sending to an endpoint; nothing is lost. reason: manager, client, operator, gone (it answered 410), failing
-- (five days).
create function private.disable_webhook(endpoint core.webhook_endpoints, reason text) returns core.webhook_endpoints
language plpgsql
as $$
begin
  if endpoint.status = 'disabled' then
    return endpoint;
  end if;
  update core.webhook_endpoints e set status = 'disabled', disabled_reason = disable_webhook.reason
   where e.partner_id = endpoint.partner_id and e.id = endpoint.id returning * into endpoint;
  perform private.audit('webhook.disabled', endpoint.id, jsonb_build_object('reason', disable_webhook.reason)),
          private.append_event(endpoint.partner_id, endpoint.owner_id, 'webhook_endpoint.disabled', endpoint.id,
                       jsonb_build_object('webhook_id', endpoint.id, 'disabled_reason', disable_webhook.reason));
  return endpoint;
end $$;

-- Sends to an endpoint again, from its last position.
create function private.enable_webhook(endpoint core.webhook_endpoints) returns core.webhook_endpoints
language plpgsql
as $$
begin
  if endpoint.status = 'enabled' then
    return endpoint;
  end if;
  update core.webhook_endpoints e
     set status = 'enabled', disabled_reason = null, failures = 0, failing_since = null, last_error = null,
         warnings = 0, probe_at = null
   where e.partner_id = endpoint.partner_id and e.id = endpoint.id returning * into endpoint;
  perform private.audit('webhook.enabled', endpoint.id);
  return endpoint;
end $$;

-- Deletes an endpoint, its attempts, and what was still to be sent.
create function private.revoke_webhook(endpoint core.webhook_endpoints) returns void
language plpgsql
as $$
begin
  delete from core.webhook_endpoints e where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
  perform private.audit('webhook.revoked', endpoint.id);
end $$;

-- Has a ping sent to an endpoint before anything else. Its id finds the attempt.
create function private.ping_webhook(endpoint core.webhook_endpoints) returns uuid
language plpgsql
as $$
declare
  ping constant uuid := gen_random_uuid();
begin
  perform private.refuse_if('endpoint_disabled', endpoint.status <> 'enabled');
  insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts, next_attempt_at)
  values (endpoint.partner_id, endpoint.id, ping, 0, '-infinity');
  return ping;
end $$;

create function private.attempt_json(attempt core.webhook_attempts) returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object(
    'event_id', attempt.event_id, 'type', attempt.type, 'attempt', attempt.attempt, 'at', private.iso(attempt.at),
        'status', attempt.status,
    'ms', attempt.ms, 'error', attempt.error, 'next_attempt_at', private.iso(attempt.next_attempt_at));
end $$;

-- The result of a ping; null until it was sent.
create function private.pinged(endpoint uuid, ping uuid) returns json
language plpgsql stable
as $$
begin
  return (
    select json_build_object('ok', coalesce(a.status between 200 and 299, false), 'attempt', private.attempt_json(a))
      from core.webhook_attempts a
     where a.partner_id = private.partner_id() and a.endpoint_id = endpoint and a.event_id = ping
         order by a.id desc limit 1);
end $$;

-- Sends events again, in their order: {from, to?}, each a cursor, an event or a moment; or {failed: true}, those given
-- up. types chooses among them.
create function private.replay_webhook(endpoint core.webhook_endpoints, input jsonb) returns json
language plpgsql
as $$
declare
  since bigint;
  until bigint;
  again int;
  -- null: all that it gets
  wanted constant text[] := (select array_agg(t) from jsonb_array_elements_text(nullif(input -> 'types', 'null')) t);
begin
  perform private.refuse_if('endpoint_disabled', endpoint.status <> 'enabled');
  if (input ->> 'failed')::boolean then
    update core.webhook_retries r set attempts = 0, next_attempt_at = private.now()
     where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.next_attempt_at is null
       and (wanted is null or exists (
              select from core.events e
               where e.partner_id = r.partner_id and e.id = r.event_id and e.type = any (wanted)));
    get diagnostics again = row_count;
    perform private.audit('webhook.replayed', endpoint.id);
    return json_build_object('ok', true, 'from', null, 'to', null, 'events', again);
  end if;
  since := private.place_in_log(endpoint.owner_id, 'from', input ->> 'from');
  -- what is still to be sent in its turn is not sent twice
  until := least(private.place_in_log(endpoint.owner_id, 'to', input ->> 'to'), endpoint.delivered_to);
  insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts, next_attempt_at)
  select e.partner_id, endpoint.id, e.id, 0, private.now() + (e.sequence - since) * interval '1 microsecond'
    from core.events e
   where e.partner_id = endpoint.partner_id and e.owner_id = endpoint.owner_id and e.sequence > since
       and e.sequence <= until
     and (endpoint.types is null or e.type = any (endpoint.types)) and (wanted is null or e.type = any (wanted))
     and private.is_shown(e, not endpoint.pseudonymous)
  on conflict on constraint webhook_retries_pkey do update set attempts = 0, next_attempt_at = excluded.next_attempt_at;
  get diagnostics again = row_count;
  perform private.audit('webhook.replayed', endpoint.id, jsonb_build_object('from', since + 1, 'to', until));
  return json_build_object('ok', true, 'from', since + 1, 'to', greatest(until, since), 'events', again);
end $$;
