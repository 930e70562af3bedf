-- Signing in on a page. We count an attempt before we ask Supabase Auth, and mail one-time codes.

-- Counts an attempt by origin and account. The caller returns a refusal and raises none, so that the count stays.
create function private.count_sign_in(attempt jsonb, buckets text[], account_bucket text) returns jsonb
language plpgsql
as $$
declare
  login  constant text := 'login:' || (attempt ->> 'email_hash');
  device constant text := 'device:' || (attempt ->> 'device_hash');
  place  constant text := coalesce(device, 'address:' || (attempt ->> 'address_hash'));
  bucket text;
  rate   jsonb;
begin
  if device is null then
    rate := private.debit(place, 'sign_in_address');
    if not (rate ->> 'allowed')::boolean then
      return rate;
    end if;
  end if;
  foreach bucket in array buckets loop
    rate := private.debit(login || '@' || place, bucket);
    if not (rate ->> 'allowed')::boolean then
      return rate;
    end if;
  end loop;
  -- browsers that signed in to this account before have one limit together: strangers cannot use it up
  return private.debit(case when device is null then login else login || '@devices' end, account_bucket);
end $$;

create function private.code_opens(address text, strangers boolean) returns boolean
language plpgsql stable security definer
as $$
begin
  return private.login_at(address) is not null or private.signs(address)
      -- the code makes a login for an address that has none; a banned or deleted login stays closed
      or strangers and not exists (select from auth.users u where u.email = address and not u.is_sso_user);
end $$;
comment on function private.code_opens(text, boolean) is
  'Whether a code mailed to an address signs somebody in: a login or a signatory, and with strangers also somebody '
  'new. Definer, because logins belong to Supabase Auth.';

create function private.judge_sign_in_code(request jsonb, purpose text, out refused text, out email text,
                                           out again boolean)
language plpgsql security definer
as $$
declare
  subject constant text := 'browser:' || (request ->> 'token_hash');
begin
  select * into refused, email, again from private.judge_guess(subject, purpose, request, request ->> 'code_hash');
  if refused is null and not private.code_opens(email, (request ->> 'strangers')::boolean is true) then
    perform private.count_wrong_code(subject);
    refused := 'wrong_code';
  end if;
end $$;
comment on function private.judge_sign_in_code(jsonb, text) is
  'private.judge_guess of the code of one browser, {token_hash, code_hash, key, strangers?}. A code that would sign '
  'nobody in is always wrong. Definer: no caller may read codes.';

-- As private.judge_sign_in_code. It also uses up a right code; a second click still finds it right.
create function private.redeem_sign_in_code(request jsonb, purpose text, out refused text, out email text,
                                            out again boolean)
language plpgsql
as $$
begin
  select * into refused, email, again from private.judge_sign_in_code(request, purpose);
  perform private.use_code('browser:' || (request ->> 'token_hash'), request ->> 'code_hash') where refused is null;
end $$;

create function api.count_sign_in(caller jsonb, attempt jsonb) returns json
language plpgsql security definer
as $$
declare
  rate jsonb;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.count_sign_in(attempt, array['sign_in', 'sign_in_day'], 'sign_in_account');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object('rate', rate);
end $$;
comment on function api.count_sign_in(jsonb, jsonb) is
  'Counts a sign-in before it is tried, so that parallel guesses count too: {address_hash, email_hash, device_hash} to '
  '{rate}.';

create function api.send_sign_in_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  rate      jsonb;
  counted   text;
  login     uuid;
  signatory boolean;
  stranger  boolean;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.count_sign_in(request, array['sign_in_code'], 'sign_in_mail');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_codes', json_build_object('rate', rate));  -- what was counted stays
  end if;
  counted := private.sign_in_mail(request);
  if counted = 'refused' then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_code('browser:' || (request ->> 'token_hash'), request ->> 'email', request ->> 'code_hash');
  -- nobody owns the mail of a code; this function reads nothing else of the people's tenant
  perform private.set_tenant(private.people_tenant()), set_config('app.sees_whole_tenant', 'true', true);
  -- always the same look-ups and rows: the time of the answer must not tell whether we know the address
  login := private.login_at(request ->> 'email');
  signatory := private.signs(request ->> 'email');
  stranger := private.code_opens(request ->> 'email', true);
  perform private.enqueue_mail(request -> 'mail', request ->> 'email', 'sign_in_code:' || (request ->> 'token_hash'),
                               to_nobody => login is null
                                   and not (signatory and (request ->> 'signatories')::boolean is true)
                                            and not (stranger and (request ->> 'strangers')::boolean is true),
                               counted => counted = 'fits');
  return json_build_object('ok', true);
end $$;
comment on function api.send_sign_in_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts: {address_hash, email_hash, device_hash, email, '
  'token_hash, code_hash, mail, signatories?, strangers?}. It goes to an address with a login. signatories adds the '
  'signatories of a CPO''s customers, strangers adds addresses without a login. The answer is the same if the code '
  'opens nothing.';

create function private.reader_of_codes(address text) returns uuid
language plpgsql stable security definer
as $$
begin
  return (select min(a.partner_id::text)::uuid from private.signed_accounts(address) a
           where private.is_sandbox() and not exists (select from auth.users u
                                                      where u.email = address and not u.is_sso_user)
          having count(distinct a.partner_id) = 1);
end $$;
comment on function private.reader_of_codes(text) is
  'On the sandbox: the tenant that reads the codes of a signatory without a login. Such a code makes the login for '
  'that tenant. Else null. Definer, because it looks across tenants.';

create function api.redeem_sign_in_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  redeemed record;
  proof    record;
begin
  perform private.act_as(caller, 'anyone');
  select * into redeemed from private.judge_sign_in_code(request, 'sign_in');
  if redeemed.refused is null
     -- a signatory of a CPO's customer needs no login
     and (private.login_at(redeemed.email) is not null
          or not (request ->> 'signatory_hash' is not null and private.signs(redeemed.email))) then
    select * into proof from private.prove_login(redeemed.email, private.reader_of_codes(redeemed.email), request);
    if proof.need is not null then
      return proof.need;
    end if;
  end if;
  if redeemed.refused is null then
    select * into redeemed from private.redeem_sign_in_code(request, 'sign_in');
  end if;
  if redeemed.refused is not null then
    return private.refusal(redeemed.refused);  -- a wrong code was counted
  end if;
  return json_build_object(
    'email', redeemed.email,
    'login', private.login_at(redeemed.email) is not null,
    'signatory', request ->> 'signatory_hash' is not null
        and private.begin_signatory_session(request ->> 'signatory_hash', redeemed.email));
end $$;
comment on function api.redeem_sign_in_code(jsonb, jsonb) is
  'Uses a one-time code: {token_hash, code_hash, key, email, device_hash?, signatory_hash?, strangers?} to {email, '
  'login, signatory}. Asks for a login first if the address has none, or if a stranger may have made it. login: the '
  'owner may sign in. signatory_hash signs in a signatory of a CPO''s customer.';
