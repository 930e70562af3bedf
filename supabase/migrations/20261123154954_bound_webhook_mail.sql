begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.warn_of_webhook (
  endpoint core.webhook_endpoints,
  warning  text,
  mails    jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- who owns an endpoint decides what it answers, and may enable it again and again
  if not private.is_sandbox() and not exists (select from private.take_mails(array['webhooks:' || endpoint.owner_id], 'webhook', 'mail_kind', 'mail_kind')) then
    return;
  end if;
  perform private.act_for_partner(endpoint.partner_id);
  perform private.enqueue_mails(mails -> warning, (
    select jsonb_agg(jsonb_build_object(
             'recipient', t.email, 'cause', 'webhook_' || warning || ':' || endpoint.id || ':' || private.iso(endpoint.failing_since) || ':' || endpoint.warnings || ':' || t.email,
             'fields', jsonb_build_object('partner_name', p.name, 'url', endpoint.url, 'since', private.iso(endpoint.failing_since))))
      from core.partners p
      cross join lateral (select m.email from private.manager_emails(p.id) m (email) union select mails ->> 'operator') t
     where p.id = endpoint.partner_id and t.email is not null));
end $function$;

COMMENT ON FUNCTION "private"."warn_of_webhook"(core.webhook_endpoints, text, jsonb) IS 'Writes to whoever manages the partner, and to the operator, that an endpoint fails, or (disabled) that nothing is sent to it any more: on production ten times a day of one log.';

COMMENT ON TABLE "core"."mail_counts" IS 'Mails of a Dutch day to an address (its hash), of one connection, about the endpoints of one log, or asked for by one browser or network. Deleted by the first run of jobs on the next day. Unlogged: after a crash the day begins again.';

commit;
