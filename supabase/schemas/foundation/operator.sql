-- How an operator's function begins. ops functions take one jsonb and answer one json. They are definers that cross
-- tenants, and still set the tenant they touch, for the audit row. A call that changes nothing answers changed: false
-- and leaves no audit row.

-- First in every ops function that changes something or shows something personal. The audit row names the login, and
-- {operator} beside it.
create function private.act_as_operator(input jsonb) returns void
language sql
as $$
  -- the login says who it was, and the command line under which name of the system it was typed
  select set_config('app.caller_kind', concat_ws(':', session_user, nullif(left(input ->> 'operator', 64), '')), true),
         set_config('app.partner_id', '', true),
         set_config('app.client_id', '', true),
         set_config('app.request_id', '', true)
$$;

-- The person who acts, for steps that need two people: by a login of their own, not the shared one.
create function private.operator_login() returns text
language plpgsql stable
as $$
begin
  perform private.refuse_if('own_login_needed', session_user !~ '^operator_', json_build_object('login', session_user));
  return session_user;
end $$;

-- A name of 1 to 120 characters on one line, trimmed.
create function private.operator_name(value text) returns text
language plpgsql immutable
as $$
begin
  if coalesce(length(btrim(value)), 0) not between 1 and 120
     -- as isPlain in packages/shared/src/values/text.ts: what turns the direction of a text, or is not seen, too
     or value ~ '[[:cntrl:]\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff]' then
    perform private.refuse('invalid_name');
  end if;
  return btrim(value);
end $$;

-- Why something was taken back: 1 to 500 characters on one line, trimmed.
create function private.operator_reason(value text) returns text
language plpgsql immutable
as $$
begin
  perform private.refuse_if('invalid_reason', coalesce(length(btrim(value)), 0) not between 1 and 500
                            or value ~ '[[:cntrl:]]');
  return btrim(value);
end $$;
