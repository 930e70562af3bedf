-- The audit log: who did what, in the same transaction as the change.

create table core.audit_log (
  id          bigint generated always as identity,
  at          timestamptz not null default private.now(),
  actor       text        not null,
  action      text        not null,
  partner_id  uuid,
  subject_id  uuid,
  details     jsonb       not null default '{}',
  request_id  text,
  constraint audit_log_pkey primary key (id)
);
comment on table core.audit_log is
  'One row per change somebody may have to account for. No personal data and no secrets in details. Append-only, kept seven years.';
-- serves: the history of one account, client or connection
create index audit_log_subject on core.audit_log (subject_id, id);
alter table core.audit_log enable row level security;
create policy "api functions append, and read nothing" on core.audit_log
  for insert to api_owner with check (partner_id is not distinct from (select private.partner_id()));
grant insert on core.audit_log to api_owner;

create function private.audit(action text, subject uuid default null, details jsonb default '{}') returns void
language sql
set search_path = ''
as $$
  insert into core.audit_log (actor, action, partner_id, subject_id, details, request_id)
  values (
    concat_ws(':', coalesce(nullif(current_setting('app.caller_kind', true), ''), 'unknown'),
                   coalesce(nullif(current_setting('app.user_id', true), ''), nullif(current_setting('app.client_id', true), ''))),
    action, private.partner_id(), subject, details, nullif(current_setting('app.request_id', true), ''))
$$;
comment on function private.audit(text, uuid, jsonb) is 'Appends to the audit log in the same transaction as the change.';
grant execute on function private.audit(text, uuid, jsonb) to api_owner;
