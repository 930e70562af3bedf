-- Browsers that are signed in to own pages. With a login they last as long as its session. A signatory has an address,
-- proved by a code.

-- Admits a browser in which a person is signed in: {token_hash}. On pages of a partner, the person acts for the one
-- that they manage.
create function private.admit_page_session(credential jsonb, demand jsonb) returns jsonb
language plpgsql
as $$
declare
  shown    core.page_sessions;
  admitted jsonb;
  partner  uuid;
begin
  select * into shown from core.page_sessions s
   where s.token_hash = decode(credential ->> 'token_hash', 'hex') and s.expires_at > private.now();
  if demand ->> 'kind' is distinct from 'partner' then
    if shown.user_id is null and shown.signatory is not null then
      -- as long as they sign for an account; of no tenant, so that row-level security shows them nothing
      if not private.signs(shown.signatory) then
        perform private.refuse_admission('missing_or_invalid_token');
      elsif demand ->> 'kind' is distinct from 'session' then
        perform private.refuse_admission('wrong_kind');
      end if;
      return jsonb_build_object(
        'caller', jsonb_build_object('kind', 'signatory', 'signatory', shown.signatory,
                                     'signed_in_at', shown.created_at),
        'subject', 'signatory:' || encode(sha256(convert_to(shown.signatory, 'UTF8')), 'hex'));
    end if;
    return jsonb_set(private.admit_signed_in(shown.user_id, shown.sign_in_session_id, demand), '{caller,signatory}',
                     coalesce(to_jsonb(shown.signatory), 'null'));
  end if;
  admitted := private.admit_signed_in(shown.user_id, shown.sign_in_session_id, demand || '{"kind": "session"}');
  partner := private.managed_partner(shown.user_id);
  if partner is null then
    perform private.refuse_admission('no_partner_linked');
  end if;
  return jsonb_set(admitted, '{caller}', admitted -> 'caller' || jsonb_build_object(
    'kind', 'partner', 'partner_id', partner, 'manager_id', shown.user_id, 'user_id', null));
end $$;

create function private.begin_signatory_session(token_hash text, address text) returns boolean
language plpgsql security definer
as $$
begin
  if not private.signs(address) then
    return false;
  end if;
  insert into core.page_sessions (token_hash, signatory)
    values (private.reserve_token_hash(begin_signatory_session.token_hash), address);
  return true;
end $$;
comment on function private.begin_signatory_session(text, text) is
  'Signs a browser that proved an address by a code in as the signatory there; false if there is none. Definer, '
  'because nobody is signed in yet.';

create function private.take_signatory(token_hash text, person uuid) returns text
language plpgsql security definer
as $$
declare
  address text;
begin
  delete from core.page_sessions s
   where s.token_hash = decode(take_signatory.token_hash, 'hex') and s.user_id is null
     and s.signatory = (private.user_profile(person)).email
  returning s.signatory into address;
  return address;
end $$;
comment on function private.take_signatory(text, uuid) is
  'Takes the address that a browser proved as a signatory, if the person''s login has it too. The new page session '
  'replaces that row. Definer, because the row is of no person.';

create function private.end_signatory_session(token_hash text) returns void
language sql security definer
as $$
  delete from core.page_sessions s
   where s.token_hash = decode(end_signatory_session.token_hash, 'hex') and s.user_id is null
       and s.signatory = private.signatory()
$$;
comment on function private.end_signatory_session(text) is
  'Signs a signatory out. Definer, because the row is of no person.';

-- Ends the sign-in of a browser of the person, on all the pages that it was let on to.
create function private.end_sign_in(token_hash text) returns void
language sql
as $$
  delete from core.page_sessions s using core.page_sessions o
   where o.token_hash = decode(end_sign_in.token_hash, 'hex') and o.user_id = private.user_id()
     and s.user_id = o.user_id and s.sign_in_session_id = o.sign_in_session_id
$$;

create function api.begin_page_session(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'session');
  -- signing out would not find what the sign-in before it opened
  perform private.end_sign_in(request ->> 'before_hash');
  insert into core.page_sessions (token_hash, user_id, sign_in_session_id, signatory)
  values (private.reserve_token_hash(request ->> 'token_hash'), private.user_id(),
          (request ->> 'sign_in_session_id')::uuid,
          private.take_signatory(request ->> 'signatory_hash', private.user_id()));
  return json_build_object('ok', true);
end $$;
comment on function api.begin_page_session(jsonb, jsonb) is
  'Begins the page session of a person who just signed in: {token_hash, sign_in_session_id, signatory_hash?, '
  'before_hash}. sign_in_session_id is of the session JWT that admitted them. signatory_hash is of the page session '
  'that their code began, and that this one replaces. before_hash is of the cookie that the browser had: if that is of '
  'the same person, its sign-in ends.';

create function api.share_page_session(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'session');
  insert into core.page_sessions (token_hash, user_id, sign_in_session_id, signatory, expires_at)
  select private.reserve_token_hash(request ->> 'new_token_hash'), s.user_id, s.sign_in_session_id, s.signatory,
         s.expires_at
    from core.page_sessions s
   where s.token_hash = decode(request ->> 'token_hash', 'hex') and s.user_id = private.user_id();
  return json_build_object('ok', true);
end $$;
comment on function api.share_page_session(jsonb, jsonb) is
  'Lets a browser that is signed in on to the person''s other pages: {token_hash, new_token_hash}. Same sign-in, same '
  'end, and each page looks up itself what the person may. An address that they proved as a signatory comes along, so '
  'that it is there when they come back.';

create function api.end_page_session(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'session', 'signatory');
  perform private.end_signatory_session(request ->> 'token_hash');
  perform private.end_sign_in(request ->> 'token_hash');
  return json_build_object('draft_ids', private.own_drafts());
end $$;
comment on function api.end_page_session(jsonb, jsonb) is
  'Signs a browser out: {token_hash} to {draft_ids}, the person''s claims that the browser may have opened.';
