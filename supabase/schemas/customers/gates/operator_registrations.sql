-- The operator on registrations: list, review.

create function ops.registration_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('connections', coalesce(
           json_agg(private.connection_row(c.partner_id, c.id) order by c.submitted_at, c.id), '[]'))
    from (select * from core.connections c
           where c.registration_status = 'ingediend' and c.status = 'active'
           order by c.submitted_at, c.id limit coalesce((input ->> 'limit')::int, 50)) c
$$;
comment on function ops.registration_list(jsonb) is
  'Registrations that wait for review, oldest first: {limit?} to {connections}.';

create function ops.registration_review(input jsonb) returns json
language plpgsql security definer
as $$
declare
  connection core.connections;
  verdict    constant text := input ->> 'verdict';
  closed     text[];
begin
  perform private.refuse_if('invalid_verdict', verdict is null or verdict not in ('goedgekeurd', 'afgekeurd'));
  connection := private.active_connection_named(input);
  if connection.registration_status = verdict then
    return private.connection_answer(connection, false);
  elsif connection.registration_status <> 'ingediend' then
    perform private.refuse('registration_not_submitted',
                           json_build_object('registration_status', connection.registration_status));
  end if;
  closed := private.grounds_to_reject(connection);
  perform private.refuse_if('gates_closed', verdict = 'goedgekeurd' and cardinality(closed) > 0,
                            json_build_object('gates', closed));
  perform private.review_registration(connection, verdict);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.registration_review(jsonb) is
  'Judges a submitted registration: {connection, verdict: goedgekeurd|afgekeurd} to {changed, connection}. goedgekeurd '
  'needs mandate, EAN and MID charger.';
