-- /partner/webhooks: by a person who manages the partner, never by a key, because data goes there. /v1/webhooks: by a
-- CPO client, its own.

-- First line of what changes an endpoint: the caller is a client, or a person who manages the partner.
create function private.act_on_webhooks(caller jsonb) returns void
language plpgsql
as $$
begin
  perform private.act_as(caller, 'partner', 'cpo');
  if private.owner_id() is null then
    perform private.act_as_manager();
  end if;
end $$;

-- An endpoint of the caller's own log, for reading.
create function private.shown_webhook(named text) returns core.webhook_endpoints
language plpgsql stable
as $$
declare
  endpoint core.webhook_endpoints;
begin
  select * into endpoint from core.webhook_endpoints e
   where e.partner_id = private.partner_id() and e.owner_id = private.log_owner() and e.id = private.as_uuid(named);
  perform private.refuse_if('webhook_not_found', not found);
  return endpoint;
end $$;

-- private.shown_webhook, its row locked.
create function private.own_webhook(named text) returns core.webhook_endpoints
language sql
as $$ select private.webhook_named((private.shown_webhook(named)).id::text) $$;

-- The endpoints of the caller's own log, oldest first.
create function private.own_webhooks() returns json
language plpgsql stable
as $$
begin
  return (select coalesce(json_agg(private.webhook_json(e) order by e.created_at, e.id), '[]')
          from core.webhook_endpoints e
           where e.partner_id = private.partner_id() and e.owner_id = private.log_owner());
end $$;

create function private.newest_attempts(endpoint core.webhook_endpoints, size int, skip int default 0) returns json
language sql stable
as $$
  select coalesce(json_agg(private.attempt_json(a) order by a.id desc), '[]')
    from (select * from core.webhook_attempts a where a.partner_id = endpoint.partner_id and a.endpoint_id = endpoint.id
           order by a.id desc limit size offset skip) a
$$;

