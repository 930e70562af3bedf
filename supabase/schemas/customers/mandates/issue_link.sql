-- POST /v1/mandate-links.

-- Mails a link to its signatory, in the link's language or the partner's. False if a limit dropped the mail.
create function private.mail_mandate_link(link core.mandate_links, signatory core.signatories, url text,
                                          key jsonb) returns boolean
language plpgsql
as $$
declare
  partner constant core.partners := private.own_partner();
begin
  return private.enqueue_mail(
    jsonb_build_object('template', 'mandate_link', 'locale', coalesce(link.locale, partner.locale, 'nl'), 'key', key),
    signatory.email, 'mandate_link:' || link.id,
    jsonb_build_object('full_name', signatory.full_name, 'partner_name', partner.name,
                       'logo', private.partner_brand(partner) -> 'logo', 'link', url),
    connection => link.connection_id);
end $$;

create function api.issue_mandate_link(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  account    uuid;
  connection uuid;
  registered text;
  partner    core.partners;
  signatory  core.signatories;
  link       core.mandate_links;
  status     text;
  facts      jsonb;
  send_email constant boolean := (input ->> 'send_email')::boolean;
  email_sent boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  select c.return_url into registered from core.oauth_clients c where c.id = private.client_id();
  select * into partner from core.partners p where p.id = private.partner_id();
  perform private.refuse_if('return_url_not_allowed', input ->> 'return_url' is not null
                            and not private.return_url_allowed(input ->> 'return_url', registered));
  account := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, false);
  -- one link, signature or correction at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for update;
  select m.mandate_status into status
    from core.connection_mandates m where m.partner_id = private.partner_id() and m.connection_id = connection;
  perform private.refuse_if('mandate_already_signed', not private.can_sign(connection));
  facts := private.connection_facts(connection);
  select * into signatory from core.signatories s where s.partner_id = private.partner_id() and s.account_id = account;
  -- the mandate of a business names it
  perform private.refuse_if('company_required',
                            facts ->> 'type' <> 'particulier' and facts ->> 'company_name' is null);
  perform private.refuse_if('signatory_email_missing', send_email and signatory.email is null);

  perform private.void_mandate_links(connection);
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, return_url, mailed,
                                  expires_at)
  values (private.partner_id(), connection, private.reserve_token_hash(input ->> 'token_hash'), input ->> 'locale',
          coalesce((input ->> 'validity_years')::int, partner.mandate_years),
          coalesce(input ->> 'return_url', registered), send_email, private.now() + interval '1209600 seconds')
  returning * into link;
  if send_email then
    email_sent := private.mail_mandate_link(link, signatory, input ->> 'mandate_link', input -> 'key');
  end if;
  perform private.audit('mandate_link.issued', connection);
  return json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'mandate_link', input ->> 'mandate_link',
    'expires_at', private.iso(link.expires_at),
    'expires_in', 1209600,
    'mandate_status', status,
    'email_sent', email_sent,
    'mail_limit', send_email and not email_sent);
end $$;
comment on function api.issue_mandate_link(jsonb, jsonb) is
  'POST /v1/mandate-links: {account_id, cpo_external_ref, connection_id, token_hash, mandate_link, locale, '
  'validity_years, return_url, send_email, key}. Voids the older link. While a mandate holds it needs 1 November of '
  'the last year, and is for the years after.';
