-- POST /sandbox/v1/customers/{id}/chargers, …/sync, …/review.

create function private.own_customer(named text, key text, out account_id uuid, out user_id uuid)
language sql stable security definer
as $$
  select a.id, a.user_id
    from core.attributions t
    join core.accounts a on a.partner_id = private.people_tenant() and a.user_id = t.user_id
   where t.partner_id = private.partner_id() and t.source in ('partner_upload', 'partner_invite')
     and case when named like 'cus\_%' then t.user_id = private.customer_named(named, private.partner_id(), key)
              else a.id = private.as_uuid(named) end
   order by a.created_at, a.id limit 1
$$;
comment on function private.own_customer(text, text) is
  'The account of a customer that the partner itself brought, by customer_ref or account id; nulls if there is none. '
  'Definer, because people own their accounts in the people''s tenant.';

-- private.own_customer, refused with customer_not_found if there is none; the transaction then acts as that person.
create function private.require_customer(named text, key text, out account_id uuid, out user_id uuid)
language plpgsql
as $$
begin
  select c.account_id, c.user_id into require_customer.account_id, require_customer.user_id
   from private.own_customer(named, key) c;
  perform private.refuse_if('customer_not_found', require_customer.account_id is null);
  -- from here on the transaction reaches what is the customer's; the audit log says who plays them
  perform private.act_for_person(private.people_tenant(), require_customer.user_id),
      set_config('app.caller_kind', 'sandbox', true);
end $$;

create function api.connect_virtual_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  customer   record;
  profile    constant jsonb := input -> 'profile';
  model      core.charger_models;
  connection uuid;
  virtual    core.virtual_chargers;
  charger    uuid;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  model := private.virtual_model(profile);
  select * into customer from private.require_customer(input ->> 'id', input ->> 'key');
  perform private.lock_chargers(null, customer.user_id);
  perform from core.accounts a where a.partner_id = private.people_tenant()
      and a.id = customer.account_id for no key update;
  perform private.refuse_if('customer_not_found', not found);  -- a reset deleted it meanwhile
  connection := private.pick_connection(customer.account_id, null, true);
  -- a repeat: the same model charging the same way
  select v.* into virtual
    from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
   where v.partner_id = private.people_tenant() and h.account_id = customer.account_id and h.status = 'active'
       and h.catalog_charger_id = model.id
     and (v.wh_per_session, v.sessions_per_week, v.power_kw, v.since)
         = ((profile ->> 'wh_per_session')::int, (profile ->> 'sessions_per_week')::numeric,
            (profile ->> 'power_kw')::numeric, (profile ->> 'since')::date)
   order by v.created_at, v.id limit 1;
  if virtual.id is null then
    perform private.require_charger_room(null, customer.user_id);
    charger := private.add_own_charger(customer.account_id, connection, jsonb_build_object(
      'catalog_charger_id', model.id, 'serial_number',
          'SANDBOX-' || upper(left(replace(gen_random_uuid()::text, '-', ''), 16)),
      'power_kw', profile -> 'power_kw'), '{"virtual": true}');
    insert into core.virtual_chargers (partner_id, charger_id, wh_per_session, sessions_per_week, power_kw, since)
    values (private.people_tenant(), charger, (profile ->> 'wh_per_session')::int,
            (profile ->> 'sessions_per_week')::numeric,
            (profile ->> 'power_kw')::numeric, (profile ->> 'since')::date)
    returning * into virtual;
    perform private.advance_registration(customer.account_id, true);
  end if;
  return private.virtual_charger_answer(virtual)::json;
