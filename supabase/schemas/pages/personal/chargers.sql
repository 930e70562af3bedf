-- GET and POST /chargers, and /profile.

create function api.get_profile(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'user');
  return (select json_build_object('email', p.email, 'name', p.name) from private.user_profile(private.user_id()) p);
end $$;
comment on function api.get_profile(jsonb) is 'GET /profile: {email, name}.';

-- The chargers of this transaction's person, oldest first, each with its running session. The card is for their own
-- eyes: an application does not see it.
create function private.own_chargers() returns json
language sql stable
as $$
  select coalesce(json_agg(jsonb_strip_nulls(jsonb_build_object(
           'id', h.id,
           'nickname', private.charger_name(h),
           'connection_type', h.connection_type,
           -- the gateway tells every minute who is connected
           'status', case when h.last_seen_at > private.now() - interval '3 minutes' then 'online' else 'offline' end,
           'mid_certified', h.mid_eligible is true,
           'is_charging', coalesce(s.status = 'charging', false),
           'current_session', case when s.id is not null then jsonb_build_object(
             'id', s.id, 'started_at', private.iso(s.started_at), 'kwh_so_far', round(s.wh / 1000.0, 2),
             'id_tag', case when private.client_id() is null then t.id_tag end) end,
           'ocpp_identity', h.ocpp_identity,
           'last_seen_at', private.iso(h.last_seen_at),
           'password_refused_at',
               -- anybody can name an identity: while the charger is heard of, or its mirror, the attempt was not its
               case when h.ocpp_refused_at > coalesce(h.last_seen_at + interval '3 minutes', '-infinity')
                         and l.by_mirror is not true then private.iso(h.ocpp_refused_at) end,
           'latest_meter_wh', h.latest_meter_wh,
           'meter_updated_at', private.iso(h.meter_updated_at)))
           || jsonb_build_object('mid_eligible', h.mid_eligible) order by h.created_at, h.id), '[]')
    from core.chargers h
    left join core.ocpp_links l on l.partner_id = h.partner_id and l.charger_id = h.id
    left join lateral (
      select * from core.charging_sessions s
       where s.partner_id = h.partner_id and s.charger_id = h.id and s.ended_at is null
         -- one car at a time: a later one took its place
         and not exists (select from core.charging_sessions n
                          where n.partner_id = s.partner_id and n.charger_id = s.charger_id
                            and n.connector = s.connector and n.started_at > s.started_at)
       order by s.started_at desc, s.id limit 1) s on true
    left join lateral (
      select t.id_tag from core.ocpp_transactions t
       where t.partner_id = h.partner_id and t.charger_id = h.id and t.ended_at is null
         and s.source = 'ocpp' and s.external_id = coalesce(t.source_id, '1.6:' || t.id) limit 1) t on true
   where h.user_id = private.user_id() and h.status = 'active'
$$;

create function api.list_own_chargers(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'user');
  return json_build_object('chargers', private.own_chargers());
end $$;
comment on function api.list_own_chargers(jsonb) is
  'GET /chargers: {chargers}, oldest first, each with its running session.';

-- Whether a charger counts nothing until its owner tells its serial number: it told its model, and no number.
create function private.wants_serial_number(charger core.chargers) returns boolean
language sql immutable
return coalesce(charger.counts_from = 'infinity' and num_nonnulls(charger.serial_number, charger.booted_as) = 0
                and charger.catalog_charger_id is not null, false);

create function api.read_own_chargers(caller jsonb) returns json
language plpgsql stable security definer
as $$
declare
  unknown uuid[];
