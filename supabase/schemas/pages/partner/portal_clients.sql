-- The CPO clients of a partner, as its pages show them: what their software delivered, and their secret.

create function private.cpo_clients() returns setof core.oauth_clients
language sql stable security definer
as $$
  select c.* from core.oauth_clients c
   where c.partner_id = private.partner_id() and 'client_credentials' = any (c.grant_types)
$$;
comment on function private.cpo_clients() is
  'The CPO clients of the tenant. Definer, because a client sees nobody but itself.';

-- Counts the webhooks of a client, or of the partner itself: {enabled, disabled, failing}. A failing one counts as
-- enabled too.
create function private.webhooks_counted(owner uuid) returns json
language sql stable
as $$
  select json_build_object('enabled', count(*) filter (where e.status = 'enabled'),
                           'disabled', count(*) filter (where e.status = 'disabled'),
                           'failing', count(*) filter (where e.status = 'enabled' and e.failing_since is not null))
    from core.webhook_endpoints e where e.partner_id = private.partner_id() and e.owner_id = owner
$$;

-- A client as its partner sees it, without the hash of its secret.
create function private.portal_client(client core.oauth_clients) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'id', client.id, 'client_id', client.client_id, 'name', client.name,
    'scopes', client.scopes, 'missing_scopes', array(
      select s from unnest(private.scopes_of('client')) s where s <> all (client.scopes)),
    'created_at', private.iso(client.created_at), 'secret_number', client.secret_number,
    'secret_rotated_at', private.iso(client.secret_rotated_at),
    'last_used_at', private.iso(client.last_used_at), 'disabled_at', private.iso(client.disabled_at),
    'accounts', (select count(*) from (select from core.accounts a
                                        where a.partner_id = client.partner_id and a.owner_id = client.id
                                        limit 10001) a),
    'webhooks', private.webhooks_counted(client.id))
$$;

-- What an account of a client is called: by its client, or by who signs.
create function private.account_name(account core.accounts) returns text
language sql stable
as $$
  select coalesce(account.display_name, account.company ->> 'name', (
    select s.full_name from core.signatories s where s.partner_id = account.partner_id and s.account_id = account.id))
$$;

create function api.read_portal_clients(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object(
    'who', private.portal_who(),
    'clients', (select coalesce(json_agg(private.portal_client(c) order by c.disabled_at is not null, c.created_at,
                                         c.id), '[]')
                  from private.cpo_clients() c));
end $$;
comment on function api.read_portal_clients(jsonb) is
  'The CPO clients of a partner, the oldest first, disabled ones last: {who, clients: [{id, client_id, name, scopes, '
  'missing_scopes, created_at, secret_rotated_at, last_used_at, disabled_at, accounts, webhooks: {enabled, '
  'disabled}}]}. accounts stops at 10001.';

create function api.read_portal_client(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  size   constant int := (query ->> 'limit')::int;
  client core.oauth_clients;
  last   core.accounts;
begin
  perform private.act_as(caller, 'partner');
  select * into client from private.cpo_clients() c where c.id = private.as_uuid(query ->> 'id');
  perform private.refuse_if('client_not_found', not found);
  select * into last from core.accounts a
   where a.partner_id = private.partner_id() and a.id = private.as_uuid(query ->> 'after') and a.owner_id = client.id;
  return (
    with page as (
      select a.*, a as account, row_number() over (order by a.created_at desc, a.id desc) <= size as shown
        from core.accounts a
       where a.partner_id = private.partner_id() and a.owner_id = client.id
         and (last.id is null or (a.created_at, a.id) < (last.created_at, last.id))
       order by a.created_at desc, a.id desc limit size + 1
    )
    select json_build_object(
      'who', private.portal_who(),
      'signed_in_recently', private.signed_in_recently(),
      'client', private.portal_client(client),
      'webhooks', (
        select coalesce(json_agg(private.webhook_json(e) || jsonb_build_object(
                 'attempts', private.newest_attempts(e, 3)) order by e.created_at, e.id), '[]')
          from core.webhook_endpoints e where e.partner_id = client.partner_id and e.owner_id = client.id),
      'parked', private.parked_names(client.id, 20),
      'accounts', (
        select coalesce(json_agg(json_build_object(
                 'account_id', p.id, 'reference', p.cpo_external_ref,
                 'name', private.account_name(p.account),
                 'created_at', private.iso(p.created_at), 'checklist', g.checklist, 'ere_eligible', g.ere_eligible,
                 'iban_fits', p.iban_checksum_ok is not false and private.paid_back_on(p.account) is null,
                 'latest', m.latest) order by p.created_at desc, p.id desc), '[]')
          from page p
          join core.account_gates g on g.partner_id = p.partner_id and g.account_id = p.id
         cross join lateral (
           select (
             select json_build_object('period', to_char(d.period, 'YYYY-MM'), 'total_kwh', sum(d.total_kwh),
                                       'rejected', bool_or(d.status = 'rejected'))
               from core.connections c
               join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
              where c.partner_id = p.partner_id and c.account_id = p.id
              group by d.period order by d.period desc limit 1) as latest) m
         where p.shown),
      'after', (select p.id from page p where p.shown and exists (select from page n where not n.shown)
                 order by p.created_at, p.id limit 1)));
end $$;
comment on function api.read_portal_client(jsonb, jsonb) is
  'A CPO client and its accounts, newest first: {id, after, limit} to {who, signed_in_recently, client, webhooks, '
  'parked, accounts, after}. client as in read_portal_clients; each webhook with its three latest attempts; parked is '
  'private.parked_names. accounts: [{account_id, reference, name, created_at, checklist, ere_eligible, '
  'iban_fits, latest: {period, total_kwh, rejected} | null}]. iban_fits is false for an IBAN that is wrong, '
  'and with private.paid_back_on. Send after for the next page; null at the end.';

create function api.rotate_client_secret(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  client core.oauth_clients;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  select * into client from private.cpo_clients() c where c.id = private.as_uuid(input ->> 'id');
  perform private.refuse_if('client_not_found', not found or client.disabled_at is not null);
  -- a form of before brings no secret back that was replaced since
  if client.secret_number <> (input ->> 'secret_number')::bigint
     and client.secret_hash <> decode(input ->> 'secret_hash', 'hex') then
    return json_build_object('ok', false);
  end if;
  perform private.rotate_client(client.id, decode(input ->> 'secret_hash', 'hex'),
                                (input ->> 'revoke_tokens')::boolean);
  return json_build_object('ok', true);
end $$;
comment on function api.rotate_client_secret(jsonb, jsonb) is
  'A manager replaces the secret of a CPO client; the old one stops at once: {id, secret_number, secret_hash, '
  'revoke_tokens} to {ok}. ok is false if the secret of that number was replaced meanwhile. revoke_tokens also ends '
  'every token that was issued before. A disabled client is not found.';
