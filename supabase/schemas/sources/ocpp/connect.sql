-- The OCPP gateway asks whether a charger may connect, and reports the chargers that it heard of.

create function api.admit_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  hash    constant bytea := decode(input ->> 'password_hash', 'hex');
  charger core.chargers := private.charger_by_credentials(input ->> 'identity', hash);
  link    core.ocpp_links;
begin
  perform private.act_as(caller, 'gateway');
  if charger.id is null then
    -- noted once a minute, so that attempts cost no writes
    perform private.note_refused_password(input ->> 'identity');
    return json_build_object('ok', false);
  end if;
  perform private.act_for_person(charger.partner_id, charger.owner_id);
  -- the charger is locked before its link, as everywhere; a password that is being renewed is judged as it is then
  update core.chargers h set last_seen_at = private.now()
   where h.partner_id = charger.partner_id and h.id = charger.id and h.status = 'active'
     and hash = case when input ->> 'identity' is null then h.ocpp_mirror_hash else h.ocpp_password_hash end;
  if not found then
    return json_build_object('ok', false);
  end if;
  insert into core.ocpp_links as l (partner_id, charger_id, owner_id, generation, connected_at, by_mirror)
  values (charger.partner_id, charger.id, charger.owner_id, 1, private.now(), input ->> 'identity' is null)
  on conflict on constraint ocpp_links_pkey do update set generation = l.generation + 1,
      connected_at = excluded.connected_at, by_mirror = excluded.by_mirror
  returning * into link;
  return json_build_object('ok', true, 'charger_id', charger.id, 'generation', link.generation,
                           'identified', charger.catalog_charger_id is not null or link.booted_at is not null);
end $$;
comment on function api.admit_charger(jsonb, jsonb) is
  'A charger connects: {identity, password_hash} to {ok, charger_id, generation, identified}. Without identity the '
  'hash is of the secret of a mirror''s address. Its older connections stay.';

create function private.note_seen(named jsonb) returns json
language plpgsql security definer
as $$
declare
  gone jsonb;
  here uuid[];
begin
  select coalesce(jsonb_agg(jsonb_build_object('charger_id', n.charger_id, 'generation', n.generation)), '[]')
    into gone
    from jsonb_to_recordset(named) as n (charger_id uuid, generation bigint, silent boolean)
   where not exists (
     select from core.chargers h join core.ocpp_links l on l.partner_id = h.partner_id and l.charger_id = h.id
      where h.partner_id = any (array(select p.id from core.partners p)) and h.id = n.charger_id and h.status = 'active'
          and n.generation between case when n.silent then l.generation else l.valid_from end and l.generation);
  here := array(
    select n.charger_id from jsonb_to_recordset(named) as n (charger_id uuid, generation bigint, silent boolean)
     where n.silent is not true
       and not gone @> jsonb_build_array(jsonb_build_object('charger_id', n.charger_id, 'generation', n.generation)));
  -- in order, so that two reports cannot wait for each other
  perform from core.chargers h
    where h.partner_id = any (array(select p.id from core.partners p)) and h.id = any (here)
    order by h.id for no key update;
  update core.chargers h set last_seen_at = private.now()
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = any (here);
  return gone::json;
end $$;
comment on function private.note_seen(jsonb) is
  'Notes that chargers were heard of now, but not of silent connections: [{charger_id, generation, silent?}]. Returns '
  'the connections that must close: of a charger that was removed or got a new password, and silent ones that are not '
  'its newest. Definer, because the gateway names chargers of any owner.';

create function api.note_seen_chargers(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'gateway');
  return json_build_object('gone', private.note_seen(input -> 'chargers'));
end $$;
comment on function api.note_seen_chargers(jsonb, jsonb) is
  'Chargers that were heard of in the last minute: {chargers: [{charger_id, generation, silent?}]} to {gone: '
  '[{charger_id, generation}]}, the connections that are to be closed.';

create function api.renew_ocpp_password(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  charger core.chargers;
begin
  perform private.act_as(caller, 'user', 'session');
  update core.chargers h set ocpp_password_hash = decode(input ->> 'password_hash', 'hex'),
         ocpp_mirror_hash = decode(input ->> 'mirror_hash', 'hex'), ocpp_refused_at = null
   where h.partner_id = private.people_tenant() and h.user_id = private.user_id()
       and h.id = private.as_uuid(input ->> 'charger_id')
     and h.status = 'active' and h.ocpp_identity is not null
  returning * into charger;
  if charger.id is null then
    perform private.refuse('charger_not_found');
  end if;
  update core.ocpp_links l set generation = l.generation + 1, valid_from = l.generation + 1, mirror = '{}'
   where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  perform private.audit('charger.password_renewed', charger.id);
  return json_build_object('identity', charger.ocpp_identity);
end $$;
comment on function api.renew_ocpp_password(jsonb, jsonb) is
  'POST /chargers/{id}/ocpp-credentials: {charger_id, password_hash, mirror_hash} to {identity}. The old '
  'password and address of a mirror end at once. An '
  'open connection ends with the gateway''s next report.';
