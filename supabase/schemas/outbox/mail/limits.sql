-- How many mails an address gets in a day: strangers, partners and CPOs decide where they go. Production only, the
-- sandbox mails nobody.

-- The kind that counts a mail, by its cause: what anybody can have mailed to any address. Null for service mail, which
-- is never dropped.
create function private.counted_kind(cause text) returns text
language plpgsql immutable
as $$
declare
  matter constant text := split_part(cause, ':', 1);
begin
  return case when matter in ('claim', 'claim_resent') then 'invitation'
              when matter in ('mandate_link', 'mandate_code', 'claim_reminder', 'claim_sign_in', 'claim_code',
                              'sign_in_code', 'account_code',
                              'invitation_code', 'manager_invitation', 'contact_changed') then matter end;
end $$;

-- The planner writes the next two into the calling queries, so they have no regular expression: an import asks for five
-- hundred.

-- The mailbox of an address, for limits only. Tags make no other mailbox, nor dots (of Proton also - and _) if the
-- provider ignores them.
create function private.counted_address(email text) returns text
language sql immutable
-- the providers where most people are and where anybody makes addresses of one mailbox; elsewhere a+b may be somebody
-- else
return case
  when lower(split_part(email, '@', 2)) in ('gmail.com', 'googlemail.com')
      then replace(split_part(split_part(lower(email), '@', 1), '+', 1), '.', '') || '@gmail.com'
  when lower(split_part(email, '@', 2)) in ('proton.me', 'protonmail.com', 'pm.me')
      then translate(split_part(split_part(lower(email), '@', 1), '+', 1), '.-_', '') || '@proton.me'
  when lower(split_part(email, '@', 2)) in ('icloud.com', 'me.com', 'mac.com')
      then split_part(split_part(lower(email), '@', 1), '+', 1) || '@icloud.com'
  -- of any country
  when split_part(lower(split_part(email, '@', 2)), '.', 1) in ('outlook', 'hotmail', 'live', 'msn', 'fastmail')
    then split_part(split_part(lower(email), '@', 1), '+', 1) || '@' || split_part(lower(email), '@', 2)
  else lower(email) end;

-- The HMAC of an address, by which limits know it.
create function private.mail_subject(email text, key text) returns text
language sql immutable
return 'mail:' || encode(private.claim_mac('email:' || private.counted_address(email),
                                           (private.keys_for('mail', key))[1]), 'hex');

create function private.take_mails(subjects text[], kind text, whole_bucket text, kind_bucket text,
                                   dry boolean default false) returns setof bigint
language plpgsql security definer
as $$
declare
  today     constant date := private.today();
  most      constant int  := (select l.quota from core.rate_limits l where l.bucket = whole_bucket);
  most_kind constant int  := (select l.quota from core.rate_limits l where l.bucket = kind_bucket);
begin
  if dry then
    return query
    select a.place
      from (select u.subject, u.place, row_number() over (partition by u.subject order by u.place) as rank
              from unnest(subjects) with ordinality as u (subject, place)) a
      left join core.mail_counts c on c.subject = a.subject and c.day = today
     where a.rank <= least(most - coalesce(c.sent, 0), most_kind - coalesce((c.kinds ->> kind)::int, 0));
    return;
  end if;
  return query
  with asked as (
    select u.subject, u.place, row_number() over (partition by u.subject order by u.place) as rank
      from unnest(subjects) with ordinality as u (subject, place)
  ), taken as (
    insert into core.mail_counts as c (subject, day, sent, kinds, granted)
    select w.subject, today, w.fits, jsonb_build_object(kind, w.fits), w.fits
      from (select a.subject, least(count(*), most, most_kind)::int as fits from asked a group by a.subject) w
     -- in one order, so that two statements cannot wait for each other
     order by w.subject
    on conflict on constraint mail_counts_pkey do update
       set (sent, kinds, granted) = (
             select c.sent + g.fits, c.kinds || jsonb_build_object(kind, coalesce((c.kinds ->> kind)::int, 0) + g.fits),
                 g.fits
               from (select least(excluded.granted, most - c.sent,
                                  most_kind - coalesce((c.kinds ->> kind)::int, 0)) as fits) g)
     where c.sent < most and coalesce((c.kinds ->> kind)::int, 0) < most_kind
    returning c.subject, c.granted
  )
  select a.place from asked a join taken t on t.subject = a.subject where a.rank <= t.granted;
