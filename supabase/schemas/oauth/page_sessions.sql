-- Browsers in which a person is signed in to their own pages: longer than a session JWT lasts, and no longer than the session it came of.

create table core.page_sessions (
  token_hash         bytea       not null,
  user_id            uuid        not null,
  sign_in_session_id uuid        not null,
  created_at         timestamptz not null default private.now(),
  expires_at         timestamptz not null default private.now() + interval '12 hours',
  constraint page_sessions_pkey primary key (token_hash),
  constraint page_sessions_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade
);
comment on table core.page_sessions is
  'A browser in which a person is signed in to their pages, by the SHA-256 of its cookie: twelve hours, and only while the session of Supabase Auth that it came of is there, so that signing out everywhere, a new password and a ban end it too. Ends by signing out, or with the next clean-up.';
comment on column core.page_sessions.sign_in_session_id is 'The row of auth.sessions; no foreign key, because Supabase Auth deletes its rows as it likes.';
-- serves: the clean-up
create index page_sessions_expiry on core.page_sessions (expires_at);
-- serves: the deletion of a login
create index page_sessions_user on core.page_sessions (user_id);
alter table core.page_sessions enable row level security;
create policy "a person reaches their own browsers" on core.page_sessions to api_owner
  using (user_id = (select private.user_id())) with check (user_id = (select private.user_id()));
grant select, insert, delete on core.page_sessions to api_owner;

create function private.admit_page_session(credential jsonb, demand jsonb) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  shown    core.page_sessions;
  admitted jsonb;
  partner  uuid;
begin
  select * into shown from core.page_sessions s
   where s.token_hash = decode(credential ->> 'token_hash', 'hex') and s.expires_at > private.now();
  if demand ->> 'kind' is distinct from 'partner' then
    return private.admit_signed_in(shown.user_id, shown.sign_in_session_id, demand);
  end if;
  admitted := private.admit_signed_in(shown.user_id, shown.sign_in_session_id, demand || '{"kind": "session"}');
  partner := private.managed_partner(shown.user_id);
  if partner is null then
    perform private.turn_away('no_partner_linked');
  end if;
  return jsonb_set(admitted, '{caller}', admitted -> 'caller' || jsonb_build_object(
    'kind', 'partner', 'partner_id', partner, 'manager_id', shown.user_id, 'user_id', null));
end $$;
comment on function private.admit_page_session(jsonb, jsonb) is
  'A browser in which a person is signed in to their pages: {token_hash}. As good as the session of Supabase Auth that it came of, and no better. Where pages of a partner are asked for, the person acts for the partner that they manage. Definer, as all of admission.';

create function api.begin_page_session(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'session');
  insert into core.page_sessions (token_hash, user_id, sign_in_session_id)
  values (private.claim_token_hash(request ->> 'token_hash'), private.user_id(), (request ->> 'sign_in_session_id')::uuid);
  return json_build_object('ok', true);
end $$;
comment on function api.begin_page_session(jsonb, jsonb) is
  'Who has just signed in goes to their pages: {token_hash, sign_in_session_id}. The id is that of the session JWT by which they were admitted.';
select private.expose('api.begin_page_session(jsonb, jsonb)');

create function api.end_page_session(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'session');
  delete from core.page_sessions s where s.user_id = private.user_id() and s.token_hash = decode(request ->> 'token_hash', 'hex');
  return json_build_object('draft_ids', private.own_drafts());
end $$;
comment on function api.end_page_session(jsonb, jsonb) is
  'Signs a browser out: {token_hash} to {draft_ids}, the claims of the person that the browser may have been led to.';
select private.expose('api.end_page_session(jsonb, jsonb)');
