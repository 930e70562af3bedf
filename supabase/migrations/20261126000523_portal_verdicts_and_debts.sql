begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."own_quarters"(date, date);

CREATE OR REPLACE FUNCTION api.portal_upload (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  answer jsonb;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  perform private.act_for_client((input ->> 'client')::uuid);
  answer := private.store_upload(input);
  if (input ->> 'dry_run')::boolean then
    -- judging stores the rows and undoes it, with the client's lock: so only the first look and the confirmation do
    update core.imports i set outcomes = answer -> 'results' where i.partner_id = private.partner_id() and i.id = (input ->> 'upload_id')::uuid;
  elsif not answer ? 'idempotent' then
    perform private.audit('upload.stored', (input ->> 'upload_id')::uuid, jsonb_build_object('kind', input -> 'kind', 'rows', input -> 'rows'));
  end if;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_uploads (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  kept   core.imports;
  upload core.uploads;
begin
  perform private.act_as(caller, 'partner');
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (query ->> 'id')::uuid and i.expires_at > private.now();
  select * into upload from core.uploads u where u.partner_id = private.partner_id() and u.id = (query ->> 'id')::uuid;
  return json_build_object(
    'who', private.portal_who(),
    'clients', (select coalesce(json_agg(json_build_object('id', c.id, 'name', c.name)), '[]') from private.uploading_clients() c),
    'sealed', case when kept.id is not null then json_build_object('ciphertext', kept.ciphertext, 'key_id', kept.key_id) end,
    'judged', case when kept.outcomes <> '[]' then kept.outcomes end,
    'upload', case when upload.id is not null then private.upload_answer(upload) || jsonb_build_object('file_name', upload.file_name) end);
end $function$;

CREATE OR REPLACE FUNCTION private.own_paid (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'year_eur', coalesce(sum(p.amount) filter (where l.paid_at >= make_date(year, 1, 1)::timestamp at time zone 'Europe/Amsterdam'), 0),
    'all_eur', coalesce(sum(p.amount), 0),
    'debts', (
      select coalesce(json_agg(json_build_object(
               'eur', -d.owed,
               'unsold', (select coalesce(json_agg(u.part), '[]')
                            from private.own_quarters('-infinity', 'infinity', d.id) q, json_array_elements(q.unsold) u (part))) order by d.id), '[]')
        from (select a.id, private.still_owed(a.partner_id, a.id) as owed from private.own_account_rows() a) d
       where d.owed < 0))
    from private.own_account_rows() a
    join core.payout_parts p on p.ledger_partner_id = a.partner_id and p.partner_id = a.partner_id and p.payee_id = a.id and p.kind = 'customer'
    join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
$function$;

CREATE OR REPLACE FUNCTION private.own_quarters (
  since      date,
  until      date,
  of_account uuid DEFAULT NULL::uuid
)
  RETURNS TABLE (
    quarter        date,
    kwh            numeric,
    ere            numeric,
    registered_ere numeric,
    sold_ere       numeric,
    gross          numeric,
    net            numeric,
    sold_on        date,
    is_paid        boolean,
    unpaid         numeric,
    unsold         json
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return query
  with own as materialized (
    select a.partner_id, a.id from private.own_account_rows() a where of_account is null or a.id = of_account
  ), unpaid as materialized (
    select o.*, a.row_id, p.amount, sum(p.amount) over (partition by o.id) as whole,
           sum(p.amount) over (partition by o.id order by s.arrival, a.id) as up_to
      from own o
     cross join lateral private.payments(o.partner_id, 'customer', o.id) p
      join core.allocations a on a.partner_id = o.partner_id and a.id = p.allocation_id
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
     where p.state <> 'paid'
  ), owed as materialized (
    select o.id, private.still_owed(o.partner_id, o.id) as amount from own o where o.id in (select u.id from unpaid u)
  ), waiting as materialized (
    -- what was paid and taken back since comes off the oldest
    select u.row_id, sum(least(u.amount, greatest(u.up_to - (u.whole - w.amount), 0))) as amount
      from unpaid u join owed w on w.id = u.id
     group by u.row_id
  ), prices as materialized (
    select t.partner_id, private.last_price(t.partner_id) as price from (select distinct o.partner_id from own o) t
  ), parts as (
    -- ERE are sold for each tenant, and each mandate has its own fee
    select date_trunc('quarter', m.period)::date as first_day, p.price, coalesce(m.fee_pct, s.fee_pct) as fee_pct, sum(m.kwh) as kwh, sum(m.ere) as ere,
           sum(m.registered_ere) as registered_ere, sum(m.sold_ere) as sold_ere, sum(m.gross) as gross, sum(m.net) as net, min(m.sold_on) as sold_on,
           bool_and(w.row_id is null) as is_paid, coalesce(sum(w.amount), 0) as unpaid
      from own o
      join prices p on p.partner_id = o.partner_id
      join core.connections c on c.partner_id = o.partner_id and c.account_id = o.id
      join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
      left join waiting w on w.row_id = m.row_id
      -- as private.reserve_months will book it
      left join lateral (select d.fee_pct from core.mandates d
                          where m.row_id is null and d.partner_id = c.partner_id and d.connection_id = c.id
                            and m.period between d.valid_from and d.covered_until
                          order by d.signed_at desc limit 1) s on true
     where m.period >= since and m.period < until
     group by 1, 2, 3
  )
  select p.first_day, sum(p.kwh), sum(p.ere), sum(p.registered_ere), sum(p.sold_ere), sum(p.gross), sum(p.net), min(p.sold_on),
         bool_and(p.is_paid), sum(p.unpaid),
         json_agg(json_build_object('ere', p.ere - p.sold_ere, 'price_per_ere_eur', p.price, 'fee_pct', p.fee_pct) order by p.price, p.fee_pct)
    from parts p
   group by p.first_day;
end $function$;

COMMENT ON FUNCTION "api"."portal_upload"(jsonb, jsonb) IS 'Stores a file of a client of the partner, or judges it only and keeps its results with the file: {client} and what api.deliver_upload takes, to its answer. By a manager.';

COMMENT ON FUNCTION "api"."read_portal_uploads"(jsonb, jsonb) IS 'The pages on which a partner uploads months or sessions: {id} to {who, clients: [{id, name}], sealed, judged, upload}. sealed is the file as api.keep_import keeps it, judged the results of its first look, upload what was stored by that id.';

COMMENT ON FUNCTION "private"."own_paid"(integer) IS 'What this transaction''s person was paid since the year began, and ever, or the CPO that settles with them; and what of it was taken back since, for each such account with its ERE that are not sold, because it comes off later payments of that account only: {year_eur, all_eur, debts: [{eur, unsold}]}. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_quarters"(date, date, uuid) IS 'The quarters in which something counts for this transaction''s person, or for one account of theirs. ERE exact, credited and sold; euro gross, and the person''s part (net). Also the first day of sale, whether all that was sold is paid, and what of net is not (unpaid). unsold has the ERE that are not sold, by the tenant''s last price and the fee: [{ere, price_per_ere_eur, fee_pct}]. since inclusive, until exclusive. Definer, because payments are in the service''s own batch.';

COMMENT ON TABLE "core"."imports" IS 'A file of customers that a manager looks at before the import. Personal data, encrypted by the functions: only the person who brought it reads it, for an hour. outcomes has {row, draft_id} or {row, reason} for each row that is done; of a file of months or sessions the results of its first look.';

REVOKE ALL ON FUNCTION "private"."own_quarters"(date, date, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_quarters"(date, date, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_quarters"(date, date, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_quarters"(date, date, uuid) TO "postgres";

commit;
