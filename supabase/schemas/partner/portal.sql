-- What the pages of a partner show the people who manage it: one statement a page.

-- Who is signed in to the pages of a partner, and for whom: {email, partner_name}.
create function private.portal_who() returns json
language sql stable
as $$
  select json_build_object('email', (private.user_profile(private.manager_id())).email,
                           'partner_name', private.partner_display_name(private.own_partner()))
$$;
