-- The drafts of a partner in its portal: the search, one of them, and its invitation once more.

-- How many drafts a page of the portal searches, of however many: five months of them at the cap.
create function private.drafts_examined() returns int
language sql immutable
return 5000;

-- A draft in the portal, as in GET /partner/drafts, without its link.
create function private.portal_draft(draft core.drafts) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'draft_id', draft.id, 'status', private.draft_status(draft), 'type', draft.type,
    'name', coalesce(draft.company_name, draft.contact_name, draft.name), 'email', draft.email, 'external_ref',
        draft.external_ref, 'city', draft.city,
    'ean_status', draft.ean_status, 'ean_candidates', jsonb_array_length(draft.ean_candidates),
    'created_at', private.iso(draft.created_at), 'invited_at', private.iso(draft.invited_at), 'claimed_at',
        private.iso(draft.claimed_at),
    'expires_at', private.iso(draft.expires_at), 'mail_failed_at', private.iso(draft.mail_failed_at),
    'mail_failed_reason', draft.mail_failed_reason)
$$;

-- Why a draft needs attention, or null. The first that holds of conflict, mail (it does not arrive), ean (none or
-- several at the address), expiring (within 14 days).
create function private.needs_attention(draft core.drafts) returns text
language sql stable
return case when draft.status = 'conflict' then 'conflict'
            when draft.mail_failed_at is not null and draft.status in ('invited', 'claimed')
                 and (draft.status = 'claimed' or draft.expires_at > private.now()) then 'mail'
            when draft.status in ('invited', 'claimed') and draft.ean_status in ('not_found', 'ambiguous')
                 and (draft.status = 'claimed' or draft.expires_at > private.now()) then 'ean'
            when draft.status = 'invited' and draft.expires_at > private.now()
                and draft.expires_at <= private.now() + interval '14 days' then 'expiring' end;

