-- Mail that did not arrive: refused by the mail server, given up after its retries, or reported as bounced. The draft,
-- the mandate link and the customer say so, until a later mail is taken or they have another address.

-- Why a mail failed, by its enhanced status code (RFC 3463), or null.
create function private.mail_failure(code text) returns text
language sql immutable
return case when code in ('5.1.0', '5.1.1', '5.1.2', '5.1.3', '5.1.4', '5.1.6', '5.1.10', '5.4.4')
                 then 'unknown_address'
            when code = '5.2.2' then 'mailbox_full'
            -- a mail server that tried for days and stopped
            when code like '4.%' then 'given_up'
            else 'refused' end;

-- For whom a mail was: a draft that is no account yet, or an account, with the link or connection that it was about.
create function private.mail_reader(mail core.mail_outbox, out draft uuid, out tenant uuid, out account uuid,
                                    out link uuid, out connection uuid)
language plpgsql stable
as $$
declare
  about      constant text[] := string_to_array(mail.cause, ':');
  matter     constant text   := about[1];
  subject_id constant uuid   := private.as_uuid(about[2]);
begin
  if matter in ('mandate_link', 'mandate_code', 'mandate_signed') then
    select l.partner_id, l.id, l.connection_id, c.account_id into tenant, link, connection, account
      from core.mandate_links l
      join core.connections c on c.partner_id = l.partner_id and c.id = l.connection_id
     where l.partner_id = mail.partner_id and l.id = subject_id;
  elsif matter in ('notice', 'claim_notice') then
    select n.partner_id, n.account_id, n.connection_id into tenant, account, connection
      from core.notices n
     where n.partner_id = case matter when 'notice' then mail.partner_id else private.people_tenant() end
         and n.id = subject_id;
  elsif matter like 'claim%' then
    select d.id, d.account_id into draft, account
      from core.drafts d where d.partner_id = mail.partner_id and d.id = subject_id;
    tenant := case when account is not null then private.people_tenant() end;
  end if;
end $$;

-- Notes on draft, link and customer that mail to their address failed. Their events are written when it begins to fail.
create function private.note_failed_mail(mail core.mail_outbox, reason text) returns void
language plpgsql
as $$
declare
  reader record;
  draft  core.drafts;
  signer core.signatories;
begin
  reader := private.mail_reader(mail);
  if reader.account is null then
    select * into draft from core.drafts d where d.partner_id = mail.partner_id and d.id = reader.draft
        and d.email = mail.recipient;
    update core.drafts d set mail_failed_at = private.now(), mail_failed_reason = reason
     where d.partner_id = draft.partner_id and d.id = draft.id;
    if draft.id is not null and draft.mail_failed_at is null then
      perform private.append_event(draft.partner_id, draft.partner_id, 'draft.mail_failed', draft.id,
                                   jsonb_build_object('status', private.draft_status(draft), 'reason', reason));
    end if;
    return;
  end if;
  update core.mandate_links l set mail_failed_at = private.now(), mail_failed_reason = reason
   where l.partner_id = reader.tenant and l.id = reader.link and mail.cause like 'mandate_link:%';
  select * into signer from core.signatories s where s.partner_id = reader.tenant and s.account_id = reader.account
      and s.email = mail.recipient for no key update;
  update core.signatories s set mail_failed_at = private.now(), mail_failed_reason = reason
   where s.partner_id = signer.partner_id and s.account_id = signer.account_id;
  if signer.account_id is not null and signer.mail_failed_at is null then
    perform private.emit_of(reader.tenant, 'mandate.mail_failed', reader.account, reader.connection,
                            jsonb_build_object('connection_id', reader.connection, 'reason', reason));
  end if;
end $$;

-- Forgets that mail to this mail's reader failed.
create function private.note_taken_mail(mail core.mail_outbox) returns void
language plpgsql
as $$
declare
  reader record;
begin
  reader := private.mail_reader(mail);
  update core.drafts d set mail_failed_at = null, mail_failed_reason = null
   where d.partner_id = mail.partner_id and d.id = reader.draft and d.email = mail.recipient
       and d.mail_failed_at is not null;
  update core.mandate_links l set mail_failed_at = null, mail_failed_reason = null
   where l.partner_id = reader.tenant and l.id = reader.link and l.mail_failed_at is not null;
  update core.signatories s set mail_failed_at = null, mail_failed_reason = null
   where s.partner_id = reader.tenant and s.account_id = reader.account and s.email = mail.recipient
       and s.mail_failed_at is not null;
end $$;

-- Locks the draft of a mail, before the mail itself: a withdrawal locks them in this order.
create function private.lock_mails_draft(mail core.mail_outbox) returns void
language plpgsql
as $$
declare
  draft constant uuid := (private.mail_reader(mail)).draft;
begin
  perform from core.drafts d where d.partner_id = mail.partner_id and d.id = draft for no key update;
end $$;

-- Reads one report of a mail server: what became of it. failed: it changed something; known: it was told before;
-- temporary: it is tried again, or arrived; not_ours: we sent no such mail to this recipient.
create function private.read_report(report jsonb) returns text
language plpgsql
as $$
declare
  mail core.mail_outbox;
  each core.mail_outbox;
  recipients constant text[] := array(select lower(r) from jsonb_array_elements_text(report -> 'recipients') as r);
  code constant text := substring(report ->> 'status' from '^[245][.][0-9]{1,3}[.][0-9]{1,3}$');
begin
  select * into mail from core.mail_outbox m
   where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(report ->> 'mail')
       and m.status in ('sent', 'bounced') and m.recipient = any (recipients);
  if mail.id is null then
    return 'not_ours';
  elsif report ->> 'action' is distinct from 'failed' then
    return 'temporary';
  end if;
  perform private.lock_mails_draft(mail);
  update core.mail_outbox m set status = 'bounced', last_error = concat_ws(' ', 'bounced', code)
   where m.partner_id = mail.partner_id and m.id = mail.id and m.status = 'sent';
  if not found then
    return 'known';
  end if;
  -- what arrived since says that the address is good; else what bounced before this one, and waited for it, counts too
  for each in
    select * from core.mail_outbox m
     where m.recipient = mail.recipient and m.partner_id = mail.partner_id and m.status = 'bounced'
       and m.done_at <= mail.done_at and not exists (
         select from core.mail_outbox o
          where o.recipient = m.recipient and o.partner_id = m.partner_id and o.status = 'sent'
            and o.done_at > m.done_at)
     order by m.done_at, m.id
  loop
    perform private.note_failed_mail(each, private.mail_failure(substring(each.last_error from '[245][.][0-9.]+$')));
  end loop;
  perform private.set_tenant(mail.partner_id), private.audit('mail.bounced', mail.id);
  return 'failed';
end $$;

create function ops.mail_bounced(input jsonb) returns json
language plpgsql security definer
as $$
declare
  report   record;
  outcomes text[] := '{}';
begin
  perform private.act_as_operator(input);
  -- by their mail, so that two who read the same reports in another order do not wait for each other
  for report in
    select r.said, r.place from jsonb_array_elements(input -> 'reports') with ordinality as r (said, place)
     order by r.said ->> 'mail', r.place
  loop
    outcomes[report.place] := private.read_report(report.said);
  end loop;
  return json_build_object('outcomes', array_to_json(outcomes));
end $$;
comment on function ops.mail_bounced(jsonb) is
  'Reads delivery reports of mail servers: {reports: [{mail, recipients, action, status}]} to {outcomes}, one for each '
  'report, as private.read_report. mail is the id in the Message-ID that came back.';
