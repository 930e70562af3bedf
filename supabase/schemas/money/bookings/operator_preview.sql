-- The operator previews what a booking would take in.

create function ops.booking_preview(input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  quarter constant date := private.read_quarter(input ->> 'quarter');
  chosen  constant uuid := private.chosen_partner(input);
begin
  return (
    with month as (
      select p.slug, j.reason is null as taken, j.reason, j.flags, j.account_id, j.connection_id, j.ean_code, j.period,
          j.kwh, j.session_count,
             case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end as source,
                 j.kwh * j.ere_per_kwh as ere
        from core.partners p
        cross join lateral private.judge_quarter(p.id, quarter) j
       where chosen is null or p.id = chosen
      union all
      -- sessions that came after their month was locked, which are in no booking, and those withdrawn since, which are
      -- in one
      select p.slug, false, w.reason, '{}', c.account_id, c.id, c.ean_code, s.month, sum(s.wh) / 1000.0, count(*)::int,
          'own_sessions', null::numeric
        from core.charging_sessions s
        join core.partners p on p.id = s.partner_id
        join core.connections c on c.partner_id = s.partner_id and c.id = s.connection_id
       cross join lateral (select case when 'withdrawn' = any (s.flags) then 'withdrawn_after_lock'
                                       else 'arrived_after_lock' end as reason) w
       where s.month >= quarter and s.month < private.next_quarter(quarter) and 'after_lock' = any (s.flags)
         and (chosen is null or p.id = chosen)
       group by p.slug, w.reason, c.account_id, c.id, c.ean_code, s.month
    ), flagged as (
      select m.* from month m where m.taken and m.flags <> '{}' order by cardinality(m.flags) desc, m.kwh desc,
          m.ean_code, m.period
    )
    select json_build_object(
      'quarter', private.quarter_name(quarter),
      'flagged', (select coalesce(json_agg(json_build_object(
                    'partner_slug', f.slug, 'ean_code', f.ean_code, 'period', to_char(f.period, 'YYYY-MM'), 'kwh',
                        f.kwh,
                    'session_count', f.session_count, 'flags', f.flags)), '[]')
                        from (select * from flagged limit 20) f),
      'flagged_months', (select count(*) from flagged),
      'taken', (select coalesce(json_agg(json_build_object(
                  'partner_slug', t.slug, 'months', t.months, 'kwh', t.kwh, 'ere', t.ere) order by t.slug), '[]')
                  from (select m.slug, count(*) as months, sum(m.kwh) as kwh, sum(m.ere) as ere from month m
                        where m.taken group by m.slug) t),
      'left_out', (select coalesce(json_agg(json_build_object(
                     'reason', l.reason, 'months', l.months, 'kwh', l.kwh) order by l.months desc, l.reason), '[]')
                     from (select m.reason, count(*) as months, sum(m.kwh) as kwh from month m where not m.taken
                           group by m.reason) l),
      'total', (select json_build_object('months', count(*), 'kwh', coalesce(sum(m.kwh), 0),
                                         'ere', coalesce(sum(m.ere), 0)) from month m where m.taken),
      'csv', case when input ? 'csv' then (
        select private.csv_line('taken', 'reason', 'flags', 'partner', 'account_id', 'connection_id', 'ean', 'period',
                                'kwh', 'sessions', 'source', 'ere')
               || coalesce(string_agg(private.csv_line(
                    case when m.taken then 'yes' else 'no' end, m.reason, array_to_string(m.flags, ' '), m.slug,
                        m.account_id::text,
                    m.connection_id::text, m.ean_code, to_char(m.period, 'YYYY-MM'), m.kwh::text, m.session_count::text,
                        m.source, m.ere::text), ''
                    order by cardinality(m.flags) desc, m.taken desc, m.slug, m.ean_code, m.period, m.reason), '')
          from month m) end));
end $$;
comment on function ops.booking_preview(jsonb) is
  'What bookings of a quarter would take in now, of one partner or of all: {quarter, partner?, csv?} to {quarter, '
  'flagged, flagged_months, taken, left_out, total, csv}. The quarter may be running. Implausible months come first; '
  'csv holds every month.';
