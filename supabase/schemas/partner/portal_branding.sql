-- What the page about a partner's brand shows. The Partner API's functions and set_partner_logo (settings.sql) change it.

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
  'How a partner looks to its customers: {who, branding, brand}. branding is as POST /partner/branding took it, brand is private.partner_brand.';
