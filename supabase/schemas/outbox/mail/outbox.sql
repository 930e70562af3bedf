-- The mail outbox: a mail is stored in the transaction of the change. The worker writes its text and sends it.

-- enqueue_mail for many: letters of one kind. Drops mail over the limits of its address, unless counted says that it
-- fits; returns how many.
create function private.enqueue_mails(mail jsonb, letters jsonb) returns bigint
language plpgsql
as $$
declare
  about    constant jsonb   := coalesce(mail -> 'content', '{}');
  captured constant boolean := private.is_sandbox();
  kind     constant text    := private.counted_kind(letters #>> '{0,cause}');
  fits     bigint[];
begin
  if kind is not null and letters #> '{0,counted}' is null then
    fits := array(select private.mails_that_fit(kind,
                                                array(select l.letter ->> 'recipient'
                                                      from jsonb_array_elements(letters) with ordinality as l (letter,
                                                      place) order by l.place),
                                                mail ->> 'key', (letters #>> '{0,connection}')::uuid));
  end if;
  insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status, done_at)
  select private.partner_id(), case when d.dropped then l.cause || ':dropped:' || gen_random_uuid() else l.cause end,
         mail ->> 'template', mail ->> 'locale', l.recipient,
         case when d.dropped then '{}' else about || l.content end,
         case when l.to_nobody then 'nobody' when d.dropped then 'dropped' when captured then 'captured'
              else 'queued' end,
         case when l.to_nobody or d.dropped or captured then private.now() end
    from rows from (jsonb_to_recordset(letters) as (recipient text, cause text, content jsonb, to_nobody boolean,
                                                    counted boolean))
         with ordinality as l (recipient, cause, content, to_nobody, counted, place)
    cross join lateral (select not coalesce(l.counted, l.place = any (fits), true) as dropped) as d
  on conflict on constraint mail_outbox_cause_key do nothing;
  perform private.kick() where found and not captured;
  return (select count(*) from rows
          from (jsonb_to_recordset(letters) as (counted boolean)) with ordinality as l (counted, place)
          where not coalesce(l.counted, l.place = any (fits), true));
end $$;

-- Puts a mail {template, locale, content, key} in the outbox. key hashes the recipient for limits. to_nobody does the
-- same work for a mail that is never sent. connection counts the mail too. False if a limit dropped it.
create function private.enqueue_mail(
  mail jsonb, recipient text, cause text, content jsonb default '{}', to_nobody boolean default false,
      connection uuid default null, counted boolean default null
) returns boolean
language plpgsql
as $$
begin
  return private.enqueue_mails(mail,
                               jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('connection', connection,
                               'counted', counted))
    || jsonb_build_object('recipient', recipient, 'cause', cause, 'to_nobody', to_nobody, 'content', content))) = 0;
end $$;

create function api.lease_mail(caller jsonb, batch jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.lease_mail((batch ->> 'size')::int, batch ->> 'key'); $$;
comment on function api.lease_mail(jsonb, jsonb) is
  'The next mails to send: {size, key} to [{partner_id, id, recipient, template, locale, content}]. Each is leased for '
  'five minutes, then offered again. Mail that its reader opted out of since, or whose link or code is of no use any '
  'more, is dropped.';
grant execute on function api.lease_mail(jsonb, jsonb) to edge_slow;

create function private.lease_mail(size int, key text) returns json
language sql security definer
as $$
  with due as (
    select q.partner_id, q.id, key is not null and q.content ->> 'unsubscribe_url' is not null
        and private.opted_out(q.recipient, key)
             or private.still_opens(q) is not true as unwanted
      from core.mail_outbox q
     where q.status = 'queued' and q.next_attempt_at <= private.now()
       -- what a deactivated partner invites to opens nothing, and waits until it is active again; what was signed stays
       -- told
       and (q.template not in ('claim', 'reminder', 'sign_in', 'mandate_link', 'manager_invitation')
            or q.partner_id in (select p.id from core.partners p where p.is_active))
     order by q.next_attempt_at limit size for update skip locked
  ), dropped as (
    update core.mail_outbox m set status = 'dropped', done_at = private.now(), content = '{}'
      from due d where d.unwanted and m.partner_id = d.partner_id and m.id = d.id
  ), leased as (
    update core.mail_outbox m set attempts = m.attempts + 1, next_attempt_at = private.now() + interval '5 minutes'
      from due d where not d.unwanted and m.partner_id = d.partner_id and m.id = d.id
    returning m.*)
  select coalesce(json_agg(json_build_object('partner_id', partner_id, 'id', id, 'recipient', recipient,
                                             'template', template, 'locale', locale, 'content', content)
                                                 order by created_at), '[]')
    from leased
$$;
comment on function private.lease_mail(int, text) is 'Definer: the worker sends the mail of every tenant.';

create function private.count_waiting_mail() returns json
language sql stable security definer
as $$ select json_build_object('waiting', count(*)) from core.mail_outbox where status = 'queued' $$;
comment on function private.count_waiting_mail() is 'Definer: the worker sends the mail of every tenant.';

create function api.read_waiting_mail(caller jsonb) returns json
language sql stable security definer
as $$ select private.act_as(caller, 'worker'); select private.count_waiting_mail(); $$;
comment on function api.read_waiting_mail(jsonb) is
  'How many mails wait to be sent, as {waiting}, for a worker without a mail server to report.';
grant execute on function api.read_waiting_mail(jsonb) to edge_slow;

create function private.settle_mail(tenant uuid, mail uuid, failure text, permanent boolean, code text) returns void
language plpgsql security definer
as $$
declare
  settled core.mail_outbox;
begin
  select * into settled from core.mail_outbox m where m.partner_id = tenant and m.id = mail;
  perform private.lock_mails_draft(settled);
  update core.mail_outbox m
     set status = case when failure is null then 'sent' when permanent or m.attempts >= 12 then 'failed'
                       else 'queued' end,
         done_at = case when failure is null or permanent or m.attempts >= 12 then private.now() end,
         last_error = left(failure, 200),
         -- 1, 2, 4 … 256 minutes: a mail server may be down for most of a day
         next_attempt_at = private.now() + make_interval(mins => (2 ^ least(m.attempts - 1, 8))::int),
         content = case when failure is null then '{}' else m.content end
   where m.partner_id = tenant and m.id = mail and m.status = 'queued'
  returning * into settled;
  if settled.status = 'sent' then
    perform private.note_taken_mail(settled);
  elsif settled.status = 'failed' then
    perform private.note_failed_mail(settled, case when permanent then private.mail_failure(code) else 'given_up' end);
  end if;
end $$;
comment on function private.settle_mail(uuid, uuid, text, boolean, text) is
  'Stores the result of a mail, and deletes what was sent: it held live links and codes. Definer: the worker sends the '
  'mail of every tenant.';

create function api.settle_mail(caller jsonb, results jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'worker');
  perform private.settle_mail(r.partner_id, r.id, r.failure, coalesce(r.permanent, false), r.code)
     from jsonb_to_recordset(results) as r (partner_id uuid, id uuid, failure text, permanent boolean, code text);
  return json_build_object('ok', true);
end $$;
comment on function api.settle_mail(jsonb, jsonb) is
  'The results of leased mails: [{partner_id, id, failure, permanent, code}], failure null when sent. A temporary '
  'one is tried again with back-off, twelve times over 17 hours. code is the enhanced status code of a refusal.';
grant execute on function api.settle_mail(jsonb, jsonb) to edge_slow;
