-- People: logins of Supabase Auth, and the partner that brought each of them.

create function private.user_profile(person uuid, out email text, out name text, out created_at timestamptz)
language sql stable security definer
set search_path = ''
as $$
  select u.email, coalesce(u.raw_user_meta_data ->> 'full_name', u.raw_user_meta_data ->> 'name'), u.created_at
    from auth.users u where u.id = person and u.deleted_at is null
$$;
comment on function private.user_profile(uuid) is
  'E-mail, name and age of a login, all null when it is gone. Definer, because logins belong to Supabase Auth; we keep no copy.';
grant execute on function private.user_profile(uuid) to api_owner;

create function private.login_stands(person uuid) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (select from auth.users u
                  where u.id = person and u.deleted_at is null and (u.banned_until is null or u.banned_until <= private.now()));
end $$;
comment on function private.login_stands(uuid) is
  'Whether a login is there and not banned: no credential of a person is worth more than that. Supabase Auth deletes by a mark alone where it is told so. Definer, because logins belong to it.';
grant execute on function private.login_stands(uuid) to api_owner;

create function private.signed_in_at(person uuid, session uuid) returns timestamptz
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select s.created_at from auth.sessions s
           where s.id = session and s.user_id = person and (s.not_after is null or s.not_after > private.now()));
end $$;
comment on function private.signed_in_at(uuid, uuid) is
  'When a person signed in, or null where that session has ended: signing out deletes its row, while its JWT lives on for an hour. Definer, because sessions belong to Supabase Auth.';
grant execute on function private.signed_in_at(uuid, uuid) to api_owner;

create function private.login_at(address text) returns uuid
language sql stable security definer
set search_path = ''
as $$
  select u.id from auth.users u
   where u.email = address and not u.is_sso_user and private.login_stands(u.id)
$$;
comment on function private.login_at(text) is
  'The login at an address that a mailed code opens, or null; private.prove_login says what becomes of one that a stranger may have made. Definer, because logins belong to Supabase Auth.';
grant execute on function private.login_at(text) to api_owner;

create table core.attributions (
  partner_id     uuid        not null,
  user_id        uuid        not null,
  source         text        not null,
  external_ref   text,
  attached_month date        not null,
  created_at     timestamptz not null default private.now(),
  constraint attributions_pkey primary key (partner_id, user_id),
  constraint attributions_user_id_key unique (user_id),
  constraint attributions_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint attributions_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint attributions_not_to_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint attributions_source_known
    check (source in ('partner_upload', 'partner_invite', 'referral_link', 'referral_code', 'oauth_consent', 'manual')),
  constraint attributions_attached_month_is_month check (attached_month = date_trunc('month', attached_month))
);
comment on table core.attributions is
  'Which partner brought a person: at most one, never overwritten. Only partner_upload and partner_invite disclose who it is. Ends with the login or when the person stops sharing.';
select private.isolate('core.attributions', 'select');
select private.keep_to_owner('core.attributions', 'user_id');
-- what a partner itself asked for, a reset or a withdrawal, it knows
create trigger tell_sharing_ended after delete on core.attributions for each row
  when (current_setting('app.caller_kind', true) is distinct from 'partner') execute function private.tell_sharing_ended();
-- serves: the customers of a partner, newest first
create index attributions_newest on core.attributions (partner_id, created_at desc, user_id desc);
-- serves: those of a month, in the partner's portal
create index attributions_by_month on core.attributions (partner_id, attached_month, created_at desc, user_id desc);
-- serves: a customer by the beginning of the partner's own reference
create index attributions_reference on core.attributions (partner_id, lower(external_ref) text_pattern_ops) where external_ref is not null;

create function private.claim_customer(person uuid, partner uuid, source text, external_ref text default null) returns text
language plpgsql security definer
set search_path = ''
as $$
begin
  insert into core.attributions (partner_id, user_id, source, external_ref, attached_month)
  select p.id, person, claim_customer.source, claim_customer.external_ref, date_trunc('month', private.today())::date
    from core.partners p where p.id = partner and p.is_active
  -- whoever came a moment ago: of this partner, or of another one
  on conflict do nothing;
  return case when found then 'new'
              when exists (select from core.attributions a where a.user_id = person and a.partner_id = partner) then 'own' end;
end $$;
comment on function private.claim_customer(uuid, uuid, text, text) is
  'Attributes a person to an active partner unless somebody has them already: new, own where that is this partner, else null. Definer, because it looks across tenants.';
grant execute on function private.claim_customer(uuid, uuid, text, text) to api_owner;

create table core.ended_attributions (
  partner_id     uuid        not null,
  user_id        uuid        not null,
  attached_month date        not null,
  last_month     date        not null,
  ended_at       timestamptz not null default private.now(),
  constraint ended_attributions_pkey primary key (partner_id, user_id, attached_month),
  constraint ended_attributions_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint ended_attributions_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint ended_attributions_months check (attached_month <= last_month)
);
comment on table core.ended_attributions is
  'Who brought a person until they stopped sharing: what they charged in these months goes on to count for the partner, also what is booked later. It discloses nothing. Ends with the login.';
-- serves: the partner of a month that is booked, and the deletion of a login
create index ended_attributions_user on core.ended_attributions (user_id);
select private.isolate('core.ended_attributions', 'select');
select private.keep_to_owner('core.ended_attributions', 'user_id');

create function private.stop_sharing(person uuid, partner uuid) returns boolean
language plpgsql security definer
set search_path = ''
as $$
declare
  ended core.attributions;
begin
  delete from core.attributions a where a.user_id = person and a.partner_id = partner returning * into ended;
  if ended.user_id is null then
    return false;
  end if;
  -- this month is not over, and was not shared whole
  insert into core.ended_attributions (partner_id, user_id, attached_month, last_month)
  select partner, person, ended.attached_month, (date_trunc('month', private.today()) - interval '1 month')::date
   where ended.attached_month < date_trunc('month', private.today())
  on conflict on constraint ended_attributions_pkey do update set last_month = excluded.last_month, ended_at = private.now();
  perform private.audit('user.sharing_stopped', person, jsonb_build_object('with', partner));
  return true;
end $$;
comment on function private.stop_sharing(uuid, uuid) is
  'Ends the attribution of a person; whether there was one. Definer, because attributions are otherwise only read.';
grant execute on function private.stop_sharing(uuid, uuid) to api_owner;

create function private.brought_by_then(person uuid, month date) returns uuid
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select e.partner_id from core.ended_attributions e
           where e.user_id = person and month between e.attached_month and e.last_month order by e.ended_at desc limit 1);
end $$;
comment on function private.brought_by_then(uuid, date) is
  'The partner that a month of a person counts for though they have stopped sharing since; null where it is nobody. Definer, because it looks across tenants.';
