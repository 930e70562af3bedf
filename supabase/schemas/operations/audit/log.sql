-- The audit log: who did what, in the same transaction as the change.

-- Appends to the audit log in the same transaction as the change. details has the person who acts for a partner, as
-- manager_id.
create function private.audit(action text, subject uuid default null, details jsonb default '{}') returns void
language plpgsql
as $$
begin
  insert into core.audit_log (actor, action, partner_id, subject_id, details, request_id)
  values (
    concat_ws(':', coalesce(nullif(current_setting('app.caller_kind', true), ''), 'unknown'),
                   coalesce(nullif(current_setting('app.user_id', true), ''),
                            nullif(current_setting('app.client_id', true), ''))),
    action, coalesce(private.partner_id(), private.people_tenant()), subject,
    case when private.manager_id() is null then details
         else details || jsonb_build_object('manager_id', private.manager_id()) end,
    nullif(current_setting('app.request_id', true), ''));
end $$;
