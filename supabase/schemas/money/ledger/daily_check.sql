-- Each tenant's books are checked once a day, one tenant in each run of the worker: reading a large one takes seconds.

create function private.begin_ledger_check() returns uuid
language sql security definer
as $$
  insert into core.ledger_checks as k (partner_id)
  select p.id
    from core.partners p left join core.ledger_checks c on c.partner_id = p.id
   where c.begun_at is null or c.begun_at <= private.now() - interval '1 day'
   order by c.begun_at nulls first, p.id limit 1
  on conflict on constraint ledger_checks_pkey do update set begun_at = excluded.begun_at
   where k.begun_at <= excluded.begun_at - interval '1 day'
  returning k.partner_id
$$;
comment on function private.begin_ledger_check() is
  'Picks a tenant whose books are due, and makes it not due for a day; null if there is none. Definer: every tenant '
  'has its turn.';

create function private.finish_ledger_check(tenant uuid) returns bigint
language sql security definer
as $$
  update core.ledger_checks c
     set checked_at = private.now(), wrong = (select coalesce(sum(k.wrong), 0) from private.check_ledger(tenant) k)
   where c.partner_id = tenant
  returning c.wrong
$$;
comment on function private.finish_ledger_check(uuid) is
  'Checks a tenant''s books and stores how many things disagree. Definer, because nobody else reads everything of a '
  'tenant.';

create function api.begin_ledger_check(caller jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select json_build_object('partner_id', private.begin_ledger_check()); $$;
comment on function api.begin_ledger_check(jsonb) is
  'The tenant whose books are checked now: {partner_id}, null if none is due. Leased for a day, so that a check that '
  'does not end is not repeated at once.';
grant execute on function api.begin_ledger_check(jsonb) to edge_slow;

create function api.finish_ledger_check(caller jsonb, due jsonb) returns json
language sql security definer
as $$
  select private.act_as(caller, 'worker');
  select json_build_object('wrong', private.finish_ledger_check((due ->> 'partner_id')::uuid));
$$;
comment on function api.finish_ledger_check(jsonb, jsonb) is
  'Checks the books of one tenant: {partner_id} to {wrong}, how many things disagree.';
grant execute on function api.finish_ledger_check(jsonb, jsonb) to edge_slow;
