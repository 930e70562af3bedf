-- Pull: the worker reads the CDRs of platforms that have them as SENDER, since a sender need not repeat what we missed.

create function private.lease_ocpi_pulls(size int) returns json
language plpgsql security definer
as $$
declare
  pulls json;
begin
  with leased as (
    update core.ocpi_connections c
       set pull_lease_id = gen_random_uuid(), pull_lease_until = private.now() + interval '60 seconds',
           -- a pass keeps its borders until it is whole; 31 days at most, so that a long one ends
           pull_until = coalesce(c.pull_until, least(private.now(), private.ocpi_pull_from(c) + interval '31 days'))
     where (c.partner_id, c.owner_id) in (
       select d.partner_id, d.owner_id from core.ocpi_connections d
        where d.pull_due_at <= private.now() and (d.pull_lease_until is null or d.pull_lease_until <= private.now())
          and d.status = 'registered' and d.cdrs_url is not null and d.their_token_ciphertext is not null
          and exists (select from core.partners p where p.id = d.partner_id and p.is_active)
          and exists (select from core.oauth_clients o where o.id = d.owner_id and o.partner_id = d.partner_id
                      and o.disabled_at is null)
        order by d.pull_due_at limit size for update skip locked)
    returning c.*)
    select coalesce(json_agg(json_build_object(
           'partner_id', l.partner_id, 'owner_id', l.owner_id, 'lease_id', l.pull_lease_id, 'versions_url',
               l.versions_url, 'cdrs_url', l.cdrs_url,
           'origins', l.origins, 'their_token', json_build_object('ciphertext', l.their_token_ciphertext,
                                                                  'key_id', l.their_token_key_id),
           -- a hub that is named as the receiver answers for all behind it
           'plain_token', l.plain_token, 'parties', l.hubs || l.parties || l.added_parties, 'party', l.pull_party,
           'refused', l.pull_refused,
           'date_from', private.iso(private.ocpi_pull_from(l)), 'date_to', private.iso(l.pull_until), 'offset',
               l.pull_offset)), '[]') into pulls
    from leased l;
  return pulls;
end $$;
comment on function private.lease_ocpi_pulls(int) is
  'Leases pulls that are due, for a minute each. Definer: every tenant at once.';

-- Where the next pass begins: 48 hours before the last one ended, because clocks differ. The first begins with the
-- Dutch year in which the connection was made: a platform that fails over the turn of the year loses no CDR.
create function private.ocpi_pull_from(link core.ocpi_connections) returns timestamptz
language sql stable
as $$
  select coalesce(link.pull_from, link.pulled_to - interval '48 hours',
                  private.dutch_midnight(date_trunc('year', private.dutch_day(link.created_at))::date))
$$;