begin
  perform private.act_as(caller, 'session');
  unknown := array(select h.id from core.chargers h
                    where h.user_id = private.user_id() and h.status = 'active' and h.catalog_charger_id is null
                      and h.ocpp_identity is not null and h.last_seen_at is not null);
  return json_build_object('email', (private.user_profile(private.user_id())).email, 'accounts', private.own_accounts(),
                           'chargers', private.own_chargers(),
    'delivered', (select coalesce(json_object_agg(h.id, json_build_object('at', private.iso(s.at), 'source',
                                                                          s.source)), '{}')
                    from core.chargers h
                    join lateral (select coalesce(s.ended_at, s.started_at) as at, s.source
                                    from core.charging_sessions s
                                   where s.partner_id = h.partner_id and s.charger_id = h.id and s.wh > 0
                                   order by s.started_at desc, s.id limit 1) s on true
                   where h.user_id = private.user_id() and h.status = 'active'),
    'mid_unknown', (select coalesce(json_agg(h.id), '[]') from core.chargers h where h.user_id = private.user_id()
                    and h.status = 'active' and h.mid_eligible is null),
    'model_unknown', unknown,
    'serial_unknown', (select coalesce(json_agg(h.id), '[]') from core.chargers h where h.user_id = private.user_id()
                       and h.status = 'active' and private.wants_serial_number(h)),
    'elsewhere', (select coalesce(json_agg(json_build_object(
                           'id', h.id, 'since', private.iso(nullif(h.counts_before, '-infinity')),
                           -- only of the person themself: never tell whose
                           'own', (select min(private.charger_name(o)) from private.registrations_of(h) o
                                    where o.user_id = h.user_id
                                      and (o.status = 'active') = (h.counts_from = 'infinity')),
                           'until', private.iso(nullif(h.counts_from, 'infinity')))), '[]')
                    from core.chargers h where h.user_id = private.user_id() and h.status = 'active'
                     and (h.counts_from < 'infinity' or h.counts_from = 'infinity' and h.booted_as is not null
                                                     and h.brand is not null)),
    'mirrors', (select coalesce(json_agg(l.charger_id), '[]')
                  from core.ocpp_links l join core.chargers h on h.partner_id = l.partner_id and h.id = l.charger_id
                 where h.user_id = private.user_id() and h.status = 'active' and l.by_mirror),
    'mixed', (select coalesce(json_agg(json_build_object('id', h.id, 'serial_number', l.mirror ->> 'serial',
                                                         'at', private.iso((l.mirror ->> 'at')::timestamptz))), '[]')
                from core.ocpp_links l join core.chargers h on h.partner_id = l.partner_id and h.id = l.charger_id
               where h.user_id = private.user_id() and h.status = 'active' and l.mirror ? 'serial'),
    'unplaced', (select coalesce(json_agg(json_build_object('id', h.id, 'at', private.iso((w ->> 'at')::timestamptz),
                                                            'meter_wh', (w ->> 'meter_wh')::bigint)), '[]')
                   from core.ocpp_links l join core.chargers h on h.partner_id = l.partner_id and h.id = l.charger_id
                  -- the last of them
                  cross join lateral (select l.waiting -> -1) e (w)
                  where h.user_id = private.user_id() and h.status = 'active'
                    and (w ->> 'at')::timestamptz > private.now() - interval '31 days'),
    'models', (select coalesce(json_agg(json_build_object('id', m.id, 'name', m.brand || ' ' || m.model)
                                        order by lower(m.brand || ' ' || m.model) collate "C"), '[]')
                 from core.charger_models m
                where unknown <> '{}' and (m.mid_meter is not null or m.listed)));
end $$;
comment on function api.read_own_chargers(jsonb) is
  'A person''s chargers, as their own pages show them: {email, accounts, chargers, delivered, mid_unknown, '
  'model_unknown, serial_unknown, elsewhere, mirrors, mixed, unplaced, models}. delivered: for each charger when its '
  'last kWh came, and from which source. mid_unknown: ids of chargers whose meter nobody judged yet. model_unknown: '
  'ids of chargers that connected and did not tell their model. serial_unknown: ids of chargers that count once they '
  'have a serial number. elsewhere: [{id, since, until, own}] of chargers whose serial number another registration '
  'has, or had; own is its name, if it is the person''s too. mirrors: ids of chargers whose last connection was a '
  'mirror''s. mixed: [{id, serial_number, at}] of chargers whose mirror''s address another charger uses. unplaced: '
  '[{id, at, meter_wh}], the last stop of 31 days that fits no charge. models: [{id, name}] to choose from.';

