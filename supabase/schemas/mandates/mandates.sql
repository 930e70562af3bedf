-- Mandates: what a signatory signs, for whole calendar years, and what ends it.

create table core.mandate_links (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  connection_id   uuid        not null,
  owner_id        uuid        not null default private.owner_id(),
  token_hash      bytea       not null,
  locale          text,
  validity_years  int,
  return_url      text,
  expires_at      timestamptz not null,
  voided_at       timestamptz,
  used_at         timestamptz,
  code_hash       bytea,
  code_expires_at timestamptz,
  code_attempts   int         not null default 0,
  created_at      timestamptz not null default private.now(),
  constraint mandate_links_pkey primary key (partner_id, id),
  constraint mandate_links_token_hash_key unique (token_hash),
  constraint mandate_links_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint mandate_links_locale_known check (locale in ('nl', 'en')),
  constraint mandate_links_validity_known check (validity_years in (1, 3, 5))
);
comment on table core.mandate_links is
  'A link a signatory signs through: good for 14 days, one signature, and until a newer one is issued. token_hash is the SHA-256 of 256 random bits; code_hash of the one-time code with that token.';
comment on column core.mandate_links.locale is 'The language that was chosen for the signatory, null where nobody chose.';
comment on column core.mandate_links.validity_years is 'For how many calendar years it asks; null where the signatory chooses.';
-- serves: voiding the older links of a connection
create index mandate_links_connection on core.mandate_links (partner_id, connection_id);
select private.isolate('core.mandate_links', 'select, insert, update');
select private.keep_to_owner('core.mandate_links');

create table core.mandates (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  connection_id   uuid        not null,
  owner_id        uuid        not null default private.owner_id(),
  link_id         uuid        not null,
  status          text        not null,
  renewal         boolean     not null default false,
  valid_from      date,
  valid_until     date,
  signed_name     text,
  signed_at       timestamptz,
  fee_pct         numeric(5, 2),
  partner_share_pct numeric(5, 2),
  document        text,
  document_sha256 text,
  code_confirmed  boolean     not null default false,
  code_sent_to    text,
  address         text,
  user_agent      text,
  locale          text,
  ended_at        timestamptz,
  ended_reason    text,
  lapsed_at       timestamptz,
  covered_until   date        generated always as (
    case when lapsed_at is not null then null
         when status in ('signed', 'expired') then valid_until
         when status = 'revoked' and ended_reason = 'customer'
           then least(valid_until, (date_trunc('month', ended_at at time zone 'Europe/Amsterdam') - interval '1 day')::date) end) stored,
  created_at      timestamptz not null default private.now(),
  constraint mandates_pkey primary key (partner_id, id),
  constraint mandates_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint mandates_link_fkey foreign key (partner_id, link_id) references core.mandate_links (partner_id, id),
  constraint mandates_link_key unique (partner_id, link_id),
  constraint mandates_status_known check (status in ('signed', 'revoked', 'expired', 'declined')),
  constraint mandates_signed_whole check (
    status = 'declined' or num_nulls(valid_from, valid_until, signed_name, signed_at, fee_pct, partner_share_pct, document, document_sha256) = 0),
  constraint mandates_percentages check (fee_pct between 0 and 100 and partner_share_pct between 0 and 100)
);
comment on table core.mandates is
  'What a signatory decided, with the evidence: the text as shown, its SHA-256, the typed name, the code proof, network address and user agent. Personal data; append-only but for its end; kept seven years after it.';
comment on column core.mandates.fee_pct is 'The fee on what the customer''s ERE yield, in percent, as it was agreed: a later change of the partner''s does not touch it.';
comment on column core.mandates.partner_share_pct is 'The partner''s part of that fee, in percent, as it was when the mandate was signed.';
comment on column core.mandates.renewal is 'Decided while another one held, for the years after it: a decline of these changes nothing.';
comment on column core.mandates.locale is 'The language it was signed in, in which the signatory is written to afterwards.';
comment on column core.mandates.covered_until is
  'The last day that counts by it, from valid_from on: its last year''s end; where the customer withdrew it the end of the month before; null where it covers nothing any more. The one rule of what a mandate covers.';
comment on column core.mandates.lapsed_at is
  'When EAN or address of the connection was corrected after the last year of this mandate: what it covered is still to be seen, and counts no more unless it is locked.';
