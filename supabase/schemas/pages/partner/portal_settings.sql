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
  'invoices_need, webhooks, clients}, partner as GET /partner/me, invoices_need as '
  'private.why_no_invoice. clients counts CPO clients that are not disabled; webhooks is '
  'private.webhooks_counted.';

create function private.partner_log(before bigint, size int)
returns table (id bigint, at timestamptz, actor text, action text, subject_id uuid, details jsonb)
language sql stable security definer
as $$
  select a.id, a.at, a.actor, a.action, a.subject_id, a.details from core.audit_log a
   where a.partner_id = private.partner_id() and a.actor ~ '^(partner|operator)' and a.id < coalesce(partner_log.before,
       9223372036854775807)
   order by a.id desc limit size
$$;
comment on function private.partner_log(bigint, int) is
  'What a partner''s people, its key and the operator did for it, newest first, below an id. It leaves out its clients '
  'and customers. Definer, because api functions append to the audit log and read nothing.';

-- What a change was about, by name, where it is still there: a draft, a webhook, a CPO client or a colleague.
create function private.change_about(action text, subject uuid) returns text
language sql stable
as $$
  select case
    when action like 'draft.%' then (select coalesce(d.company_name, d.contact_name, d.name, d.email) from core.drafts d
                                      where d.partner_id = private.partner_id() and d.id = subject)
    when action like 'webhook.%' then (select e.url from core.webhook_endpoints e
                                        where e.partner_id = private.partner_id() and e.id = subject)
    when action ~ '^(client|rate_limit)[.]' then (select c.name from private.cpo_clients() c where c.id = subject)
    when action like 'partner.manager%' then coalesce(
      (select i.email from core.manager_invitations i where i.partner_id = private.partner_id() and i.id = subject),
      (private.user_profile(subject)).email) end
$$;

create function api.read_portal_log(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  size  constant int  := (query ->> 'limit')::int;
  words constant text := lower(query ->> 'q');
begin
  perform private.act_as(caller, 'partner');
  return (
    with newest as (
      select l.*, case when l.actor ~ '^operator' then 'operator' when l.details ? 'manager_id' then 'person'
                       else 'key' end as by
        from private.partner_log((query ->> 'before')::bigint, case when query ? 'skip' then 10001 else size + 1 end) l
    ), manager as (
      select m.id, (private.user_profile(m.id)).email
        from (select distinct (n.details ->> 'manager_id')::uuid as id from newest n) m
    ), found as (
      select n.*, m.email from newest n left join manager m on m.id = (n.details ->> 'manager_id')::uuid
       where words is null or query -> 'actions' ? n.action or position(words in lower(m.email)) > 0
          or position(words in lower(private.change_about(n.action, n.subject_id))) > 0
    ), page as (
      select f.*, row_number() over (order by f.id desc) <= size as shown
        from (select * from found f where f.by = coalesce(query ->> 'by', f.by)
               order by f.id desc limit size + 1 offset coalesce((query ->> 'skip')::int, 0)) f
    )
    select json_build_object(
      'who', private.portal_who(),
      'counts', case when query ? 'skip' then (select json_build_object(
                  'person', count(*) filter (where f.by = 'person'), 'key', count(*) filter (where f.by = 'key'),
                  'operator', count(*) filter (where f.by = 'operator')) from found f) end,
      'changes', (select coalesce(json_agg(json_build_object(
                    'at', private.iso(s.at), 'action', s.action, 'by', s.by, 'email', s.email,
                    'subject_id', s.subject_id, 'about', private.change_about(s.action, s.subject_id),
                    'details', s.details - 'manager_id') order by s.id desc), '[]') from page s where s.shown),
      'before', (select (min(s.id) filter (where s.shown))::text from page s having not bool_and(s.shown))));
end $$;
comment on function api.read_portal_log(jsonb, jsonb) is
  'What was changed for a partner, newest first: {before, skip, limit, by, q, actions} to {who, counts, changes: [{at, '
  'action, by: person | key | operator, email, subject_id, about, details}], before}. Send before, or skip, for a next '
  'page; before is null at the end. by, and q in a name or an address or of an action among actions, choose among the '
  'newest 10,001, which skip counts. about names a draft, a webhook or a manager that is still there. counts is null '
  'without skip. email is null for a login that is gone.';

create function api.read_portal_webhooks(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object(
    'who', private.portal_who(),
    'signed_in_recently', private.signed_in_recently(),
    'webhooks', private.own_webhooks(),
    'clients', (select coalesce(json_agg(json_build_object(
                         'id', c.id, 'name', c.name, 'webhooks', private.webhooks_counted(c.id)) order by c.created_at,
                         c.id), '[]')
                  from private.cpo_clients() c where c.disabled_at is null));
end $$;
comment on function api.read_portal_webhooks(jsonb) is
  'Where the events of a partner are sent, as its pages show it: {who, signed_in_recently, webhooks, clients: [{id, '
  'name, webhooks}]}, the oldest first. clients have webhooks of their own, as private.webhooks_counted.';

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
