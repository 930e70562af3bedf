-- The operator on one account: its story in order, from its creation to its payments.

-- private.account_named, where {account} may also be an EAN, also a former one, or the e-mail address of signatory or
-- login.
create function private.account_meant(input jsonb) returns core.accounts
language plpgsql
as $$
declare
  named      constant text := input ->> 'account';
  candidates constant uuid[] := array(
    select c.account_id from private.connections_named(regexp_replace(named, '[ .]', '', 'g')) c
     where named ~ '^[0-9 .]{18,}$'
    union
    select s.account_id from core.signatories s where s.email = lower(btrim(named))
    union
    select a.id from auth.users u join core.accounts a on a.user_id = u.id where u.email = lower(btrim(named)));
begin
  perform private.refuse_if('account_several', cardinality(candidates) > 1,
                            json_build_object('account', named, 'accounts', candidates));
  return private.account_named(input || jsonb_build_object('account', coalesce(candidates[1]::text, named)));
end $$;

-- Everything that happened to an account and is still kept.
create function private.account_events(account core.accounts)
returns table (at timestamptz, what text, by text, period text, kwh numeric, ere numeric, eur numeric, note text)
language sql stable
as $$
  with connection as (
    select c.id, c.ean_code from core.connections c where c.partner_id = account.partner_id
        and c.account_id = account.id
  ), booked as (
    select r.*, b.quarter, b.number, b.submitted_at, b.withdrawn_at
      from connection c
      join core.booking_rows r on r.partner_id = account.partner_id and r.connection_id = c.id
      join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
  ), subject as (
    select account.id as id
    union all select c.id from connection c
    union all select m.id from connection c join core.mandates m on m.partner_id = account.partner_id
        and m.connection_id = c.id
    union all select h.id from core.chargers h where h.partner_id = account.partner_id and h.account_id = account.id
    union all select d.id from core.drafts d where d.account_id = account.id
  )
  -- what somebody did, of whatever tenant they were
  select a.at, a.action, a.actor, a.details ->> 'period', null::numeric, null::numeric, null::numeric,
      nullif(a.details::text, '{}')
    from subject s join core.audit_log a on a.subject_id = s.id
  union all
  select m.signed_at, 'mandate signed', m.signed_name, null, null, null, null,
         format('%s until %s, fee %s %%, EAN %s', m.valid_from, m.valid_until, m.fee_pct, c.ean_code)
    from connection c join core.mandates m on m.partner_id = account.partner_id and m.connection_id = c.id
        where m.signed_at is not null
  union all
  select m.ended_at, 'mandate ended', null, null, null, null, null,
      format('%s, EAN %s', coalesce(m.ended_reason, m.status), c.ean_code)
    from connection c join core.mandates m on m.partner_id = account.partner_id and m.connection_id = c.id
        where m.ended_at is not null
  union all
  select d.received_at, 'month delivered', d.source, to_char(d.period, 'YYYY-MM'), d.total_kwh, null, null, d.status
    from connection c join core.delivered_months d on d.partner_id = account.partner_id and d.connection_id = c.id
  union all
  select r.received_at, 'month delivered, replaced since', null, to_char(r.period, 'YYYY-MM'), r.total_kwh, null, null,
      'replaced ' || private.iso(r.replaced_at)
    from connection c join core.replaced_months r on r.partner_id = account.partner_id and r.connection_id = c.id
  union all
  select b.submitted_at, 'booked', null, to_char(b.period, 'YYYY-MM'), b.kwh, null, null,
         concat_ws(', ', private.quarter_name(b.quarter) || ' number ' || b.number,
                   nullif(array_to_string(b.flags, ' '), ''))
    from booked b
  union all
  select b.withdrawn_at, 'booking withdrawn', null, to_char(b.period, 'YYYY-MM'), b.kwh, null, null,
      private.quarter_name(b.quarter) || ' number ' || b.number
    from booked b where b.withdrawn_at is not null
  union all
  select e.at, e.what, null, to_char(b.period, 'YYYY-MM'), c.accepted_kwh, c.ere, null, e.note
    from booked b
    join core.credits c on c.partner_id = b.partner_id and c.row_id = b.id
   cross join lateral (values (c.credited_at,
                               case when c.accepted_kwh > 0 then 'credited' else 'rejected by the register' end,
                               c.reason),
                              (c.reversed_at, 'credit taken back', c.reversed_reason)) e (at, what, note)
   where e.at is not null
  union all
  select e.at, e.what, null, to_char(b.period, 'YYYY-MM'), null, a.ere, a.net,
         format('%s, gross %s, fee %s, of which to the partner %s', s.reference, a.gross, a.fee, a.partner_share)
    from booked b
    join core.allocations a on a.partner_id = b.partner_id and a.row_id = b.id
    join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
    left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
   cross join lateral (values (s.recorded_at, 'sold'), (v.reversed_at, 'sale taken back')) e (at, what)
   where e.at is not null
  union all
  select e.at, e.what, e.by, null, null, null, l.amount, concat_ws(', ', 'to …' || l.iban_last4, e.note)
    from core.payout_lines l
    join core.payout_batches b on b.id = l.batch_id
   cross join lateral (values (b.prepared_at, 'payment prepared', b.prepared_by, null),
                       (l.paid_at, 'paid', b.settled_by, null),
                              (l.failed_at, 'payment failed', null, l.failed_reason),
                                  (b.cancelled_at, 'payment cancelled', b.cancelled_by, b.cancelled_reason)) e (at,
                                  what, by, note)
   where l.partner_id = account.partner_id and l.account_id = account.id and e.at is not null
$$;

create function ops.audit_story(input jsonb) returns json
language plpgsql security definer
as $$
declare
  account constant core.accounts := private.account_meant(input);
begin
  perform private.audit('account.story_shown', account.id);
  return (
    select json_build_object(
      'account_id', account.id, 'partner_slug', (select p.slug from core.partners p where p.id = account.partner_id),
      'cpo_external_ref', account.cpo_external_ref, 'balance_eur',
          private.balance(account.partner_id, 'EUR', 'customer', account.id),
      'events', coalesce(json_agg(json_build_object(
        'at', private.iso(e.at), 'what', e.what, 'by', e.by, 'period', e.period, 'kwh', e.kwh, 'ere', e.ere, 'eur',
            e.eur, 'note', e.note)
        order by e.at, e.period nulls first, e.what), '[]'))
      from private.account_events(account) e
     -- that it was looked at, just now and before, is in the audit log and no part of the story
     where e.what not in ('account.story_shown', 'account.shown'));
end $$;
comment on function ops.audit_story(jsonb) is
  'The story of an account, oldest first: {account} (id, cpo_external_ref, EAN or e-mail address) to {account_id, …, '
  'events: [{at, what, by, period, kwh, ere, eur, note}]}. Leaves an audit row.';
