-- Scopes: what a client or a token may do. packages/shared/src/values/scopes.ts says what each grants; a test compares the two.

-- A list of at least one scope of such a holder, each once, in the order of private.scopes_of.
create function private.read_scopes(scopes jsonb, holder text) returns text[]
language plpgsql immutable
as $$
declare
  wanted constant text[] := array(select jsonb_array_elements_text(scopes));
  known  constant text[] := private.scopes_of(holder);
begin
  perform private.refuse_if('unknown_scope', cardinality(wanted) = 0 or not wanted <@ known, json_build_object('scopes', known));
  return array(select s from unnest(known) s where s = any (wanted));
end $$;
