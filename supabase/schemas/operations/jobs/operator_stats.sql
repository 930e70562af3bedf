-- What waits, how much there is, what was sold. Waiting rows are counted to ten thousand; large tables have the
-- planner's estimate.

-- Counts the rows of a query of ours, up to ten thousand: {what, count, or_more}.
create function private.waiting(what text, query text) returns json
language plpgsql stable
as $$
declare
  most    constant int := 10000;
  waiting int;
begin
  execute format('select count(*) from (%s limit %s) w', query, most + 1) into waiting;
  return json_build_object('what', what, 'count', least(waiting, most), 'or_more', waiting > most);
end $$;

-- Counts the rows of a table, exactly up to ten thousand and about above that: {what, count, about}.
create function private.held(what text, kind regclass) returns json
language plpgsql stable
as $$
declare
  counted constant json := private.waiting(what, format('select from %s', kind));
begin
  if not (counted ->> 'or_more')::boolean then
    return json_build_object('what', what, 'count', (counted ->> 'count')::bigint, 'about', false);
  end if;
  return json_build_object('what', what, 'about', true, 'count', greatest((counted ->> 'count')::bigint, (
    select sum(greatest(c.reltuples, 0))::bigint from pg_partition_tree(kind) t join pg_class c on c.oid = t.relid
     where t.isleaf)));
end $$;

create function ops.stats(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object(
    'at', private.iso(private.now()),
    'waits', json_build_array(
      private.waiting('registrations to review', $q$select from core.connections c
                      where c.registration_status = 'ingediend' and c.status = 'active'$q$),
      private.waiting('chargers to judge', $q$select from core.chargers h where h.status = 'active'
                      and h.mid_eligible is null$q$),
      private.waiting('EANs denied', $q$select from core.connections c where c.status = 'active'
                      and c.ean_validation_status in ('mismatch', 'not_found')$q$),
      private.waiting('EANs to check again', $q$select from core.connections c where c.status = 'active'
                      and c.ean_validation_status = 'unverified'$q$),
      private.waiting('drafts to look up',
        $q$select from core.drafts d where d.ean_status in ('pending', 'failed') and d.status in ('invited',
            'claimed')$q$),
      private.waiting('mail to send', $q$select from core.mail_outbox m where m.status = 'queued'$q$),
      private.waiting('of it mail that failed, and is tried again',
        $q$select from core.mail_outbox m
            where (m.status in ('failed', 'bounced') or m.status = 'queued' and m.last_error is not null)
              and m.status = 'queued'$q$),
      private.waiting('mail that did not arrive',
        $q$select from core.mail_outbox m where m.status in ('failed', 'bounced')$q$),
      private.waiting('notices to mail', 'select from core.notices n where n.due_at is not null'),
      private.waiting('bookings to submit', $q$select from core.bookings b where b.status = 'open'$q$),
      private.waiting('payout batches to approve', $q$select from core.payout_batches b where b.status = 'prepared'$q$),
      private.waiting('payout batches to export', $q$select from core.payout_batches b where b.status = 'approved'$q$),
      private.waiting('payout batches to settle', $q$select from core.payout_batches b where b.status = 'exported'$q$),
      private.waiting('partners with customers and nobody who manages them',
        $q$select from core.partners p
            where p.is_active and not exists (select from core.partner_managers m where m.partner_id = p.id)
              and exists (select from core.attributions a where a.partner_id = p.id)$q$)),
    'holds', json_build_array(
      private.held('partners', 'core.partners'), private.held('clients', 'core.oauth_clients'),
          private.held('drafts', 'core.drafts'),
      private.held('accounts', 'core.accounts'), private.held('connections', 'core.connections'),
          private.held('mandates', 'core.mandates'),
      private.held('chargers', 'core.chargers'), private.held('charging sessions', 'core.charging_sessions'),
      private.held('months', 'core.delivered_months'), private.held('booked months', 'core.booking_rows'),
      private.held('ledger entries', 'core.ledger_entries'), private.held('audit rows', 'core.audit_log')),
    'sold', (
      select coalesce(json_agg(json_build_object('delivery_year', y.year, 'sales', y.sales, 'ere', y.ere,
                                                 'gross_eur', y.gross) order by y.year), '[]')
        from (
          select extract(year from b.quarter)::int as year, count(*) as sales,
                 sum(s.ere) - coalesce(sum(v.ere), 0) as ere, sum(s.gross) - coalesce(sum(v.gross), 0) as gross
            from core.sales s
            join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
            left join lateral (
              select sum(a.ere) as ere, sum(a.gross) as gross
                from core.allocations a
               where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null
                 and exists (select from core.sale_reversals r where r.partner_id = s.partner_id
                             and r.sale_id = s.id)) v on true
           group by 1) y))
$$;
comment on function ops.stats(jsonb) is
  'What waits for somebody or a job, how much there is, and what was sold by year of delivery: {} to {at, waits, '
  'holds, sold}. No personal data. Counts above ten thousand are not exact.';
