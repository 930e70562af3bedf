-- The operator on EANs that the EAN register has not confirmed: list.

create function ops.ean_list(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  failed constant boolean := coalesce((input ->> 'failed')::boolean, false);
  found  json;
begin
  perform private.act_as_operator(input);
  found := (
    with unconfirmed as (
      select 'connection' as kind, c.id, p.slug, c.ean_code, l.postal_code, l.house_number, l.house_number_addition,
             c.ean_validation_status as status, k.outcome, k.reason, k.checked_at
        from core.connections c
        join core.partners p on p.id = c.partner_id
        join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
        left join lateral (
          select * from core.ean_checks k where k.partner_id = c.partner_id and k.connection_id = c.id order by k.id desc limit 1) k on true
       where c.status = 'active' and coalesce(c.ean_validation_status not in ('matched', 'manual'), true)
         and (not failed or c.ean_validation_status in ('mismatch', 'not_found') or k.outcome = 'unavailable')
      union all
      select 'draft', d.id, p.slug, d.ean, d.postal_code, d.house_number, d.house_number_addition, d.ean_status, null, null, d.ean_looked_up_at
        from core.drafts d join core.partners p on p.id = d.partner_id
       where private.draft_status(d) in ('invited', 'claimed')
         and (d.ean_status in ('failed', 'not_found') or not failed and d.ean_status in ('pending', 'ambiguous'))
    )
    select coalesce(json_agg(json_build_object(
             'kind', u.kind, 'id', u.id, 'partner_slug', u.slug, 'ean_code', u.ean_code,
             'address', concat_ws(' ', u.postal_code, u.house_number, u.house_number_addition), 'status', u.status, 'outcome', u.outcome,
             'reason', u.reason, 'checked_at', private.iso(nullif(u.checked_at, '-infinity'))) order by u.checked_at nulls first, u.id), '[]')
      from (select * from unconfirmed u order by u.checked_at nulls first, u.id limit coalesce((input ->> 'limit')::int, 50)) u);
  if json_array_length(found) > 0 then
    perform private.audit('eans.listed', null, jsonb_build_object('eans', json_array_length(found)));
  end if;
  return json_build_object('eans', found);
end $$;
comment on function ops.ean_list(jsonb) is
  'What of connections and open drafts the EAN register has not confirmed, longest ago first: {failed?, limit?} to {eans}. failed: what it denied, or could not be asked. Leaves an audit row, for it shows addresses.';
select private.expose_ops('ops.ean_list(jsonb)');
