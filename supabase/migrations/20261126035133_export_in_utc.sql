begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION ops.partner_export_rows (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner constant core.partners := private.business_named(input);
  part    record;
  answer  json;
begin
  perform set_config('timezone', 'UTC', true);
  -- the audit row of the beginning stands for all pages
  perform private.refuse_if('export_not_begun', not exists (
    select from core.audit_log a
     where a.partner_id = partner.id and a.id = (input ->> 'export')::bigint and a.action = 'partner.exported' and a.at > private.now() - interval '1 day'));
  select * into part from private.partner_tables() t where t.name = input ->> 'table' and t.kind = 'own';
  perform private.refuse_if('no_table_of_partner', not found, json_build_object('table', input ->> 'table'));
  execute format(
    'with page as materialized (
       select row_number() over (order by %1$s) as n, to_jsonb(array[%2$s]) as key, (select to_jsonb(r) from (select %3$s) r) as row
         from core.%4$I t where %5$s and ($2 is null or (%1$s) > (%6$s)) order by %1$s limit $3)
     select json_build_object(''rows'', count(*), ''last'', (array_agg(key order by n desc))[1], ''lines'', string_agg(row::text || chr(10), '''' order by n)) from page',
    private.listed(part.key, 't.%I'), private.listed(part.key, 't.%I::text'),
    (select string_agg(case when c = any (part.secrets) then format('case when t.%1$I is not null then ''withheld'' end as %1$I', c) else format('t.%I', c) end, ', ' order by c)
       from unnest(part.columns) c),
    part.name, part.condition, private.typed_key(part.name, part.key, '$2'))
    into answer using partner.id, nullif(input -> 'after', 'null'), (input ->> 'size')::int;
  return answer;
end $function$;

commit;
