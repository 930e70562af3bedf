-- GET /v1/chargers, POST /v1/chargers:update and :remove: the chargers of a CPO client and what it calls them.

-- A charger as its client reads it, with the names as they are compared.
create function private.client_charger(charger core.chargers) returns json
language sql stable
as $$
  select json_build_object(
    'charger_id', charger.id,
    'account_id', charger.account_id,
    'connection_id', charger.connection_id,
    'external_ref', (select n.value from core.charger_names n
                      where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.kind = 'external_ref'
                          and n.until is null),
    'serial_number', charger.serial_number,
    'catalog', (select private.catalog_charger(m) from core.charger_models m where m.id = charger.catalog_charger_id),
    'mid_eligible', charger.mid_eligible,
    'power_kw', charger.power_kw,
    'evses', (select coalesce(json_agg(e.evse order by e.evse_no, e.party), '[]')
                from (select n.evse_no, n.party, json_strip_nulls(json_build_object(
                               'evse_no', n.evse_no, 'party', nullif(n.party, ''), 'evse_uid',
                                   min(n.value) filter (where n.kind = 'evse_uid'),
                               'evse_id', min(n.value) filter (where n.kind = 'evse_id'), 'meter_id',
                                   min(n.value) filter (where n.kind = 'meter_id'))) as evse
                        from core.charger_names n
                       where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.evse_no is not null
                           and n.until is null
                       group by n.evse_no, n.party) e),
    'status', charger.status,
    'created_at', private.iso(charger.created_at),
    'counts_from', private.iso(charger.counts_from),
    'removed_at', private.iso(charger.removed_at))
$$;

create function api.list_chargers(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  page_limit  constant int    := (query ->> 'limit')::int;
  page_offset constant bigint := (query ->> 'offset')::bigint;
  account     constant uuid   := (query ->> 'account_id')::uuid;
  reference   constant text   := private.charger_name_value('external_ref', query ->> 'external_ref');
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as (
      select h.* from core.chargers h
       where h.partner_id = private.partner_id() and h.owner_id = private.client_id()
         and (account is null or h.account_id = account)
         and (reference is null or exists (
                select from core.charger_names n
                 where n.partner_id = h.partner_id and n.owner_id = h.owner_id and n.kind = 'external_ref'
                     and n.value = reference and n.charger_id = h.id))
       order by h.created_at desc, h.id desc
       limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by created_at desc, id desc limit page_limit
    )
    select json_build_object(
      'chargers', coalesce(json_agg(private.client_charger(s::core.chargers) order by s.created_at desc, s.id desc),
                           '[]'),
      'limit', page_limit, 'offset', page_offset, 'count', count(*), 'has_more',
          (select count(*) from page) > page_limit)
      from shown s);
end $$;
comment on function api.list_chargers(jsonb, jsonb) is
  'GET /v1/chargers: {limit, offset, account_id, external_ref} to a page of the client''s chargers, newest first, '
  'removed ones too.';

-- The client's charger by {charger_id} or else {external_ref}, locked. Refuses with charger_not_found.
create function private.standing_charger(input jsonb) returns core.chargers
language plpgsql
as $$
declare
  charger core.chargers;
begin
  select h.* into charger from core.chargers h
   where h.partner_id = private.partner_id() and h.owner_id = private.client_id() and h.user_id is null
     and case when input ->> 'charger_id' is not null then h.id = (input ->> 'charger_id')::uuid
              else h.id = (select n.charger_id from core.charger_names n
                            where n.partner_id = private.partner_id() and n.owner_id = private.client_id()
                                and n.kind = 'external_ref'
                              and n.value = private.charger_name_value('external_ref', input ->> 'external_ref')
                                  and n.until is null and n.party = '') end
     for no key update;
  if not found then
    perform private.refuse('charger_not_found');
  end if;
  return charger;
end $$;

create function api.update_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  moment  constant timestamptz := coalesce((input ->> 'from')::timestamptz, private.now());
  charger core.chargers;
  names   text[];
begin
  perform private.act_as(caller, 'cpo');
  perform private.refuse_if('invalid_request', moment > private.now(), json_build_object(
    'detail', 'from: must not be in the future',
    'issues', json_build_array(json_build_object('path', 'from', 'message', 'must not be in the future'))));
  -- before the charger: parked sessions are looked for in the end, which holds the names
  if input ?| '{external_ref,evses}' then
    perform private.hold_names_alone(private.client_id());
  else
    perform private.hold_names(private.client_id());
  end if;
  charger := private.standing_charger(input);
  if charger.status = 'removed' then
    perform private.refuse('charger_not_found');
  elsif input ? 'power_kw' then
    update core.chargers h set power_kw = (input ->> 'power_kw')::numeric
     where h.partner_id = charger.partner_id and h.id = charger.id returning * into charger;
  end if;
  -- by its reference the charger is found; only beside its id does the reference change
  names := private.name_charger(charger, case when input ->> 'charger_id' is null then input - 'external_ref'
                                              else input end, moment);
  perform private.audit('charger.named', charger.id);
  return json_build_object('ok', true, 'sessions_stored', private.store_parked(charger.owner_id, names),
                           'charger', private.client_charger(charger));
end $$;
comment on function api.update_charger(jsonb, jsonb) is
  'POST /v1/chargers:update: {charger_id | external_ref, external_ref?, power_kw?, evses?, from?} to {ok, '
  'sessions_stored, charger}. What is left out stays; null and [] clear. from: since when the names hold.';

create function api.remove_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  charger core.chargers;
  changed boolean;
begin
  perform private.act_as(caller, 'cpo');
  charger := private.standing_charger(input);
  changed := charger.status = 'active';
  if changed then
    update core.chargers h set status = 'removed', removed_at = private.now()
     where h.partner_id = charger.partner_id and h.id = charger.id returning * into charger;
    perform private.end_charger_names(array[charger.id]), private.audit('charger.removed', charger.id);
  end if;
  return json_build_object('ok', true, 'changed', changed, 'charger_id', charger.id,
                           'removed_at', private.iso(charger.removed_at));
end $$;
comment on function api.remove_charger(jsonb, jsonb) is
  'POST /v1/chargers:remove: {charger_id | external_ref} to {ok, changed, charger_id, removed_at}. What it charged '
  'stays and counts. Its names and serial number are free for another.';
