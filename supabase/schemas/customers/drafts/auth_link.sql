-- POST /partner/drafts/auth-link.

create function api.issue_auth_link(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  draft      core.drafts;
  status     text;
  customer   record;
  registered text;
  target     text;
  link       uuid;
  wanted     boolean;
  email_sent boolean := false;
begin
  perform private.act_as(caller, 'partner');
  -- of several drafts the newest that can be claimed; parallel calls for one draft queue here, so that one link is left
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id()
     and (input ->> 'draft_id' is null or d.id = (input ->> 'draft_id')::uuid)
     and (input ->> 'email' is null or d.email = input ->> 'email')
   order by private.draft_status(d) in ('invited', 'claimed') desc, d.created_at desc, d.id limit 1
     for no key update;
  perform private.refuse_if('draft_not_found', draft.id is null);
  select p.return_url into registered from core.partners p where p.id = draft.partner_id;
  target := coalesce(input ->> 'return_url', registered);
  perform private.refuse_if('return_url_not_allowed', input ->> 'return_url' is not null
                            and not private.return_url_allowed(target, registered));
  status := private.draft_status(draft);
  select * into customer from private.draft_login(draft);
  perform private.refuse_if('draft_not_claimable', status in ('expired', 'conflict') or status = 'active'
                            and not customer.empty, json_build_object(
    'status', status, 'reason', case status when 'active' then 'already_active' else status end));
  update core.draft_links l set expires_at = private.now()
   where l.partner_id = draft.partner_id and l.draft_id = draft.id and l.used_at is null
       and l.expires_at > private.now();
  insert into core.draft_links (partner_id, draft_id, token_hash, return_url, expires_at)
  values (draft.partner_id, draft.id, private.reserve_token_hash(input ->> 'token_hash'), target,
          private.now() + interval '300 seconds')
  returning id into link;
  wanted := (input ->> 'send_email')::boolean and not private.opted_out(draft.email, input #>> '{links,key}');
  if wanted then
    email_sent := 0 = private.enqueue_mails(jsonb_build_object('template', 'sign_in',
                                                               'locale', coalesce(draft.locale,
                                                               (private.own_partner()).locale, 'nl'),
                                                                 'content', jsonb_build_object('link',
                                                                     input -> 'auth_url'), 'key',
                                                                     input #> '{links,key}'), (
      select jsonb_build_array(jsonb_build_object('recipient', draft.email, 'cause', 'claim_sign_in:' || draft.id
                                                  || ':' || link,
               'content', private.letter_content(draft, private.partner_brand(p), input -> 'links')))
        from core.partners p where p.id = draft.partner_id));
  end if;
  perform private.audit('draft.auth_link_issued', draft.id);
  return json_build_object('ok', true, 'auth_url', input ->> 'auth_url', 'expires_in', 300,
                           'resume', customer.user_id is not null, 'return_url', target, 'email_sent', email_sent,
                               'mail_limit', wanted and not email_sent);
end $$;
comment on function api.issue_auth_link(jsonb, jsonb) is
  'POST /partner/drafts/auth-link: {draft_id, email, return_url, token_hash, auth_url, send_email, links}. A newer '
  'link voids the older. With send_email the customer gets it by mail, unless they opted out or reached today''s limit '
  '(mail_limit).';
