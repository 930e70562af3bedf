// What `GET /v1/ere-positions` answers, as bare statements without admission, rules and row-level security. They are written for the rows
// that the bench has, one connection an account, and as fast as we know how.

const POSITION = `
  select a.id as account_id, a.cpo_external_ref, a.payout_handler,
         coalesce(g.mandate_signed and g.ean_validated and g.mid_charger_registered and a.iban_ciphertext is not null, false) as ere_eligible,
         case when g.mandate_signed then g.valid_from end as mandate_valid_from,
         json_build_object('mandate_signed', coalesce(g.mandate_signed, false), 'ean_validated', coalesce(g.ean_validated, false),
                           'mid_charger_registered', coalesce(g.mid_charger_registered, false), 'iban_present', a.iban_ciphertext is not null) as checklist,
         coalesce(g.months, '[]') as delivered_months, coalesce(g.total_kwh, 0) as total_kwh_delivered, null as ere`;

const CONNECTION = `
  left join lateral (
    select m.valid_from, coalesce(m.status = 'signed' and m.valid_until >= current_date, false) as mandate_signed,
           coalesce(c.ean_validation_status in ('matched', 'manual'), false) as ean_validated,
           exists (select from core.chargers h where h.partner_id = c.partner_id and h.connection_id = c.id and h.status = 'active' and h.mid_eligible) as mid_charger_registered,
           d.months, d.total_kwh
      from core.connections c
      left join lateral (
        select m.valid_from, m.status, m.valid_until from core.mandates m
         where m.partner_id = c.partner_id and m.connection_id = c.id order by m.created_at desc limit 1) m on true
      cross join lateral (
        select json_agg(d order by d.period) as months, sum(d.total_kwh) filter (where d.status in ('staged', 'submitted', 'registered')) as total_kwh
          from (select d.period, d.total_kwh, d.session_count, d.status,
                       to_char(d.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as received_at, d.connection_id
                  from core.delivered_months d where d.partner_id = c.partner_id and d.connection_id = c.id) d) d
     where c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active') g on true`;

/** The answer for one account: partner, client, reference. */
export const POSITION_BY_REFERENCE = `
  select json_build_object('positions', coalesce(json_agg(p), '[]'), 'limit', 50, 'offset', 0, 'count', count(*), 'has_more', false)::text as answer
    from (${POSITION} from core.accounts a ${CONNECTION} where a.partner_id = $1 and a.client_id = $2 and a.cpo_external_ref = $3) p`;

/** The first positions of a client as one array: partner, client, how many. */
export const FIRST_POSITIONS = `
  select json_agg(p)::text as answer
    from (${POSITION} from (select * from core.accounts a where a.partner_id = $1 and a.client_id = $2 order by a.created_at desc, a.id desc limit $3) a ${CONNECTION}
           order by a.created_at desc, a.id desc) p`;
