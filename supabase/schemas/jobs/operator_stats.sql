-- The operator on everything at once: how many of what there is, and what waits. No personal data.

create function ops.stats(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  with this as (
    select private.today() as today, extract(year from private.today())::int as year
  ), counted (what, state, count) as (
    select 'partners', case when p.is_active then 'active' else 'inactive' end, count(*) from core.partners p where p.id <> private.house() group by 2
    union all select 'clients', case when c.disabled_at is null then 'active' else 'disabled' end, count(*) from core.oauth_clients c group by 2
    union all select 'accounts', a.access_channel, count(*) from core.accounts a group by 2
    union all select 'registrations', c.registration_status, count(*) from core.connections c where c.status = 'active' group by 2
    union all select 'eans', coalesce(c.ean_validation_status, 'pending'), count(*) from core.connections c where c.status = 'active' group by 2
    union all select 'mandates', m.mandate_status, count(*) from core.connection_mandates m where m.status = 'active' group by 2
    union all select 'mandates', 'ends this year, not renewed', count(*) from core.connection_mandates m cross join this
               where m.status = 'active' and m.mandate_status = 'signed' and m.valid_until = make_date(this.year, 12, 31) and m.renewed_until is null
    union all select 'drafts', private.draft_status(d), count(*) from core.drafts d group by 2
    union all select 'months', d.status, count(*) from core.delivered_months d cross join this where d.period >= make_date(this.year, 1, 1) group by 2
    union all select 'mail', m.status, count(*) from core.mail_outbox m where m.status <> 'nobody' group by 2
    union all select 'mail', 'waits after a failure', count(*) from core.mail_outbox m where m.status = 'queued' and m.attempts > 0
    union all select 'notices', 'due', count(*) from core.notices n where n.due_at is not null
  )
  select json_build_object(
    'at', private.iso(private.now()),
    'counts', (select json_agg(json_build_object('what', c.what, 'state', c.state, 'count', c.count) order by c.what, c.state) from counted c),
    'years', (select coalesce(json_agg(json_build_object(
                       'delivery_year', y.year, 'kwh_delivered', y.kwh, 'kwh_booked', y.booked) order by y.year), '[]')
                from (select extract(year from d.period)::int as year, sum(d.total_kwh) as kwh, coalesce(sum(d.total_kwh) filter (where d.locked), 0) as booked
                        from core.delivered_months d where d.status = 'staged' or d.locked group by 1) y),
    'balances', (select coalesce(json_agg(json_build_object('unit', b.unit, 'kind', b.kind, 'balance', b.balance) order by b.unit, b.kind), '[]')
                   from (select l.unit, l.kind, sum(l.balance) as balance from core.ledger_balances l group by 1, 2) b))
$$;
comment on function ops.stats(jsonb) is
  'How many there are of everything and in which state, what was delivered and booked by year, and what the ledger holds: {} to {at, counts, years, balances}. No personal data.';
select private.expose_ops('ops.stats(jsonb)');
