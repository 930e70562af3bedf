-- The operator on EANs that the EAN register has not confirmed: list.

-- Active connections that the EAN register denied or has not confirmed. failed: of the latter only those it did not
-- answer for.
create function private.unconfirmed_connections(failed boolean, size int) returns json
language sql stable
as $$
  select json_agg(json_build_object(
           'kind', 'connection', 'id', c.id, 'partner_slug', p.slug, 'ean_code', c.ean_code,
           'address', concat_ws(' ', l.postal_code, l.house_number, l.house_number_addition),
           'status', c.ean_validation_status, 'outcome', k.outcome, 'reason', k.reason, 'checked_at',
               private.iso(k.checked_at))
           order by c.ean_checked_at, c.id)
    from (
      select u.* from (
        (select d.* from core.connections d
          where d.status = 'active' and d.ean_validation_status in ('mismatch', 'not_found') order by d.ean_checked_at,
              d.id limit size)
        union all
        (select d.* from core.connections d
          where d.status = 'active' and d.ean_validation_status = 'unverified'
            and (not failed or 'unavailable' = (
              select k.outcome from core.ean_checks k where k.partner_id = d.partner_id and k.connection_id = d.id
                order by k.id desc limit 1))
          order by d.ean_checked_at limit size)) u
      order by u.ean_checked_at, u.id limit size) c
    join core.partners p on p.id = c.partner_id
    join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
    left join lateral (
      select * from core.ean_checks k where k.partner_id = c.partner_id and k.connection_id = c.id
        order by k.id desc limit 1) k on true
$$;

-- Open drafts without an EAN, oldest first. failed: only drafts whose EAN was not found, or whose look-up failed.
create function private.unconfirmed_drafts(failed boolean, size int) returns json
language sql stable
as $$
  select json_agg(json_build_object(
           'kind', 'draft', 'id', d.id, 'partner_slug', p.slug, 'ean_code', d.ean,
           'address', concat_ws(' ', d.postal_code, d.house_number, d.house_number_addition),
           'status', d.ean_status, 'outcome', null, 'reason', null, 'checked_at', private.iso(d.ean_looked_up_at))
               order by d.created_at, d.id)
    from (
      select u.* from (
        (select w.* from core.drafts w
          where w.ean_status in ('pending', 'failed') and w.status in ('invited', 'claimed')
              and private.draft_status(w) <> 'expired'
            and (not failed or w.ean_status = 'failed')
          order by w.created_at limit size)
        union all
        (select w.* from core.drafts w
          where w.ean_status in ('not_found', 'ambiguous') and w.status in ('invited', 'claimed')
              and private.draft_status(w) <> 'expired'
            and (not failed or w.ean_status = 'not_found')
          order by w.created_at, w.id limit size)) u
      order by u.created_at, u.id limit size) d
    join core.partners p on p.id = d.partner_id
$$;

create function ops.ean_list(input jsonb) returns json
language plpgsql security definer
as $$
declare
  failed constant boolean := coalesce((input ->> 'failed')::boolean, false);
  size   constant int     := coalesce((input ->> 'limit')::int, 50);
  eans   json;
  drafts json;
begin
  perform private.act_as_operator(input);
  eans := coalesce(private.unconfirmed_connections(failed, size), '[]');
  drafts := coalesce(private.unconfirmed_drafts(failed, size), '[]');
  if json_array_length(eans) + json_array_length(drafts) > 0 then
    perform private.audit('eans.listed', null, jsonb_build_object('connections', json_array_length(eans),
                                                                  'drafts', json_array_length(drafts)));
  end if;
  return json_build_object('connections', eans, 'drafts', drafts);
end $$;
comment on function ops.ean_list(jsonb) is
  'What the EAN register has not confirmed, at most limit of each: {failed?, limit?} to {connections, drafts}. failed: '
  'only what it denied, or could not be asked. It shows addresses, so it leaves an audit row.';