create function api.list_webhooks(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner', 'cpo');
  return json_build_object('webhooks', private.own_webhooks());
end $$;
comment on function api.list_webhooks(jsonb) is 'GET /partner/webhooks and /v1/webhooks: {webhooks}, oldest first.';

create function api.read_webhook(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner', 'cpo');
  return private.webhook_json(private.shown_webhook(query ->> 'webhook_id'));
end $$;
comment on function api.read_webhook(jsonb, jsonb) is
  'GET /partner/webhooks/{webhook_id} and /v1/…: {webhook_id} to the endpoint.';

create function api.read_webhook_attempts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner', 'cpo');
  return json_build_object('attempts', private.newest_attempts(private.shown_webhook(query ->> 'webhook_id'),
                                                               (query ->> 'limit')::int));
end $$;
comment on function api.read_webhook_attempts(jsonb, jsonb) is
  'GET /partner/webhooks/{webhook_id}/attempts and /v1/…: {webhook_id, limit} to {attempts}, newest first.';

create function api.update_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  endpoint core.webhook_endpoints;
  before   core.webhook_endpoints;
begin
  perform private.act_on_webhooks(caller), private.require_recent_sign_in();
  before := private.own_webhook(input ->> 'webhook_id');
  update core.webhook_endpoints e
     set url = coalesce(input ->> 'url', e.url),
         types = case when input ? 'types' then (select array_agg(t)
                                                 from jsonb_array_elements_text(nullif(input -> 'types', 'null')) t)
                                                 else e.types end
   where e.partner_id = before.partner_id and e.id = before.id returning * into endpoint;
  if endpoint = before then
    return private.webhook_json(before);
  elsif endpoint.url <> before.url then
    -- What an application redirects is no more than what it may read. Another receiver is tried at once, and whoever is
    -- sending to the one before says nothing of it any more.
    update core.webhook_endpoints e
       set pseudonymous = e.pseudonymous or not private.is_partner_itself(),
           failures = 0, failing_since = null, last_error = null, warnings = 0, probe_at = null, lease_id = null,
               lease_until = null
     where e.partner_id = before.partner_id and e.id = before.id returning * into endpoint;
  end if;
  perform private.audit('webhook.updated', endpoint.id, jsonb_build_object('changed', to_jsonb(array_remove(array[
    case when endpoint.url <> before.url then 'url' end,
        case when endpoint.types is distinct from before.types then 'types' end], null))));
  return private.webhook_json(endpoint);
end $$;
comment on function api.update_webhook(jsonb, jsonb) is
  'POST /partner/webhooks/{webhook_id}/update and /v1/…: {webhook_id, url?, types?} to the endpoint. types null is '
  'all. Its position stays, and what waits goes to the new address.';

create function api.create_webhook(caller jsonb, input jsonb) returns json
language sql security definer
as $$
  select private.act_on_webhooks(caller), private.require_recent_sign_in();
  select private.webhook_json(private.add_webhook(private.log_owner(), input));
$$;
comment on function api.create_webhook(jsonb, jsonb) is
  'POST /partner/webhooks and /v1/webhooks: {id, url, types, secret, secret_id, from} to the endpoint. The secret is '
  'sealed before it comes here.';

create function api.rotate_webhook(caller jsonb, input jsonb) returns json
language sql security definer
as $$
  select private.act_on_webhooks(caller), private.require_recent_sign_in();
  select private.webhook_json(private.rotate_webhook(private.own_webhook(input ->> 'webhook_id'), input));
$$;
comment on function api.rotate_webhook(jsonb, jsonb) is
  'POST /partner/webhooks/{webhook_id}/rotate and /v1/…: {webhook_id, secret, secret_id, now} to the endpoint.';

create function api.switch_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  endpoint core.webhook_endpoints;
begin
  perform private.act_on_webhooks(caller);
  endpoint := private.own_webhook(input ->> 'webhook_id');
  return private.webhook_json(case when (input ->> 'enable')::boolean then private.enable_webhook(endpoint)
                                                                      else private.disable_webhook(endpoint,
                                                                          case when private.owner_id() is null
                                                                          then 'manager' else 'client' end) end);
end $$;
comment on function api.switch_webhook(jsonb, jsonb) is
  'POST /partner/webhooks/{webhook_id}/enable and disable and /v1/…: {webhook_id, enable} to the endpoint.';

create function api.revoke_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_on_webhooks(caller);
  perform private.revoke_webhook(private.own_webhook(input ->> 'webhook_id'));
  return json_build_object('ok', true);
end $$;
comment on function api.revoke_webhook(jsonb, jsonb) is
  'POST /partner/webhooks/{webhook_id}/revoke and /v1/…: {webhook_id}. Drops what was still to be sent.';

create function api.replay_webhook(caller jsonb, input jsonb) returns json
language sql security definer
as $$ select private.act_on_webhooks(caller); select private.replay_webhook(private.own_webhook(input ->> 'webhook_id'),
                                                                            input); $$;
comment on function api.replay_webhook(jsonb, jsonb) is
  'POST /partner/webhooks/{webhook_id}/replay and /v1/…: {webhook_id, from, to | failed, types} to {ok, from, to, '
  'events}.';

create function api.ping_webhook(caller jsonb, input jsonb) returns json
language sql security definer
as $$
  select private.act_on_webhooks(caller);
  select json_build_object('ping', private.ping_webhook(private.own_webhook(input ->> 'webhook_id')));
$$;
comment on function api.ping_webhook(jsonb, jsonb) is
  'POST /partner/webhooks/{webhook_id}/test and /v1/…: {webhook_id} to {ping}, for api.read_ping.';

create function api.read_ping(caller jsonb, input jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner', 'cpo');
  return private.pinged((private.shown_webhook(input ->> 'webhook_id')).id, (input ->> 'ping')::uuid);
end $$;
comment on function api.read_ping(jsonb, jsonb) is
  'The result of a ping: {webhook_id, ping} to {ok, attempt}, null until it was sent.';

create function api.list_webhook_attempts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  return json_build_object('attempts', (
    select coalesce(json_agg(private.attempt_json(a) || jsonb_build_object('webhook_id', a.endpoint_id, 'url', e.url)
                             order by a.id desc), '[]')
      from (select * from core.webhook_attempts a where a.partner_id = private.partner_id()
            order by a.id desc limit (query ->> 'limit')::int) a
      join core.webhook_endpoints e on e.partner_id = a.partner_id and e.id = a.endpoint_id));
end $$;
comment on function api.list_webhook_attempts(jsonb, jsonb) is
  'GET /sandbox/v1/webhooks: {limit} to {attempts} of all endpoints of the partner and of its clients, newest first.';