end $$;
comment on function private.take_mails(text[], text, text, text, boolean) is
  'Counts a mail of a kind for each of these subjects with room, and returns their places (from 1). whole_bucket '
  'limits all kinds, kind_bucket this kind. Of a subject that stands several times the first fit. dry counts nothing. '
  'Definer, because limits belong to no tenant.';

-- Counts a mail by address, an invitation also by partner, mail about a connection also by that. Returns the places
-- (from 1) that fit.
create function private.mails_that_fit(kind text, emails text[], key text, connection uuid default null,
                                       dry boolean default false) returns setof bigint
language plpgsql
as $$
declare
  places   bigint[] := array(select generate_series(1, cardinality(emails)));
  subjects text[];
begin
  if private.is_sandbox() then
    return query select unnest(places);
    return;
  end if;
  subjects := array(select private.mail_subject(e.email, key) from unnest(emails) with ordinality as e (email, place)
                    order by e.place);
  -- the narrower limit first: what it refuses uses up nothing of the address
  if kind = 'invitation' then
    places := array(select private.take_mails(array(select s.subject || '@' || private.partner_id()
                                                    from unnest(subjects) with ordinality as s (subject, place)
                                                    order by s.place),
                                              kind, 'draft_invitation', 'draft_invitation', dry) order by 1);
    if cardinality(places) < cardinality(subjects) then
      subjects := array(select s.subject from unnest(subjects) with ordinality as s (subject, place)
                        join unnest(places) p (place) on p.place = s.place order by s.place);
    end if;
  elsif connection is not null then
    if not exists (select from private.take_mails(array['connection:' || connection], kind, 'mail', 'mail_kind', dry))
        then
      return;
    end if;
  end if;
  return query
  select places[t.place]
    from private.take_mails(subjects, kind, 'mail', case kind when 'invitation' then 'draft_invitation_any'
                                                         else 'mail_kind' end, dry) as t (place);
end $$;

create function private.sign_in_mail(request jsonb) returns text
language plpgsql security definer
as $$
declare
  kind    constant text := 'sign_in_code';
  subject constant text := private.mail_subject(request ->> 'email', request #>> '{mail,key}');
  device  constant text := request ->> 'device_hash';
begin
  if private.is_sandbox() then
    return 'fits';
  elsif not exists (select
                    from private.take_mails(array[subject || '@' || coalesce(device, request ->> 'address_hash')], kind,
                                            'mail_place', 'mail_place'))
     or not exists (select
                    from private.take_mails(array[subject || case when device is null then '@strangers'
                                                                  else '@devices' end], kind, 'mail_kind',
                                                                  'mail_kind')) then
    return 'refused';
  end if;
  -- a browser that signed in before has codes apart from all other mail of the address. To a stranger nobody says that
  -- other mail used up the day: it would tell that we write to this address
  return case when device is not null
              or exists (select from private.take_mails(array[subject], kind, 'mail', 'mail_kind')) then 'fits'
              else 'dropped' end;
end $$;
comment on function private.sign_in_mail(jsonb) is
  'Counts a requested sign-in code, {email, address_hash, device_hash, mail}: fits, refused, or dropped without a '
  'word. A browser that signed in to this account before counts itself; others count by network and address, known or '
  'not. Definer, because limits belong to no tenant.';

-- Counts a code for a browser that proved the address apart from its other mail, so that no stranger keeps anybody from
-- withdrawing.
create function private.own_code_fits(kind text, address text, key text) returns boolean
language plpgsql
as $$
begin
  return private.is_sandbox()
      or exists (select from private.take_mails(array[private.mail_subject(address, key) || '@own'], kind,
                                                'mail_kind', 'mail_kind'));
end $$;

-- The state of a mail limit that is reached, until the next Dutch day, as private.rate_json.
create function private.mail_rate() returns jsonb
language sql stable
as $$
  select private.rate_json('mail', 1, 86400,
    (extract(epoch from private.dutch_midnight(private.today() + 1) - private.now()) * 1000000)::bigint, false)
$$;