-- serves: the latest mandate of a connection
create index mandates_connection on core.mandates (partner_id, connection_id, created_at desc);
-- serves: the job that ends mandates after their last year
create index mandates_ending on core.mandates (valid_until) where status = 'signed';
-- serves: the job that asks for what is still missing
create index mandates_signed on core.mandates (signed_at) where status = 'signed' and not renewal;
select private.isolate('core.mandates', 'select, insert, update');
select private.keep_to_owner('core.mandates');

-- The connection itself is in it: who wants both would otherwise read it twice, and Postgres sees no such join as needless.
create view core.connection_mandates with (security_invoker = true) as
select c.partner_id,
       c.id as connection_id,
       c.account_id,
       c.location_id,
       c.ean_code,
       c.status,
       c.registration_status,
       c.ean_validation_status,
       c.created_at,
       case when m.status is null then 'pending'
            when m.status = 'signed' and not m.holds and not m.ahead then 'expired'
            else m.status end as mandate_status,
       m.id as mandate_id,
       m.valid_from,
       m.valid_until,
       m.signed_at,
       m.renewed_until
  from core.connections c
  left join lateral (
    select m.id, m.status, m.valid_from, m.valid_until, m.signed_at, t.holds, t.ahead,
           max(m.valid_until) filter (where m.status = 'signed' and t.ahead) over () as renewed_until
      from core.mandates m
     cross join lateral (
       select coalesce(m.valid_from > (select private.today()), false) as ahead,
              m.status = 'signed' and (select private.today()) between m.valid_from and m.valid_until as holds) t
     where m.partner_id = c.partner_id and m.connection_id = c.id and not (m.status = 'declined' and m.renewal)
     order by t.holds desc, t.ahead, m.created_at desc
     limit 1) m on true;
comment on view core.connection_mandates is
  'A connection and where it stands with its mandate: the one that covers today, else the latest decision. A mandate has expired after its last year, whether or not the job has noted it. renewed_until: the last day of the years signed for ahead.';
grant select on core.connection_mandates to api_owner;

create function private.signed_until(connection uuid, tenant uuid default private.partner_id()) returns date
language sql stable
set search_path = ''
as $$
  select max(m.valid_until) from core.mandates m
   where m.partner_id = tenant and m.connection_id = signed_until.connection and m.status = 'signed' and m.valid_until >= private.today()
$$;
comment on function private.signed_until(uuid, uuid) is 'The last day of what is signed for a connection, today or later; null where nothing is.';
grant execute on function private.signed_until(uuid, uuid) to api_owner;

create function private.is_renewed(mandate core.mandates) returns boolean
language sql stable
set search_path = ''
as $$
  select exists (select from core.mandates m
                  where m.partner_id = mandate.partner_id and m.connection_id = mandate.connection_id and m.status = 'signed'
                    and m.valid_until > mandate.valid_until)
$$;
comment on function private.is_renewed(core.mandates) is 'Whether the years after those of a mandate are signed for too.';
grant execute on function private.is_renewed(core.mandates) to api_owner;

create function private.can_sign(connection uuid, tenant uuid default private.partner_id()) returns boolean
language plpgsql stable
set search_path = ''
as $$
declare
  held_until constant date := private.signed_until(connection, tenant);
begin
  return held_until is null or private.today() >= make_date(extract(year from held_until)::int, 11, 1);
end $$;
comment on function private.can_sign(uuid, uuid) is
  'Whether somebody may sign for a connection: where no mandate holds, and from 1 November of the last year that is signed for.';
grant execute on function private.can_sign(uuid, uuid) to api_owner;

create function private.mandate_periods(connection uuid, fixed_years int) returns jsonb
language plpgsql stable
set search_path = ''
as $$
declare
  today      constant date := private.today();
  year       constant int  := extract(year from today);
  held_until constant date := private.signed_until(connection);
begin
  return (
    select jsonb_agg(jsonb_build_object(
             'validity_years', n.years,
             'valid_from', coalesce(held_until + 1, make_date(year, 1, 1)),
             'valid_until', make_date(
               case when held_until is not null then extract(year from held_until)::int + n.years
                    -- what is signed shortly before the year ends would hold for weeks
                    when extract(month from today) >= 11 then greatest(year + n.years - 1, year + 1)
                    else year + n.years - 1 end, 12, 31)) order by n.years)
      from unnest(case when fixed_years is null then array[1, 3, 5] else array[fixed_years] end) as n (years));
