-- One-time codes: kept, judged and used in one place, for every purpose.

create function private.keep_code(subject text, address text, code_hash text) returns void
language sql security definer
as $$
  insert into core.one_time_codes (subject, code_hash, email, expires_at)
  values (keep_code.subject, decode(keep_code.code_hash, 'hex'), address, private.now() + interval '10 minutes')
  on conflict on constraint one_time_codes_pkey do update
    set code_hash = excluded.code_hash, used_hash = null, email = excluded.email, attempts = 0,
        expires_at = excluded.expires_at
$$;
comment on function private.keep_code(text, text, text) is
  'Stores a code that is mailed now to an address, in place of an older one. Definer: no caller may read codes.';

-- Mails and keeps a one-time code: {code_hash, mail}, with what private.enqueue_mail takes. Answers ok, or refuses
-- too_many_codes.
create function private.mail_code(
  subject text, address text, cause text, request jsonb, content jsonb default '{}', connection uuid default null,
      counted boolean default null) returns json
language plpgsql
as $$
begin
  if not private.enqueue_mail(request -> 'mail', address, cause || ':' || (request ->> 'code_hash'), content,
                              connection => connection, counted => counted) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_code(subject, address, request ->> 'code_hash');
  return json_build_object('ok', true);
end $$;

create function private.code_sent(subject text) returns boolean
language plpgsql stable security definer
as $$
begin
  return exists (select from core.one_time_codes c
                  where c.subject = code_sent.subject and c.code_hash is not null and c.expires_at > private.now());
end $$;
comment on function private.code_sent(text) is 'Whether a code waits to be typed. Definer: no caller may read codes.';

-- Why the SHA-256 of a presented code is refused; null if it is right.
create function private.judge_code(code core.one_time_codes, presented text) returns text
language plpgsql stable
as $$
begin
  return case when code.code_hash is null or code.expires_at > private.now() is not true then 'code_expired'
              when code.attempts >= 5 then 'too_many_attempts'
              when code.code_hash <> decode(presented, 'hex') is not false then 'wrong_code' end;
end $$;

create function private.code_works(subject text, code_hash text default null) returns boolean
language plpgsql stable security definer
as $$
begin
  return exists (
    select from core.one_time_codes c
     where c.subject = code_works.subject and private.judge_code(c,
                                                                 coalesce(code_works.code_hash,
                                                                          encode(c.code_hash, 'hex'))) is null);
end $$;
comment on function private.code_works(text, text) is
  'Whether this code, or if null the last one sent, would be accepted now. Definer: no caller may read codes.';

create function private.judge_guess(subject text, purpose text, request jsonb, again_by text default null,
                                    out refused text, out email text, out again boolean)
language plpgsql security definer
as $$
declare
  code    core.one_time_codes;
  guesses text;
begin
  -- of ten at once, nine wait here
  select * into code from core.one_time_codes c where c.subject = judge_guess.subject for update;
  email := code.email;
  again := coalesce(code.used_hash = decode(again_by, 'hex') and code.expires_at > private.now(), false);
  refused := case when not again then private.judge_code(code, request ->> 'code_hash') end;
  if not again and (refused is null or refused = 'wrong_code') then
    -- a browser that signed in to this account before has guesses of its own, which strangers cannot use up
    guesses := 'guesses:' || purpose || ':' || private.mail_subject(email, request ->> 'key')
               || case when request ->> 'device_hash' is not null and request ->> 'email' = email then '@devices'
                       else '' end;
    -- counted before it is known to be right, so that guesses sent at once count too
    if not (private.debit(guesses, 'code_guesses') ->> 'allowed')::boolean then
      refused := 'too_many_guesses';
    elsif refused is null then
      perform private.give_back(guesses, 'code_guesses');
    else
      perform private.count_wrong_code(subject);
    end if;
  end if;
end $$;
comment on function private.judge_guess(text, text, jsonb, text) is
  'Judges a guess {code_hash, key, email?, device_hash?} of a subject''s code: why it is refused, or null, and the '
  'address it proves. again: a browser that used the code now sends again_by once more. Wrong guesses count by code, '
  'address and purpose, so that a new link or draft brings no new guesses. A refusal must be an answer, or the guess '
  'would not count. Definer: no caller may read codes.';

-- Counts a wrong guess of a code. Only definers call it: no caller may read codes.
create function private.count_wrong_code(subject text) returns void
language sql
as $$ update core.one_time_codes c set attempts = c.attempts + 1 where c.subject = count_wrong_code.subject $$;

create function private.use_code(subject text, again_by text default null) returns void
language sql security definer
as $$
  update core.one_time_codes c
     set code_hash = null, used_hash = case when c.code_hash is not null then decode(again_by, 'hex') end,
         expires_at = least(c.expires_at, private.now() + interval '10 seconds')
   where c.subject = use_code.subject
$$;
comment on function private.use_code(text, text) is
  'Uses up the code of a subject. For ten seconds private.judge_guess accepts again_by from the browser that used it. '
  'Definer: no caller may read codes.';
