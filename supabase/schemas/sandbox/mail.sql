-- GET /sandbox/v1/mail.

-- Whether an address belongs to nobody but this partner now: no other tenant has a login, draft or account there. Only
-- definers call it.
create function private.is_nobody_elses(partner uuid, address text) returns boolean
language plpgsql stable
as $$
begin
  return not exists (
    select from auth.users u
     where u.email = address
       and (u.raw_app_meta_data ->> 'claimed_for' is distinct from partner::text
            or exists (select from core.partner_managers m where m.user_id = u.id and m.partner_id <> partner)
            or exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
            or exists (select from core.ended_attributions a where a.user_id = u.id and a.partner_id <> partner)
            -- what a person owns in the people's tenant is the reader's where the reader alone brought that person
            or exists (select from core.accounts a where a.user_id = u.id)
               and not exists (select from core.attributions a where a.user_id = u.id and a.partner_id = partner)))
     and not exists (
    select from core.signatories s
      join core.accounts a on a.partner_id = s.partner_id and a.id = s.account_id
     where s.email = address and s.partner_id <> partner
       and not exists (select from core.attributions t where t.user_id = a.user_id and t.partner_id = partner))
     and not exists (
    select from core.manager_invitations i
     where i.email = address and i.partner_id <> partner and i.used_at is null and i.withdrawn_at is null
         and i.expires_at > private.now());
end $$;

create function private.captured_mail(partner uuid, address text, size int) returns setof core.mail_outbox
language sql stable security definer
as $$
  select m.* from core.mail_outbox m
   where m.status = 'captured' and (address is null or m.recipient = address)
     and (m.partner_id = partner
          -- these hold no code, and no link but one that its own API answers to the partner
          and (m.template in ('mandate_link', 'managers_changed', 'customer_withdrew', 'contact_changed',
                              'iban_changed', 'key_minted', 'webhook_failing', 'webhook_disabled',
                              'ocpi_pull_failed')
               or private.is_nobody_elses(partner, m.recipient))
          -- what the service writes to the partner's customers itself: a code to sign in with
          or m.partner_id = private.people_tenant() and private.is_nobody_elses(partner, m.recipient)
             and (exists (select from auth.users u where u.email = m.recipient)
                  or exists (select from private.signed_accounts(m.recipient))))
   order by m.created_at desc, m.id desc limit size
$$;
comment on function private.captured_mail(uuid, text, int) is
  'Mail written for a partner, and the service''s own to customers that the partner alone brought, newest first. A '
  'code or link is shown only while its address is nobody else''s: docs/attacks.md lists each. Definer, because it '
  'looks across tenants.';

create function api.list_captured_mail(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  return (
    select json_build_object('mail', coalesce(json_agg(json_build_object(
        'id', m.id, 'captured_at', private.iso(m.created_at), 'to', m.recipient, 'from', query ->> 'from',
        'template', m.template, 'locale', m.locale, 'content', m.content) order by m.created_at desc, m.id desc), '[]'))
      from private.captured_mail(private.partner_id(), query ->> 'to', (query ->> 'limit')::int) m);
end $$;
comment on function api.list_captured_mail(jsonb, jsonb) is
  'GET /sandbox/v1/mail: {to, limit, from} to {mail: [{id, captured_at, to, from, template, locale, content}]}, newest '
  'first. It has every mail written for the partner, also about its CPO accounts'' mandates, and its customers'' '
  'sign-in codes.';
