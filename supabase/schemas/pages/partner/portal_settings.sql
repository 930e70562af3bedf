-- What the pages of a partner's settings show. The functions of settings.sql and outbox/events/manage_webhooks.sql
-- change them.

create function api.read_portal_branding(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object(
    'who', private.portal_who(),
    'branding', private.partner_answer() -> 'branding',
    'brand', private.partner_brand(private.own_partner()));
end $$;
comment on function api.read_portal_branding(jsonb) is
  'How a partner looks to its customers: {who, branding, brand}. branding is as POST /partner/branding took it, brand '
  'is private.partner_brand.';

create function api.read_portal_settings(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return (
    select json_build_object(
      'who', private.portal_who(),
      'signed_in_recently', private.signed_in_recently(),
      'partner', private.partner_answer(),
      'iban_held_until',
          case when p.iban_ciphertext is not null then private.iso(private.iban_held_until(p.iban_changed_at)) end,
      'invoices_need', private.why_no_invoice(p),
      'webhooks', private.webhooks_counted(p.id),
      'clients', (select count(*) from private.cpo_clients() c where c.disabled_at is null))
      from core.partners p where p.id = private.partner_id());
end $$;
comment on function api.read_portal_settings(jsonb) is
  'The settings of a partner as its pages show them: {who, signed_in_recently, partner, iban_held_until, '
  'invoices_need, webhooks: {enabled, disabled}, clients}, partner as GET /partner/me, invoices_need as '
  'private.why_no_invoice. clients counts CPO clients that are not disabled.';

create function private.partner_log(before bigint, size int, skip int)
returns table (id bigint, at timestamptz, actor text, action text, subject_id uuid, details jsonb)
language sql stable security definer
as $$
  select a.id, a.at, a.actor, a.action, a.subject_id, a.details from core.audit_log a
   where a.partner_id = private.partner_id() and a.actor ~ '^(partner|operator)' and a.id < coalesce(partner_log.before,
       9223372036854775807)
   order by a.id desc limit size offset skip
$$;
comment on function private.partner_log(bigint, int, int) is
  'What a partner''s people, its key and the operator did for it, newest first, below an id. It leaves out its clients '
  'and customers. Definer, because api functions append to the audit log and read nothing.';

create function api.read_portal_log(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  size constant int := (query ->> 'limit')::int;
begin
  perform private.act_as(caller, 'partner');
  return (
    with page as (
      select l.*, row_number() over (order by l.id desc) <= size as shown
        from private.partner_log((query ->> 'before')::bigint, size + 1, coalesce((query ->> 'skip')::int, 0)) l
    )
    select json_build_object(
      'who', private.portal_who(),
      'total', case when query ? 'skip' then (select count(*) from private.partner_log(null, 10001, 0)) end,
      'changes', (select coalesce(json_agg(json_build_object(
                    'at', private.iso(s.at),
                    'action', s.action,
                    'by', case when s.actor ~ '^operator' then 'operator' when s.details ? 'manager_id' then 'person'
                               else 'key' end,
                    'email', (private.user_profile((s.details ->> 'manager_id')::uuid)).email,
                    'subject_id', s.subject_id,
                    'about', coalesce(
                      (select coalesce(d.company_name, d.contact_name, d.name, d.email) from core.drafts d
                       where d.partner_id = private.partner_id() and d.id = s.subject_id),
                      (select e.url from core.webhook_endpoints e where e.partner_id = private.partner_id()
                       and e.id = s.subject_id),
                      (select c.name from private.cpo_clients() c where c.id = s.subject_id),
                      (select i.email from core.manager_invitations i where i.partner_id = private.partner_id()
                       and i.id = s.subject_id),
                      case when s.action ~ '^partner[.]manager_' then (private.user_profile(s.subject_id)).email end),
                    'details', s.details - 'manager_id') order by s.id desc), '[]') from page s where s.shown),
      'before', (select (min(s.id) filter (where s.shown))::text from page s having not bool_and(s.shown))));
end $$;
comment on function api.read_portal_log(jsonb, jsonb) is
  'What was changed for a partner, newest first: {before, skip, limit} to {who, total, changes: [{at, action, by: '
  'person | key | operator, email, subject_id, about, details}], before}. Send before, or skip, for a next page; '
  'before is null at the end. about names a draft, a webhook or a manager that is still there. total is null without '
  'skip, and stops at 10001. email is null for a login that is gone.';

create function api.read_portal_webhooks(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object(
    'who', private.portal_who(),
    'signed_in_recently', private.signed_in_recently(),
    'webhooks', private.own_webhooks());
end $$;
comment on function api.read_portal_webhooks(jsonb) is
  'Where the events of a partner are sent, as its pages show it: {who, signed_in_recently, webhooks}, the oldest '
  'first.';

create function api.read_portal_webhook(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  endpoint core.webhook_endpoints;
begin
  perform private.act_as(caller, 'partner');
  endpoint := private.shown_webhook(query ->> 'webhook_id');
  return json_build_object(
    'who', private.portal_who(),
    'signed_in_recently', private.signed_in_recently(),
    'webhook', private.webhook_json(endpoint),
    'previous_until', case when endpoint.previous_until > private.now() then private.iso(endpoint.previous_until) end,
    'retries', (select json_build_object('waiting', count(r.next_attempt_at),
                                         'given_up', count(*) - count(r.next_attempt_at))
                  from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id),
    'attempts_total', (select count(*) from (select from core.webhook_attempts a
                                              where a.partner_id = endpoint.partner_id
                                                  and a.endpoint_id = endpoint.id limit 10001) a),
    'attempts', private.newest_attempts(endpoint, (query ->> 'limit')::int, coalesce((query ->> 'skip')::int, 0)));
end $$;
comment on function api.read_portal_webhook(jsonb, jsonb) is
  'An endpoint of a partner''s own log and its latest attempts: {webhook_id, skip, limit} to {who, signed_in_recently, '
  'webhook, previous_until, retries: {waiting, given_up}, attempts_total, attempts}. attempts_total stops at 10001. '
  'previous_until is null if one secret signs.';