end $$;
comment on function api.connect_virtual_charger(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/chargers: {id, key, profile: {mid, catalog_charger_id, wh_per_session, '
  'sessions_per_week, power_kw, since}}. '
  'The same profile again is the same charger. Its sessions are collected by api.sync_customer.';

create function api.sync_customer(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  customer record;
  virtuals core.virtual_chargers[];
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into customer from private.require_customer(input ->> 'id', input ->> 'key');
  virtuals := array(
    select v from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
     where v.partner_id = private.people_tenant() and h.account_id = customer.account_id and h.status = 'active'
     order by v.id for update of v);
  return json_build_object('ok', true, 'sessions_created', private.collect_charging_sessions(virtuals), 'error', null);
end $$;
comment on function api.sync_customer(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/sync: {id, key} to {ok, sessions_created, error}. Collects every virtual charger of '
  'the customer up to now.';

create function private.review_due_registrations() returns bigint
language plpgsql security definer
as $$
declare
  waiting    core.connections[];
  undecided  core.chargers[];
  busy       uuid[];
  due        core.connections[];
  connection core.connections;
  charger    core.chargers;
begin
  if private.is_sandbox() then
    waiting := array(
      select c from core.connections c
       where c.registration_status = 'ingediend' and c.status = 'active'
         and c.submitted_at <= private.now() - interval '2 minutes'
       order by c.submitted_at, c.id limit 500);
    -- chargers before connections, as private.store_sessions; the next run reviews those of a charger that is busy
    undecided := array(
      select h from unnest(waiting) c
        join core.chargers h on h.partner_id = c.partner_id and h.connection_id = c.id
       where h.user_id is not null and h.status = 'active' and h.mid_eligible is null
         and h.catalog_charger_id is not null
         for no key update of h skip locked);
    busy := array(
      select h.connection_id from unnest(waiting) c
        join core.chargers h on h.partner_id = c.partner_id and h.connection_id = c.id
       where h.user_id is not null and h.status = 'active' and h.mid_eligible is null
         and h.catalog_charger_id is not null and h.id <> all (array(select u.id from unnest(undecided) u)));
    -- what a charger charged elsewhere counts there from now on
    perform from core.connections c
      where (c.partner_id, c.id) in (select s.partner_id, s.connection_id from unnest(undecided) u
                                       join core.charging_sessions s on s.partner_id = u.partner_id
                                                                    and s.charger_id = u.id)
      order by c.id for no key update;
    due := array(
      select c from core.connections c
        join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
       where (c.partner_id, c.id) in (select w.partner_id, w.id from unnest(waiting) w) and c.id <> all (busy)
         and c.registration_status = 'ingediend' and c.status = 'active'
       -- a reset locks accounts first, and what is told of the review refers to the account
       order by c.submitted_at, c.id for key share of a skip locked for update of c skip locked);
    foreach connection in array due loop
      perform private.set_tenant(connection.partner_id);
      -- a person who chose "(MID variant)" has one: nobody asks for evidence here
      for charger in
        update core.chargers h set mid_eligible = true
          from unnest(undecided) u
         where u.connection_id = connection.id and h.partner_id = u.partner_id and h.id = u.id returning h.*
      loop
        perform private.audit('charger.mid_confirmed', charger.id),
            private.emit_charger('charger.mid_confirmed', charger);
      end loop;
      perform private.review_registration(connection,
        -- by the gates alone: whether months wait of who withdrew the mandate, for which a person may approve, depends
        -- on the day
        case when (private.gates_of(connection)).closed_for_approval = '{}' then 'goedgekeurd' else 'afgekeurd' end);
    end loop;
    perform private.set_tenant(null);
  end if;
  return coalesce(cardinality(due), 0);
end $$;
comment on function private.review_due_registrations() is
  'The sandbox''s reviewer, two minutes after a registration was submitted. It takes a person''s MID variant to have '
  'its meter, and approves if mandate, EAN and MID charger hold, else rejects. Definer: every tenant at once.';

-- The account of a customer that the partner brought, or that one of its CPO clients made; its row is locked. The
-- transaction then acts in the tenant that holds it.
create function private.enter_customer(named text, key text) returns uuid
language plpgsql
as $$
declare
  customer record;
begin
  select * into customer from private.own_customer(named, key);
  if customer.account_id is null then
    customer.account_id := private.as_uuid(named);
  else
    perform private.act_for_person(private.people_tenant(), customer.user_id);
  end if;
  perform from core.accounts a where a.partner_id = private.partner_id()
      and a.id = customer.account_id for no key update;
  perform private.refuse_if('customer_not_found', not found);
  return customer.account_id;
end $$;

create function api.review_customer(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  outcome    constant text := input ->> 'outcome';
  account    uuid;
  connection core.connections;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  account := private.enter_customer(input ->> 'id', input ->> 'key');
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active'
   order by c.registration_status = 'ingediend' desc, c.submitted_at desc nulls last, c.id limit 1 for update;
  perform private.refuse_if('nothing_to_review', connection.registration_status is distinct from 'ingediend',
                            json_build_object(
    'registration_status', connection.registration_status, 'closed_gates', (private.gates_of(connection)).closed));
  perform private.review_registration(connection, outcome);
  return json_build_object('ok', true, 'from', 'ingediend', 'to', outcome,
                           'closed_gates', (private.gates_of(connection)).closed);
end $$;
comment on function api.review_customer(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/review: {id, key, outcome} to {ok, from, to, closed_gates}. The outcome is the one '
  'asked for, whatever gates are closed, so that each can be rehearsed. A registration is decided once.';
