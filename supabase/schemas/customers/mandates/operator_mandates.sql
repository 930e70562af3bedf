-- The operator on mandates: revoke.

create function ops.mandate_revoke(input jsonb) returns json
language plpgsql security definer
as $$
declare
  status     text;
  signed_at  timestamptz;
  connection constant core.connections := private.connection_named(input);
begin
  select m.mandate_status, m.signed_at into status, signed_at from core.connection_mandates m
   where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  -- what was signed since stands
  if status = 'revoked' or status = 'signed' and signed_at > (input ->> 'signed_before')::timestamptz then
    return private.connection_answer(connection, false);
  elsif status <> 'signed' then
    perform private.refuse('mandate_not_signed', json_build_object('mandate_status', status));
  end if;
  perform private.end_mandate(connection.id, 'revoked',
                              case when (input ->> 'asked_by_customer')::boolean then 'customer' else 'operator' end);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.mandate_revoke(jsonb) is
  'Revokes the signed mandate of a connection, and one for the years after it: {connection, asked_by_customer?, '
  'signed_before?} to {changed, connection}. Open months are judged again. If the customer asked, the whole '
  'months before stay covered. '
  'Locked months and the registration stay.';
