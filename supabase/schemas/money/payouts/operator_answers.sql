-- What the bank says of a batch: an answer that was read from its file, or that it refused the file.

create type private.bank_word as (
  place   int,
  -- booked: a batch; paid, back: a line; rejected: a batch; back_batch: a batch, without saying which lines
  what    text,
  batch   uuid,
  line    uuid,
  amount  numeric,
  reason  text,
  -- what came of it; null while nothing was decided
  outcome text,
  -- the amount that it should have been
  wanted  numeric,
  -- the day on which the bank booked it
  day     date,
  -- of what came back: booked as a return, and not only refused
  returned boolean);

-- The lines that these ids name, whatever tenant they belong to.
create function private.lines_by_id(ids uuid[]) returns core.payout_lines[]
language sql stable
as $$
  select array(select l from core.payout_lines l
                where l.partner_id = any (array(select p.id from core.partners p)) and l.id = any (ids))
$$;

-- The bank refused the file of a batch: its waiting lines become unpaid once a second person says so. Returns
-- rejected, waits, already, or why not. reason may be that it had the file before. The batch is locked.
create function private.reject_batch(batch core.payout_batches, login text, reason text) returns text
language plpgsql
as $$
begin
  if private.bank_effect(reason) = 'before' then
    return 'had_before';
  elsif batch.status = 'rejected' then
    return 'already';
  elsif batch.status not in ('exported', 'settled') then
    return 'not_exported';
  elsif exists (select from core.payout_lines l
                 where l.batch_id = batch.id and (l.status = 'paid' or l.returned or l.booked_on is not null)) then
    return 'booked_before';
  elsif batch.status = 'settled' then
    return 'already';  -- each of its lines failed
  elsif batch.reject_asked_by is null then
    update core.payout_batches b set reject_asked_by = login where b.id = batch.id;
    perform private.set_tenant(null), private.audit('payout.reject_asked', batch.id);
    return 'waits';
  elsif batch.reject_asked_by = login then
    return 'waits';
  end if;
  perform private.fail_lines(array(select l from core.payout_lines l where l.batch_id = batch.id
                                                                       and l.status = 'pending' order by l.arrival),
                             left('the bank refused the whole file: ' || reason, 500), 'none');
  update core.payout_batches b
     set status = 'rejected', cancelled_by = login, cancelled_at = private.now(), cancelled_reason = reason
   where b.id = batch.id;
  perform private.set_tenant(null), private.audit('payout.rejected', batch.id);
  return 'rejected';
end $$;

-- Settles those of these batches of which no line waits for the bank any more; details say by what.
create function private.settle_done(batches uuid[], details jsonb) returns void
language plpgsql
as $$
declare
  batch core.payout_batches;
begin
  for batch in
    update core.payout_batches b set status = 'settled', settled_by = session_user, settled_at = private.now()
     where b.status = 'exported' and b.id = any (batches)
       and not exists (select from core.payout_lines l where l.batch_id = b.id and l.status = 'pending')
    returning *
  loop
    perform private.set_tenant(null), private.audit('payout.settled', batch.id, details);
  end loop;
end $$;

-- Takes back what one person said of a batch and no second one repeated: that its file was refused, or that lines came
-- back. Returns whether anything waited. The batch is locked.
create function private.forget_asked(batch uuid) returns boolean
language plpgsql
as $$
declare
  lines int;
begin
  update core.payout_lines l set return_asked_by = null, return_asked_reason = null
   where l.batch_id = batch and l.partner_id = any (array(select p.id from core.partners p))
     and l.return_asked_by is not null and l.status <> 'failed';
  get diagnostics lines = row_count;
  update core.payout_batches b set reject_asked_by = null
   where b.id = batch and b.reject_asked_by is not null and b.status <> 'rejected';
  if not found and lines = 0 then
    return false;
  end if;
  perform private.set_tenant(null), private.audit('payout.asked_undone', batch, jsonb_build_object('lines', lines));
  return true;
end $$;

