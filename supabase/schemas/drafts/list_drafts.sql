-- GET /partner/drafts.

create function api.list_drafts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  links      constant jsonb   := query -> 'links';
  disclosing boolean;
begin
  perform private.act_as(caller, 'partner');
  disclosing := private.manager_id() is null;
  return (
    select json_build_object('drafts', coalesce(json_agg(json_build_object(
        'draft_id', d.id,
        'status', s.status,
        'type', d.type,
        'naam', case when s.disclosed then d.name end,
        'email', case when s.disclosed then d.email end,
        'external_ref', case when s.disclosed then d.external_ref end,
        'city', d.city,
        'ean_status', d.ean_status,
        'ean_candidates', jsonb_array_length(d.ean_candidates),
        'claim_url', case when s.disclosed and s.status in ('invited', 'claimed') then private.claim_url(d.id, links) end,
        'batch_id', d.batch_id,
        'created_at', private.iso(d.created_at),
        'invited_at', private.iso(d.invited_at),
        'claimed_at', private.iso(d.claimed_at),
        'expires_at', private.iso(d.expires_at)) order by d.created_at desc, d.id desc), '[]'))
      from core.drafts d
      cross join lateral (select private.draft_status(d) as status, disclosing or d.status not in ('claimed', 'active') as disclosed) s
     where d.partner_id = private.partner_id()
       and (query ->> 'external_ref' is null or s.disclosed and d.external_ref = query ->> 'external_ref')
       and (query ->> 'status' is null or s.status = query ->> 'status'));
end $$;
comment on function api.list_drafts(jsonb, jsonb) is 'GET /partner/drafts: {external_ref, status, links} to {drafts}, newest first. claim_url is null unless the draft can be claimed. For a person (manager_id) a draft that was claimed has no identity and no link, as its customer has none in private.customer_page.';
select private.expose('api.list_drafts(jsonb, jsonb)');
