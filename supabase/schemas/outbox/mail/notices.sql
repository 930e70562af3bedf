-- Notices: what a customer is told after signing. Written in the transaction of the change; the worker makes a mail of
-- each.

-- Has a customer of this tenant told by mail, once for a cause. A customer without an e-mail address is not told.
create function private.notify(account uuid, kind text, cause text, details jsonb default '{}',
                               connection uuid default null) returns void
language sql
as $$
  insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
  select a.partner_id, a.id, a.owner_id, connection, notify.kind, notify.cause, notify.details
    from core.accounts a where a.partner_id = private.partner_id() and a.id = account
  on conflict on constraint notices_cause_key do nothing
$$;

-- Which of iban and charger a customer has yet to give.
create function private.still_missing(account core.accounts) returns text[]
language sql stable
as $$
  select array_remove(array[
    case when account.iban_last4 is null then 'iban' end,
    -- one whose meter is still to be judged is for us to see to
    case when not exists (select from core.chargers h
                           where h.partner_id = account.partner_id and h.account_id = account.id and h.status = 'active'
                             and h.mid_eligible is distinct from false) then 'charger' end], null)
$$;

-- What a notice says now. Null if nothing is left to say: the missing thing was given, or the mandate was renewed or
-- ended.
create function private.notice_details(notice core.notices) returns jsonb
language plpgsql stable
as $$
declare
  missing text[];
begin
  if notice.kind = 'something_missing' then
    select private.still_missing(a) into missing from core.accounts a where a.partner_id = notice.partner_id
        and a.id = notice.account_id;
    return case when cardinality(missing) > 0 then jsonb_build_object('missing', missing) end;
  elsif notice.kind = 'payout_iban_changed' and not notice.details ? 'iban_last4' then
    return (select jsonb_build_object('iban_last4', a.iban_last4) from core.accounts a
            where a.partner_id = notice.partner_id and a.id = notice.account_id);
  elsif notice.kind = 'mandate_ending'
      and private.signed_until(notice.connection_id) is distinct from (notice.details ->> 'valid_until')::date
     or notice.kind = 'mandate_ended' and private.signed_until(notice.connection_id) is not null then
    return null;
  end if;
  return notice.details;
end $$;

-- What a mail about a notice is composed of; null if there is nothing to say, or nobody to tell.
create function private.notice_post(notice core.notices) returns jsonb
language plpgsql stable
as $$
declare
  details constant jsonb := private.notice_details(notice);
begin
  return (
    select jsonb_build_object(
             'partner_id', notice.partner_id,
             'notice_id', notice.id,
             'notice', details || jsonb_build_object('kind', notice.kind),
             'locale', coalesce(
               (select m.locale from core.mandates m join core.connections c on c.partner_id = m.partner_id
                and c.id = m.connection_id
                 where c.partner_id = a.partner_id and c.account_id = a.id and m.locale is not null
                     order by m.created_at desc limit 1),
               d.locale, p.locale, 'nl'),
             'full_name', s.full_name,
             'partner_name', p.name,
             -- a person is spoken to in the name of who brought them, a CPO's customer in the service's own
             'brand', case when t.user_id is not null then private.partner_brand(p) end,
             'account', case when a.user_id is null then 'cpo' else 'own' end,
             'draft_id', d.id,
             'may_sign_in', case when not private.notice_of_money(notice.kind) then false
                                 when a.user_id is not null then private.login_stands(a.user_id)
                                     else private.signs(s.email) end,
             'may_sign', notice.kind in ('mandate_ending', 'mandate_ended')
                 and private.may_sign_again(notice.connection_id))
      from core.accounts a
      join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id and s.email is not null
      left join lateral (
        select d.* from core.drafts d where d.user_id = a.user_id and d.account_id = a.id
            and d.status = 'active' limit 1) d on true
      left join core.attributions t on t.partner_id = d.partner_id and t.user_id = d.user_id
      join core.partners p on p.id = coalesce(t.partner_id, a.partner_id)
     where a.partner_id = notice.partner_id and a.id = notice.account_id and details is not null);
