-- Taking sessions back.

-- Takes sessions back, and keeps the words that say so as evidence; document is null if they stand in core.ocpi_cdrs.
-- No total counts these sessions. Others that they overlapped may count now. Answers the ids that it took back.
create function private.withdraw_charging_sessions(sessions uuid[], document jsonb, document_sha256 bytea,
                                                   sent_sha256 bytea) returns uuid[]
language plpgsql
set enable_seqscan = off  -- as private.store_sessions
as $$
declare
  changed jsonb;
  told    bigint;
begin
  -- in the order of private.store_sessions
  perform from core.chargers h
    where h.partner_id = private.partner_id()
      and h.id = any (array(select s.charger_id from core.charging_sessions s where s.partner_id = private.partner_id()
                            and s.id = any (sessions)))
    order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select s.connection_id from core.charging_sessions s
                             where s.partner_id = private.partner_id() and s.id = any (sessions)))
    order by c.id for no key update;
  with chosen as (
    select s.* from core.charging_sessions s
     where s.partner_id = private.partner_id() and s.id = any (sessions) and not 'withdrawn' = any (s.flags)
  ), written as (
    update core.charging_sessions s
       set flags = private.own_flags(s.flags) || '{withdrawn}'::text[]
           || case when 'after_lock' = any (s.flags) then '{after_lock}'::text[] else '{}' end,
           received_at = private.now()
      from chosen o
     where s.partner_id = private.partner_id() and s.id = o.id
  ), evidence as (
    insert into core.charging_evidence
      (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, request_id, document,
       document_sha256, sent_sha256)
    select o.partner_id, o.charger_id, o.id, o.owner_id, o.source, o.external_id, private.client_id(),
           nullif(current_setting('app.request_id', true), ''), document,
           document_sha256, sent_sha256
      from chosen o
  )
  select jsonb_agg(to_jsonb(o)) into changed from chosen o;
  if changed is not null then
    told := private.keep_replaced(changed)
            + jsonb_array_length(changed) * coalesce(octet_length(document::text), 0);
    perform private.total_sessions(private.judge_sessions(changed));
    -- a credit has no document: its CDR is counted, after the last lock of the request
    perform private.count_evidence(told, private.owner_id()) where document is not null;
  end if;
  return array(select (c.item ->> 'id')::uuid from jsonb_array_elements(changed) c (item));
end $$;
