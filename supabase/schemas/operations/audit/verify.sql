-- Whether the audit log and the ledger still match their chains. Each function names the first mismatch, and reads in
-- one snapshot.

-- Walks size links of a chain after a position. Returns the last, how many, whether one has the expected hash, and the
-- first fault.
create function private.verify_links(chain core.audit_chains, after bigint, size int, expected bytea,
                                     out last bigint, out links int, out is_there boolean,
                                         out first_fault private.audit_fault)
language plpgsql stable
as $$
declare
  -- what is deleted on the sandbox is what a reset takes out of the ledger
  may_be_gone constant boolean := chain.log = 'ledger' and private.is_sandbox();
  before      constant bytea := case when after <= chain.checkpoint_position then chain.checkpoint_hash else (
    select l.hash from core.audit_links l where l.partner_id = chain.partner_id and l.log = chain.log
        and l.position = after) end;
begin
  after := greatest(after, chain.checkpoint_position);
  select count(*), max(l.position), coalesce(bool_or(l.hash = expected), false) into links, last, is_there
    from (select * from core.audit_links k
           where k.partner_id = chain.partner_id and k.log = chain.log and k.position > after
               order by k.position limit size) l;

  select j.fault, j.position, j.row_id, j.at, j.what into first_fault
    from (
      select l.position, l.row_id, v.at, v.what,
             case when l.position <> coalesce(l.position_before, after) + 1 then 'link_missing'
                  when v.row_id is null and not may_be_gone then 'deleted'
                  when v.content <> l.content then 'changed'
                  when l.hash is distinct from sha256(coalesce(l.hash_before, before) || l.content)
                      then 'reordered' end as fault
        from (select k.*, lag(k.hash) over w as hash_before, lag(k.position) over w as position_before
                from core.audit_links k
               where k.partner_id = chain.partner_id and k.log = chain.log and k.position > after and k.position <= last
              window w as (order by k.position)) l
        left join core.audit_content v
          on v.partner_id = chain.partner_id and v.log = chain.log and v.row_id = l.row_id) j
   where j.fault is not null
   order by j.position limit 1;
end $$;

-- What a walk along the links misses: links cut off at the end, and the first row without a link.
create function private.verify_rest(chain core.audit_chains) returns private.audit_fault
language plpgsql stable
as $$
declare
  last  core.audit_links;
  found private.audit_fault;
begin
  select * into last from core.audit_links l where l.partner_id = chain.partner_id and l.log = chain.log
    order by l.position desc limit 1;
  if (chain.position, chain.hash) is distinct from (coalesce(last.position, chain.checkpoint_position),
                                                    coalesce(last.hash, chain.checkpoint_hash)) then
    found.fault := 'cut_off';
    found.position := coalesce(last.position, chain.checkpoint_position) + 1;
    return found;
  end if;
  -- a row below the settled end was not written by the service; a later row waits for the job, for ten minutes at most
  select case when v.row_id <= chain.settled_id then 'inserted' else 'not_chained' end, null, v.row_id, v.at,
      v.what into found
    from core.audit_content v
   where v.partner_id = chain.partner_id and v.log = chain.log
     and (v.row_id <= chain.settled_id or v.at < private.now() - interval '10 minutes')
     and (select l.position from core.audit_links l where l.partner_id = v.partner_id and l.log = chain.log
          and l.row_id = v.row_id) is null
   order by v.row_id limit 1;
  return found;
end $$;
