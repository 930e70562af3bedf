-- How much we keep of what a source tells in a day. A source is a client with its platform, or an OCPP charger.

-- The bytes that the words of a session take. A CDR stands in core.ocpi_cdrs, and is counted there: without signed
-- texts nothing is left to count.
create function private.evidence_size(source text, document jsonb, signed text[]) returns bigint
language sql stable
return case when source = 'ocpi' then 0 else octet_length(document::text) end
     + case when signed = '{}' then 0 else octet_length(signed::text) end;

-- How many more bytes of a client, or of its OCPP charger, we keep today, in one row; negative over the quota. The
-- planner writes the body into the query of its caller.
create function private.evidence_room(owner uuid, charger uuid default null) returns table (bytes bigint)
language sql stable
begin atomic
  select l.bytes_a_day - coalesce((
           select k.bytes from core.kept_evidence k
            where k.partner_id = private.partner_id() and k.source_id = coalesce(charger, owner)
              and k.day = private.today() limit 1), 0)
    from core.evidence_limits l where l.kind = case when charger is null then 'client' else 'charger' end;
end;

-- Counts bytes that a client, or its OCPP charger, told, kept or not. Over the quota it tells the client's log, once a
-- day. Its row stays locked until the commit, so this comes after whatever waits for other rows.
create function private.count_evidence(bytes bigint, owner uuid, charger uuid default null) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  crossed boolean;
begin
  insert into core.kept_evidence as k (partner_id, source_id, owner_id, kind, day, bytes)
  values (private.partner_id(), coalesce(charger, owner), owner,
          case when charger is null then 'client' else 'charger' end, private.today(), count_evidence.bytes)
  on conflict on constraint kept_evidence_pkey do update
     set day = excluded.day, exceeded = k.exceeded and k.day = excluded.day,
         bytes = excluded.bytes + case when k.day = excluded.day then k.bytes else 0 end
  returning not k.exceeded and k.bytes > (select l.bytes_a_day from core.evidence_limits l where l.kind = k.kind)
       into crossed;
  if crossed then
    update core.kept_evidence k set exceeded = true
     where k.partner_id = private.partner_id() and k.source_id = coalesce(charger, owner);
    perform private.append_event(private.partner_id(), owner, 'charging.evidence_over_quota', null,
                                 jsonb_build_object('charger_id', h.id, 'bytes_a_day', l.bytes_a_day))
       from core.evidence_limits l
       left join core.chargers h on h.partner_id = private.partner_id() and h.id = charger
      where l.kind = case when charger is null then 'client' else 'charger' end
        and h.user_id is null;  -- a person has no log
  end if;
end $$;