create function api.read_portal_drafts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  size  constant int  := (query ->> 'limit')::int;
  skip  constant int  := coalesce((query ->> 'skip')::int, 0);
  sort  constant text := query #>> '{for,sort}';
  typed constant text := lower(query #>> '{for,text}');
  named constant uuid[] := (select array_agg(n::uuid) from jsonb_array_elements_text(query #> '{for,ids}') n);
  last  core.drafts;
begin
  perform private.act_as(caller, 'partner');
  select * into last from core.drafts d where d.partner_id = private.partner_id() and d.id = (query ->> 'after')::uuid;
  return (
    with examined as (
      select d as draft, d.id, row_number() over newest as place, private.draft_status(d) as status
        from core.drafts d
       where d.partner_id = private.partner_id()
           and (last.id is null or (d.created_at, d.id) < (last.created_at, last.id))
         and (named is null or d.id = any (named))
      window newest as (order by d.created_at desc, d.id desc)
       order by d.created_at desc, d.id desc limit private.drafts_examined()
    ), alike as (
      select e.*, coalesce((e.draft).company_name, (e.draft).contact_name, (e.draft).name, (e.draft).email) as name
        from examined e
       where (query #>> '{for,needs}' is null or private.needs_attention(e.draft) = query #>> '{for,needs}')
         and (typed is null
              or strpos(lower(concat_ws(E'\n', (e.draft).name, (e.draft).company_name, (e.draft).contact_name,
                                        (e.draft).email,
                                                      (e.draft).external_ref, (e.draft).city)), typed) > 0)
    ), found as (
      select a.*, row_number() over (order by case sort when 'name' then lower(a.name) when 'status' then a.status
                                                   when 'city' then lower((a.draft).city) end,
                                              case when sort = 'until' and a.status = 'invited'
                                                   then (a.draft).expires_at end,
                                              case when sort = 'oldest' then -a.place end, a.place) as number
        from alike a where query #> '{for,status}' is null or query #> '{for,status}' ? a.status
    )
    select json_build_object(
      'who', private.portal_who(),
      'drafts', (select coalesce(json_agg(private.portal_draft(f.draft) order by f.number), '[]') from found f
                 where f.number > skip and f.number <= skip + size),
      'total', (select count(*) from found),
      'counts', (select coalesce(json_object_agg(c.status, c.drafts), '{}')
                 from (select a.status, count(*) as drafts from alike a group by a.status) c),
      'more_after', (select e.id from examined e where e.place = private.drafts_examined() and exists (
                       select from core.drafts d where d.partner_id = private.partner_id()
                           and (d.created_at, d.id) < ((e.draft).created_at, e.id)))));
end $$;
comment on function api.read_portal_drafts(jsonb, jsonb) is
  'A page of a partner''s newest drafts: {for: {text, status, needs, sort, ids}, after, skip, limit} to {who, '
  'drafts, total, counts, more_after}. needs as private.needs_attention; status is a list of them; sort is name, '
  'status, city, until or oldest, else the newest first. total and counts by status are of what was found among '
  'private.drafts_examined(). Send more_after as after to search older ones; null is the end.';

-- Whether a draft's customer may be mailed the invitation again: three times, each a day after the last. mail_limit:
-- private.mails_that_fit.
create function private.draft_mailing(draft core.drafts, key text) returns jsonb
language plpgsql stable
as $$
declare
  mails record;
begin
  -- by their whole causes, which an index has; a mail is kept 90 days
  select max(m.created_at) as last_at, count(*) filter (where m.cause like 'claim_resent:%') as by_hand into mails
    from core.mail_outbox m
   where m.partner_id = draft.partner_id
     and m.cause = any (array['claim:' || draft.id] || array(select k.kind || draft.id || ':' || n
                                                               from unnest(array['claim_reminder:',
                                                                   'claim_resent:']) k (kind),
                                                                   generate_series(1, 3) n));
  return jsonb_build_object(
    'state', case when private.draft_status(draft) not in ('invited', 'claimed') then 'not_claimable'
                  when private.opted_out(draft.email, key) then 'opted_out'
                  when mails.by_hand >= 3 then 'enough'
                  when mails.last_at > private.now() - interval '1 day' then 'too_soon'
                  when not exists (select from private.mails_that_fit('invitation', array[draft.email], key,
                                                                      dry => true)) then 'mail_limit'
                  else 'may' end,
    'last_at', private.iso(mails.last_at),
    'again_at', private.iso(mails.last_at + interval '1 day'),
    'by_hand', mails.by_hand);
end $$;

-- A draft of the tenant of this transaction. Refused with draft_not_found if there is none.
create function private.own_partners_draft(draft_id uuid) returns core.drafts
language plpgsql
as $$
declare
  draft core.drafts;
begin
  select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = draft_id;
  perform private.refuse_if('draft_not_found', draft.id is null);
  return draft;
end $$;

create function api.read_portal_draft(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  links constant jsonb := query -> 'links';
  draft core.drafts;
begin
  perform private.act_as(caller, 'partner');
  draft := private.own_partners_draft((query ->> 'draft_id')::uuid);
  return json_build_object(
    'who', private.portal_who(),
    'draft', private.portal_draft(draft),
    'mailing', private.draft_mailing(draft, links ->> 'key'),
    'claim_url', case when (query ->> 'with_link')::boolean and private.draft_status(draft) in ('invited', 'claimed')
                      then private.claim_url(draft.id, links) end,
    'customer_ref', (select private.customer_ref(a.user_id, private.customer_key(a.partner_id, links ->> 'key'))
                       from core.attributions a where a.partner_id = draft.partner_id and a.user_id = draft.user_id
                           and draft.status = 'active'));
end $$;
comment on function api.read_portal_draft(jsonb, jsonb) is
  'One draft of a partner: {draft_id, with_link, links} to {who, draft, mailing, claim_url, customer_ref}. The link '
  'comes only if it is asked for and works. Refused with draft_not_found.';

create function private.invite_again(named uuid, links jsonb) returns text
language plpgsql
as $$
declare
  draft   core.drafts;
  mailing jsonb;
  dropped bigint;
begin
  -- of two clicks the second finds the mail of the first
  perform from core.drafts d where d.partner_id = private.partner_id() and d.id = named for no key update;
  draft := private.own_partners_draft(named);
  mailing := private.draft_mailing(draft, links ->> 'key');
  if mailing ->> 'state' = 'may' then
    dropped := private.enqueue_mails(jsonb_build_object('template', 'claim',
                                                        'locale', coalesce(draft.locale, (private.own_partner()).locale,
                                                                           'nl'), 'key', links -> 'key'),
                                                                           jsonb_build_array(jsonb_build_object(
      'recipient', draft.email, 'cause', 'claim_resent:' || draft.id || ':' || (mailing ->> 'by_hand')::int + 1,
      'content', private.letter_content(draft, private.partner_brand(private.own_partner()), links))));
    -- another partner may have been faster
    if dropped > 0 then
      return 'mail_limit';
    end if;
    update core.drafts d set invited_at = coalesce(d.invited_at, private.now()) where d.partner_id = draft.partner_id
        and d.id = draft.id;
    perform private.audit('draft.invited_again', draft.id);
  end if;
  return mailing ->> 'state';
end $$;
comment on function private.invite_again(uuid, jsonb) is
  'Mails a draft''s customer the invitation once more; the state of private.draft_mailing, "may" if it was sent. '
  'Refused with draft_not_found.';

create function api.invite_draft_again(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('state', private.invite_again((input ->> 'draft_id')::uuid, input -> 'links'));
end $$;
comment on function api.invite_draft_again(jsonb, jsonb) is
  'private.invite_again on the pages of a partner: {draft_id, links} to {state}. Refused with draft_not_found.';

create function private.own_drafts(named jsonb) returns setof uuid
language sql
as $$
  -- in one order, so that two who do it at once wait for each other; the second finds what is left
  select d.id from core.drafts d
   where d.partner_id = private.partner_id() and d.id in (select n::uuid from jsonb_array_elements_text(named) n)
       order by d.id for update
$$;
comment on function private.own_drafts(jsonb) is 'Those of the named drafts that the tenant has, locked.';

create function api.invite_drafts_again(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return (select json_build_object('sent', count(*) filter (where i.state = 'may'),
                                   'not_sent', count(*) filter (where i.state <> 'may'))
            from (select private.invite_again(d, input -> 'links') as state
                  from private.own_drafts(input -> 'draft_ids') d) i);
end $$;
comment on function api.invite_drafts_again(jsonb, jsonb) is
  'Mails the customers of up to 50 drafts the invitation once more, those whom private.draft_mailing lets: {draft_ids, '
  'links} to {sent, not_sent}.';

create function api.withdraw_drafts(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return (select json_build_object('withdrawn', count(*) filter (where w.state = 'withdrawn'),
                                   'kept', count(*) filter (where w.state <> 'withdrawn'))
            from (select private.withdraw(d) as state from private.own_drafts(input -> 'draft_ids') d) w);
end $$;
comment on function api.withdraw_drafts(jsonb, jsonb) is
  'Withdraws up to 50 drafts: {draft_ids} to {withdrawn, kept}. Drafts that became customers are kept.';
