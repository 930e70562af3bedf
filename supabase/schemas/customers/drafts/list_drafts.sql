-- GET /partner/drafts.

create function api.list_drafts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  links      constant jsonb   := query -> 'links';
  disclosing boolean;
begin
  perform private.act_as(caller, 'partner');
  disclosing := private.is_partner_itself();
  return (
    select json_build_object('drafts', coalesce(json_agg(row_to_json(r) order by d.created_at desc, d.id desc), '[]'))
      from core.drafts d
      cross join lateral (select private.draft_status(d) as status,
                          disclosing or d.status not in ('claimed', 'active') as disclosed) s
      -- rows, and not json_build_object: that looks the type of each of its arguments up for each draft
      cross join lateral (
        select d.id as draft_id,
               s.status,
               d.type,
               case when s.disclosed then d.name end as naam,
               case when s.disclosed then d.email end as email,
               case when s.disclosed then d.external_ref end as external_ref,
               d.city,
               d.ean_status,
               jsonb_array_length(d.ean_candidates) as ean_candidates,
               case when s.disclosed and s.status in ('invited', 'claimed') then private.claim_url(d.id, links)
                    end as claim_url,
               d.batch_id,
               private.iso(d.created_at) as created_at,
               private.iso(d.invited_at) as invited_at,
               private.iso(d.claimed_at) as claimed_at,
               private.iso(d.expires_at) as expires_at,
               private.iso(d.mail_failed_at) as mail_failed_at,
               d.mail_failed_reason) r
     where d.partner_id = private.partner_id()
       and (query ->> 'external_ref' is null or s.disclosed and d.external_ref = query ->> 'external_ref')
       and (query ->> 'status' is null or s.status = query ->> 'status'));
end $$;
comment on function api.list_drafts(jsonb, jsonb) is
  'GET /partner/drafts: {external_ref, status, links} to {drafts}, newest first. claim_url is null unless the draft '
  'can be claimed. An application that a person let in sees no identity and no link of a claimed draft, as in '
  'private.customer_page.';
