-- The scheduled work on mandates. A reset locks accounts first, so each job does, and leaves locked accounts to the
-- next run.

-- Notes that these mandates expired, and tells customers who have not renewed. Only definers call it: every tenant at
-- once.
create function private.note_expired(expired core.mandates[]) returns void
language plpgsql
as $$
declare
  tenant uuid;
begin
  insert into core.audit_log (actor, action, partner_id, subject_id, request_id)
  select coalesce(nullif(current_setting('app.caller_kind', true), ''), 'worker'), 'mandate.expired', m.partner_id,
         m.connection_id, nullif(current_setting('app.request_id', true), '')
    from unnest(expired) m;
  insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
  select c.partner_id, c.account_id, c.owner_id, c.id, 'mandate_ended', 'mandate_ended:' || (e.mandate).id,
         jsonb_build_object('valid_until', (e.mandate).valid_until)
    from (select m as mandate, max(m.valid_until) over (partition by m.partner_id, m.connection_id) as last_day
            from unnest(expired) m) e
    join core.connections c on c.partner_id = (e.mandate).partner_id and c.id = (e.mandate).connection_id
        and c.status = 'active'
   where (e.mandate).lapsed_at is null and (e.mandate).valid_until = e.last_day and not private.is_renewed(e.mandate)
  on conflict on constraint notices_cause_key do nothing;
  for tenant in select distinct m.partner_id from unnest(expired) m order by m.partner_id loop
    perform private.emit_all(tenant, 'mandate.expired', array(
      select row(c.account_id, c.connection_id, jsonb_build_object('connection_id', c.connection_id,
                                                                   'mandate_status', 'expired'))::private.occurrence
        from core.connection_mandates c
       -- a renewed mandate has not expired: its next years have begun
       where c.partner_id = tenant and c.connection_id in (select m.connection_id from unnest(expired) m
                                                           where m.partner_id = tenant)
         and c.status = 'active' and c.mandate_status = 'expired'
       order by c.connection_id));
    perform private.note_eligibility(tenant, array(
      select distinct c.account_id from core.connections c
       where c.partner_id = tenant and c.id in (select m.connection_id from unnest(expired) m
                                                where m.partner_id = tenant)));
  end loop;
end $$;

create function private.expire_mandates() returns bigint
language plpgsql security definer
as $$
declare
  expired core.mandates[];
begin
  with ended as (
    update core.mandates m set status = 'expired', ended_at = private.now(), ended_reason = 'last_year_over'
     where (m.partner_id, m.id) in (
       -- on 1 January all of them: a part in each run, so that mail and the other jobs go on
       select e.partner_id, e.id
         from core.mandates e
         join core.connections c on c.partner_id = e.partner_id and c.id = e.connection_id
         join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
        where e.status = 'signed' and e.valid_until < private.today()
        limit 10000 for key share of a skip locked for update of e skip locked)
    returning m as mandate
  )
  select array_agg(e.mandate) into expired from ended e;
  perform private.note_expired(expired) where expired is not null;
  return coalesce(cardinality(expired), 0);
end $$;
comment on function private.expire_mandates() is
  'Marks ended mandates, which connection_mandates already reads from the calendar, and tells customers who have not '
  'renewed. Months inside the mandate stay covered. Definer: every tenant at once.';

create function private.announce_endings() returns bigint
language sql security definer
as $$
  with this as (
    select private.today() as today, extract(year from private.today())::int as year
  ), ending as (
    select m.partner_id, c.account_id, m.owner_id, m.connection_id, m.valid_until, r.reminder, 'mandate_ending:' || m.id
        || ':' || r.reminder as cause
      from this
      join core.mandates m on m.status = 'signed' and m.valid_until = make_date(this.year, 12, 31)
      join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id and c.status = 'active'
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
      -- nobody signs for a partner that was deactivated
      join core.partners p on p.id = m.partner_id and p.is_active
      cross join lateral (select case when this.today >= make_date(this.year, 12, 1) then 2 else 1 end as reminder) r
     where this.today >= make_date(this.year, 11, 1) and not private.is_renewed(m)
       and not exists (select from core.notices n where n.partner_id = m.partner_id and n.cause = 'mandate_ending:'
                       || m.id || ':' || r.reminder)
     limit 10000 for key share of a skip locked
  ), announced as (
    insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
    select e.partner_id, e.account_id, e.owner_id, e.connection_id, 'mandate_ending', e.cause,
           jsonb_build_object('valid_until', e.valid_until, 'reminder', e.reminder)
      from ending e
    on conflict on constraint notices_cause_key do nothing
    returning 1)
  select count(*) from announced
$$;
comment on function private.announce_endings() is
  'Tells customers who have not renewed that their mandate ends this year, from 1 November, and again from 1 December. '
  'Definer: every tenant at once.';

create function private.announce_missing() returns bigint
language sql security definer
as $$
  with asked as (
    select m.partner_id, a.id as account_id, m.owner_id, m.connection_id
      from core.mandates m
      join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id and c.status = 'active'
      -- a CPO sees to what its own customers lack
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id and a.user_id is not null
     where m.status = 'signed' and not m.renewal
       and m.signed_at <= private.now() - interval '3 days' and m.signed_at > private.now() - interval '60 days'
       and cardinality(private.still_missing(a)) > 0
       and not exists (select from core.notices n where n.partner_id = m.partner_id and n.cause = 'something_missing:'
                       || a.id)
     limit 10000 for key share of a skip locked
  ), announced as (
    insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause)
    select a.partner_id, a.account_id, a.owner_id, a.connection_id, 'something_missing',
        'something_missing:' || a.account_id from asked a
    on conflict on constraint notices_cause_key do nothing
    returning 1)
  select count(*) from announced
$$;
comment on function private.announce_missing() is
  'Tells a person once, three days after signing, that the IBAN or the charger is missing. Definer: every tenant at '
  'once.';