create function ops.payout_reject(input jsonb) returns json
language plpgsql security definer
as $$
declare
  login   constant text := private.operator_login();
  reason  constant text := private.operator_reason(input ->> 'reason');
  batch   core.payout_batches;
  asked   text;
  outcome text;
  undone  boolean;
begin
  perform private.act_as_operator(input), private.lock('payouts');
  batch := private.payout_batch_named(input);
  if (input ->> 'undo')::boolean then
    undone := private.forget_asked(batch.id);
    select * into batch from core.payout_batches b where b.id = batch.id;
    return json_build_object('changed', undone, 'outcome', 'undone', 'batch', private.payout_batch_row(batch));
  end if;
  asked := batch.reject_asked_by;
  outcome := private.reject_batch(batch, login, reason);
  perform private.refuse_if('payout_had_before', outcome = 'had_before', json_build_object('batch', batch.id));
  perform private.refuse_if('payout_not_exported', outcome = 'not_exported',
                            json_build_object('batch', batch.id, 'status', batch.status)),
          private.refuse_if('payout_booked', outcome = 'booked_before', json_build_object('batch', batch.id));
  select * into batch from core.payout_batches b where b.id = batch.id;
  return json_build_object('changed', outcome = 'rejected' or batch.reject_asked_by is distinct from asked,
                           'outcome', outcome, 'batch', private.payout_batch_row(batch));
end $$;
comment on function ops.payout_reject(jsonb) is
  'The bank refused the file of a batch: {batch, reason, undo} to {changed, outcome, batch}. outcome is waits until a '
  'second login repeats it; then rejected: its money is payable again, no IBAN is barred and nobody is mailed. undo '
  'takes back what waits, of the batch or its lines.';

-- Decides for each word about a line what comes of it: outcome stays null if the line is to be paid or to fail. Of a
-- line that the bank booked twice, the first return is that surplus, whichever file says it; a second one is a return.
-- Where two people read two reasons, the stricter one holds.
create function private.judge_words(words private.bank_word[]) returns private.bank_word[]
language sql stable
as $$
  with twice as (
    -- batches of which these words have a second booking
    select k.batch
      from unnest(words) k
     cross join lateral (
       select sum(l.amount) as whole, sum(l.amount) filter (where l.status in ('pending', 'paid')) as wanted,
              sum(l.amount) filter (where l.status in ('pending', 'paid') or l.returned) as arrived,
              sum(l.amount) filter (where l.booked_on is not null) as booked,
              bool_or(l.booked_on <> k.day) as on_another_day
         from unnest(private.lines_of(k.batch)) l) s
     where k.what = 'booked' and k.outcome is null and s.on_another_day and k.amount + s.booked > s.whole
       and k.amount in (s.whole, s.wanted, s.arrived)
  ), said as (
    -- what has another amount may be a charge under the id of the line
    select w.*, l as of, b.status as batch_status,
           w.outcome is null and coalesce(w.amount, l.amount) = l.amount as counts
      from unnest(words) w
      left join unnest(private.lines_by_id(array(select u.line from unnest(words) u where u.line is not null))) l
        on l.id = w.line
      left join core.payout_batches b on b.id = l.batch_id
  ), numbered as (
    select s.*, count(*) filter (where s.counts) over (partition by s.what, s.line order by s.day, s.place) as nth
      from said s
  ), word as (
    select n.*, n.what = 'paid' and n.counts and (n.nth > 1 or coalesce(n.day <> (n.of).booked_on, false)) as again
      from numbered n
  ), counted as (
    select w.*, case when ((w.of).booked_again is not null or bool_or(w.again) over (partition by w.line)
                           or (w.of).booked_on is not null and (w.of).batch_id in (select t.batch from twice t))
                          and ((w.of).surplus_on is null
                               or (w.of).surplus_on = min(w.day) filter (where w.returned and w.counts)
                                                        over (partition by w.line))
                     then 1 else 0 end as spare
      from word w
  )
  select array(
    select row(w.place, w.what, w.batch, w.line, w.amount,
               case when w.what = 'back' and j.outcome is null
                    then private.stricter_reason((w.of).return_asked_reason, w.reason, private.return_effect(w.reason))
                    else w.reason end,
               j.outcome, case when w.amount <> (w.of).amount then (w.of).amount end, w.day,
               w.returned)::private.bank_word
      from counted w
     cross join lateral (
       select case when w.line is null or w.outcome is not null then w.outcome
                   when (w.of).id is null then 'unknown'
                   when w.batch_status not in ('exported', 'settled', 'rejected') then 'not_exported'
                   when w.what = 'back' and not w.returned and private.bank_effect(w.reason) = 'before'
                     then 'had_before'
                   when w.amount <> (w.of).amount then 'amount_differs'
                   when w.again then 'booked_twice'
                   -- it was booked, and came back
                   when w.what = 'paid' and (w.of).status = 'failed' and not (w.of).returned then 'failed_before'
                   -- the bank refuses no payment that it booked
                   when w.what = 'back' and not w.returned and (w.of).status = 'paid' then 'booked_before'
                   -- no file says whether that is the same return again, or the other payment on the same day
                   when w.returned and w.nth <= w.spare
                     then case when (w.of).surplus_on is null then 'surplus'
                               when (w.of).status = 'failed' then 'already' else 'surplus_before' end
                   when w.what = 'paid' and (w.of).status in ('paid', 'failed')
                        or w.what = 'back' and ((w.of).status = 'failed' or w.nth > w.spare + 1) then 'already'
                   end as outcome) j
     order by w.place)
