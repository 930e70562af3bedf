-- POST /sandbox/v1/reset, and the customer that a fixture replaces.

-- Deletes accounts of the people's tenant with everything below them. Their rows are locked; only
-- private.erase_customers runs it.
create function private.erase_accounts(accounts uuid[], chargers uuid[], connections uuid[]) returns void
language plpgsql
as $$
declare
  people_tenant constant uuid := private.people_tenant();
  locations     constant uuid[] := array(
    select distinct c.location_id from core.connections c where c.partner_id = people_tenant
        and c.id = any (connections));
begin
  perform private.erase_bookings(people_tenant, accounts);
  delete from core.replaced_charging_sessions r where r.partner_id = people_tenant and r.charger_id = any (chargers);
  delete from core.charger_months m where m.partner_id = people_tenant and m.charger_id = any (chargers);
  delete from core.charging_evidence e where e.partner_id = people_tenant and e.charger_id = any (chargers);
  delete from core.kept_evidence k where k.partner_id = people_tenant and k.source_id = any (chargers);
  delete from core.charging_sessions s where s.partner_id = people_tenant and s.charger_id = any (chargers);
  delete from core.virtual_chargers v where v.partner_id = people_tenant and v.charger_id = any (chargers);
  delete from core.delivered_months d where d.partner_id = people_tenant and d.connection_id = any (connections);
  delete from core.notices n where n.partner_id = people_tenant and n.account_id = any (accounts);
  delete from core.documents d where d.partner_id = people_tenant and d.account_id = any (accounts);
  delete from core.mandates m where m.partner_id = people_tenant and m.connection_id = any (connections);
  delete from core.mandate_links l where l.partner_id = people_tenant and l.connection_id = any (connections);
  delete from core.ean_checks e where e.partner_id = people_tenant and e.connection_id = any (connections);
  delete from core.chargers h where h.partner_id = people_tenant and h.id = any (chargers);
  delete from core.connections c where c.partner_id = people_tenant and c.id = any (connections);
  delete from core.locations l
   where l.partner_id = people_tenant and l.id = any (locations)
     and not exists (select from core.connections c where c.partner_id = people_tenant and c.location_id = l.id);
  delete from core.signatories s where s.partner_id = people_tenant and s.account_id = any (accounts);
  delete from core.accounts a where a.partner_id = people_tenant and a.id = any (accounts);
end $$;

create function private.erase_customers(partner uuid, chosen uuid[], key text, out customers bigint, out drafts bigint)
language plpgsql security definer
as $$
declare
  people_tenant constant uuid := private.people_tenant();
  everything    constant boolean := chosen is null;
  gone          core.drafts[];
  people        uuid[];
  logins        uuid[];
  accounts      uuid[];
  chargers      uuid[];
  connections   uuid[];
