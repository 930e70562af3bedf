-- The operator on payouts: prepare, approve, export, settle, release, cancel, list, show.

-- A batch as the operator sees it. Amounts in euro.
create function private.payout_batch_row(batch core.payout_batches) returns json
language sql stable
as $$
  select json_build_object(
    'batch_id', batch.id, 'status', batch.status, 'lines', t.lines, 'amount_eur', t.amount, 'paid', t.paid,
        'paid_eur', t.paid_amount,
    'failed', t.failed, 'failed_eur', t.failed_amount, 'minimum_eur', batch.minimum,
    'prepared_by', batch.prepared_by, 'prepared_at', private.iso(batch.prepared_at),
    'approved_by', batch.approved_by, 'approved_at', private.iso(batch.approved_at),
    'exported_by', batch.exported_by, 'exported_at', private.iso(batch.exported_at), 'file_sha256', batch.file_sha256,
    'settled_at', private.iso(batch.settled_at), 'reject_asked_by', batch.reject_asked_by, 'cancelled_at',
        private.iso(batch.cancelled_at), 'cancelled_reason', batch.cancelled_reason)
  from (select count(*) as lines, coalesce(sum(l.amount), 0) as amount,
               count(*) filter (where l.status = 'paid') as paid,
                   coalesce(sum(l.amount) filter (where l.status = 'paid'), 0) as paid_amount,
               count(*) filter (where l.status = 'failed') as failed,
                   coalesce(sum(l.amount) filter (where l.status = 'failed'), 0) as failed_amount
          from core.payout_lines l where l.batch_id = batch.id) t
$$;

-- A line as the operator sees it, with the last four characters of the IBAN.
create function private.payout_line_row(line core.payout_lines) returns json
language sql stable
as $$
  select json_build_object(
    'line_id', line.id, 'reference', private.payment_reference(line.id), 'payee', line.payee_id, 'partner_slug', p.slug,
        'cpo_external_ref', a.cpo_external_ref, 'name', line.name,
    'iban', '**** ' || line.iban_last4, 'amount_eur', line.amount, 'status', line.status, 'paid_at',
        private.iso(line.paid_at),
    'failed_at', private.iso(line.failed_at), 'failed_reason', line.failed_reason, 'failed_effect', line.failed_effect,
    'return_asked_by', line.return_asked_by, 'released_at', private.iso(line.released_at),
    'parts', (select count(*) from core.payout_parts k where k.partner_id = line.partner_id and k.line_id = line.id))
  from core.partners p
  left join core.accounts a on a.partner_id = line.partner_id and a.id = line.account_id
 where p.id = line.partner_id
$$;

-- Acts as the operator, and locks and returns the batch that {batch} names.
create function private.payout_batch_named(input jsonb) returns core.payout_batches
language plpgsql
as $$
declare
  named constant text := input ->> 'batch';
  batch core.payout_batches;
begin
  perform private.act_as_operator(input);
  select * into batch from core.payout_batches b where b.id = private.as_uuid(named) for update;
  perform private.refuse_if('payout_batch_not_found', not found, json_build_object('batch', named));
  return batch;
end $$;

-- The least amount in euro that is paid, {minimum?}: 5 by default.
create function private.read_minimum(input jsonb) returns numeric
language plpgsql immutable
as $$
declare
  minimum constant numeric := private.as_decimal(coalesce(input ->> 'minimum', '5'), 2);
begin
  perform private.refuse_if('invalid_minimum', minimum is null);
  return minimum;
end $$;

-- After a restore the bank may have a payment that is missing here. New payments wait until an operator says that it
-- has none.
create function private.refuse_unknown_payments() returns void
language sql
as $$ select private.refuse_if('payouts_wait', private.server() is distinct from (select d.pays_from
    from core.deployment d)) $$;

