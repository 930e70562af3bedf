-- GET /sandbox/v1/mail.

create function private.signs_for_alone(partner uuid, address text) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return not exists (select from auth.users u where u.email = address)
     and (select bool_and(a.partner_id = partner) from private.signed_accounts(address) a);
end $$;
comment on function private.signs_for_alone(uuid, text) is
  'Whether a code that is mailed to an address opens accounts of CPO clients of a partner and nothing else: no login, no account elsewhere. Definer, because it looks across tenants.';

create function private.is_nobody_elses(partner uuid, address text) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return not exists (select from auth.users u where u.email = address and u.raw_app_meta_data ->> 'claimed_for' is distinct from partner::text)
     and coalesce((select bool_and(a.partner_id = partner) from private.signed_accounts(address) a), true);
end $$;
comment on function private.is_nobody_elses(uuid, text) is
  'Whether who proves an address becomes nobody but a person of the partner: there is no login but one that a claim of its drafts made, and no account of another''s client. Definer, because it looks across tenants.';

create function private.captured_mail(partner uuid, address text, size int) returns setof core.mail_outbox
language sql stable security definer
set search_path = ''
as $$
  select m.* from core.mail_outbox m
   where m.status = 'captured' and (address is null or m.recipient = address)
     and (m.partner_id = partner
          -- an invitation to manage it, and its code, sign in as whoever has the address
          and (m.cause !~ '^(manager_invitation|invitation_code):' or private.is_nobody_elses(partner, m.recipient))
          -- what the service writes to its customers itself: a code to sign in with
          or m.partner_id = private.house() and (
               exists (select from auth.users u
                        where u.email = m.recipient and u.is_sso_user = false and u.raw_app_meta_data ->> 'claimed_for' = partner::text)
               or private.signs_for_alone(partner, m.recipient)))
   order by m.created_at desc, m.id desc limit size
$$;
comment on function private.captured_mail(uuid, text, int) is
  'Mail written on a partner''s behalf, and to the logins that claims of its drafts made and the signatories of its CPO accounts, newest first. Definer, because the latter is in the house.';
grant execute on function private.captured_mail(uuid, text, int) to api_owner;

create function api.list_captured_mail(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  return (
    select json_build_object('mail', coalesce(json_agg(json_build_object(
        'id', m.id, 'captured_at', private.iso(m.created_at), 'to', m.recipient, 'from', query ->> 'from', 'subject', m.subject,
        'template', m.template, 'links', m.links, 'html', m.html, 'text', m.text) order by m.created_at desc, m.id desc), '[]'))
      from private.captured_mail(private.partner_id(), query ->> 'to', (query ->> 'limit')::int) m);
end $$;
comment on function api.list_captured_mail(jsonb, jsonb) is
  'GET /sandbox/v1/mail: {to, limit, from} to {mail}, newest first: every mail written on behalf of the partner, its CPO accounts'' mandates included, and its customers'' codes to sign in.';
select private.expose('api.list_captured_mail(jsonb, jsonb)');
