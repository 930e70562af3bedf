begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION ops.payout_export (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  again constant boolean := coalesce((input ->> 'again')::boolean, false);
  batch core.payout_batches;
begin
  perform private.act_as_operator(input);
  batch := private.payout_batch_named(input ->> 'batch');
  if batch.status = 'approved' then
    return json_build_object(
      'batch', private.payout_batch_row(batch),
      'created_at', to_char(private.now() at time zone 'Europe/Amsterdam', 'YYYY-MM-DD"T"HH24:MI:SS'),
      'lines', (select json_agg(json_build_object(
                  'line_id', l.id, 'reference', private.payment_reference(l.id), 'partner_id', l.partner_id, 'name', l.name, 'amount_eur', l.amount,
                  'iban', json_build_object('ciphertext', l.iban_ciphertext, 'key_id', l.iban_key_id)) order by l.arrival)
                  from core.payout_lines l where l.batch_id = batch.id));
  elsif batch.file_sha256 is null then
    perform private.refuse('payout_not_approved', json_build_object('batch', batch.id, 'status', batch.status));
  elsif not again then
    perform private.refuse('payout_exported', json_build_object('batch', batch.id, 'exported_at', private.iso(batch.exported_at)));
  end if;
  perform private.audit('payout.exported_again', batch.id, jsonb_build_object('reason', private.operator_reason(input ->> 'reason')));
  return json_build_object('batch', private.payout_batch_row(batch), 'file', json_build_object('ciphertext', batch.file_ciphertext, 'key_id', batch.file_key_id));
end $function$;

CREATE OR REPLACE FUNCTION private.found_accounts (
  typed text,
  size  integer
)
  RETURNS TABLE (
    partner_id uuid,
    account_id uuid,
    exact      boolean
  )
  LANGUAGE plpgsql
  STABLE
  ROWS 20
  SET search_path TO ''
  AS $function$
declare
  partners constant uuid[]  := array(select p.id from core.partners p);
  -- an EAN, a telephone number and a postal code are typed in groups
  joined   constant text    := upper(regexp_replace(typed, '[\s.-]', '', 'g'));
  address  constant text[]  := regexp_match(joined, '^([1-9][0-9]{3}[A-Z]{2})([0-9]{1,5})');
  dialled  constant text    := case when joined ~ '^[+]?[0-9]{10,14}$' then private.phone_end(joined) end;
  query    constant tsquery := private.search_query(typed);
begin
  return query
    select f.partner_id, f.account_id, bool_or(f.exact) from (
      (select s.partner_id, s.account_id, false as exact from core.signatories s
        where private.search_words(s.full_name, s.email, private.phone_end(s.phone)) @@ (query || coalesce(quote_literal(dialled)::tsquery, query))
        limit size)
      union all
      (select a.partner_id, a.id, false from core.accounts a
        where private.search_words(a.display_name, a.cpo_external_ref, a.company ->> 'name') @@ query limit size)
      union all
      select s.partner_id, s.account_id, true from core.signatories s where s.email = lower(typed)
      union all
      select a.partner_id, a.id, true from auth.users u join core.accounts a on a.user_id = u.id where u.email = lower(typed)
      union all
      select a.partner_id, a.id, true from core.accounts a where a.partner_id = any (partners) and a.id = private.as_uuid(typed)
      union all
      select c.partner_id, c.account_id, true from private.connections_named(typed) c
      union all
      select c.partner_id, c.account_id, true from private.connections_named(joined) c
      union all
      -- the reference of a payment, on a statement or at the bank; a payment to a CPO finds every customer it is for
      (select p.partner_id, p.account_id, true
         from (select l.partner_id, l.id from core.payout_lines l where l.partner_id = any (partners) and l.id = private.line_id_of(joined)
               union all
               select l.partner_id, l.id from core.payout_lines l where private.payment_reference(l.id) = joined) l
         join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
        where p.account_id is not null limit size)
      union all
      (select c.partner_id, c.account_id, false
         from core.locations l join core.connections c on c.partner_id = l.partner_id and c.location_id = l.id
        where l.partner_id = any (partners) and l.postal_code = address[1] and l.house_number = address[2]::int limit size)) f
    group by f.partner_id, f.account_id order by 3 desc limit size;
end $function$;

CREATE OR REPLACE FUNCTION private.payment_reference (
  line uuid
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  -- no 0 O, 1 I L, 2 Z, 5 S, 8 B, U V: people read it aloud and copy it from paper
  select string_agg(substr('34679ACDEFGHJKMNPQRTWXY', 1 + get_byte(sha256(uuid_send(line)), i) % 23, 1), '' order by i) from generate_series(0, 9) i
$function$;

CREATE OR REPLACE FUNCTION private.payout_line_row (
  line core.payout_lines
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'line_id', line.id, 'reference', private.payment_reference(line.id), 'payee', line.payee_id, 'partner_slug', p.slug, 'cpo_external_ref', a.cpo_external_ref, 'name', line.name,
    'iban', '**** ' || line.iban_last4, 'amount_eur', line.amount, 'status', line.status, 'paid_at', private.iso(line.paid_at),
    'failed_at', private.iso(line.failed_at), 'failed_reason', line.failed_reason, 'released_at', private.iso(line.released_at),
    'parts', (select count(*) from core.payout_parts k where k.partner_id = line.partner_id and k.line_id = line.id))
  from core.partners p
  left join core.accounts a on a.partner_id = line.partner_id and a.id = line.account_id
 where p.id = line.partner_id
$function$;

CREATE OR REPLACE FUNCTION private.settlements (
  partner uuid,
  client  uuid,
  query   jsonb
)
  RETURNS TABLE (
    settlement_id     uuid,
    account_id        uuid,
    cpo_external_ref  text,
    amount_eur        numeric,
    status            text,
    payment_reference text,
    created_at        timestamp with time zone,
    paid_at           timestamp with time zone
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  SET plan_cache_mode TO 'force_custom_plan'
  AS $function$
declare
  wanted  int    := (query ->> 'limit')::int + 1;
  skipped bigint := (query ->> 'offset')::bigint;
  line    record;
  parts   bigint;
begin
  -- Payment by payment: one may be for a hundred thousand accounts, and no index has both orders.
  for line in
    select l.id, l.paid_at, replace(l.id::text, '-', '') as reference, b.prepared_at,
           case when l.status = 'pending' and b.status <> 'prepared' then 'approved' else l.status end as status
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
      join core.accounts a on a.partner_id = p.partner_id and a.id = p.payee_id and a.client_id = client
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
        join core.accounts a on a.partner_id = p.partner_id and a.id = p.payee_id and a.client_id = client
       where p.partner_id = partner and p.line_id = line.id and p.ledger_partner_id = partner and p.kind = 'customer'
         and (query ->> 'cpo_external_ref' is null or a.cpo_external_ref = query ->> 'cpo_external_ref');
      skipped := skipped - parts;
    end if;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION private.statement_content (
  document core.documents
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with line as materialized (
    select l.partner_id, l.id, p.id as part_id, p.account_id, p.amount, l.account_id is null as to_partner, l.paid_at, l.iban_last4
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.partner_id = document.partner_id and p.kind = 'customer' and p.account_id = document.account_id
       and (p.line_id = document.line_id or p.id = document.part_id)
  ), months as materialized (
    select r.ean_code, r.period, round(sum(a.ere) / r.ere_per_kwh, 3) as kwh, sum(a.ere) as ere, sum(a.gross) as gross, sum(a.fee) as fee, sum(a.net) as net
      from line l
      join core.payout_entries e on e.partner_id = l.partner_id and e.part_id = l.part_id and e.sold
      join core.allocations a on a.partner_id = e.ledger_partner_id and a.id = e.allocation_id
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     group by r.id, r.ean_code, r.period, r.ere_per_kwh
  ), total as (
    select coalesce(sum(m.kwh), 0.000) as kwh, coalesce(sum(m.ere), 0.000000) as ere, coalesce(sum(m.gross), 0.00) as gross,
           coalesce(sum(m.fee), 0.00) as fee, coalesce(sum(m.net), 0.00) as net
      from months m
  )
  select json_build_object(
           'locale', private.customer_locale(a),
           'customer', private.customer_name(a),
           'reference', private.payment_reference(l.id),
           'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date,
           'iban_last4', case when not l.to_partner then l.iban_last4 end,
           'paid_to', case when l.to_partner then (select coalesce(t.company ->> 'name', t.name) from core.partners t where t.id = l.partner_id) end,
           'rows', (select coalesce(json_agg(json_build_object(
                             'period', to_char(m.period, 'YYYY-MM'), 'ean_code', m.ean_code, 'kwh', m.kwh::text, 'ere', m.ere::text,
                             'gross', m.gross::text, 'fee', m.fee::text, 'net', m.net::text) order by m.ean_code, m.period), '[]') from months m),
           'totals', json_build_object('kwh', t.kwh::text, 'ere', t.ere::text, 'gross', t.gross::text, 'fee', t.fee::text, 'net', t.net::text),
           'other', (l.amount - t.net)::text,
           'amount', l.amount::text)
    from line l
    cross join total t
    join core.accounts a on a.partner_id = l.partner_id and a.id = l.account_id
$function$;

COMMENT ON FUNCTION "private"."payment_reference"(uuid) IS 'The ten characters by which a customer names a payment, made of the id of its line. Of a million payments two share one with a chance of 1 in 80.';

REVOKE ALL ON FUNCTION "private"."payment_reference"(uuid) FROM PUBLIC;



CREATE INDEX payout_lines_reference ON core.payout_lines USING btree (private.payment_reference(id));

commit;
