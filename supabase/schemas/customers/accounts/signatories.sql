-- Signatories of a CPO's customers, by their address.

-- The accounts of CPO clients that the signatory at an address signed for, a hundred at most. Only definers call it: it
-- crosses tenants.
create function private.signed_accounts(address text) returns setof core.accounts
language plpgsql stable rows 1
as $$
begin
  return query
    select a.*
      from core.partners p
      -- nobody has more accounts, except a CPO that gave its own address for all customers. The limit bounds the cost
      -- of a look-up, per partner: so a CPO that gives the address of another CPO's customer displaces nothing
      cross join lateral (select s.account_id from core.signatories s
                          where s.email = address and s.partner_id = p.id limit 1000) s
      join core.accounts a on a.partner_id = p.id and a.id = s.account_id
      join core.oauth_clients k on k.id = a.client_id and k.disabled_at is null
     where p.is_active and exists (select from core.oauth_clients k where k.partner_id = p.id)
         and exists (select from core.connections c join core.mandates m on m.partner_id = c.partner_id
                     and m.connection_id = c.id
                    where c.partner_id = a.partner_id and c.account_id = a.id and m.document is not null)
     order by a.created_at desc, a.id
     limit 100;
end $$;

create function private.signs(address text) returns boolean
language plpgsql stable security definer
as $$ begin return exists (select from private.signed_accounts(address)); end $$;
comment on function private.signs(text) is
  'Whether a signatory with this address signed for an account of a CPO. Definer, because it looks across tenants.';
