-- What a booking rests on, for the verifier. It is read part by part and page by page, so that a large one fits into
-- little memory.

create function ops.evidence_open(input jsonb) returns json
language plpgsql security definer
as $$
declare
  csv     text;
  booking constant core.bookings := private.submitted_booking_named(input);
begin
  csv := private.export_csv(booking);
  perform private.audit('booking.evidence_shown', booking.id);
  return json_build_object(
    'booking_id', booking.id, 'partner_id', booking.partner_id,
    'partner_slug', (select p.slug from core.partners p where p.id = booking.partner_id),
    'quarter', private.quarter_name(booking.quarter), 'number', booking.number, 'submitted_at',
        private.iso(booking.submitted_at),
    'rows', (select count(*) from core.booking_rows r where r.partner_id = booking.partner_id
             and r.booking_id = booking.id),
    'export_sha256', booking.export_sha256, 'csv', csv, 'flushed', pg_current_wal_flush_lsn());
end $$;
comment on function ops.evidence_open(jsonb) is
  'The head of a booking''s evidence: {booking, partner?} to {booking_id, partner_id, …, rows, export_sha256, csv, '
  'flushed}. It names people, so it leaves an audit row.';

-- A page of one part of a booking's evidence, by the key of its lines.
create function private.evidence_lines(booking core.bookings, part text, after uuid, size int) returns table (key uuid,
    line json)
