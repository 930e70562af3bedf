// What `GET /v1/ere-positions` answers, as bare statements without admission, rules and row-level security. They are written for the rows
// that the bench has, one connection an account, and so that they are quick to plan, which takes most of a short one's time:
// one connection an account, one year with figures.

/** An account with what its position says of its connection: one row each. */
const accounts = (from: string, where = "") => `
  select a.partner_id, a.id, a.cpo_external_ref, a.payout_handler, a.created_at, a.iban_ciphertext is not null as iban, c.id as connection_id,
         coalesce(c.ean_validation_status in ('matched', 'manual'), false) as ean_validated,
         (select case when m.status = 'signed' and m.valid_until >= current_date then m.valid_from end
            from core.mandates m where m.partner_id = c.partner_id and m.connection_id = c.id order by m.created_at desc limit 1) as signed_from,
         exists (select from core.chargers h
                  where h.partner_id = c.partner_id and h.connection_id = c.id and h.status = 'active' and h.mid_eligible) as mid_charger
    from ${from} a join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id ${where} offset 0`;

const MONTHS = `
  select json_agg(d order by d.period) as months, sum(d.total_kwh) filter (where d.status in ('staged', 'submitted', 'registered')) as total_kwh
    from (select d.period, d.total_kwh, d.session_count, d.status,
                 to_char(d.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as received_at, d.connection_id, d.accepted_kwh,
                 null::text as register_reason
            from core.delivered_months d where d.partner_id = p.partner_id and d.connection_id = p.connection_id) d`;

/** What the year earns: its bookings, as they were summed, and the months that a mandate covers and nobody booked. */
const ERE = `(
  select concat('{"delivery_year":', f.delivery_year, ',"kwh_counted":', coalesce(s.kwh, 0) + coalesce(o.kwh, 0),
                ',"renewable_share":', k.renewable_share, ',"ere_per_kwh":', k.ere_per_kwh,
                ',"ere_estimated":', round(coalesce(s.ere, 0) + coalesce(o.kwh, 0) * k.ere_per_kwh, 2), ',',
                '"ere_registered":', round(coalesce(s.registered_ere, 0), 2), ',"ere_sold":', round(coalesce(s.sold_ere, 0), 2),
                ',"reserved_ere":', round(coalesce(s.registered_ere - s.sold_ere, 0), 2), ',"price_per_ere_eur":', f.price,
                ',"gross_eur":', coalesce(s.gross, 0), ',"fee_pct":', coalesce(s.fee_pct::text, 'null'), ',"net_eur":', coalesce(s.net, 0),
                ',"currency":"EUR","updated_at":"',
                to_char(greatest(f.published_at, s.changed_at, o.received_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '"}')::json
    from core.figures f
    join core.ere_factors k on k.delivery_year = f.delivery_year
    left join core.account_years s on s.partner_id = p.partner_id and s.account_id = p.id and s.delivery_year = f.delivery_year,
         lateral (
           select sum(d.total_kwh) as kwh, max(d.received_at) as received_at
             from core.delivered_months d
            where d.partner_id = p.partner_id and d.connection_id = p.connection_id and d.status = 'staged'
              and d.period between make_date(f.delivery_year, 1, 1) and make_date(f.delivery_year, 12, 1)
              and exists (select from core.mandates m where m.partner_id = d.partner_id and m.connection_id = d.connection_id
                             and d.period between m.valid_from and m.covered_until)) o
   where f.partner_id = p.partner_id)`;

const POSITION = `
  json_build_object(
    'account_id', p.id, 'cpo_external_ref', p.cpo_external_ref, 'payout_handler', p.payout_handler,
    'ere_eligible', p.signed_from is not null and p.ean_validated and p.mid_charger and p.iban, 'mandate_valid_from', p.signed_from,
    'checklist', json_build_object('mandate_signed', p.signed_from is not null, 'ean_validated', p.ean_validated,
                                   'mid_charger_registered', p.mid_charger, 'iban_present', p.iban),
    'delivered_months', coalesce(d.months, '[]'), 'total_kwh_delivered', coalesce(d.total_kwh, 0), 'ere', ${ERE})`;

/** The answer for one account: partner, client, reference. */
export const POSITION_BY_REFERENCE = `
  select json_build_object('positions', coalesce(json_agg(${POSITION}), '[]'), 'limit', 50, 'offset', 0, 'count', count(*), 'has_more', false)::text as answer
    from (${accounts("core.accounts", "where a.partner_id = $1 and a.client_id = $2 and a.cpo_external_ref = $3")}) p, lateral (${MONTHS}) d`;

/** The first positions of a client as one array: partner, client, how many. */
export const FIRST_POSITIONS = `
  select json_agg(${POSITION} order by p.created_at desc, p.id desc)::text as answer
    from (${accounts("(select * from core.accounts a where a.partner_id = $1 and a.client_id = $2 order by a.created_at desc, a.id desc limit $3)")}) p,
         lateral (${MONTHS}) d`;
