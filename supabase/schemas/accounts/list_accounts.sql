-- GET /v1/accounts.

create function private.account_page(query jsonb) returns setof core.accounts
language plpgsql stable
set search_path = ''
as $$
begin
  return query
    select a.* from core.accounts a
     where a.client_id = private.client_id()
       and (account_page.query ->> 'cpo_external_ref' is null or a.cpo_external_ref = account_page.query ->> 'cpo_external_ref')
     order by a.created_at desc, a.id desc
     limit (account_page.query ->> 'limit')::int + 1 offset (account_page.query ->> 'offset')::bigint;
end $$;
comment on function private.account_page(jsonb) is
  'The accounts of the client that {limit, offset, cpo_external_ref} asks for, newest first, and one more where there is another page.';
grant execute on function private.account_page(jsonb) to api_owner;

create function api.list_accounts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  page_limit constant int := (query ->> 'limit')::int;
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select * from private.account_page(query)
    ), shown as (
      select * from page order by created_at desc, id desc limit page_limit
    )
    select json_build_object(
      'accounts', coalesce(json_agg(json_build_object(
        'id', a.id,
        'account_id', a.id,
        'type', a.type,
        'display_name', a.display_name,
        'payout_handler', a.payout_handler,
        'cpo_external_ref', a.cpo_external_ref,
        'access_channel', a.access_channel,
        'created_at', private.iso(a.created_at),
        'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email)
                        from core.signatories s where s.partner_id = a.partner_id and s.account_id = a.id),
        'connections', (select coalesce(json_agg(json_build_object(
                            'connection_id', c.id,
                            'ean_code', c.ean_code,
                            'status', c.status,
                            'registration_status', c.registration_status,
                            'ean_validation_status', c.ean_validation_status,
                            'mandate_status', m.mandate_status,
                            'mandate_valid_from', m.valid_from,
                            'mandate_valid_until', m.valid_until,
                            'mandate_signed_at', private.iso(m.signed_at)) order by c.created_at, c.id), '[]')
                          from core.connections c
                          join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                         where c.partner_id = a.partner_id and c.account_id = a.id)
        ) order by a.created_at desc, a.id desc), '[]'),
      'limit', page_limit,
      'offset', (query ->> 'offset')::bigint,
      'count', count(*),
      'has_more', (select count(*) from page) > page_limit)
    from shown a);
end $$;
comment on function api.list_accounts(jsonb, jsonb) is
  'GET /v1/accounts: {limit, offset, cpo_external_ref} to a page of the client''s accounts, newest first.';
select private.expose('api.list_accounts(jsonb, jsonb)');
