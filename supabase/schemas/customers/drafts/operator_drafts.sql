-- The operator on drafts: list.

create function ops.draft_list(input jsonb) returns json
language plpgsql security definer
as $$
declare
  chosen constant text := input ->> 'status';
  most   constant int  := coalesce((input ->> 'limit')::int, 20);
  tenant uuid;
  found  json;
begin
  perform private.act_as_operator(input);
  if input ->> 'partner' is not null then
    tenant := (private.business_named(input)).id;
  end if;
  found := (
    select coalesce(json_agg(json_build_object(
             'draft_id', d.id, 'partner_slug', p.slug, 'status', private.draft_status(d), 'conflict_reason',
                 d.conflict_reason, 'type', d.type,
             'name', coalesce(d.contact_name, d.name, d.company_name), 'email', d.email, 'external_ref', d.external_ref,
                 'ean_status', d.ean_status,
             'open_step', case when d.status = 'claimed' then private.claim_open_step(d) end, 'reminders_sent',
                 d.reminders_sent,
             'created_at', private.iso(d.created_at), 'claimed_at', private.iso(d.claimed_at), 'expires_at',
                 private.iso(d.expires_at))
             order by d.created_at desc, d.id desc), '[]')
      from (
        select d.* from (
          -- status by status, each of which an index has newest first
          select l.* from unnest(case when chosen is null then array['invited', 'claimed', 'expired', 'conflict',
                                                                     'active'] else array[chosen] end) as s (status)
            cross join lateral (
              select d.* from core.drafts d
               where d.status = s.status and (tenant is null or d.partner_id = tenant)
                 and (chosen is null or d.status <> 'invited' or d.expires_at > private.now())
               order by d.created_at desc, d.id desc limit most) l
          union all
          -- expired, and not written down by the job yet
          (select d.* from core.drafts d
            where chosen = 'expired' and d.status = 'invited' and d.expires_at <= private.now()
                and (tenant is null or d.partner_id = tenant)
            order by d.created_at desc, d.id desc limit most)) d
        order by d.created_at desc, d.id desc limit most) d
      join core.partners p on p.id = d.partner_id);
  if json_array_length(found) > 0 then
    perform private.audit('drafts.listed', tenant, jsonb_build_object('drafts', json_array_length(found)));
  end if;
  return json_build_object('drafts', found);
end $$;
comment on function ops.draft_list(jsonb) is
  'Drafts, newest first: {partner?, status?, limit?} to {drafts}. It shows customers, so it leaves an audit row.';
