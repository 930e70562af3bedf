-- The operator on the audit log: verify.

create function ops.audit_chains(input jsonb) returns json
language sql stable security definer
as $$
  -- a new tenant has no chains yet, and chains may be gone
  select json_build_object('chains', coalesce(json_agg(json_build_object(
           'partner_id', p.id, 'partner_slug', p.slug, 'log', l.log, 'links',
               coalesce(c.position - c.checkpoint_position, 0),
           'first', c.checkpoint_position + 1, 'position', coalesce(c.position, 0), 'hash', encode(c.hash, 'hex'))
               order by p.slug, l.log), '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.partners p on chosen.id is null or p.id = chosen.id
   cross join (values ('audit'), ('ledger')) l (log)
    left join core.audit_chains c on c.partner_id = p.id and c.log = l.log
$$;
comment on function ops.audit_chains(jsonb) is
  'The chains of the audit log and of the ledger, of one partner or of all: {partner?} to {chains}.';

create function ops.audit_verify_part(input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  chain core.audit_chains;
  part  record;
  fault private.audit_fault;
begin
  select * into chain from core.audit_chains c where c.partner_id = (input ->> 'partner_id')::uuid
      and c.log = input ->> 'log';
  if not found then
    -- without a chain we verify as if it were empty: a row that is ten minutes old and not in it is a fault
    chain.partner_id := (input ->> 'partner_id')::uuid;
    chain.log := input ->> 'log';
    chain.position := 0;
    chain.settled_id := 0;
    chain.checkpoint_position := 0;
  end if;
  part := private.verify_links(chain, (input ->> 'after')::bigint, (input ->> 'size')::int,
                               decode(input ->> 'expect', 'hex'));
  fault := part.first_fault;
  if part.links < (input ->> 'size')::int and fault.fault is null then
    fault := private.verify_rest(chain);
  end if;
  return json_build_object(
    'last', part.last, 'links', part.links, 'is_there', part.is_there, 'done', part.links < (input ->> 'size')::int,
    'fault', case when fault.fault is not null then json_build_object(
      'fault', fault.fault, 'position', fault.position, 'row', fault.row_id, 'at', private.iso(fault.at), 'what',
          fault.what) end);
end $$;
comment on function ops.audit_verify_part(jsonb) is
  'Walks a part of a chain: {partner_id, log, after, size, expect?} to {last, links, is_there, done, fault or null}. '
  'The last part also looks for rows without a link.';

create function ops.audit_verify_seals(input jsonb) returns json
language plpgsql stable security definer
as $$
begin
  return (
    with seal as (
      select s.*, private.seal_hash(s.day, s.heads, lag(s.hash) over (order by s.day)) as made from core.audit_seals s
    ), wrong as (
      select s.day, null::text as partner_slug, null::text as log, null::bigint as position from seal s
       where s.hash <> s.made
      union all
      select s.day, p.slug, h.log, h.position
        from seal s
       cross join lateral jsonb_to_recordset(s.heads) h (partner_id uuid, log text, position bigint, hash text)
        left join core.partners p on p.id = h.partner_id
        left join core.audit_chains c on c.partner_id = h.partner_id and c.log = h.log
        left join core.audit_links l on l.partner_id = h.partner_id and l.log = h.log and l.position = h.position
       where h.position > coalesce(c.checkpoint_position, 0) and encode(l.hash, 'hex') is distinct from h.hash
    )
    select json_build_object(
      'seals', count(*), 'is_there', coalesce(bool_or(s.hash = decode(input ->> 'expect', 'hex')), false),
      'last', (select json_build_object('day', l.day, 'hash', encode(l.hash, 'hex')) from seal l
               order by l.day desc limit 1),
      'wrong', (select json_build_object('day', w.day, 'partner_slug', w.partner_slug, 'log', w.log,
                                         'position', w.position)
                  from wrong w order by w.day, w.partner_slug nulls first, w.log limit 1))
      from seal s);
end $$;
comment on function ops.audit_verify_seals(jsonb) is
  'Whether the seals follow each other, and the chains still match them: {expect?} to {seals, is_there, last, wrong or '
  'null}. wrong is the first mismatch.';
