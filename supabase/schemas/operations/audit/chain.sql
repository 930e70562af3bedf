-- The chain makes the audit log and the ledger tamper-evident. Each tenant and log has one, in which each row has a
-- link: the hash of its content and of the link before. A job follows what was committed, and looks up by key, because
-- no statistics know rows that new.

-- The hash of a seal: over the hash of the last seal, the day, and where the chains ended.
create function private.seal_hash(day date, heads jsonb, before bytea) returns bytea
language sql immutable
as $$ select sha256(coalesce(before, '') || convert_to(jsonb_build_array(day::text, heads)::text, 'UTF8')) $$;

-- Adds links for committed rows of a log, at most size, and returns how many. Skips a chain that another job holds.
create function private.chain_rows(partner uuid, of_log text, size int) returns int
language plpgsql
as $$
declare
  -- every transaction before this one has ended: the queries below see what it wrote
  over     constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
  chain    core.audit_chains;
  ids      bigint[];
  contents bytea[];
  hashes   bytea[] := '{}';
  reached  bigint;
begin
  select * into chain from core.audit_chains c where c.partner_id = partner and c.log = of_log for update skip locked;
  if not found then
    return 0;  -- another one is at it
  end if;

  with fresh as (
    select a.row_id
      from (select 'audit' as log, a.id as row_id from core.audit_log a where a.partner_id = partner
            union all
            select 'ledger', e.id from core.ledger_entries e where e.partner_id = partner) a
     where a.log = of_log and a.row_id > chain.settled_id
       and (select l.position from core.audit_links l where l.partner_id = partner and l.log = of_log
            and l.row_id = a.row_id) is null
     order by a.row_id limit size
  )
  select array_agg(v.row_id order by v.row_id), array_agg(v.content order by v.row_id) into ids, contents
    from fresh f
    join core.audit_content v on v.partner_id = partner and v.log = of_log and v.row_id = f.row_id;

  for n in 1 .. coalesce(cardinality(ids), 0) loop
    chain.hash := sha256(chain.hash || contents[n]);
    hashes := array_append(hashes, chain.hash);
  end loop;
  insert into core.audit_links (partner_id, log, position, row_id, content, hash)
  select partner, of_log, chain.position + k.n, k.row_id, k.content, k.hash
    from unnest(ids, contents, hashes) with ordinality k (row_id, content, hash, n);

  -- Ids are given before rows are committed, so a lower id may still come from a transaction that runs now. A
  -- transaction that begins a minute later, after this run, has a higher number than all of these. Once no older
  -- transaction runs, no lower id can come.
  chain.last_id := greatest(chain.last_id, ids[cardinality(ids)]);
  reached := case when cardinality(hashes) < size then chain.last_id else ids[size] end;
  if chain.marked_id > chain.settled_id and chain.marked_before is null then
    if private.now() > chain.marked_at + interval '1 minute' then
      chain.marked_before := pg_current_xact_id();
    end if;
  else
    if chain.marked_id > chain.settled_id and reached >= chain.marked_id
       -- a number that is higher than ours came with a dump of another server: nobody writes with it
       and (over >= chain.marked_before or chain.marked_before > pg_snapshot_xmax(pg_current_snapshot())) then
      chain.settled_id := chain.marked_id;
    end if;
    if chain.marked_id = chain.settled_id then
      chain.marked_id := reached;
      chain.marked_at := private.now();
      chain.marked_before := null;
    end if;
  end if;
  update core.audit_chains c
     set position = chain.position + cardinality(hashes), hash = chain.hash, settled_id = chain.settled_id,
         last_id = chain.last_id,
         marked_id = chain.marked_id, marked_at = chain.marked_at, marked_before = chain.marked_before
   where c.partner_id = partner and c.log = of_log;
  return cardinality(hashes);
end $$;

-- Seals the chains once a day, for the day that is over.
create function private.seal_chains() returns void
language plpgsql
as $$
declare
  yesterday constant date := private.today() - 1;
  grown     jsonb;
begin
  if exists (select from core.audit_seals s where s.day >= yesterday) or not private.try_lock('audit_seal') then
    return;
  end if;
  with held as (
    select * from core.audit_chains c where c.position > c.sealed_position order by c.partner_id, c.log for update
  ), sealed as (
    update core.audit_chains c set sealed_position = h.position from held h where c.partner_id = h.partner_id
        and c.log = h.log
  )
  select jsonb_agg(jsonb_build_object('partner_id', h.partner_id, 'log', h.log, 'position', h.position,
                                      'hash', encode(h.hash, 'hex'))
                   order by h.partner_id, h.log) into grown
    from held h;
  insert into core.audit_seals (day, heads, hash)
  select yesterday, grown,
      private.seal_hash(yesterday, grown, (select s.hash from core.audit_seals s order by s.day desc limit 1))
   where grown is not null
  on conflict on constraint audit_seals_pkey do nothing;
end $$;

create function private.chain_audit(size int) returns json
language plpgsql security definer
as $$
declare
  due     record;
  chained int := 0;
begin
  insert into core.audit_chains (partner_id, log, hash, checkpoint_hash)
  select p.id, l.log, g.hash, g.hash
    from core.partners p
   cross join (values ('audit'), ('ledger')) l (log)
   -- the first hash names the log and its partner
   cross join lateral (select sha256(convert_to(l.log || ' of ' || p.id, 'UTF8')) as hash) g
   where not exists (select from core.audit_chains c where c.partner_id = p.id and c.log = l.log)
  on conflict on constraint audit_chains_pkey do nothing;
  begin
    perform private.seal_chains();
  exception when lock_not_available then
    null;  -- a chain is being written: the next run seals
  end;
  for due in
    select c.partner_id, c.log
      from core.audit_chains c
     where case c.log when 'audit' then exists (select from core.audit_log a where a.partner_id = c.partner_id
                                                and a.id > c.settled_id)
                      else exists (select from core.ledger_entries e where e.partner_id = c.partner_id
                                   and e.id > c.settled_id) end
     order by c.partner_id, c.log
  loop
    chained := chained + private.chain_rows(due.partner_id, due.log, size - chained);
    exit when chained >= size;
  end loop;
  return json_build_object(
    'chained', chained, 'more', chained >= size,
    'sealed', (select json_build_object('day', s.day, 'hash', encode(s.hash, 'hex')) from core.audit_seals s
               order by s.day desc limit 1));
end $$;
comment on function private.chain_audit(int) is
  'Adds links for committed rows of the audit log and the ledger, at most size: {chained, more, sealed}. Definer, '
  'because nobody else may write links, and chains are of all tenants.';

create function api.chain_audit(caller jsonb, input jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.chain_audit((input ->> 'size')::int); $$;
comment on function api.chain_audit(jsonb, jsonb) is
  'Continues the chains of the audit log and the ledger: {size} to {chained, more, sealed: {day, hash} or null}. Safe '
  'to call at any time, from several callers at once.';
grant execute on function api.chain_audit(jsonb, jsonb) to edge_slow;
