-- A claim begins: a mailed code or a partner's sign-in link proves the e-mail address.

create function api.send_claim_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if private.draft_state(draft) not in ('open', 'active') or private.claim_stage(draft) <> coalesce(request ->> 'stage',
      private.claim_stage(draft)) then
    perform private.refuse('claim_not_open');
  elsif private.code_works('claim:' || draft.id, request ->> 'code_hash') then
    return json_build_object('ok', true);  -- this code was sent already
  end if;
  return private.mail_code('claim:' || draft.id, draft.email, 'claim_code:' || draft.id, request,
    counted => case when request ->> 'proved_by' = 'code' then private.own_code_fits('claim_code', draft.email,
        request #>> '{mail,key}') end);
end $$;
comment on function api.send_claim_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts: {draft_id, code_hash, mail, stage?, proved_by?}. '
  'With stage (invited, claimed) only while the claim is there. A browser that proved the address by a code has its '
  'own limit.';

-- private.judge_guess of {code_hash, key, proved_by?, repeat_hash?}. A browser that proved the address has guesses of
-- its own.
create function private.judge_claim_code(draft core.drafts, request jsonb, out refused text, out again boolean)
language plpgsql
as $$
begin
  select j.refused, j.again into refused, again
    from private.judge_guess('claim:' || draft.id, 'claim',
      request || case when request ->> 'proved_by' = 'code' then jsonb_build_object('email', draft.email,
          'device_hash', '') else '{}' end,
      request ->> 'repeat_hash') j;
end $$;

create function private.claimant(email text, partner uuid, out user_id uuid, out proved boolean, out taken boolean)
language sql stable security definer
as $$
  select u.id, private.login_proved(u, partner),
         exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
         or exists (select from core.accounts a where a.user_id = u.id)
    from auth.users u where u.email = claimant.email and not u.is_sso_user and u.deleted_at is null
$$;
comment on function private.claimant(text, uuid) is
  'The login of an address, all null if there is none. proved: a code of ours went to it. taken: another partner has '
  'it, or it has an account. Definer, because logins belong to Supabase Auth and the check crosses tenants.';

create function private.end_in_conflict(draft core.drafts, reason text) returns void
language plpgsql
as $$
begin
  update core.drafts d
     set status = 'conflict', conflict_reason = reason, progress = '{}'
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.audit('draft.conflict', draft.id, jsonb_build_object('reason', reason)),
      private.emit_draft('draft.conflict', draft.id, 'conflict');
end $$;

-- Marks a draft with a proven address as claimed. A conflict is stored, so its refusal is an answer. May ask for login.
-- A link makes none.
create function private.prove_draft(draft core.drafts, by_link boolean, request jsonb) returns json
language plpgsql
as $$
declare
  login record;
  proof record;
begin
  if draft.status = 'active' then
    perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash');
    return null;
  end if;
  if not by_link then
    select * into proof from private.prove_login(draft.email, draft.partner_id, request);
    if proof.need is not null then
      return proof.need;
    end if;
  end if;
  select * into login from private.claimant(draft.email, draft.partner_id);
  if login.taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return private.refusal('claim_conflict');
  elsif draft.status = 'invited' and draft.ean is not null and private.ean_taken(draft.ean) then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return private.refusal('claim_conflict');
  end if;
  update core.drafts d
     set status = 'claimed', user_id = case when login.proved then login.user_id end,
         progress = d.progress - 'by_link' || case when not by_link then '{"by_code": true}'
                                                   when login.proved is not true then '{"by_link": true}'
                                                   else '{}' end::jsonb,
         claimed_at = coalesce(d.claimed_at, private.now())
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash');
  perform private.audit('draft.claimed', draft.id), private.emit_draft('draft.claimed', draft.id, 'claimed')
      where draft.status = 'invited';
  return null;
end $$;

create function api.prove_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  draft   core.drafts;
  view    jsonb;
  judged  record;
  refused text;
  answer  json;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  perform private.count_visit(request ->> 'address_hash');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  view := private.claim_view(draft, request);
  if private.draft_state(draft) not in ('open', 'active') then
    refused := 'claim_not_open';
  else
    select * into judged from private.judge_claim_code(draft, request);
    if judged.again then
      perform private.use_code('claim:' || draft.id);
      return view::json;
    end if;
    refused := judged.refused;
  end if;
  if refused is null then
    answer := private.prove_draft(draft, false, request);
    refused := answer ->> 'refused';
  end if;
  if refused is not null then
    return private.refusal(refused, json_build_object('claim', view));
  end if;
  return coalesce(answer, view::json);
end $$;
comment on function api.prove_claim(jsonb, jsonb) is
  'Proves the address by its code: {draft_id, address_hash, code_hash, key, repeat_hash} to private.claim_view; a '
  'refusal has it too, as claim. May ask for login first, and uses the code up once that exists. The browser that '
  'repeat_hash names may click twice.';

create function private.sign_in_link(token_hash text) returns core.draft_links
language sql stable security definer
as $$ select l from core.draft_links l where l.token_hash = decode(sign_in_link.token_hash, 'hex') $$;
comment on function private.sign_in_link(text) is
  'Finds a link before its tenant is known; definer only for that. The token is the credential.';

create function private.sign_in_link_state(link core.draft_links, draft core.drafts) returns text
language sql stable
as $$
  select case when link.id is null then 'unknown' when link.used_at is not null then 'used'
              -- the account is the customer's alone from its first connection on
              when draft.status = 'active' and not (private.draft_login(draft)).empty then 'used'
              when link.expires_at <= private.now() then 'expired' else 'open' end
$$;

create function api.open_sign_in_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  link  core.draft_links;
  draft core.drafts;
  view  jsonb;
begin
  perform private.act_as(caller, 'anyone');
  perform private.count_visit(request ->> 'address_hash');
  link := private.sign_in_link(request ->> 'token_hash');
  draft := private.enter_draft(link.draft_id, false);
  view := private.claim_view(draft, '{}') - 'email';
  -- the state of the draft tells the reader more than the state of the link
  if private.draft_state(draft) in ('open', 'active', 'gone') and private.sign_in_link_state(link, draft) <> 'open' then
    view := view || jsonb_build_object('state', private.sign_in_link_state(link, draft), 'draft_id', draft.id);
  end if;
  return view::json;
end $$;
comment on function api.open_sign_in_link(jsonb, jsonb) is
  'What a sign-in link opens, without using it up: {token_hash, address_hash} to {state: '
  'open|active|expired|conflict|used|unknown, locale, brand}. Also draft_id once the link no longer opens the draft.';

create function api.use_sign_in_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  link   core.draft_links;
  draft  core.drafts;
  answer json;
begin
  perform private.act_as(caller, 'anyone');
  link := private.sign_in_link(request ->> 'token_hash');
  draft := private.enter_draft(link.draft_id, true);
  select * into link from core.draft_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  if link.used_by = decode(request ->> 'browser_hash', 'hex') and link.used_at > private.now() - interval '10 seconds'
      then
    -- a second click: the answer to the first never reached the browser
    link.used_at := null;
    request := request - 'browser_hash';
  end if;
  perform private.refuse_if('link_not_open', private.sign_in_link_state(link, draft) <> 'open'
                            or private.draft_state(draft) not in ('open', 'active'));
  if not private.ends_links(draft) then
    answer := private.prove_draft(draft, true, request);
  end if;
  update core.draft_links l set used_at = private.now(), used_by = decode(request ->> 'browser_hash', 'hex')
   where l.partner_id = link.partner_id and l.id = link.id;
  update core.drafts d set progress = d.progress || jsonb_build_object('return_url', link.return_url)
   where d.partner_id = draft.partner_id and d.id = draft.id and link.return_url is not null and d.status <> 'conflict';
  return coalesce(answer,
                  json_build_object('draft_id', draft.id, 'stage', case draft.status when 'active' then 'active'
                                                                        else 'claimed' end));
end $$;
comment on function api.use_sign_in_link(jsonb, jsonb) is
  'Uses up a sign-in link: {token_hash, browser_hash} to {draft_id, stage}. It begins a claim session until the '
  'customer types a code or signs. Makes no login. The browser may click twice.';
