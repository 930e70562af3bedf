-- The registration of a connection: concept, submitted, reviewed.

-- Writes an event for each of these CPO accounts that became ERE-eligible, or is not any more. Called after what can
-- close a gate.
create function private.note_eligibility(tenant uuid, accounts uuid[]) returns void
language plpgsql
as $$
declare
  turned private.occurrence[];
begin
  with now_so as (
    update core.accounts a set eligibility_announced = g.ere_eligible
      from core.account_gates g
     where a.partner_id = tenant and a.id = any (accounts) and a.client_id is not null
       and g.partner_id = tenant and g.account_id = a.id and g.ere_eligible <> a.eligibility_announced
    returning a.id, g.ere_eligible, g.checklist
  )
  select array_agg(row(n.id, null, jsonb_build_object('ere_eligible', n.ere_eligible,
                                                      'checklist', n.checklist))::private.occurrence order by n.id)
    into turned from now_so n;
  perform private.emit_all(tenant, 'account.eligibility_changed', turned) where turned is not null;
end $$;

-- Whether months before the end of a mandate may still be booked: not if the registration was rejected or never
-- submitted.
create function private.may_still_book(registration_status text) returns boolean
language sql immutable
return registration_status in ('ingediend', 'goedgekeurd');

-- Submits a registration. A CPO's account needs all gates, a person's a signature and a charger. corrected: it answers
-- a rejection.
create function private.advance_registration(account uuid, corrected boolean default false) returns void
language plpgsql
as $$
declare
  submitted uuid;
begin
  perform private.note_eligibility(private.partner_id(), array[account]);
  for submitted in
    update core.connections c
       set registration_status = 'ingediend', submitted_at = private.now()
      from core.connection_gates g
      join core.accounts a on a.partner_id = g.partner_id and a.id = g.account_id
     where g.account_id = account and g.partner_id = c.partner_id and g.connection_id = c.id
       and (c.registration_status = 'concept' or corrected and c.registration_status = 'afgekeurd')
       and case a.access_channel
             when 'user' then g.closed_for_submission = '{}' and exists (
               select from core.chargers h where h.partner_id = c.partner_id and h.connection_id = c.id
                   and h.status = 'active')
             else g.closed = '{}' end
    returning c.id
  loop
    perform private.emit('registration.submitted', account, submitted,
                         jsonb_build_object('connection_id', submitted, 'registration_status', 'ingediend'));
  end loop;
end $$;

-- Decides a submitted registration, its row locked: goedgekeurd or afgekeurd, and has the signatory told. The caller
-- checks the grounds.
create function private.review_registration(connection core.connections, verdict text) returns void
language plpgsql
as $$
begin
  update core.connections c set registration_status = verdict, reviewed_at = private.now()
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('registration.reviewed', connection.id, jsonb_build_object('verdict', verdict));
  perform private.emit(case verdict when 'goedgekeurd' then 'registration.approved' else 'registration.rejected' end,
                       connection.account_id, connection.id,
                       jsonb_build_object('connection_id', connection.id, 'registration_status', verdict));
  perform private.notify(connection.account_id, case verdict when 'goedgekeurd' then 'registration_approved'
                                                     else 'registration_rejected' end,
                         'registration:' || connection.id || ':' || private.iso(connection.submitted_at),
                         case verdict when 'afgekeurd'
                              then jsonb_build_object('grounds', private.grounds_to_reject(connection)) else '{}' end,
                         connection.id);
end $$;
