begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.partner_figures (
  partner core.partners
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  fresh constant timestamptz := private.now() - interval '60 seconds';
  last  core.dashboards;
begin
  if (select count(*) from (select from core.attributions k where k.partner_id = partner.id limit 1001) k) <= 1000 then
    return private.count_dashboard(partner.id);
  end if;
  select * into last from core.dashboards d where d.partner_id = partner.id;
  if last.partner_id is null and pg_try_advisory_xact_lock(hashtextextended('dashboard of ' || partner.id, 0)) then  -- one first reader counts
    begin
      last.figures := private.count_dashboard(partner.id);
    exception when query_canceled then perform private.kick();  -- out of time: the worker counts
    end;
    insert into core.dashboards (partner_id, as_of, figures) values (partner.id, case when last.figures is null then '-infinity' else private.now() end, last.figures)
    on conflict do nothing;
  elsif last.as_of < fresh and (last.asked_at is null or last.asked_at < fresh) then
    -- one reader of many asks, and none waits for it
    update core.dashboards d set asked_at = private.now()
     where d.partner_id = (select a.partner_id from core.dashboards a
                            where a.partner_id = partner.id and a.as_of < fresh and (a.asked_at is null or a.asked_at < fresh) for update skip locked);
    perform private.kick() where found;
  end if;
  return last.figures;
end $function$;

COMMENT ON FUNCTION "api"."get_dashboard"(jsonb) IS 'GET /partner/dashboard. ERE of months inside a mandate, at the published factor of their year. The share in euro is of unsold ERE at the last average price, 0 until there is one. Refused with service_unavailable until the first reader has counted, or the worker where its time ran out.';

COMMENT ON FUNCTION "private"."partner_figures"(core.partners) IS 'The dashboard of a partner: up to 1,000 customers as of now, above that the last count. Null until the first reader has counted, or the worker where its time ran out. Definer, because dashboards are otherwise only read.';

commit;
