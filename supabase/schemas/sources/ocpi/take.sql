-- CDRs: each is kept once, and becomes a charging session.

-- The words for which a CDR of a known id, or a credit, is refused; null if it may be kept. A row of its id was looked
-- for.
create function private.cdr_refusal(cdr private.sent_cdr, known core.ocpi_cdrs) returns text
language plpgsql stable
as $$
declare
  original core.ocpi_cdrs;
begin
  if known.cdr_id is not null then
    return case when known.kept_sha256 <> decode(cdr.kept_sha256, 'hex') then 'id: CDR exists; send a credit CDR' end;
  elsif cdr.kind <> 'credit' then
    return null;
  end if;
  select * into original from core.ocpi_cdrs c
   where c.partner_id = private.partner_id() and c.owner_id = private.owner_id() and c.party = cdr.party
       and c.cdr_id = cdr.credit_of;
  return case
    when original.status = 'credit' then 'credit_reference_id: is a credit CDR itself'
    when exists (select from core.ocpi_cdrs c
                  where c.partner_id = private.partner_id() and c.owner_id = private.owner_id() and c.party = cdr.party
                      and c.credit_of = cdr.credit_of)
    then 'credit_reference_id: another credit CDR took it back' end;
end $$;

-- Parks sessions whose times nobody knows, or whose names mean two chargers.
create function private.park_cdrs(owner uuid, sessions jsonb) returns void
language plpgsql
as $$
begin
  perform private.park_sessions(owner, (
    select jsonb_agg(jsonb_build_object(
             'source', 'ocpi', 'known_as', e.item -> 'external_id', 'external_id', e.item -> 'external_id',
             'party', e.item -> 'party', 'names', f.names, 'reason', e.item -> 'park',
             'item', (e.item - '{place,park}'::text[]) || jsonb_strip_nulls(jsonb_build_object(
               'client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), '')))))
      from jsonb_array_elements(sessions) with ordinality e (item, n)
      join private.resolve_chargers(owner, sessions) f on f.n = e.n));
end $$;

-- Takes what credit CDRs name back: {party, credit_of, document_sha256, sent_sha256} each, hashes in hex.
create function private.credit_cdrs(credits jsonb) returns void
language plpgsql
as $$
declare
  credit record;
begin
  for credit in
    select c.party || ':' || c.credit_of as external_id, c.document_sha256, c.sent_sha256
      from jsonb_to_recordset(credits) as c (party text, credit_of text, document_sha256 text, sent_sha256 text)
     order by 1
  loop
    -- first: whoever stores a parked session holds its row, and is seen when it has ended
    delete from core.parked_charging p
     where p.partner_id = private.partner_id() and p.owner_id is not distinct from private.owner_id()
       and p.source = 'ocpi' and p.known_as = credit.external_id;
    perform private.withdraw_charging_sessions(array(
      select s.id from core.charging_sessions s
       where s.partner_id = private.partner_id() and s.external_id = credit.external_id and s.source = 'ocpi'
         and s.owner_id is not distinct from private.owner_id()),
      null, decode(credit.document_sha256, 'hex'), decode(credit.sent_sha256, 'hex'));
  end loop;
end $$;

-- Takes CDRs, [private.sent_cdr], of the client that acts, which is locked: no two of its batches judge at once.
-- Answers [{place, status: taken|unchanged|refused, reason?}]. Over the client's quota of the day only the hash of a
-- CDR is kept.
create function private.take_cdrs(link core.ocpi_connections, cdrs jsonb) returns jsonb
language plpgsql
as $$
declare
  parties constant text[] := link.parties || link.added_parties;
  room    constant bigint := (select r.bytes from private.evidence_room(link.owner_id) r);
  told    bigint := 0;
  digest  bytea;
  cdr     private.sent_cdr;
  known   core.ocpi_cdrs;
  taker   core.ocpi_cdrs;
  reason  text;
  fresh   jsonb := '[]';
  parked  jsonb := '[]';
  credits jsonb := '[]';
  results jsonb := '[]';
  faulty  int   := 0;
  last    text;
begin
  for cdr in select * from jsonb_populate_recordset(null::private.sent_cdr, cdrs) c order by c.place loop
    known := null;
    reason := coalesce(cdr.refused,
                       case when cdr.party <> all (parties) then 'party_id: ' || cdr.party
                            || ' is not a party of this connection' end);
    if reason is null then
      select * into known from core.ocpi_cdrs c
       where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party
           and c.cdr_id = cdr.id;
      reason := private.cdr_refusal(cdr, known);
    end if;
    if reason is not null then
      faulty := faulty + 1;
      last := left(concat_ws(' ', cdr.party || ':' || cdr.id, reason), 300);
    elsif known.cdr_id is null then
      taker := null;
      if cdr.kind <> 'credit' then
        select * into taker from core.ocpi_cdrs c
         where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party
             and c.credit_of = cdr.id;
      end if;
      told := told + octet_length(cdr.document::text);
      digest := sha256(convert_to(cdr.document::text, 'UTF8'));
      insert into core.ocpi_cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, credit_of, status, document,
                                  document_sha256)
      values (link.partner_id, link.owner_id, cdr.party, cdr.id, decode(cdr.kept_sha256, 'hex'), cdr.credit_of,
              case when cdr.kind = 'session' and taker.cdr_id is not null then 'credited' when cdr.kind = 'session'
                   then 'taken' else cdr.kind end, case when told <= room then cdr.document end, digest);
      if cdr.kind = 'credit' then
        update core.ocpi_cdrs c set status = 'credited'
         where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party
             and c.cdr_id = cdr.credit_of and c.status = 'taken';
        credits := credits || jsonb_build_object('party', cdr.party, 'credit_of', cdr.credit_of,
                                                 'document_sha256', encode(digest, 'hex'),
                                                 'sent_sha256', cdr.sent_sha256);
      elsif cdr.kind = 'session' then
        if cdr.session ->> 'started_at' is null or cdr.session ->> 'ended_at' is null then
          parked := parked || (cdr.session || '{"park": "no_times"}');
        else
          fresh := fresh || (case when told <= room then cdr.session else cdr.session - 'signed' end
                             || jsonb_build_object('place', cdr.place, 'sent_sha256', cdr.sent_sha256,
                                                   'client_id', link.owner_id, 'request_id',
                                                   nullif(current_setting('app.request_id', true), '')));
        end if;
        if taker.cdr_id is not null then
          credits := credits || jsonb_build_object('party', cdr.party, 'credit_of', cdr.id,
                                                   'document_sha256', encode(taker.document_sha256, 'hex'));
        end if;
      end if;
    end if;
    results := results || jsonb_strip_nulls(jsonb_build_object(
      'place', cdr.place, 'status', case when reason is not null then 'refused' when known.cdr_id is null then 'taken'
                                         else 'unchanged' end, 'reason', reason));
  end loop;
  if fresh <> '[]' then
    parked := parked || coalesce((
      select jsonb_agg(f.item || '{"park": "ambiguous_charger"}')
        from private.store_client_sessions(link.owner_id, fresh) r
        join jsonb_array_elements(fresh) f (item) on (f.item ->> 'place')::int = r.place
       where r.status = 'rejected' and r.reason = 'ambiguous_charger'), '[]');
  end if;
  perform private.park_cdrs(link.owner_id, parked) where parked <> '[]';
  perform private.credit_cdrs(credits) where credits <> '[]';
  perform private.count_evidence(told, link.owner_id) where told > 0;
  update core.ocpi_connections c
     set taken = c.taken + (select count(*) from jsonb_array_elements(results) r where r ->> 'status' = 'taken'),
         refused = c.refused + faulty, last_refusal = coalesce(last, c.last_refusal),
         last_refused_at = case when last is null then c.last_refused_at else private.now() end
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  return results;
end $$;

create function api.take_cdr(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  link    core.ocpi_connections;
  cdrs    jsonb := jsonb_build_array(input -> 'cdr');
  results jsonb;
begin
  perform private.act_as(caller, 'ocpi');
  link := private.own_ocpi();
  if coalesce(input ->> 'from', '') <> '' and input ->> 'from' <> all (link.parties || link.added_parties
                                                                               || link.hubs) then
    cdrs := jsonb_build_array(
      (input -> 'cdr') || '{"kind": null, "refused": "OCPI-from-party-id: is not a party of this connection"}');
  end if;
  update core.ocpi_connections c set push_seen_at = private.now()
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
       and (c.push_seen_at is null or c.push_seen_at < private.now() - interval '1 minute');
  results := private.take_cdrs(link, cdrs);
  perform private.settle_unread(link, cdrs, results);
  return results -> 0;
end $$;
comment on function api.take_cdr(jsonb, jsonb) is
  'POST /ocpi/2.2.1/receiver/cdrs: {cdr: {place, party, id, kept_sha256, sent_sha256, document, kind, credit_of?, '
  'session?} | {place, refused, kind?, party?, id?, words?}, from?} to {place, status: taken|unchanged|refused, '
  'reason?}.';

create function api.get_cdr(caller jsonb, input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  kept jsonb;
begin
  perform private.act_as(caller, 'ocpi');
  select c.document into kept from core.ocpi_cdrs c
   where c.partner_id = private.partner_id() and c.owner_id = private.client_id() and c.party = input ->> 'party'
       and c.cdr_id = input ->> 'cdr_id';
  perform private.refuse_if('cdr_not_found', kept is null);
  return kept::json;
end $$;
comment on function api.get_cdr(jsonb, jsonb) is
  'GET /ocpi/2.2.1/receiver/cdrs/{party}/{cdr_id}: {party, cdr_id}, in upper case, to what is kept of it.';
