begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.get_event (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  disclosing boolean;
  owner      uuid;
  event      core.events;
begin
  perform private.act_as(caller, 'cpo', 'partner');
  disclosing := private.is_partner_itself();
  owner := private.log_owner();
  perform private.sequence_events(private.partner_id(), owner);
  select * into event from core.events e
   where e.partner_id = private.partner_id() and e.owner_id = owner and e.id = (query ->> 'event_id')::uuid
     -- an event without a number is not in the log yet
     and e.sequence is not null and e.created_at > private.events_kept_since() and private.is_shown(e, disclosing);
  perform private.refuse_if('event_not_found', not found);
  return private.event_answer(event, disclosing, query ->> 'key');
end $function$;

CREATE OR REPLACE FUNCTION api.update_connection (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  ean_register constant jsonb := input -> 'ean_register';
  wanted_id  uuid;
  connection core.connections;
  current    jsonb;
  wanted     jsonb;
  ean        text;
  signed     boolean;
  lapses     boolean;
  checked    record;
  changed    boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  wanted_id := private.find_connection((input #>> '{criteria,connection_id}')::uuid, (input #>> '{criteria,account_id}')::uuid, input #>> '{criteria,cpo_external_ref}');
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = wanted_id and c.status = 'active' for update;
  if not found then
    perform private.refuse('connection_not_found');  -- archived since it was looked up above
  end if;
  select jsonb_build_object('ean_code', connection.ean_code, 'postal_code', l.postal_code, 'house_number', l.house_number,
                            'house_number_addition', l.house_number_addition, 'street', l.street, 'city', l.city)
    into current from core.locations l where l.partner_id = connection.partner_id and l.id = connection.location_id;
  wanted := current || (input -> 'connection');
  ean := wanted ->> 'ean_code';
  select m.mandate_status = 'signed' into signed
    from core.connection_mandates m where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  -- a change ends a signed mandate, and uncovers staged months that an ended mandate still covers
  lapses := signed or exists (
    select from core.delivered_months d
      join core.mandates m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.covered_until is not null
     where d.partner_id = connection.partner_id and d.connection_id = connection.id and d.status = 'staged');

  if lower(wanted::text) is distinct from lower(current::text) then
    if not private.reserve_ean(ean, connection.id) then
      perform private.refuse('ean_in_use');
    elsif coalesce(jsonb_typeof(ean_register), 'null') = 'null' then
      return private.ask('ean_register', wanted::json);
    end if;
    -- a street that was not sent belongs to the old address
    if (wanted - 'street' - 'city' - 'ean_code') <> (current - 'street' - 'city' - 'ean_code') then
      wanted := jsonb_build_object('street', null, 'city', null) || (wanted - 'street' - 'city')
                || jsonb_strip_nulls(jsonb_build_object('street', input #> '{connection,street}', 'city', input #> '{connection,city}'));
    end if;
    select * into checked
      from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int, wanted ->> 'house_number_addition', ean_register);
    perform private.record_ean_check(connection.id, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    if checked.outcome = 'mismatch' then
      return private.refusal('ean_address_mismatch');
    elsif lapses and (input -> 'acknowledge_mandate_lapses') is distinct from 'true' then
      return private.refusal('mandate_acknowledgement_required');
    end if;

    wanted := wanted || jsonb_strip_nulls(jsonb_build_object(
      'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city)));
    -- the registration starts again
    update core.connections c
       set ean_code = ean,
           ean_exclusive = not private.is_test_ean(ean),
           location_id = private.location_for(wanted),
           ean_validation_status = case checked.outcome when 'matched' then 'matched' else 'unverified' end,
           ean_checked_at = private.now(),
           registration_status = 'concept',
           submitted_at = null
     where c.partner_id = connection.partner_id and c.id = connection.id;
    perform private.void_mandate_links(connection.id), private.drop_unused_location(connection.location_id);
    -- earlier signatures no longer cover its open months
    update core.mandates m set lapsed_at = private.now()
     where m.partner_id = connection.partner_id and m.connection_id = connection.id and m.covered_until is not null;
    perform private.judge_months(connection.id) where found;
    perform private.end_mandate(connection.id, 'revoked', 'connection_updated') where signed;
    perform private.audit('connection.updated', connection.id, jsonb_build_object('mandate_revoked', signed));
    changed := true;
  end if;
  return (
    select json_build_object(
      'ok', true,
      'changed', changed,
      'connection_id', c.id,
      'account_id', c.account_id,
      'ean_code', c.ean_code,
      'ean_validation_status', c.ean_validation_status,
      'registration_status', c.registration_status,
      'mandate_status', m.mandate_status,
      'mandate_revoked', changed and signed)
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
    where c.partner_id = connection.partner_id and c.id = connection.id);
end $function$;

CREATE OR REPLACE FUNCTION ops.audit_chains (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  -- a new tenant has no chains yet, and chains may be gone
  select json_build_object('chains', coalesce(json_agg(json_build_object(
           'partner_id', p.id, 'partner_slug', p.slug, 'log', l.log, 'links', coalesce(c.position - c.checkpoint_position, 0),
           'first', c.checkpoint_position + 1, 'position', coalesce(c.position, 0), 'hash', encode(c.hash, 'hex')) order by p.slug, l.log), '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.partners p on chosen.id is null or p.id = chosen.id
   cross join (values ('audit'), ('ledger')) l (log)
    left join core.audit_chains c on c.partner_id = p.id and c.log = l.log
$function$;

CREATE OR REPLACE FUNCTION ops.audit_verify_part (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  chain core.audit_chains;
  part  record;
  fault private.audit_fault;
begin
  select * into chain from core.audit_chains c where c.partner_id = (input ->> 'partner_id')::uuid and c.log = input ->> 'log';
  if not found then
    -- without a chain we verify as if it were empty: a row that is ten minutes old and not in it is a fault
    chain.partner_id := (input ->> 'partner_id')::uuid;
    chain.log := input ->> 'log';
    chain.position := 0;
    chain.settled_id := 0;
    chain.checkpoint_position := 0;
  end if;
  part := private.verify_links(chain, (input ->> 'after')::bigint, (input ->> 'size')::int, decode(input ->> 'expect', 'hex'));
  fault := part.first_fault;
  if part.links < (input ->> 'size')::int and fault.fault is null then
    fault := private.verify_rest(chain);
  end if;
  return json_build_object(
    'last', part.last, 'links', part.links, 'is_there', part.is_there, 'done', part.links < (input ->> 'size')::int,
    'fault', case when fault.fault is not null then json_build_object(
      'fault', fault.fault, 'position', fault.position, 'row', fault.row_id, 'at', private.iso(fault.at), 'what', fault.what) end);
end $function$;

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
    -- with the name and IBAN that the bank paid, even if they are others here
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
  -- a verdict counts only for the IBAN and the failed payments that it was made for
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

CREATE OR REPLACE FUNCTION ops.payout_release (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  line    core.payout_lines;
  other   core.payout_lines;
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  select l.* into line
    from core.payout_lines l
   where l.partner_id = any (array(select q.id from core.partners q)) and l.status = 'failed'
     and l.payee_id = coalesce(private.as_uuid(input ->> 'payee'), (select q.id from core.partners q where q.slug = input ->> 'payee'))
   order by l.released_at is null desc, l.arrival desc limit 1;
  perform private.refuse_if('nothing_to_release', not found, json_build_object('payee', input ->> 'payee'));
  changed := line.released_at is null;
  if changed then
    perform private.act_for_partner(line.partner_id);
    -- all failed lines of the payee, because the operator names the payee, not a line
    for other in
      update core.payout_lines l set released_at = private.now(), released_reason = reason
       where l.partner_id = line.partner_id and l.payee_id = line.payee_id and l.status = 'failed' and l.released_at is null
      returning *
    loop
      perform private.audit('payout.released', other.payee_id, jsonb_build_object('line', other.id));
      if other.id = line.id then
        line := other;
      end if;
    end loop;
  end if;
  return json_build_object('changed', changed, 'line', private.payout_line_row(line));
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
  -- exporting such a batch would send its file a second time
  perform private.refuse_if('payout_half_adopted', exists (
    select from core.payout_batches b join core.audit_log a on a.subject_id = b.id and a.action = 'payout.adopted' where b.status in ('prepared', 'approved')));
  update core.deployment d set pays_from = private.server() where d.pays_from <> private.server();
  changed := found;
  perform private.audit('payout.resumed', null, jsonb_build_object('reason', reason)) where changed;
  return json_build_object('changed', changed);
end $function$;

CREATE OR REPLACE FUNCTION private.admit_ocpi (
  credential jsonb,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  hashes constant bytea[] := array(select decode(h, 'hex') from jsonb_array_elements_text(credential -> 'token_hashes') h);
  link   core.ocpi_connections;
begin
  -- one of three indexes finds the token; its row says what the token may do
  select c.* into link from core.ocpi_connections c
   where c.token_hash = any (hashes) or c.previous_token_hash = any (hashes) or c.registration_token_hash = any (hashes);
  if (demand ->> 'kind' = 'ocpi'
      and (link.token_hash = any (hashes) is true
           or link.previous_token_hash = any (hashes) and link.previous_until > private.now()
           or demand ->> 'scope' is null and link.registration_token_hash = any (hashes) and link.registration_until > private.now())
      and exists (select from core.oauth_clients c where c.id = link.owner_id and c.partner_id = link.partner_id and c.disabled_at is null)
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
end $function$;

CREATE OR REPLACE FUNCTION private.charging_place (
  owner uuid,
  after text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  bytes bytea;
  place text;
begin
  if after !~ '^[A-Za-z0-9_-]{12,200}$' or length(after) % 4 = 1 then
    return null;
  end if;
  bytes := decode(translate(after, '-_', '+/') || repeat('=', (4 - length(after) % 4) % 4), 'base64');
  -- our cursors are ASCII: escape keeps them, and changes any other
  place := encode(substr(bytes, 1, length(bytes) - 8), 'escape');
  return case when private.charging_cursor(owner, place) = after then place end;
end $function$;

CREATE OR REPLACE FUNCTION private.check_payouts (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with part as materialized (
    select p.*, l.status, l.payee_id as line_payee_id
      from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.ledger_partner_id = tenant
  ), line as (
    select l.id, l.amount, coalesce(sum(p.amount), 0) as parts
      from core.payout_lines l left join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     where l.partner_id = tenant group by l.id, l.amount
  ), owed as (
    select k.kind, p.line_payee_id as payee_id, sum(p.amount) as amount
      from part p join (values ('payout', 'pending'), ('bank', 'paid')) k (kind, status) on k.status = p.status
     group by k.kind, p.line_payee_id
  ), balance as (
    select coalesce(b.owner, o.payee_id) as payee_id, coalesce(o.amount, 0) as amount, coalesce(b.balance, 0) as balance
      from (select * from core.ledger_balances where partner_id = tenant and unit = 'EUR' and kind in ('payout', 'bank')) b
      full join owed o on o.kind = b.kind and o.payee_id = b.owner
  ), entry as materialized (
    select e.part_id, e.ledger_partner_id, e.allocation_id, p.kind, p.status, e.amount
      from part p join core.payout_entries e on e.partner_id = p.partner_id and e.part_id = p.id
  ), pays as (
    select p.id, p.amount - p.forgotten as amount, coalesce(e.amount, 0) as entries
      from part p left join (select e.part_id, sum(e.amount) as amount from entry e group by e.part_id) e on e.part_id = p.id
     where p.kind <> 'vat'
  ), earned as (
    -- at most one pending or paid line pays a part of a sale, and still does if the sale was taken back since
    select e.allocation_id, e.kind, e.amount, a.reversal_id is null as stands, case e.kind when 'customer' then a.net else a.partner_share end as due
      from (select e.allocation_id, e.kind, sum(e.amount) filter (where e.status in ('pending', 'paid')) as amount from entry e group by e.allocation_id, e.kind) e
      left join (select * from core.allocations where partner_id = tenant) a on a.id = e.allocation_id
  )
  select 'parts of payouts are the sales they pay', coalesce(sum(p.amount), 0), coalesce(sum(p.entries), 0),
         count(*) filter (where p.amount <> p.entries), min('part ' || p.id) filter (where p.amount <> p.entries)
    from pays p
  union all
  select 'each part of a sale is paid once', 0, count(*) filter (where k.is_wrong), count(*) filter (where k.is_wrong), min('allocation ' || e.allocation_id) filter (where k.is_wrong)
    from earned e
   cross join lateral (
     select e.due is null or coalesce(e.amount, 0) <> 0 and coalesce(e.amount, 0) <> e.due and (e.stands or e.amount <> -e.due) as is_wrong) k
  union all
  select 'lines of payouts are the sum of their parts', coalesce(sum(l.parts), 0), coalesce(sum(l.amount), 0),
         count(*) filter (where l.parts <> l.amount), min('line ' || l.id) filter (where l.parts <> l.amount)
    from line l
  union all
  select 'what is on its way, and what was paid, are lines of payouts', coalesce(sum(b.amount), 0), coalesce(sum(b.balance), 0),
         count(*) filter (where b.amount <> b.balance), min('payee ' || b.payee_id) filter (where b.amount <> b.balance)
    from balance b
$function$;

CREATE OR REPLACE FUNCTION private.earned_of (
  tenant uuid,
  kind   text,
  payee  uuid
)
  RETURNS TABLE (
    allocation_id uuid,
    arrival       bigint,
    stands        boolean,
    due           numeric,
    paid          numeric,
    state         text,
    paid_at       timestamp with time zone
  )
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  -- one pass over sold and paid parts, combined without a join: a partner may have a hundred thousand of each
  select m.id, max(m.arrival), bool_or(m.stands), sum(m.due), sum(m.paid),
         case when sum(m.paid) <> 0 then max(m.state) when bool_or(m.failed) then 'failed' else 'pending' end,
         case when sum(m.paid) <> 0 then max(m.paid_at) end
    from (
      select a.id, s.arrival, a.reversal_id is null as stands, case when a.reversal_id is null then a.net else 0 end as due, 0.00 as paid,
             null as state, false as failed, null::timestamptz as paid_at
        from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
       where earned_of.kind = 'customer' and a.partner_id = tenant and a.account_id = payee and a.net > 0
      union all
      select a.id, s.arrival, a.reversal_id is null, case when a.reversal_id is null then a.partner_share else 0 end, 0, null, false, null
        from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
       where earned_of.kind = 'partner' and a.partner_id = tenant and a.share_partner_id = payee and a.partner_share > 0
      union all
      -- a failed or cancelled line does not count, so at most one line pays a part of a sale that stands
      select e.allocation_id, null, null, 0, case when k.counts then e.amount else 0 end,
             case when not k.counts then null when l.status = 'paid' then 'paid' when b.status = 'prepared' then 'pending' else 'approved' end,
             l.status = 'failed', l.paid_at
        from core.payout_parts o
        join core.payout_lines l on l.partner_id = o.partner_id and l.id = o.line_id
        join core.payout_batches b on b.id = l.batch_id
       cross join lateral (select l.status in ('pending', 'paid') as counts) k
        join core.payout_entries e on e.partner_id = o.partner_id and e.part_id = o.id
       where o.ledger_partner_id = tenant and o.payee_id = payee and o.kind = earned_of.kind) m
   group by m.id;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_charging_sessions (
  changes private.charging_session_change[]
)
  RETURNS private.touched_month[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  looked   private.charging_session_change[] := coalesce(changes, '{}');
  covered boolean[];
  ends     timestamptz[];
  at       int;
  event    record;
  touched  private.touched_month[];
begin
  if exists (select from unnest(changes) c where (c.before).id is not null) then
    looked := array(
      select distinct on (((k.change).after).id) k.change
        from (select c as change from unnest(changes) c
              union all
              -- A session that was corrected may no longer overlap later ones, or overlap others than before. These come as they were.
              select row(other, other)::private.charging_session_change
                from (select (c.after).charger_id, range_agg(tstzrange(v.first - interval '5 minutes', v.last + interval '5 minutes')) as spans,
                             range_agg(tstzrange(v.first - interval '1 day', v.last + interval '5 minutes')) as windows
                        from unnest(changes) c
                       cross join lateral (values ((c.before).started_at, (c.before).ended_at), ((c.after).started_at, (c.after).ended_at)) t (started_at, ended_at)
                       cross join lateral (select least(t.started_at, t.ended_at) as first, greatest(t.started_at, t.ended_at) as last) v
                       where (c.before).id is not null and t.ended_at is not null
                       group by 1) g
               cross join lateral private.charging_sessions_in(g.charger_id, g.windows) other
               where tstzrange(least(other.started_at, other.ended_at), greatest(other.started_at, other.ended_at), '[]') && g.spans and other.ended_at is not null) k
       order by ((k.change).after).id, (k.change).after is not distinct from (k.change).before);
  end if;
  -- A session is covered if one that arrived before it at its EVSE begins before it ends, and ends after it begins. We go through an EVSE
  -- in order of arrival. ends is a Fenwick tree over the begins: for any number of first begins (rank) it has the latest end among the
  -- arrivals so far. So a session costs one look-up, instead of a comparison with every other session.
  covered := array_fill(false, array[cardinality(looked)]);
  for event in
    with asking as (
      select c.place, s.* from unnest(looked) with ordinality c (after, before, place) cross join lateral (select (c.after).*) s where s.ended_at is not null
    ), told as (
      select a.charger_id, a.connector, a.arrival, a.ended_at as key, a.started_at as bound, a.place::int as place from asking a
      union all
      select n.charger_id, n.connector, n.arrival, n.started_at, n.ended_at, null
        from (select a.charger_id, range_agg(tstzrange(least(a.started_at, a.ended_at) - interval '1 day', greatest(a.started_at, a.ended_at), '[]')) as windows
                from asking a group by a.charger_id) g
       cross join lateral private.charging_sessions_in(g.charger_id, g.windows) n
       where n.ended_at is not null and n.flags <@ '{overlapping,duplicate,after_lock}'
    )
    select t.bound, t.place, count(*) filter (where t.place is null) over evse::int as size,
           count(*) filter (where t.place is null) over (evse order by t.key, t.place nulls last rows unbounded preceding)::int as rank,
           row_number() over (evse order by t.arrival, t.place nulls last) as n
      from told t
    window evse as (partition by t.charger_id, t.connector)
     order by t.charger_id, t.connector, t.arrival, t.place nulls last
  loop
    if event.n = 1 then
      ends := array_fill('-infinity'::timestamptz, array[event.size]);
    end if;
    at := event.rank;
    if event.place is null then
      while at <= event.size loop
        ends[at] := greatest(ends[at], event.bound);
        at := at + (at & -at);
      end loop;
    else
      while at > 0 loop
        covered[event.place] := covered[event.place] or ends[at] > event.bound;
        at := at - (at & -at);
      end loop;
    end if;
  end loop;
  with looked_at as materialized (
    select s.id, s.charger_id, s.connection_id, s.month, s.counted, s.flags, c.after is distinct from c.before as changed, (c.before).month as old_month,
           private.own_flags(s.flags) || case when e.same then '{duplicate}'::text[] when c.covered then '{overlapping}' else '{}' end as judged,
           -- what came after the lock, and was withdrawn since, was never booked
           not 'withdrawn' = any (s.flags) or exists (
             select from core.replaced_charging_sessions r
              where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and not 'after_lock' = any (r.flags)) as booked,
           s.ended_at is not null and h.mid_eligible is true and exists (
             select from core.delivered_months d
              where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                and d.period in (s.month, case when (c.before).ended_at is not null then (c.before).month end)) as locked
      from rows from (unnest(looked), unnest(covered)) c (after, before, covered)
     cross join lateral (select (c.after).*) s
      join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
     cross join lateral (
       select exists (
         select from (
           -- an EVSE charges one car at a time, so these are enough: more than 300 that begin within ten minutes are no charges
           select near.* from core.charging_sessions near
            where near.partner_id = private.partner_id() and near.charger_id = s.charger_id and near.started_at >= s.started_at - interval '5 minutes'
              and near.started_at <= s.started_at + interval '5 minutes'
            order by near.started_at limit 300) o
          where o.arrival < s.arrival and o.flags <@ '{overlapping,duplicate,after_lock}'
            and abs(extract(epoch from o.ended_at - s.ended_at)) <= 300 and abs(o.wh - s.wh) <= greatest(100, 0.01 * greatest(o.wh, s.wh))
            -- short sessions of one source may follow each other so closely
            and (o.source <> s.source or o.started_at < s.ended_at and o.ended_at > s.started_at)
            -- A source that names no EVSE means the first. A file without ids knows a session by its EVSE, and may name it later.
            and (o.connector = s.connector or o.source <> s.source and least(o.connector, s.connector) = 1
                 or s.source = 'file' and o.received_at <> s.received_at and (o.started_at, o.ended_at, o.wh) = (s.started_at, s.ended_at, s.wh))) as same offset 0) e
  ), verdict as materialized (
    select l.*, l.judged || case when l.booked and ('after_lock' = any (l.flags) or l.locked and (l.changed or not l.counted and l.judged = '{}'))
                                 then '{after_lock}'::text[] else '{}' end as new_flags
      from looked_at l
  ), flagged as (
    update core.charging_sessions s set flags = v.new_flags
      from verdict v
     where v.flags <> v.new_flags and s.partner_id = private.partner_id() and s.charger_id = v.charger_id and s.id = v.id
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select h.partner_id, h.owner_id, h.id, v.id
      from verdict v join core.chargers h on h.partner_id = private.partner_id() and h.id = v.charger_id and h.user_id is null
     where v.changed or v.flags <> v.new_flags
     order by v.id
  )
  select array_agg(row(m.charger_id, m.connection_id, m.month)::private.touched_month) into touched
    from (select v.charger_id, v.connection_id, t.month from verdict v cross join lateral (values (v.month), (v.old_month)) t (month)
           where t.month is not null and (v.changed or v.flags <> v.new_flags)
           group by 1, 2, 3) m;
  return touched;
end $function$;

CREATE OR REPLACE FUNCTION private.payments (
  tenant uuid,
  kind   text,
  payee  uuid
)
  RETURNS TABLE (
    allocation_id uuid,
    amount        numeric,
    state         text,
    paid_at       timestamp with time zone,
    taken         boolean
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return query
  with earned as materialized (
    select e.*, sum(e.due) filter (where e.paid = 0) over (order by e.arrival, e.allocation_id) as up_to
      from private.earned_of(tenant, kind, payee) e where e.stands
  ), kept as materialized (
    -- the balance is less than the unpaid parts by the debt, which the oldest of these parts settle
    select (select sum(e.due) from earned e where e.paid = 0) - private.balance(tenant, 'EUR', payments.kind, payee) as debt
  ), last as materialized (
    select case when l.status = 'paid' then 'paid' when b.status = 'prepared' then 'pending' else 'approved' end as state, l.paid_at
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status in ('pending', 'paid')
      join core.payout_batches b on b.id = l.batch_id
     where p.ledger_partner_id = tenant and p.payee_id = payee and p.kind = payments.kind and (select k.debt from kept k) > 0
     order by l.arrival desc limit 1
  )
  select e.allocation_id, e.due,
         case when e.paid <> 0 then e.state when e.up_to <= k.debt then coalesce(l.state, 'paid') else e.state end,
         case when e.paid <> 0 then e.paid_at when e.up_to <= k.debt then l.paid_at end,
         e.paid <> 0 or coalesce(e.up_to - e.due < k.debt, false)
    from earned e
   cross join kept k
    left join last l on true;
end $function$;

CREATE OR REPLACE FUNCTION private.require_host (
  claimed text
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  host constant text := (select d.host from core.deployment d);
begin
  -- cannot_connect_now: the function answers 503, as if the database did not answer
  if host is null then
    raise exception 'this database does not know its host' using errcode = 'cannot_connect_now',
      hint = 'the operator says it once: host set sandbox, or host set production';
  elsif claimed <> host then
    raise exception 'API_HOST is %, and this database belongs to the % host', claimed, host using errcode = 'cannot_connect_now';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.sepa_name (
  name text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  -- nfkd parts letters from their accents, which are removed
  plain   text := regexp_replace(normalize(name, nfkd), '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]', '', 'g');
  letters text[];
begin
  foreach letters slice 1 in array array[['ß', 'ss'], ['ẞ', 'SS'], ['æ', 'ae'], ['Æ', 'AE'], ['œ', 'oe'], ['Œ', 'OE'], ['þ', 'th'], ['Þ', 'Th']] loop
    plain := replace(plain, letters[1], letters[2]);
  end loop;
  plain := translate(plain, 'øØłŁđĐðÐħĦŧŦı', 'oOlLdDdDhHtTi');
  plain := btrim(left(btrim(regexp_replace(plain, '[^A-Za-z0-9/?:().,''+-]+', ' ', 'g')), 70));
  return case when plain ~ '[A-Za-z0-9]' then plain end;
end $function$;

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
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  wanted  int    := (query ->> 'limit')::int + 1;
  skipped bigint := (query ->> 'offset')::bigint;
  line    record;
  parts   bigint;
begin
  -- Payment by payment: one may be for a hundred thousand accounts, and no index sorts by payment and then by part.
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

CREATE OR REPLACE FUNCTION private.sweep_events()
  RETURNS bigint
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  log   record;
  head  core.event_heads;
  swept bigint := 0;
begin
  for log in
    select l.partner_id, l.owner_id from (
      (select e.partner_id, e.owner_id from core.events e where e.created_at <= private.events_kept_since() order by e.created_at limit private.events_at_once())
      union
      -- what nobody has read: numbered bit by bit, before it is much for one reader
      (select e.partner_id, e.owner_id from core.events e
        where e.sequence is null and e.created_at <= private.now() - interval '1 hour' limit private.events_at_once())) l
     order by l.partner_id, l.owner_id
  loop
    -- we look first, because an insert of a head that exists waits for whoever changes it
    if not exists (select from core.event_heads h where h.partner_id = log.partner_id and h.owner_id = log.owner_id) then
      insert into core.event_heads (partner_id, owner_id) values (log.partner_id, log.owner_id) on conflict on constraint event_heads_pkey do nothing;
    end if;
    -- A run of jobs keeps its locks until all jobs are done. So it locks heads in the same order as
    -- private.lease_webhooks, and leaves a locked head to the next run. It waits only for a transaction that is
    -- inserting the same head.
    select * into head from core.event_heads h where h.partner_id = log.partner_id and h.owner_id = log.owner_id for update skip locked;
    continue when not found;
    perform private.sequence_events(log.partner_id, log.owner_id);
    swept := swept + private.sweep_log(head, private.events_at_once() - swept);
  end loop;
  return swept;
end $function$;

COMMENT ON COLUMN "core"."payout_entries"."sold" IS 'Whether the sale stood when the line was prepared. If not, amount is below zero, or it gives back what another line subtracted.';

COMMENT ON COLUMN "core"."payout_lines"."partner_id" IS 'The tenant of the account, or the partner that is paid. The IBAN is encrypted for this tenant.';

COMMENT ON FUNCTION "ops"."payout_adopt"(jsonb) IS 'Prepares again a batch that the bank has and a restore removed, under the ids in the bank''s file: {batch, lines: [{line_id, payee, partner_id, amount, name, iban_ciphertext, iban_key_id, iban_last4}]} to {changed, batch}. Without lines: {batch} if the batch is here, else {payees}, who is owed what. Each line must be all that its payee is owed.';

COMMENT ON FUNCTION "ops"."payout_cancel"(jsonb) IS 'Cancels a batch that was not exported, and puts its money back into the balances: {batch, reason} to {changed, batch}.';

COMMENT ON FUNCTION "ops"."payout_due"(jsonb) IS 'The payees of a batch, with their encrypted IBANs and the IBANs of their failed payments: {minimum?} to {payees}. The command line decrypts and judges the IBANs, for payout_prepare.';

COMMENT ON FUNCTION "ops"."payout_export"(jsonb) IS 'What the file for the bank is made of, with encrypted IBANs: {batch} to {batch, created_at, lines}. A server that may not pay out answers only if adopted is true. For an exported batch, with again and a reason: {batch, file}, the file that payout_keep_file stored.';

COMMENT ON FUNCTION "ops"."payout_keep_file"(jsonb) IS 'Keeps the file for the bank, encrypted, before it is written anywhere, and tells customers: {batch, file: {ciphertext, key_id}, sha256, adopted?} to {batch}. Customers of an adopted batch were told before. If two come at once, one is refused.';

COMMENT ON FUNCTION "ops"."payout_overview"(jsonb) IS 'A customer''s year: {account, year} to {overview}. It shows a person''s data, so it leaves an audit row.';

COMMENT ON TABLE "core"."payout_entries" IS 'What a part of a payment pays: one whole part of a sale, as it was when the line was prepared. So it is fixed which line pays what, whatever the bank does with the lines, in any order. Append-only, kept seven years.';

COMMENT ON TABLE "core"."payout_parts" IS 'One balance that a line pays, whole, from the ledger of ledger_partner_id. A customer''s line has their own balance. A partner''s line has its share, the VAT on it, and its customers'' balances; the share in people''s fees is in the house''s ledger. A balance below zero is subtracted. Append-only, kept seven years.';

commit;
