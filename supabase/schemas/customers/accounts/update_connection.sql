-- POST /v1/connections:update.

create function api.update_connection(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  ean_register constant jsonb := input -> 'ean_register';
  wanted_id  uuid;
  connection core.connections;
  current    jsonb;
  wanted     jsonb;
  ean        text;
  signed     boolean;
  lapses     boolean;
  checked    record;
  changed    boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  wanted_id := private.find_connection((input #>> '{criteria,connection_id}')::uuid,
                                       (input #>> '{criteria,account_id}')::uuid,
                                       input #>> '{criteria,cpo_external_ref}');
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = wanted_id and c.status = 'active' for update;
  perform private.refuse_if('connection_not_found', not found);  -- archived since it was looked up above
  select jsonb_build_object('ean_code', connection.ean_code, 'postal_code', l.postal_code,
                            'house_number', l.house_number,
                            'house_number_addition', l.house_number_addition, 'street', l.street, 'city', l.city)
    into current from core.locations l where l.partner_id = connection.partner_id and l.id = connection.location_id;
  wanted := current || (input -> 'connection');
  ean := wanted ->> 'ean_code';
  select m.mandate_status = 'signed' into signed
    from core.connection_mandates m where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  -- a change ends a signed mandate, and uncovers staged months that an ended mandate still covers
  lapses := signed or exists (
    select from core.delivered_months d
      join core.mandates m on m.partner_id = d.partner_id and m.connection_id = d.connection_id
          and m.covered_until is not null
     where d.partner_id = connection.partner_id and d.connection_id = connection.id and d.status = 'staged');

  if lower(wanted::text) is distinct from lower(current::text) then
    if not private.reserve_ean(ean, connection.id) then
      perform private.refuse('ean_in_use');
    elsif coalesce(jsonb_typeof(ean_register), 'null') = 'null' then
      return private.need('ean_register', wanted::json);
    end if;
    -- a street that was not sent belongs to the old address
    if (wanted - 'street' - 'city' - 'ean_code') <> (current - 'street' - 'city' - 'ean_code') then
      wanted := jsonb_build_object('street', null, 'city', null) || (wanted - 'street' - 'city')
                || jsonb_strip_nulls(jsonb_build_object('street', input #> '{connection,street}',
                                                        'city', input #> '{connection,city}'));
    end if;
    select * into checked
      from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
                             wanted ->> 'house_number_addition', ean_register);
    perform private.record_ean_check(connection.id, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    if checked.outcome = 'mismatch' then
      return private.refusal('ean_address_mismatch');
    elsif lapses and (input -> 'acknowledge_mandate_lapses') is distinct from 'true' then
      return private.refusal('mandate_acknowledgement_required');
    end if;

    wanted := wanted || jsonb_strip_nulls(jsonb_build_object(
      'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city)));
    -- the registration starts again
    update core.connections c
       set ean_code = ean,
           ean_exclusive = not private.is_test_ean(ean),
           location_id = private.location_for(wanted),
           ean_validation_status = case checked.outcome when 'matched' then 'matched' else 'unverified' end,
           ean_checked_at = private.now(),
           registration_status = 'concept',
           submitted_at = null
     where c.partner_id = connection.partner_id and c.id = connection.id;
    perform private.void_mandate_links(connection.id), private.drop_unused_location(connection.location_id);
    -- earlier signatures no longer cover its open months
    update core.mandates m set lapsed_at = private.now()
     where m.partner_id = connection.partner_id and m.connection_id = connection.id and m.covered_until is not null;
    perform private.judge_months(connection.id) where found;
    perform private.end_mandate(connection.id, 'revoked', 'connection_updated') where signed;
    perform private.audit('connection.updated', connection.id, jsonb_build_object('mandate_revoked', signed));
    changed := true;
  end if;
  return (
    select json_build_object(
      'ok', true,
      'changed', changed,
      'connection_id', c.id,
      'account_id', c.account_id,
      'ean_code', c.ean_code,
      'ean_validation_status', c.ean_validation_status,
      'registration_status', c.registration_status,
      'mandate_status', m.mandate_status,
      'mandate_revoked', changed and signed)
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
    where c.partner_id = connection.partner_id and c.id = connection.id);
end $$;
comment on function api.update_connection(jsonb, jsonb) is
  'POST /v1/connections:update: {criteria, connection, acknowledge_mandate_lapses, ean_register}. Asks for '
  'ean_register if it needs the answer and has none. Order: found, ambiguous, no-op, ean_in_use, ean_address_mismatch, '
  'acknowledgement, write.';
