-- Drafts: a partner uploads and withdraws them, and a customer turns one into an account.

-- The status as of now: an invited draft has expired after its last moment, even before the job notes it.
create function private.draft_status(draft core.drafts) returns text
language sql stable
return case when draft.status = 'invited' and draft.expires_at <= private.now() then 'expired' else draft.status end;

create function private.draft_login(draft core.drafts, out user_id uuid, out empty boolean)
language plpgsql stable security definer
as $$
begin
  user_id := coalesce(draft.user_id,
                      (select u.id from auth.users u where u.email = draft.email and u.is_sso_user = false));
  empty := not exists (select from core.accounts a join core.connections c on c.partner_id = a.partner_id
                       and c.account_id = a.id
                        where a.partner_id = private.people_tenant()
                            and (a.id = draft.account_id or a.user_id = draft_login.user_id));
end $$;
comment on function private.draft_login(core.drafts) is
  'The login of a draft''s customer, and whether their account has no connection yet. Definer, because logins belong '
  'to Auth and accounts to the people''s tenant.';

create function private.release_customer(person uuid, partner uuid) returns void
language sql security definer
as $$
  delete from core.attributions a
   where a.user_id = person and a.partner_id = partner and a.source in ('partner_upload', 'partner_invite')
     and not exists (select from core.accounts b where b.user_id = person)
$$;
comment on function private.release_customer(uuid, uuid) is
  'Unlinks from its partner a login that a claimed draft made; the login stays. Definer, because attributions are '
  'otherwise only read.';

create function private.drop_waiting_mail(draft uuid) returns void
language sql security definer
as $$
  delete from core.one_time_codes c where c.subject = 'claim:' || draft;
  delete from core.mail_outbox m
   where m.partner_id = private.partner_id() and m.status = 'queued' and m.cause like 'claim%:' || draft || '%'
$$;
comment on function private.drop_waiting_mail(uuid) is
  'Deletes the code of a draft, and its mail that was not sent yet. Definer, because the outbox is otherwise only '
  'written.';

create function private.withdraw(named uuid) returns text
language plpgsql
as $$
declare
  draft core.drafts;
begin
  -- waits for a claim that runs now, and sees its result
  select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = named for update;
  if draft.id is null then
    return 'draft_not_found';
  elsif draft.status = 'active' then
    return 'draft_active';
  end if;
  delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.release_customer(draft.user_id, draft.partner_id), private.drop_waiting_mail(draft.id);
  perform private.audit('draft.withdrawn', draft.id, jsonb_build_object('status', private.draft_status(draft)));
  return 'withdrawn';
end $$;
comment on function private.withdraw(uuid) is
  'Deletes a draft, its links and its waiting mail, and unlinks a login it made. An audit row without personal data '
  'stays. Returns withdrawn, draft_not_found or draft_active.';

create function api.withdraw_draft(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  outcome text;
begin
  perform private.act_as(caller, 'partner');
  outcome := private.withdraw((input ->> 'draft_id')::uuid);
  perform private.refuse_if('draft_not_found', outcome = 'draft_not_found', json_build_object('code', outcome));
  perform private.refuse_if('draft_active', outcome = 'draft_active', json_build_object('code', outcome));
  return json_build_object('ok', true);
end $$;
comment on function api.withdraw_draft(jsonb, jsonb) is
  'POST /partner/drafts/withdraw: {draft_id}. Refused with draft_not_found, draft_active.';

create function private.own_drafts() returns json
language plpgsql stable security definer
as $$ begin return (select coalesce(json_agg(d.id), '[]') from core.drafts d where d.user_id = private.user_id()
                    and d.status = 'active'); end $$;
comment on function private.own_drafts() is
  'The signed claims of this transaction''s person. Definer, as private.own_draft.';