$$;

create function ops.payout_answer(input jsonb) returns json
language plpgsql security definer
as $$
declare
  login  constant text := private.operator_login();
  words  private.bank_word[];
  word   private.bank_word;
  batch  core.payout_batches;
  lines  core.payout_lines[];
  said   record;
  wanted numeric;
  booked numeric;
  whole  numeric;
  sums   numeric[];
  seen   uuid[] := '{}';
  failed uuid[] := '{}';
  waits  uuid[];
  reasons text[];
  changed boolean := false;
begin
  perform private.act_as_operator(input), private.lock('payouts');
  words := private.judge_words(array(
    select row(s.place, s.what, private.line_id_of(s.batch), private.line_id_of(s.line), s.amount,
               left(coalesce(private.deciding_reason(case s.what when 'rejected' then s.reasons[:1] else s.reasons end,
                                                     s.reasons || s.besides), 'MS03'), 500),
               case when s.line is not null and private.line_id_of(s.line) is null then 'unknown'
                    -- nobody knows whether another file has the same booking, or a second one
                    when private.as_day(s.day) is null and (s.what in ('booked', 'paid') or s.returned) then 'no_day'
                    end,
               null, private.as_day(s.day), coalesce(s.returned, false))::private.bank_word
      from rows from (jsonb_to_recordset(input -> 'said') as (what text, batch text, line text, amount numeric,
                                                              reasons text[], besides text[], day text,
                                                              returned boolean))
           with ordinality as s (what, batch, line, amount, reasons, besides, day, returned, place)));
  -- lines that were paid
  for said in
    select w.day, array_agg(w.line) as ids from unnest(words) w where w.what = 'paid' and w.outcome is null
     group by w.day order by w.day
  loop
    changed := private.pay_lines(private.lines_by_id(said.ids), said.day) > 0 or changed;
    words := private.set_outcomes(words, 'paid', said.ids, 'paid');
  end loop;
  update core.payout_lines l
     set booked_on = coalesce(l.booked_on, w.booked_on), booked_again = coalesce(l.booked_again, w.booked_again),
         surplus_on = coalesce(l.surplus_on, w.surplus_on),
         -- what one person read as its return was that surplus
         return_asked_by = case when w.surplus_on is null then l.return_asked_by end,
         return_asked_reason = case when w.surplus_on is null then l.return_asked_reason end,
         -- of two people's reading
         returned = l.returned or l.status = 'failed' and w.returned
    from (select u.line, min(u.day) filter (where u.what = 'paid' and u.outcome in ('paid', 'already',
                                                                                    'failed_before')) as booked_on,
                 max(u.day) filter (where u.outcome = 'booked_twice') as booked_again,
                 min(u.day) filter (where u.outcome = 'surplus') as surplus_on,
                 bool_or(u.returned and u.outcome = 'already') as returned
            from unnest(words) u where u.line is not null group by u.line) w
   where l.id = w.line and l.partner_id = any (array(select p.id from core.partners p));
  -- batches that were paid in one entry; a part of a batch says nothing of its lines
  foreach word in array array(select w from unnest(words) w where w.what = 'booked' and w.outcome is null
                               order by w.amount desc, w.day, w.place) loop
    select * into batch from core.payout_batches b where b.id = word.batch for update;
    lines := private.lines_of(batch.id);
    select coalesce(sum(l.amount) filter (where l.status in ('pending', 'paid')), 0),
           coalesce(sum(l.amount) filter (where l.status in ('pending', 'paid') or l.returned), 0), sum(l.amount)
      into wanted, booked, whole from unnest(lines) l;
    sums := array[wanted, booked, whole];
    if batch.id is null then
      word.outcome := 'unknown';
    elsif batch.status not in ('exported', 'settled', 'rejected') then
      word.outcome := 'not_exported';
    elsif word.amount = any (sums)
          and (batch.id = any (seen) or exists (select from unnest(lines) l where l.booked_on <> word.day)) then
      word.outcome := 'booked_twice';
      -- else it may be the part of the lines that failed
      update core.payout_lines l set booked_again = coalesce(l.booked_again, word.day)
       where l.batch_id = batch.id and l.partner_id = any (array(select p.id from core.partners p))
         and l.booked_on is not null
         and word.amount + (select sum(o.amount) from unnest(lines) o where o.booked_on is not null) > whole;
    elsif batch.status = 'rejected' and not exists (select from unnest(lines) l where l.status = 'paid') then
      word.outcome := 'failed_before';
    -- what came back after it was booked is in that sum
    elsif not exists (select from unnest(lines) l where l.status = 'pending')
          and word.amount = any (sums) then
      -- else with lines that failed here and that the bank did not send back
      word.outcome := case when word.amount in (wanted, booked) then 'already' else 'failed_before' end;
    elsif word.amount not in (wanted, booked) then
      word.outcome := 'sum_differs';
      word.wanted := wanted;
    else
      changed := private.pay_lines(lines, word.day) > 0 or changed;
      word.outcome := 'paid';
    end if;
    update core.payout_lines l set booked_on = word.day
     where l.batch_id = batch.id and l.booked_on is null
       and l.partner_id = any (array(select p.id from core.partners p))
       and (word.outcome in ('paid', 'already') and (l.status = 'paid' or l.returned and word.amount = booked)
            -- the sum of all its lines
            or word.outcome = 'failed_before' and word.amount = whole);
    if word.outcome <> 'sum_differs' and word.amount = any (sums) then
      seen := seen || batch.id;
    end if;
    words[word.place] := word;
  end loop;
  -- lines that did not arrive: the first person asks, the second does it
  for said in
    select w.reason, array_agg(l) as lines
      from unnest(words) w
      join unnest(private.lines_by_id(array(select u.line from unnest(words) u where u.what = 'back'))) l
        on l.id = w.line
     where w.what = 'back' and w.outcome is null and l.return_asked_by <> login
     group by 1 order by 1
  loop
    perform private.fail_lines(said.lines, said.reason, private.return_effect(said.reason));
    failed := failed || array(select l.id from unnest(said.lines) l);
    changed := true;
  end loop;
  select coalesce(array_agg(w.line order by w.place), '{}'), coalesce(array_agg(w.reason order by w.place), '{}')
    into waits, reasons
    from unnest(words) w where w.what = 'back' and w.outcome is null and w.line <> all (failed);
  changed := private.ask_returns(waits, reasons, login) > 0 or changed;
  -- two people said it
  update core.payout_lines l set failed_by = null, returned = w.returned
    from (select u.line, bool_or(u.returned) as returned from unnest(words) u where u.what = 'back' group by u.line) w
   where l.partner_id = any (array(select p.id from core.partners p)) and l.id = any (failed) and l.id = w.line;
  words := private.set_outcomes(private.set_outcomes(words, 'back', failed, 'failed'), 'back', waits, 'waits');
  -- batches whose file was refused
  foreach word in array array(select w from unnest(words) w where w.what in ('rejected', 'back_batch')
                                                              and w.outcome is null) loop
    select * into batch from core.payout_batches b where b.id = word.batch for update;
    word.outcome := case when batch.id is null then 'unknown' when word.what = 'back_batch' then 'names_no_lines'
                         else private.reject_batch(batch, login, word.reason) end;
    changed := changed or word.outcome = 'rejected' or word.outcome = 'waits' and batch.reject_asked_by is null;
    words[word.place] := word;
  end loop;
  perform private.set_tenant(null);
  perform private.settle_done(array(
    select w.batch from unnest(words) w where w.batch is not null
    union select l.batch_id
            from unnest(private.lines_by_id(array(select w.line from unnest(words) w where w.line is not null))) l),
    jsonb_build_object('file', input ->> 'sha256'));
  return json_build_object('changed', changed, 'said', private.words_said(words));
