-- The operator on mail: list, show, send again.

create function private.mail_row(mail core.mail_outbox) returns json
language sql stable
as $$
  select json_build_object(
    'id', mail.id,
    'partner_slug', (select p.slug from core.partners p where p.id = mail.partner_id),
    'created_at', private.iso(mail.created_at),
    'status', mail.status,
    'recipient', mail.recipient,
    'template', mail.template,
    'attempts', mail.attempts,
    'last_error', mail.last_error,
    'done_at', private.iso(mail.done_at))
$$;

-- The newest mails of {to?, partner?, failed?}. failed: mail that is not tried again, or waits after a failure.
create function private.newest_mails(input jsonb, size int) returns setof core.mail_outbox
language plpgsql stable
as $$
declare
  partner constant uuid    := private.chosen_partner(input);
  wanted  constant text    := lower(input ->> 'to');
  failed  constant boolean := coalesce((input ->> 'failed')::boolean, false);
begin
  return query
    select * from core.mail_outbox m
     where (not failed or m.status in ('failed', 'bounced') or m.status = 'queued' and m.last_error is not null)
         and m.status <> 'nobody'
       and (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted)
     order by m.created_at desc, m.id desc limit size;
end $$;

create function ops.mail_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('mails', coalesce(json_agg(private.mail_row(m) order by m.created_at desc, m.id desc), '[]'))
    from private.newest_mails(input, coalesce((input ->> 'limit')::int, 20)) m
$$;
comment on function ops.mail_list(jsonb) is
  'Mail, newest first, without its content: {to?, partner?, failed?, limit?} to {mails}. It waits, was sent, was '
  'captured or was dropped: by a limit of its address, or because its reader opted out or can no longer use it.';

create function ops.mail_show(input jsonb) returns json
language plpgsql security definer
as $$
declare
  mail core.mail_outbox;
begin
  perform private.act_as_operator(input);
  if input ->> 'id' is null then
    select * into mail from private.newest_mails(input, 1);
  else
    -- the key begins with the tenant; naming every tenant lets it serve
    select * into mail from core.mail_outbox m
     where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id');
  end if;
  perform private.refuse_if('mail_not_found', mail.id is null);
  -- a mail may hold a code or a link that lets its reader act as the recipient
  perform private.set_tenant(mail.partner_id), private.audit('mail.shown', mail.id);
  return json_build_object('mail', private.mail_row(mail), 'locale', mail.locale, 'content', mail.content);
end $$;
comment on function ops.mail_show(jsonb) is
  'One mail and what it is about: {id}, or the newest of {to?, partner?}, to {mail, locale, content}. It shows what '
  'was meant for the recipient, so it leaves an audit row.';

-- Whether a mail is still of use: its code or link works, and what it asks for is still missing. Mail that only tells
-- something always is.
create function private.still_opens(mail core.mail_outbox) returns boolean
language plpgsql stable
as $$
declare
  about      constant text[] := string_to_array(mail.cause, ':');
  matter     constant text   := about[1];
  subject_id constant uuid   := private.as_uuid(about[2]);
  link       core.mandate_links;
  draft      core.drafts;
  notice     core.notices;
