-- The personal API: a person's own chargers, sessions, energy, ERE position, profile and tokens. What a person owns is in the
-- service's own tenant; row-level security holds the person, not only the tenant.

-- an application that acts for a person is no CPO client: what it reaches is what the person does
alter policy "a CPO client reaches only the accounts it created" on core.accounts
  using ((select private.client_id()) is null or (select private.user_id()) is not null or client_id = (select private.client_id()));

-- GET /profile -------------------------------------------------------------------------------------------------------

create function api.get_profile(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'user');
  return (select json_build_object('email', p.email, 'name', p.name) from private.user_profile(private.user_id()) p);
end $$;
comment on function api.get_profile(jsonb) is 'GET /profile: {email, name}.';
select private.expose('api.get_profile(jsonb)');

-- Chargers -----------------------------------------------------------------------------------------------------------

create function private.is_online(charger core.chargers) returns boolean
language sql stable
set search_path = ''
as $$ select coalesce(charger.last_seen_at > private.now() - interval '15 minutes', false) $$;
comment on function private.is_online(core.chargers) is 'Heard of in the last 15 minutes: OCPP chargers send a heartbeat at least that often.';

create function private.charger_name(charger core.chargers) returns text
language sql stable
set search_path = ''
as $$
  select coalesce(charger.nickname,
    (select concat_ws(' ', m.brand, m.model) from core.charger_models m where m.id = charger.catalog_charger_id), charger.ocpp_identity, 'Charger')
$$;
comment on function private.charger_name(core.chargers) is 'What its owner calls it, or else what it is.';
grant execute on function private.is_online(core.chargers), private.charger_name(core.chargers) to api_owner;

create function api.list_own_chargers(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'user');
  return (
    select json_build_object('chargers', coalesce(json_agg(json_strip_nulls(json_build_object(
             'id', h.id,
             'nickname', private.charger_name(h),
             'connection_type', h.connection_type,
             'status', case when private.is_online(h) then 'online' else 'offline' end,
             'mid_certified', h.mid_eligible is true,
             'is_charging', coalesce(s.status = 'charging', false),
             'current_session', case when s.id is not null then json_build_object(
               'id', s.id, 'started_at', private.iso(s.started_at), 'kwh_so_far', round(s.wh / 1000.0, 2)) end,
             'latest_meter_wh', h.latest_meter_wh,
             'meter_updated_at', private.iso(h.meter_updated_at))) order by h.created_at desc, h.id desc), '[]'))
      from core.chargers h
      left join lateral (
        select * from core.charging_sessions s
         where s.partner_id = h.partner_id and s.charger_id = h.id and s.ended_at is null
         order by s.started_at desc, s.id limit 1) s on true
     where h.user_id = private.user_id() and h.status = 'active');
end $$;
comment on function api.list_own_chargers(jsonb) is 'GET /chargers: {chargers}, newest first, each with the session that is going on.';
select private.expose('api.list_own_chargers(jsonb)');

create function api.register_own_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account    uuid;
  connection uuid;
  charger    core.chargers;
begin
  perform private.act_as(caller, 'user');
  -- the limit is counted under this lock
  perform pg_advisory_xact_lock(hashtextextended('chargers of ' || private.user_id(), 0));
  if (select count(*) from core.chargers h where h.user_id = private.user_id() and h.status = 'active') >= 10 then
    perform private.refuse('charger_limit_reached');
  end if;
  select a.id, c.id into account, connection
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where a.user_id = private.user_id()
   order by c.created_at, c.id limit 1;
  insert into core.chargers
    (partner_id, account_id, connection_id, user_id, nickname, connection_type, ocpp_identity, ocpp_password_hash)
  values (private.partner_id(), account, connection, private.user_id(), input ->> 'nickname', 'ocpp',
          input ->> 'ocpp_identity', decode(input ->> 'password_hash', 'hex'))
  on conflict (ocpp_identity) where status = 'active' do nothing
  returning * into charger;
  if charger.id is null then
    perform private.refuse('ocpp_identity_taken', json_build_object('ocpp_identity', input ->> 'ocpp_identity'));
  end if;
  perform private.audit('charger.registered', charger.id);
  return json_build_object('id', charger.id);
end $$;
comment on function api.register_own_charger(jsonb, jsonb) is
  'POST /chargers: {nickname, ocpp_identity, password_hash} to {id}. Bound to the person''s first active connection, where there is one.';
