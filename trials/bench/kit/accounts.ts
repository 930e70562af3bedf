// What `GET /v1/accounts` answers, as a bare statement without admission, rules and row-level security.

/** The first accounts of a client as one array: partner, client, how many. */
export const FIRST_ACCOUNTS = `
  select json_agg(p)::text as answer
    from (select a.id, a.id as account_id, a.type, a.display_name, a.payout_handler, a.cpo_external_ref, a.access_channel,
                 a.iban_checksum_ok,
                 to_char(a.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created_at,
                 (select to_json(s) from (select s.full_name, s.email, s.mail_failed_at, s.mail_failed_reason
                    from core.signatories s where s.partner_id = a.partner_id and s.account_id = a.id) s) as signatory,
                 (select json_agg(c)
                    from (select c.id as connection_id, c.ean_code, c.status, c.registration_status, c.ean_validation_status,
                                 case when m.id is null then 'pending' when m.status = 'signed' and m.valid_until < current_date then 'expired'
                                      else m.status end as mandate_status,
                                 m.valid_from as mandate_valid_from, m.valid_until as mandate_valid_until, m.renewed_until as mandate_renewed_until,
                                 to_char(m.signed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as mandate_signed_at
                            from core.connections c
                            left join lateral (
                              select m.id, m.status, m.valid_from, m.valid_until, m.signed_at,
                                     max(m.valid_until) filter (where m.status = 'signed' and m.valid_from > current_date) over () as renewed_until
                                from core.mandates m
                               where m.partner_id = c.partner_id and m.connection_id = c.id
                               order by coalesce(m.valid_from > current_date, false), m.created_at desc limit 1) m on true
                           where c.partner_id = a.partner_id and c.account_id = a.id order by c.created_at, c.id) c) as connections
            from core.accounts a where a.partner_id = $1 and a.client_id = $2 order by a.created_at desc, a.id desc limit $3) p`;
