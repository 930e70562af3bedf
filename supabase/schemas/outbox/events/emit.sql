-- Writing an event: beside private.audit, in the transaction of the change. The owner of what changed decides who is
-- told.

-- Tells packages/shared/src/foundation/db.ts that mail or events wait. After the commit it has the worker send them.
create function private.kick() returns void
language plpgsql
as $$ begin raise notice 'outbox'; end $$;

-- private.kick if an enabled endpoint is sent the events of this log.
create function private.kick_for(partner uuid, owner uuid) returns void
language plpgsql
as $$
begin
  if exists (select from core.webhook_endpoints e where e.partner_id = partner and e.owner_id = owner
             and e.status = 'enabled') then
    perform private.kick();
  end if;
end $$;

create function private.append_event(
  partner uuid, owner uuid, type text, subject uuid, data jsonb default '{}', customer uuid default null,
      account uuid default null) returns void
language plpgsql security definer
as $$
begin
  insert into core.events (partner_id, owner_id, type, account_id, user_id, subject_id, data, request_id)
  values (partner, owner, append_event.type, account, customer, subject, append_event.data,
          nullif(current_setting('app.request_id', true), ''));
  perform private.kick_for(partner, owner);
end $$;
comment on function private.append_event(uuid, uuid, text, uuid, jsonb, uuid, uuid) is
  'Writes an event into one log. Definer, because events are otherwise only read, and a partner is told of people in '
  'the people''s tenant.';

-- Whether a partner is told this event of a customer whom it brought in this way.
create function private.announced_to_partner(type text, source text) returns boolean
language sql immutable
-- what GET /partner/customers shows: no gates, no EAN, no months, and where somebody stands with their registration
-- only if the partner uploaded or invited them
return type in ('mandate.signed', 'mandate.renewed', 'mandate.revoked', 'mandate.expired', 'charger.registered',
                'charger.connected',
                'charger.mid_confirmed')
       or (type like 'registration.%' or type = 'mandate.mail_failed')
          and source in ('partner_upload', 'partner_invite');

-- The part of an event's data that a partner is told of a customer.
create function private.customer_data(data jsonb) returns jsonb
language sql immutable
return jsonb_strip_nulls(jsonb_build_object('registration_status', data -> 'registration_status',
                                            'mid_eligible', data -> 'mid_eligible', 'reason', data -> 'reason'));

create function private.emit_all(tenant uuid, type text, occurrences private.occurrence[]) returns void
language plpgsql security definer
as $$
declare
  log record;
begin
  for log in
    with announced as (
      select a.partner_id, a.client_id as owner_id, a.id as account_id, null::uuid as user_id, o.subject_id,
          o.data, o.place
        from unnest(occurrences) with ordinality as o (account_id, subject_id, data, place)
        join core.accounts a on a.partner_id = tenant and a.id = o.account_id and a.client_id is not null
      union all
      select t.partner_id, t.partner_id, a.id, t.user_id, o.subject_id, private.customer_data(o.data), o.place
        from unnest(occurrences) with ordinality as o (account_id, subject_id, data, place)
        join core.accounts a on a.partner_id = tenant and a.id = o.account_id
        join core.attributions t on t.user_id = a.user_id
       where tenant = private.people_tenant() and private.announced_to_partner(emit_all.type, t.source)
    ), written as (
      insert into core.events (partner_id, owner_id, type, account_id, user_id, subject_id, data, request_id)
      select t.partner_id, t.owner_id, emit_all.type, t.account_id, t.user_id, t.subject_id, t.data,
          nullif(current_setting('app.request_id', true), '')
        from announced t order by t.place
      returning partner_id, owner_id)
    select distinct w.partner_id, w.owner_id from written w
  loop
    perform private.kick_for(log.partner_id, log.owner_id);
  end loop;
end $$;
comment on function private.emit_all(uuid, text, private.occurrence[]) is
  'Writes an event of each occurrence, into the log of the account''s client, or of the person''s partner. Definer, '
  'because people are in the people''s tenant and their partner is another tenant.';

create function private.emit_of(tenant uuid, type text, account uuid, subject uuid, data jsonb) returns void
language plpgsql security definer
as $$
declare
  client uuid;
  person uuid;
begin
  select a.client_id, a.user_id into client, person from core.accounts a where a.partner_id = tenant and a.id = account;
  if client is not null then
    perform private.append_event(tenant, client, emit_of.type, subject, emit_of.data, null, account);
  else
    perform private.append_event(t.partner_id, t.partner_id, emit_of.type, subject, private.customer_data(emit_of.data),
                                 t.user_id, account)
       from core.attributions t where t.user_id = person and private.announced_to_partner(emit_of.type, t.source);
  end if;
end $$;
comment on function private.emit_of(uuid, text, uuid, uuid, jsonb) is
  'private.emit_all for one occurrence, with plans that are kept. Definer, as private.emit_all.';

-- Writes an event of an account of this tenant. Not for what a client itself asked for: it has the answer.
create function private.emit(type text, account uuid, subject uuid, data jsonb) returns void
language plpgsql
as $$
begin
  perform private.emit_of(private.partner_id(), emit.type, account, subject, emit.data);
end $$;

-- Writes an event of a draft of this tenant, with its new status.
create function private.emit_draft(type text, draft uuid, status text) returns void
language plpgsql
as $$
begin
  perform private.append_event(private.partner_id(), private.partner_id(), emit_draft.type, draft,
                               jsonb_build_object('status', emit_draft.status));
end $$;

create function private.announce_sharing_ended() returns trigger
language plpgsql security definer
as $$
begin
  perform private.append_event(old.partner_id, old.partner_id, 'customer.sharing_ended', null,
                               jsonb_build_object('external_ref', old.external_ref), old.user_id);
  return null;
end $$;
comment on function private.announce_sharing_ended() is
  'Tells the partner that a customer left; the event keeps the reference of the attribution. A trigger, because '
  'Supabase Auth may delete the login and with it the attribution. Definer, as private.append_event.';
-- a partner knows of its own reset or withdrawal
create trigger announce_sharing_ended after delete on core.attributions for each row
  when (current_setting('app.caller_kind',
                        true) is distinct from 'partner') execute function private.announce_sharing_ended();
