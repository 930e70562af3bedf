-- The mail outbox: written in the transaction of what it is about, sent by the worker.

create function private.escape_html(value text) returns text
language sql immutable parallel safe
begin atomic
  select replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
end;
grant execute on function private.escape_html(text) to api_owner;

-- One mail goes to hundreds. Its marks are looked for once: {{name}} becomes %1$s, and format() fills the rest in for each letter.

create function private.mark_names(template text) returns text[]
language plpgsql immutable
set search_path = ''
as $$ begin return array(select distinct m[1] from regexp_matches(template, '{{(\w+)}}', 'g') as m); end $$;
comment on function private.mark_names(text) is 'The names of the marks {{name}} in a template.';
grant execute on function private.mark_names(text) to api_owner;

create function private.as_format(template text, names text[]) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  pattern text := replace(template, '%', '%%');
begin
  for place in 1 .. cardinality(names) loop
    pattern := replace(pattern, '{{' || names[place] || '}}', '%' || place || '$s');
  end loop;
  return pattern;
end $$;
comment on function private.as_format(text, text[]) is 'A template as format() reads it: the mark of each name stands for the argument of its place.';
grant execute on function private.as_format(text, text[]) to api_owner;

create function private.mark_values(names text[], fields jsonb) returns table (plain text[], escaped text[])
language sql immutable
begin atomic
  select array_agg(v.value order by n.place), array_agg(private.escape_html(v.value) order by n.place)
    from unnest(names) with ordinality as n (name, place)
    cross join lateral (
      select case when fields ? n.name then replace(coalesce(fields ->> n.name, ''), '{{', '{ {') else '{{' || n.name || '}}' end as value offset 0) v;
end;
comment on function private.mark_values(text[], jsonb) is
  'The fields of these names, as format() puts them where their marks were, as they are and for HTML. A mark inside a field stays text; a mark without a field stays.';
grant execute on function private.mark_values(text[], jsonb) to api_owner;

create function private.head_of(sender jsonb) returns text
language sql stable
begin atomic
  select coalesce((
    select replace(replace(replace(sender ->> 'logo', '{{logo_hash}}', encode(l.hash, 'hex')), '{{logo_width}}', l.width::text), '{{logo_height}}', l.height::text)
      from core.partner_logos l where l.partner_id = private.partner_id() and l.replaced_at is null), private.escape_html(sender ->> 'name'));
end;
comment on function private.head_of(jsonb) is
  'How a mail of this tenant names its sender in HTML, {logo, name}: the logo, filled in, where there is one.';
grant execute on function private.head_of(jsonb) to api_owner;

