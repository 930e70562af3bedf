-- POST /partner/drafts/withdraw.

create function private.withdraw(named uuid) returns text
language plpgsql
as $$
declare
  draft core.drafts;
begin
  -- waits for a claim under way, and sees what came of it
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
  'Deletes a draft, its links and its waiting mail, and unlinks a login it made. An audit row without personal data stays. Returns withdrawn, draft_not_found or draft_active.';

create function api.withdraw_draft(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  became text;
begin
  perform private.act_as(caller, 'partner');
  became := private.withdraw((input ->> 'draft_id')::uuid);
  perform private.refuse_if('draft_not_found', became = 'draft_not_found', json_build_object('code', became));
  perform private.refuse_if('draft_active', became = 'draft_active', json_build_object('code', became));
  return json_build_object('ok', true);
end $$;
comment on function api.withdraw_draft(jsonb, jsonb) is 'POST /partner/drafts/withdraw: {draft_id}. Refused with draft_not_found, draft_active.';