end $$;
comment on function ops.payout_answer(jsonb) is
  'What a file of the bank says: {said: [{what, batch?, line?, amount?, reasons?, besides?, day?, returned?}], '
  'sha256} to {changed, said}, each with its outcome. day is when it was booked; returned is of a line that came back '
  'as a credit; besides has the reasons of the batch of a line. what is booked (a batch, amount is its sum), paid or '
  'back (a line), rejected (a batch), or back_batch. What was booked is paid at once. What came back, or was refused, '
  'waits until a second login repeats it.';

-- Sets the outcome of the words that say this of these lines.
create function private.set_outcomes(words private.bank_word[], what text, lines uuid[], outcome text)
returns private.bank_word[]
language sql immutable
as $$
  select array(
    select row(w.place, w.what, w.batch, w.line, w.amount, w.reason,
               case when w.what = set_outcomes.what and w.outcome is null and w.line = any (lines)
                    then set_outcomes.outcome else w.outcome end, w.wanted, w.day, w.returned)::private.bank_word
      from unnest(words) w order by w.place)
$$;

-- Stores that somebody read in a file of the bank that these lines did not arrive, for these reasons. Returns how many
-- are new.
create function private.ask_returns(lines uuid[], reasons text[], login text) returns int
language plpgsql
as $$
declare
  fresh core.payout_lines[];
  line  core.payout_lines;
