-- The operator on the ledger: check.

create function ops.ledger_check(input jsonb) returns json
language sql stable security definer
as $$
  with checked as (
    select p.slug, k.*
      from private.chosen_partner(input) as chosen (id)
      join core.partners p on chosen.id is null or p.id = chosen.id
     cross join lateral private.check_ledger(p.id) k
  )
  select json_build_object(
    'ok', coalesce(sum(k.wrong), 0) = 0 and coalesce(bool_and(k.expected = k.found), true),
    'checks', (select json_agg(json_build_object('check', c.what, 'expected', c.expected, 'found', c.found,
                                                 'wrong', c.wrong) order by c.what)
                 from (select k.what, sum(k.expected) as expected, sum(k.found) as found, sum(k.wrong) as wrong
                       from checked k group by k.what) c),
    'wrong', (select coalesce(json_agg(json_build_object('partner_slug', k.slug, 'check', k.what,
                                                         'expected', k.expected, 'found', k.found,
                                                         'wrong', k.wrong, 'first', k.example) order by k.slug, k.what),
                                                             '[]')
                from checked k where k.wrong > 0 or k.expected <> k.found))
    from checked k
$$;
comment on function ops.ledger_check(jsonb) is
  'Whether kWh, ERE and money agree from delivered months to the last cent: {partner?} to {ok, checks, wrong}. Of one '
  'partner or of all.';