select private.expose('api.register_own_charger(jsonb, jsonb)');

create function private.charger_by_identity(identity text) returns core.chargers
language sql stable security definer
set search_path = ''
as $$ select h from core.chargers h where h.ocpp_identity = identity and h.status = 'active' $$;
comment on function private.charger_by_identity(text) is
  'Finds a charger before its tenant is known; definer for that reason alone.';
grant execute on function private.charger_by_identity(text) to api_owner;

create function private.identify_charger(charger core.chargers, boot jsonb) returns void
language plpgsql
set search_path = ''
as $$
declare
  resolved constant private.charger_resolution :=
    private.resolve_charger(boot ->> 'ocpp_vendor', boot ->> 'ocpp_model', boot ->> 'ocpp_meter_type');
begin
  update core.chargers h
     set catalog_charger_id = m.id, brand = m.brand, mid_eligible = m.mid_meter, ocpp_vendor = boot ->> 'ocpp_vendor',
         ocpp_model = boot ->> 'ocpp_model', ocpp_meter_type = boot ->> 'ocpp_meter_type'
    from core.charger_models m
   where resolved.resolved and m.id = resolved.catalog_charger_id
     and h.partner_id = charger.partner_id and h.id = charger.id and h.catalog_charger_id is null;
  if found then
    perform private.audit('charger.identified', charger.id);
    perform private.advance_registration(charger.account_id, true);
  end if;
end $$;
comment on function private.identify_charger(core.chargers, jsonb) is
  'What a charger''s BootNotification says it is, once: the model, and with it whether its meter is MID. Its earlier sessions count from then on.';
grant execute on function private.identify_charger(core.chargers, jsonb) to api_owner;

create function api.admit_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  charger core.chargers := private.charger_by_identity(input ->> 'identity');
begin
  perform private.act_as(caller, 'worker');
  if charger.id is null or charger.ocpp_password_hash <> decode(input ->> 'password_hash', 'hex') then
    return json_build_object('ok', false);
  end if;
  perform private.act_for_partner(charger.partner_id);
  update core.chargers h set last_seen_at = private.now() where h.partner_id = charger.partner_id and h.id = charger.id;
  if charger.catalog_charger_id is null and input ->> 'ocpp_vendor' is not null and input ->> 'ocpp_model' is not null then
    perform private.identify_charger(charger, input);
  end if;
  return json_build_object('ok', true, 'charger_id', charger.id);
end $$;
comment on function api.admit_charger(jsonb, jsonb) is
  'The gateway asks, when a charger connects or boots and on its heartbeats: {identity, password_hash, ocpp_vendor, ocpp_model, ocpp_meter_type} '
  'to {ok, charger_id}. Marks it as heard of, and settles what it is.';
select private.expose('api.admit_charger(jsonb, jsonb)');

-- GET /sessions ------------------------------------------------------------------------------------------------------

create function private.session_row(session core.charging_sessions) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', session.id,
    'charger_id', session.charger_id,
    'charger_nickname', private.charger_name(h),
    'started_at', private.iso(session.started_at),
    'ended_at', private.iso(session.ended_at),
    'kwh', round(session.wh / 1000.0, 2),
    'status', session.status,
    'ere_credits', case when h.mid_eligible and session.counted and session.flags = '{}' then round(session.wh / 1000.0 * m.ere_per_kwh, 2) end,
    'flags', session.flags)
    from core.chargers h
    left join core.counted_months m
      on m.partner_id = session.partner_id and m.connection_id = session.connection_id and m.period = session.month
   where h.partner_id = session.partner_id and h.id = session.charger_id
$$;
grant execute on function private.session_row(core.charging_sessions) to api_owner;

create function private.as_border(value text) returns timestamptz
language sql stable
set search_path = ''
as $$ select case when value ~ '^[0-9-]{10}$' then value::timestamp at time zone 'Europe/Amsterdam' else value::timestamptz end $$;
comment on function private.as_border(text) is 'A date as the Dutch midnight it begins with, a moment as itself.';
grant execute on function private.as_border(text) to api_owner;

