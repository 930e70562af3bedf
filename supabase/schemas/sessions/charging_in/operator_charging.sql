-- The operator on charging sessions: what is parked, what is flagged, and what the sources of one said.

create function ops.charging_parked(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('parked', coalesce(json_agg(json_build_object(
           'partner_slug', q.slug, 'client_id', q.client_id, 'reason', q.reason, 'name', q.name, 'sessions', q.sessions,
           'oldest', private.iso(q.oldest)) order by q.sessions desc, q.slug, q.name), '[]'))
    from (select p.slug, c.client_id, w.reason, coalesce(w.names[1], w.item ->> 'refused') as name,
                 count(*) as sessions, min(w.received_at) as oldest
            from core.parked_charging w
            join core.partners p on p.id = w.partner_id
            join core.oauth_clients c on c.partner_id = w.partner_id and c.id = w.owner_id
           where private.chosen_partner(input) is null or p.id = private.chosen_partner(input)
           group by 1, 2, 3, 4
           order by count(*) desc, p.slug, 4 limit coalesce((input ->> 'limit')::int, 50)) q
$$;
comment on function ops.charging_parked(jsonb) is
  'Names that sessions wait for, or why a CDR cannot be read, most sessions first: {partner?, limit?} to {parked}.';

create function ops.charging_flagged(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('flagged', coalesce(json_agg(json_build_object(
           'charging_session_id', q.id, 'partner_slug', q.slug, 'charger_id', q.charger_id, 'source', q.source,
               'started_at', private.iso(q.started_at),
           'kwh', q.wh / 1000.0, 'flags', q.flags) order by q.arrival desc), '[]'))
    from (select s.*, p.slug
            from core.charging_sessions s join core.partners p on p.id = s.partner_id
           where s.flags <> '{}' and not s.flags <@ '{after_lock,withdrawn}'
               and s.received_at > private.now() - interval '31 days'
             and (private.chosen_partner(input) is null or p.id = private.chosen_partner(input))
           order by s.arrival desc limit coalesce((input ->> 'limit')::int, 50)) q
$$;
comment on function ops.charging_flagged(jsonb) is
  'Sessions of the last 31 days that no total counts because of a flag, newest first: {partner?, limit?} to {flagged}.';

create function ops.evidence_limit_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('evidence_limits', json_agg(json_build_object(
           'kind', l.kind, 'mebibytes_a_day', trim_scale(round(l.bytes_a_day / 1048576.0, 3)), 'exceeded_today', (
             select count(*) from core.kept_evidence k
              where k.exceeded and k.day = private.today() and k.kind = l.kind)) order by l.kind))
    from core.evidence_limits l
$$;
comment on function ops.evidence_limit_list(jsonb) is
  'How much we keep of a source a day, and how many sources told more today: {} to {evidence_limits}.';

create function ops.evidence_limit_set(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wanted  constant bigint := round((input ->> 'mebibytes')::numeric * 1048576);
  changed boolean;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('invalid_evidence_limit', wanted between 1 and 1099511627776 is not true);
  update core.evidence_limits l set bytes_a_day = wanted where l.kind = input ->> 'kind' and l.bytes_a_day <> wanted;
  changed := found;
  perform private.audit('evidence_limit.set', null, jsonb_build_object('kind', input -> 'kind', 'bytes_a_day', wanted))
    where changed;
  return json_build_object('changed', changed, 'evidence_limit', (
    select json_build_object('kind', l.kind, 'mebibytes_a_day', trim_scale(round(l.bytes_a_day / 1048576.0, 3)))
      from core.evidence_limits l where l.kind = input ->> 'kind'));
end $$;
comment on function ops.evidence_limit_set(jsonb) is
  'Sets how much we keep of a client or charger a day: {kind, mebibytes} to {changed, evidence_limit}. In force at '
  'once.';

-- What sources said of a session, oldest first, without signed texts. evidence_over_quota: we keep the hash only.
create function private.tellings(session core.charging_sessions) returns json
language sql stable
as $$
  select coalesce(json_agg(json_build_object(
           'source', e.source, 'external_id', e.external_id, 'received_at', private.iso(e.received_at),
           'client_id', e.client_id, 'request_id', e.request_id, 'upload_id', e.upload_id, 'meter_id', e.meter_id,
           'meter_start_wh', e.meter_start_wh, 'meter_end_wh', e.meter_end_wh, 'end_from', e.end_from,
           'signature', e.signature, 'document', coalesce(e.document, c.document),
           'evidence_over_quota', coalesce(e.document, c.document) is null,
           'document_sha256', encode(e.document_sha256, 'hex'), 'sent_sha256', encode(e.sent_sha256, 'hex'))
           order by e.id), '[]')
    from core.charging_evidence e
    -- the CDR, or the credit CDR that took it back
    left join lateral (
      select d.document from core.ocpi_cdrs d
       where e.source = 'ocpi' and d.partner_id = e.partner_id and d.owner_id = e.owner_id
         and d.party = split_part(e.external_id, ':', 1)
         and substr(e.external_id, strpos(e.external_id, ':') + 1) in (d.cdr_id, d.credit_of)
         and d.document_sha256 = e.document_sha256 limit 1) c on true
   where e.partner_id = session.partner_id and e.charger_id = session.charger_id and e.session_id = session.id
$$;

create function ops.charging_show(input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  session core.charging_sessions;
begin
  select * into session from core.charging_sessions s
   where s.partner_id = any (array(select p.id from core.partners p)) and s.id = private.as_uuid(input ->> 'session');
  if not found then
    perform private.refuse('charging_session_not_found', json_build_object('session', input ->> 'session'));
  end if;
  return json_build_object('session', json_build_object(
    'charging_session_id', session.id,
    'partner_slug', (select p.slug from core.partners p where p.id = session.partner_id),
    'charger_id', session.charger_id, 'evse_no', session.connector, 'source', session.source, 'external_id',
        session.external_id,
    'started_at', private.iso(session.started_at), 'ended_at', private.iso(session.ended_at), 'kwh',
        session.wh / 1000.0,
    'meter_id', session.meter_id, 'meter_start_kwh', session.meter_start_wh / 1000.0, 'meter_end_kwh',
        session.meter_end_wh / 1000.0,
    'flags', session.flags, 'received_at', private.iso(session.received_at), 'tellings', private.tellings(session)));
end $$;
comment on function ops.charging_show(jsonb) is
  'A charging session with what its sources said, without signed texts: {session} to {session}.';

create function ops.charger_release(input jsonb) returns json
language plpgsql security definer
as $$
declare
  charger core.chargers;
  later   core.chargers;
  others  uuid[];
  former  tstzrange;
  changed boolean;
begin
  perform private.act_as_operator(input);
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = private.as_uuid(input ->> 'charger');
  perform private.refuse_if('charger_not_found', not found, json_build_object('charger', input ->> 'charger'));
  -- in the order of private.store_sessions: it is judged, and so are later ones, whose former ones end
  others := array(
    select charger.id
    union select r.id from private.registrations_of(charger) r
    union select f.id from private.registrations_of(charger) r cross join lateral private.registrations_of(r) f);
  perform from core.chargers h where h.id = any (others)
      and h.partner_id = any (array(select p.id from core.partners p)) order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = any (array(select p.id from core.partners p))
      and c.id = any (array(select distinct s.connection_id from core.charging_sessions s
                             where s.charger_id = any (others)))
    order by c.id for no key update;
  select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
  changed := charger.status = 'active' or charger.counts_from is distinct from 'infinity';
  if changed then
    perform private.set_tenant(charger.partner_id);
    perform private.audit('charger.released', charger.id, jsonb_build_object('reason', left(input ->> 'reason', 200)));
    perform private.end_charger_names(array[charger.id]);
    update core.chargers h
       set status = 'removed', removed_at = coalesce(h.removed_at, private.now()), counts_from = 'infinity',
           counts_before = null
     where h.partner_id = charger.partner_id and h.id = charger.id;
    -- later registrations of the same charger
    for later in
      select r.* from private.registrations_of(charger) r
       where r.status = 'active' and r.counts_from >= charger.counts_until and r.counts_from < 'infinity'
       order by r.id
    loop
      former := private.succeed_charger(later);
      update core.chargers h set counts_from = upper(former), counts_before = lower(former)
       where h.partner_id = later.partner_id and h.id = later.id;
    end loop;
    select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
  return json_build_object('changed', changed, 'charger', private.charger_row(charger));
end $$;
comment on function ops.charger_release(jsonb) is
  'Removes a registration that holds a serial number wrongly, also one of a person without account: {charger, reason} '
  'to {changed, charger}. Its kWh count nowhere, but in locked months. Registrations after it are judged again.';
