-- GET /v1/accounts.

-- The client's accounts for {limit, offset, cpo_external_ref}, newest first. One more than the limit if another page
-- follows.
create function private.account_page(query jsonb) returns uuid[]
language plpgsql stable
as $$
declare
  skip  bigint := (query ->> 'offset')::bigint;
  until timestamptz := 'infinity';
  hours record;
begin
  if query ->> 'cpo_external_ref' is not null then
    return array(
      select a.id from core.accounts a
       where a.client_id = private.client_id() and a.cpo_external_ref = query ->> 'cpo_external_ref' and skip = 0);
  end if;
  if skip >= 1000 then
    -- the newest hours that the offset leaves out whole
    select min(h.hour) as first, max(h.accounts) as accounts into hours
      from (select k.hour, sum(k.accounts) over (order by k.hour desc) as accounts
              from core.account_counts k
             where k.partner_id = private.partner_id() and k.owner_id = private.client_id()) h
     where h.accounts <= skip;
    if hours.first is not null then
      until := hours.first;
      skip := skip - hours.accounts;
    end if;
  end if;
  return array(
    select a.id from core.accounts a
     where a.partner_id = private.partner_id() and a.owner_id = private.client_id() and a.created_at < until
     order by a.created_at desc, a.id desc
     limit (query ->> 'limit')::int + 1 offset skip);
end $$;

-- A page as the API writes it, rows under their name. found, from private.account_page, gives the count and whether
-- another page follows.
create function private.page_answer(name text, rows json, found uuid[], query jsonb) returns json
language sql stable
return json_build_object(
  name, coalesce(rows, '[]'),
  'limit', (query ->> 'limit')::int,
  'offset', (query ->> 'offset')::bigint,
  -- least() passes over null, which array_agg gives of no rows
  'count', least(coalesce(cardinality(found), 0), (query ->> 'limit')::int),
  'has_more', coalesce(cardinality(found) > (query ->> 'limit')::int, false));

create function api.list_accounts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  found    uuid[];
  accounts json;
begin
  perform private.act_as(caller, 'cpo');
  found := private.account_page(query);
  accounts := (
    select json_agg(row_to_json(r) order by a.created_at desc, a.id desc)
      from core.accounts a
      cross join lateral (
        select a.id,
               a.id as account_id,
               a.type,
               a.display_name,
               a.payout_handler,
               a.cpo_external_ref,
               a.access_channel,
               a.iban_checksum_ok,
               private.paid_back_on(a) as payment_returned_on,
               private.iso(a.created_at) as created_at,
               (select row_to_json(s) from (
                  select s.full_name, s.email, private.iso(s.mail_failed_at) as mail_failed_at, s.mail_failed_reason
                    from core.signatories s where s.partner_id = a.partner_id
                      and s.account_id = a.id) s) as signatory,
               (select coalesce(json_agg(row_to_json(k) order by c.created_at, c.connection_id), '[]')
                  from core.connection_mandates c
                  cross join lateral (
                    select c.connection_id, c.ean_code, c.status, c.registration_status, c.ean_validation_status,
                        c.mandate_status,
                           c.valid_from as mandate_valid_from, c.valid_until as mandate_valid_until,
                           c.renewed_until as mandate_renewed_until,
                           private.iso(c.signed_at) as mandate_signed_at) k
                 where c.partner_id = a.partner_id and c.account_id = a.id) as connections) r
     where a.partner_id = private.partner_id() and a.id = any (found[:(query ->> 'limit')::int]));
  return private.page_answer('accounts', accounts, found, query);
end $$;
comment on function api.list_accounts(jsonb, jsonb) is
  'GET /v1/accounts: {limit, offset, cpo_external_ref} to a page of the client''s accounts, newest first.';