create function api.list_own_sessions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  page_limit  constant int         := (query ->> 'limit')::int;
  page_offset constant bigint      := (query ->> 'offset')::bigint;
  charger     constant uuid        := (query ->> 'charger_id')::uuid;
  since       constant timestamptz := coalesce(private.as_border(query ->> 'from'), '-infinity');
  until       constant timestamptz := coalesce(private.as_border(query ->> 'to'), 'infinity');
begin
  perform private.act_as(caller, 'user');
  return (
    with page as materialized (
      select s.* from core.charging_sessions s
       where s.user_id = private.user_id() and (charger is null or s.charger_id = charger)
         and s.started_at >= since and s.started_at < until
       order by s.started_at desc, s.id desc
       limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by started_at desc, id desc limit page_limit
    )
    select json_build_object(
      'sessions', coalesce(json_agg(private.session_row(s) order by s.started_at desc, s.id desc), '[]'),
      'limit', page_limit,
      'offset', page_offset,
      'count', count(*),
      'has_more', (select count(*) from page) > page_limit)
    from shown s);
end $$;

comment on function api.list_own_sessions(jsonb, jsonb) is
  'GET /sessions: {limit, offset, charger_id, from, to} to a page of the person''s sessions, newest first. from inclusive, to exclusive.';
select private.expose('api.list_own_sessions(jsonb, jsonb)');

-- GET /energy and GET /ere-position: months are read, never sessions --------------------------------------------------

create function private.own_counted_months() returns table (month date, kwh numeric, ere numeric)
language plpgsql stable
set search_path = ''
as $$
begin
  return query
  select m.period, sum(m.total_kwh), sum(m.ere)
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
   where a.user_id = private.user_id()
   group by m.period;
end $$;
comment on function private.own_counted_months() is 'What counts toward ERE for the person of this transaction, over all their connections.';
grant execute on function private.own_counted_months() to api_owner;

create function api.get_energy(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'user');
  return (
    with energy as (
      select m.month, sum(m.wh) / 1000.0 as kwh, sum(m.sessions) as sessions
        from core.charger_months m where m.user_id = private.user_id() and m.sessions > 0
       group by m.month
    ), month as (
      select coalesce(e.month, c.month) as month, coalesce(e.kwh, 0) as kwh, coalesce(e.sessions, 0) as sessions, coalesce(c.ere, 0) as ere
        from energy e full join private.own_counted_months() c on c.month = e.month
    )
    select json_build_object(
      'total_kwh', round(coalesce(sum(m.kwh), 0), 2),
      'total_ere_credits', round(coalesce(sum(m.ere), 0), 2),
      'total_sessions', coalesce(sum(m.sessions), 0),
      'months', coalesce(json_agg(json_build_object(
        'month', to_char(m.month, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2), 'sessions', m.sessions)
        order by m.month desc), '[]'))
    from month m);
end $$;
comment on function api.get_energy(jsonb) is 'GET /energy: {total_kwh, total_ere_credits, total_sessions, months}, newest month first.';
select private.expose('api.get_energy(jsonb)');

create function private.forecast_kwh(this_month date) returns numeric
language sql stable
set search_path = ''
as $$
  with counted as materialized (
    select * from private.own_counted_months() where month <= this_month
  ), past as (
    -- complete months since the first that counted, at most the last twelve; one without charging is a zero among them
    select coalesce(sum(c.kwh) / nullif(
             (extract(year from age(this_month, min(c.month))) * 12 + extract(month from age(this_month, min(c.month))))::int, 0), 0) as average
      from counted c where c.month < this_month and c.month >= this_month - interval '12 months'
  )
  select coalesce(sum(c.kwh) filter (where c.month >= date_trunc('year', this_month)), 0)
         + greatest(t.average - coalesce(sum(c.kwh) filter (where c.month = this_month), 0), 0)
         + t.average * (12 - extract(month from this_month))
    from past t left join counted c on true
   group by t.average
$$;
comment on function private.forecast_kwh(date) is
  'The kWh that will count this year: what does already, and the trailing average for the rest of this month and each month after it.';
grant execute on function private.forecast_kwh(date) to api_owner;

