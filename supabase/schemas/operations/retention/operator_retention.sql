-- The operator on retention: run, and what a run would delete.

create function ops.retention_preview(input jsonb) returns json
language plpgsql security definer
as $$
declare
  counts jsonb := '[]';
  kind   text;
begin
  perform private.act_as_operator(input);
  -- really deletes, counts, and rolls back: no other count is exact
  begin
    foreach kind in array private.retention_kinds() loop
      counts := counts || jsonb_build_object('kind', kind, 'rows', private.retention_step(kind, 1000000000));
    end loop;
    raise exception using errcode = 'RTEST';
  exception when sqlstate 'RTEST' then
    null;
  end;
  return json_build_object('before', private.retention_border(), 'kinds', counts);
end $$;
comment on function ops.retention_preview(jsonb) is
  'What retention would delete now: {} to {before, kinds: [{kind, rows}]}. Nothing is changed.';

create function ops.retention_kinds(input jsonb) returns json
language sql stable security definer
as $$ select json_build_object('before', private.retention_border(), 'kinds', private.retention_kinds()) $$;
comment on function ops.retention_kinds(jsonb) is
  'The kinds of data in the order in which retention deletes them: {} to {before, kinds}.';

create function ops.retention_step(input jsonb) returns json
language plpgsql security definer
as $$
declare
  deleted int;
begin
  perform private.act_as_operator(input);
  -- a second run waits for the first
  perform private.lock('retention');
  deleted := private.retention_step(input ->> 'kind', (input ->> 'size')::int);
  if deleted > 0 then
    perform private.audit('retention.deleted', null, jsonb_build_object('kind', input ->> 'kind', 'rows', deleted,
                                                                        'before', private.retention_border()));
  end if;
  return json_build_object('kind', input ->> 'kind', 'rows', deleted);
end $$;
comment on function ops.retention_step(jsonb) is
  'Deletes about this many rows of a kind: {kind, size} to {kind, rows}. It may be more, because a booking goes with '
  'all its rows.';
