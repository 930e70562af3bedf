-- The scheduled work on drafts: reminders, expiry, purge.

-- Deletes drafts that were claimed 180 days ago and never signed, with their waiting mail. Only definers call it: every
-- tenant at once.
create function private.forget_claimed_drafts(size int) returns int
language plpgsql
as $$
declare
  draft   core.drafts;
  deleted int := 0;
begin
  for draft in
    select * from core.drafts d
     where d.status = 'claimed' and d.claimed_at <= private.now() - interval '180 days'
     order by d.partner_id, d.id limit size for update skip locked
  loop
    delete from core.mail_outbox m where m.partner_id = draft.partner_id and m.status = 'queued'
        and m.cause like 'claim%:' || draft.id || '%';
    delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
    perform private.release_customer(draft.user_id, draft.partner_id);
    insert into core.audit_log (actor, action, partner_id, subject_id, details)
    values ('worker', 'draft.deleted', draft.partner_id, draft.id, jsonb_build_object('status', draft.status));
    deleted := deleted + 1;
  end loop;
  return deleted;
end $$;

create function private.expire_drafts(out expired bigint, out purged bigint)
language plpgsql security definer
as $$
begin
  with ended as (
    update core.drafts d set status = 'expired', progress = '{}'
     where d.status = 'invited' and d.expires_at <= private.now() returning d.partner_id, d.id
  ), announced as (
    insert into core.events (partner_id, owner_id, type, subject_id, data)
    select e.partner_id, e.partner_id, 'draft.expired', e.id, '{"status": "expired"}' from ended e
  ), dropped as (
    delete from core.mail_outbox m using ended e
     where m.partner_id = e.partner_id and m.status = 'queued' and m.cause like 'claim%:' || e.id || '%')
  select count(*) into expired from ended;
  with ended as (
    delete from core.drafts d where d.status in ('expired', 'conflict')
        and d.expires_at <= private.now() - interval '30 days'
    returning d.partner_id, d.id, d.status
  ), noted as (
    insert into core.audit_log (actor, action, partner_id, subject_id, details)
    select 'worker', 'draft.deleted', e.partner_id, e.id, jsonb_build_object('status', e.status) from ended e
    returning 1)
  select count(*) + private.forget_claimed_drafts(1000) into purged from noted;
  delete from core.draft_uploads u where u.at <= private.now() - interval '31 days';
  delete from core.imports i where i.expires_at <= private.now();
end $$;
comment on function private.expire_drafts() is
  'Notes expiry, and drops the mail that waits. Deletes drafts 30 days after they expired or conflicted, and unsigned '
  'ones 180 days after their claim. Deletes uploads that the rolling cap no longer counts, and expired import files. '
  'Definer: every tenant at once.';

create function private.remind_drafts(links jsonb, size int) returns bigint
language plpgsql security definer
as $$
declare
  post     record;
  reminded bigint := 0;
begin
  for post in
    with due as (
      -- where several reminders are due, one mail is sent for all of them
      update core.drafts d
         set reminders_sent = (select count(*) from unnest(array[3, 10, 30]) as r (day)
                               where d.created_at + make_interval(days => r.day) <= private.now())
       where d.id in (
         select w.id from core.drafts w
          where w.status = 'invited' and w.send_invite and w.reminders_sent < 3 and w.expires_at > private.now()
            and w.created_at + make_interval(days => (array[3, 10, 30])[w.reminders_sent + 1]) <= private.now()
            -- those of a deactivated partner stay due
            and w.partner_id in (select p.id from core.partners p where p.is_active)
          order by w.created_at limit size for update skip locked)
      returning d as draft
    ), wanted as (
      select due.draft, row_number() over () as n from due
       where not private.opted_out((due.draft).email, links ->> 'key')
    ), fits as (
      -- of all partners at once: counted in one order, so that two statements cannot wait for each other
      select f.n from private.mails_that_fit('claim_reminder', array(select (w.draft).email from wanted w order by w.n),
                                             links ->> 'key') f (n)
    )
    select p.id as partner_id, coalesce((w.draft).locale, p.locale, 'nl') as locale,
           jsonb_agg(jsonb_build_object('recipient', (w.draft).email, 'cause', 'claim_reminder:' || (w.draft).id || ':'
                                        || (w.draft).reminders_sent,
             'counted', w.n in (select f.n from fits f), 'content',
                 private.letter_content(w.draft, private.partner_brand(p), links))) as letters
      from wanted w join core.partners p on p.id = (w.draft).partner_id
     group by p.id, 2
  loop
    perform private.set_tenant(post.partner_id),
        private.enqueue_mails(jsonb_build_object('template', 'reminder', 'locale', post.locale), post.letters);
    reminded := reminded + jsonb_array_length(post.letters);
  end loop;
  return reminded;
end $$;
comment on function private.remind_drafts(jsonb, int) is
  'Writes the reminders of day 3, 10 and 30 to invited customers who have neither claimed nor opted out. Definer: '
  'every tenant at once.';

create function api.run_draft_jobs(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  ended record;
begin
  perform private.act_as(caller, 'worker');
  select * into ended from private.expire_drafts();
  return json_build_object('expired', ended.expired, 'purged', ended.purged,
                           'reminded', private.remind_drafts(input -> 'links', (input ->> 'size')::int));
end $$;
comment on function api.run_draft_jobs(jsonb, jsonb) is
  'Runs all due work on drafts: {links, size} to counts. Safe to call at any time, from several callers at once.';
grant execute on function api.run_draft_jobs(jsonb, jsonb) to edge_slow;
