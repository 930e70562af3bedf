-- OAuth clients: charge-point operators, which act for themselves, and applications, which act for people.

-- Whether an application may get and use tokens of people: not if its partner was deactivated.
create function private.may_act_for_people(client core.oauth_clients) returns boolean
language plpgsql stable
as $$ begin return client.partner_id is null or private.active_partner(client.partner_id) is not null; end $$;

create function private.client_by_client_id(client_id text) returns core.oauth_clients
language plpgsql stable security definer
as $$ begin return (select c from core.oauth_clients c where c.client_id = client_by_client_id.client_id); end $$;
comment on function private.client_by_client_id(text) is
  'Looks a client up before its tenant is known; definer only for that.';

-- A list of at least one scope of such a holder, each once, in the order of private.scopes_of.
create function private.read_scopes(scopes jsonb, holder text) returns text[]
language plpgsql immutable
as $$
declare
  wanted constant text[] := array(select jsonb_array_elements_text(scopes));
  known  constant text[] := private.scopes_of(holder);
begin
  perform private.refuse_if('unknown_scope', cardinality(wanted) = 0 or not wanted <@ known,
                            json_build_object('scopes', known));
  return array(select s from unnest(known) s where s = any (wanted));
end $$;
