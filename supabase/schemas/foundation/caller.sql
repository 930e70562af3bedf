-- The caller of this transaction, and the tenant that row-level security reads.

create function private.act_as(caller jsonb, variadic kinds text[]) returns void
language plpgsql
set search_path = ''
as $$
begin
  if (caller ->> 'kind') = any (kinds) is not true then
    raise exception 'caller kind % may not run this function', coalesce(caller ->> 'kind', 'none')
      using errcode = 'insufficient_privilege';
  end if;
  perform private.require_host(caller ->> 'host');
  perform set_config('app.caller_kind', coalesce(caller ->> 'kind', ''), true),
          set_config('app.partner_id',  coalesce(caller ->> 'partner_id', ''), true),
          set_config('app.client_id',   coalesce(caller ->> 'client_id', ''), true),
          set_config('app.user_id',     coalesce(caller ->> 'user_id', ''), true),
          set_config('app.request_id',  coalesce(caller ->> 'request_id', ''), true);
end $$;
comment on function private.act_as(jsonb, text[]) is
  'First line of every api function: the second lock behind the scope check, and the tenant for row-level security, local to the transaction.';
grant execute on function private.act_as(jsonb, text[]) to api_owner;

create function private.act_for_partner(partner uuid) returns void
language sql
set search_path = ''
as $$ select set_config('app.partner_id', coalesce(partner::text, ''), true) $$;
comment on function private.act_for_partner(uuid) is
  'Narrows the transaction to the tenant a link or a job was found to belong to.';
grant execute on function private.act_for_partner(uuid) to api_owner;

create function private.partner_id() returns uuid
language plpgsql stable
set search_path = ''
as $$ begin return nullif(current_setting('app.partner_id', true), '')::uuid; end $$;
comment on function private.partner_id() is 'The tenant of this transaction; null matches no row.';
grant execute on function private.partner_id() to api_owner;

create function private.client_id() returns uuid
language plpgsql stable
set search_path = ''
as $$ begin return nullif(current_setting('app.client_id', true), '')::uuid; end $$;
comment on function private.client_id() is 'The CPO client of this transaction, or null.';
grant execute on function private.client_id() to api_owner;

create function private.user_id() returns uuid
language plpgsql stable
set search_path = ''
as $$ begin return nullif(current_setting('app.user_id', true), '')::uuid; end $$;
comment on function private.user_id() is 'The person this transaction acts for, or null.';
grant execute on function private.user_id() to api_owner;

create function private.owner_id() returns uuid
language plpgsql stable
set search_path = ''
as $$
begin
  -- an application that acts for a person, or for a partner, owns nothing: what it reaches is what they do
  return nullif(coalesce(nullif(current_setting('app.user_id', true), ''),
                         case when current_setting('app.caller_kind', true) = 'cpo' then current_setting('app.client_id', true) end), '')::uuid;
end $$;
comment on function private.owner_id() is
  'Whose rows this transaction reaches within its tenant: a person''s or a CPO client''s. Null where a partner, the worker or the bearer of a link acts: the whole tenant''s.';
grant execute on function private.owner_id() to api_owner;