create function api.choose_own_model(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  serial  constant text := input ->> 'serial_number';
  charger core.chargers;
  model   core.charger_models;
  former  tstzrange;
  is_new  boolean;
begin
  perform private.act_as(caller, 'session');
  select * into charger from core.chargers h
   where h.partner_id = private.people_tenant() and h.user_id = private.user_id()
     and h.id = private.as_uuid(input ->> 'charger_id') and h.status = 'active' and h.ocpp_identity is not null
     for no key update;
  select * into model from core.charger_models m
   where m.id = coalesce(private.as_uuid(input ->> 'catalog_charger_id'), charger.catalog_charger_id)
     and (m.id = charger.catalog_charger_id or m.mid_meter is not null or m.listed);
  -- by two clicks, or once more after Back
  if charger.catalog_charger_id = model.id and charger.serial_number = serial then
    return json_build_object('chosen', true);
  end if;
  perform private.refuse_if('charger_not_found', charger.id is null or model.id is null
    or charger.catalog_charger_id is not null and not private.wants_serial_number(charger));
  perform private.refuse_if('charger_claimed', not private.reserve_serial_number(model.brand, serial));
  is_new := charger.catalog_charger_id is null;
  charger.brand := model.brand;
  charger.serial_number := serial;
  former := private.succeed_charger(charger);
  update core.chargers h
     set catalog_charger_id = model.id, brand = model.brand, serial_number = serial,
         mid_eligible = case when is_new then model.mid_meter else h.mid_eligible end,
         counts_from = upper(former), counts_before = lower(former)
   where h.partner_id = charger.partner_id and h.id = charger.id
  returning * into charger;
  perform private.take_boot_serial(charger, charger.booted_as);
  perform private.audit('charger.identified', charger.id);
  perform private.emit_charger('charger.mid_confirmed', charger) where is_new and charger.mid_eligible is not null;
  perform private.advance_registration(charger.account_id, true);
  return json_build_object('chosen', true);
end $$;
comment on function api.choose_own_model(jsonb, jsonb) is
  'A person says what a charger is that did not tell: {charger_id, catalog_charger_id, serial_number} to {chosen}. The '
  'serial number is needed, so that nobody counts a charger twice. The model is not, where the charger told it.';

create function api.remove_own_charger(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  removed uuid;
begin
  perform private.act_as(caller, 'session');
  update core.chargers h set status = 'removed', removed_at = private.now()
   where h.partner_id = private.partner_id() and h.user_id = private.user_id() and h.id = (request ->> 'id')::uuid
       and h.status = 'active'
  returning h.id into removed;
  perform private.audit('charger.removed', removed) where removed is not null;
  return json_build_object('removed', removed is not null);
end $$;
comment on function api.remove_own_charger(jsonb, jsonb) is
  'A person removes a charger: {id} to {removed}. What it charged stays and counts; it can no longer connect. A second '
  'time changes nothing.';

create function api.register_own_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  account    uuid;
  connection uuid;
  charger    core.chargers;
  active     int;
begin
  perform private.act_as(caller, 'user', 'session');
  perform private.lock_chargers(null, private.user_id());
  -- others may have a charger of this identity: their passwords differ
  select * into charger from core.chargers h
   where h.user_id = private.user_id() and h.ocpp_identity = input ->> 'ocpp_identity' and h.status = 'active';
  if charger.ocpp_password_hash = decode(input ->> 'password_hash', 'hex') then
    return json_build_object('id', charger.id);
  end if;
  perform private.refuse_if('ocpp_identity_taken', charger.id is not null,
    json_build_object('ocpp_identity', input ->> 'ocpp_identity'));
  active := private.require_charger_room(null, private.user_id());
  select a.id, c.id into account, connection
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where a.user_id = private.user_id()
   order by c.created_at, c.id limit 1;
  insert into core.chargers
    (partner_id, account_id, connection_id, user_id, nickname, connection_type, ocpp_identity, ocpp_password_hash,
     ocpp_mirror_hash, counts_from)
  values (private.partner_id(), account, connection, private.user_id(), input ->> 'nickname', 'ocpp',
          input ->> 'ocpp_identity', decode(input ->> 'password_hash', 'hex'), decode(input ->> 'mirror_hash', 'hex'),
          -- it may be the first one again, until its serial number is known
          case when active > 0 then timestamptz 'infinity' end)
  returning * into charger;
  perform private.audit('charger.registered', charger.id), private.emit_charger('charger.registered', charger);
  return json_build_object('id', charger.id);
end $$;
comment on function api.register_own_charger(jsonb, jsonb) is
  'POST /chargers: {nickname, ocpp_identity, password_hash, mirror_hash} to {id}. Bound to the person''s first active '
  'connection, if there is one. A second charger of a person counts once it has a serial number. The same identity and '
  'password again are the same charger.';
