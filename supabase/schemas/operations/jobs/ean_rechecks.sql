-- The weekly re-check of unverified connections.

create function private.due_ean_checks(size int) returns json
language sql security definer
as $$
  -- claimed for an hour by moving the last check; the result moves it again
  with claimed as (
    update core.connections c
       set ean_checked_at = private.now() - interval '7 days' + interval '1 hour'
     where (c.partner_id, c.id) in (
       select u.partner_id, u.id
         from core.connections u
         join core.mandates m on m.partner_id = u.partner_id and m.connection_id = u.id and m.status = 'signed'
        where u.status = 'active' and u.ean_validation_status = 'unverified'
            and u.ean_checked_at <= private.now() - interval '7 days'
        order by u.ean_checked_at limit size for update of u skip locked)
    returning c.*)
  select coalesce(json_agg(json_build_object(
           'partner_id', c.partner_id, 'connection_id', c.id, 'ean_code', c.ean_code, 'postal_code', l.postal_code,
           'house_number', l.house_number, 'house_number_addition', l.house_number_addition)), '[]')
    from claimed c join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
$$;
comment on function private.due_ean_checks(int) is
  'Signed connections whose EAN has been unverified for a week. Definer: every tenant at once.';

create function api.due_ean_checks(caller jsonb, batch jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.due_ean_checks((batch ->> 'size')::int); $$;
comment on function api.due_ean_checks(jsonb, jsonb) is
  'The next connections to re-check: {size} to [{partner_id, connection_id, ean_code, postal_code, house_number, '
  'house_number_addition}].';
grant execute on function api.due_ean_checks(jsonb, jsonb) to edge_slow;

create function api.record_ean_recheck(caller jsonb, due jsonb, ean_register jsonb) returns json
language plpgsql security definer
as $$
declare
  connection core.connections;
  checked    record;
  result     text;
begin
  perform private.act_as(caller, 'worker'), private.set_tenant((due ->> 'partner_id')::uuid);
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (due ->> 'connection_id')::uuid for update;
  -- corrected, archived or settled by an operator meanwhile: that result stands
  if connection.ean_code is distinct from due ->> 'ean_code' or connection.ean_validation_status <> 'unverified' then
    return json_build_object('ean_validation_status', connection.ean_validation_status);
  end if;
  select * into checked
    from private.check_ean(connection.ean_code, due ->> 'postal_code', (due ->> 'house_number')::int,
                           due ->> 'house_number_addition', ean_register);
  result := case checked.outcome when 'matched' then 'matched' when 'mismatch' then 'mismatch'
                                 when 'unknown_address' then 'not_found' else 'unverified' end;
  update core.connections c set ean_validation_status = result, ean_checked_at = private.now()
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.record_ean_check(connection.id, connection.ean_code, due ->> 'postal_code',
                                   (due ->> 'house_number')::int,
    due ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
  if result <> 'unverified' then
    perform private.emit('ean.status_changed', connection.account_id, connection.id,
                         jsonb_build_object('connection_id', connection.id, 'ean_validation_status', result));
  end if;
  perform private.advance_registration(connection.account_id, result = 'matched');
  perform private.audit('connection.rechecked', connection.id, jsonb_build_object('ean_validation_status', result));
  return json_build_object('ean_validation_status', result);
end $$;
comment on function api.record_ean_recheck(jsonb, jsonb, jsonb) is
  'The EAN register''s answer for a due connection: matched, mismatch, not_found, or unverified for another week.';
grant execute on function api.record_ean_recheck(jsonb, jsonb, jsonb) to edge_slow;
