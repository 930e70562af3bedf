begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."make_batch"(private.payee[], numeric, text, uuid[]);

CREATE OR REPLACE FUNCTION ops.payout_adopt (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  login constant text := private.operator_login();
  named constant uuid := private.as_uuid(input ->> 'batch');
  taken private.payee[];
  batch core.payout_batches;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  select * into batch from core.payout_batches b where b.id = named;
  perform private.refuse_if('payout_cancelled', batch.status = 'cancelled', json_build_object('batch', named));
  if batch.id is null and input -> 'lines' is null then
    return json_build_object('payees', (
      select coalesce(json_agg(json_build_object(
               'partner_id', y.partner_id, 'account_id', y.account_id, 'name', y.name, 'amount_eur', y.amount,
               'iban', json_build_object('ciphertext', y.iban_ciphertext, 'key_id', y.iban_key_id))), '[]')
        from private.payees(0) y where y.amount > 0));
  elsif batch.id is null then
    -- to whom the bank paid, also where another name or IBAN is here
    taken := array(
      select jsonb_populate_record(y, l.line)
        from private.payees(0) y
        join jsonb_array_elements(input -> 'lines') l (line)
          on l.line ->> 'payee' = coalesce(y.account_id, y.partner_id)::text and l.line ->> 'partner_id' = y.partner_id::text
             and (l.line ->> 'amount')::numeric = y.amount);
    perform private.refuse_if('payout_differs', cardinality(taken) <> jsonb_array_length(input -> 'lines'), json_build_object('batch', named));
    perform private.make_batch(taken, 0, login, ids => jsonb_build_object('batch', named, 'lines',
      (select jsonb_object_agg(l.line ->> 'payee', l.line ->> 'line_id') from jsonb_array_elements(input -> 'lines') l (line))));
    perform private.audit('payout.adopted', named, jsonb_build_object('lines', cardinality(taken)));
    select * into batch from core.payout_batches b where b.id = named;
  end if;
  return json_build_object('changed', input -> 'lines' is not null, 'batch', private.payout_batch_row(batch));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_cancel (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  batch   core.payout_batches;
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  batch := private.payout_batch_named(input);
  changed := batch.status <> 'cancelled';
  if batch.status in ('exported', 'settled') then
    perform private.refuse('payout_gone', json_build_object('batch', batch.id));
  elsif changed then
    perform private.refuse_unknown_payments(), private.return_lines(array(select l from core.payout_lines l where l.batch_id = batch.id));
    update core.payout_lines l set status = 'cancelled' where l.batch_id = batch.id;
    update core.payout_batches b set status = 'cancelled', cancelled_by = session_user, cancelled_at = private.now(), cancelled_reason = reason
     where b.id = batch.id returning * into batch;
    perform private.audit('payout.cancelled', batch.id);
    perform private.emit_payouts('payout.reversed', private.lines_of(batch.id)) where batch.approved_at is not null;
  end if;
  return json_build_object('changed', changed, 'batch', private.payout_batch_row(batch));
end $function$;

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
  batch constant core.payout_batches := private.payout_batch_named(input);
begin
  if batch.status = 'approved' then
    perform private.refuse_unknown_payments() where not coalesce((input ->> 'adopted')::boolean, false);
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

CREATE OR REPLACE FUNCTION ops.payout_keep_file (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  batch core.payout_batches := private.payout_batch_named(input);
begin
  perform private.refuse_if('payout_cancelled', batch.status = 'cancelled', json_build_object('batch', batch.id));
  perform private.refuse_if('payout_exported', batch.status <> 'approved',
    json_build_object('batch', batch.id, 'exported_at', private.iso(batch.exported_at)));
  update core.payout_batches b
     set status = 'exported', exported_by = session_user, exported_at = private.now(),
         file_ciphertext = input #>> '{file,ciphertext}', file_key_id = input #>> '{file,key_id}', file_sha256 = input ->> 'sha256'
   where b.id = batch.id returning * into batch;
  perform private.notify_payments(batch.id, 'payout_sent') where not coalesce((input ->> 'adopted')::boolean, false);
  perform private.audit('payout.exported', batch.id, jsonb_build_object('sha256', batch.file_sha256));
  return json_build_object('batch', private.payout_batch_row(batch));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_prepare (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  login   constant text := private.operator_login();
  minimum constant numeric := private.read_minimum(input);
  judged  jsonb;
  taken   private.payee[];
  made    uuid;
  batch   core.payout_batches;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true), private.refuse_unknown_payments();
  -- judged is what was said of the very IBAN that is there now, by what had failed till now
  select coalesce(jsonb_agg(to_jsonb(y) || jsonb_build_object('reason',
           coalesce(y.reason, case when j.ciphertext is distinct from y.iban_ciphertext or coalesce(j.failed, '[]') is distinct from coalesce(y.failed, '[]')
                               then 'not_judged' else j.problem end))), '[]')
    into judged
    from private.payees(minimum) y
    left join jsonb_to_recordset(coalesce(input -> 'judged', '[]')) as j (partner_id uuid, account_id uuid, ciphertext text, failed jsonb, problem text)
      on j.partner_id = y.partner_id and coalesce(j.account_id, j.partner_id) = coalesce(y.account_id, y.partner_id);
  taken := array(select y from jsonb_populate_recordset(null::private.payee, judged) y where y.reason is null);
  if cardinality(taken) > 0 then
    made := private.make_batch(taken, minimum, login);
    select * into batch from core.payout_batches b where b.id = made;
    perform private.audit('payout.prepared', batch.id, jsonb_build_object('lines', cardinality(taken)));
  end if;
  return (
    with left_out as materialized (
      select y.*, p.slug from jsonb_populate_recordset(null::private.payee, judged) y join core.partners p on p.id = y.partner_id where y.reason is not null
    )
    select json_build_object(
      'changed', batch.id is not null,
      'batch', case when batch.id is not null then private.payout_batch_row(batch) end,
      'left_out', (select coalesce(json_agg(json_build_object(
                     'reason', t.reason, 'payees', t.payees, 'amount_eur', t.amount) order by t.payees desc, t.reason), '[]')
                     from (select l.reason, count(*) as payees, sum(l.amount) as amount from left_out l group by l.reason) t),
      'payees', (select coalesce(json_agg(json_build_object(
                   'payee', coalesce(l.account_id, l.partner_id), 'partner_slug', l.slug, 'amount_eur', l.amount, 'reason', l.reason,
                   'iban', '**** ' || l.iban_last4, 'iban_changed_at', private.iso(l.iban_changed_at)) order by l.reason, l.amount desc, l.account_id), '[]')
                   from left_out l)));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_resume (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  login   constant text := private.operator_login();
  reason  constant text := private.operator_reason(input ->> 'reason');
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  -- its file would be sent a second time
  perform private.refuse_if('payout_half_adopted', exists (
    select from core.payout_batches b join core.audit_log a on a.subject_id = b.id and a.action = 'payout.adopted' where b.status in ('prepared', 'approved')));
  update core.deployment d set pays_from = private.server() where d.pays_from <> private.server();
  changed := found;
  perform private.audit('payout.resumed', null, jsonb_build_object('reason', reason)) where changed;
  return json_build_object('changed', changed);
end $function$;

CREATE OR REPLACE FUNCTION private.make_batch (
  payees    private.payee[],
  from_euro numeric,
  by_login  text,
  owners    uuid[]          DEFAULT NULL::uuid[],
  ids       jsonb           DEFAULT '{}'::jsonb
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  made   uuid;
  ledger record;
begin
  insert into core.payout_batches (id, minimum, prepared_by) values (coalesce((ids ->> 'batch')::uuid, gen_random_uuid()), from_euro, by_login)
  returning id into made;
  for ledger in
    with part as materialized (
      select coalesce((ids -> 'lines' ->> coalesce(y.account_id, y.partner_id)::text)::uuid, gen_random_uuid()) as line_id, coalesce(y.account_id, y.partner_id) as payee_id, y.* from unnest(payees) y
    ), balance as materialized (
      select l.line_id, b.* from part l
        join private.payable_balances(owners) b on b.partner_id = l.partner_id and coalesce(b.account_id, b.partner_id) = l.payee_id
    ), lines as (
      insert into core.payout_lines (partner_id, id, batch_id, account_id, owner_id, amount, name, iban_ciphertext, iban_key_id, iban_last4)
      select l.partner_id, l.line_id, made, l.account_id, l.owner_id, b.amount, l.name, l.iban_ciphertext, l.iban_key_id, l.iban_last4
        from part l join (select b.line_id, sum(b.amount) as amount from balance b group by b.line_id) b on b.line_id = l.line_id
       order by l.name, l.line_id
    ), piece as materialized (
      select gen_random_uuid() as id, b.*, a.owner_id
        from balance b
        left join core.accounts a on a.partner_id = b.partner_id and a.id = b.of_account_id
    ), entry as materialized (
      select p.partner_id, p.id as part_id, p.ledger_partner_id, d.allocation_id, p.owner_id, d.due - d.paid as amount, d.stands
        from piece p
       cross join lateral private.earned_of(p.ledger_partner_id, p.kind, coalesce(p.of_account_id, p.partner_id)) d
       where d.due <> d.paid
    ), parts as (
      insert into core.payout_parts (partner_id, id, line_id, ledger_partner_id, kind, account_id, owner_id, amount, forgotten)
      select p.partner_id, p.id, p.line_id, p.ledger_partner_id, p.kind, p.of_account_id, p.owner_id, p.amount,
             case p.kind when 'vat' then 0 else p.amount - coalesce(e.amount, 0) end
        from piece p
        left join (select e.part_id, sum(e.amount) as amount from entry e group by e.part_id) e on e.part_id = p.id
      returning *
    ), entries as (
      insert into core.payout_entries (partner_id, part_id, ledger_partner_id, allocation_id, owner_id, amount, sold) select * from entry
    )
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id, p.amount, p.kind, p.payee_id, 'payout', y.payee_id)) as postings
      from parts p join part y on y.line_id = p.line_id
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  return made;
end $function$;

CREATE OR REPLACE FUNCTION private.refuse_unknown_payments()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.refuse_if('payouts_wait', private.server() is distinct from (select d.pays_from from core.deployment d));
end $function$;

CREATE OR REPLACE FUNCTION private.server()
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return (select concat_ws(' ', c.system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8), 'core.deployment'::regclass::oid) from pg_control_system() c);
end $function$;

COMMENT ON FUNCTION "ops"."payout_adopt"(jsonb) IS 'Prepares a batch again that the bank has and a restore took away, under the ids in its file: {batch, lines: [{line_id, payee, partner_id, amount, name, iban_ciphertext, iban_key_id, iban_last4}]} to {changed, batch}. Without lines {batch} if it is here, else {payees}: who is owed what. Each line must be all that its payee is owed.';

COMMENT ON FUNCTION "ops"."payout_export"(jsonb) IS 'What the file for the bank is made of, with encrypted IBANs: {batch} to {batch, created_at, lines}. A server that may not pay out gives it with adopted only. For an exported batch, with again and a reason: {batch, file}, as payout_keep_file got it.';

COMMENT ON FUNCTION "ops"."payout_keep_file"(jsonb) IS 'Keeps the file for the bank, encrypted, before it is written anywhere, and tells customers: {batch, file: {ciphertext, key_id}, sha256, adopted?} to {batch}. Of an adopted batch they were told before. Of two at once one is kept.';

COMMENT ON FUNCTION "ops"."payout_resume"(jsonb) IS 'Lets this server pay out, after a restore: {reason} to {changed}. The operator says that the bank has no batch that is missing or not exported here.';

REVOKE ALL ON FUNCTION "ops"."payout_adopt"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."payout_adopt"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."payout_resume"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."payout_resume"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "private"."make_batch"(private.payee[], numeric, text, uuid[], jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."make_batch"(private.payee[], numeric, text, uuid[], jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."refuse_unknown_payments"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refuse_unknown_payments"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."server"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."server"() TO "api_owner";

ALTER TABLE "core"."deployment"
  ADD COLUMN "pays_from" text NOT NULL DEFAULT private.server();

COMMENT ON COLUMN "core"."deployment"."pays_from" IS 'The server that may pay out, as private.server says it. On another one payments to the bank may be missing, so an operator must say that none is.';

commit;
