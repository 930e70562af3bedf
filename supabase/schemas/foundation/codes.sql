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

create function private.judge_guess(address text, purpose text, kept bytea, expires_at timestamptz, attempts int, request jsonb) returns text
language plpgsql
set search_path = ''
as $$
declare
  refused constant text := private.judge_code(kept, expires_at, attempts, request ->> 'code_hash');
  -- what strangers guess wrong leaves a browser that signed in to this account before alone
  guesses constant text := 'guesses:' || purpose || ':' || private.mail_subject(address, request ->> 'key')
                           || case when request ->> 'device_hash' is not null and request ->> 'email' = address then '@devices' else '' end;
begin
  if refused is null or refused = 'wrong_code' then
    -- counted before it is known to be right, so that guesses sent at once count too
    if not (private.debit(guesses, 'code_guesses') ->> 'allowed')::boolean then
      return 'too_many_guesses';
    elsif refused is null then
      perform private.give_back(guesses, 'code_guesses');
    end if;
  end if;
  return refused;
end $$;
comment on function private.judge_guess(text, text, bytea, timestamptz, int, jsonb) is
  'As private.judge_code, of a guess {code_hash, key, email?, device_hash?}: wrong ones are counted by the address the code went to and what it is for, so that a new link or draft brings no new guesses. A refusal has to be an answer, or the guess would not count.';
grant execute on function private.judge_guess(text, text, bytea, timestamptz, int, jsonb) to api_owner;
