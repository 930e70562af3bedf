-- GET /v1/settlements: what a CPO was paid for each customer that it settles with itself.

-- How far a payment is, as those read it who are paid: released to the bank is approved.
create function private.payment_status(line text, batch text) returns text
language sql immutable
return case when line = 'pending' and batch <> 'prepared' then 'approved' else line end;

-- A settlement as GET /v1/settlements and the portal answer it.
create type private.settlement as (
  settlement_id     uuid,
  account_id        uuid,
  cpo_external_ref  text,
  amount_eur        numeric,
  status            text,
  payment_reference text,
  created_at        text,
  paid_at           text);

create function private.settlements(partner uuid, client uuid, query jsonb)
returns setof private.settlement
language plpgsql stable security definer
as $$
declare
  wanted  int    := (query ->> 'limit')::int + 1;
  skipped bigint := (query ->> 'offset')::bigint;
  line    record;
  parts   bigint;
begin
  -- Payment by payment: one may be for a hundred thousand accounts, and no index sorts by payment and then by part.
  for line in
    select l.id, private.iso(l.paid_at) as paid_at, replace(l.id::text, '-', '') as reference,
           private.iso(b.prepared_at) as prepared_at,
           private.payment_status(l.status, b.status) as status
      from core.payout_lines l
      join core.payout_batches b on b.id = l.batch_id
     where l.partner_id = partner and l.payee_id = partner and l.status <> 'cancelled'
       and (query ->> 'payment_reference' is null or l.id = private.line_id_of(query ->> 'payment_reference')
            or private.payment_reference(l.id) = upper(query ->> 'payment_reference'))
     order by l.arrival desc
  loop
    return query
    select p.id, a.id, a.cpo_external_ref, p.amount, line.status, line.reference, line.prepared_at, line.paid_at
      from core.payout_parts p
      join core.accounts a on a.partner_id = p.partner_id and a.id = p.payee_id
          and (client is null or a.client_id = client)
     where p.partner_id = partner and p.line_id = line.id and p.ledger_partner_id = partner and p.kind = 'customer'
       and (query ->> 'cpo_external_ref' is null or a.cpo_external_ref = query ->> 'cpo_external_ref')
     order by p.id limit wanted offset skipped;
    get diagnostics parts = row_count;
    wanted := wanted - parts;
    exit when wanted = 0;
    if parts > 0 then
      skipped := 0;
    elsif skipped > 0 then
      select count(*) into parts
        from core.payout_parts p
        join core.accounts a on a.partner_id = p.partner_id and a.id = p.payee_id
            and (client is null or a.client_id = client)
       where p.partner_id = partner and p.line_id = line.id and p.ledger_partner_id = partner and p.kind = 'customer'
         and (query ->> 'cpo_external_ref' is null or a.cpo_external_ref = query ->> 'cpo_external_ref');
      skipped := skipped - parts;
    end if;
  end loop;
end $$;
comment on function private.settlements(uuid, uuid, jsonb) is
  'The parts of payments to a partner for the accounts of a client, or of all its clients if that is null, newest '
  'payment first, one more than the limit. '
  'Definer, because the payment is the partner''s and its batch the service''s own.';

create function api.list_settlements(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as (
      select s, row_number() over () as place
        from private.settlements(private.partner_id(), private.client_id(), query) s
    )
    select private.page_answer('settlements',
      (select json_agg(row_to_json(p.s) order by p.place) from page p where p.place <= (query ->> 'limit')::int),
      array(select (p.s).settlement_id from page p order by p.place), query));
end $$;
comment on function api.list_settlements(jsonb, jsonb) is
  'GET /v1/settlements: {limit, offset, payment_reference, cpo_external_ref} to a page of settlements, newest payment '
  'first.';

create function api.export_settlements(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'cpo');
  return (
    select json_build_object('csv', private.csv_line('settlement_id', 'account_id', 'cpo_external_ref', 'amount_eur',
                                                     'status', 'payment_reference', 'created_at', 'paid_at')
           || coalesce(string_agg(private.csv_line(
                p.settlement_id::text, p.account_id::text, p.cpo_external_ref, p.amount_eur::text, p.status,
                p.payment_reference, p.created_at, p.paid_at), '' order by p.ordinality), ''))
      from private.settlements(private.partner_id(), private.client_id(), query) with ordinality p
     where p.ordinality <= (query ->> 'limit')::int);
end $$;
comment on function api.export_settlements(jsonb, jsonb) is
  'GET /v1/settlements.csv: the same as list_settlements, as {csv}, without formulas.';
