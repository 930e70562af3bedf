begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.invite_draft_again (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('state', private.invite_again((input ->> 'draft_id')::uuid, input -> 'links'));
end $function$;

CREATE OR REPLACE FUNCTION api.invite_drafts_again (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner');
  return (select json_build_object('sent', count(*) filter (where i.state = 'may'), 'not_sent', count(*) filter (where i.state <> 'may'))
            from (select private.invite_again(d, input -> 'links') as state from private.own_drafts(input -> 'draft_ids') d) i);
end $function$;

ALTER FUNCTION "api"."invite_drafts_again"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.read_portal_drafts (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  size  constant int  := (query ->> 'limit')::int;
  skip  constant int  := (query ->> 'skip')::int;
  sort  constant text := query #>> '{for,sort}';
  typed constant text := lower(query #>> '{for,text}');
  last  core.drafts;
begin
  perform private.act_as(caller, 'partner');
  select * into last from core.drafts d where d.partner_id = private.partner_id() and d.id = (query ->> 'after')::uuid;
  return (
    with examined as materialized (
      select d as draft, d.id, row_number() over newest as place, private.draft_status(d) as status
        from core.drafts d
       where d.partner_id = private.partner_id() and (last.id is null or (d.created_at, d.id) < (last.created_at, last.id))
      window newest as (order by d.created_at desc, d.id desc)
       order by d.created_at desc, d.id desc limit private.drafts_examined()
    ), alike as materialized (
      select e.*, coalesce((e.draft).company_name, (e.draft).contact_name, (e.draft).name, (e.draft).email) as name
        from examined e
       where (query #>> '{for,needs}' is null or private.needs_attention(e.draft) = query #>> '{for,needs}')
         and (typed is null or strpos(lower(concat_ws(E'\n', (e.draft).name, (e.draft).company_name, (e.draft).contact_name, (e.draft).email,
                                                      (e.draft).external_ref, (e.draft).city)), typed) > 0)
    ), found as (
      select a.*, row_number() over (order by case sort when 'name' then lower(a.name) when 'status' then a.status when 'city' then lower((a.draft).city) end,
                                              case when sort = 'until' and a.status = 'invited' then (a.draft).expires_at end,
                                              case when sort = 'oldest' then -a.place end, a.place) as number
        from alike a where query #>> '{for,status}' is null or a.status = query #>> '{for,status}'
    )
    select json_build_object(
      'who', private.portal_who(),
      'drafts', (select coalesce(json_agg(private.portal_draft(f.draft) order by f.number), '[]') from found f where f.number > skip and f.number <= skip + size),
      'total', (select count(*) from found),
      'counts', (select coalesce(json_object_agg(c.status, c.drafts), '{}') from (select a.status, count(*) as drafts from alike a group by a.status) c),
      'more_after', (select e.id from examined e where e.place = private.drafts_examined())));
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_start (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner core.partners;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  return json_build_object(
    'who', private.portal_who(),
    'figures', private.partner_figures(partner),
    'payouts', private.partner_payouts(partner.id),
    'attention', json_build_object(
      'drafts', private.drafts_in_need(),
      'customers', private.customers_in_need(partner, private.is_partner_itself(), query ->> 'key'),
      'webhooks', (select json_build_object('disabled', count(*) filter (where e.status = 'disabled'),
                                            'failing', count(*) filter (where e.status = 'enabled' and e.failing_since is not null))
                     from core.webhook_endpoints e where e.partner_id = partner.id and e.owner_id = partner.id),
      'account_missing', partner.iban_ciphertext is null,
      'invoices_need', private.why_no_invoice(partner),
      'cap', private.draft_cap(),
      'cap_left', greatest(private.draft_cap() - private.drafts_made(), 0)));
end $function$;

CREATE OR REPLACE FUNCTION api.withdraw_draft (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  became text;
begin
  perform private.act_as(caller, 'partner');
  became := private.withdraw((input ->> 'draft_id')::uuid);
  perform private.refuse_if('draft_not_found', became = 'draft_not_found', json_build_object('code', became));
  perform private.refuse_if('draft_active', became = 'draft_active', json_build_object('code', became));
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.withdraw_drafts (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner');
  return (select json_build_object('withdrawn', count(*) filter (where w.state = 'withdrawn'), 'kept', count(*) filter (where w.state <> 'withdrawn'))
            from (select private.withdraw(d) as state from private.own_drafts(input -> 'draft_ids') d) w);
end $function$;

ALTER FUNCTION "api"."withdraw_drafts"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION private.invite_again (
  named uuid,
  links jsonb
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
    dropped := private.enqueue_mails(jsonb_build_object('template', 'claim', 'locale', coalesce(draft.locale, (private.own_partner()).locale, 'nl'), 'key', links -> 'key'), jsonb_build_array(jsonb_build_object(
      'recipient', draft.email, 'cause', 'claim_resent:' || draft.id || ':' || (mailing ->> 'by_hand')::int + 1,
      'content', private.letter_content(draft, private.partner_brand(private.own_partner()), links))));
    -- another partner may have been faster
    if dropped > 0 then
      return 'mail_limit';
    end if;
    update core.drafts d set invited_at = coalesce(d.invited_at, private.now()) where d.partner_id = draft.partner_id and d.id = draft.id;
    perform private.audit('draft.invited_again', draft.id);
  end if;
  return mailing ->> 'state';
end $function$;

CREATE OR REPLACE FUNCTION private.own_drafts (
  named jsonb
)
  RETURNS SETOF uuid
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  -- in one order, so that two who do it at once wait for each other
  select d.id from core.drafts d
   where d.partner_id = private.partner_id() and d.id in (select n::uuid from jsonb_array_elements_text(named) n) order by d.id
$function$;

CREATE OR REPLACE FUNCTION private.withdraw (
  named uuid
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts;
begin
  -- waits for a claim under way, and sees what came of it
  select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = named for update;
  if draft.id is null then
    return 'draft_not_found';
  elsif draft.status = 'active' then
    return 'draft_active';
  end if;
  delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.release_customer(draft.user_id, draft.partner_id), private.drop_waiting_mail(draft.id);
  perform private.audit('draft.withdrawn', draft.id, jsonb_build_object('status', private.draft_status(draft)));
  return 'withdrawn';
end $function$;

COMMENT ON FUNCTION "api"."invite_draft_again"(jsonb, jsonb) IS 'private.invite_again on the pages of a partner: {draft_id, links} to {state}. Refused with draft_not_found.';

COMMENT ON FUNCTION "api"."invite_drafts_again"(jsonb, jsonb) IS 'Mails the customers of up to 50 drafts the invitation once more, those whom private.draft_mailing lets: {draft_ids, links} to {sent, not_sent}.';

COMMENT ON FUNCTION "api"."read_portal_drafts"(jsonb, jsonb) IS 'A page of a partner''s newest drafts: {for: {text, status, needs, sort}, after, skip, limit} to {who, drafts, total, counts, more_after}. needs as private.needs_attention; sort is name, status, city, until or oldest, else the newest first. total and counts by status are of what was found among private.drafts_examined(). Send more_after as after to search older ones; null is the end.';

COMMENT ON FUNCTION "api"."read_portal_start"(jsonb, jsonb) IS 'What the people who manage a partner see first: {key} to {who, figures, payouts, attention}, figures as GET /partner/dashboard, payouts as GET /partner/payouts. attention is {drafts, customers, webhooks, account_missing, invoices_need, cap, cap_left} of what is newest.';

COMMENT ON FUNCTION "api"."withdraw_draft"(jsonb, jsonb) IS 'POST /partner/drafts/withdraw: {draft_id}. Refused with draft_not_found, draft_active.';

COMMENT ON FUNCTION "api"."withdraw_drafts"(jsonb, jsonb) IS 'Withdraws up to 50 drafts, those that did not become customers: {draft_ids} to {withdrawn, kept}.';

COMMENT ON FUNCTION "private"."invite_again"(uuid, jsonb) IS 'Mails a draft''s customer the invitation once more; the state of private.draft_mailing, "may" if it was sent. Refused with draft_not_found.';

COMMENT ON FUNCTION "private"."own_drafts"(jsonb) IS 'Those of the named drafts that the tenant has.';

COMMENT ON FUNCTION "private"."withdraw"(uuid) IS 'Deletes a draft, its links and its waiting mail, and unlinks a login it made. An audit row without personal data stays. Returns withdrawn, draft_not_found or draft_active.';

REVOKE ALL ON FUNCTION "api"."invite_drafts_again"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."invite_drafts_again"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."invite_drafts_again"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."invite_drafts_again"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."withdraw_drafts"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."withdraw_drafts"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."withdraw_drafts"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."withdraw_drafts"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "private"."invite_again"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."invite_again"(uuid, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."invite_again"(uuid, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."invite_again"(uuid, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."own_drafts"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_drafts"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_drafts"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_drafts"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."withdraw"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."withdraw"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."withdraw"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."withdraw"(uuid) TO "postgres";

commit;
