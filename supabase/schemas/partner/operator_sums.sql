-- The operator on the kept sums of a partner: recount.

create function ops.partner_recount(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  partner core.partners;
  people  uuid[];
  wrong   uuid[];
  sums    bigint := 0;
begin
  perform private.act_as_operator(input);
  partner := private.partner_named(input ->> 'partner');
  -- of two at once the second finds what the first put right
  perform pg_advisory_xact_lock(hashtextextended('sums of ' || partner.id, 0));
  people := private.people_of_partner(partner.id, coalesce((input ->> 'after')::uuid, private.house()), 1000);
  if cardinality(people) > 0 then
    wrong := array(select distinct w.user_id from private.wrong_customers(partner.id, people) w);
    insert into core.recounts (user_id) select unnest(wrong);
  else
    insert into core.partner_sums (partner_id, what, day, amount, active, kwh, counted_kwh, agreed_kwh, sold_ere)
    select w.partner_id, w.what, w.day, w.amount, w.active, w.kwh, w.counted_kwh, w.agreed_kwh, w.sold_ere from private.wrong_sums(partner.id) w;
    get diagnostics sums = row_count;
  end if;
  if sums > 0 or cardinality(wrong) > 0 then
    perform private.audit('partner.recounted', partner.id, jsonb_build_object('customers', coalesce(cardinality(wrong), 0), 'sums', sums));
  end if;
  return json_build_object('counted', cardinality(people), 'customers', coalesce(cardinality(wrong), 0), 'sums', sums, 'after', people[cardinality(people)]);
end $$;
comment on function ops.partner_recount(jsonb) is
  'Counts a thousand customers of a partner again, and once there are none left its sums: {partner, after?} to {counted, customers, sums, after}, how many were looked at, how many customers and sums were wrong and no longer are, and after whom to go on.';
select private.expose_ops('ops.partner_recount(jsonb)');
