-- What an api function answers in place of its JSON: a refusal, or a need. packages/shared/src/foundation/db.ts reads
-- both.

-- The usual refusal: it undoes what was written. code is a key of the error table; detail holds the extra fields of the
-- error.
create function private.refuse(code text, detail json default '{}') returns void
language plpgsql
as $$
begin
  raise exception using errcode = 'RULES', message = code, detail = detail::text;
end $$;

-- private.refuse where the condition holds. detail is read only then, because the planner writes the body into the
-- statement. But the planner computes what is immutable in it (a cast, a division) before, so nothing in it may fail.
-- What writes or locks is not a part of a condition: beside `and` the planner may leave it out.
create function private.refuse_if(code text, condition boolean, detail json default '{}') returns void
language sql
return case when condition then private.refuse(code, detail) end;

-- A refusal as an answer, which commits: for writes that must stay (a counted guess, a debit), or before anything is
-- written.
create function private.refusal(code text, detail json default '{}') returns json
language sql immutable
as $$ select json_build_object('refused', code, 'with', detail) $$;

-- Says that something is needed from outside the database. The function is called again with the result under the name
-- of its kind.
create function private.need(need text, about json) returns json
language sql immutable
as $$ select json_build_object('need', need, 'about', about) $$;
