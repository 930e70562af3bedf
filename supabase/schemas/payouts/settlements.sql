-- GET /v1/settlements: what a CPO that settles with its customers itself was paid for each of them.

create function private.settlements(partner uuid, client uuid, query jsonb)
returns table (settlement_id uuid, account_id uuid, cpo_external_ref text, amount_eur numeric, status text, payment_reference text,
               created_at timestamptz, paid_at timestamptz)
language plpgsql stable security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  select p.id, a.id, a.cpo_external_ref, p.amount,
         case when l.status = 'pending' and b.status <> 'prepared' then 'approved' else l.status end,
         replace(l.id::text, '-', ''), b.prepared_at, l.paid_at
    from core.payout_lines l
    join core.payout_batches b on b.id = l.batch_id
    join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id and p.kind = 'customer'
    join core.accounts a on a.partner_id = p.partner_id and a.id = p.account_id and a.client_id = client
   where l.partner_id = partner and l.payee_id = partner and l.status <> 'cancelled'
     and (query ->> 'payment_reference' is null or l.id = private.line_id_of(query ->> 'payment_reference'))
     and (query ->> 'cpo_external_ref' is null or a.cpo_external_ref = query ->> 'cpo_external_ref')
   order by l.arrival desc, p.id
   limit (query ->> 'limit')::int + 1 offset (query ->> 'offset')::bigint;
end $$;
comment on function private.settlements(uuid, uuid, jsonb) is
  'What of payments to a partner is for accounts that a client made, newest payment first, and one more than the limit. Definer, because the payment itself is the partner''s and its batch the service''s own.';
grant execute on function private.settlements(uuid, uuid, jsonb) to api_owner;

create function api.list_settlements(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select * from private.settlements(private.partner_id(), private.client_id(), query) with ordinality
    )
    select private.page_answer('settlements',
      (select json_agg(json_build_object(
         'settlement_id', p.settlement_id, 'account_id', p.account_id, 'cpo_external_ref', p.cpo_external_ref, 'amount_eur', p.amount_eur,
         'status', p.status, 'payment_reference', p.payment_reference, 'created_at', private.iso(p.created_at), 'paid_at', private.iso(p.paid_at))
         order by p.ordinality) from page p where p.ordinality <= (query ->> 'limit')::int),
      array(select p.settlement_id from page p order by p.ordinality), query));
end $$;
comment on function api.list_settlements(jsonb, jsonb) is
  'GET /v1/settlements: {limit, offset, payment_reference, cpo_external_ref} to a page of settlements, newest payment first.';
select private.expose('api.list_settlements(jsonb, jsonb)');

create function api.write_settlements(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'cpo');
  return (
    select json_build_object('csv', private.csv_line('settlement_id', 'account_id', 'cpo_external_ref', 'amount_eur', 'status', 'payment_reference', 'created_at', 'paid_at')
           || coalesce(string_agg(private.csv_line(
                p.settlement_id::text, p.account_id::text, p.cpo_external_ref, p.amount_eur::text, p.status, p.payment_reference,
                private.iso(p.created_at), private.iso(p.paid_at)), '' order by p.ordinality), ''))
      from private.settlements(private.partner_id(), private.client_id(), query) with ordinality p
     where p.ordinality <= (query ->> 'limit')::int);
end $$;
comment on function api.write_settlements(jsonb, jsonb) is
  'GET /v1/settlements.csv: the same as list_settlements, as {csv}. Without a formula in it.';
select private.expose('api.write_settlements(jsonb, jsonb)');
