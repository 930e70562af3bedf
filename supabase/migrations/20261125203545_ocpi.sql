begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

insert into core.rate_limits (bucket, quota, window_seconds) values ('ocpi', 600, 60);

DROP VIEW "core"."deletions";

ALTER TABLE "core"."events"
  DROP CONSTRAINT "events_type_known";

CREATE TABLE "core"."ocpi_cdrs" (
  "partner_id"  uuid                     NOT NULL,
  "party"       text                     NOT NULL,
  "cdr_id"      text                     NOT NULL,
  "kept_sha256" bytea                    NOT NULL,
  "credit_of"   text,
  "status"      text                     NOT NULL,
  "document"    jsonb                    NOT NULL,
  CONSTRAINT "ocpi_cdrs_credit_whole" CHECK (((status = 'credit'::text) = (credit_of IS NOT NULL))),
  CONSTRAINT "ocpi_cdrs_status_known" CHECK ((status = ANY (ARRAY['taken'::text, 'credited'::text, 'credit'::text, 'nothing'::text]))),
  "owner_id"    uuid                     NOT NULL DEFAULT private.owner_id(),
  CONSTRAINT "ocpi_cdrs_pkey" PRIMARY KEY (partner_id, owner_id, party, cdr_id),
  "received_at" timestamp with time zone NOT NULL DEFAULT private.now()
);

ALTER TABLE "core"."ocpi_cdrs"
  ENABLE ROW LEVEL SECURITY;

CREATE TABLE "core"."ocpi_connections" (
  "partner_id"              uuid                     NOT NULL,
  "status"                  text                     NOT NULL,
  "versions_url"            text,
  "cdrs_url"                text,
  "origins"                 text[]                   NOT NULL DEFAULT '{}'::text[],
  "parties"                 text[]                   NOT NULL DEFAULT '{}'::text[],
  "added_parties"           text[]                   NOT NULL DEFAULT '{}'::text[],
  "token_hash"              bytea,
  "previous_token_hash"     bytea,
  "previous_until"          timestamp with time zone,
  "registration_token_hash" bytea,
  "registration_until"      timestamp with time zone,
  "their_token_ciphertext"  text,
  "their_token_key_id"      text,
  "registered_at"           timestamp with time zone,
  "push_seen_at"            timestamp with time zone,
  "taken"                   bigint                   NOT NULL DEFAULT 0,
  "refused"                 bigint                   NOT NULL DEFAULT 0,
  "last_refusal"            text,
  "last_refused_at"         timestamp with time zone,
  "pulled_to"               timestamp with time zone,
  "pull_from"               timestamp with time zone,
  "pull_until"              timestamp with time zone,
  "pull_offset"             integer                  NOT NULL DEFAULT 0,
  "pull_pages"              integer                  NOT NULL DEFAULT 0,
  "pull_due_at"             timestamp with time zone,
  "pull_lease_id"           uuid,
  "pull_lease_until"        timestamp with time zone,
  "failing_since"           timestamp with time zone,
  "last_error"              text,
  "warned"                  boolean                  NOT NULL DEFAULT false,
  CONSTRAINT "ocpi_connections_invited_whole" CHECK (((status = 'invited'::text) = (registration_token_hash IS NOT NULL))),
  CONSTRAINT "ocpi_connections_status_known" CHECK ((status = ANY (ARRAY['invited'::text, 'registered'::text, 'unregistered'::text, 'disabled'::text]))),
  CONSTRAINT "ocpi_connections_their_token_whole" CHECK (((their_token_ciphertext IS NULL) = (their_token_key_id IS NULL))),
  CONSTRAINT "ocpi_connections_token_whole" CHECK (((status = 'registered'::text) = (token_hash IS NOT NULL))),
  "owner_id"                uuid                     NOT NULL DEFAULT private.owner_id(),
  CONSTRAINT "ocpi_connections_pkey" PRIMARY KEY (partner_id, owner_id),
  "created_at"              timestamp with time zone NOT NULL DEFAULT private.now()
);

ALTER TABLE "core"."ocpi_connections"
  ENABLE ROW LEVEL SECURITY;

CREATE TYPE "private"."sent_cdr" AS (
  "place"       integer,
  "party"       text,
  "id"          text,
  "kept_sha256" text,
  "sent_sha256" text,
  "document"    jsonb,
  "kind"        text,
  "credit_of"   text,
  "session"     jsonb,
  "refused"     text
);

