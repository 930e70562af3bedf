-- Three of the four gates. Both views below add the account's IBAN, from the row of core.accounts that they read anyway.
create view core.connection_checks with (security_invoker = true) as
select c.partner_id,
       c.account_id,
       c.connection_id,
       c.created_at,
       c.valid_from as mandate_valid_from,
       c.mandate_status = 'signed' as mandate_signed,
       coalesce(c.ean_validation_status in ('matched', 'manual'), false) as ean_validated,
       h.found is not null as mid_charger_registered
  from core.connection_mandates c
  -- a join, because a query that orders by a gate and shows it would run an exists twice
  left join lateral (
    select true as found from core.chargers h
     where h.partner_id = c.partner_id and h.connection_id = c.connection_id and h.status = 'active' and h.mid_eligible limit 1) h on true
 where c.status = 'active';
comment on view core.connection_checks is 'The gates of every active connection that are its own: signed mandate, validated EAN, registered MID charger.';
grant select on core.connection_checks to api_owner;

create view core.connection_gates with (security_invoker = true) as
select g.*, a.iban_ciphertext is not null as iban_present
  from core.connection_checks g
  join core.accounts a on a.partner_id = g.partner_id and a.id = g.account_id;
comment on view core.connection_gates is
  'The four gates of every active connection: signed mandate, validated EAN, registered MID charger, IBAN. Eligibility is computed here and nowhere else.';
grant select on core.connection_gates to api_owner;

-- It has the account's own columns, as core.connection_mandates has the connection's.
create view core.account_gates with (security_invoker = true) as
select a.partner_id,
       a.id as account_id,
       a.client_id,
       a.cpo_external_ref,
       a.payout_handler,
       a.created_at,
       json_build_object('mandate_signed', coalesce(g.mandate_signed, false),
                         'ean_validated', coalesce(g.ean_validated, false),
                         'mid_charger_registered', coalesce(g.mid_charger_registered, false),
                         'iban_present', a.iban_ciphertext is not null) as checklist,
       coalesce(g.mandate_signed and g.ean_validated and g.mid_charger_registered and a.iban_ciphertext is not null, false) as ere_eligible,
       case when g.mandate_signed then g.mandate_valid_from end as mandate_valid_from
  from core.accounts a
  -- the connection with which most gates hold stands for the account: it is eligible exactly when all four hold for one
  left join lateral (
    select * from core.connection_checks g
     where g.partner_id = a.partner_id and g.account_id = a.id
     order by g.mandate_signed::int + g.ean_validated::int + g.mid_charger_registered::int desc, g.created_at, g.connection_id
     limit 1) g on true;
comment on view core.account_gates is 'An account and its checklist, whether it is ERE-eligible, and from when its mandate holds.';
grant select on core.account_gates to api_owner;
