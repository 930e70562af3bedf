begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.change_signed_iban (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account core.accounts;
  used    record;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  if account.payout_handler <> 'service_pays_customer' or account.partner_id <> (request ->> 'partner_id')::uuid then
    perform private.refuse('account_not_found');
  end if;
  select * into used from private.redeem_sign_in_code(request, 'account');
  if used.refused is not null then
    return private.refusal(used.refused);  -- a wrong code was counted
  elsif used.email is distinct from private.signatory() then
    perform private.refuse('account_not_found');
  elsif used.again then
    -- a second click: the number is there; another one takes a code of its own
    return case when account.iban_last4 is distinct from request #>> '{iban,last4}' then private.refusal('code_expired')
                else json_build_object('ok', true) end;
  end if;
  perform private.store_iban(account.id, request -> 'iban');
  perform private.notify(account.id, 'payout_iban_changed', 'payout_iban_changed:' || account.id || ':' || gen_random_uuid(),
                         jsonb_build_object('iban_last4', request #>> '{iban,last4}', 'by', 'signatory',
                                            'held_until', private.iso(private.now() + interval '48 hours')));
  return json_build_object('ok', true);
end $function$;

COMMENT ON COLUMN "core"."notices"."details" IS 'registration_rejected {grounds}; mandate_ending {valid_until, reminder}; mandate_ended {valid_until}; mandate_withdrawn {by, covered_until}; payout_sent {amount_eur, iban_last4, from, until}, the days on which it is expected; payout_paid, payout_failed {amount_eur, iban_last4}; payout_iban_changed {iban_last4, by, held_until}, without the number if told at the end of the day.';

commit;
