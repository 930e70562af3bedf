begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION ops.account_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account constant core.accounts := private.account_meant(input);
begin
  perform private.audit('account.shown', account.id);
  return json_build_object(
    'account', json_build_object(
      'account_id', account.id, 'partner_slug', (select p.slug from core.partners p where p.id = account.partner_id),
      'cpo_external_ref', account.cpo_external_ref, 'access_channel', account.access_channel, 'type', account.type,
      'display_name', account.display_name, 'company', account.company, 'payout_handler', account.payout_handler,
      'iban_last4', account.iban_last4, 'balance_eur', private.balance(account.partner_id, 'EUR', 'customer', account.id),
      'brought_by', (select p.slug from core.attributions t join core.partners p on p.id = t.partner_id where t.user_id = account.user_id),
      'created_at', private.iso(account.created_at)),
    'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email, 'phone', s.phone)
                    from core.signatories s where s.partner_id = account.partner_id and s.account_id = account.id),
    'connections', (select coalesce(json_agg(private.connection_row(c.partner_id, c.id) order by c.created_at, c.id), '[]')
                      from core.connections c where c.partner_id = account.partner_id and c.account_id = account.id),
    'mandates', (select coalesce(json_agg(json_build_object(
                          'connection_id', c.id, 'status', m.status, 'renewal', m.renewal, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
                          'covered_until', m.covered_until, 'fee_pct', m.fee_pct, 'signed_name', m.signed_name, 'signed_at', private.iso(m.signed_at),
                          'code_confirmed', m.code_confirmed, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason)
                          order by m.created_at, m.id), '[]')
                   from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                  where c.partner_id = account.partner_id and c.account_id = account.id),
    'chargers', (select coalesce(json_agg(private.charger_row(h) order by h.created_at, h.id), '[]')
                   from core.chargers h where h.partner_id = account.partner_id and h.account_id = account.id),
    'months', (select coalesce(json_agg(json_build_object('year', g.year, 'status', g.status, 'months', g.months, 'kwh', g.kwh) order by g.year, g.status), '[]')
                 from (select extract(year from d.period)::int as year, d.status, count(*) as months, sum(d.total_kwh) as kwh
                         from core.connections c join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
                        where c.partner_id = account.partner_id and c.account_id = account.id group by 1, 2) g),
    'sessions', (select coalesce(json_agg(json_build_object(
                          'charging_session_id', r.id, 'charger_id', r.charger_id, 'source', r.source, 'started_at', private.iso(r.started_at),
                          'ended_at', private.iso(r.ended_at), 'kwh', r.wh / 1000.0, 'meter_start_kwh', r.meter_start_wh / 1000.0,
                          'meter_end_kwh', r.meter_end_wh / 1000.0, 'flags', r.flags) order by r.started_at desc, r.id), '[]')
                   from (select s.*
                           from core.chargers h join core.charging_sessions s on s.partner_id = h.partner_id and s.charger_id = h.id
                          where h.partner_id = account.partner_id and h.account_id = account.id order by s.started_at desc, s.id limit 50) r),
    'told', (select coalesce(json_agg(json_build_object('kind', n.kind, 'created_at', private.iso(n.created_at), 'waits', n.due_at is not null) order by n.created_at, n.id), '[]')
               from core.notices n where n.partner_id = account.partner_id and n.account_id = account.id));
end $function$;

COMMENT ON FUNCTION "ops"."account_show"(jsonb) IS 'One account, by its id, cpo_external_ref, EAN or e-mail address: {account} to {account, signatory, connections, mandates, chargers, months, sessions, told}, months summed by year and status, the newest 50 sessions. Leaves an audit row.';

commit;
