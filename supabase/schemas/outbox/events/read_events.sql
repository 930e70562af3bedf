-- GET /v1/events, GET /partner/events: a log, read from a cursor on.

-- The owner of the log that the caller reads: the client, or the partner itself.
create function private.log_owner() returns uuid
language sql stable
return coalesce(private.owner_id(), private.partner_id());

-- The cursor of a log behind the event of this number.
create function private.cursor_at(owner uuid, sequence bigint) returns text
language sql immutable
-- base64url of 16 bytes: the position, and half a hash that detects an invented cursor and a cursor of another log
return translate(rtrim(encode(int8send(sequence) || substr(sha256(uuid_send(owner) || int8send(sequence)), 1, 8),
                              'base64'), '='), '+/', '-_');

-- The number of the event that a cursor of this log is behind; null for any other cursor.
create function private.cursor_sequence(owner uuid, after text) returns bigint
language plpgsql immutable
as $$
declare
  bytes bytea;
  place bigint;
begin
  if after !~ '^[A-Za-z0-9_-]{22}$' then
    return null;
  end if;
  bytes := decode(translate(after, '-_', '+/') || '==', 'base64');
  place := ('x' || encode(substr(bytes, 1, 8), 'hex'))::bit(64)::bigint;
  return case when private.cursor_at(owner, place) = after then place end;
end $$;

-- The number before the first event of a log that is still kept.
create function private.oldest_event(head core.event_heads) returns bigint
language plpgsql stable
as $$
begin
  return coalesce((
    select e.sequence - 1 from core.events e
     where e.partner_id = head.partner_id and e.owner_id = head.owner_id and e.sequence > head.swept
         and e.created_at > private.events_kept_since()
     order by e.sequence limit 1), head.sequence);
end $$;

-- The number behind which a reader with this cursor, or null, goes on. cursor_expired: an event after it is not kept
-- any more.
create function private.start_of(head core.event_heads, after text, field text default 'after') returns bigint
language plpgsql stable
as $$
declare
  oldest constant bigint := private.oldest_event(head);
  place  bigint;
begin
  if after is null then
    return oldest;
  end if;
  place := private.cursor_sequence(head.owner_id, after);
  if (place between 0 and head.sequence) is not true then
    perform private.refuse('invalid_cursor', case when field = 'after' then '{}' else
      json_build_object('detail',
              format('%s is no cursor of this log: send a next_cursor of its own, the id of an event, or a moment.',
                     field)) end);
  elsif place < oldest then
    perform private.refuse('cursor_expired', json_build_object('oldest_cursor', private.cursor_at(head.owner_id,
        oldest)));
  end if;
  return place;
end $$;

-- An event's data, and the reader's own reference, which may name somebody: a person's application (not disclosing)
-- reads none.
create function private.event_data(event core.events, disclosing boolean, key text) returns jsonb
language plpgsql stable
as $$
declare
  reference text;
begin
  if event.account_id is not null and event.user_id is null then
    select a.cpo_external_ref into reference from core.accounts a where a.partner_id = event.partner_id
        and a.id = event.account_id;
    return jsonb_build_object('account_id', event.account_id, 'cpo_external_ref', reference) || event.data;
  elsif event.type like 'draft.%' then
    select d.external_ref into reference from core.drafts d where d.partner_id = event.partner_id
        and d.id = event.subject_id and disclosing;
    return jsonb_build_object('draft_id', event.subject_id, 'external_ref', reference) || event.data;
  elsif event.user_id is not null then
    select t.external_ref into reference from core.attributions t where t.partner_id = event.partner_id
        and t.user_id = event.user_id and disclosing;
    if not found and disclosing then
      -- somebody who is theirs no longer keeps the reference by which they know them
      select e.data ->> 'external_ref' into reference from core.events e
       where e.partner_id = event.partner_id and e.user_id = event.user_id and e.type = 'customer.sharing_ended'
           order by e.arrival desc limit 1;
    end if;
    return jsonb_build_object('customer_ref', private.customer_ref(event.user_id,
                                                                   private.customer_key(event.partner_id, key)),
                                                                   'external_ref', reference)
           || case when disclosing then event.data else event.data - 'external_ref' end;
  end if;
  return event.data;
end $$;

create function private.event_answer(event core.events, disclosing boolean, key text) returns json
language plpgsql stable
as $$
begin
  return json_build_object(
    'id', event.id, 'type', event.type, 'created_at', private.iso(event.created_at), 'sequence', event.sequence,
    'account_id', case when event.user_id is null then event.account_id end, 'data',
        private.event_data(event, disclosing, key));
end $$;

-- Whether a reader of a log is shown this event.
create function private.is_shown(event core.events, disclosing boolean) returns boolean
language sql immutable
-- GET /partner/customers shows a person none of their registrations
return disclosing or event.type not like 'registration.%';

create function api.show_events(caller jsonb, query jsonb) returns json
language plpgsql security definer
as $$
declare
  size    constant int := (query ->> 'limit')::int;
  types   constant text[] := (select array_agg(t) from jsonb_array_elements_text(nullif(query -> 'type', 'null')) t);
  account constant uuid := (query ->> 'account_id')::uuid;
  disclosing boolean;
  head    core.event_heads;
  start   bigint;
  upto    bigint;
  page    core.events[];
begin
  perform private.act_as(caller, 'cpo', 'partner');
  disclosing := private.is_partner_itself();
  head := private.sequence_events(private.partner_id(), private.log_owner());
  start := private.start_of(head, query ->> 'after');
  -- what is rare is looked for in parts, so that each answer takes no longer than another
  upto := least(head.sequence, start + private.events_at_once());
  page := array(
    select e from core.events e
     where e.partner_id = private.partner_id() and e.owner_id = head.owner_id and e.sequence > start
         and e.sequence <= upto
       and (types is null or e.type = any (types)) and (account is null or e.account_id = account)
           and private.is_shown(e, disclosing)
     order by e.sequence limit size + 1);
  return json_build_object(
    'events', (select coalesce(json_agg(private.event_answer(p, disclosing, query ->> 'key') order by p.sequence), '[]')
               from unnest(page[:size]) p),
    'next_cursor', private.cursor_at(head.owner_id, case when cardinality(page) > size then page[size].sequence
                                                         else upto end),
    'has_more', cardinality(page) > size or upto < head.sequence or private.has_unnumbered(head));
end $$;
comment on function api.show_events(jsonb, jsonb) is
  'GET /v1/events and GET /partner/events: {after, limit, type, account_id, key} to {events, next_cursor, has_more}, '
  'oldest first.';

create function api.show_event(caller jsonb, query jsonb) returns json
language plpgsql security definer
as $$
declare
  disclosing boolean;
  owner      uuid;
  event      core.events;
begin
  perform private.act_as(caller, 'cpo', 'partner');
  disclosing := private.is_partner_itself();
  owner := private.log_owner();
  perform private.sequence_events(private.partner_id(), owner);
  select * into event from core.events e
   where e.partner_id = private.partner_id() and e.owner_id = owner and e.id = (query ->> 'event_id')::uuid
     -- an event without a number is not in the log yet
     and e.sequence is not null and e.created_at > private.events_kept_since() and private.is_shown(e, disclosing);
  perform private.refuse_if('event_not_found', not found);
  return private.event_answer(event, disclosing, query ->> 'key');
end $$;
comment on function api.show_event(jsonb, jsonb) is
  'GET /v1/events/{event_id} and GET /partner/events/{event_id}: {event_id, key} to the event.';
