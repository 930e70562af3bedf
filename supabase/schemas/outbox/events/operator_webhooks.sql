-- The operator on webhook endpoints: add, list, test, rotate, enable, disable, replay.

-- An endpoint as the operator sees it: its position, what waits for a retry and what was given up.
create function private.webhook_row(endpoint core.webhook_endpoints) returns json
language sql stable
as $$
  select json_build_object(
    'webhook_id', endpoint.id, 'partner_slug', p.slug, 'client_id',
        (select c.client_id from core.oauth_clients c where c.id = endpoint.owner_id),
    'url', endpoint.url, 'types', coalesce(array_to_string(endpoint.types, ' '), '*'), 'status', endpoint.status,
        'disabled_reason', endpoint.disabled_reason,
    'delivered_to', endpoint.delivered_to, 'log_at', coalesce(h.sequence, 0),
    'waiting', (select count(*) from core.webhook_retries r where r.partner_id = endpoint.partner_id
                and r.endpoint_id = endpoint.id and r.next_attempt_at is not null),
    'given_up', (select count(*) from core.webhook_retries r where r.partner_id = endpoint.partner_id
                 and r.endpoint_id = endpoint.id and r.next_attempt_at is null),
    'failing_since', private.iso(endpoint.failing_since), 'last_error', endpoint.last_error, 'pseudonymous',
        endpoint.pseudonymous, 'created_at', private.iso(endpoint.created_at))
  from core.partners p
  left join core.event_heads h on h.partner_id = endpoint.partner_id and h.owner_id = endpoint.owner_id
  where p.id = endpoint.partner_id
$$;

-- The endpoint that {webhook} names. Its partner becomes the tenant of the transaction.
create function private.any_webhook(input jsonb) returns core.webhook_endpoints
language plpgsql
as $$
begin
  perform private.act_as_operator(input);
  perform private.set_tenant((
    select e.partner_id from core.webhook_endpoints e
     where e.partner_id = any (array(select p.id from core.partners p))
         and e.id = private.as_uuid(input ->> 'webhook')));
  return private.webhook_named(input ->> 'webhook');
end $$;

create function ops.webhook_add(input jsonb) returns json
language plpgsql security definer
as $$
declare
  client   core.oauth_clients;
  partner  core.partners;
  endpoint core.webhook_endpoints;
begin
  perform private.act_as_operator(input);
  if input ? 'client' then
    client := private.client_named(input);
    select * into partner from core.partners p where p.id = client.partner_id;
    perform private.refuse_if('client_reads_no_log',
                              partner.id is null or 'client_credentials' <> all (client.grant_types),
      json_build_object('client', input ->> 'client'));
  elsif input ? 'partner' then
    partner := private.partner_named(input);
    perform private.refuse_if('house_has_no_clients', partner.id = private.people_tenant());
  else
    perform private.refuse('whose_log');
  end if;
  perform private.set_tenant(partner.id);
  endpoint := private.add_webhook(coalesce(client.id, partner.id), input);
  return json_build_object('changed', true, 'webhook', private.webhook_row(endpoint));
end $$;
comment on function ops.webhook_add(jsonb) is
  'An endpoint of a partner''s own log, or of a client''s: {partner | client, id, url, types?, from?, secret} to '
  '{changed, webhook}.';

create function ops.webhook_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('webhooks', coalesce(json_agg(private.webhook_row(e) order by p.slug, e.created_at, e.id),
                                                '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.partners p on chosen.id is null or p.id = chosen.id
    join core.webhook_endpoints e on e.partner_id = p.id
   where not coalesce((input ->> 'failing')::boolean, false) or e.status = 'disabled' or e.failing_since is not null
$$;
comment on function ops.webhook_list(jsonb) is
  'Endpoints of all partners or of one: {partner?, failing?} to {webhooks}.';

create function ops.webhook_rotate(input jsonb) returns json
language sql security definer
as $$ select json_build_object('changed', true,
                               'webhook', private.webhook_row(private.rotate_webhook(private.any_webhook(input),
                               input))) $$;
comment on function ops.webhook_rotate(jsonb) is
  'Replaces the secret: {webhook, secret, now?} to {changed, webhook}. Both sign for 24 hours, unless now.';

create function ops.webhook_enable(input jsonb) returns json
language sql security definer
as $$
  select json_build_object('changed', before.status = 'disabled',
                           'webhook', private.webhook_row(private.enable_webhook(before)))
    from private.any_webhook(input) before
$$;
comment on function ops.webhook_enable(jsonb) is
  'Sends to an endpoint again, from its last position: {webhook} to {changed, webhook}.';

create function ops.webhook_disable(input jsonb) returns json
language sql security definer
as $$
  select json_build_object('changed', before.status = 'enabled',
                           'webhook', private.webhook_row(private.disable_webhook(before, 'operator')))
    from private.any_webhook(input) before
$$;
comment on function ops.webhook_disable(jsonb) is
  'Stops sending to an endpoint; nothing is lost: {webhook} to {changed, webhook}.';

create function ops.webhook_replay(input jsonb) returns json
language sql security definer
as $$ select private.replay_webhook(private.any_webhook(input), input) $$;
comment on function ops.webhook_replay(jsonb) is
  'Sends events again: {webhook, from?, to?, failed?} to {ok, from, to, events}.';

create function ops.webhook_ping(input jsonb) returns json
language sql security definer
as $$ select json_build_object('ping', private.ping_webhook(private.any_webhook(input))) $$;
comment on function ops.webhook_ping(jsonb) is
  'Has the worker send a ping: {webhook} to {ping}, for ops.webhook_pinged.';

create function ops.webhook_pinged(input jsonb) returns json
language sql security definer
as $$
  select coalesce(private.pinged(endpoint.id, (input ->> 'ping')::uuid), '{"ok": false, "attempt": null}')
   from private.any_webhook(input) endpoint
$$;
comment on function ops.webhook_pinged(jsonb) is
  'The result of a ping: {webhook, ping} to {ok, attempt}; attempt is null until it was sent.';

create function ops.webhook_revoke(input jsonb) returns json
language sql security definer
as $$ select json_build_object('ok', true) from private.revoke_webhook(private.any_webhook(input)) $$;
comment on function ops.webhook_revoke(jsonb) is
  'Deletes an endpoint, and what was still to be sent: {webhook} to {ok}.';
