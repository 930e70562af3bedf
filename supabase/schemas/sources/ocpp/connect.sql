-- The OCPP gateway asks whether a charger may connect, and reports the chargers that it heard of.

create function api.admit_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  charger core.chargers := private.charger_by_identity(input ->> 'identity');
  link    core.ocpp_links;
begin
  perform private.act_as(caller, 'gateway');
  perform private.act_for_person(charger.partner_id, charger.owner_id);
  -- the charger is locked before its link, as everywhere; a password that is being renewed is judged as it is then
  update core.chargers h set last_seen_at = private.now()
   where h.partner_id = charger.partner_id and h.id = charger.id and h.status = 'active'
     and h.ocpp_password_hash = decode(input ->> 'password_hash', 'hex');
  if not found then
    -- noted once a minute, so that attempts cost no writes
    update core.chargers h set ocpp_refused_at = private.now()
     where h.partner_id = charger.partner_id and h.id = charger.id
         and h.ocpp_password_hash <> decode(input ->> 'password_hash', 'hex')
       and coalesce(h.ocpp_refused_at, '-infinity') < private.now() - interval '1 minute';
    return json_build_object('ok', false);
  end if;
  insert into core.ocpp_links as l (partner_id, charger_id, owner_id, generation, connected_at)
  values (charger.partner_id, charger.id, charger.owner_id, 1, private.now())
  on conflict on constraint ocpp_links_pkey do update set generation = l.generation + 1,
      connected_at = excluded.connected_at
  returning * into link;
  return json_build_object('ok', true, 'charger_id', charger.id, 'generation', link.generation);
end $$;
comment on function api.admit_charger(jsonb, jsonb) is
  'A charger connects: {identity, password_hash} to {ok, charger_id, generation}. Its older connections may tell '
  'nothing from then on.';

create function private.note_seen(chargers uuid[], generations bigint[], silent uuid[]) returns uuid[]
language plpgsql security definer
as $$
declare
  gone uuid[];
begin
  select array_agg(n.charger_id) into gone
    from unnest(chargers, generations) n (charger_id, generation)
   where not exists (
     select from core.chargers h join core.ocpp_links l on l.partner_id = h.partner_id and l.charger_id = h.id
      where h.partner_id = any (array(select p.id from core.partners p)) and h.id = n.charger_id and h.status = 'active'
          and l.generation = n.generation);
  chargers := array(select c from unnest(chargers) c where c <> all (silent));
  -- in order, so that two reports cannot wait for each other
  perform from core.chargers h
    where h.partner_id = any (array(select p.id from core.partners p)) and h.id = any (chargers)
        and h.id <> all (coalesce(gone, '{}'))
    order by h.id for no key update;
  update core.chargers h set last_seen_at = private.now()
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = any (chargers)
       and h.id <> all (coalesce(gone, '{}'));
  return coalesce(gone, '{}');
end $$;
comment on function private.note_seen(uuid[], bigint[], uuid[]) is
  'Notes that chargers were heard of now, but not of silent ones. Returns the chargers whose connections must close: '
  'removed, given a new password, or connected elsewhere. Definer, because the gateway names chargers of any owner.';

create function api.note_seen_chargers(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'gateway');
  return json_build_object('gone', private.note_seen(
    array(select (c ->> 'charger_id')::uuid from jsonb_array_elements(input -> 'chargers') with ordinality c (c, place)
          order by place),
    array(select (c ->> 'generation')::bigint from jsonb_array_elements(input -> 'chargers') with ordinality c (c,
        place) order by place),
    array(select (c ->> 'charger_id')::uuid from jsonb_array_elements(input -> 'chargers') c
           where (c ->> 'silent')::boolean)));
end $$;
comment on function api.note_seen_chargers(jsonb, jsonb) is
  'Chargers that were heard of in the last minute: {chargers: [{charger_id, generation, silent?}]} to {gone: '
  '[charger_id]}, whose connections are to be closed.';

create function api.renew_ocpp_password(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  charger core.chargers;
begin
  perform private.act_as(caller, 'user', 'session');
  update core.chargers h set ocpp_password_hash = decode(input ->> 'password_hash', 'hex'), ocpp_refused_at = null
   where h.partner_id = private.people_tenant() and h.user_id = private.user_id()
       and h.id = private.as_uuid(input ->> 'charger_id')
     and h.status = 'active' and h.ocpp_identity is not null
  returning * into charger;
  if charger.id is null then
    perform private.refuse('charger_not_found');
  end if;
  update core.ocpp_links l set generation = l.generation + 1 where l.partner_id = charger.partner_id
      and l.charger_id = charger.id;
  perform private.audit('charger.password_renewed', charger.id);
  return json_build_object('identity', charger.ocpp_identity);
end $$;
comment on function api.renew_ocpp_password(jsonb, jsonb) is
  'POST /chargers/{id}/ocpp-credentials: {charger_id, password_hash} to {identity}. The old password ends at once. An '
  'open connection ends with the gateway''s next report.';