end $$;
comment on function private.mandate_periods(uuid, int) is
  'What can be signed for today: [{validity_years, valid_from, valid_until}], the years that were fixed or each that can be chosen. A first mandate begins on 1 January of this year, and signed in November or December lasts the next year too; a renewal begins after what is signed. The connection may be null: nothing is signed for it.';
grant execute on function private.mandate_periods(uuid, int) to api_owner;

create function private.terms_of(connection uuid, brought_by uuid, out fee_pct numeric, out partner_share_pct numeric)
language sql stable security definer
set search_path = ''
as $$
  select p.default_fee_pct, p.partner_share_pct
    from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
    left join core.attributions t on t.user_id = a.user_id
    join core.partners p on p.id = coalesce(brought_by, t.partner_id, c.partner_id)
   where c.partner_id = private.partner_id() and c.id = connection
$$;
comment on function private.terms_of(uuid, uuid) is
  'The percentages a signature agrees to today: those of the partner who brings the person right now, or brought them before; of a CPO''s account those of its partner. Definer, because people are in the house and their partner is another tenant.';
grant execute on function private.terms_of(uuid, uuid) to api_owner;

create function private.end_mandate(connection uuid, new_status text, reason text) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.mandates m
     set status = new_status, ended_at = private.now(), ended_reason = reason
   where m.connection_id = connection and m.status = 'signed'
     and m.valid_until >= private.today();  -- one that ran out keeps covering its years, whether the job has noted its end or not
  perform private.judge_months(connection);
  perform private.notify(c.account_id, 'mandate_withdrawn', 'mandate_withdrawn:' || k.mandate_id,
                         jsonb_build_object('by', reason, 'covered_until', (
                           select max(m.covered_until) from core.mandates m
                            where m.partner_id = c.partner_id and m.connection_id = c.id and m.covered_until >= m.valid_from)), c.id)
     from core.connections c
     join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    where c.partner_id = private.partner_id() and c.id = connection;
  perform private.audit('mandate.' || new_status, connection, jsonb_build_object('reason', reason));
  perform private.emit('mandate.' || new_status, c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', new_status))
     from core.connections c
    -- a client that corrects a connection acknowledges that, and reads it in the answer
    where c.partner_id = private.partner_id() and c.id = connection and reason <> 'connection_updated';
  perform private.note_eligibility(c.partner_id, array[c.account_id])
     from core.connections c where c.partner_id = private.partner_id() and c.id = connection;
end $$;
comment on function private.end_mandate(uuid, text, text) is
  'Ends the signed mandate of a connection, and the one that was signed for the years after it; the months they covered are judged again, and the signatory is told. reason: customer, operator, connection_updated or connection_archived. A customer''s withdrawal leaves the whole months before it.';
grant execute on function private.end_mandate(uuid, text, text) to api_owner;

create function private.lapse_mandates(connection uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.mandates m set lapsed_at = private.now()
   where m.partner_id = private.partner_id() and m.connection_id = connection and m.covered_until is not null;
  if found then
    perform private.judge_months(connection);
  end if;
end $$;
comment on function private.lapse_mandates(uuid) is
  'EAN or address of a connection are others from now on: what was signed for those before covers none of its open months any more.';
grant execute on function private.lapse_mandates(uuid) to api_owner;

create function private.void_mandate_links(connection uuid) returns void
language sql
set search_path = ''
as $$
  update core.mandate_links l set voided_at = private.now()
   where l.partner_id = private.partner_id() and l.connection_id = connection and l.voided_at is null and l.used_at is null
$$;
grant execute on function private.void_mandate_links(uuid) to api_owner;

create function private.return_url_allowed(return_url text, registered text) returns boolean
language sql immutable
set search_path = ''
as $$
  select coalesce(
    starts_with(return_url, registered) and substr(return_url, length(registered) + 1, 1) in ('', '/', '?')
    and position('#' in return_url) = 0
    -- a browser resolves these, and would end up above the registered URL
    and split_part(return_url, '?', 1) !~* '[/\\](\.|%2e){2}([/\\]|$)', false)
$$;
comment on function private.return_url_allowed(text, text) is
  'Whether a return URL is the registered one followed by /, ? or nothing, without a fragment and not climbing out of it.';
grant execute on function private.return_url_allowed(text, text) to api_owner;
