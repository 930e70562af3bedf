begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

ALTER TABLE "core"."notices"
  DROP CONSTRAINT "notices_kind_known";

DROP FUNCTION "private"."notify_paid"(uuid);

CREATE OR REPLACE FUNCTION ops.payout_keep_file (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  batch core.payout_batches;
begin
  perform private.act_as_operator(input);
  batch := private.payout_batch_named(input ->> 'batch');
  if batch.status = 'cancelled' then
    perform private.refuse('payout_cancelled', json_build_object('batch', batch.id));
  elsif batch.status <> 'approved' then
    perform private.refuse('payout_exported', json_build_object('batch', batch.id, 'exported_at', private.iso(batch.exported_at)));
  end if;
  update core.payout_batches b
     set status = 'exported', exported_by = session_user, exported_at = private.now(),
         file_ciphertext = input #>> '{file,ciphertext}', file_key_id = input #>> '{file,key_id}', file_sha256 = input ->> 'sha256'
   where b.id = batch.id returning * into batch;
  perform private.notify_payments(batch.id, 'payout_sent'), private.audit('payout.exported', batch.id, jsonb_build_object('sha256', batch.file_sha256));
  return json_build_object('batch', private.payout_batch_row(batch));
end $function$;

CREATE OR REPLACE FUNCTION private.notify_payments (
  batch uuid,
  kind  text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  SET plan_cache_mode TO 'auto'
  SET enable_seqscan TO 'off'
  AS $function$
declare
  expected constant jsonb := case kind when 'payout_sent' then
    jsonb_build_object('from', private.working_day(private.today(), 1), 'until', private.working_day(private.today(), 3)) else '{}' end;
begin
  insert into core.notices (partner_id, account_id, owner_id, kind, cause, details)
  select l.partner_id, l.account_id, l.owner_id, notify_payments.kind, notify_payments.kind || ':' || l.id,
         jsonb_build_object('amount_eur', l.amount, 'iban_last4', l.iban_last4) || expected
    from core.payout_lines l
   where l.batch_id = batch and l.account_id is not null and l.status = case kind when 'payout_sent' then 'pending' else 'paid' end
  on conflict on constraint notices_cause_key do nothing;
end $function$;

CREATE OR REPLACE FUNCTION private.pay_accounts (
  partner  uuid,
  accounts uuid[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  owners constant uuid[] := accounts || partner;
  payees constant private.payee[] := array(
    select y from private.payees(0, owners) y
     where y.amount > 0 and num_nulls(y.iban_ciphertext, y.name) = 0 and (y.account_id = any (accounts) or y.account_id is null and y.partner_id = partner));
  batch  uuid;
begin
  if cardinality(payees) > 0 then
    batch := private.make_batch(payees, 0, 'sandbox', owners);
    perform private.pay_lines(batch);
    update core.payout_batches b
       set status = 'settled', approved_by = 'sandbox: nobody', approved_at = private.now(), settled_by = 'sandbox', settled_at = private.now()
     where b.id = batch;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.pay_lines (
  batch uuid
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  SET plan_cache_mode TO 'force_custom_plan'
  AS $function$
declare
  ledger record;
  paid   int;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id || ':paid', p.amount, 'payout', l.payee_id, 'bank', l.payee_id)) as postings
      from core.payout_lines l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     where l.batch_id = batch and l.status = 'pending'
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  update core.payout_lines l set status = 'paid', paid_at = private.now() where l.batch_id = batch and l.status = 'pending';
  get diagnostics paid = row_count;
  perform private.request_statements(batch), private.notify_payments(batch, 'payout_paid');
  perform private.emit_payouts('payout.paid', array(select l from unnest(private.lines_of(batch)) l where l.status = 'paid'));
  return paid;
end $function$;

CREATE OR REPLACE FUNCTION private.working_day (
  day   date,
  later integer
)
  RETURNS date
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  select max(w.day) from (
    select d::date as day from generate_series(working_day.day + 1, working_day.day + 3 + 2 * later, interval '1 day') d
     where extract(isodow from d) < 6 order by d limit later) w
$function$;

ALTER TABLE "core"."notices"
  ADD CONSTRAINT "notices_kind_known"
    CHECK
    ((kind = ANY (ARRAY['registration_approved'::text, 'registration_rejected'::text, 'something_missing'::text, 'mandate_ending'::text, 'mandate_ended'::text,
    'mandate_withdrawn'::text, 'payout_sent'::text, 'payout_paid'::text, 'payout_failed'::text, 'payout_iban_changed'::text])));

COMMENT ON COLUMN "core"."notices"."details" IS 'registration_rejected {grounds}; mandate_ending {valid_until, reminder}; mandate_ended {valid_until}; mandate_withdrawn {by, covered_until}; payout_sent {amount_eur, iban_last4, from, until}, the days on which it is expected; payout_paid, payout_failed {amount_eur, iban_last4}; payout_iban_changed {iban_last4, by}, without the number if told at the end of the day.';

COMMENT ON FUNCTION "private"."notify_payments"(uuid, text) IS 'Mails the customers of a batch: payout_sent, the bank is asked to pay them, or payout_paid, the bank did.';

COMMENT ON FUNCTION "private"."working_day"(date, integer) IS 'So many working days after a day. It knows weekends, not holidays.';

REVOKE ALL ON FUNCTION "private"."notify_payments"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."working_day"(date, integer) FROM PUBLIC;

commit;
