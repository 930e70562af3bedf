begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.read_own_chargers (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'session');
  return json_build_object('email', (private.user_profile(private.user_id())).email, 'accounts', private.own_accounts(), 'chargers', private.own_chargers(),
    'mid_unknown', (select coalesce(json_agg(h.id), '[]') from core.chargers h where h.user_id = private.user_id() and h.status = 'active' and h.mid_eligible is null));
end $function$;

CREATE OR REPLACE FUNCTION api.read_own_earnings (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year constant int := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(),
    'year', year,
    'years', private.own_years(),
    'position', private.own_ere_position(year),
    'quarters', private.own_earned(make_date(year, 1, 1), make_date(year + 1, 1, 1)),
    'left_out', private.own_left_out(year),
    'idle_chargers', private.own_idle_chargers(year),
    'accounts', private.own_accounts(),
    'payouts', private.own_payouts(year),
    'overviews', private.own_overviews(),
    -- the page of 0.9.0 says what the service keeps, or that it is not known
    'prices', '{"fee_pct": null}'::json);
end $function$;

CREATE OR REPLACE FUNCTION api.read_own_start (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year constant int := extract(year from private.today());
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(), 'year', year,
    'name', private.own_name(),
    'charged_kwh', (select coalesce(sum(m.kwh), 0) from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
    'quarters', private.own_earned('-infinity', 'infinity'),
    'paid', private.own_paid(year),
    'offer', (select private.offer(a.partner_id, a.payout_handler) from private.own_account_rows() a limit 1),
    'progress', private.own_progress(),
    'idle_chargers', private.own_idle_chargers(year),
    'left_out', private.own_left_out(year),
    'accounts', private.own_accounts());
end $function$;

CREATE OR REPLACE FUNCTION private.own_earned (
  since date,
  until date
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object('quarter', q.quarter, 'kwh', q.kwh, 'ere', q.ere, 'sold_ere', q.sold_ere,
                                             'net_eur', q.net, 'unpaid_eur', q.unpaid, 'unsold', q.unsold) order by q.quarter), '[]')
    from private.own_quarters(since, until) q
$function$;

COMMENT ON FUNCTION "api"."read_own_chargers"(jsonb) IS 'A person''s chargers, as their own pages show them: {email, accounts, chargers, mid_unknown}. mid_unknown has the ids of chargers nobody judged yet.';

COMMENT ON FUNCTION "api"."read_own_earnings"(jsonb, jsonb) IS 'What a person''s charging yields in a year, and what they were paid: {year} to {email, year, years, position, quarters, left_out, idle_chargers, accounts, payouts, overviews}.';

COMMENT ON FUNCTION "api"."read_own_start"(jsonb) IS 'What a person sees first: {email, name, year, charged_kwh, quarters, paid, offer, progress, idle_chargers, left_out, accounts}. quarters has every one in which something counts. offer is that of one of the accounts.';

REVOKE ALL ON FUNCTION "private"."own_earned"(date, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_earned"(date, date) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_earned"(date, date) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_earned"(date, date) TO "postgres";

commit;
