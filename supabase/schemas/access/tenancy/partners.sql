-- Partners: the tenants, and the service's own tenant among them, which people own their data in. Logos are as
-- packages/shared/src/domain/logo/logo.ts wrote them.

-- Notes when an IBAN changes, whoever changes it. Encrypting it again counts as a change.
create function private.note_iban_change() returns trigger
language plpgsql
as $$
begin
  new.iban_changed_at := private.now();
  return new;
end $$;
create trigger note_iban_change before update of iban_ciphertext on core.partners for each row
  when (new.iban_ciphertext is distinct from old.iban_ciphertext) execute function private.note_iban_change();

-- Whether a text is a host name (RFC 1123, IDNA in its ASCII form) or an IPv4 address.
create function private.is_host_name(host text) returns boolean
language sql immutable parallel safe
-- collate "C": a range of letters is of ASCII alone
return length(host) <= 253
   and (host collate "C" ~ '^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,'
                           '61}[A-Za-z0-9])?$'
        and host collate "C" !~ '(^|\.)[0-9]+$'
        or host collate "C" ~ '^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(?!$)|$)){4}$');

-- The root of return URLs: https, or http on this machine, without credentials, query or fragment. Null for anything
-- else.
create function private.return_root(url text) returns text
language plpgsql immutable
as $$
declare
  -- return URLs continue with / or ?, so a slash at the end would allow none
  wanted constant text := rtrim(url, '/');
begin
  return case when length(wanted) <= 500
               and wanted ~ '^(https://[^/?#@:[:space:][:cntrl:]]+(:[0-9]{1,5})?|http://(localhost|'
                            '127\.0\.0\.1)(:[0-9]{1,5})?)(/[^?#[:space:][:cntrl:]]*)?$'
               and private.is_host_name(substring(wanted from '^https?://([^/:]+)')) then wanted end;
end $$;

create function private.active_partner(partner uuid) returns uuid
language plpgsql stable security definer
as $$
begin
  return (select p.id from core.partners p where p.id = active_partner.partner and p.is_active);
end $$;
comment on function private.active_partner(uuid) is
  'The partner if it is active, else null; definer because admission runs before a tenant is set.';

create function private.partner_display_name(partner core.partners) returns text
language plpgsql stable
as $$ begin return coalesce(partner.branding ->> 'display_name', partner.name); end $$;

-- How pages and mail name a partner: {name, reply_to, color, logo}. color is #rrggbb or null; logo is {hash, width,
-- height} or null.
create function private.partner_brand(partner core.partners) returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object(
    'name', private.partner_display_name(partner),
    'reply_to', nullif(partner.branding ->> 'reply_to', ''),
    'color', lower(partner.branding ->> 'primary_color'),
    'logo', (select jsonb_build_object('hash', encode(l.hash, 'hex'), 'width', l.width, 'height', l.height)
               from core.partner_logos l where l.partner_id = partner.id and l.replaced_at is null));
end $$;

create function private.logo_at(address bytea) returns text
language plpgsql stable security definer
as $$
begin
  return (select encode(l.png, 'base64') from core.partner_logos l where l.hash = address limit 1);
end $$;
comment on function private.logo_at(bytea) is
  'The PNG of a hash as base64, or null. Definer, because a mail shows it to any reader, and only a reader knows the '
  'hash.';

create function api.read_logo(caller jsonb, request jsonb) returns json
language sql stable security definer
as $$ select private.act_as(caller,
                            'anyone'); select json_build_object('png',
                                                                private.logo_at(decode(request ->> 'hash', 'hex'))); $$;
comment on function api.read_logo(jsonb, jsonb) is
  'The picture at the address of a logo: {hash} to {png}, base64, null if there is none.';

-- The tenant of this transaction, read through row-level security.
create function private.own_partner() returns core.partners
language plpgsql stable
as $$ begin return (select p from core.partners p where p.id = private.partner_id()); end $$;
