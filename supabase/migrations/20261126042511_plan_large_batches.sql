begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.store_charging_sessions (
  sent private.charging_session_item[]
)
  RETURNS private.charging_session_result[]
  LANGUAGE plpgsql
  SET jit TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
declare
  chargers constant uuid[] := array(select distinct i.charger_id from unnest(sent) i where i.reason is null);
  compared private.compared_charging_session[];
  changes  private.charging_session_change[];
begin
  -- A plan that was kept from a small table may read all sessions of a charger for each item. Planning a batch takes 100 ms: it is done where
  -- the table is small, or a charger has many items.
  if cardinality(sent) > 20 and (cardinality(sent) > 20 * cardinality(chargers)
       or (select c.reltuples < 10000 from pg_catalog.pg_class c where c.oid = 'core.charging_sessions'::regclass)) then
    perform set_config('plan_cache_mode', 'force_custom_plan', true);
  end if;
  -- one batch at a time on a charger; in order, so that two batches cannot wait for each other
  perform from core.chargers h where h.partner_id = private.partner_id() and h.id = any (chargers) order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select h.connection_id from core.chargers h
                             where h.partner_id = private.partner_id() and h.id = any (chargers) and h.mid_eligible))
    order by c.id for no key update;
  compared := private.compare_charging_sessions(sent);
  changes := private.write_charging_sessions(compared);
  if exists (select from unnest(compared) c where c.status = 'updated') then
    changes := changes || private.correct_charging_sessions(compared);
  end if;
  if changes <> '{}' then
    perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  end if;
  perform private.note_chargers(compared);
  return array(
    select row((c.item).place, (c.item).sheet_row, case when (c.item).source <> 'file' then (c.item).external_id end, c.status,
               case when c.status = 'rejected' then coalesce((c.item).reason, 'unknown_charger') end, s)::private.charging_session_result
      from unnest(compared) c
      left join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = (c.item).charger_id and s.source = (c.item).source
       and s.external_id = (c.item).external_id and c.status <> 'rejected');
end $function$;

commit;