create function ops.payout_due(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('payees', coalesce(json_agg(json_build_object(
           'partner_id', y.partner_id, 'account_id', y.account_id,
               'iban', json_build_object('ciphertext', y.iban_ciphertext, 'key_id', y.iban_key_id),
           'failed', coalesce(y.failed, '[]'))), '[]'))
    from private.payees(private.read_minimum(input)) y where y.reason is null
$$;
comment on function ops.payout_due(jsonb) is
  'The payees of a batch, with their encrypted IBANs and the IBANs of their failed payments: {minimum?} to {payees}. '
  'The command line decrypts and judges the IBANs, for payout_prepare.';

create function ops.payout_prepare(input jsonb) returns json
language plpgsql security definer
as $$
declare
  login   constant text := private.operator_login();
  minimum constant numeric := private.read_minimum(input);
  judged  jsonb;
  taken   private.payee[];
  made    uuid;
  batch   core.payout_batches;
begin
  perform private.act_as_operator(input), private.lock('payouts'), private.refuse_unknown_payments();
  -- a verdict counts only for the IBAN and the failed payments that it was made for
  select coalesce(jsonb_agg(to_jsonb(y) || jsonb_build_object('reason',
           coalesce(y.reason,
                    case when j.ciphertext is distinct from y.iban_ciphertext
                         or coalesce(j.failed, '[]') is distinct from coalesce(y.failed, '[]')
                               then 'not_judged' else j.problem end))), '[]')
    into judged
    from private.payees(minimum) y
    left join jsonb_to_recordset(coalesce(input -> 'judged', '[]')) as j (partner_id uuid, account_id uuid,
                                                                          ciphertext text, failed jsonb, problem text)
      on j.partner_id = y.partner_id and coalesce(j.account_id, j.partner_id) = coalesce(y.account_id, y.partner_id);
  taken := array(select y from jsonb_populate_recordset(null::private.payee, judged) y where y.reason is null);
  if cardinality(taken) > 0 then
    made := private.make_batch(taken, minimum, login);
    select * into batch from core.payout_batches b where b.id = made;
    perform private.audit('payout.prepared', batch.id, jsonb_build_object('lines', cardinality(taken)));
  end if;
  return (
    with left_out as (
      select y.*, p.slug from jsonb_populate_recordset(null::private.payee, judged) y
        join core.partners p on p.id = y.partner_id where y.reason is not null
    )
    select json_build_object(
      'changed', batch.id is not null,
      'batch', case when batch.id is not null then private.payout_batch_row(batch) end,
      'left_out', (select coalesce(json_agg(json_build_object(
                     'reason', t.reason, 'payees', t.payees, 'amount_eur', t.amount) order by t.payees desc,
                         t.reason), '[]')
                     from (select l.reason, count(*) as payees, sum(l.amount) as amount from left_out l
                           group by l.reason) t),
      'payees', (select coalesce(json_agg(json_build_object(
                   'payee', coalesce(l.account_id, l.partner_id), 'partner_slug', l.slug, 'amount_eur', l.amount,
                       'reason', l.reason,
                   'iban', '**** ' || l.iban_last4,
                   'until', case l.reason when 'iban_changed'
                                 then private.iso(private.iban_held_until(l.iban_changed_at)) end)
                       order by l.reason, l.amount desc, l.account_id), '[]')
                   from left_out l)));
end $$;
comment on function ops.payout_prepare(jsonb) is
  'Prepares a batch of all who can be paid now: {minimum?, judged: [{partner_id, account_id, ciphertext, failed, '
  'problem}]} to {changed, batch, left_out, payees}. judged says what is wrong with the IBAN of each payee of '
  'payout_due, or null. payees names who is left out, with the reason.';

create function ops.payout_approve(input jsonb) returns json
language plpgsql security definer
as $$
declare
  login   constant text := private.operator_login();
  batch   core.payout_batches := private.payout_batch_named(input);
  changed constant boolean := batch.status = 'prepared';
begin
  if batch.status = 'cancelled' then
    perform private.refuse('payout_cancelled', json_build_object('batch', batch.id));
  elsif batch.prepared_by = login then
    perform private.refuse('second_person_needed', json_build_object('batch', batch.id, 'login', login));
  elsif (input ->> 'look')::boolean then
    return ops.payout_show(input);
  elsif changed then
    update core.payout_batches b set status = 'approved', approved_by = login, approved_at = private.now()
     where b.id = batch.id returning * into batch;
    perform private.audit('payout.approved', batch.id),
        private.emit_payouts('payout.approved', private.lines_of(batch.id));
  end if;
  return json_build_object('changed', changed, 'batch', private.payout_batch_row(batch));
end $$;
comment on function ops.payout_approve(jsonb) is
  'Lets a batch go to the bank, by another person than the one who prepared it: {batch, look?} to {changed, batch}. '
  'With look it changes nothing, and answers as payout_show.';

-- The day on which the bank is asked to pay, {date?}: today, or the next day on which banks pay.
create function private.read_pays_on(input jsonb) returns date
language plpgsql stable
as $$
declare
  wanted constant date := coalesce(private.as_day(input ->> 'date'), private.working_day(private.today(), 0));
begin
  perform private.refuse_if('invalid_pays_on',
    input ? 'date' and private.as_day(input ->> 'date') is null or not private.is_target_day(wanted)
    or wanted not between private.today() and private.today() + 90,
    json_build_object('date', input ->> 'date', 'next', private.working_day(private.today(), 0)));
  return wanted;
end $$;

-- Refuses a batch with a payee whose IBAN was changed or barred after it was prepared: it would be paid all the same.
create function private.refuse_stale(batch core.payout_batches) returns void
language plpgsql
as $$
declare
  stale constant uuid[] := array(
    select l.id from core.payout_lines l
      left join core.accounts a on a.partner_id = l.partner_id and a.id = l.account_id
      left join core.partners p on p.id = l.partner_id and l.account_id is null
     where l.batch_id = batch.id
       and (coalesce(a.iban_changed_at, p.iban_changed_at) > batch.prepared_at or exists (
              select from core.payout_lines o
               where o.partner_id = l.partner_id and o.payee_id = l.payee_id and o.status = 'failed'
                 and o.failed_effect in ('account', 'holder') and o.released_at is null
                 and o.failed_at > batch.prepared_at))
     order by l.arrival);
begin
  perform private.refuse_if('payout_stale', stale <> '{}', json_build_object('batch', batch.id,
    'lines', array_to_string(stale, ', ')));
end $$;

create function ops.payout_export(input jsonb) returns json
language plpgsql security definer
as $$
declare
  again   constant boolean := coalesce((input ->> 'again')::boolean, false);
  pays_on constant date := private.read_pays_on(input);
  batch   constant core.payout_batches := private.payout_batch_named(input);
begin
  if batch.status = 'approved' then
    perform private.refuse_unknown_payments(), private.refuse_stale(batch)
      where not coalesce((input ->> 'adopted')::boolean, false);
    return json_build_object(
      'batch', private.payout_batch_row(batch),
      'created_at', to_char(private.now() at time zone 'Europe/Amsterdam', 'YYYY-MM-DD"T"HH24:MI:SS'),
      'pays_on', pays_on,
      'lines', (select json_agg(json_build_object(
                  'line_id', l.id, 'reference', private.payment_reference(l.id), 'partner_id', l.partner_id, 'name',
                      l.name, 'amount_eur', l.amount,
                  'iban', json_build_object('ciphertext', l.iban_ciphertext, 'key_id', l.iban_key_id))
                      order by l.arrival)
                  from core.payout_lines l where l.batch_id = batch.id));
  elsif batch.status = 'rejected' and not coalesce((input ->> 'to_keep')::boolean, false) then
    -- the bank would take the file: it executed nothing of it
    perform private.refuse('payout_rejected', json_build_object('batch', batch.id));
  elsif batch.file_sha256 is null then
    perform private.refuse('payout_not_approved', json_build_object('batch', batch.id, 'status', batch.status));
  elsif not coalesce((input ->> 'to_keep')::boolean, false)
        and (batch.reject_asked_by is not null or exists (
          select from core.payout_lines l
           where l.batch_id = batch.id and (l.status in ('paid', 'failed') or l.return_asked_by is not null))) then
    -- sent again it may pay what is payable in the next batch
    perform private.refuse('payout_answered', json_build_object('batch', batch.id));
  elsif not again then
    perform private.refuse('payout_exported', json_build_object('batch', batch.id,
                                                                'exported_at', private.iso(batch.exported_at)));
  end if;
  perform private.audit('payout.exported_again', batch.id,
                        jsonb_build_object('reason', private.operator_reason(input ->> 'reason')));
  return json_build_object('batch', private.payout_batch_row(batch),
                           'file', json_build_object('ciphertext', batch.file_ciphertext, 'key_id', batch.file_key_id));
end $$;
comment on function ops.payout_export(jsonb) is
  'What the file for the bank is made of, with encrypted IBANs: {batch, date?} to {batch, created_at, pays_on, lines}. '
  'A server that may not pay out answers only if adopted is true. For an exported batch, with again and a reason: '
  '{batch, file}, the file that payout_keep_file stored.';

create function ops.payout_keep_file(input jsonb) returns json
language plpgsql security definer
as $$
declare
  batch core.payout_batches := private.payout_batch_named(input);
begin
  perform private.refuse_if('payout_cancelled', batch.status = 'cancelled', json_build_object('batch', batch.id));
  perform private.refuse_if('payout_exported', batch.status <> 'approved',
    json_build_object('batch', batch.id, 'exported_at', private.iso(batch.exported_at)));
  perform private.refuse_stale(batch) where not coalesce((input ->> 'adopted')::boolean, false);
  update core.payout_batches b
     set status = 'exported', exported_by = session_user, exported_at = private.now(),
         file_ciphertext = input #>> '{file,ciphertext}', file_key_id = input #>> '{file,key_id}',
             file_sha256 = input ->> 'sha256'
   where b.id = batch.id returning * into batch;
  perform private.notify_payments(private.lines_of(batch.id), 'payout_sent', private.read_pays_on(input))
   where not coalesce((input ->> 'adopted')::boolean, false);
  perform private.audit('payout.exported', batch.id, jsonb_build_object('sha256', batch.file_sha256));
  return json_build_object('batch', private.payout_batch_row(batch));
end $$;
comment on function ops.payout_keep_file(jsonb) is
  'Keeps the file for the bank, encrypted, before it is written anywhere, and tells customers: {batch, date?, file: '
  '{ciphertext, key_id}, sha256, adopted?} to {batch}. Customers of an adopted batch were told before. If two come at '
  'once, one is refused.';

-- The id of a line, as itself or as the bank's EndToEndId, without dashes.
create function private.line_id_of(named text) returns uuid
language sql immutable
as $$ select private.as_uuid(regexp_replace(named, '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\1-\2-\3-\4-\5')) $$;

create function ops.payout_settle(input jsonb) returns json
language plpgsql security definer
as $$
declare
  failed constant text[] := array(select jsonb_array_elements_text(coalesce(input -> 'failed', '[]')));
  booked constant text[] := array(select jsonb_array_elements_text(coalesce(input -> 'booked', '[]')));
  batch  core.payout_batches;
  named  text;
  reason text;
  stricter text;
  line   core.payout_lines;
  state  text;
  effect text;
  login  text;
  touched uuid[] := '{}';
  paid   int := 0;
  lost   int := 0;
  asked  int := 0;
  waits  int := 0;
begin
  perform private.refuse_if('nothing_to_settle', input ->> 'batch' is null and cardinality(failed || booked) = 0);
  foreach named in array failed loop
    perform private.refuse_if('payout_line_in_both', private.line_id_of(named) = any (array(
      select private.line_id_of(b) from unnest(booked) b)), json_build_object('line', named));
  end loop;
  perform private.act_as_operator(input), private.lock('payouts');
  if input ->> 'batch' is not null then
    batch := private.payout_batch_named(input);
    perform private.refuse_if('payout_rejected', batch.status = 'rejected', json_build_object('batch', batch.id));
    perform private.refuse_if('payout_not_exported', batch.status not in ('exported', 'settled'),
      json_build_object('batch', batch.id, 'status', batch.status));
    perform private.refuse_if('payout_waits', batch.reject_asked_by is not null or exists (
      select from core.payout_lines l
       where l.batch_id = batch.id and l.status = 'pending' and l.return_asked_by is not null
         -- what this call itself repeats
         and l.id <> all (array(select coalesce(private.line_id_of(f), l.batch_id) from unnest(failed) f))),
      json_build_object('batch', batch.id));
  end if;
  reason := private.operator_reason(coalesce(input ->> 'reason', 'the bank could not pay it'));
  effect := private.failure_effect(reason);
  -- whoever reports a line does not release it: a login that several share names nobody
  login := case when cardinality(failed || booked) > 0 then private.operator_login() end;
  perform private.refuse_if('payout_had_before', effect = 'before', json_build_object('batch', batch.id));
  foreach named in array failed loop
    select * into line from core.payout_lines l
     where l.partner_id = any (array(select p.id from core.partners p)) and l.id = private.line_id_of(named);
    perform private.refuse_if('payout_line_not_found', not found, json_build_object('line', named));
    select b.status into state from core.payout_batches b where b.id = line.batch_id;
    perform private.refuse_if('payout_not_exported', state not in ('exported', 'settled', 'rejected'),
      json_build_object('batch', line.batch_id, 'status', state));
    touched := touched || line.batch_id;
    -- a reason that holds back no more is a repeat: the stricter one held
    perform private.refuse_if('payout_failed_before',
      line.status = 'failed' and input ->> 'reason' is not null
      and private.severity(effect) > private.severity(line.failed_effect),
      json_build_object('line', named, 'reason', line.failed_reason));
    continue when line.status = 'failed';
    -- where it is payable again as it was, a second person says the same
    if effect <> 'none' or line.return_asked_by <> login then
      stricter := private.stricter_reason(line.return_asked_reason, reason, effect);
      perform private.fail_lines(array[line], stricter,
                                 case stricter when reason then effect else private.return_effect(stricter) end);
      lost := lost + 1;
    else
      asked := asked + private.ask_returns(array[line.id], array[private.stricter_reason(line.return_asked_reason,
                                                                                       reason, effect)], login);
      waits := waits + 1;
    end if;
  end loop;
  foreach named in array booked loop
    select * into line from core.payout_lines l
     where l.partner_id = any (array(select p.id from core.partners p)) and l.id = private.line_id_of(named);
    perform private.refuse_if('payout_line_not_found', not found, json_build_object('line', named)),
            private.refuse_if('payout_line_not_failed', line.status in ('pending', 'cancelled'),
                              json_build_object('line', named));
    continue when line.status = 'paid';
    perform private.refuse_if('second_person_releases',
      line.failed_by = login and line.released_at is null and line.failed_effect in ('account', 'holder'),
      json_build_object('login', login));
    perform private.unfail_line(line);
    paid := paid + 1;
  end loop;
  if batch.status = 'exported' and waits = 0 then
    paid := paid + private.pay_lines(private.lines_of(batch.id));
    update core.payout_batches b set status = 'settled', settled_by = session_user, settled_at = private.now()
     where b.id = batch.id returning * into batch;
    perform private.audit('payout.settled', batch.id, jsonb_build_object('paid', paid));
  end if;
  perform private.settle_done(touched, jsonb_build_object('failed', lost));
  return json_build_object(
    'changed', paid + lost + asked > 0, 'paid', paid, 'failed', lost, 'waits', waits,
    'batch', case when batch.id is not null then private.payout_batch_row(batch) end,
    'lines', (select coalesce(json_agg(private.payout_line_row(l) order by l.arrival), '[]') from core.payout_lines l
               where l.partner_id = any (array(select p.id from core.partners p))
                   and l.id = any (array(select private.line_id_of(f) from unnest(failed || booked) f))));
end $$;
comment on function ops.payout_settle(jsonb) is
  'What the bank did: {batch?, failed?: [line], booked?: [line], reason?} to {changed, paid, failed, waits, batch, '
  'lines}. booked are lines that failed here by mistake: they are paid, if no other payment has their money and they '
  'did not come back. The failed lines go back to the balances; if nothing is barred they wait until a second login '
  'repeats it, and the batch with them. Every other line of the batch is paid.';

create function ops.payout_cancel(input jsonb) returns json
language plpgsql security definer
as $$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  batch   core.payout_batches;
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock('payouts');
  batch := private.payout_batch_named(input);
  changed := batch.status <> 'cancelled';
  if batch.status in ('exported', 'settled', 'rejected') then
    perform private.refuse('payout_gone', json_build_object('batch', batch.id));
  elsif changed then
    perform private.refuse_unknown_payments(),
        private.return_lines(array(select l from core.payout_lines l where l.batch_id = batch.id));
    update core.payout_lines l set status = 'cancelled' where l.batch_id = batch.id;
    update core.payout_batches b set status = 'cancelled', cancelled_by = session_user, cancelled_at = private.now(),
        cancelled_reason = reason
     where b.id = batch.id returning * into batch;
    perform private.audit('payout.cancelled', batch.id);
    perform private.emit_payouts('payout.reversed', private.lines_of(batch.id)) where batch.approved_at is not null;
  end if;
  return json_build_object('changed', changed, 'batch', private.payout_batch_row(batch));
end $$;
comment on function ops.payout_cancel(jsonb) is
  'Cancels a batch that was not exported, and puts its money back into the balances: {batch, reason} to {changed, '
  'batch}.';

create function ops.payout_adopt(input jsonb) returns json
language plpgsql security definer
as $$
declare
  login constant text := private.operator_login();
  named constant uuid := private.as_uuid(input ->> 'batch');
  taken private.payee[];
  batch core.payout_batches;
begin
  perform private.act_as_operator(input), private.lock('payouts');
  select * into batch from core.payout_batches b where b.id = named;
  perform private.refuse_if('payout_cancelled', batch.status = 'cancelled', json_build_object('batch', named));
  if batch.id is null and input -> 'lines' is null then
    return json_build_object('payees', (
      select coalesce(json_agg(json_build_object(
               'partner_id', y.partner_id, 'account_id', y.account_id, 'name', y.name, 'amount_eur', y.amount,
               'iban', json_build_object('ciphertext', y.iban_ciphertext, 'key_id', y.iban_key_id))), '[]')
        from private.payees(0) y where y.amount > 0));
  elsif batch.id is null then
    -- with the name and IBAN that the bank paid, even if they are others here
    taken := array(
      select jsonb_populate_record(y, l.line)
        from private.payees(0) y
        join jsonb_array_elements(input -> 'lines') l (line)
          on l.line ->> 'payee' = coalesce(y.account_id, y.partner_id)::text
              and l.line ->> 'partner_id' = y.partner_id::text
             and (l.line ->> 'amount')::numeric = y.amount);
    perform private.refuse_if('payout_differs', cardinality(taken) <> jsonb_array_length(input -> 'lines'),
                              json_build_object('batch', named));
    perform private.make_batch(taken, 0, login, ids => jsonb_build_object('batch', named, 'lines',
      (select jsonb_object_agg(l.line ->> 'payee', l.line ->> 'line_id')
       from jsonb_array_elements(input -> 'lines') l (line))));
    perform private.audit('payout.adopted', named, jsonb_build_object('lines', cardinality(taken)));
    select * into batch from core.payout_batches b where b.id = named;
  end if;
  return json_build_object('changed', input -> 'lines' is not null, 'batch', private.payout_batch_row(batch));
end $$;
comment on function ops.payout_adopt(jsonb) is
  'Prepares again a batch that the bank has and a restore removed, under the ids in the bank''s file: {batch, lines: '
  '[{line_id, payee, partner_id, amount, name, iban_ciphertext, iban_key_id, iban_last4}]} to {changed, batch}. '
  'Without lines: {batch} if the batch is here, else {payees}, who is owed what. Each line must be all that its payee '
  'is owed.';

create function ops.payout_resume(input jsonb) returns json
language plpgsql security definer
as $$
declare
  login   constant text := private.operator_login();
  reason  constant text := private.operator_reason(input ->> 'reason');
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock('payouts');
  -- exporting such a batch would send its file a second time
  perform private.refuse_if('payout_half_adopted', exists (
    select from core.payout_batches b join core.audit_log a on a.subject_id = b.id and a.action = 'payout.adopted'
     where b.status in ('prepared', 'approved')));
  update core.deployment d set pays_from = private.server() where d.pays_from <> private.server();
  changed := found;
  perform private.audit('payout.resumed', null, jsonb_build_object('reason', reason)) where changed;
  return json_build_object('changed', changed);
end $$;
comment on function ops.payout_resume(jsonb) is
  'Lets this server pay out, after a restore: {reason} to {changed}. The operator says that the bank has no batch that '
  'is missing or not exported here.';

create function ops.payout_release(input jsonb) returns json
language plpgsql security definer
as $$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  login   text;
  line    core.payout_lines;
  other   core.payout_lines;
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock('payouts');
  select l.* into line
    from core.payout_lines l
   where l.partner_id = any (array(select q.id from core.partners q)) and l.failed_effect in ('account', 'holder')
     and l.payee_id = coalesce(private.as_uuid(input ->> 'payee'),
                               (select q.id from core.partners q where q.slug = input ->> 'payee'))
   order by l.released_at is null desc, l.arrival desc limit 1;
  perform private.refuse_if('nothing_to_release', not found, json_build_object('payee', input ->> 'payee'));
  changed := line.released_at is null;
  if changed then
    login := private.operator_login();
    -- all failed lines of the payee, because the operator names the payee, not a line
    perform private.refuse_if('second_person_releases', exists (
      select from core.payout_lines l
       where l.partner_id = line.partner_id and l.payee_id = line.payee_id
         and l.failed_effect in ('account', 'holder') and l.released_at is null and l.failed_by = login),
      json_build_object('login', login));
    perform private.set_tenant(line.partner_id);
    for other in
      update core.payout_lines l set released_at = private.now(), released_reason = reason
       where l.partner_id = line.partner_id and l.payee_id = line.payee_id
           and l.failed_effect in ('account', 'holder') and l.released_at is null
      returning *
    loop
      perform private.audit('payout.released', other.payee_id, jsonb_build_object('line', other.id));
      if other.id = line.id then
        line := other;
      end if;
    end loop;
  end if;
  return json_build_object('changed', changed, 'line', private.payout_line_row(line));
end $$;
comment on function ops.payout_release(jsonb) is
  'Lets the IBANs of failed payments, and a payee whose bank said that the holder died, be paid again: {payee, reason} '
  'to {changed, line}, the last of those lines. payee is an account id, or a partner''s slug or id.';

create function ops.payout_name(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wanted  constant text := btrim(input ->> 'name');
  account core.accounts;
  changed boolean;
begin
  account := private.account_named(input);
  perform private.refuse_if('invalid_bank_name',
                            (length(wanted) <= 70 and private.sepa_name(wanted) = wanted) is not true);
  changed := account.bank_name is distinct from wanted;
  if changed then
    update core.accounts a set bank_name = wanted where a.partner_id = account.partner_id and a.id = account.id;
    perform private.set_tenant(account.partner_id), private.audit('account.bank_name_stored', account.id);
  end if;
  return json_build_object('changed', changed, 'account', json_build_object('account_id', account.id,
                                                                            'bank_name', wanted));
end $$;
comment on function ops.payout_name(jsonb) is
  'The name for the bank of a customer whose own name has no letter that banks take: {account, name} to {changed, '
  'account}. It shows and changes personal data, so it leaves an audit row.';

create function ops.payout_iban(input jsonb) returns json
language plpgsql security definer
as $$
declare
  login   constant text := private.operator_login();
  reason  constant text := private.operator_reason(input ->> 'reason');
  holder  constant text := btrim(input ->> 'holder');
  asked   constant jsonb := jsonb_build_object('by', login, 'hash', input ->> 'hash', 'holder', holder);
  account core.accounts;
begin
  account := private.account_named(input);
  perform private.lock('payouts');
  select * into account from core.accounts a where a.partner_id = account.partner_id and a.id = account.id for update;
  perform private.refuse_if('invalid_bank_name',
                            (length(holder) <= 70 and private.sepa_name(holder) = holder) is not true);
  if input -> 'iban' is null then
    return json_build_object('partner_id', account.partner_id);
  elsif account.iban_asked - 'by' = asked - 'by' and account.iban_asked ->> 'by' <> login then
    perform private.store_iban(account.id, input -> 'iban' || jsonb_build_object('holder', holder));
    return json_build_object('changed', true, 'stored', true, 'account_id', account.id);
  elsif account.iban_asked is distinct from asked then
    update core.accounts a set iban_asked = asked where a.partner_id = account.partner_id and a.id = account.id;
    perform private.audit('account.iban_asked', account.id, jsonb_build_object('reason', reason));
  end if;
  return json_build_object('changed', account.iban_asked is distinct from asked, 'stored', false,
                           'account_id', account.id);
end $$;
comment on function ops.payout_iban(jsonb) is
  'Stores an IBAN for a customer who cannot: {account, holder, reason, iban: sealed, hash} to {changed, stored, '
  'account_id}. stored once a second login gives the same IBAN, by its keyed hash, and holder. Without iban: '
  '{partner_id}, for which it is sealed.';

create function ops.payout_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('batches', coalesce(json_agg(private.payout_batch_row(b) order by b.prepared_at desc, b.id),
                                               '[]'))
    from (select * from core.payout_batches b
           where input ->> 'status' is null or b.status = input ->> 'status'
           order by b.prepared_at desc, b.id limit coalesce((input ->> 'limit')::int, 50)) b
$$;
comment on function ops.payout_list(jsonb) is 'Batches, newest first: {status?, limit?} to {batches}.';

create function ops.payout_show(input jsonb) returns json
language plpgsql security definer
as $$
declare
  batch constant core.payout_batches := private.payout_batch_named(input);
begin
  perform private.audit('payout.read', batch.id);
  return json_build_object(
    'batch', private.payout_batch_row(batch),
    'lines', (select coalesce(json_agg(private.payout_line_row(l) order by l.arrival), '[]')
                from (select l.* from core.payout_lines l
                       where l.batch_id = batch.id and (input ->> 'status' is null or l.status = input ->> 'status')
                       order by l.arrival limit coalesce((input ->> 'limit')::int, 1000)) l));
end $$;
comment on function ops.payout_show(jsonb) is
  'A batch and its lines, in the order of the file: {batch, status?, limit?} to {batch, lines}. It names people, so it '
  'leaves an audit row.';
