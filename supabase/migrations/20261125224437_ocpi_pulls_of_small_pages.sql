begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.take_pulled_cdrs (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link    core.ocpi_connections;
  results jsonb;
  stale   int;
begin
  perform private.act_as(caller, 'worker');
  link := private.leased_ocpi(input);
  if link.owner_id is null then
    return json_build_object('leased', false);
  end if;
  results := private.take_cdrs(link, private.sent_cdrs(input -> 'cdrs'));
  stale := case when results @> '[{"status": "taken"}]' then 0 else link.pull_pages + 1 end;
  update core.ocpi_connections c set pull_offset = (input ->> 'offset')::int, pull_pages = stale, pull_lease_until = private.now() + interval '60 seconds'
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  return json_build_object('leased', true, 'stale', stale, 'faulty', (select count(*) from jsonb_array_elements(results) r where r ->> 'status' = 'refused'));
end $function$;

CREATE OR REPLACE FUNCTION ops.ocpi_origin (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link    core.ocpi_connections := private.ocpi_standing(input);
  allowed constant text[] := private.ocpi_entry(link.origins, input ->> 'origin', coalesce((input ->> 'remove')::boolean, false));
  changed constant boolean := allowed <> link.origins;
begin
  if changed then
    update core.ocpi_connections c set origins = allowed where c.partner_id = link.partner_id and c.owner_id = link.owner_id returning * into link;
    perform private.audit('ocpi.origins_set', link.owner_id, jsonb_build_object('origins', allowed));
  end if;
  return json_build_object('changed', changed, 'connection', private.ocpi_row(link));
end $function$;

CREATE OR REPLACE FUNCTION private.settle_ocpi_pull (
  input jsonb
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link  core.ocpi_connections := private.leased_ocpi(input);
  whole constant boolean := coalesce((input ->> 'whole')::boolean, false);
  error constant text := left(input ->> 'error', 200);
  warn  boolean;
begin
  if link.owner_id is null then
    return false;
  end if;
  warn := coalesce(error is not null and not link.warned and link.failing_since <= private.now() - interval '24 hours', false);
  update core.ocpi_connections c
     set pull_lease_id = null, pull_lease_until = null,
         pulled_to = case when whole then greatest(c.pulled_to, c.pull_until) else c.pulled_to end,
         pull_from = case when whole and c.pull_until < private.now() - interval '1 hour' and c.pull_from is not null then c.pull_until - interval '48 hours'
                          when whole then null else c.pull_from end,
         pull_until = case when whole then null else c.pull_until end,
         pull_offset = case when whole then 0 else c.pull_offset end,
         -- after too many, it goes on at the page that it reached
         pull_pages = case when whole or error = 'too_many_pages' then 0 else c.pull_pages end,
         pull_due_at = case when error is not null then private.now() + interval '15 minutes'
                            when not whole or c.pull_until < private.now() - interval '1 hour' then private.now()
                            else private.now() + interval '6 hours' + random() * interval '1 hour' end,
         failing_since = case when error is null then null else coalesce(c.failing_since, private.now()) end, last_error = error,
         warned = error is not null and (c.warned or warn)
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  if warn then
    perform private.tell(link.partner_id, link.owner_id, 'ocpi.pull_failed', null,
                         jsonb_build_object('since', private.iso(link.failing_since), 'reason', error));
    perform private.warn_of_ocpi(link, input ->> 'operator');
  end if;
  return true;
end $function$;

COMMENT ON COLUMN "core"."ocpi_connections"."pull_pages" IS 'The pages in a row that brought nothing new.';

COMMENT ON FUNCTION "api"."take_pulled_cdrs"(jsonb, jsonb) IS 'Stores a page of CDRs and where to go on: {partner_id, owner_id, lease_id, cdrs, offset} to {leased, stale, faulty}. stale: the pages in a row with nothing new. leased false: another worker reads on.';

COMMENT ON FUNCTION "ops"."ocpi_origin"(jsonb) IS 'Allows our requests, with the platform''s token, to one more origin, or removes it: {client, origin, remove?} to {changed, connection}.';

commit;
