-- POST /partner/drafts/withdraw.

create function api.withdraw_draft(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'partner');
  -- waits for a claim under way, and sees what came of it
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = (input ->> 'draft_id')::uuid for update;
  perform private.refuse_if('draft_not_found', draft.id is null, json_build_object('code', 'draft_not_found'));
  perform private.refuse_if('draft_active', draft.status = 'active', json_build_object('code', 'draft_active'));
  delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.release_customer(draft.user_id, draft.partner_id), private.drop_waiting_mail(draft.id);
  perform private.audit('draft.withdrawn', draft.id, jsonb_build_object('status', private.draft_status(draft)));
  return json_build_object('ok', true);
end $$;
comment on function api.withdraw_draft(jsonb, jsonb) is
  'POST /partner/drafts/withdraw: {draft_id}. Deletes the draft, its links and its waiting mail, and unlinks a login it made. An audit row without personal data stays.';
