-- The EAN of a draft, looked up by its address.

-- Stores what the EAN register knows at a draft's address, as private.check_ean reads it. No answer is tried again for
-- a day.
create function private.record_draft_lookup(draft uuid, ean_register jsonb) returns json
language plpgsql
as $$
declare
  found_draft core.drafts;
  points      jsonb;
  count       int;
begin
  select * into found_draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = draft and d.status in ('invited', 'claimed')
       and d.ean_status in ('pending', 'failed')
     for no key update;
  if not found then
    return null;  -- withdrawn, claimed with an EAN, or looked up by somebody else meanwhile
  end if;
  points := case
    when ean_register ->> 'source' = 'table' then
      private.points_in_table(found_draft.postal_code, found_draft.house_number, found_draft.house_number_addition)
    when ean_register ->> 'outcome' = 'points' then ean_register -> 'points'
    when ean_register ->> 'outcome' = 'unknown_address' then '[]' end;
  count := jsonb_array_length(points);
  update core.drafts d
     set ean_status = case when count is null then 'failed' when count = 0 then 'not_found'
                           when count = 1 then 'resolved' else 'ambiguous' end,
         ean = case when count = 1 then points #>> '{0,ean_code}' end,
         ean_candidates = coalesce(points, '[]'),
         street = coalesce(d.street, points #>> '{0,street}'),
         city = coalesce(d.city, points #>> '{0,city}'),
         ean_looked_up_at = private.now()
   where d.partner_id = found_draft.partner_id and d.id = found_draft.id
  returning * into found_draft;
  return json_build_object('draft_id', found_draft.id, 'ean_status', found_draft.ean_status,
                           'ean_candidates', coalesce(count, 0));
end $$;

create function api.record_draft_lookups(caller jsonb, results jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return (select coalesce(json_agg(private.record_draft_lookup((r ->> 'draft_id')::uuid, r -> 'ean_register')), '[]')
            from jsonb_array_elements(results) r);
end $$;
comment on function api.record_draft_lookups(jsonb, jsonb) is
  'The EAN register''s answers during an import: [{draft_id, ean_register}] to [{draft_id, ean_status, '
  'ean_candidates}].';

create function private.due_draft_lookups(size int) returns json
language sql security definer
as $$
  -- claimed for an hour by the time of the look-up; the result ends it, a failure is due again after that hour, for a
  -- day
  with claimed as (
    update core.drafts d set ean_looked_up_at = private.now()
     where d.id in (
       select w.id from core.drafts w
        where w.ean_status in ('pending', 'failed') and w.status in ('invited', 'claimed')
          and w.partner_id in (select p.id from core.partners p where p.is_active)
          and (w.ean_looked_up_at is null or w.ean_looked_up_at <= private.now() - interval '1 hour')
          and (w.ean_status = 'pending' or w.created_at > private.now() - interval '1 day')
        order by w.created_at limit size for update skip locked)
    returning d.*)
  select coalesce(json_agg(json_build_object('partner_id', partner_id, 'draft_id', id, 'postal_code', postal_code,
                                             'house_number', house_number, 'house_number_addition',
                                                 house_number_addition)), '[]')
    from claimed
$$;
comment on function private.due_draft_lookups(int) is
  'Drafts whose address is due for a look-up. Definer: every tenant at once.';

create function api.due_draft_lookups(caller jsonb, batch jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.due_draft_lookups((batch ->> 'size')::int); $$;
comment on function api.due_draft_lookups(jsonb, jsonb) is
  'The next addresses to look up: {size} to [{partner_id, draft_id, postal_code, house_number, '
  'house_number_addition}].';
grant execute on function api.due_draft_lookups(jsonb, jsonb) to edge_slow;

create function api.record_draft_lookup(caller jsonb, due jsonb, ean_register jsonb) returns json
language sql security definer
as $$
  select private.act_as(caller, 'worker'), private.set_tenant((due ->> 'partner_id')::uuid);
  select private.record_draft_lookup((due ->> 'draft_id')::uuid, ean_register);
$$;
comment on function api.record_draft_lookup(jsonb, jsonb, jsonb) is
  'Stores the EAN register''s answer for a due draft; null if it no longer waits.';
grant execute on function api.record_draft_lookup(jsonb, jsonb, jsonb) to edge_slow;
