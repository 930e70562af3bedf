-- What the page about a partner's brand shows; it is changed by what the Partner API runs, and by set_partner_logo (settings.sql).

create function api.read_portal_branding(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object(
    'who', private.portal_who(),
    'branding', private.partner_answer() -> 'branding',
    'brand', private.partner_brand(private.own_partner()));
end $$;
comment on function api.read_portal_branding(jsonb) is
  'How a partner looks to its customers: {who, branding, brand}, branding as POST /partner/branding took it, brand as private.partner_brand makes of it.';
select private.expose('api.read_portal_branding(jsonb)');
