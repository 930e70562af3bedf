-- Mandates: what a signatory signs, for whole calendar years, and what ends it.

-- The last day, today or later, that is signed for a connection; null if nothing is.
create function private.signed_until(connection uuid, tenant uuid default private.partner_id()) returns date
language sql stable
as $$
  select max(m.valid_until) from core.mandates m
   where m.partner_id = tenant and m.connection_id = signed_until.connection and m.status = 'signed'
       and m.valid_until >= private.today()
$$;

-- Whether years after those of a mandate are signed for too.
create function private.is_renewed(mandate core.mandates) returns boolean
language sql stable
as $$
  select exists (select from core.mandates m
                  where m.partner_id = mandate.partner_id and m.connection_id = mandate.connection_id
                      and m.status = 'signed'
                    and m.valid_until > mandate.valid_until)
$$;

-- Whether somebody may sign for a connection: if no mandate holds, and from 1 November of the last signed year.
create function private.can_sign(connection uuid, tenant uuid default private.partner_id()) returns boolean
language plpgsql stable
as $$
declare
  held_until constant date := private.signed_until(connection, tenant);
begin
  return held_until is null or private.today() >= make_date(extract(year from held_until)::int, 11, 1);
end $$;

-- What can be signed for today: [{validity_years, valid_from, valid_until}], for the fixed years or each choice. A
-- first mandate begins on 1 January of this year; signed in November or December, it lasts the next year too. A renewal
-- begins after what is signed, and a mandate after a withdrawal after what that left covered, which keeps its terms.
create function private.mandate_periods(connection uuid, fixed_years int) returns jsonb
language plpgsql stable
as $$
declare
  today      constant date := private.today();
  year       constant int  := extract(year from today);
  held_until constant date := private.signed_until(connection);
  kept_until constant date := (select max(m.covered_until) from core.mandates m
                                where m.partner_id = private.partner_id()
                                  and m.connection_id = mandate_periods.connection and m.covered_until >= m.valid_from);
begin
  return (
    select jsonb_agg(jsonb_build_object(
             'validity_years', n.years,
             'valid_from', coalesce(held_until + 1, greatest(make_date(year, 1, 1), kept_until + 1)),
             'valid_until', make_date(
               case when held_until is not null then extract(year from held_until)::int + n.years
                    -- what is signed shortly before the year ends would hold for weeks
                    when extract(month from today) >= 11 then greatest(year + n.years - 1, year + 1)
                    else year + n.years - 1 end, 12, 31)) order by n.years)
      from unnest(case when fixed_years is null then array[1, 3, 5] else array[fixed_years] end) as n (years));
end $$;

create function private.terms_of(connection uuid, brought_by uuid, out fee_pct numeric, out partner_share_pct numeric)
language sql stable security definer
as $$
  select p.default_fee_pct, p.partner_share_pct
    from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
    left join core.attributions t on t.user_id = a.user_id
    join core.partners p on p.id = coalesce(brought_by, t.partner_id, c.partner_id)
   where c.partner_id = private.partner_id() and c.id = connection
$$;
comment on function private.terms_of(uuid, uuid) is
  'The percentages a signature agrees to today. They are of the partner who brings or brought the person, or of a CPO '
  'account''s partner. Definer, because people are in the people''s tenant and their partner is another tenant.';

-- Ends the signed mandate of a connection, and one for the years after it. A customer's withdrawal leaves the whole
-- months before it.
create function private.end_mandate(connection uuid, new_status text, reason text) returns void
language plpgsql
as $$
begin
  update core.mandates m
     set status = new_status, ended_at = private.now(), ended_reason = reason
   where m.connection_id = connection and m.status = 'signed'
     -- one that ran out keeps covering its years, whether the job has noted its end or not
     and m.valid_until >= private.today();
  perform private.judge_months(connection);
  perform private.notify(c.account_id, 'mandate_withdrawn', 'mandate_withdrawn:' || k.mandate_id,
                         jsonb_build_object('by', reason,
                           'covered_until', (select max(m.covered_until) from core.mandates m
                            where m.partner_id = c.partner_id and m.connection_id = c.id
                                and m.covered_until >= m.valid_from and not r.missing),
                           'lost_kwh', (select coalesce(sum(d.total_kwh), 0) from core.delivered_months d
                             join core.mandates m on m.partner_id = d.partner_id and m.connection_id = d.connection_id
                                                 and m.ended_at = private.now()
                                                     and d.period between m.valid_from and m.valid_until
                            where d.partner_id = c.partner_id and d.connection_id = c.id
                                and (d.status = 'outside_mandate' or d.status = 'staged' and r.missing))), c.id)
     from core.connections c
    cross join lateral (select not private.may_still_book(c.registration_status) as missing) r
     join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    where c.partner_id = private.partner_id() and c.id = connection;
  perform private.audit('mandate.' || new_status, connection, jsonb_build_object('reason', reason));
  perform private.emit('mandate.' || new_status, c.account_id, c.id,
                       jsonb_build_object('connection_id', c.id, 'mandate_status', new_status))
     from core.connections c
    -- a client that corrects a connection acknowledges that, and reads it in the answer
    where c.partner_id = private.partner_id() and c.id = connection and reason <> 'connection_updated';
  perform private.note_eligibility(c.partner_id, array[c.account_id])
     from core.connections c where c.partner_id = private.partner_id() and c.id = connection;
end $$;

create function private.void_mandate_links(connection uuid) returns void
language sql
as $$
  update core.mandate_links l set voided_at = private.now()
   where l.partner_id = private.partner_id() and l.connection_id = connection and l.voided_at is null
       and l.used_at is null
$$;

-- Whether a return URL is the registered one followed by /, ? or nothing. It may have no fragment, and must not climb
-- out of it.
create function private.return_url_allowed(return_url text, registered text) returns boolean
language sql immutable
as $$
  select coalesce(
    starts_with(return_url, registered) and substr(return_url, length(registered) + 1, 1) in ('', '/', '?')
    and position('#' in return_url) = 0
    -- a browser resolves these, and would end up above the registered URL
    and split_part(return_url, '?', 1) !~* '[/\\](\.|%2e){2}([/\\]|$)', false)
$$;

create function private.last_price(tenant uuid) returns numeric
language sql stable security definer
as $$
  select f.price from core.figures f where f.partner_id = tenant and f.price is not null
    order by f.delivery_year desc limit 1
$$;
comment on function private.last_price(uuid) is
  'The average price of an ERE, in euro, in the latest year published to a tenant; null if unknown. Definer, because a '
  'customer''s pages see no sales.';

-- What a mandate yields: the latest factor, the tenant's last average price (null if there is none), and who pays.
create function private.offer(tenant uuid, payout_handler text) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'payout_handler', payout_handler,
    'ere_per_kwh', (select f.ere_per_kwh from core.ere_factors f
                     where f.delivery_year <= extract(year from private.today()) order by f.delivery_year desc limit 1),
    'price_per_ere_eur', private.last_price(tenant))
$$;
