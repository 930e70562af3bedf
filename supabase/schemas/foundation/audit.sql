-- The audit log: who did what, in the same transaction as the change.

create table core.audit_log (
  partner_id  uuid        not null,
  id          bigint generated always as identity,
  at          timestamptz not null default private.now(),
  actor       text        not null,
  action      text        not null,
  subject_id  uuid,
  details     jsonb       not null default '{}',
  request_id  text,
  constraint audit_log_pkey primary key (partner_id, id, at)
) partition by range (at);
comment on table core.audit_log is
  'One row per change somebody may have to account for. No personal data and no secrets in details. Append-only, kept seven years.';
comment on column core.audit_log.partner_id is 'The tenant it happened in; the house where it was in none: what the operator did to the service itself, and a person to their own login.';
-- serves: the history of one account, client or connection
create index audit_log_subject on core.audit_log (subject_id, id);
-- serves: the log in the pages of a partner, newest first
create index audit_log_partner on core.audit_log (partner_id, id desc) where actor ~ '^(partner|operator)';
alter table core.audit_log enable row level security;
create policy "api functions append, and read nothing" on core.audit_log
  for insert to api_owner with check (partner_id = coalesce(private.partner_id(), private.house()));
grant insert on core.audit_log to api_owner;
select private.partition_by_year('core.audit_log');

create function private.audit(action text, subject uuid default null, details jsonb default '{}') returns void
language plpgsql
set search_path = ''
as $$
begin
  insert into core.audit_log (actor, action, partner_id, subject_id, details, request_id)
  values (
    concat_ws(':', coalesce(nullif(current_setting('app.caller_kind', true), ''), 'unknown'),
                   coalesce(nullif(current_setting('app.user_id', true), ''), nullif(current_setting('app.client_id', true), ''))),
    action, coalesce(private.partner_id(), private.house()), subject,
    case when private.manager_id() is null then details else details || jsonb_build_object('manager_id', private.manager_id()) end,
    nullif(current_setting('app.request_id', true), ''));
end $$;
comment on function private.audit(text, uuid, jsonb) is 'Appends to the audit log in the same transaction as the change. Who acts for a partner is in details, as manager_id.';
grant execute on function private.audit(text, uuid, jsonb) to api_owner;
