-- POST and GET /partner/webhooks: by a person who manages the partner, never by a key, because data goes there.

create function private.own_webhook(named text) returns core.webhook_endpoints
language plpgsql
set search_path = ''
as $$
declare
  endpoint core.webhook_endpoints;
begin
  endpoint := private.webhook_named(named);
  -- those of its clients are the operator's to manage
  if endpoint.owner_id <> private.partner_id() then
    perform private.refuse('webhook_not_found');
  end if;
  return endpoint;
end $$;
comment on function private.own_webhook(text) is 'An endpoint of the partner''s own log, its row locked.';
grant execute on function private.own_webhook(text) to api_owner;

create function api.list_webhooks(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('webhooks', (
    select coalesce(json_agg(private.webhook_json(e) order by e.created_at, e.id), '[]') from core.webhook_endpoints e
     where e.partner_id = private.partner_id() and e.owner_id = private.partner_id()));
end $$;
comment on function api.list_webhooks(jsonb) is 'GET /partner/webhooks: {webhooks}, oldest first.';
select private.expose('api.list_webhooks(jsonb)');

create function api.create_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  return private.webhook_json(private.add_webhook(private.partner_id(), input));
end $$;
comment on function api.create_webhook(jsonb, jsonb) is 'POST /partner/webhooks: {id, url, types, secret, secret_id, from} to the endpoint. The secret is sealed before it comes here.';
select private.expose('api.create_webhook(jsonb, jsonb)');

create function api.rotate_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  return private.webhook_json(private.rotate_webhook(private.own_webhook(input ->> 'webhook_id'), input));
end $$;
comment on function api.rotate_webhook(jsonb, jsonb) is 'POST /partner/webhooks/{webhook_id}/rotate: {webhook_id, secret, secret_id, now} to the endpoint.';
select private.expose('api.rotate_webhook(jsonb, jsonb)');

create function api.switch_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  endpoint core.webhook_endpoints;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  endpoint := private.own_webhook(input ->> 'webhook_id');
  return private.webhook_json(case when (input ->> 'enable')::boolean then private.enable_webhook(endpoint)
                                                                      else private.disable_webhook(endpoint, 'manager') end);
end $$;
comment on function api.switch_webhook(jsonb, jsonb) is 'POST /partner/webhooks/{webhook_id}/enable and disable: {webhook_id, enable} to the endpoint.';
select private.expose('api.switch_webhook(jsonb, jsonb)');

create function api.revoke_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  perform private.revoke_webhook(private.own_webhook(input ->> 'webhook_id'));
  return json_build_object('ok', true);
end $$;
comment on function api.revoke_webhook(jsonb, jsonb) is 'POST /partner/webhooks/{webhook_id}/revoke: {webhook_id}. What was still to be sent to it is not.';
select private.expose('api.revoke_webhook(jsonb, jsonb)');

create function api.replay_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  return private.replay_webhook(private.own_webhook(input ->> 'webhook_id'), input);
end $$;
comment on function api.replay_webhook(jsonb, jsonb) is 'POST /partner/webhooks/{webhook_id}/replay: {webhook_id, from, to | failed} to {ok, from, to, events}.';
select private.expose('api.replay_webhook(jsonb, jsonb)');

create function api.ping_webhook(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  return json_build_object('ping', private.ping_webhook(private.own_webhook(input ->> 'webhook_id')));
end $$;
comment on function api.ping_webhook(jsonb, jsonb) is 'POST /partner/webhooks/{webhook_id}/test: {webhook_id} to {ping}, for api.pinged_webhook.';
select private.expose('api.ping_webhook(jsonb, jsonb)');

create function api.pinged_webhook(caller jsonb, input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return private.pinged((input ->> 'webhook_id')::uuid, (input ->> 'ping')::uuid);
end $$;
comment on function api.pinged_webhook(jsonb, jsonb) is 'What came of a ping: {webhook_id, ping} to {ok, attempt}, null as long as it was not sent.';
select private.expose('api.pinged_webhook(jsonb, jsonb)');

create function api.list_webhook_attempts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  return json_build_object('attempts', (
    select coalesce(json_agg(private.attempt_json(a) || jsonb_build_object('webhook_id', a.endpoint_id, 'url', e.url) order by a.id desc), '[]')
      from (select * from core.webhook_attempts a where a.partner_id = private.partner_id() order by a.id desc limit (query ->> 'limit')::int) a
      join core.webhook_endpoints e on e.partner_id = a.partner_id and e.id = a.endpoint_id));
end $$;
comment on function api.list_webhook_attempts(jsonb, jsonb) is 'GET /sandbox/v1/webhooks: {limit} to {attempts} of all endpoints of the partner and of its clients, newest first.';
select private.expose('api.list_webhook_attempts(jsonb, jsonb)');