create function api.lease_ocpi_pulls(caller jsonb, batch jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.lease_ocpi_pulls((batch ->> 'size')::int); $$;
comment on function api.lease_ocpi_pulls(jsonb, jsonb) is
  'The next platforms to read CDRs of: {size} to [{partner_id, owner_id, lease_id, versions_url, cdrs_url, origins, '
  'their_token, plain_token, parties, party, refused, date_from, date_to, offset}].';
grant execute on function api.lease_ocpi_pulls(jsonb, jsonb) to edge_slow;

-- The connection of a lease, locked, and the transaction narrowed to its client; null if another worker has it by now.
create function private.leased_ocpi(input jsonb) returns core.ocpi_connections
language plpgsql
as $$
declare
  link core.ocpi_connections;
begin
  perform private.act_for_client((input ->> 'partner_id')::uuid, (input ->> 'owner_id')::uuid);
  link := private.own_ocpi();
  return case when link.pull_lease_id = (input ->> 'lease_id')::uuid and link.status = 'registered' then link end;
end $$;

-- Those of the CDRs of a page that need no room among the parked ones.
create function private.cdrs_not_to_park(owner uuid, cdrs jsonb) returns jsonb
language sql stable
as $$
  select coalesce(jsonb_agg(c.item order by c.n), '[]')
    from jsonb_array_elements(cdrs) with ordinality c (item, n)
    join private.resolve_chargers(owner, (
           select jsonb_agg(coalesce(nullif(e.item -> 'session', 'null'), '{}') order by e.n)
             from jsonb_array_elements(cdrs) with ordinality e (item, n))) r on r.n = c.n
   where case c.item ->> 'kind' when 'unread' then false
              when 'session' then r.charger_id is not null and c.item #>> '{session,started_at}' is not null
                                  and c.item #>> '{session,ended_at}' is not null
              else true end
$$;

-- How many chargers and names a client has or had.
create function private.names_given(owner uuid) returns bigint
language sql stable
as $$
  select (select count(*) from core.chargers h where h.partner_id = private.partner_id() and h.owner_id = owner)
         + (select count(*) from core.charger_names n where n.partner_id = private.partner_id() and n.owner_id = owner)
$$;

create function api.take_pulled_cdrs(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  link    core.ocpi_connections;
  cdrs    jsonb   := input -> 'cdrs';
  no_room boolean := false;
  results jsonb;
  stale   int;
begin
  perform private.act_as(caller, 'worker');
  link := private.leased_ocpi(input);
  if link.owner_id is null then
    return json_build_object('leased', false);
  end if;
  begin
    results := private.take_cdrs(link, cdrs);
    perform private.settle_unread(link, cdrs, results);
  exception when sqlstate 'RULES' then
    if sqlerrm <> 'parked_limit' then
      raise;
    end if;
    no_room := true;
  end;
  if no_room then
    cdrs := private.cdrs_not_to_park(link.owner_id, cdrs);
    results := private.take_cdrs(link, cdrs);
    perform private.settle_unread(link, cdrs, results);
    update core.ocpi_connections c
       set left_from = least(c.left_from, private.ocpi_pull_from(link)),
           left_names = coalesce(c.left_names, private.names_given(link.owner_id))
     where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  end if;
  -- an empty page may have others behind it
  stale := case when results @> '[{"status": "taken"}]' then 0 else link.pull_pages + 1 end;
  update core.ocpi_connections c set pull_party = input ->> 'party',
      pull_offset = (input ->> 'offset')::int, pull_pages = stale, pull_refused = nullif(input -> 'refused', 'null'),
      pull_lease_until = private.now() + interval '60 seconds'
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  return json_build_object('leased', true, 'stale', stale,
                           'faulty', (select count(*) from jsonb_array_elements(results) r
                                      where r ->> 'status' = 'refused'));
end $$;
comment on function api.take_pulled_cdrs(jsonb, jsonb) is
  'Stores a page of CDRs and where to go on: {partner_id, owner_id, lease_id, cdrs, party, refused, offset} to '
  '{leased, stale, faulty}. stale: the pages in a row with nothing new. leased false: another worker reads on.';
grant execute on function api.take_pulled_cdrs(jsonb, jsonb) to edge_slow;

-- Mails the partner's managers and the operator that CDRs could not be read for a day.
create function private.warn_of_ocpi(link core.ocpi_connections, operator text) returns void
language plpgsql
as $$
begin
  perform private.enqueue_mails('{"template": "ocpi_pull_failed", "locale": "nl"}', (
    select jsonb_agg(jsonb_build_object(
             'recipient', t.email, 'cause', 'ocpi_pull_failed:' || link.owner_id || ':'
                 || private.iso(link.failing_since) || ':' || t.email,
             'content', jsonb_build_object('partner_name', p.name, 'url', link.versions_url,
                                           'since', private.iso(link.failing_since))))
      from core.partners p
     cross join lateral (select m.email from private.manager_emails(p.id) m (email) union select operator) t
     where p.id = link.partner_id and t.email is not null));
end $$;

create function private.settle_ocpi_pull(input jsonb) returns boolean
language plpgsql security definer
as $$
declare
  link  core.ocpi_connections := private.leased_ocpi(input);
  whole constant boolean := coalesce((input ->> 'whole')::boolean, false);
  -- of a whole pass the worker says what was refused; it may have begun again
  kept  constant jsonb := case when not whole then link.pull_refused end;
  error text := left(coalesce(input ->> 'error', kept ->> 'reason'), 200);
  saw   constant text := left(coalesce(input ->> 'saw', kept ->> 'saw'), 300);
  again boolean;
  warn  boolean;
begin
  if link.owner_id is null then
    return false;
  end if;
  again := whole and link.pull_until >= private.now() - interval '1 hour'
           and link.left_names <> private.names_given(link.owner_id);
  if error is null and link.left_from is not null and not again then
    error := 'parked_limit';
  end if;
  warn := coalesce(error is not null and not link.warned and link.failing_since <= private.now() - interval '24 hours',
                   false);
  update core.ocpi_connections c
     set pull_lease_id = null, pull_lease_until = null,
         pulled_to = case when whole then greatest(c.pulled_to, c.pull_until) else c.pulled_to end,
         pull_from = case when again then c.left_from
                          when whole and c.pull_until < private.now() - interval '1 hour' and c.pull_from is not null
                          then c.pull_until - interval '48 hours'
                          when whole then null else c.pull_from end,
         pull_until = case when whole then null else c.pull_until end,
         pull_party = case when whole then null else c.pull_party end,
         pull_offset = case when whole then 0 else c.pull_offset end,
         pull_refused = case when not whole then c.pull_refused end,
         -- after too many, it goes on at the page that it reached
         pull_pages = case when whole or error = 'too_many_pages' then 0 else c.pull_pages end,
         left_from = case when again then null else c.left_from end,
         left_names = case when again then null else c.left_names end,
         pull_due_at = case when input ->> 'error' is not null and not whole then private.now() + interval '15 minutes'
                            when again or not whole or c.pull_until < private.now() - interval '1 hour'
                            then private.now()
                            else private.now() + interval '6 hours' + random() * interval '1 hour' end,
         failing_since = case when error is null then null else coalesce(c.failing_since, private.now()) end,
             last_error = error, last_error_detail = case when error is not null then saw end,
         warned = error is not null and (c.warned or warn)
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  if warn then
    perform private.append_event(link.partner_id, link.owner_id, 'ocpi.pull_failed', null,
                         jsonb_build_object('since', private.iso(link.failing_since), 'reason', error));
    perform private.warn_of_ocpi(link, input ->> 'operator');
  end if;
  return true;
end $$;
comment on function private.settle_ocpi_pull(jsonb) is
  'Ends the lease of a pull. After 24 hours of failures an event and mails go out, once. Definer, because mail belongs '
  'to no client.';

create function api.settle_ocpi_pull(caller jsonb, settled jsonb) returns json
language sql security definer
as $$ select private.act_as(caller,
                            'worker'); select json_build_object('settled', private.settle_ocpi_pull(settled)); $$;
comment on function api.settle_ocpi_pull(jsonb, jsonb) is
  'Ends a pull, or its turn: {partner_id, owner_id, lease_id, whole, error?, saw?, operator} to {settled}. With both '
  'whole and error one party was refused. operator is an address to warn too.';
grant execute on function api.settle_ocpi_pull(jsonb, jsonb) to edge_slow;
