-- Logos of partners, as packages/shared/src/domain/logo/logo.ts wrote them, shown at an address that names their content.

create function private.logo_at(address bytea) returns text
language plpgsql stable security definer
as $$
begin
  return (select encode(l.png, 'base64') from core.partner_logos l where l.hash = address limit 1);
end $$;
comment on function private.logo_at(bytea) is
  'The PNG of a hash as base64, or null. Definer, because a mail shows it to any reader, and only a reader knows the hash.';

create function api.read_logo(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'anyone');
  return json_build_object('png', private.logo_at(decode(request ->> 'hash', 'hex')));
end $$;
comment on function api.read_logo(jsonb, jsonb) is 'The picture at the address of a logo: {hash} to {png}, base64, null if there is none.';
