begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."renewal_facts"(uuid, core.partners);

CREATE OR REPLACE FUNCTION api.read_portal_drafts (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  size  constant int  := (query ->> 'limit')::int;
  skip  constant int  := coalesce((query ->> 'skip')::int, 0);
  sort  constant text := query #>> '{for,sort}';
  typed constant text := lower(query #>> '{for,text}');
  named constant uuid[] := (select array_agg(n::uuid) from jsonb_array_elements_text(query #> '{for,ids}') n);
  last  core.drafts;
begin
  perform private.act_as(caller, 'partner');
  select * into last from core.drafts d where d.partner_id = private.partner_id() and d.id = (query ->> 'after')::uuid;
  return (
    with examined as materialized (
      select d as draft, d.id, row_number() over newest as place, private.draft_status(d) as status
        from core.drafts d
       where d.partner_id = private.partner_id() and (last.id is null or (d.created_at, d.id) < (last.created_at, last.id))
         and (named is null or d.id = any (named))
      window newest as (order by d.created_at desc, d.id desc)
       order by d.created_at desc, d.id desc limit private.drafts_examined()
    ), alike as materialized (
      select e.*, coalesce((e.draft).company_name, (e.draft).contact_name, (e.draft).name, (e.draft).email) as name
        from examined e
       where (query #>> '{for,needs}' is null or private.needs_attention(e.draft) = query #>> '{for,needs}')
         and (typed is null or strpos(lower(concat_ws(E'\n', (e.draft).name, (e.draft).company_name, (e.draft).contact_name, (e.draft).email,
                                                      (e.draft).external_ref, (e.draft).city)), typed) > 0)
    ), found as (
      select a.*, row_number() over (order by case sort when 'name' then lower(a.name) when 'status' then a.status when 'city' then lower((a.draft).city) end,
                                              case when sort = 'until' and a.status = 'invited' then (a.draft).expires_at end,
                                              case when sort = 'oldest' then -a.place end, a.place) as number
        from alike a where query #>> '{for,status}' is null or a.status = query #>> '{for,status}'
    )
    select json_build_object(
      'who', private.portal_who(),
      'drafts', (select coalesce(json_agg(private.portal_draft(f.draft) order by f.number), '[]') from found f where f.number > skip and f.number <= skip + size),
      'total', (select count(*) from found),
      'counts', (select coalesce(json_object_agg(c.status, c.drafts), '{}') from (select a.status, count(*) as drafts from alike a group by a.status) c),
      -- the page of 0.9.0 says no skip: it goes on behind the last draft that it has
      'more_after', coalesce((select f.id from found f where not query ? 'skip' and f.number = size and (select count(*) from found) > size),
                             (select e.id from examined e where e.place = private.drafts_examined() and exists (
                               select from core.drafts d where d.partner_id = private.partner_id() and (d.created_at, d.id) < ((e.draft).created_at, e.id))))));
end $function$;

CREATE OR REPLACE FUNCTION private.mandate_document (
  mandate uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  name text;
begin
  select concat_ws('-', 'mandate', to_char(m.valid_from, 'YYYY'), nullif(to_char(m.valid_until, 'YYYY'), to_char(m.valid_from, 'YYYY')), left(m.id::text, 8)) into name
    from core.mandates m where m.partner_id = private.partner_id() and m.id = mandate;
  perform private.refuse_if('mandate_not_found', name is null);
  return private.kept_document((
    select d from core.documents d where d.partner_id = private.partner_id() and d.mandate_id = mandate), name);
end $function$;

CREATE OR REPLACE FUNCTION private.own_drafts (
  named jsonb
)
  RETURNS SETOF uuid
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  -- in one order, so that two who do it at once wait for each other; the second finds what is left
  select d.id from core.drafts d
   where d.partner_id = private.partner_id() and d.id in (select n::uuid from jsonb_array_elements_text(named) n) order by d.id for update
$function$;

CREATE OR REPLACE FUNCTION private.renewal_facts (
  connection uuid,
  partner    core.partners
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.connection_facts(connection) || coalesce((select jsonb_build_object('partner_name', private.partner_full_name(partner))
                                                                from core.attributions t where t.partner_id = partner.id and t.user_id = private.user_id()), '{}') $function$;

COMMENT ON FUNCTION "private"."own_drafts"(jsonb) IS 'Those of the named drafts that the tenant has, locked.';

COMMENT ON FUNCTION "private"."renewal_facts"(uuid, core.partners) IS 'The facts of a person''s connection in the house, with the partner that brought them, unless they stopped sharing. Definer, because a partner is another tenant.';

REVOKE ALL ON FUNCTION "private"."renewal_facts"(uuid, core.partners) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."renewal_facts"(uuid, core.partners) TO "api_owner";

commit;
