-- CDRs that cannot be read: they wait with their words, until one of their id can be read, or a later version of ours
-- reads them.

-- Parks the CDRs of a batch that could not be read, of a party of the connection or of none, and lets those go whose id
-- came again and was taken: cdrs as sent, results as private.take_cdrs answered.
create function private.settle_unread(link core.ocpi_connections, cdrs jsonb, results jsonb) returns void
language plpgsql
as $$
declare
  unread jsonb;
begin
  if exists (select from core.parked_charging p
              where p.partner_id = link.partner_id and p.owner_id = link.owner_id and p.reason = 'unreadable') then
    delete from core.parked_charging p
     where p.partner_id = link.partner_id and p.owner_id is not distinct from link.owner_id
       and p.reason = 'unreadable' and p.source = 'ocpi' and p.known_as = any (array(
         select c.party || ':' || c.id
           from jsonb_to_recordset(cdrs) as c (place int, party text, id text)
           join jsonb_to_recordset(results) as r (place int, status text) on r.place = c.place
          where r.status <> 'refused'));
  end if;
  if cdrs @> '[{"kind": "unread"}]' then
    select jsonb_agg(jsonb_build_object(
             'source', 'ocpi', 'known_as', d.known_as, 'external_id', d.party || ':' || d.id, 'party', d.party,
             'names', '[]'::jsonb, 'reason', 'unreadable',
             'item', jsonb_build_object('words', d.words, 'refused', d.refused, 'sent_sha256', d.sent_sha256)))
      into unread
      from (select distinct on (n.known_as) n.*
              from jsonb_to_recordset(cdrs) as c (place int, kind text, party text, id text, refused text, words jsonb,
                                                  sent_sha256 text)
             cross join lateral (
               select c.*, coalesce(c.party || ':' || c.id,
                                    encode(sha256(convert_to(coalesce(c.words, 'null')::text, 'UTF8')), 'hex'))
                             as known_as) n
             where n.kind = 'unread' and (n.party is null or n.party = any (link.parties || link.added_parties))
               -- it came before, and could be read then
               and not exists (
                 select from core.ocpi_cdrs k
                  where k.partner_id = link.partner_id and k.owner_id = link.owner_id and k.party = n.party
                    and k.cdr_id = n.id)
             order by n.known_as, n.place desc) d;
    perform private.park_sessions(link.owner_id, unread) where unread is not null;
  end if;
end $$;

create function private.lease_unread_cdrs(size int) returns json
language plpgsql security definer
as $$
declare
  unread json;
begin
  with leased as (
    update core.parked_charging p set retry_at = private.now() + interval '1 day'
     where (p.partner_id, p.id) in (
       select d.partner_id, d.id from core.parked_charging d
        where d.reason = 'unreadable' and d.retry_at <= private.now()
        order by d.retry_at limit size for update skip locked)
    returning p.*)
    select coalesce(json_agg(json_build_object(
             'partner_id', l.partner_id, 'owner_id', l.owner_id, 'words', l.item -> 'words',
             'sent_sha256', l.item ->> 'sent_sha256') order by l.received_at, l.id), '[]') into unread from leased l;
  return unread;
end $$;
comment on function private.lease_unread_cdrs(int) is
  'CDRs that could not be read and are due, which are due again in a day. Definer: every tenant at once.';

create function api.lease_unread_cdrs(caller jsonb, batch jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.lease_unread_cdrs((batch ->> 'size')::int); $$;
comment on function api.lease_unread_cdrs(jsonb, jsonb) is
  'Parked CDRs to read again: {size} to [{partner_id, owner_id, words, sent_sha256}].';
grant execute on function api.lease_unread_cdrs(jsonb, jsonb) to edge_slow;

create function api.take_reread_cdrs(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  link    core.ocpi_connections;
  results jsonb := '[]';
begin
  perform private.act_as(caller, 'worker');
  perform private.act_for_client((input ->> 'partner_id')::uuid, (input ->> 'owner_id')::uuid);
  link := private.own_ocpi();
  if link.owner_id is not null then
    results := private.take_cdrs(link, input -> 'cdrs');
    perform private.settle_unread(link, input -> 'cdrs', results);
  end if;
  return json_build_object('taken', (select count(*) from jsonb_array_elements(results) r
                                      where r ->> 'status' <> 'refused'));
end $$;
comment on function api.take_reread_cdrs(jsonb, jsonb) is
  'Stores CDRs of a connection that were parked and can be read now: {partner_id, owner_id, cdrs} to {taken}.';
grant execute on function api.take_reread_cdrs(jsonb, jsonb) to edge_slow;

create function ops.ocpi_unread(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('unread', coalesce(json_agg(json_build_object(
           'partner_slug', q.slug, 'client_id', q.client_id, 'cdr', q.external_id, 'refused', q.item ->> 'refused',
           'received_at', private.iso(q.received_at), 'words', q.item -> 'words')
           order by q.received_at desc, q.id desc), '[]'))
    from (select w.*, p.slug, c.client_id
            from core.parked_charging w
            join core.partners p on p.id = w.partner_id
            join core.oauth_clients c on c.partner_id = w.partner_id and c.id = w.owner_id
           where w.reason = 'unreadable'
             and (private.chosen_partner(input) is null or p.id = private.chosen_partner(input))
           order by w.received_at desc, w.id desc limit coalesce((input ->> 'limit')::int, 50)) q
$$;
comment on function ops.ocpi_unread(jsonb) is
  'CDRs that could not be read, newest first: {partner?, limit?} to {unread}. words: what we keep of a CDR.';
