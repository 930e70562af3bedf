-- The operator on mandates: revoke.

create function ops.mandate_revoke(input jsonb) returns json
language plpgsql security definer
as $$
declare
  status     text;
  connection constant core.connections := private.connection_named(input);
begin
  select m.mandate_status into status from core.connection_mandates m
   where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  if status = 'revoked' then
    return private.connection_answer(connection, false);
  elsif status <> 'signed' then
    perform private.refuse('mandate_not_signed', json_build_object('mandate_status', status));
  end if;
  perform private.end_mandate(connection.id, 'revoked',
                              case when (input ->> 'asked_by_customer')::boolean then 'customer' else 'operator' end);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.mandate_revoke(jsonb) is
  'Revokes the signed mandate of a connection, and one for the years after it: {connection, asked_by_customer?} to '
  '{changed, connection}. Open months are judged again. If the customer asked, the whole months before stay covered. '
  'Locked months and the registration stay.';