CREATE OR REPLACE FUNCTION api.get_cdr (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  kept jsonb;
begin
  perform private.act_as(caller, 'ocpi');
  select c.document into kept from core.ocpi_cdrs c
   where c.partner_id = private.partner_id() and c.owner_id = private.client_id() and c.party = input ->> 'party' and c.cdr_id = input ->> 'cdr_id';
  perform private.refuse_if('cdr_not_found', kept is null);
  return kept::json;
end $function$;

ALTER FUNCTION "api"."get_cdr"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.get_ocpi (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'cpo');
  return (
    select json_build_object(
             'status', coalesce(c.status, 'none'), 'parties', coalesce(c.parties || c.added_parties, '{}'), 'registered_at', private.iso(c.registered_at),
             'pushed_at', private.iso(c.push_seen_at), 'pulls', c.cdrs_url is not null, 'pulled_to', private.iso(c.pulled_to),
             'cdrs_taken', coalesce(c.taken, 0), 'cdrs_refused', coalesce(c.refused, 0), 'last_refusal', c.last_refusal,
             'last_refused_at', private.iso(c.last_refused_at), 'failing_since', private.iso(c.failing_since), 'last_error', c.last_error)
      from (values (private.partner_id(), private.client_id())) self (partner_id, client_id)
      left join core.ocpi_connections c on c.partner_id = self.partner_id and c.owner_id = self.client_id);
end $function$;

ALTER FUNCTION "api"."get_ocpi"(jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.lease_ocpi_pulls (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return private.lease_ocpi_pulls((batch ->> 'size')::int);
end $function$;

ALTER FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.read_ocpi_registration (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections;
begin
  perform private.act_as(caller, 'ocpi');
  select * into link from core.ocpi_connections c where c.partner_id = private.partner_id() and c.owner_id = private.client_id();
  perform private.refuse_if('ocpi_method', (link.status = 'registered') <> (input ->> 'method' <> 'POST'));
  return json_build_object('owner_id', link.owner_id, 'origins', link.origins);
end $function$;

ALTER FUNCTION "api"."read_ocpi_registration"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.register_ocpi (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  hashes constant bytea[] := array(select decode(h, 'hex') from jsonb_array_elements_text(input -> 'called_with') h);
  link   core.ocpi_connections;
begin
  perform private.act_as(caller, 'ocpi');
  link := private.own_ocpi();
  -- another request may have been first, or the operator may have ended the connection
  if (case input ->> 'method' when 'POST' then link.registration_token_hash = any (hashes)
                              else link.token_hash = any (hashes) or link.previous_token_hash = any (hashes) end) is not true then
    perform private.refuse('ocpi_method');
  end if;
  -- of two that the old token called, the token of the last holds
  perform private.settle_ocpi(link, input);
  return json_build_object('registered', true);
end $function$;

ALTER FUNCTION "api"."register_ocpi"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.reset_sandbox (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- an import that runs is either before this or after it, whole
  perform private.lock_imports(private.partner_id());
  select * into erased from private.erase_customers(private.partner_id(), null, input ->> 'key');
  perform private.erase_books(private.partner_id());
  delete from core.charger_names n where n.partner_id = private.partner_id();
  delete from core.parked_charging p where p.partner_id = private.partner_id();
  delete from core.uploads u where u.partner_id = private.partner_id();
  delete from core.ocpi_cdrs c where c.partner_id = private.partner_id();
  delete from core.ocpi_connections c where c.partner_id = private.partner_id();
  perform private.audit('sandbox.reset', private.partner_id(), jsonb_build_object('customers', erased.customers, 'drafts', erased.drafts));
  return json_build_object('ok', true, 'customers_deleted', erased.customers, 'drafts_deleted', erased.drafts);
end $function$;

CREATE OR REPLACE FUNCTION api.settle_ocpi_pull (
  caller  jsonb,
  settled jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object('settled', private.settle_ocpi_pull(settled));
end $function$;

ALTER FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.take_cdr (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections;
begin
  perform private.act_as(caller, 'ocpi');
  link := private.own_ocpi();
  if coalesce(input ->> 'from', '') <> '' and input ->> 'from' <> all (link.parties || link.added_parties) then
    input := jsonb_set(input, '{cdr,refused}', to_jsonb('OCPI-from-party-id: is not a party of this connection'::text));
  end if;
  update core.ocpi_connections c set push_seen_at = private.now()
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id and (c.push_seen_at is null or c.push_seen_at < private.now() - interval '1 minute');
  return private.take_cdrs(link, private.sent_cdrs(jsonb_build_array(input -> 'cdr'))) -> 0;
end $function$;

ALTER FUNCTION "api"."take_cdr"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.take_pulled_cdrs (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link    core.ocpi_connections;
  results jsonb;
begin
  perform private.act_as(caller, 'worker');
  link := private.leased_ocpi(input);
  if link.owner_id is null then
    return json_build_object('leased', false);
  end if;
  results := private.take_cdrs(link, private.sent_cdrs(input -> 'cdrs'));
  update core.ocpi_connections c set pull_offset = (input ->> 'offset')::int, pull_pages = c.pull_pages + 1, pull_lease_until = private.now() + interval '60 seconds'
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  return json_build_object('leased', true, 'pages', link.pull_pages + 1, 'faulty', (select count(*) from jsonb_array_elements(results) r where r ->> 'status' = 'refused'));
end $function$;

ALTER FUNCTION "api"."take_pulled_cdrs"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.unregister_ocpi (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections;
begin
  perform private.act_as(caller, 'ocpi');
  link := private.own_ocpi();
  perform private.refuse_if('ocpi_method', link.status is distinct from 'registered');
  perform private.end_ocpi(link, 'unregistered');
  return json_build_object('unregistered', true);
end $function$;

ALTER FUNCTION "api"."unregister_ocpi"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION ops.ocpi_add (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link   core.ocpi_connections := private.ocpi_named(input);
  client core.oauth_clients := private.client_named(input);
begin
  perform private.refuse_if('client_disabled', client.disabled_at is not null, json_build_object('client', client.client_id));
  perform private.refuse_if('ocpi_registered', link.status = 'registered', json_build_object('client', client.client_id));
  insert into core.ocpi_connections as c (partner_id, owner_id, status, registration_token_hash, registration_until)
  values (client.partner_id, client.id, 'invited', decode(input ->> 'token_hash', 'hex'), private.now() + interval '30 days')
  on conflict on constraint ocpi_connections_pkey do update
     set status = 'invited', registration_token_hash = excluded.registration_token_hash, registration_until = excluded.registration_until
  returning * into link;
  perform private.audit('ocpi.invited', link.owner_id);
  return json_build_object('changed', true, 'connection', private.ocpi_row(link), 'owner_id', link.owner_id, 'origins', link.origins);
end $function$;

CREATE OR REPLACE FUNCTION ops.ocpi_disable (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link    core.ocpi_connections := private.ocpi_standing(input);
  changed constant boolean := link.status <> 'disabled';
begin
  if changed then
    link := private.end_ocpi(link, 'disabled');
  end if;
  return json_build_object('changed', changed, 'connection', private.ocpi_row(link));
end $function$;

CREATE OR REPLACE FUNCTION ops.ocpi_list (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('connections', coalesce(json_agg(private.ocpi_row(c) order by p.slug, c.created_at, c.owner_id), '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.partners p on chosen.id is null or p.id = chosen.id
    join core.ocpi_connections c on c.partner_id = p.id
$function$;

CREATE OR REPLACE FUNCTION ops.ocpi_origin (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link    core.ocpi_connections := private.ocpi_standing(input);
  allowed constant text[] := private.ocpi_entry(link.origins, input ->> 'origin', false);
  changed constant boolean := allowed <> link.origins;
begin
  if changed then
    update core.ocpi_connections c set origins = allowed where c.partner_id = link.partner_id and c.owner_id = link.owner_id returning * into link;
    perform private.audit('ocpi.origin_added', link.owner_id, jsonb_build_object('origin', input -> 'origin'));
  end if;
  return json_build_object('changed', changed, 'connection', private.ocpi_row(link));
end $function$;

CREATE OR REPLACE FUNCTION ops.ocpi_party (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link    core.ocpi_connections := private.ocpi_standing(input);
  allowed constant text[] := private.ocpi_entry(link.added_parties, upper(input ->> 'party'), coalesce((input ->> 'remove')::boolean, false));
  changed constant boolean := allowed <> link.added_parties;
begin
  if changed then
    update core.ocpi_connections c set added_parties = allowed where c.partner_id = link.partner_id and c.owner_id = link.owner_id returning * into link;
    perform private.audit('ocpi.parties_set', link.owner_id, jsonb_build_object('parties', allowed));
  end if;
  return json_build_object('changed', changed, 'connection', private.ocpi_row(link));
end $function$;

CREATE OR REPLACE FUNCTION ops.ocpi_pull (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections := private.ocpi_standing(input);
begin
  perform private.refuse_if('ocpi_no_pull', link.status <> 'registered' or link.cdrs_url is null, json_build_object('client', input ->> 'client'));
  update core.ocpi_connections c
     set pull_due_at = private.now(), pull_from = coalesce(private.dutch_midnight((input ->> 'from')::date), c.pull_from),
         pull_until = case when input ? 'from' then null else c.pull_until end, pull_offset = case when input ? 'from' then 0 else c.pull_offset end,
         pull_pages = 0,
         pull_lease_id = null, pull_lease_until = null
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  perform private.audit('ocpi.pull_asked', link.owner_id, jsonb_build_object('from', input -> 'from'));
  return json_build_object('changed', true, 'connection', private.ocpi_row(link));
end $function$;

CREATE OR REPLACE FUNCTION ops.ocpi_settle (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections := private.ocpi_standing(input);
begin
  perform private.refuse_if('ocpi_registered', link.registration_token_hash is distinct from decode(input ->> 'token_hash', 'hex'),
    json_build_object('client', input ->> 'client'));
  link := private.settle_ocpi(link, input);
  return json_build_object('changed', true, 'connection', private.ocpi_row(link));
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
  ignored := set_config('app.owner_id',    case when kind in ('cpo', 'ocpi') then client else person end, true);
  -- Whoever comes by a link sees all of a tenant only from private.act_for_tenant on. Nobody is the house as a partner: it holds what
  -- people own.
  ignored := set_config('app.breadth', case when kind = 'worker' or kind = 'partner' and admitted ->> 'partner_id' <> private.house()::text
                                            then 'tenant' else '' end, true);
  ignored := set_config('app.manager_id',  coalesce(admitted ->> 'manager_id', ''), true);
  ignored := set_config('app.signatory',   coalesce(admitted ->> 'signatory', ''), true);
  ignored := set_config('app.signed_in_at', coalesce(admitted ->> 'signed_in_at', ''), true);
  ignored := set_config('app.request_id',  coalesce(caller ->> 'request_id', ''), true);
end $function$;

CREATE OR REPLACE FUNCTION private.act_for_client (
  partner uuid,
  client  uuid
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  select private.act_for_person(partner, client), set_config('app.client_id', client::text, true), set_config('app.user_id', '', true)
$function$;

CREATE OR REPLACE FUNCTION private.admit (
  ticket jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
declare
  credential constant jsonb := ticket -> 'credential';
  demand     constant jsonb := ticket -> 'demand';
  admitted   jsonb;
  state      record;
  ignored    text;
begin
  if ticket ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(ticket ->> 'host');
  end if;
  -- statements, because of an expression every branch is prepared
  case credential ->> 'kind'
    when 'cpo' then admitted := private.admit_cpo(credential, demand);
    when 'user', 'personal_token' then admitted := private.admit_user(credential, demand);
    when 'session' then admitted := private.admit_signed_in((credential ->> 'user_id')::uuid, private.as_uuid(credential ->> 'session_id'), demand);
    when 'page_session' then admitted := private.admit_page_session(credential, demand);
    when 'ocpi_token' then admitted := private.admit_ocpi(credential, demand);
    when 'partner_key' then admitted := private.admit_partner_key(credential, demand);
    else perform private.refuse_admission('missing_or_invalid_token');
  end case;
  if ticket ->> 'tenant' <> admitted #>> '{caller,partner_id}' then
    perform private.refuse_admission('tenant_changed');
  end if;
  -- a look, so that who is over the limit is refused before the work; that the request fits is for charge() to decide
  state := private.limit_state(admitted ->> 'subject', demand ->> 'bucket');
  if not state.fits then
    perform private.refuse_admission('too_many_requests', json_build_object('rate',
      private.rate_json(demand ->> 'bucket', state.quota, state.window_seconds, state.full_in, false)));
  end if;
  ignored := set_config('app.admission', (admitted || jsonb_build_object(
    'bucket', demand -> 'bucket', 'quota', state.quota, 'window_seconds', state.window_seconds))::text, true);
  return admitted -> 'caller';
end $function$;

CREATE OR REPLACE FUNCTION private.admit_ocpi (
  credential jsonb,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  hashes constant bytea[] := array(select decode(h, 'hex') from jsonb_array_elements_text(credential -> 'token_hashes') h);
  link   core.ocpi_connections;
begin
  -- of three indexes the one that has it; whoever has a token may do no more than its row says
  select c.* into link from core.ocpi_connections c
   where c.token_hash = any (hashes) or c.previous_token_hash = any (hashes) or c.registration_token_hash = any (hashes);
  if (demand ->> 'kind' = 'ocpi'
      and (link.token_hash = any (hashes) is true
           or link.previous_token_hash = any (hashes) and link.previous_until > private.now()
           or demand ->> 'scope' is null and link.registration_token_hash = any (hashes) and link.registration_until > private.now())
      and exists (select from core.oauth_clients c where c.id = link.owner_id and c.partner_id = link.partner_id and c.disabled_at is null)
      and exists (select from core.partners p where p.id = link.partner_id and p.is_active)) is not true then
    perform private.refuse_admission('missing_or_invalid_token');
  end if;
  if link.previous_token_hash is not null and link.token_hash = any (hashes) then
    update core.ocpi_connections c set previous_token_hash = null, previous_until = null
     where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'ocpi', 'client_id', link.owner_id, 'partner_id', link.partner_id),
    'subject', 'ocpi:' || link.owner_id);
end $function$;

CREATE OR REPLACE FUNCTION private.captured_mail (
  partner uuid,
  address text,
  size    integer
)
  RETURNS SETOF core.mail_outbox
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select m.* from core.mail_outbox m
   where m.status = 'captured' and (address is null or m.recipient = address)
     and (m.partner_id = partner
          -- these hold no code, and no link but one that its own API answers to the partner
          and (m.template in ('mandate_link', 'managers_changed', 'customer_withdrew', 'iban_changed', 'webhook_failing', 'webhook_disabled', 'ocpi_pull_failed')
               or private.is_nobody_elses(partner, m.recipient))
          -- what the service writes to the partner's customers itself: a code to sign in with
          or m.partner_id = private.house() and private.is_nobody_elses(partner, m.recipient)
             and (exists (select from auth.users u where u.email = m.recipient)
                  or exists (select from private.signed_accounts(m.recipient))))
   order by m.created_at desc, m.id desc limit size
$function$;

CREATE OR REPLACE FUNCTION private.cdr_refusal (
  cdr   private.sent_cdr,
  known core.ocpi_cdrs
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  original core.ocpi_cdrs;
begin
  if known.cdr_id is not null then
    return case when known.kept_sha256 <> decode(cdr.kept_sha256, 'hex') then 'id: CDR exists; send a credit CDR' end;
  elsif cdr.kind <> 'credit' then
    return null;
  end if;
  select * into original from core.ocpi_cdrs c
   where c.partner_id = private.partner_id() and c.owner_id = private.owner_id() and c.party = cdr.party and c.cdr_id = cdr.credit_of;
  return case
    when original.status = 'credit' then 'credit_reference_id: is a credit CDR itself'
    when exists (select from core.ocpi_cdrs c
                  where c.partner_id = private.partner_id() and c.owner_id = private.owner_id() and c.party = cdr.party and c.credit_of = cdr.credit_of)
    then 'credit_reference_id: another credit CDR took it back' end;
end $function$;

CREATE OR REPLACE FUNCTION private.credit_cdrs (
  credits jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  credit record;
begin
  for credit in
    select c.party || ':' || c.credit_of as told, c.document, c.sent_sha256
      from jsonb_to_recordset(credits) as c (party text, credit_of text, document jsonb, sent_sha256 text) order by 1
  loop
    -- first: whoever stores a parked session holds its row, and is seen when it has ended
    delete from core.parked_charging p
     where p.partner_id = private.partner_id() and p.owner_id = private.owner_id() and p.source = 'ocpi' and p.told_as = credit.told;
    perform private.withdraw_charging_sessions(array(
      select s.id from core.charging_sessions s
       where s.partner_id = private.partner_id() and s.external_id = credit.told and s.source = 'ocpi' and s.owner_id = private.owner_id()),
      credit.document, decode(credit.sent_sha256, 'hex'));
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION private.end_ocpi (
  link   core.ocpi_connections,
  status text
)
  RETURNS core.ocpi_connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.ocpi_connections c
     set status = end_ocpi.status, token_hash = null, previous_token_hash = null, previous_until = null, registration_token_hash = null, registration_until = null,
         their_token_ciphertext = null, their_token_key_id = null, cdrs_url = null, pull_due_at = null, pull_lease_id = null, pull_lease_until = null,
         failing_since = null, warned = false
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  perform private.audit('ocpi.' || end_ocpi.status, link.owner_id);
  return link;
end $function$;

CREATE OR REPLACE FUNCTION private.lease_ocpi_pulls (
  size integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  pulls json;
begin
  with leased as (
    update core.ocpi_connections c
       set pull_lease_id = gen_random_uuid(), pull_lease_until = private.now() + interval '60 seconds',
           -- a pass keeps its borders until it is whole; 31 days at most, so that a long one ends
           pull_until = coalesce(c.pull_until, least(private.now(), private.ocpi_pull_from(c) + interval '31 days'))
     where (c.partner_id, c.owner_id) in (
       select d.partner_id, d.owner_id from core.ocpi_connections d
        where d.pull_due_at <= private.now() and (d.pull_lease_until is null or d.pull_lease_until <= private.now())
          and d.status = 'registered' and d.cdrs_url is not null and d.their_token_ciphertext is not null
          and exists (select from core.partners p where p.id = d.partner_id and p.is_active)
        order by d.pull_due_at limit size for update skip locked)
    returning c.*)
    select coalesce(json_agg(json_build_object(
           'partner_id', l.partner_id, 'owner_id', l.owner_id, 'lease_id', l.pull_lease_id, 'versions_url', l.versions_url, 'cdrs_url', l.cdrs_url,
           'origins', l.origins, 'their_token', json_build_object('ciphertext', l.their_token_ciphertext, 'key_id', l.their_token_key_id),
           'date_from', private.iso(private.ocpi_pull_from(l)), 'date_to', private.iso(l.pull_until), 'offset', l.pull_offset)), '[]') into pulls
    from leased l;
  return pulls;
end $function$;

CREATE OR REPLACE FUNCTION private.leased_ocpi (
  input jsonb
)
  RETURNS core.ocpi_connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections;
begin
  perform private.act_for_client((input ->> 'partner_id')::uuid, (input ->> 'owner_id')::uuid);
  link := private.own_ocpi();
  return case when link.pull_lease_id = (input ->> 'lease_id')::uuid and link.status = 'registered' then link end;
end $function$;

CREATE OR REPLACE FUNCTION private.metrics()
  RETURNS TABLE (
    name  text,
    label text,
    value numeric
  )
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with due_mail as materialized (
    select m.next_attempt_at from core.mail_outbox m
     where m.status in ('queued', 'nobody') and m.status = 'queued' and m.next_attempt_at <= private.now()
     order by m.next_attempt_at limit 10000
  ), due_documents as materialized (
    select d.created_at from core.documents d where d.pdf is null order by d.due_at limit 10000
  ), last_runs as materialized (
    select j.job, r.ok, r.ms, r.finished_at
      from unnest(array['worker', 'documents']) j (job)
      left join lateral (select r.* from core.job_runs r where r.job = j.job order by r.id desc limit 1) r on true
  )
  select 'mail_due', null::text, count(*)::numeric from due_mail
  union all select 'mail_oldest_due_seconds', null, private.seconds_since(min(m.next_attempt_at)) from due_mail m
  union all
  select 'mail_failed', null, count(*) from (
    select from core.mail_outbox m
     where (m.status = 'failed' or m.status = 'queued' and m.last_error is not null) and m.status = 'failed'
       and m.created_at > private.now() - interval '1 day' limit 10000) f
  union all
  select 'notices_oldest_due_seconds', null, private.seconds_since(min(n.due_at)) from core.notices n where n.due_at <= private.now()
  union all
  select 'webhooks_oldest_due_seconds', null, private.seconds_since(min(w.since))
    from core.webhook_endpoints e
    join core.partners p on p.id = e.partner_id and p.is_active
   cross join lateral (
     select least(
       (select n.created_at from core.events n
         where n.partner_id = e.partner_id and n.owner_id = e.owner_id and n.sequence > e.delivered_to order by n.sequence limit 1),
       (select n.created_at from core.events n
         where n.partner_id = e.partner_id and n.owner_id = e.owner_id and n.sequence is null order by n.arrival limit 1),
       (select r.next_attempt_at from core.webhook_retries r
         where r.partner_id = e.partner_id and r.endpoint_id = e.id and r.next_attempt_at > '-infinity' and r.next_attempt_at <= private.now()
         order by r.next_attempt_at limit 1)) as since) w
   where e.status = 'enabled' and e.failures < 5
  union all select 'webhooks_failing', null, count(*) from core.webhook_endpoints e where e.status = 'enabled' and e.failures >= 5
  union all select 'webhook_secrets_unreadable', null, count(*) from core.webhook_endpoints e where e.status = 'enabled' and e.last_error = 'secret_unreadable'
  union all select 'job_age_seconds', r.job, extract(epoch from private.now() - r.finished_at) from last_runs r
  union all select 'job_ok', r.job, r.ok::int from last_runs r where r.job is not null and r.ok is not null
  union all select 'job_duration_seconds', r.job, r.ms / 1000.0 from last_runs r where r.ms is not null
  union all
  select 'register_failures', null, count(*) from (
    select from core.ean_checks e where e.outcome = 'unavailable' and e.checked_at > private.now() - interval '1 hour' limit 10000) f
  union all
  select 'register_lookups_failed', null, count(*) from (
    select from core.drafts d
     where d.ean_status in ('pending', 'failed') and d.status in ('invited', 'claimed') and d.ean_status = 'failed' limit 10000) f
  union all select 'charging_parked', null, count(*) from (select from core.parked_charging limit 10000) p
  union all
  select 'charging_flagged', f.flag, count(s.flag)
    from unnest(array['negative', 'ends_before_start', 'wrong_clock', 'too_long', 'beyond_power', 'overlapping', 'after_lock', 'withdrawn',
                      'duplicate', 'no_end', 'meter_disagrees', 'abroad']) f (flag)
    left join (
      select unnest(r.flags) as flag
        from (select s.flags from core.charging_sessions s
               where s.flags <> '{}' and s.received_at > private.now() - interval '1 day' limit 10000) r) s on s.flag = f.flag
   group by f.flag
  union all select 'months', m.status, m.months from private.months_by_status() m
  union all select 'ledger_wrong', null, coalesce(sum(c.wrong), 0) from core.ledger_checks c
  union all
  select 'ledger_check_age_seconds', null, private.seconds_since(min(coalesce(c.checked_at, p.created_at)))
    from core.partners p left join core.ledger_checks c on c.partner_id = p.id
  union all select 'ocpi_requests_total', a.status_code, coalesce((
      select sum(case a.status_code when '1000' then c.taken else c.refused end) from core.ocpi_connections c), 0)
    from unnest(array['1000', '2001']) a (status_code)
  union all
  select 'ocpi_pull_lag_seconds', null, private.seconds_since(min(coalesce(c.pulled_to, c.registered_at)))
    from core.ocpi_connections c where c.pull_due_at is not null
  union all select 'documents_due', null, count(*) from due_documents
  union all select 'documents_oldest_due_seconds', null, private.seconds_since(min(d.created_at)) from due_documents d
  union all select 'unchained_entries', l.log, private.unchained(l.log) from unnest(array['audit', 'ledger']) l (log)
$function$;

CREATE OR REPLACE FUNCTION private.ocpi_entry (
  entries text[],
  entry   text,
  remove  boolean
)
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select case when remove then array_remove(entries, entry) when entry = any (entries) then entries else entries || entry end $function$;

CREATE OR REPLACE FUNCTION private.ocpi_named (
  input jsonb
)
  RETURNS core.ocpi_connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  client core.oauth_clients := private.client_named(input);
  link   core.ocpi_connections;
begin
  perform private.refuse_if('client_reads_no_log', client.partner_id is null or 'client_credentials' <> all (client.grant_types),
    json_build_object('client', input ->> 'client'));
  select * into link from core.ocpi_connections c where c.partner_id = client.partner_id and c.owner_id = client.id for no key update;
  return link;
end $function$;

CREATE OR REPLACE FUNCTION private.ocpi_pull_from (
  link core.ocpi_connections
)
  RETURNS timestamp WITH time zone
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(link.pull_from, link.pulled_to - interval '48 hours', private.dutch_midnight(date_trunc('year', private.today())::date))
$function$;

CREATE OR REPLACE FUNCTION private.ocpi_row (
  link core.ocpi_connections
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'partner_slug', p.slug, 'client_id', c.client_id, 'status', link.status, 'versions_url', link.versions_url, 'pulls', link.cdrs_url is not null,
    'parties', array_to_string(link.parties || link.added_parties, ' '), 'origins', array_to_string(link.origins, ' '), 'registered_at', private.iso(link.registered_at),
    'pushed_at', private.iso(link.push_seen_at), 'pulled_to', private.iso(link.pulled_to), 'cdrs_taken', link.taken, 'cdrs_refused', link.refused,
    'last_refusal', link.last_refusal, 'failing_since', private.iso(link.failing_since), 'last_error', link.last_error)
  from core.partners p join core.oauth_clients c on c.id = link.owner_id
  where p.id = link.partner_id
$function$;

CREATE OR REPLACE FUNCTION private.ocpi_standing (
  input jsonb
)
  RETURNS core.ocpi_connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections := private.ocpi_named(input);
begin
  perform private.refuse_if('ocpi_not_found', link.owner_id is null, json_build_object('client', input ->> 'client'));
  return link;
end $function$;

CREATE OR REPLACE FUNCTION private.own_ocpi()
  RETURNS core.ocpi_connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  link core.ocpi_connections;
begin
  select * into link from core.ocpi_connections c
   where c.partner_id = private.partner_id() and c.owner_id = private.client_id() for no key update;
  return link;
end $function$;

CREATE OR REPLACE FUNCTION private.park_cdrs (
  owner    uuid,
  sessions jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.park_charging(owner, array(
    select row(null, null, owner, 'ocpi', s.item ->> 'external_id', s.item ->> 'external_id', s.item ->> 'party', n.names,
               (s.item - '{place,park}'::text[]) || jsonb_strip_nulls(jsonb_build_object(
                 'client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), ''))), s.item ->> 'park', null, null)::core.parked_charging
      from jsonb_array_elements(sessions) s (item)
     cross join lateral (
       select array_agg(t.kind || ':' || t.value order by t.rank) as names
         from private.names_told(row(0, s.item ->> 'party', null, null, null, null, s.item ->> 'evse_uid', s.item ->> 'evse_id', s.item ->> 'meter_id')::private.named_charger) t) n));
end $function$;

CREATE OR REPLACE FUNCTION private.retention_kinds()
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select '{drafts,invoices,bookings,payouts,months,sessions,deliveries,ean_checks,uploads,ocpi_cdrs,mandates,accounts,audit_log,ledger}'::text[] $function$;

CREATE OR REPLACE FUNCTION private.sent_cdrs (
  cdrs jsonb
)
  RETURNS private.sent_cdr[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  select array(select row(c.place, c.party, c.id, c.kept_sha256, c.sent_sha256, c.document, c.kind, c.credit_of, c.session, c.refused)::private.sent_cdr
                 from jsonb_to_recordset(cdrs) as c (place int, party text, id text, kept_sha256 text, sent_sha256 text, document jsonb, kind text,
                                                     credit_of text, session jsonb, refused text)
                order by c.place)
$function$;

CREATE OR REPLACE FUNCTION private.settle_ocpi (
  link  core.ocpi_connections,
  input jsonb
)
  RETURNS core.ocpi_connections
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  renewed constant boolean := link.status = 'registered';
begin
  update core.ocpi_connections c
     set status = 'registered', versions_url = input ->> 'versions_url', cdrs_url = input ->> 'cdrs_url',
         parties = array(select jsonb_array_elements_text(input -> 'parties')),
         previous_token_hash = case when renewed then coalesce(c.previous_token_hash, c.token_hash) end,
         previous_until = case when renewed then private.now() + interval '1 hour' end,
         token_hash = decode(input ->> 'token_hash', 'hex'), registration_token_hash = null, registration_until = null,
         their_token_ciphertext = input #>> '{their_token,ciphertext}', their_token_key_id = input #>> '{their_token,key_id}',
         registered_at = private.now(), pull_due_at = case when input ->> 'cdrs_url' is not null then private.now() end,
         pull_lease_id = null, pull_lease_until = null, failing_since = null, last_error = null, warned = false
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  perform private.audit('ocpi.registered', link.owner_id, jsonb_build_object('parties', link.parties));
  return link;
end $function$;

CREATE OR REPLACE FUNCTION private.settle_ocpi_pull (
  input jsonb
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link  core.ocpi_connections := private.leased_ocpi(input);
  whole constant boolean := coalesce((input ->> 'whole')::boolean, false);
  error constant text := left(input ->> 'error', 200);
  warn  boolean;
begin
  if link.owner_id is null then
    return false;
  end if;
  warn := coalesce(error is not null and not link.warned and link.failing_since <= private.now() - interval '24 hours', false);
  update core.ocpi_connections c
     set pull_lease_id = null, pull_lease_until = null,
         pulled_to = case when whole then greatest(c.pulled_to, c.pull_until) else c.pulled_to end,
         pull_from = case when whole and c.pull_until < private.now() - interval '1 hour' and c.pull_from is not null then c.pull_until - interval '48 hours'
                          when whole then null else c.pull_from end,
         pull_until = case when whole then null else c.pull_until end,
         pull_offset = case when whole or error = 'too_many_pages' then 0 else c.pull_offset end,
         pull_pages = case when whole or error = 'too_many_pages' then 0 else c.pull_pages end,
         pull_due_at = case when error is not null then private.now() + interval '15 minutes'
                            when not whole or c.pull_until < private.now() - interval '1 hour' then private.now()
                            else private.now() + interval '6 hours' + random() * interval '1 hour' end,
         failing_since = case when error is null then null else coalesce(c.failing_since, private.now()) end, last_error = error,
         warned = error is not null and (c.warned or warn)
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  if warn then
    perform private.tell(link.partner_id, link.owner_id, 'ocpi.pull_failed', null,
                         jsonb_build_object('since', private.iso(link.failing_since), 'reason', error));
    perform private.warn_of_ocpi(link, input ->> 'operator');
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.take_cdrs (
  link core.ocpi_connections,
  sent private.sent_cdr[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  parties constant text[] := link.parties || link.added_parties;
  cdr     private.sent_cdr;
  known   core.ocpi_cdrs;
  taker   core.ocpi_cdrs;
  reason  text;
  fresh   jsonb := '[]';
  parked  jsonb := '[]';
  credits jsonb := '[]';
  results jsonb := '[]';
  faulty  int   := 0;
  last    text;
begin
  foreach cdr in array sent loop
    known := null;
    reason := coalesce(cdr.refused, case when cdr.party <> all (parties) then 'party_id: ' || cdr.party || ' is not a party of this connection' end);
    if reason is null then
      select * into known from core.ocpi_cdrs c
       where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party and c.cdr_id = cdr.id;
      reason := private.cdr_refusal(cdr, known);
    end if;
    if reason is not null then
      faulty := faulty + 1;
      last := left(concat_ws(' ', cdr.party || ':' || cdr.id, reason), 300);
    elsif known.cdr_id is null then
      taker := null;
      if cdr.kind <> 'credit' then
        select * into taker from core.ocpi_cdrs c
         where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party and c.credit_of = cdr.id;
      end if;
      insert into core.ocpi_cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, credit_of, status, document)
      values (link.partner_id, link.owner_id, cdr.party, cdr.id, decode(cdr.kept_sha256, 'hex'), cdr.credit_of,
              case when cdr.kind = 'session' and taker.cdr_id is not null then 'credited' when cdr.kind = 'session' then 'taken' else cdr.kind end, cdr.document);
      if cdr.kind = 'credit' then
        update core.ocpi_cdrs c set status = 'credited'
         where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party and c.cdr_id = cdr.credit_of and c.status = 'taken';
        credits := credits || jsonb_build_object('party', cdr.party, 'credit_of', cdr.credit_of, 'document', cdr.document, 'sent_sha256', cdr.sent_sha256);
      elsif cdr.kind = 'session' then
        if cdr.session ->> 'started_at' is null or cdr.session ->> 'ended_at' is null then
          parked := parked || (cdr.session || '{"park": "no_times"}');
        else
          fresh := fresh || (cdr.session || jsonb_build_object('place', cdr.place, 'sent_sha256', cdr.sent_sha256, 'client_id', link.owner_id,
                                                               'request_id', nullif(current_setting('app.request_id', true), '')));
        end if;
        if taker.cdr_id is not null then
          credits := credits || jsonb_build_object('party', cdr.party, 'credit_of', cdr.id, 'document', taker.document);
        end if;
      end if;
    end if;
    results := results || jsonb_strip_nulls(jsonb_build_object(
      'place', cdr.place, 'status', case when reason is not null then 'refused' when known.cdr_id is null then 'taken' else 'unchanged' end, 'reason', reason));
  end loop;
  if fresh <> '[]' then
    parked := parked || coalesce((
      select jsonb_agg(f.item || '{"park": "ambiguous_charger"}')
        from jsonb_to_recordset(private.deliver_named_sessions(link.owner_id, fresh)) as r (place int, status text, reason text)
        join jsonb_array_elements(fresh) f (item) on (f.item ->> 'place')::int = r.place
       where r.status = 'rejected' and r.reason = 'ambiguous_charger'), '[]');
  end if;
  perform private.park_cdrs(link.owner_id, parked) where parked <> '[]';
  perform private.credit_cdrs(credits) where credits <> '[]';
  update core.ocpi_connections c
     set taken = c.taken + cardinality(sent) - faulty, refused = c.refused + faulty, last_refusal = coalesce(last, c.last_refusal),
         last_refused_at = case when last is null then c.last_refused_at else private.now() end
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  return results;
end $function$;

CREATE OR REPLACE FUNCTION private.warn_of_ocpi (
  link     core.ocpi_connections,
  operator text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.enqueue_mails('{"template": "ocpi_pull_failed", "locale": "nl"}', (
    select jsonb_agg(jsonb_build_object(
             'recipient', t.email, 'cause', 'ocpi_pull_failed:' || link.owner_id || ':' || private.iso(link.failing_since) || ':' || t.email,
             'content', jsonb_build_object('partner_name', p.name, 'url', link.versions_url, 'since', private.iso(link.failing_since))))
      from core.partners p
     cross join lateral (select m.email from private.manager_emails(p.id) m (email) union select operator) t
     where p.id = link.partner_id and t.email is not null));
end $function$;

ALTER TABLE "core"."events"
  ADD CONSTRAINT "events_type_known"
    CHECK
    ((type = ANY (ARRAY['account.created'::text, 'account.eligibility_changed'::text, 'account.months_locked'::text, 'account.months_registered'::text,
    'account.months_rejected'::text,
    'account.months_reopened'::text,
    'mandate.signed'::text,
    'mandate.renewed'::text,
    'mandate.declined'::text,
    'mandate.revoked'::text,
    'mandate.expired'::text,
    'ean.status_changed'::text,
    'charger.registered'::text,
    'charger.connected'::text,
    'charger.mid_confirmed'::text,
    'registration.submitted'::text,
    'registration.approved'::text,
    'registration.rejected'::text,
    'draft.claimed'::text,
    'draft.active'::text,
    'draft.expired'::text,
    'draft.conflict'::text,
    'customer.sharing_ended'::text,
    'ere.sold'::text,
    'ere.sale_reversed'::text,
    'charging.parked'::text,
    'ocpi.pull_failed'::text, 'payout.approved'::text, 'payout.paid'::text, 'payout.failed'::text, 'payout.reversed'::text, 'webhook_endpoint.disabled'::text])));

CREATE VIEW "core"."deletions" WITH (security_invoker=true) AS  SELECT step,
    kind,
    of_table,
    due
   FROM ( VALUES (1,'months'::text,'delivered_months'::text,'d.period < :border and not exists (
     select from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period)'::text), (2,'deliveries'::text,'deliveries'::text,'d.received_at < private.dutch_midnight(:border)
     and not exists (select from core.delivered_months m where m.partner_id = d.partner_id and m.delivery_id = d.id)
     and not exists (select from core.booking_rows r where r.partner_id = d.partner_id and r.delivery_id = d.id)'::text), (3,'ean_checks'::text,'ean_checks'::text,'d.checked_at < private.dutch_midnight(:border)'::text), (4,'mail'::text,'mail_outbox'::text,'d.status = ''nobody'' or d.created_at < private.now() - interval ''90 days'' and d.status <> ''queued'''::text), (5,'logos'::text,'partner_logos'::text,'d.replaced_at < private.now() - interval ''90 days'''::text), (6,'invitations'::text,'manager_invitations'::text,'d.expires_at < private.now() - interval ''30 days'''::text), (7,'oauth'::text,'revoked_access_tokens'::text,'d.expires_at < private.now()'::text), (8,'oauth'::text,'oauth_codes'::text,'d.expires_at < private.now() - interval ''1 day'''::text), (9,'oauth'::text,'oauth_refresh_tokens'::text,'d.expires_at < private.now()'::text), (10,'oauth'::text,'one_time_codes'::text,'d.expires_at < private.now()'::text), (11,'oauth'::text,'page_sessions'::text,'d.expires_at < private.now()'::text), (12,'oauth'::text,'oauth_grants'::text,'d.created_at < private.now() - interval ''1 day''
     and not exists (select from core.oauth_codes c where c.grant_id = d.id)
     and not exists (select from core.oauth_refresh_tokens t where t.grant_id = d.id)'::text), (13,'webhook_attempts'::text,'webhook_attempts'::text,'d.at <= private.now() - interval ''30 days'' order by d.at'::text), (14,'job_runs'::text,'job_runs'::text,'d.finished_at < private.now() - interval ''7 days'' or d.id <= (select max(n.id) from core.job_runs n) - 100000'::text), (15,'mail_counts'::text,'mail_counts'::text,'d.day < private.today()'::text), (16,'rate_limits'::text,'rate_limit_state'::text,'d.full_at < private.now()'::text), (17,'uploads'::text,'uploads'::text,'d.created_at < private.dutch_midnight(:border)'::text), (18,'parked'::text,'parked_charging'::text,'d.received_at < private.now() - interval ''400 days'' order by d.received_at'::text), (19,'ocpi_cdrs'::text,'ocpi_cdrs'::text,'d.received_at < private.dutch_midnight(:border)'::text)) deletion(step, kind, of_table, due);

CREATE INDEX ocpi_connections_due ON core.ocpi_connections USING btree (pull_due_at)
  WHERE (pull_due_at IS NOT NULL);

CREATE INDEX ocpi_connections_previous ON core.ocpi_connections USING btree (previous_token_hash)
  WHERE (previous_token_hash IS NOT NULL);

CREATE INDEX ocpi_connections_registration ON core.ocpi_connections USING btree (registration_token_hash)
  WHERE (registration_token_hash IS NOT NULL);

CREATE INDEX ocpi_connections_token ON core.ocpi_connections USING btree (token_hash)
  WHERE (token_hash IS NOT NULL);

CREATE POLICY "a tenant reaches its own rows" ON "core"."ocpi_cdrs"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "a tenant reaches its own rows" ON "core"."ocpi_connections"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

COMMENT ON COLUMN "core"."ocpi_cdrs"."cdr_id" IS 'In upper case, as party: OCPI compares ids without case.';

COMMENT ON COLUMN "core"."ocpi_cdrs"."document" IS 'What we keep of it: no card, no tariff, no remark.';

COMMENT ON COLUMN "core"."ocpi_cdrs"."kept_sha256" IS 'SHA-256 of what may not change when a CDR of this id comes again.';

COMMENT ON COLUMN "core"."ocpi_connections"."cdrs_url" IS 'Their CDRs as SENDER; null if they only push.';

COMMENT ON COLUMN "core"."ocpi_connections"."origins" IS 'What the operator allows our requests to, beside the origin of versions_url.';

COMMENT ON COLUMN "core"."ocpi_connections"."parties" IS 'The CPO roles of their credentials, as NL-TNM. The operator adds those behind a hub: added_parties.';

COMMENT ON COLUMN "core"."ocpi_connections"."previous_token_hash" IS 'The token that PUT replaced. It ends when the new one is used, or at previous_until: the answer with the new one may be lost.';

COMMENT ON COLUMN "core"."ocpi_connections"."pulled_to" IS 'Up to where their CDRs were read whole. A pass reads from 48 hours before it, or from pull_from, to pull_until, and is at pull_offset.';

COMMENT ON COLUMN "core"."ocpi_connections"."registration_token_hash" IS 'Opens versions and credentials until registration_until, and one registration.';

COMMENT ON COLUMN "core"."ocpi_connections"."taken" IS 'CDRs that were answered with 1000; refused: with 2001. last_refusal says why, without values.';

COMMENT ON FUNCTION "api"."get_cdr"(jsonb, jsonb) IS 'GET /ocpi/2.2.1/receiver/cdrs/{party}/{cdr_id}: {party, cdr_id}, in upper case, to what is kept of it.';

COMMENT ON FUNCTION "api"."get_ocpi"(jsonb) IS 'GET /v1/ocpi: how the OCPI connection of a client stands; status none without one.';

COMMENT ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) IS 'The next platforms to read CDRs of: {size} to [{partner_id, owner_id, lease_id, versions_url, cdrs_url, origins, their_token, date_from, date_to, offset}].';

COMMENT ON FUNCTION "api"."read_ocpi_registration"(jsonb, jsonb) IS 'Before a platform is asked for its endpoints: {method} to {owner_id, origins}. Refuses with ocpi_method POST when it is registered, and PUT when it is not.';

COMMENT ON FUNCTION "api"."register_ocpi"(jsonb, jsonb) IS 'POST and PUT /ocpi/2.2.1/credentials: {method, called_with, versions_url, cdrs_url, parties, token_hash, their_token} to {registered}. A registration token does it once.';

COMMENT ON FUNCTION "api"."reset_sandbox"(jsonb, jsonb) IS 'POST /sandbox/v1/reset: {key}. Deletes the partner''s customers and drafts, what was booked and sold of its CPO accounts, the names of its chargers, parked sessions, uploads and OCPI connections, in one transaction. These accounts and their chargers, sessions, months, keys and settings stay.';

COMMENT ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) IS 'Ends a pull, or its turn: {partner_id, owner_id, lease_id, whole, error?, operator} to {settled}. operator is an address to warn too.';

COMMENT ON FUNCTION "api"."take_cdr"(jsonb, jsonb) IS 'POST /ocpi/2.2.1/receiver/cdrs: {cdr: {place, party, id, kept_sha256, sent_sha256, document, kind, credit_of?, session?} | {place, refused}, from?} to {place, status: taken|unchanged|refused, reason?}.';

COMMENT ON FUNCTION "api"."take_pulled_cdrs"(jsonb, jsonb) IS 'Stores a page of CDRs and where to go on: {partner_id, owner_id, lease_id, cdrs, offset} to {leased, pages, faulty}. leased false: another worker reads on.';

COMMENT ON FUNCTION "api"."unregister_ocpi"(jsonb, jsonb) IS 'DELETE /ocpi/2.2.1/credentials: {} to {unregistered}. Ends the tokens of both sides; CDRs stay.';

COMMENT ON FUNCTION "ops"."ocpi_add"(jsonb) IS 'Invites the platform of a client: {client, token_hash} to {changed, connection, owner_id, origins}. The token registers once, within 30 days.';

COMMENT ON FUNCTION "ops"."ocpi_disable"(jsonb) IS 'Ends the tokens of both sides: {client} to {changed, connection}. CDRs stay; ops.ocpi_add opens it again.';

COMMENT ON FUNCTION "ops"."ocpi_list"(jsonb) IS 'OCPI connections of all partners or of one: {partner?} to {connections}. No token.';

COMMENT ON FUNCTION "ops"."ocpi_origin"(jsonb) IS 'Allows our requests, with the platform''s token, to one more origin: {client, origin} to {changed, connection}.';

COMMENT ON FUNCTION "ops"."ocpi_party"(jsonb) IS 'Adds a party behind a hub, or removes one that was added: {client, party, remove?} to {changed, connection}.';

COMMENT ON FUNCTION "ops"."ocpi_pull"(jsonb) IS 'Has the worker read their CDRs in its next run: {client, from?: date} to {changed, connection}. A CDR that we have changes nothing.';

COMMENT ON FUNCTION "ops"."ocpi_settle"(jsonb) IS 'Ends a registration that we began: {client, token_hash, versions_url, cdrs_url, parties, their_token} to {changed, connection}. token_hash is that of ops.ocpi_add.';

COMMENT ON FUNCTION "private"."lease_ocpi_pulls"(integer) IS 'Leases pulls that are due, for a minute each. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."settle_ocpi_pull"(jsonb) IS 'Ends the lease of a pull. After 24 hours of failures an event and mails go out, once. Definer, because mail belongs to no client.';

COMMENT ON TABLE "core"."ocpi_cdrs" IS 'A CDR that an OCPI platform sent, once. taken: it is a charging session, or parked. nothing: no energy, or a reservation. Kept seven years. Personal data: the address of a home charger.';

COMMENT ON TABLE "core"."ocpi_connections" IS 'The OCPI connection of a CPO client with its platform, one a client. Tokens of ours are SHA-256, theirs encrypted. Kept as long as the client.';

COMMENT ON TYPE "private"."sent_cdr" IS 'A CDR as domain/charging_in/ocpi reads it. kind: session, nothing, credit. refused says what is wrong with it; the rest may then be null.';

COMMENT ON VIEW "core"."deletions" IS 'What is deleted row by row when it is due. due is a condition on rows d of a table of core. :border in it is the day before which nothing need be kept. A kind is deleted step by step.';

REVOKE ALL ON FUNCTION "api"."get_cdr"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."get_cdr"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."get_cdr"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."get_cdr"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."get_ocpi"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."get_ocpi"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."get_ocpi"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."get_ocpi"(jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."lease_ocpi_pulls"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."read_ocpi_registration"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."read_ocpi_registration"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."read_ocpi_registration"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."read_ocpi_registration"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."register_ocpi"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."register_ocpi"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."register_ocpi"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."register_ocpi"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."settle_ocpi_pull"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."take_cdr"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."take_cdr"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."take_cdr"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."take_cdr"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."take_pulled_cdrs"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."take_pulled_cdrs"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."take_pulled_cdrs"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."take_pulled_cdrs"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."unregister_ocpi"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."unregister_ocpi"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."unregister_ocpi"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."unregister_ocpi"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "ops"."ocpi_add"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."ocpi_add"(jsonb) TO "operator";


REVOKE ALL ON FUNCTION "ops"."ocpi_disable"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."ocpi_disable"(jsonb) TO "operator";


REVOKE ALL ON FUNCTION "ops"."ocpi_list"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."ocpi_list"(jsonb) TO "operator";


REVOKE ALL ON FUNCTION "ops"."ocpi_origin"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."ocpi_origin"(jsonb) TO "operator";


REVOKE ALL ON FUNCTION "ops"."ocpi_party"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."ocpi_party"(jsonb) TO "operator";


REVOKE ALL ON FUNCTION "ops"."ocpi_pull"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."ocpi_pull"(jsonb) TO "operator";


REVOKE ALL ON FUNCTION "ops"."ocpi_settle"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."ocpi_settle"(jsonb) TO "operator";


REVOKE ALL ON FUNCTION "private"."act_for_client"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."act_for_client"(uuid, uuid) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."admit_ocpi"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admit_ocpi"(jsonb, jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."cdr_refusal"(private.sent_cdr, core.ocpi_cdrs) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."cdr_refusal"(private.sent_cdr, core.ocpi_cdrs) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."credit_cdrs"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."credit_cdrs"(jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."end_ocpi"(core.ocpi_connections, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."end_ocpi"(core.ocpi_connections, text) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."lease_ocpi_pulls"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lease_ocpi_pulls"(integer) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."leased_ocpi"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."leased_ocpi"(jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."ocpi_entry"(text[], text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."ocpi_entry"(text[], text, boolean) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."ocpi_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."ocpi_named"(jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."ocpi_pull_from"(core.ocpi_connections) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."ocpi_pull_from"(core.ocpi_connections) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."ocpi_row"(core.ocpi_connections) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."ocpi_row"(core.ocpi_connections) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."ocpi_standing"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."ocpi_standing"(jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."own_ocpi"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_ocpi"() TO "api_owner";


REVOKE ALL ON FUNCTION "private"."park_cdrs"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."park_cdrs"(uuid, jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."sent_cdrs"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."sent_cdrs"(jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."settle_ocpi"(core.ocpi_connections, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."settle_ocpi"(core.ocpi_connections, jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."settle_ocpi_pull"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."settle_ocpi_pull"(jsonb) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."take_cdrs"(core.ocpi_connections, private.sent_cdr[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."take_cdrs"(core.ocpi_connections, private.sent_cdr[]) TO "api_owner";


REVOKE ALL ON FUNCTION "private"."warn_of_ocpi"(core.ocpi_connections, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."warn_of_ocpi"(core.ocpi_connections, text) TO "api_owner";


GRANT DELETE, INSERT, SELECT, UPDATE ON TABLE "core"."ocpi_cdrs" TO "api_owner";

GRANT DELETE, INSERT, SELECT, UPDATE ON TABLE "core"."ocpi_connections" TO "api_owner";

CREATE INDEX ocpi_cdrs_credits ON core.ocpi_cdrs USING btree (partner_id, owner_id, party, credit_of)
  WHERE (credit_of IS NOT NULL);

CREATE POLICY "an owner reaches only their own rows" ON "core"."ocpi_cdrs"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

ALTER TABLE "core"."ocpi_connections"
  ADD CONSTRAINT "ocpi_connections_client_fkey" FOREIGN KEY (partner_id, owner_id) REFERENCES core.oauth_clients(partner_id, id);

ALTER TABLE "core"."ocpi_cdrs"
  ADD CONSTRAINT "ocpi_cdrs_connection_fkey" FOREIGN KEY (partner_id, owner_id) REFERENCES core.ocpi_connections(partner_id, owner_id);

CREATE POLICY "an owner reaches only their own rows" ON "core"."ocpi_connections"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

commit;
