-- The operator hands a partner that leaves all rows of its tenant.

create function ops.partner_export(input jsonb) returns json
language plpgsql security definer
as $$
declare
  partner constant core.partners := private.business_named(input);
begin
  perform private.audit('partner.exported', partner.id);
  return json_build_object(
    'export', currval(pg_catalog.pg_get_serial_sequence('core.audit_log', 'id')), 'partner',
        private.partner_row(partner),
    'host', private.host(), 'exported_at', private.iso(private.now()),
    'tables', (select json_agg(json_build_object('table', t.name, 'withheld', t.secrets) order by t.place)
                 from private.partner_tables() t));
end $$;
comment on function ops.partner_export(jsonb) is
  'Begins an export of all rows of a partner: {partner} to {export, partner, host, exported_at, tables: [{table, '
  'withheld}]}. Leaves the audit row.';

create function ops.partner_export_rows(input jsonb) returns json
language plpgsql security definer
as $$
declare
  partner constant core.partners := private.business_named(input);
  part    record;
  answer  json;
begin
  perform set_config('timezone', 'UTC', true);
  -- the audit row of the beginning stands for all pages
  perform private.refuse_if('export_not_begun', not exists (
    select from core.audit_log a
     where a.partner_id = partner.id and a.id = (input ->> 'export')::bigint and a.action = 'partner.exported'
         and a.at > private.now() - interval '1 day'));
  select * into part from private.partner_tables() t where t.name = input ->> 'table';
  perform private.refuse_if('no_table_of_partner', not found, json_build_object('table', input ->> 'table'));
  execute format(
    'with page as (
       select row_number() over (order by %1$s) as n, to_jsonb(array[%2$s]) as key, (select to_jsonb(r) from (select '
       '%3$s) r) as row
         from core.%4$I t where %5$s and ($2 is null or (%1$s) > (%6$s)) order by %1$s limit $3)
     select json_build_object(''rows'', count(*), ''last'', (array_agg(key order by n desc))[1], ''lines'', '
     'string_agg(row::text || chr(10), '''' order by n)) from page',
    private.listed(part.key, 't.%I'), private.listed(part.key, 't.%I::text'),
    (select string_agg(case when c = any (part.secrets)
                            then format('case when t.%1$I is not null then ''withheld'' end as %1$I', c)
                            else format('t.%I', c) end, ', ' order by c)
       from unnest(part.columns) c),
    part.name, part.condition, private.typed_key(part.name, part.key, '$2'))
    into answer using partner.id, nullif(input -> 'after', 'null'), (input ->> 'size')::int;
  return answer;
end $$;
comment on function ops.partner_export_rows(jsonb) is
  'The next rows of an export, in the order of their key: {partner, export, table, after?, size} to {rows, last, '
  'lines}. lines has a JSON object a line. A withheld value that is not null is the word withheld. All pages are read '
  'in one snapshot.';
