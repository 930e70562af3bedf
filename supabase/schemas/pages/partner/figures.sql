-- GET /partner/payouts.

create function api.list_payouts(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('payouts', private.partner_payouts(private.partner_id()));
end $$;
comment on function api.list_payouts(jsonb) is
  'GET /partner/payouts: {payouts}, newest quarter first. Empty until something is sold.';