create function private.enqueue_mails(mail jsonb, letters jsonb) returns bigint
language plpgsql
set search_path = ''
as $$
declare
  template constant text    := case when mail ? 'sender' then replace(mail ->> 'html', '{{sender}}', private.head_of(mail -> 'sender')) else mail ->> 'html' end;
  names    constant text[]  := private.mark_names(concat_ws(' ', mail ->> 'subject', template, mail ->> 'text', mail ->> 'links'));
  subject  constant text    := private.as_format(mail ->> 'subject', names);
  html     constant text    := private.as_format(template, names);
  body     constant text    := private.as_format(mail ->> 'text', names);
  links    constant text[]  := array(select private.as_format(l.link, names) from jsonb_array_elements_text(mail -> 'links') with ordinality as l (link, place) order by l.place);
  captured constant boolean := private.is_sandbox();
  kind     constant text    := private.counted_kind(letters #>> '{0,cause}');
  fits     bigint[];
begin
  if kind is not null and letters #> '{0,counted}' is null then
    fits := array(select private.mails_that_fit(kind, array(select l.letter ->> 'recipient' from jsonb_array_elements(letters) with ordinality as l (letter, place) order by l.place),
                                                mail ->> 'key', (letters #>> '{0,connection}')::uuid));
  end if;
  insert into core.mail_outbox
    (partner_id, cause, template, locale, recipient, subject, html, text, links, reply_to, unsubscribe_url, status, done_at)
  select private.partner_id(), case when d.dropped then l.cause || ':dropped:' || gen_random_uuid() else l.cause end,
         mail ->> 'template', mail ->> 'locale', l.recipient,
         -- the subject of a code begins with it
         case when d.dropped then '' else format(subject, variadic v.plain) end,
         case when d.dropped then '' else format(html, variadic v.escaped) end,
         case when d.dropped then '' else format(body, variadic v.plain) end,
         case when d.dropped then '{}' else array(select format(link, variadic v.plain) from unnest(links) as link) end,
         l.fields ->> 'reply_to', l.fields ->> 'unsubscribe_url',
         case when l.to_nobody then 'nobody' when d.dropped then 'dropped' when captured then 'captured' else 'queued' end,
         case when l.to_nobody or d.dropped or captured then private.now() end
    from rows from (jsonb_to_recordset(letters) as (recipient text, cause text, fields jsonb, to_nobody boolean, counted boolean))
         with ordinality as l (recipient, cause, fields, to_nobody, counted, place)
    cross join lateral (select not coalesce(l.counted, l.place = any (fits), true) as dropped offset 0) as d
    cross join lateral (select l.fields || coalesce(mail -> 'defaults', '{}') || jsonb_strip_nulls(l.fields) as marks offset 0) as m
    cross join private.mark_values(names, m.marks) as v
  on conflict on constraint mail_outbox_cause_key do nothing;
  if found and not captured then
    perform private.kick();
  end if;
  return (select count(*) from rows from (jsonb_to_recordset(letters) as (counted boolean)) with ordinality as l (counted, place) where not coalesce(l.counted, l.place = any (fits), true));
end $$;
comment on function private.enqueue_mails(jsonb, jsonb) is
  'enqueue_mail for many: one composed mail, and letters of one kind [{recipient, cause, fields, to_nobody, connection, counted}]; its defaults stand in for fields that are null; {{sender}} in its HTML is what private.head_of makes of its sender. The fields reply_to and unsubscribe_url also become the mail''s headers. What does not fit the limits of its address, by private.mails_that_fit, is dropped, and how many were is returned. counted says that the caller has asked, and whether it fits.';
grant execute on function private.enqueue_mails(jsonb, jsonb) to api_owner;

create function private.enqueue_mail(
  mail jsonb, recipient text, cause text, fields jsonb default '{}', to_nobody boolean default false, connection uuid default null, counted boolean default null
) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  return private.enqueue_mails(mail, jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('connection', connection, 'counted', counted))
    || jsonb_build_object('recipient', recipient, 'cause', cause, 'to_nobody', to_nobody,
                          'fields', fields || jsonb_strip_nulls(jsonb_build_object('reply_to', mail -> 'reply_to'))))) = 0;
end $$;
comment on function private.enqueue_mail(jsonb, text, text, jsonb, boolean, uuid, boolean) is
  'Puts a composed mail {template, locale, subject, html, text, links, defaults, sender, reply_to, key} in the outbox. {{name}} marks are filled from fields: what only the database knows when the mail is composed. '
  'to_nobody does the same work for a mail that is never sent; connection is the one that the mail is about, by which it is counted too. False where a limit dropped it.';
grant execute on function private.enqueue_mail(jsonb, text, text, jsonb, boolean, uuid, boolean) to api_owner;

create function api.claim_mail(caller jsonb, batch jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.claim_mail((batch ->> 'size')::int);
end $$;
comment on function api.claim_mail(jsonb, jsonb) is
  'The next mails to send: {size} to [{partner_id, id, recipient, subject, html, text}]. Each is claimed for five minutes, then offered again.';
select private.expose('api.claim_mail(jsonb, jsonb)', 'edge_slow');

create function private.claim_mail(size int) returns json
language sql security definer
set search_path = ''
as $$
  with claimed as (
    update core.mail_outbox m
       set attempts = m.attempts + 1, next_attempt_at = private.now() + interval '5 minutes'
     where (m.partner_id, m.id) in (
       select q.partner_id, q.id from core.mail_outbox q
        where q.status = 'queued' and q.next_attempt_at <= private.now()
          -- what a deactivated partner invites to opens nothing, and waits until it is active again; what was signed stays told
          and (q.template not in ('claim', 'reminder', 'sign_in', 'mandate_link', 'manager_invitation')
               or q.partner_id in (select p.id from core.partners p where p.is_active))
        order by q.next_attempt_at limit size for update skip locked)
    returning m.*)
  select coalesce(json_agg(json_build_object('partner_id', partner_id, 'id', id, 'recipient', recipient, 'subject', subject,
                                             'html', html, 'text', text, 'reply_to', reply_to, 'unsubscribe_url', unsubscribe_url)
                           order by created_at), '[]')
    from claimed
$$;
comment on function private.claim_mail(int) is 'Definer: the worker sends the mail of every tenant.';
grant execute on function private.claim_mail(int) to api_owner;

create function private.count_waiting_mail() returns json
language sql stable security definer
set search_path = ''
as $$ select json_build_object('waiting', count(*)) from core.mail_outbox where status = 'queued' $$;
comment on function private.count_waiting_mail() is 'Definer: the worker sends the mail of every tenant.';
grant execute on function private.count_waiting_mail() to api_owner;

create function api.count_waiting_mail(caller jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.count_waiting_mail();
end $$;
comment on function api.count_waiting_mail(jsonb) is 'How many mails wait to be sent, as {waiting}: for a worker that has no mail server, so that it can say so.';
select private.expose('api.count_waiting_mail(jsonb)', 'edge_slow');

create function private.masked(subject text) returns text
language sql immutable
return regexp_replace(subject, '^\d{6}(?!\d)', '••••••');
comment on function private.masked(text) is 'A subject without the code in front of it, which stands there for a phone to show.';

create function private.settle_mail(tenant uuid, mail uuid, failure text, permanent boolean) returns void
language sql security definer
set search_path = ''
as $$
  update core.mail_outbox m
     set status = case when failure is null then 'sent' when permanent or m.attempts >= 12 then 'failed' else 'queued' end,
         done_at = case when failure is null or permanent or m.attempts >= 12 then private.now() end,
         last_error = left(failure, 200),
         -- 1, 2, 4 … 256 minutes: a mail server may be down for most of a day
         next_attempt_at = private.now() + make_interval(mins => (2 ^ least(m.attempts - 1, 8))::int),
         subject = case when failure is null then private.masked(m.subject) else m.subject end,
         html = case when failure is null then '' else m.html end,
         text = case when failure is null then '' else m.text end,
         links = case when failure is null then '{}' else m.links end,
         unsubscribe_url = case when failure is not null then m.unsubscribe_url end
   where m.partner_id = tenant and m.id = mail and m.status = 'queued'
$$;
comment on function private.settle_mail(uuid, uuid, text, boolean) is
  'Wipes what was sent, the code in its subject too: it held live links and codes. Definer: the worker sends the mail of every tenant.';
grant execute on function private.settle_mail(uuid, uuid, text, boolean) to api_owner;

create function api.settle_mail(caller jsonb, results jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  perform private.settle_mail(r.partner_id, r.id, r.failure, coalesce(r.permanent, false))
     from jsonb_to_recordset(results) as r (partner_id uuid, id uuid, failure text, permanent boolean);
  return json_build_object('ok', true);
end $$;
comment on function api.settle_mail(jsonb, jsonb) is
  'What became of claimed mails: [{partner_id, id, failure, permanent}], failure null when sent. A temporary one is tried again with back-off, twelve times over 17 hours.';
select private.expose('api.settle_mail(jsonb, jsonb)', 'edge_slow');