begin
  -- before any row, as who prepares a payout does
  perform private.only_in_sandbox(), private.lock_payouts_of(partner);
  -- waits for requests under way on these drafts, to see what they changed
  gone := array(select d from core.drafts d where d.partner_id = partner and (everything or d.id = any (chosen))
                order by d.id for update);
  people := array(
    select d.user_id from unnest(gone) d where d.user_id is not null
    union select a.user_id from core.attributions a where everything and a.partner_id = partner
    -- a withdrawn draft leaves its login behind
    union select u.id from auth.users u where everything and u.raw_app_meta_data ->> 'claimed_for' = partner::text);
  -- a login is deleted only where a claim of this partner made it and nobody else relies on it
  logins := array(
    select u.id from auth.users u
     where u.id = any (people) and u.raw_app_meta_data ->> 'claimed_for' = partner::text
       and not exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
       and not exists (select from core.partner_managers m where m.user_id = u.id));
  accounts := array(
    select a.id from core.accounts a
     where a.partner_id = people_tenant and (a.id = any (array(select d.account_id from unnest(gone) d))
                                             or a.user_id = any (logins))
     order by a.id for update);
  perform private.lock_bookings_of(private.people_tenant(), accounts);
  -- an opt-out outlives its draft; what remembers a draft that was withdrawn is the mail by which its customer opted
  -- out
  perform private.forget_opt_outs(array(
    select d.email from unnest(gone) d
    union select u.email from auth.users u where u.id = any (people)
    union select m.recipient from core.mail_outbox m where everything and m.partner_id = partner
        and m.cause like 'claim%'), key, partner);
  -- locked in the order in which charging sessions lock them
  perform from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
    where v.partner_id = people_tenant and (h.account_id = any (accounts) or h.user_id = any (logins))
        order by v.id for update of v;
  chargers := array(select h.id from core.chargers h
                     where h.partner_id = people_tenant and (h.account_id = any (accounts) or h.user_id = any (logins))
                         order by h.id for update);
  connections := array(select c.id from core.connections c where c.partner_id = people_tenant
                       and c.account_id = any (accounts) order by c.id for update);

  perform private.erase_accounts(accounts, chargers, connections);

  -- what was written about drafts; the mandates of CPO accounts may have gone to the same people
  delete from core.mail_outbox m
   where m.partner_id = partner and m.cause like 'claim%'
     and (everything or m.recipient = any (array(select d.email from unnest(gone) d)));
  delete from core.mail_outbox m using auth.users u where u.id = any (logins) and m.partner_id = people_tenant
      and m.recipient = u.email;
  delete from core.one_time_codes c where c.subject = any (array(select 'claim:' || g.id from unnest(gone) g));
  delete from core.drafts d where d.partner_id = partner and d.id = any (array(select g.id from unnest(gone) g));
  drafts := cardinality(gone);
  -- deleted drafts do not count toward the cap
  delete from core.draft_uploads u
   where u.partner_id = partner
     and (everything or u.id in (select n.id from core.draft_uploads n where n.partner_id = partner
                                 order by n.id desc limit drafts));
  delete from core.imports i where everything and i.partner_id = partner;
  with ended as (delete from core.attributions a where a.partner_id = partner and a.user_id = any (people) returning 1)
  select count(*) into customers from ended;
  delete from core.ended_attributions a where a.partner_id = partner and (everything or a.user_id = any (people));
  -- a code that waits would make a login that nobody knows to be this partner's
  delete from core.one_time_codes c using auth.users u where u.id = any (logins) and c.email = u.email
      and starts_with(c.subject, 'browser:');
  delete from auth.users u where u.id = any (logins);
end $$;
comment on function private.erase_customers(uuid, uuid[], text) is
  'Deletes a partner''s drafts, those chosen or (null) all, with accounts and all below them, mail, logins and '
  'opt-outs. key finds the opt-outs. A person with a login of their own keeps it, and leaves the partner. Definer, '
  'because customers are in the people''s tenant and logins in Auth.';

create function api.reset_sandbox(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- a running import ends before the reset, or starts after it
  perform private.lock('imports', private.partner_id()::text);
  select * into erased from private.erase_customers(private.partner_id(), null, input ->> 'key');
  perform private.erase_books(private.partner_id());
  delete from core.charger_names n where n.partner_id = private.partner_id();
  delete from core.parked_charging p where p.partner_id = private.partner_id();
  delete from core.uploads u where u.partner_id = private.partner_id();
  delete from core.ocpi_cdrs c where c.partner_id = private.partner_id();
  delete from core.ocpi_connections c where c.partner_id = private.partner_id();
  perform private.audit('sandbox.reset', private.partner_id(),
                        jsonb_build_object('customers', erased.customers, 'drafts', erased.drafts));
  return json_build_object('ok', true, 'customers_deleted', erased.customers, 'drafts_deleted', erased.drafts);
end $$;
comment on function api.reset_sandbox(jsonb, jsonb) is
  'POST /sandbox/v1/reset: {key}. Deletes the partner''s customers and drafts, what was booked and sold of its CPO '
  'accounts, the names of its chargers, parked sessions, uploads and OCPI connections, in one transaction. These '
  'accounts and their chargers, sessions, months, keys and settings stay.';
grant execute on function api.reset_sandbox(jsonb, jsonb) to edge_slow;

create function api.clear_fixture(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into erased from private.erase_customers(private.partner_id(), array(
    select d.id from core.drafts d where d.partner_id = private.partner_id()
        and d.external_ref = input ->> 'external_ref'), input ->> 'key');
  perform private.forget_opt_outs(array[input ->> 'email'], input ->> 'key', private.partner_id());
  return json_build_object('drafts_deleted', erased.drafts);
end $$;
comment on function api.clear_fixture(jsonb, jsonb) is
  'Makes room for a fixture: {external_ref, email, key}. Deletes the drafts with that reference, their customers, and '
  'the opt-out of that address.';