create function api.get_ere_position(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  this_month   constant date := date_trunc('month', private.today());
  this_quarter constant int  := extract(quarter from this_month);
  this_year    constant int  := extract(year from this_month);
  factor       core.ere_factors;
begin
  perform private.act_as(caller, 'user');
  select * into factor from core.ere_factors f where f.delivery_year = this_year;
  return (
    with counted as materialized (
      select extract(quarter from c.month)::int as quarter, sum(c.kwh) as kwh, sum(c.ere) as ere
        from private.own_counted_months() c where extract(year from c.month) = this_year
       group by 1
    )
    select json_build_object(
      'year', this_year,
      'kwh', round(coalesce(sum(c.kwh), 0), 2),
      'renewable_share', factor.renewable_share,
      'reserved_ere', round(coalesce(sum(c.ere), 0), 2),
      'sold_ere', 0,
      'forecast_ere', round(private.forecast_kwh(this_month) * coalesce(factor.ere_per_kwh, 0), 2),
      'quarters', json_agg(json_build_object(
        'quarter', this_year || '-Q' || q,
        'kwh', round(coalesce(c.kwh, 0), 2),
        'ere_credits', round(coalesce(c.ere, 0), 2),
        'sold_ere', 0,
        'price_per_ere', null,
        'revenue_eur', null,
        'status', case when q < this_quarter then 'closed' else 'open' end,
        'sold_at', null) order by q))
    from generate_series(1, this_quarter) q left join counted c on c.quarter = q);
end $$;
comment on function api.get_ere_position(jsonb) is
  'GET /ere-position: the current year and its quarters so far. Nothing is sold before an operator records a sale.';
select private.expose('api.get_ere_position(jsonb)');

-- Personal tokens ----------------------------------------------------------------------------------------------------

create function private.token_row(token core.personal_tokens) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', token.id, 'name', token.name, 'scopes', token.scopes, 'last4', token.last4, 'created_at', private.iso(token.created_at),
    'expires_at', private.iso(token.expires_at), 'last_used_at', private.iso(token.last_used_at))
$$;
grant execute on function private.token_row(core.personal_tokens) to api_owner;

create function api.list_personal_tokens(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'session');
  return (
    select json_build_object('tokens', coalesce(json_agg(private.token_row(t) order by t.created_at desc, t.id desc), '[]'))
      from core.personal_tokens t where t.user_id = private.user_id() and t.revoked_at is null);
end $$;
comment on function api.list_personal_tokens(jsonb) is 'GET /tokens: those not revoked, newest first; never the token itself.';
select private.expose('api.list_personal_tokens(jsonb)');

create function api.create_personal_token(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  token core.personal_tokens;
begin
  perform private.act_as(caller, 'session');
  perform pg_advisory_xact_lock(hashtextextended('tokens of ' || private.user_id(), 0));
  if (select count(*) from core.personal_tokens t where t.user_id = private.user_id() and t.revoked_at is null) >= 50 then
    perform private.refuse('token_limit_reached');
  elsif (input ->> 'expires_at')::timestamptz <= private.now() then
    perform private.refuse('invalid_request', json_build_object(
      'detail', 'expires_at: must be in the future',
      'issues', json_build_array(json_build_object('path', 'expires_at', 'message', 'must be in the future'))));
  end if;
  insert into core.personal_tokens (user_id, name, token_hash, last4, scopes, expires_at)
  values (private.user_id(), input ->> 'name', decode(input ->> 'token_hash', 'hex'), input ->> 'last4',
          array(select distinct jsonb_array_elements_text(input -> 'scopes') order by 1), (input ->> 'expires_at')::timestamptz)
  returning * into token;
  perform private.audit('personal_token.created', token.id, jsonb_build_object('scopes', token.scopes));
  return private.token_row(token);
end $$;
comment on function api.create_personal_token(jsonb, jsonb) is
  'POST /tokens: {name, scopes, expires_at, token_hash, last4} to the token''s row. The token itself never reaches the database.';
select private.expose('api.create_personal_token(jsonb, jsonb)');

create function api.revoke_personal_token(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  token core.personal_tokens;
begin
  perform private.act_as(caller, 'session');
  select * into token from core.personal_tokens t
   where t.user_id = private.user_id() and t.id = private.as_uuid(input ->> 'id') for update;
  if not found then
    perform private.refuse('token_not_found');
  elsif token.revoked_at is null then
    update core.personal_tokens t set revoked_at = private.now() where t.id = token.id;
    perform private.audit('personal_token.revoked', token.id);
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.revoke_personal_token(jsonb, jsonb) is 'DELETE /tokens/{id}: acts at once; a second time changes nothing.';
select private.expose('api.revoke_personal_token(jsonb, jsonb)');
