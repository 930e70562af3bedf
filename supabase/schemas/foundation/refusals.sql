-- How a rule says no.

create function private.refuse(code text, detail json default '{}') returns void
language plpgsql
set search_path = ''
as $$
begin
  raise exception using errcode = 'RULE1', message = code, detail = detail::text;
end $$;
comment on function private.refuse(text, json) is
  'Ends the transaction with an error of the API. code is a key of the error table; detail holds the extra fields of the answer.';
grant execute on function private.refuse(text, json) to api_owner;

create function private.refusal(code text, detail json default '{}') returns json
language sql immutable
set search_path = ''
as $$ select json_build_object('refused', code, 'with', detail) $$;
comment on function private.refusal(text, json) is
  'The same refusal as an answer, for where something written in this transaction must stay (an attempt, a recorded check).';
grant execute on function private.refusal(text, json) to api_owner;
