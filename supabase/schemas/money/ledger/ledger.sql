-- The ledger: every kWh, ERE and cent that moved from one account to another. docs/ere.md says what moves when.

-- What was credited to an account less what was debited from it; 0 if nothing was.
create function private.balance(partner uuid, unit text, kind text, owner uuid) returns numeric
language plpgsql stable
as $$
begin
  return coalesce((
    select coalesce((select sum(e.amount) from core.ledger_entries e where e.partner_id = a.partner_id
                     and e.credit = a.id), 0)
           - coalesce((select sum(e.amount) from core.ledger_entries e where e.partner_id = a.partner_id
                       and e.debit = a.id), 0)
      from core.ledger_accounts a
     where a.partner_id = balance.partner and a.owner = balance.owner and a.kind = balance.kind
         and a.unit = balance.unit), 0);
end $$;

-- Writes entries, opens the accounts they name, and returns how many were new. The same cause again must be the same
-- entry.
create function private.post(partner uuid, postings private.posting[]) returns int
language plpgsql
as $$
declare
  written int;
begin
  insert into core.ledger_accounts (partner_id, unit, kind, owner)
  select distinct partner, p.unit, side.kind, side.owner
    from unnest(postings) p
    cross join lateral (values (p.debit_kind, p.debit_owner), (p.credit_kind, p.credit_owner)) side (kind, owner)
   where p.amount <> 0
   order by 4, 3, 2  -- two transactions that open the same accounts wait for each other in one order
  on conflict on constraint ledger_accounts_owner_key do nothing;

  insert into core.ledger_entries (partner_id, debit, credit, unit, amount, cause)
  select partner, d.id, c.id, p.unit, p.amount, p.cause
    from unnest(postings) p
   cross join lateral (
     select a.id from core.ledger_accounts a
      where a.partner_id = partner and a.owner = p.debit_owner and a.kind = p.debit_kind and a.unit = p.unit offset 0) d
   cross join lateral (
     select a.id from core.ledger_accounts a
      where a.partner_id = partner and a.owner = p.credit_owner and a.kind = p.credit_kind
          and a.unit = p.unit offset 0) c
   where p.amount <> 0
   order by p.cause collate "C"
  on conflict on constraint ledger_entries_cause_key do nothing;
  get diagnostics written = row_count;

  -- what was there already has to be the same thing
  if written < (select count(*) from unnest(postings) p where p.amount <> 0) and exists (
    select from unnest(postings) p
      join core.ledger_entries e on e.partner_id = partner and e.cause = p.cause
      join core.ledger_accounts d on d.partner_id = partner and d.id = e.debit
      join core.ledger_accounts c on c.partner_id = partner and c.id = e.credit
     where (e.unit, e.amount, d.kind, d.owner, c.kind, c.owner)
           is distinct from (p.unit, p.amount, p.debit_kind, p.debit_owner, p.credit_kind, p.credit_owner)) then
    raise exception 'the ledger holds another entry of the same cause';
  end if;
  return written;
end $$;

-- Moves back what the entries of these causes moved, once each, and returns how many were new.
create function private.reverse_postings(partner uuid, causes text[]) returns int
language plpgsql
as $$
declare
  written int;
begin
  insert into core.ledger_entries (partner_id, debit, credit, unit, amount, cause)
  select e.partner_id, e.credit, e.debit, e.unit, e.amount, e.cause || ':reversed'
    from unnest(causes) c (cause)
    join core.ledger_entries e on e.partner_id = partner and e.cause = c.cause
   order by e.cause
  on conflict on constraint ledger_entries_cause_key do nothing;
  get diagnostics written = row_count;
  return written;
end $$;
