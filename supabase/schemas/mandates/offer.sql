-- What a signatory is told before signing: the value of an ERE, and who pays.

create function private.last_price(tenant uuid) returns numeric
language sql stable security definer
as $$
  select f.price from core.figures f where f.partner_id = tenant and f.price is not null order by f.delivery_year desc limit 1
$$;
comment on function private.last_price(uuid) is
  'The average price of an ERE, in euro, in the latest year published to a tenant; null if unknown. Definer, because a customer''s pages see no sales.';

-- What a mandate yields: the latest factor, the tenant's last average price (null if there is none), and who pays.
create function private.offer(tenant uuid, payout_handler text) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'payout_handler', payout_handler,
    'ere_per_kwh', (select f.ere_per_kwh from core.ere_factors f
                     where f.delivery_year <= extract(year from private.today()) order by f.delivery_year desc limit 1),
    'price_per_ere_eur', private.last_price(tenant))
$$;
