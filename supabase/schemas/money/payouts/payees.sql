-- Who is owed what, and whether it can be paid now.

-- A name in the characters that every bank of SEPA takes (EPC217-08), at most 70. Greek and Cyrillic are
-- transliterated, Latin letters lose their accents; null if nothing is left.
create function private.sepa_name(name text) returns text
language plpgsql immutable
as $$
declare
  plain   text := translate(name, '’‘ʼ´`йЙёЁўЎ', '''''''''''yYeEuU');
  letters text[];
begin
  -- letters that become several, a digraph before its parts
  foreach letters slice 1 in array array[
    ['ß', 'ss'], ['ẞ', 'SS'], ['æ', 'ae'], ['Æ', 'AE'], ['œ', 'oe'], ['Œ', 'OE'], ['þ', 'th'], ['Þ', 'Th'],
    ['ου', 'ou'], ['Ου', 'Ou'], ['ού', 'ou'], ['Ού', 'Ou'], ['ΟΥ', 'OU'], ['θ', 'th'], ['Θ', 'Th'], ['χ', 'ch'],
    ['Χ', 'Ch'], ['ψ', 'ps'], ['Ψ', 'Ps'],
    ['ж', 'zh'], ['Ж', 'Zh'], ['х', 'kh'], ['Х', 'Kh'], ['ц', 'ts'], ['Ц', 'Ts'], ['ч', 'ch'], ['Ч', 'Ch'],
    ['ш', 'sh'], ['Ш', 'Sh'], ['щ', 'shch'], ['Щ', 'Shch'], ['ю', 'yu'], ['Ю', 'Yu'], ['я', 'ya'], ['Я', 'Ya'],
    ['є', 'ye'], ['Є', 'Ye'], ['ї', 'yi'], ['Ї', 'Yi'], ['ђ', 'dj'], ['Ђ', 'Dj'], ['љ', 'lj'], ['Љ', 'Lj'],
    ['њ', 'nj'], ['Њ', 'Nj'], ['џ', 'dz'], ['Џ', 'Dz'], ['ь', ''], ['Ь', ''], ['ъ', ''], ['Ъ', '']] loop
    plain := replace(plain, letters[1], letters[2]);
  end loop;
  -- nfkd parts letters from their accents, which are removed
  plain := regexp_replace(normalize(plain, nfkd), '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]', '', 'g');
  plain := translate(plain, 'øØłŁđĐðÐħĦŧŦı', 'oOlLdDdDhHtTi');
  plain := translate(plain, 'абвгдезиклмнопрстуфыэіґјћАБВГДЕЗИКЛМНОПРСТУФЫЭІҐЈЋ',
                            'abvgdeziklmnoprstufyeigjcABVGDEZIKLMNOPRSTUFYEIGJC');
  plain := translate(plain, 'αβγδεζηικλμνξοπρσςτυφωΑΒΓΔΕΖΗΙΚΛΜΝΞΟΠΡΣΤΥΦΩ',
                            'avgdeziiklmnxoprsstyfoAVGDEZIIKLMNXOPRSTYFO');
  plain := btrim(left(btrim(regexp_replace(plain, '[^A-Za-z0-9/?:().,''+-]+', ' ', 'g')), 70));
  return case when plain ~ '[A-Za-z0-9]' then plain end;
end $$;

-- Every balance of customers and partners, or only of owners, with its payee. The payee is the partner (account_id is
-- null) if the CPO settles with its customers. A balance is below zero if it was paid and a sale was taken back since.
create function private.payable_balances(owners uuid[])
returns table (partner_id uuid, account_id uuid, ledger_partner_id uuid, kind text, of_account_id uuid, amount numeric)
language plpgsql stable
as $$
begin
  return query
  with balance as (
    select b.partner_id, b.kind, b.owner, b.balance
      from core.ledger_balances b where owners is null and b.unit = 'EUR' and b.kind in ('customer', 'partner', 'vat')
    union all
    select l.partner_id, l.kind, l.owner, private.balance(l.partner_id, l.unit, l.kind, l.owner)
      from core.ledger_accounts l
     where l.partner_id = any (array(select p.id from core.partners p)) and l.owner = any (owners)
       and l.unit = 'EUR' and l.kind in ('customer', 'partner', 'vat')
  )
  select b.partner_id, case a.payout_handler when 'service_pays_customer' then a.id end, b.partner_id, b.kind,
      a.id, b.balance
    from balance b
    join core.accounts a on a.partner_id = b.partner_id and a.id = b.owner
   where b.kind = 'customer' and b.balance <> 0
  union all
  select b.owner, null, b.partner_id, b.kind, null, b.balance from balance b where b.kind in ('partner', 'vat')
      and b.balance <> 0;
end $$;

-- The bookings with nothing left to sell: no more was granted, or the rest is worth less than half a cent at the price
-- of the last sale.
create function private.spent_bookings() returns uuid[]
language plpgsql stable
as $$
begin
  return array(
    select b.id
      from core.bookings b
      left join lateral (select s.price from core.sales s where s.partner_id = b.partner_id and s.booking_id = b.id
                         order by s.arrival desc limit 1) p on true
     where b.partner_id = any (array(select t.id from core.partners t)) and b.status = 'submitted'
         and (p.price is not null or b.granted_ere is not null)
       -- before the first sale nobody knows the price
       and private.sellable_ere(b) * coalesce(p.price, 1000000) < 0.005);
end $$;

-- Whether an account may earn more, if these bookings are spent: by a mandate, a bookable month, uncredited kWh or
-- sellable ERE.
create function private.may_yield(account_partner uuid, account uuid, spent uuid[]) returns boolean
language plpgsql stable
as $$
begin
  return exists (
      select from core.connections c
        join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = account_partner and c.account_id = account and m.status = 'signed'
           and m.valid_until >= private.today())
    or exists (
      select from core.connections c
        join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
        join core.ere_factors f on f.delivery_year = extract(year from m.period)
       where c.partner_id = account_partner and c.account_id = account and m.status = 'staged' and m.total_kwh > 0
         -- no month is booked for an archived connection, for one without a charger in that month, or for one that can
         -- no longer be registered because it has no mandate
         and c.status = 'active' and c.registration_status in ('ingediend', 'goedgekeurd')
         and exists (select from core.chargers h
                      where h.partner_id = c.partner_id and h.connection_id = c.id
                        and (h.status = 'active' or h.removed_at >= private.dutch_midnight(m.period)))
         and (f.bookable_until is null or f.bookable_until >= private.today()))
    or exists (
      select from core.connections c
        join core.booking_rows r on r.partner_id = c.partner_id and r.connection_id = c.id and r.live
        left join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
       where c.partner_id = account_partner and c.account_id = account
         and (k.id is null or k.ere > (select coalesce(sum(a.ere), 0) from core.allocations a
                                        where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null)
                              and r.booking_id <> all (spent)));
end $$;

-- Whether a partner may earn more, from its own accounts or the people it brought.
create function private.partner_may_yield(partner uuid, spent uuid[]) returns boolean
language plpgsql stable
as $$
begin
  return exists (select from core.accounts a where a.partner_id = partner
                 and private.may_yield(a.partner_id, a.id, spent))
      or exists (select from core.attributions t
                   join core.accounts a on a.partner_id = private.people_tenant() and a.user_id = t.user_id
                  where t.partner_id = partner and private.may_yield(a.partner_id, a.id, spent));
end $$;

-- Who is owed or owes something, and why they are not paid now. An amount below the minimum waits while the payee may
-- earn more.
create function private.payees(minimum numeric, owners uuid[] default null) returns setof private.payee
language plpgsql stable
as $$
declare
  spent constant uuid[] := case when minimum > 0 then private.spent_bookings() else '{}' end;
begin
  return query
  with owed as (
    select b.partner_id, b.account_id, sum(b.amount) as amount from private.payable_balances(owners) b
      group by b.partner_id, b.account_id
  )
  select o.partner_id, o.account_id, a.owner_id, o.amount, n.name, i.ciphertext, i.key_id, i.last4, i.changed_at,
         f.failed,
         case when o.amount < 0 then 'owes'
              when o.amount < minimum
                  and case when o.account_id is null then private.partner_may_yield(o.partner_id, spent)
                                               else private.may_yield(o.partner_id, o.account_id, spent) end
                                                   then 'below_minimum'
              when i.ciphertext is null then 'iban_missing'
              when private.iban_held_until(i.changed_at) is not null then 'iban_changed'
              when f.holder_died then 'holder_died'
              when n.name is null then 'name_unreadable' end
    from owed o
    join core.partners p on p.id = o.partner_id
    left join core.accounts a on a.partner_id = o.partner_id and a.id = o.account_id
    left join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
    cross join lateral (
      -- a business is paid in its own name
      select coalesce(private.sepa_name(case when o.account_id is null then p.iban_holder
                                             when a.iban_holder is not null then a.iban_holder
                                             else coalesce(case when a.type <> 'particulier' then a.company ->> 'name'
                                                           end, s.full_name, a.display_name) end),
                      a.bank_name) as name) n
    cross join lateral (
      select p.iban_ciphertext as ciphertext, p.iban_key_id as key_id, p.iban_last4 as last4,
          p.iban_changed_at as changed_at where o.account_id is null
      union all select a.iban_ciphertext, a.iban_key_id, a.iban_last4, a.iban_changed_at
          where o.account_id is not null) i
    left join lateral (
      select jsonb_agg(jsonb_build_object('ciphertext', l.iban_ciphertext, 'key_id', l.iban_key_id)
                       order by l.iban_ciphertext) filter (where l.failed_effect = 'account') as failed,
             bool_or(l.failed_effect = 'holder') as holder_died
        from (select distinct l.iban_ciphertext, l.iban_key_id, l.failed_effect from core.payout_lines l
               where l.partner_id = o.partner_id and l.payee_id = coalesce(o.account_id, o.partner_id)
                 and l.failed_effect in ('account', 'holder') and l.released_at is null) l) f on true
   where o.amount <> 0;
end $$;

-- Whether a payee still has the IBAN to which a line was paid that failed.
create function private.to_same_iban(line core.payout_lines, last4 text, changed_at timestamptz) returns boolean
language sql immutable
return line.iban_last4 = last4 and changed_at <= line.failed_at;

-- The last payment to a payee, an account or a partner; none if there was none.
create function private.last_payment(partner uuid, payee uuid) returns setof core.payout_lines
language sql stable
as $$
  select * from core.payout_lines l
   where l.partner_id = last_payment.partner and l.payee_id = payee and l.status <> 'cancelled'
   order by l.arrival desc limit 1
$$;

-- The last payment to a payee, if it did not arrive and they gave no other IBAN since:
-- {amount_eur, iban_last4, day, because}. because: account, holder or none, as core.payout_lines.failed_effect.
create function private.payment_back(partner uuid, payee uuid, last4 text, changed_at timestamptz) returns json
language sql stable
as $$
  select json_build_object('amount_eur', l.amount, 'iban_last4', l.iban_last4,
                           'day', private.dutch_day(l.failed_at), 'because', l.failed_effect)
    from private.last_payment(partner, payee) l
   where l.status = 'failed' and l.released_at is null
     and (l.failed_effect <> 'account' or private.to_same_iban(l, last4, changed_at))
$$;

-- The day on which we read that the bank could not make the last payment to an account because of its IBAN, if nobody
-- changed that since. Null if it did not, or if the CPO pays the account.
create function private.paid_back_on(account core.accounts) returns date
language plpgsql stable
as $$
declare
  back json;
begin
  -- few accounts have such a line
  if account.payout_handler = 'service_pays_customer' and exists (
    select from core.payout_lines l
     where l.partner_id = account.partner_id and l.account_id = account.id and l.failed_effect = 'account'
       and l.released_at is null) then
    back := private.payment_back(account.partner_id, account.id, account.iban_last4, account.iban_changed_at);
  end if;
  return case back ->> 'because' when 'account' then (back ->> 'day')::date end;
end $$;