language sql stable
as $$
  select r.id, to_json(j)
    from (select * from core.booking_rows r
           where part = 'rows' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.id > after
               order by r.id limit size) r
    left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
   cross join lateral (
     select r.id as row_id, r.account_id, r.connection_id, r.ean_code, to_char(r.period, 'YYYY-MM') as period, r.status,
         r.kwh, r.session_count, r.source,
            r.ere_per_kwh, r.delivery_id, r.signatory, r.postal_code, r.house_number, r.house_number_addition,
                r.street, r.city,
            r.mandate_id, r.fee_pct, r.partner_share_pct, r.charger_brand, r.charger_model, r.charger_serial, r.flags,
            c.accepted_kwh, c.ere, c.reason) j
  union all
  select m.id, json_build_object(
           'mandate_id', m.id, 'connection_id', m.connection_id, 'status', m.status, 'valid_from', m.valid_from,
               'valid_until', m.valid_until,
           'signed_at', private.iso(m.signed_at), 'signed_name', m.signed_name, 'code_confirmed', m.code_confirmed,
               'code_sent_to', m.code_sent_to,
           'address', m.address, 'user_agent', m.user_agent, 'ended_at', private.iso(m.ended_at), 'ended_reason',
               m.ended_reason,
           'document', m.document, 'document_sha256', m.document_sha256, 'pdf_sha256', d.sha256)
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'mandates' and r.partner_id = booking.partner_id and r.booking_id = booking.id
               and r.mandate_id > after order by r.mandate_id limit size) k
    join core.mandates m on m.partner_id = booking.partner_id and m.id = k.mandate_id
    left join core.documents d on d.partner_id = m.partner_id and d.mandate_id = m.id
  union all
  -- a mandate that is not rendered yet has a line too, without a document
  select k.mandate_id, json_build_object('mandate_id', k.mandate_id, 'sha256', d.sha256,
                                         'pdf', translate(encode(d.pdf, 'base64'), e'\n', ''))
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'pdfs' and r.partner_id = booking.partner_id and r.booking_id = booking.id
               and r.mandate_id > after order by r.mandate_id limit size) k
    left join core.documents d on d.partner_id = booking.partner_id and d.mandate_id = k.mandate_id
  union all
  select d.id, json_build_object(
           'delivery_id', d.id, 'connection_id', d.connection_id, 'client_id', d.client_id, 'request_id', d.request_id,
           'received_at', private.iso(d.received_at), 'body', d.body, 'body_sha256', d.body_sha256,
           'upload_id', d.upload_id, 'file_sha256', encode(u.sha256, 'hex'))
    from (select distinct r.delivery_id from core.booking_rows r
           where part = 'deliveries' and r.partner_id = booking.partner_id and r.booking_id = booking.id
               and r.delivery_id > after order by r.delivery_id limit size) k
    join core.deliveries d on d.partner_id = booking.partner_id and d.id = k.delivery_id
    left join core.uploads u on u.partner_id = d.partner_id and u.id = d.upload_id
  union all
  select k.connection_id, json_build_object(
           'connection_id', k.connection_id,
           'chargers', (select coalesce(json_agg(json_build_object(
                'charger_id', h.id, 'status', h.status, 'brand', h.brand, 'serial_number', h.serial_number,
                    'ocpp_vendor', h.ocpp_vendor,
                'ocpp_model', h.ocpp_model, 'ocpp_meter_type', h.ocpp_meter_type, 'mid_eligible', h.mid_eligible,
                    'power_kw', h.power_kw,
                'model', m.model, 'mid_evidence', m.mid_evidence, 'mid_source', m.mid_source) order by h.created_at,
                    h.id), '[]')
              from core.chargers h left join core.charger_models m on m.id = h.catalog_charger_id
             where h.partner_id = booking.partner_id and h.connection_id = k.connection_id),
           'ean_checks', (select coalesce(json_agg(json_build_object(
                'ean_code', e.ean_code, 'source', e.source, 'outcome', e.outcome, 'reason', e.reason, 'checked_at',
                    private.iso(e.checked_at)) order by e.id), '[]')
              from core.ean_checks e where e.partner_id = booking.partner_id and e.connection_id = k.connection_id),
           'replaced_months', (select coalesce(json_agg(json_build_object(
                'period', to_char(r.period, 'YYYY-MM'), 'total_kwh', r.total_kwh, 'delivery_id', r.delivery_id,
                    'replaced_by', r.replaced_by,
                'replaced_at', private.iso(r.replaced_at)) order by r.period, r.replaced_at, r.received_at,
                    r.replaced_by), '[]')
              from core.replaced_months r
             where r.partner_id = booking.partner_id and r.connection_id = k.connection_id
               and r.period >= booking.quarter and r.period < private.next_quarter(booking.quarter)),
           'charging_sessions', (select coalesce(json_agg(json_build_object(
                'session_id', s.id, 'charger_id', s.charger_id, 'source', s.source, 'external_id', s.external_id,
                    'started_at', private.iso(s.started_at),
                'ended_at', private.iso(s.ended_at), 'wh', s.wh, 'meter_id', s.meter_id, 'meter_start_wh',
                    s.meter_start_wh, 'meter_end_wh', s.meter_end_wh,
                'flags', s.flags, 'received_at', private.iso(s.received_at),
                'tellings', private.tellings(s),
                'signed', (select coalesce(json_agg(t.signed order by e.id, t.place), '[]')
                             from core.charging_evidence e
                                 cross join lateral unnest(e.signed) with ordinality t (signed, place)
                            where e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id))
                                order by s.started_at, s.id), '[]')
              from core.charging_sessions s
             where s.partner_id = booking.partner_id and s.connection_id = k.connection_id
               and s.month >= booking.quarter and s.month < private.next_quarter(booking.quarter)))
    from (select distinct r.connection_id from core.booking_rows r
           where part = 'connections' and r.partner_id = booking.partner_id and r.booking_id = booking.id
               and r.connection_id > after order by r.connection_id limit size) k
  union all
  select k.subject, json_build_object(
           'subject', k.subject,
           'rows', (select coalesce(json_agg(json_build_object(
                'id', a.id, 'at', private.iso(a.at), 'actor', a.actor, 'action', a.action, 'details', a.details,
                    'request_id', a.request_id,
                'position', l.position, 'hash', encode(l.hash, 'hex')) order by a.id), '[]')
              from core.audit_log a
              left join core.audit_links l on l.partner_id = a.partner_id and l.log = 'audit' and l.row_id = a.id
              -- that somebody looked at this is no part of it, so that it stays the same
             where a.subject_id = k.subject and a.partner_id = booking.partner_id
                 and a.action <> 'booking.evidence_shown'))
    from (select distinct s.subject
            from core.booking_rows r cross join lateral (values (r.booking_id), (r.account_id), (r.connection_id),
                                                         (r.mandate_id)) s (subject)
           where part = 'audit' and r.partner_id = booking.partner_id and r.booking_id = booking.id
               and s.subject > after order by s.subject limit size) k
$$;

create function ops.evidence_page(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('lines', coalesce(json_agg(p.line order by p.key), '[]'), 'last', max(p.key::text))
    from core.bookings b
   cross join lateral private.evidence_lines(
           b, input ->> 'part', coalesce((input ->> 'after')::uuid, '00000000-0000-0000-0000-000000000000'),
               (input ->> 'size')::int) p
   where b.partner_id = (input ->> 'partner_id')::uuid and b.id = (input ->> 'booking_id')::uuid
$$;
comment on function ops.evidence_page(jsonb) is
  'A page of a booking''s evidence: {partner_id, booking_id, part, after?, size} to {lines, last}. part is rows, '
  'mandates, pdfs, deliveries, connections or audit. Send last as after for the next page; an empty page has null.';