begin
  with asked as (
    update core.payout_lines l set return_asked_by = login, return_asked_reason = g.reason
      from unnest(ask_returns.lines, reasons) g (id, reason)
     where l.partner_id = any (array(select p.id from core.partners p)) and l.id = any (ask_returns.lines)
       and l.id = g.id
       and (l.return_asked_by, l.return_asked_reason) is distinct from (login, g.reason)
    returning l)
  select coalesce(array_agg(a.l), '{}') into fresh from asked a;
  foreach line in array fresh loop
    perform private.set_tenant(line.partner_id),
        private.audit('payout.return_asked', line.payee_id,
                      jsonb_build_object('line', line.id, 'reason', left(line.return_asked_reason, 4)));
  end loop;
  return cardinality(fresh);
end $$;

-- The words as the operator sees them, with what a reason means.
create function private.words_said(words private.bank_word[]) returns json
language sql stable
as $$
  select coalesce(json_agg(json_build_object(
           'what', w.what, 'batch_id', coalesce(w.batch, l.batch_id), 'line_id', w.line, 'payee', l.payee_id,
           'name', l.name, 'amount_eur', coalesce(w.amount, l.amount), 'wanted_eur', w.wanted,
           'reason', case when w.what in ('back', 'rejected') then w.reason end,
           'means', r.means,
           'effect', case when w.what = 'back' then private.return_effect(w.reason) end,
           'outcome', w.outcome) order by w.place), '[]')
    from unnest(words) w
    left join unnest(private.lines_by_id(array(select u.line from unnest(words) u where u.line is not null))) l
      on l.id = w.line
    left join private.bank_reasons() r on r.code = left(w.reason, 4) and w.what in ('back', 'rejected')
$$;
