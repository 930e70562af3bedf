-- One-time codes: how long one works, and how many guesses it allows.

-- Each sender keeps its codes in a table of its own; how long they work and how many guesses they allow is the same for all.
create function private.code_expiry() returns timestamptz
language plpgsql stable
set search_path = ''
as $$ begin return private.now() + interval '10 minutes'; end $$;
comment on function private.code_expiry() is 'Until when a one-time code that is mailed now can be used.';
grant execute on function private.code_expiry() to api_owner;

create function private.judge_code(kept bytea, expires_at timestamptz, attempts int, presented text) returns text
language plpgsql stable
set search_path = ''
as $$
begin
  return case when kept is null or expires_at > private.now() is not true then 'code_expired'
              when attempts >= 5 then 'too_many_attempts'
              when kept <> decode(presented, 'hex') is not false then 'wrong_code' end;
end $$;
comment on function private.judge_code(bytea, timestamptz, int, text) is
  'Why the SHA-256 of a presented code is refused, or null; a wrong_code is for the caller to count, its row locked.';
grant execute on function private.judge_code(bytea, timestamptz, int, text) to api_owner;
