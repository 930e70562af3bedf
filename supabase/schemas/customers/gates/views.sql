-- The gates of eligibility, computed here and nowhere else. packages/shared/src/values/gates.ts has the same list, and
-- says what each means.

-- Each gate in the order of the checklist. Besides eligibility it may be needed for a person's own submission, an
-- approval or a booking.
create function private.gates(mandate_status text, ean_status text, has_mid_charger boolean, has_iban boolean)
returns table (name text, holds boolean, needed_for text[])
language sql immutable
begin atomic
  values ('mandate_signed',         coalesce(mandate_status = 'signed', false),
          '{submission,approval}'::text[]),
         ('ean_validated',          coalesce(ean_status in ('matched', 'manual'), false),      '{approval,booking}'),
         ('mid_charger_registered', has_mid_charger,                                           '{approval,booking}'),
         ('iban_present',           has_iban,                                                  '{booking}');
end;

-- What the gates say together. closed: the gates that do not hold. closed_for: these by what they are needed for.
create function private.gates_together(mandate_status text, ean_status text, has_mid_charger boolean, has_iban boolean)
returns table (checklist json, closed text[], closed_for_submission text[], closed_for_approval text[],
               closed_for_booking text[])
language sql immutable
begin atomic
  select json_object_agg(g.name, g.holds),
         coalesce(array_agg(g.name) filter (where not g.holds), '{}'),
         coalesce(array_agg(g.name) filter (where not g.holds and 'submission' = any (g.needed_for)), '{}'),
         coalesce(array_agg(g.name) filter (where not g.holds and 'approval' = any (g.needed_for)), '{}'),
         coalesce(array_agg(g.name) filter (where not g.holds and 'booking' = any (g.needed_for)), '{}')
    from private.gates(mandate_status, ean_status, has_mid_charger, has_iban) g;
end;

-- What gates are judged by. Both views below add the account's IBAN, from the row of core.accounts that they read
-- anyway.
create view core.connection_checks with (security_invoker = true) as
select c.partner_id, c.account_id, c.connection_id, c.created_at, c.mandate_status, c.ean_validation_status,
    h.found is not null as has_mid_charger,
       case when c.mandate_status = 'signed' then c.valid_from end as mandate_valid_from
  from core.connection_mandates c
  -- a join, because a query that orders by a gate and shows it would run an exists twice
  left join lateral (
    select true as found from core.chargers h
     where h.partner_id = c.partner_id and h.connection_id = c.connection_id and h.status = 'active'
         and h.mid_eligible limit 1) h on true
 where c.status = 'active';
comment on view core.connection_checks is
  'What the gates of every active connection are judged by: its mandate, its EAN, and whether it has a MID charger.';
grant select on core.connection_checks to api_owner;

create view core.connection_gates with (security_invoker = true) as
select c.partner_id, c.account_id, c.connection_id, g.*
  from core.connection_checks c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
 cross join lateral private.gates_together(c.mandate_status, c.ean_validation_status, c.has_mid_charger,
                                           a.iban_ciphertext is not null) g;
comment on view core.connection_gates is 'The gates of every active connection.';
grant select on core.connection_gates to api_owner;

-- It has the account's own columns, as core.connection_mandates has the connection's.
create view core.account_gates with (security_invoker = true) as
select a.partner_id,
       a.id as account_id,
       a.client_id,
       a.cpo_external_ref,
       a.payout_handler,
       a.created_at,
       coalesce(g.checklist,
                (select n.checklist
                 from private.gates_together(null, null, false, a.iban_ciphertext is not null) n)) as checklist,
       coalesce(g.closed = '{}', false) as ere_eligible,
       g.mandate_valid_from
  from core.accounts a
  -- the connection with which most gates hold stands for the account: it is eligible exactly when all hold for one
  left join lateral (
    select * from core.connection_checks c
     cross join lateral private.gates_together(c.mandate_status, c.ean_validation_status, c.has_mid_charger,
                                               a.iban_ciphertext is not null) g
     where c.partner_id = a.partner_id and c.account_id = a.id
     order by cardinality(g.closed), c.created_at, c.connection_id
     limit 1) g on true;
comment on view core.account_gates is
  'An account and its checklist, whether it is ERE-eligible, and from when its mandate holds.';
grant select on core.account_gates to api_owner;

-- The gates of a connection; null if it is not active.
create function private.gates_of(connection core.connections) returns core.connection_gates
language plpgsql stable
as $$
declare
  gates core.connection_gates;
begin
  select * into gates from core.connection_gates g where g.partner_id = connection.partner_id
      and g.connection_id = connection.id;
  return gates;
end $$;
