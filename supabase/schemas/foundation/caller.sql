-- The caller of this transaction, and the tenant that row-level security reads.

-- First line of every api function: sets caller and tenant for this transaction. A second check behind the scopes.
create function private.act_as(caller jsonb, variadic kinds text[]) returns void
language plpgsql
as $$
declare
  kind     constant text := caller ->> 'kind';
  client   constant text := coalesce(caller ->> 'client_id', '');
  person   constant text := coalesce(caller ->> 'user_id', '');
  ignored  text;
begin
  -- compared here, which takes a third of calling who knows what to say of it
  if caller ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(caller ->> 'host');
  end if;
  if kind = any (kinds) is not true then
    raise exception 'caller kind % may not run this function', coalesce(kind, 'none')
      using errcode = 'insufficient_privilege';
  end if;
  -- assignments, because plpgsql evaluates these by themselves: a perform of the same goes through the executor
  ignored := set_config('app.caller_kind', kind, true);
  ignored := set_config('app.partner_id',  coalesce(caller ->> 'partner_id', ''), true);
  ignored := set_config('app.client_id',   client, true);
  ignored := set_config('app.user_id',     person, true);
  -- an application that acts for a person, or for a partner, owns nothing: what it reaches is what they do
  ignored := set_config('app.owner_id',    case when kind in ('cpo', 'ocpi') then client else person end, true);
  -- Whoever comes by a link sees all of a tenant only from private.set_tenant_and_see_all on. Nobody is the people's
  -- tenant as a partner: it holds what people own.
  ignored := set_config('app.sees_whole_tenant',
                        case when kind = 'worker' or kind = 'partner'
                             and caller ->> 'partner_id' <> private.people_tenant()::text
                                            then 'true' else '' end, true);
  ignored := set_config('app.manager_id',  coalesce(caller ->> 'manager_id', ''), true);
  ignored := set_config('app.signatory',   coalesce(caller ->> 'signatory', ''), true);
  ignored := set_config('app.signed_in_at', coalesce(caller ->> 'signed_in_at', ''), true);
  ignored := set_config('app.request_id',  coalesce(caller ->> 'request_id', ''), true);
end $$;

-- Narrows the transaction to the tenant that a link or a job belongs to.
create function private.set_tenant(partner uuid) returns void
language sql
as $$ select set_config('app.partner_id', coalesce(partner::text, ''), true) $$;

-- As private.set_tenant, and a caller without an owner reaches all of that tenant, unless it is the people's tenant.
create function private.set_tenant_and_see_all(partner uuid) returns void
language plpgsql
as $$
begin
  perform private.set_tenant(partner),
      set_config('app.sees_whole_tenant', case when partner = private.people_tenant() then '' else 'true' end, true);
end $$;

-- Narrows the transaction to a person's own rows within a tenant, or without a person to none that has an owner.
create function private.act_for_person(partner uuid, person uuid) returns void
language plpgsql
as $$
declare
  ignored text;
begin
  perform private.set_tenant(partner);
  ignored := set_config('app.user_id', coalesce(person::text, ''), true);
  ignored := set_config('app.owner_id', coalesce(person::text, ''), true);
  ignored := set_config('app.sees_whole_tenant', '', true);
end $$;

-- The policies of every table read these. The planner writes the bodies into each query (0.2 us, a function call took
-- 1.1).

-- The tenant of this transaction; null matches no row.
create function private.partner_id() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.partner_id', true), '')::uuid;

-- The CPO client of this transaction, or null.
create function private.client_id() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.client_id', true), '')::uuid;

-- The person this transaction acts for, or null.
create function private.user_id() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.user_id', true), '')::uuid;

-- The person or CPO client that owns what this transaction writes. Null if a partner, the worker or the bearer of a
-- link acts.
create function private.owner_id() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.owner_id', true), '')::uuid;

-- The owner whose rows this transaction sees in its tenant. Null: all rows. Else the id that no owner has.
create function private.visible_owner() returns uuid
language sql stable parallel safe
return coalesce(private.owner_id(), case when current_setting('app.sees_whole_tenant', true) = 'true' then null
                                         else uuid '00000000-0000-0000-0000-000000000000' end);

-- The person who acts for a partner in this transaction; null if an API key does.
create function private.manager_id() returns uuid
language plpgsql stable
as $$ begin return nullif(current_setting('app.manager_id', true), '')::uuid; end $$;

-- Whether a partner asks by its own key or in its portal. An application, and a key that it minted, see a pseudonym for
-- each customer that the partner brought (specification section 5).
create function private.is_partner_itself() returns boolean
language plpgsql stable
as $$ begin return private.client_id() is null or current_setting('app.caller_kind', true) <> 'partner'; end $$;

-- The address that the caller proved by a mailed code, as the signatory of a CPO's customer. Null if they proved none.
create function private.signatory() returns text
language plpgsql stable
as $$ begin return nullif(current_setting('app.signatory', true), ''); end $$;

-- Whether the person signed in within 15 minutes: who finds an open browser redirects no money. Always true for a
-- token.
create function private.signed_in_recently() returns boolean
language plpgsql stable
as $$ begin return coalesce(nullif(current_setting('app.signed_in_at', true),
                                   '')::timestamptz >= private.now() - interval '15 minutes', true); end $$;

-- Refuses with recent_sign_in_required unless private.signed_in_recently.
create function private.require_recent_sign_in() returns void
language plpgsql stable
as $$
begin
  perform private.refuse_if('recent_sign_in_required', not private.signed_in_recently());
end $$;