end $$;

create function private.due_notices(size int) returns jsonb
language plpgsql security definer
as $$
declare
  notice core.notices;
  post   jsonb;
  posts  jsonb := '[]';
begin
  for notice in
    update core.notices n set due_at = private.now() + interval '5 minutes'
     where (n.partner_id, n.id) in (
       select d.partner_id, d.id from core.notices d where d.due_at <= private.now()
         order by d.due_at limit size for update skip locked)
    returning *
  loop
    perform private.set_tenant(notice.partner_id);
    post := private.notice_post(notice);
    if post is null then
      update core.notices n set due_at = null where n.partner_id = notice.partner_id and n.id = notice.id;
    else
      posts := posts || post;
    end if;
  end loop;
  return posts;
end $$;
comment on function private.due_notices(int) is
  'The next notices to mail, each leased for five minutes. Definer: every tenant at once, and a person''s draft is in '
  'its partner''s tenant.';

create function api.due_notices(caller jsonb, batch jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.due_notices((batch ->> 'size')::int)::json; $$;
comment on function api.due_notices(jsonb, jsonb) is
  'The next notices to mail: {size} to [{partner_id, notice_id, notice, locale, full_name, partner_name, brand, '
  'account, draft_id, may_sign_in, may_sign}].';
grant execute on function api.due_notices(jsonb, jsonb) to edge_slow;

create function private.mail_notice(post jsonb) returns boolean
language plpgsql security definer
as $$
declare
  notice core.notices;
  email  text;
begin
  -- a reset has accounts while it waits for their chargers; the notice is due again in five minutes
  perform from core.notices n join core.accounts a on a.partner_id = n.partner_id and a.id = n.account_id
    where n.partner_id = (post ->> 'partner_id')::uuid and n.id = (post ->> 'notice_id')::uuid
      for key share of a skip locked;
  if not found then
    return false;
  end if;
  update core.notices n set due_at = null
   where n.partner_id = (post ->> 'partner_id')::uuid and n.id = (post ->> 'notice_id')::uuid and n.due_at is not null
  returning * into notice;
  if notice.id is null then
    return false;  -- another worker was quicker
  end if;
  perform private.set_tenant(notice.partner_id);
  if post ->> 'token_hash' is not null then
    perform private.issue_renewal_link(notice.connection_id, post ->> 'token_hash', greatest(
      private.now() + interval '1209600 seconds',
      -- until the January after it: who signs then loses no month
      private.dutch_midnight(make_date(extract(year from (notice.details ->> 'valid_until')::date)::int + 1, 2, 1))),
      mailed => true);
  end if;
  select s.email into email from core.signatories s where s.partner_id = notice.partner_id
      and s.account_id = notice.account_id;
  if post ->> 'draft_id' is not null then
    -- beside the other mail of the claim, which its partner sees on the sandbox
    perform private.set_tenant((private.draft_by_id((post ->> 'draft_id')::uuid)).partner_id);
  end if;
  perform private.enqueue_mail(post -> 'mail', email, case when post ->> 'draft_id' is null then 'notice:'
                                                           else 'claim_notice:' end || notice.id)
    where email is not null;
  return true;
end $$;
comment on function private.mail_notice(jsonb) is
  'Puts the mail of a notice in the outbox, once. With token_hash it has a link to sign by. Definer: every tenant at '
  'once.';

create function api.mail_notices(caller jsonb, posts jsonb) returns json
language sql security definer
as $$
  select private.act_as(caller, 'worker');
  select json_build_object('mailed', (
    select count(*) filter (where private.mail_notice(p.post)) from jsonb_array_elements(posts) as p (post)));
$$;
comment on function api.mail_notices(jsonb, jsonb) is
  'Mails due notices: [{partner_id, notice_id, draft_id, token_hash, mail}] to {mailed}. token_hash is of the mail''s '
  'link to sign by, or null.';
grant execute on function api.mail_notices(jsonb, jsonb) to edge_slow;
