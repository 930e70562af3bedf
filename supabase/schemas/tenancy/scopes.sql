-- Scopes: what a client or a token may do. packages/shared/src/values/scopes.ts says what each grants; a test compares the two.

create function private.read_scopes(scopes jsonb, holder text) returns text[]
language plpgsql immutable
as $$
declare
  wanted constant text[] := array(select jsonb_array_elements_text(scopes));
  known  constant text[] := private.scopes_of(holder);
begin
  if cardinality(wanted) = 0 or not wanted <@ known then
    perform private.refuse('unknown_scope', json_build_object('scopes', known));
  end if;
  return array(select s from unnest(known) s where s = any (wanted));
end $$;
comment on function private.read_scopes(jsonb, text) is 'A list of at least one scope of such a holder, each once, in the order of private.scopes_of.';
