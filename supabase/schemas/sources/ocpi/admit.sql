-- Admission of OCPI platforms, and the caller of what they do.

-- Admits a token of ours that an OCPI platform sends: {token_hashes}, decoded and as it came. A demand for the scope
-- cdrs refuses a registration token. Only definers call it, as all of admission.
create function private.admit_ocpi(credential jsonb, demand jsonb) returns jsonb
language plpgsql
as $$
declare
  hashes constant bytea[] := array(select decode(h, 'hex')
                                   from jsonb_array_elements_text(credential -> 'token_hashes') h);
  link   core.ocpi_connections;
begin
  -- one of three indexes finds the token; its row says what the token may do
  select c.* into link from core.ocpi_connections c
   where c.token_hash = any (hashes) or c.previous_token_hash = any (hashes)
       or c.registration_token_hash = any (hashes);
  if (demand ->> 'kind' = 'ocpi'
      and (link.token_hash = any (hashes) is true
           or link.previous_token_hash = any (hashes) and link.previous_until > private.now()
           or demand ->> 'scope' is null and link.registration_token_hash = any (hashes)
               and link.registration_until > private.now())
      and exists (select from core.oauth_clients c where c.id = link.owner_id and c.partner_id = link.partner_id
                  and c.disabled_at is null)
      and exists (select from core.partners p where p.id = link.partner_id and p.is_active)) is not true then
    perform private.refuse_admission('missing_or_invalid_token');
  end if;
  if link.previous_token_hash is not null and link.token_hash = any (hashes) then
    update core.ocpi_connections c set previous_token_hash = null, previous_until = null
     where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'ocpi', 'client_id', link.owner_id, 'partner_id', link.partner_id),
    'subject', 'ocpi:' || link.owner_id);
end $$;

-- Narrows the transaction to what a CPO client owns.
create function private.act_for_client(partner uuid, client uuid) returns void
language sql
as $$
  select private.act_for_person(partner, client), set_config('app.client_id', client::text, true),
      set_config('app.user_id', '', true)
$$;
