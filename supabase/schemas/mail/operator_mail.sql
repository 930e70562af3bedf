-- The operator on mail: list, show, send again.

create function private.mail_row(mail core.mail_outbox, subject text) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', mail.id,
    'partner_slug', (select p.slug from core.partners p where p.id = mail.partner_id),
    'created_at', private.iso(mail.created_at),
    'status', mail.status,
    'recipient', mail.recipient,
    'subject', subject,
    'template', mail.template,
    'attempts', mail.attempts,
    'last_error', mail.last_error,
    'done_at', private.iso(mail.done_at))
$$;

create function private.newest_mails(input jsonb, size int) returns setof core.mail_outbox
language plpgsql stable
set search_path = ''
as $$
declare
  partner uuid;
  wanted  constant text := lower(input ->> 'to');
begin
  if input ->> 'partner' is not null then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return query
    select * from core.mail_outbox m
     where (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted) and m.status <> 'nobody'
       and (coalesce((input ->> 'failed')::boolean, false) is false or m.status = 'failed' or m.status = 'queued' and m.last_error is not null)
     order by m.created_at desc, m.id desc limit size;
end $$;
comment on function private.newest_mails(jsonb, int) is 'The newest mails of {to?, partner?, failed?}: failed for good, or waiting after a failure.';

create function ops.mail_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  -- a code stands in front of its subject, for a phone to show; to read it takes mail_show, which leaves an audit row
  select json_build_object('mails', coalesce(json_agg(private.mail_row(m, regexp_replace(m.subject, '^\d{6}(?!\d)', '••••••'))
                                                      order by m.created_at desc, m.id desc), '[]'))
    from private.newest_mails(input, coalesce((input ->> 'limit')::int, 20)) m
$$;
comment on function ops.mail_list(jsonb) is
  'Mail that waits, was sent or was captured, newest first, without its text, and a code in its subject masked: {to?, partner?, failed?, limit?} to {mails}.';
select private.expose_ops('ops.mail_list(jsonb)');

create function ops.mail_show(input jsonb) returns json
language plpgsql security definer
set search_path = ''
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
  if mail.id is null then
    perform private.refuse('mail_not_found');
  end if;
  -- a mail may hold a code or a link that lets its reader act as the recipient
  perform private.act_for_partner(mail.partner_id), private.audit('mail.shown', mail.id);
  return json_build_object('mail', private.mail_row(mail, mail.subject), 'text', mail.text, 'links', mail.links);
end $$;
comment on function ops.mail_show(jsonb) is
  'One mail with its text and links: {id}, or the newest of {to?, partner?}, to {mail, text, links}. Leaves an audit row, for it reads what was meant for the recipient.';
select private.expose_ops('ops.mail_show(jsonb)');

create function ops.mail_resend(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  mail core.mail_outbox;
begin
  perform private.act_as_operator(input);
  select * into mail from core.mail_outbox m
   where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id') and m.status <> 'nobody' for update;
  if mail.id is null then
    perform private.refuse('mail_not_found');
  elsif mail.status in ('sent', 'captured') then
    -- what was sent is wiped, and on the sandbox nothing is sent
    perform private.refuse('mail_' || mail.status);
  elsif mail.template in ('mandate_code', 'claim_code', 'sign_in') and mail.created_at <= private.now() - interval '10 minutes' then
    perform private.refuse('mail_outdated');
  elsif mail.status = 'queued' and mail.next_attempt_at <= private.now() then
    return json_build_object('changed', false, 'mail', private.mail_row(mail, regexp_replace(mail.subject, '^\d{6}(?!\d)', '••••••')));
  end if;
  update core.mail_outbox m set status = 'queued', attempts = 0, next_attempt_at = private.now(), done_at = null
   where m.partner_id = mail.partner_id and m.id = mail.id
  returning * into mail;
  perform private.act_for_partner(mail.partner_id), private.audit('mail.resent', mail.id);
  return json_build_object('changed', true, 'mail', private.mail_row(mail, regexp_replace(mail.subject, '^\d{6}(?!\d)', '••••••')));
end $$;
comment on function ops.mail_resend(jsonb) is
  'Has a mail that failed, or waits after a failure, sent by the next run of the worker: {id} to {changed, mail}. Not what was sent, which is wiped, nor a code that no longer works.';
select private.expose_ops('ops.mail_resend(jsonb)');