begin
  perform private.set_tenant(mail.partner_id);
  if matter in ('mandate_link', 'mandate_code') then
    select * into link from core.mandate_links l where l.partner_id = mail.partner_id and l.id = subject_id;
    return private.link_state(link) = 'open'
        and mail.recipient = (private.connection_facts(link.connection_id) ->> 'email')
       and (matter = 'mandate_link' or private.code_works('mandate:' || link.id, about[3]));
  elsif matter in ('claim', 'claim_reminder', 'claim_sign_in', 'claim_code') then
    select * into draft from core.drafts d where d.partner_id = mail.partner_id and d.id = subject_id;
    return draft.email = mail.recipient and private.draft_status(draft) in ('invited', 'claimed', 'active')
        and case matter
      when 'claim_code' then private.code_works('claim:' || draft.id, about[3])
      when 'claim_sign_in' then exists (
        select from core.draft_links l
         where l.partner_id = mail.partner_id and l.id = private.as_uuid(about[3]) and l.used_at is null
             and l.expires_at > private.now())
      -- who came needs no invitation any more, and of reminders the newest says it
      else private.draft_status(draft) = 'invited' and (matter = 'claim' or draft.reminders_sent::text = about[3]) end;
  elsif matter = 'sign_in_code' then
    return private.code_works('browser:' || about[2]);
  elsif matter in ('notice', 'claim_notice') then
    select * into notice from core.notices n
     where n.partner_id = case matter when 'notice' then mail.partner_id else private.people_tenant() end
         and n.id = subject_id;
    perform private.set_tenant(notice.partner_id);
    return private.notice_details(notice) is not null and not exists (
      -- of the mails about a mandate that ends, one to a CPO's customer has a link to sign by in it
      select from jsonb_array_elements_text(coalesce(mail.content -> 'links',
                                                     jsonb_build_array(mail.content #>> '{reader,link}'))) as l (url)
       cross join lateral private.link_by_token(encode(sha256(convert_to(regexp_replace(l.url, '^.*/', ''), 'UTF8')),
                                                       'hex')) as k
       where private.link_state(k) not in ('unknown', 'open'));
  end if;
  return true;
end $$;

-- Has the worker send a mail again: resent, or waits if it goes by itself. Refuses useless mail. look changes nothing.
create function private.resend(mail core.mail_outbox, look boolean) returns text
language plpgsql
as $$
declare
  partner core.partners;
begin
  perform private.refuse_if('mail_sent', mail.status = 'sent', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_bounced', mail.status = 'bounced', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_captured', mail.status = 'captured', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_dropped', mail.status = 'dropped', json_build_object('mail', mail.id));
  select * into partner from core.partners p where p.id = mail.partner_id;
  if mail.template in ('claim', 'reminder', 'sign_in', 'mandate_link') and not partner.is_active then
    perform private.refuse('mail_of_inactive_partner', json_build_object('mail', mail.id, 'partner', partner.slug));
  -- its reader opted out by its unsubscribe link, which has the hash of the address; who did by a newer one is found
  -- when it is sent
  elsif exists (select from core.suppressions s
                 where s.email_hash = decode((regexp_match(mail.content ->> 'unsubscribe_url',
                                                           '/([0-9a-f]{64})-[^/]*$'))[1], 'hex')) then
    perform private.refuse('mail_unwanted', json_build_object('mail', mail.id));
  elsif private.still_opens(mail) is not true then
    perform private.refuse('mail_outdated', json_build_object('mail', mail.id));
  elsif mail.status = 'queued' and mail.next_attempt_at <= private.now() + interval '5 minutes' then
    -- it goes by itself, or a worker has it in hand, which claims it for five minutes: it must not be sent twice
    return 'waits';
  elsif not look then
    update core.mail_outbox m set status = 'queued', attempts = 0, next_attempt_at = private.now(), done_at = null
     where m.partner_id = mail.partner_id and m.id = mail.id;
    perform private.set_tenant(mail.partner_id), private.audit('mail.resent', mail.id);
  end if;
  return 'resent';
end $$;

create function ops.mail_resend(input jsonb) returns json
language plpgsql security definer
as $$
declare
  mail    core.mail_outbox;
  outcome text;
begin
  perform private.act_as_operator(input);
  select * into mail from core.mail_outbox m
   where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id')
       and m.status <> 'nobody' for update;
  perform private.refuse_if('mail_not_found', mail.id is null, json_build_object('mail', input ->> 'id'));
  outcome := private.resend(mail, false);
  select * into mail from core.mail_outbox m where m.partner_id = mail.partner_id and m.id = mail.id;
  return json_build_object('changed', outcome = 'resent', 'mail', private.mail_row(mail));
end $$;
comment on function ops.mail_resend(jsonb) is
  'Has the worker''s next run send a mail that failed, or waits long after a failure: {id} to {changed, mail}. Refuses '
  'mail that was sent or dropped, because its content is gone. Refuses mail that its reader can no longer use, or '
  'opted out of.';

create function ops.mail_resend_failed(input jsonb) returns json
language plpgsql security definer
as $$
declare
  look     constant boolean     := coalesce((input ->> 'look')::boolean, false);
  partner  constant uuid        := private.chosen_partner(input);
  since    constant timestamptz := coalesce(private.dutch_midnight(private.as_day(input ->> 'since')),
                                            private.as_moment(input ->> 'since'));
  mail     core.mail_outbox;
  outcome  text;
  outcomes jsonb := '{}';
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('invalid_since', input ? 'since' and since is null);
  for mail in
    select * from core.mail_outbox m
     -- as the index has them; what came back has no text any more
     where (m.status in ('failed', 'bounced') or m.status = 'queued' and m.last_error is not null)
       and m.status <> 'bounced' and (since is null or m.created_at >= since)
       and (partner is null or m.partner_id = partner)
     order by m.created_at desc, m.id desc for update skip locked
  loop
    begin
      outcome := private.resend(mail, look);
    exception when sqlstate 'RULES' then outcome := sqlerrm;
    end;
    outcomes := outcomes || jsonb_build_object(outcome, coalesce((outcomes ->> outcome)::int, 0) + 1);
  end loop;
  return json_build_object('outcomes', (
    select coalesce(json_agg(json_build_object('outcome', o.key, 'mails', o.value) order by o.key), '[]')
      from jsonb_each(outcomes) o));
end $$;
comment on function ops.mail_resend_failed(jsonb) is
  'Has the worker send again what failed since a day or moment: {since?, partner?, look?} to {outcomes: [{outcome, '
  'mails}]}, as private.resend. Mail that was refused as of no use stays as it is. look: counts, and changes nothing.';
