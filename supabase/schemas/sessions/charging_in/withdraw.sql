-- Taking sessions back.

-- Takes sessions back, with the words that say so as evidence: no total counts them, and what they overlapped may
-- count. Returns those that were not withdrawn before.
create function private.withdraw_charging_sessions(sessions uuid[], document jsonb, sent_sha256 bytea) returns uuid[]
language plpgsql
as $$
declare
  chosen  core.charging_sessions[];
  changes private.charging_session_change[];
begin
  -- in the order of private.ingest_charging_sessions
  perform from core.chargers h
    where h.partner_id = private.partner_id()
      and h.id = any (array(select s.charger_id from core.charging_sessions s where s.partner_id = private.partner_id()
                            and s.id = any (sessions)))
    order by h.id for no key update;
  chosen := array(
    select s from core.charging_sessions s
     where s.partner_id = private.partner_id() and s.id = any (sessions) and not 'withdrawn' = any (s.flags));
  perform from core.connections c
    where c.partner_id = private.partner_id() and c.id = any (array(select s.connection_id from unnest(chosen) s))
    order by c.id for no key update;
  with written as (
    update core.charging_sessions s
       set flags = private.own_flags(s.flags) || '{withdrawn}'::text[]
           || case when 'after_lock' = any (s.flags) then '{after_lock}'::text[] else '{}' end,
           received_at = private.now()
      from unnest(chosen) o
     where s.partner_id = o.partner_id and s.charger_id = o.charger_id and s.id = o.id
    returning s as session, o)
  select array_agg(row(w.session, w.o)::private.charging_session_change) into changes from written w;
  insert into core.replaced_charging_sessions
    (partner_id, charger_id, session_id, owner_id, month, started_at, ended_at, wh, flags, received_at)
  select o.partner_id, o.charger_id, o.id, o.owner_id, o.month, o.started_at, o.ended_at, o.wh, o.flags, o.received_at
    from unnest(chosen) o where o.ended_at is not null;
  insert into core.charging_evidence
    (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, request_id, document,
     document_sha256, sent_sha256)
  select o.partner_id, o.charger_id, o.id, o.owner_id, o.source, o.external_id, private.client_id(),
      nullif(current_setting('app.request_id', true), ''),
         document, sha256(convert_to(document::text, 'UTF8')), sent_sha256
    from unnest(chosen) o;
  perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  return array(select o.id from unnest(chosen) o);
end $$;
