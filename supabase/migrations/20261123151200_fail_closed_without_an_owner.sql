begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.send_sign_in_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  rate      jsonb;
  counted   text;
  login     uuid;
  signatory boolean;
  stranger  boolean;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.count_sign_in(request, array['sign_in_code'], 'sign_in_mail');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_codes', json_build_object('rate', rate));  -- what was counted stays
  end if;
  counted := private.sign_in_mail(request);
  if counted = 'refused' then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_sign_in_code(request);
  -- a code is mail that nobody owns; nothing else of the house is read here
  perform private.act_for_partner(private.house()), set_config('app.breadth', 'tenant', true);
  -- the same look-ups and the same rows either way: how long the answer takes must not tell whose address it is
  login := private.login_at(request ->> 'email');
  signatory := private.signs(request ->> 'email');
  stranger := private.code_opens(request ->> 'email', true);
  perform private.enqueue_mail(request -> 'mail', request ->> 'email', 'sign_in_code:' || (request ->> 'token_hash'),
                               to_nobody => login is null and not (signatory and (request ->> 'signatories')::boolean is true)
                                            and not (stranger and (request ->> 'strangers')::boolean is true),
                               counted => counted = 'fits');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION private.act_as (
  caller   jsonb,
  VARIADIC kinds text[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  admitted jsonb := caller;
  kind     text;
  client   text;
  person   text;
  ignored  text;
begin
  if caller ? 'credential' then
    admitted := private.admit(caller);
  -- compared here, which takes a third of calling who knows what to say of it
  elsif caller ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(caller ->> 'host');
  end if;
  kind := admitted ->> 'kind';
  if kind = any (kinds) is not true then
    raise exception 'caller kind % may not run this function', coalesce(kind, 'none')
      using errcode = 'insufficient_privilege';
  end if;
  client := coalesce(admitted ->> 'client_id', '');
  person := coalesce(admitted ->> 'user_id', '');
  -- assignments, because plpgsql evaluates these by themselves: a perform of the same goes through the executor
  ignored := set_config('app.caller_kind', kind, true);
  ignored := set_config('app.partner_id',  coalesce(admitted ->> 'partner_id', ''), true);
  ignored := set_config('app.client_id',   client, true);
  ignored := set_config('app.user_id',     person, true);
  -- an application that acts for a person, or for a partner, owns nothing: what it reaches is what they do
  ignored := set_config('app.owner_id',    case when kind = 'cpo' then client else person end, true);
  -- whoever comes by a link sees all of a tenant only from private.act_for_tenant on
  ignored := set_config('app.breadth',     case when kind in ('partner', 'worker') then 'tenant' else '' end, true);
  ignored := set_config('app.manager_id',  coalesce(admitted ->> 'manager_id', ''), true);
  ignored := set_config('app.signatory',   coalesce(admitted ->> 'signatory', ''), true);
  ignored := set_config('app.signed_in_at', coalesce(admitted ->> 'signed_in_at', ''), true);
  ignored := set_config('app.request_id',  coalesce(caller ->> 'request_id', ''), true);
end $function$;

CREATE OR REPLACE FUNCTION private.act_for_person (
  partner uuid,
  person  uuid
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  select private.act_for_partner(partner), set_config('app.user_id', coalesce(person::text, ''), true),
         set_config('app.owner_id', coalesce(person::text, ''), true), set_config('app.breadth', '', true)
$function$;

CREATE OR REPLACE FUNCTION private.act_for_tenant (
  partner uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.act_for_partner(partner), set_config('app.breadth', case when partner = private.house() then '' else 'tenant' end, true);
end $function$;

CREATE OR REPLACE FUNCTION private.enter_draft (
  draft_id uuid,
  lock     boolean
)
  RETURNS core.drafts
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts := private.draft_by_id(draft_id);
begin
  -- nobody claims for a partner that was deactivated; what a customer has signed stays theirs to see and to change
  if draft.status in ('invited', 'claimed') and private.active_partner(draft.partner_id) is null or not private.claimant_stands(draft) then
    draft := null;
  end if;
  perform private.act_for_tenant(draft.partner_id);
  if current_setting('app.caller_kind') = 'sandbox' then
    perform private.only_in_sandbox();
  else
    perform set_config('app.caller_kind', 'customer', true);
  end if;
  if lock then
    select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = draft_id for update;
  end if;
  return draft;
end $function$;

CREATE OR REPLACE FUNCTION private.enter_link (
  caller  jsonb,
  request jsonb
)
  RETURNS core.mandate_links
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  link core.mandate_links;
begin
  perform private.act_as(caller, 'anyone');
  link := private.link_by_token(request ->> 'token_hash');
  perform private.act_for_tenant(link.partner_id), set_config('app.caller_kind', 'signatory', true);
  return link;
end $function$;

CREATE OR REPLACE FUNCTION private.enter_signed_account (
  account uuid
)
  RETURNS core.accounts
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  signed core.accounts;
begin
  select * into signed from private.signed_accounts(private.signatory()) a where a.id = account;
  if signed.id is null then
    perform private.refuse('account_not_found');
  end if;
  perform private.act_for_person(signed.partner_id, null), private.act_for_tenant(signed.partner_id), set_config('app.caller_kind', 'signatory', true);
  return signed;
end $function$;

CREATE OR REPLACE FUNCTION private.keep_to_owner (
  tenant_table regclass,
  owner_column name     DEFAULT 'owner_id'::name
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  execute format('create policy "an owner reaches only their own rows" on %1$s as restrictive to api_owner '
                 -- Where the reach is null every row is like itself. As a sub-select, because it is asked of every row, and once, because each
                 -- costs a plan of its own. A case, of which the planner expects half the rows: of a comparison it would expect one
                 -- in two hundred, and join ten thousand with nested loops.
                 'using (case when coalesce((select private.reach()), %2$I) is not distinct from %2$I then true else false end)',
                 tenant_table, owner_column);
end $function$;

CREATE OR REPLACE FUNCTION api.open_invitation (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  entered record;
begin
  perform private.act_as(caller, 'anyone'), private.count_visit(request);
  select * into entered from private.enter_invitation(request ->> 'token_hash');
  perform private.act_for_tenant(entered.partner_id);
  return coalesce((
    select json_build_object('state', private.invitation_state(i), 'email', i.email, 'partner_name', private.partner_display_name(p),
                             'code_sent', coalesce(i.code_expires_at > private.now(), false))
      from core.manager_invitations i join core.partners p on p.id = i.partner_id
     where i.partner_id = entered.partner_id and i.id = entered.id), json_build_object('state', 'unknown'));
end $function$;

CREATE OR REPLACE FUNCTION private.lock_invitation (
  caller  jsonb,
  request jsonb
)
  RETURNS core.manager_invitations
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  entered    record;
  invitation core.manager_invitations;
begin
  perform private.act_as(caller, 'anyone');
  select * into entered from private.enter_invitation(request ->> 'token_hash');
  perform private.act_for_tenant(entered.partner_id);
  select * into invitation from core.manager_invitations i where i.partner_id = entered.partner_id and i.id = entered.id for update;
  if invitation.id is null or private.invitation_state(invitation) <> 'open' then
    perform private.refuse('link_not_open');
  end if;
  return invitation;
end $function$;

CREATE OR REPLACE FUNCTION private.reach()
  RETURNS uuid
  LANGUAGE sql
  STABLE
  PARALLEL SAFE
RETURN COALESCE(private.owner_id(), CASE WHEN (current_setting('app.breadth'::text, true) = 'tenant'::text) THEN NULL::uuid ELSE '00000000-0000-0000-0000-000000000000'::uuid END);

COMMENT ON FUNCTION "private"."act_for_person"(uuid, uuid) IS 'Moves the transaction to what is a person''s own within a tenant; to nothing that has an owner where the person is null.';

COMMENT ON FUNCTION "private"."act_for_tenant"(uuid) IS 'As private.act_for_partner, and whoever has no owner reaches all of that tenant. Nobody who comes by a link reaches all of the house.';

COMMENT ON FUNCTION "private"."keep_to_owner"(regclass, name) IS 'Stands beside each table whose rows belong to a person or a CPO client: within the tenant either reaches their own. Who is neither reaches nothing, unless their breadth is the tenant.';

COMMENT ON FUNCTION "private"."owner_id"() IS 'The person or CPO client that this transaction acts for, who owns what it writes; null where a partner, the worker or the bearer of a link acts.';

COMMENT ON FUNCTION "private"."reach"() IS 'Whose rows this transaction sees within its tenant: its owner''s. Null, which stands for everybody''s, only where the breadth says tenant; else the id that no owner has.';

REVOKE ALL ON FUNCTION "private"."act_for_tenant"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."act_for_tenant"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reach"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reach"() TO "api_owner";

-- A request that began with the act_as of before says nothing of its breadth: none is left when the policies begin to ask.
do $$
declare
  replaced constant timestamptz := clock_timestamp();
begin
  while exists (select from pg_stat_activity a
                 where a.datname = current_database() and a.usename in ('edge', 'edge_slow') and a.xact_start <= replaced)
        and clock_timestamp() < replaced + interval '70 seconds' loop
    perform pg_sleep(0.05), pg_stat_clear_snapshot();
  end loop;
end $$;

-- altered, one by one: dropped and made again they would let everybody through in between
alter policy "an owner reaches only their own rows" on core.account_counts
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.accounts
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.allocations
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.attributions
  using (case when coalesce((select private.reach()), user_id) is not distinct from user_id then true else false end);
alter policy "an owner reaches only their own rows" on core.booking_rows
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.charger_months
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.chargers
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.charging_sessions
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.connections
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.credits
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.customer_months
  using (case when coalesce((select private.reach()), user_id) is not distinct from user_id then true else false end);
alter policy "an owner reaches only their own rows" on core.customer_totals
  using (case when coalesce((select private.reach()), user_id) is not distinct from user_id then true else false end);
alter policy "an owner reaches only their own rows" on core.delivered_months
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.deliveries
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.documents
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.draft_links
  using ((select private.reach()) is null
         or exists (select from core.drafts d where d.partner_id = draft_links.partner_id and d.id = draft_links.draft_id));
alter policy "an owner reaches only their own rows" on core.drafts
  using (case when coalesce((select private.reach()), user_id) is not distinct from user_id then true else false end);
alter policy "an owner reaches only their own rows" on core.ean_checks
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.ended_attributions
  using (case when coalesce((select private.reach()), user_id) is not distinct from user_id then true else false end);
alter policy "an owner reaches only their own rows" on core.event_heads
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.events
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.mail_outbox
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.mandate_links
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.mandates
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.notices
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.partner_managers
  using (case when coalesce((select private.reach()), user_id) is not distinct from user_id then true else false end);
alter policy "an owner reaches only their own rows" on core.payout_entries
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.payout_lines
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.payout_parts
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.replaced_charging_sessions
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.signatories
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.virtual_chargers
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);
alter policy "an owner reaches only their own rows" on core.webhook_endpoints
  using (case when coalesce((select private.reach()), owner_id) is not distinct from owner_id then true else false end);

commit;
