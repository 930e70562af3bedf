-- Writing an event: beside private.audit, in the transaction of the change. Who is told follows from whose it is.

create type private.occurrence as (account_id uuid, subject_id uuid, data jsonb);
comment on type private.occurrence is 'Something that happened to an account: what exactly of it (a connection, a charger), and what an event says of it.';

create function private.kick() returns void
language plpgsql
set search_path = ''
as $$ begin raise notice 'outbox'; end $$;
comment on function private.kick() is
  'Says to the function that runs this statement that mail or events wait: it has the worker send them once the statement is committed (packages/shared/src/foundation/db.ts).';
grant execute on function private.kick() to api_owner;

create function private.kick_for(partner uuid, owner uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  if exists (select from core.webhook_endpoints e where e.partner_id = partner and e.owner_id = owner and e.status = 'enabled') then
    perform private.kick();
  end if;
end $$;
comment on function private.kick_for(uuid, uuid) is 'private.kick where somebody is sent the events of this log.';

create function private.tell(partner uuid, owner uuid, type text, subject uuid, data jsonb default '{}', customer uuid default null) returns void
language plpgsql security definer
set search_path = ''
as $$
begin
  insert into core.events (partner_id, owner_id, type, user_id, subject_id, data, request_id)
  values (partner, owner, tell.type, customer, subject, tell.data, nullif(current_setting('app.request_id', true), ''));
  perform private.kick_for(partner, owner);
end $$;
comment on function private.tell(uuid, uuid, text, uuid, jsonb, uuid) is
  'Writes an event into one log. Definer, because events are otherwise only read, and what happens to a person in the house is told to a partner.';
grant execute on function private.tell(uuid, uuid, text, uuid, jsonb, uuid) to api_owner;

create function private.emit_all(tenant uuid, type text, occurrences private.occurrence[]) returns void
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  log record;
begin
  for log in
    with told as (
      select a.partner_id, a.client_id as owner_id, a.id as account_id, null::uuid as user_id, o.subject_id, o.data, o.place
        from unnest(occurrences) with ordinality as o (account_id, subject_id, data, place)
        join core.accounts a on a.partner_id = tenant and a.id = o.account_id and a.client_id is not null
      union all
      -- of its customers a partner is told what GET /partner/customers shows: no gates, no EAN, no months, and where somebody stands with
      -- their registration only if it uploaded or invited them
      select t.partner_id, t.partner_id, a.id, t.user_id, o.subject_id,
             jsonb_strip_nulls(jsonb_build_object('registration_status', o.data -> 'registration_status', 'mid_eligible', o.data -> 'mid_eligible')), o.place
        from unnest(occurrences) with ordinality as o (account_id, subject_id, data, place)
        join core.accounts a on a.partner_id = tenant and a.id = o.account_id
        join core.attributions t on t.user_id = a.user_id
       where tenant = private.house()
         and (emit_all.type in ('mandate.signed', 'mandate.renewed', 'mandate.revoked', 'mandate.expired', 'charger.registered', 'charger.mid_confirmed')
              or emit_all.type like 'registration.%' and t.source in ('partner_upload', 'partner_invite'))
    ), written as (
      insert into core.events (partner_id, owner_id, type, account_id, user_id, subject_id, data, request_id)
      select t.partner_id, t.owner_id, emit_all.type, t.account_id, t.user_id, t.subject_id, t.data, nullif(current_setting('app.request_id', true), '')
        from told t order by t.place
      returning partner_id, owner_id)
    select distinct w.partner_id, w.owner_id from written w
  loop
    perform private.kick_for(log.partner_id, log.owner_id);
  end loop;
end $$;
comment on function private.emit_all(uuid, text, private.occurrence[]) is
  'Writes an event of each occurrence in a tenant: into the log of the client whose account it is, or of the partner who brought the person. Definer, because people are in the house and their partner is another tenant.';
grant execute on function private.emit_all(uuid, text, private.occurrence[]) to api_owner;

create function private.emit(type text, account uuid, subject uuid, data jsonb) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.emit_all(private.partner_id(), emit.type, array[row(account, subject, emit.data)::private.occurrence]);
end $$;
comment on function private.emit(text, uuid, uuid, jsonb) is
  'Writes an event of an account of this tenant, in the same transaction as the change. Not for what a client asked for by name: it has the answer.';
grant execute on function private.emit(text, uuid, uuid, jsonb) to api_owner;

create function private.emit_draft(type text, draft uuid, status text) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.tell(private.partner_id(), private.partner_id(), emit_draft.type, draft, jsonb_build_object('status', emit_draft.status));
end $$;
comment on function private.emit_draft(text, uuid, text) is 'Writes an event of a draft of this tenant, with the status that it now has.';
grant execute on function private.emit_draft(text, uuid, text) to api_owner;

create function private.tell_sharing_ended() returns trigger
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.tell(old.partner_id, old.partner_id, 'customer.sharing_ended', null, '{}', old.user_id);
  return null;
end $$;
comment on function private.tell_sharing_ended() is
  'A customer does not belong to the partner any more. A trigger, because it may end with the login, which is for Supabase Auth to delete. Definer, as private.tell.';
