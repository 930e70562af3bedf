-- Logos of partners: kept by us, as packages/shared/src/domain/logo/logo.ts wrote them, and shown at an address that names their content.

create table core.partner_logos (
  partner_id  uuid        not null,
  hash        bytea       not null,
  png         bytea       not null,
  width       int         not null,
  height      int         not null,
  created_at  timestamptz not null default private.now(),
  replaced_at timestamptz,
  constraint partner_logos_pkey primary key (partner_id, hash),
  constraint partner_logos_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint partner_logos_hash_is_of_png check (hash = sha256(png)),
  constraint partner_logos_size check (length(png) <= 307200 and width between 1 and 200 and height between 1 and 48)
);
comment on table core.partner_logos is
  'The logo of a partner, and those it replaced, which mail that was sent still shows: the last ten, for 90 days.';
comment on column core.partner_logos.width is 'How wide it is shown, in CSS pixels; height likewise.';
-- serves: the logo that is shown now
create unique index partner_logos_shown on core.partner_logos (partner_id) where replaced_at is null;
-- serves: the picture at an address
create index partner_logos_hash on core.partner_logos (hash);
select private.isolate('core.partner_logos', 'select, insert, update, delete');

create function private.logo_at(address bytea) returns text
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select encode(l.png, 'base64') from core.partner_logos l where l.hash = address limit 1);
end $$;
comment on function private.logo_at(bytea) is
  'The PNG of a hash as base64, or null. Definer, because a mail shows it to whoever opens it: nobody finds a hash but who was shown it.';
grant execute on function private.logo_at(bytea) to api_owner;

create function api.read_logo(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'anyone');
  return json_build_object('png', private.logo_at(decode(request ->> 'hash', 'hex')));
end $$;
comment on function api.read_logo(jsonb, jsonb) is 'The picture at the address of a logo: {hash} to {png}, base64, null where there is none.';
select private.expose('api.read_logo(jsonb, jsonb)');
