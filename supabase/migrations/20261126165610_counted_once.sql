begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.get_energy (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'user');
  return (
    select json_build_object(
      'total_kwh', round(coalesce(sum(m.kwh), 0), 2),
      'total_ere_credits', round(coalesce(sum(m.ere_credits), 0), 2),
      'total_sessions', coalesce(sum(m.sessions), 0),
      'months', coalesce(json_agg(r order by m.month desc), '[]'))
    from private.own_months('-infinity', 'infinity') m
   cross join lateral (select to_char(m.month, 'YYYY-MM') as month, round(m.kwh, 2) as kwh, round(m.ere_credits, 2) as ere_credits, m.sessions) r);
end $function$;

CREATE OR REPLACE FUNCTION api.reset_sandbox (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- a running import ends before the reset, or starts after it
  perform private.lock_imports(private.partner_id());
  select * into erased from private.erase_customers(private.partner_id(), null, input ->> 'key');
  perform private.erase_books(private.partner_id());
  delete from core.charger_names n where n.partner_id = private.partner_id();
  delete from core.parked_charging p where p.partner_id = private.partner_id();
  delete from core.uploads u where u.partner_id = private.partner_id();
  delete from core.ocpi_cdrs c where c.partner_id = private.partner_id();
  delete from core.ocpi_connections c where c.partner_id = private.partner_id();
  perform private.audit('sandbox.reset', private.partner_id(), jsonb_build_object('customers', erased.customers, 'drafts', erased.drafts));
  return json_build_object('ok', true, 'customers_deleted', erased.customers, 'drafts_deleted', erased.drafts);
end $function$;

CREATE OR REPLACE FUNCTION ops.customer_find (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  typed     constant text := btrim(input ->> 'text');
  -- to sort by name we read all matches, so we stop at this many
  most      constant int  := 1000;
  size      constant int  := least(coalesce((input ->> 'limit')::int, 20), most);
  customers jsonb;
  found_all bigint;
  customer  jsonb;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('text_too_short', length(array_to_string(private.words_of(typed), '')) < 3);
  with matched as (
    select 'account' as kind, f.partner_id, f.account_id as id, coalesce(s.full_name, a.display_name) as name, s.email, a.cpo_external_ref as reference,
           null::text[] as eans, null as status, f.exact
      from private.found_accounts(typed, most + 1) f
      join core.accounts a on a.partner_id = f.partner_id and a.id = f.account_id
      left join core.signatories s on s.partner_id = f.partner_id and s.account_id = f.account_id
    union all
    select 'draft', d.partner_id, d.id, coalesce(d.contact_name, d.name, d.company_name), d.email, d.external_ref,
           array_remove(array[d.ean], null), private.draft_status(d),
           coalesce(d.email = lower(typed) or d.external_ref = typed or d.ean = regexp_replace(typed, '[\s.-]', '', 'g') or d.id = private.as_uuid(typed), false)
      from private.found_drafts(typed, most + 1) d
  ), page as (
    select m.*, row_number() over (order by m.exact desc, lower(m.name) nulls last, m.kind, m.id) as place, count(*) over () as found_all from matched m
     order by place limit size
  )
  select coalesce(jsonb_agg(jsonb_build_object(
           'kind', p.kind, 'id', p.id, 'partner_id', p.partner_id, 'partner_slug', r.slug, 'name', p.name, 'email', p.email, 'reference', p.reference,
           'eans', case p.kind when 'draft' then to_jsonb(p.eans) else (
              select coalesce(jsonb_agg(c.ean_code order by c.status, c.created_at, c.id), '[]') from core.connections c
               where c.partner_id = p.partner_id and c.account_id = p.id) end,
           'status', case p.kind when 'draft' then p.status else (
              select m.mandate_status from core.connection_mandates m where m.partner_id = p.partner_id and m.account_id = p.id
               order by m.status, m.created_at limit 1) end) order by p.place), '[]'), coalesce(max(p.found_all), 0)
    into customers, found_all
    from page p join core.partners r on r.id = p.partner_id;
  for customer in select c.customer from jsonb_array_elements(customers) as c (customer) loop
    perform private.act_for_partner((customer ->> 'partner_id')::uuid), private.audit('customer.found', (customer ->> 'id')::uuid);
  end loop;
  return json_build_object('customers', customers, 'more', found_all > jsonb_array_length(customers));
end $function$;

CREATE OR REPLACE FUNCTION private.boot_ocpp (
  charger  core.chargers,
  protocol text,
  boot     jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  serial constant text := private.boot_serial(boot);
begin
  perform private.emit_charger('charger.connected', charger)
    from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id and l.booted_at is null;
  update core.ocpp_links l set boot = boot_ocpp.boot, booted_at = private.now(), protocol = boot_ocpp.protocol
   where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  if charger.catalog_charger_id is null and boot ->> 'vendor' is not null and boot ->> 'model' is not null then
    perform private.identify_charger(charger, jsonb_build_object(
      'ocpp_vendor', boot ->> 'vendor', 'ocpp_model', boot ->> 'model', 'ocpp_meter_type', boot ->> 'meter_type'));
    select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
  -- a serial number of another active charger stays there: no EAN and month is booked twice anyway
  if charger.serial_number is null and charger.brand is not null and serial ~ '^[^[:space:]a-z]{1,64}$'
     and private.reserve_serial_number(charger.brand, serial) then
    update core.chargers h set serial_number = serial where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.chain_audit (
  size integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  due     record;
  chained int := 0;
begin
  insert into core.audit_chains (partner_id, log, hash, checkpoint_hash)
  select p.id, l.log, g.hash, g.hash
    from core.partners p
   cross join (values ('audit'), ('ledger')) l (log)
   -- the first hash names the log and its partner
   cross join lateral (select sha256(convert_to(l.log || ' of ' || p.id, 'UTF8')) as hash) g
   where not exists (select from core.audit_chains c where c.partner_id = p.id and c.log = l.log)
  on conflict on constraint audit_chains_pkey do nothing;
  begin
    perform private.seal_chains();
  exception when lock_not_available then
    null;  -- a chain is being written: the next run seals
  end;
  for due in
    select c.partner_id, c.log
      from core.audit_chains c
     where case c.log when 'audit' then exists (select from core.audit_log a where a.partner_id = c.partner_id and a.id > c.settled_id)
                      else exists (select from core.ledger_entries e where e.partner_id = c.partner_id and e.id > c.settled_id) end
     order by c.partner_id, c.log
  loop
    chained := chained + private.chain_rows(due.partner_id, due.log, size - chained);
    exit when chained >= size;
  end loop;
  return json_build_object(
    'chained', chained, 'more', chained >= size,
    'sealed', (select json_build_object('day', s.day, 'hash', encode(s.hash, 'hex')) from core.audit_seals s order by s.day desc limit 1));
end $function$;

CREATE OR REPLACE FUNCTION private.chain_rows (
  partner uuid,
  of_log  text,
  size    integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  -- every transaction before this one has ended: the queries below see what it wrote
  over     constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
  chain    core.audit_chains;
  ids      bigint[];
  contents bytea[];
  hashes   bytea[] := '{}';
  reached  bigint;
begin
  select * into chain from core.audit_chains c where c.partner_id = partner and c.log = of_log for update skip locked;
  if not found then
    return 0;  -- another one is at it
  end if;

  with fresh as materialized (
    select a.row_id
      from (select 'audit' as log, a.id as row_id from core.audit_log a where a.partner_id = partner
            union all
            select 'ledger', e.id from core.ledger_entries e where e.partner_id = partner) a
     where a.log = of_log and a.row_id > chain.settled_id
       and (select l.position from core.audit_links l where l.partner_id = partner and l.log = of_log and l.row_id = a.row_id) is null
     order by a.row_id limit size
  )
  select array_agg(v.row_id order by v.row_id), array_agg(v.content order by v.row_id) into ids, contents
    from fresh f
   cross join lateral (select * from core.audit_content c where c.partner_id = partner and c.log = of_log and c.row_id = f.row_id offset 0) v;

  for n in 1 .. coalesce(cardinality(ids), 0) loop
    chain.hash := sha256(chain.hash || contents[n]);
    hashes := array_append(hashes, chain.hash);
  end loop;
  insert into core.audit_links (partner_id, log, position, row_id, content, hash)
  select partner, of_log, chain.position + k.n, k.row_id, k.content, k.hash
    from unnest(ids, contents, hashes) with ordinality k (row_id, content, hash, n);

  -- Ids are given before rows are committed, so a lower id may still come from a transaction that runs now. A
  -- transaction that begins a minute later, after this run, has a higher number than all of these. Once no older
  -- transaction runs, no lower id can come.
  chain.last_id := greatest(chain.last_id, ids[cardinality(ids)]);
  reached := case when cardinality(hashes) < size then chain.last_id else ids[size] end;
  if chain.marked_id > chain.settled_id and chain.marked_before is null then
    if private.now() > chain.marked_at + interval '1 minute' then
      chain.marked_before := pg_current_xact_id();
    end if;
  else
    if chain.marked_id > chain.settled_id and reached >= chain.marked_id
       -- a number that is higher than ours came with a dump of another server: nobody writes with it
       and (over >= chain.marked_before or chain.marked_before > pg_snapshot_xmax(pg_current_snapshot())) then
      chain.settled_id := chain.marked_id;
    end if;
    if chain.marked_id = chain.settled_id then
      chain.marked_id := reached;
      chain.marked_at := private.now();
      chain.marked_before := null;
    end if;
  end if;
  update core.audit_chains c
     set position = chain.position + cardinality(hashes), hash = chain.hash, settled_id = chain.settled_id, last_id = chain.last_id,
         marked_id = chain.marked_id, marked_at = chain.marked_at, marked_before = chain.marked_before
   where c.partner_id = partner and c.log = of_log;
  return cardinality(hashes);
end $function$;

CREATE OR REPLACE FUNCTION private.connected_charger (
  charger_id uuid,
  generation bigint
)
  RETURNS core.chargers
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  charger core.chargers;
begin
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = connected_charger.charger_id and h.status = 'active'
     for no key update;
  -- charger before link, as everywhere; until this transaction ends, nobody else connects or reports as this charger
  perform from core.ocpp_links l
    where l.partner_id = charger.partner_id and l.charger_id = charger.id and l.generation = connected_charger.generation for update;
  if not found then
    perform private.refuse('connection_superseded');
  end if;
  perform private.act_for_person(charger.partner_id, charger.owner_id);
  return charger;
end $function$;

CREATE OR REPLACE FUNCTION private.forget_bookings (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking core.bookings;
  sales   uuid[];
  checked uuid[] := '{}';
  deleted int := 0;
  counted int;
begin
  for booking in select * from core.bookings b where b.quarter < border order by b.quarter, b.partner_id, b.id for update loop
    if booking.partner_id <> all (checked) then
      perform private.require_agreement(booking.partner_id);
      checked := checked || booking.partner_id;
    end if;
    sales := array(select s.id from core.sales s where s.partner_id = booking.partner_id and s.booking_id = booking.id);
    -- deletion leaves balances as they are: they are closed into the tenant's account for what was closed
    perform private.post(booking.partner_id, array_agg(case when b.balance > 0
        then row('closed:' || a.id, a.unit, b.balance, a.kind, a.owner, 'closed', a.partner_id)::private.posting
        else row('closed:' || a.id, a.unit, -b.balance, 'closed', a.partner_id, a.kind, a.owner)::private.posting end))
      from core.ledger_accounts a
     cross join lateral (select private.balance(a.partner_id, a.unit, a.kind, a.owner) as balance) b
     where a.partner_id = booking.partner_id and a.owner = any (sales || booking.id) and b.balance <> 0
    having count(*) > 0;
    with gone as (
      delete from core.allocations a where a.partner_id = booking.partner_id and a.sale_id = any (sales) returning a.id
    ), entry as (
      delete from core.payout_entries e using gone a where e.ledger_partner_id = booking.partner_id and e.allocation_id = a.id returning e.*
    )
    update core.payout_parts p set forgotten = p.forgotten + e.amount
      from (select e.partner_id, e.part_id, sum(e.amount) as amount from entry e group by e.partner_id, e.part_id) e
     where p.partner_id = e.partner_id and p.id = e.part_id;
    delete from core.sale_reversals v where v.partner_id = booking.partner_id and v.sale_id = any (sales);
    delete from core.sales s where s.partner_id = booking.partner_id and s.id = any (sales);
    delete from core.credits c using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and c.partner_id = r.partner_id and c.row_id = r.id;
    -- with its months, which are locked as long as there is a row of them
    delete from core.delivered_months d using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.live
       and d.partner_id = r.partner_id and d.connection_id = r.connection_id and d.period = r.period;
    delete from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id;
    get diagnostics counted = row_count;
    perform private.sum_booking(booking.partner_id, booking.id), private.price_figures(booking.partner_id, extract(year from booking.quarter)::int);
    delete from core.bookings b where b.partner_id = booking.partner_id and b.id = booking.id;
    deleted := deleted + counted + 1;
    exit when deleted >= size;
  end loop;
  -- nobody lists these quarters any more, so we need not know whom we told of them
  delete from core.told_payouts t where t.period < private.quarter_name(border);
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.forget_invoices (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone    core.invoices[];
  deleted int;
begin
  -- a partner's invoices of a year together, because their numbers have no gaps; not while a later credit note refers to one of them
  gone := array(
    select i from core.invoices i
      join (select i.partner_id, i.year from core.invoices i
             where i.year < extract(year from border)
               and not exists (select from core.invoices c join core.invoices o on o.partner_id = c.partner_id and o.id = c.corrects
                                where o.partner_id = i.partner_id and o.year = i.year and c.year > i.year)
             group by 1, 2 order by 2, 1 limit size) y on y.partner_id = i.partner_id and y.year = i.year);
  perform private.require_agreement(t.id) from (select distinct i.partner_id as id from unnest(gone) i) t;
  delete from core.invoice_entries e using unnest(gone) i where e.partner_id = i.partner_id and e.invoice_id = i.id;
  delete from core.documents d using unnest(gone) i where d.partner_id = i.partner_id and d.invoice_id = i.id;
  -- one statement deletes credit notes together with the invoices that they correct
  delete from core.invoices d using unnest(gone) i where d.partner_id = i.partner_id and d.id = i.id;
  get diagnostics deleted = row_count;
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.forget_log (
  of_log text,
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  chain   core.audit_chains;
  kept    bigint;
  upto    core.audit_links;
  deleted int := 0;
  rows    bigint[];
  fault   private.audit_fault;
begin
  for chain in select * from core.audit_chains c where c.log = of_log and c.position > c.checkpoint_position order by c.partner_id for update loop
    -- from the oldest end on, up to the first row that has to stay: chained by then, or it is of another year
    select min(l.position) into kept
      from core.audit_links l
     cross join lateral (
       select v.at, v.what from core.audit_content v where v.partner_id = l.partner_id and v.log = of_log and v.row_id = l.row_id offset 0) v
     where l.partner_id = chain.partner_id and l.log = of_log and l.position <= chain.checkpoint_position + size
       and (v.at >= private.dutch_midnight(border)
            or v.what like 'invoice:%' and exists (
              select from core.invoices i where i.partner_id = l.partner_id and i.id = private.as_uuid(split_part(v.what, ':', 2))));
    select * into upto from core.audit_links l
     where l.partner_id = chain.partner_id and l.log = of_log and l.position = coalesce(kept - 1, least(chain.position, chain.checkpoint_position + size));
    continue when not found;
    rows := array(select l.row_id from core.audit_links l where l.partner_id = chain.partner_id and l.log = of_log and l.position <= upto.position);
    -- nobody may change these rows between their check and their deletion
    if of_log = 'audit' then
      perform from core.audit_log a where a.partner_id = chain.partner_id and a.id = any (rows) for update;
    else
      perform private.require_agreement(chain.partner_id);
    end if;
    fault := (private.verify_links(chain, chain.checkpoint_position, (upto.position - chain.checkpoint_position)::int, null)).first_fault;
    if fault.fault is not null then
      perform private.refuse('audit_disagrees', json_build_object(
        'partner_slug', (select p.slug from core.partners p where p.id = chain.partner_id), 'log', of_log, 'fault', fault.fault, 'row', fault.row_id, 'what', fault.what));
    end if;
    if of_log = 'audit' then
      delete from core.audit_log a where a.partner_id = chain.partner_id and a.id = any (rows);
    else
      perform private.carry_forward(chain.partner_id, rows, upto.position);
      delete from core.ledger_entries e where e.partner_id = chain.partner_id and e.id = any (rows);
    end if;
    delete from core.audit_links l where l.partner_id = chain.partner_id and l.log = of_log and l.position <= upto.position;
    update core.audit_chains c set checkpoint_position = upto.position, checkpoint_hash = upto.hash
     where c.partner_id = chain.partner_id and c.log = of_log;
    deleted := deleted + cardinality(rows);
    exit when deleted >= size;
  end loop;
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.import_drafts (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  tenant       uuid;
  links        constant jsonb   := input -> 'links';
  send_invite  constant boolean := (input ->> 'send_invite')::boolean;
  dry_run      constant boolean := coalesce((input ->> 'dry_run')::boolean, false);
  -- what other tenants' people decide is told of customers who agreed that their data is passed on
  others       constant boolean := not dry_run or coalesce((input ->> 'consent')::boolean, false);
  batch        constant uuid    := case when not dry_run then gen_random_uuid() end;
  -- one moment for all stretches of a file
  begun        constant timestamptz := coalesce((input ->> 'begun')::timestamptz, private.now());
  emails       constant text[]  := array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r);
  brand        jsonb;
  remaining    bigint;
  answer       json;
  letters      jsonb;
begin
  tenant := private.partner_id();
  if not dry_run then
    -- waits for the partner's import before this one, because of the cap, and for imports with the same addresses
    perform private.lock_imports(tenant);
    perform private.reserve_addresses(array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r where r ->> 'reason' is null), tenant);
    -- a draft that has expired, noted or not, no longer keeps its address from being drafted again
    update core.drafts d set status = 'expired'
     where d.partner_id = tenant and d.status = 'invited' and d.expires_at <= private.now()
       and d.email = any (emails);
  end if;
  select private.partner_brand(p) into brand from core.partners p where p.id = tenant;
  remaining := greatest(private.draft_cap() - private.drafts_made(), 0);

  with settled as materialized (
    select (r.row).*, r.id, r.outcome,
           case when (r.row).ean is not null then 'provided' when (r.row).postal_code is null then 'no_address' else 'pending' end as ean_status
      from private.settle_rows(input -> 'rows', tenant, links ->> 'key', remaining, others) r
  ), invited as materialized (
    select s.email, row_number() over (order by s.place) as n from settled s where s.outcome is null and send_invite
  ), fits as materialized (
    select f.n from private.mails_that_fit('invitation', array(select i.email from invited i order by i.n), links ->> 'key', dry => dry_run) f (n)
  ), invitable as materialized (
    select i.email from invited i where not others or i.n in (select f.n from fits f)
  ), created as (
    insert into core.drafts as d
      (partner_id, id, batch_id, source, type, name, email, phone, external_ref, kvk, vat, company_name, contact_name, referral_code,
       ean, postal_code, house_number, house_number_addition, street, city, charger, ean_status, send_invite, invited_at, expires_at, created_at)
    select tenant, s.id, batch, input ->> 'source', s.type, s.name, s.email, s.phone, s.external_ref, s.kvk, s.vat, s.company_name,
           s.contact_name, s.referral_code, s.ean, s.postal_code, s.house_number, s.house_number_addition, s.street, s.city,
           case when s.charger is not null then s.charger || jsonb_build_object('brand', private.charger_brand(s.charger ->> 'brand')) end,
           s.ean_status, i.email is not null, case when i.email is not null then private.now() end, private.now() + interval '60 days',
           -- microseconds apart, so that lists of the newest first have the order of the sheet
           begun + (5000 - s.place) * interval '1 microsecond'
      from settled s left join invitable i on i.email = s.email where s.outcome is null and not dry_run
    returning d as draft
  ), counted as (
    insert into core.draft_uploads (partner_id) select tenant from created
  ), shown as (
    select s.place, s.sheet_row, s.email, s.external_ref, s.ean_status,
           case when not dry_run then s.id end as draft_id, case when not dry_run then private.claim_url(s.id, links) end as claim_url
      from settled s where s.outcome is null
  )
  select json_build_object(
      'ok', true,
      'dry_run', dry_run,
      'added', (select count(*) from shown),
      'batch_id', batch,
      'created', (select coalesce(json_agg(row_to_json(r) order by s.place), '[]')
                    from shown s
                    cross join lateral (select s.place as row, s.sheet_row, s.draft_id, s.email, s.external_ref, s.claim_url, s.ean_status,
                                               0 as ean_candidates) r),
      'address_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.address_ignored) order by s.place), '[]')
                            from settled s where s.outcome is null and s.address_ignored is not null),
      'ean_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.ean_ignored) order by s.place), '[]')
                        from settled s where s.outcome is null and s.ean_ignored is not null),
      'invite_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', 'mail_limit') order by s.place), '[]')
                           from settled s where s.outcome is null and send_invite and s.email not in (select i.email from invitable i)),
      'claim_urls', (select coalesce(json_agg(json_build_object('email', s.email, 'claim_url', s.claim_url) order by s.place), '[]')
                       from shown s where not send_invite and not dry_run),
      'referral_codes', (select coalesce(json_agg(json_build_object(
          'email', s.email, 'code', s.referral_code, 'matched', private.referral_code_known(s.referral_code)) order by s.place), '[]')
                           from settled s where s.outcome is null and s.referral_code is not null),
      'rejected', (select coalesce(json_agg(
          case when s.detail is null or s.reason is null
               then json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place, 'sheet_row', s.sheet_row)
               else json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place, 'sheet_row', s.sheet_row, 'detail', s.detail) end order by s.place), '[]')
                     from settled s where s.outcome is not null),
      'skipped', (select json_object_agg(w.reason, case w.reason when 'over_request_limit' then (input ->> 'over_request_limit')::bigint
                                                                 else coalesce(n.rows, 0) end order by w.place)
                    from jsonb_array_elements_text(input -> 'counters') with ordinality as w (reason, place)
                    left join (select s.outcome, count(*) as rows from settled s group by s.outcome) n on n.outcome = w.reason),
      'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(), 'remaining_before', remaining)),
    (select jsonb_agg(jsonb_build_object('recipient', (c.draft).email, 'cause', 'claim:' || (c.draft).id, 'counted', true,
                                         'content', private.letter_content(c.draft, brand, links)))
       from created c where (c.draft).send_invite)
    into answer, letters;

  if letters is not null then
    perform private.enqueue_mails(jsonb_build_object('template', 'claim', 'locale', coalesce((private.own_partner()).locale, 'nl'),
                                             'content', jsonb_build_object('message', coalesce(input ->> 'message',
                                               -- the functions of 0.9.0 say mails, with the message in them
                                               substring(input #>> '{mails,nl,text}' from '{{partner_name}} schrijft u: “(.*)”\n\nBekijk uw aanmelding:')))), letters);
  end if;
  if not dry_run and (answer ->> 'added')::int > 0 then
    perform private.audit('drafts.imported', batch, jsonb_build_object('added', answer -> 'added', 'rows', cardinality(emails), 'source', input -> 'source'));
  elsif others and cardinality(emails) > 0 then
    -- also an import of which no row became a draft: it told as much as a dry run
    perform private.audit('drafts.previewed', null, jsonb_build_object('rows', cardinality(emails), 'source', input -> 'source'));
  end if;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_guess (
  subject  text,
  purpose  text,
  request  jsonb,
  again_by text          DEFAULT NULL::text,
  OUT      refused text,
  OUT      email text,
  OUT      again boolean
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  code    core.one_time_codes;
  guesses text;
begin
  -- of ten at once, nine wait here
  select * into code from core.one_time_codes c where c.subject = judge_guess.subject for update;
  email := code.email;
  again := coalesce(code.used_hash = decode(again_by, 'hex') and code.expires_at > private.now(), false);
  refused := case when not again then private.judge_code(code, request ->> 'code_hash') end;
  if not again and (refused is null or refused = 'wrong_code') then
    -- a browser that signed in to this account before has guesses of its own, which strangers cannot use up
    guesses := 'guesses:' || purpose || ':' || private.mail_subject(email, request ->> 'key')
               || case when request ->> 'device_hash' is not null and request ->> 'email' = email then '@devices' else '' end;
    -- counted before it is known to be right, so that guesses sent at once count too
    if not (private.debit(guesses, 'code_guesses') ->> 'allowed')::boolean then
      refused := 'too_many_guesses';
    elsif refused is null then
      perform private.give_back(guesses, 'code_guesses');
    else
      perform private.count_wrong_code(subject);
    end if;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_parked (
  owner  uuid,
  chosen uuid[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  parked core.parked_charging[];
  found  private.found_charger[];
  ready  jsonb;
  gone   int[];
begin
  perform private.hold_names(owner);
  parked := array(
    select p from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner and p.id = any (chosen)
     order by p.received_at, p.id for update skip locked);
  found := array(
    select f from private.find_chargers(owner, array(
      select row(p.place, p.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id, i.ended_at)::private.named_charger
        from (select g.place, (parked[g.place]).* from generate_subscripts(parked, 1) g (place)) p
       cross join lateral jsonb_to_record(p.item) as i (started_at timestamptz, charger_id uuid, external_ref text, serial_number text, evse_uid text,
                                                        evse_id text, meter_id text, ended_at timestamptz))) f);
  select coalesce(jsonb_agg(p.item || jsonb_build_object(
           'place', f.place, 'charger_id', f.charger_id, 'connector', c.evse_no,
           'external_id', coalesce(p.external_id, c.evse_no || '@' || (p.item ->> 'started_at')))), '[]') into ready
    from unnest(found) f
   cross join lateral (select (parked[f.place]).*) p
   cross join lateral (select coalesce(f.evse_no, (p.item ->> 'evse_no')::int, 1) as evse_no) c
   where f.charger_id is not null and p.reason <> 'no_times';
  -- a session that was stored after this one was parked stays as it is
  gone := array(
    select (i.item ->> 'place')::int
      from jsonb_array_elements(ready) i (item)
      join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = (i.item ->> 'charger_id')::uuid and s.source = i.item ->> 'source'
       and s.external_id = i.item ->> 'external_id' and s.received_at > (parked[(i.item ->> 'place')::int]).received_at);
  ready := coalesce((select jsonb_agg(i.item) from jsonb_array_elements(ready) i (item) where (i.item ->> 'place')::int <> all (gone)), '[]');
  gone := gone || array(
    select (r ->> 'place')::int from jsonb_array_elements(private.ingest_charging_sessions(ready)) r where r ->> 'status' <> 'rejected');
  delete from core.parked_charging p where p.partner_id = private.partner_id() and p.id = any (array(select (parked[g]).id from unnest(gone) g));
  update core.parked_charging p set judge_at = null, reason = case p.reason when 'no_times' then p.reason else coalesce(f.reason, p.reason) end
    from unnest(found) f
   where p.partner_id = private.partner_id() and p.id = (parked[f.place]).id and f.place <> all (gone);
  return cardinality(gone);
end $function$;

CREATE OR REPLACE FUNCTION private.judge_quarter (
  tenant  uuid,
  quarter date,
  chosen  uuid[] DEFAULT NULL::uuid[],
  held    uuid[] DEFAULT NULL::uuid[]
)
  RETURNS SETOF private.judged_month
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  today  constant date := private.today();
  -- a sandbox settlement names accounts. In January it takes the running month: mandates begin on 1 January, so no other month exists
  over   constant date := case when chosen is not null and extract(month from today) = 1 then date_trunc('year', today) + interval '1 month' else today end;
  factor core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return query
  -- each connection is looked up once for all its months of the quarter
  select c.id, c.account_id, c.ean_code, m.period, m.total_kwh, m.session_count, m.delivery_id, s.mandate_id, factor.ere_per_kwh,
         case when m.total_kwh > 0 then array_remove(array[
           case when m.total_kwh > h.kw * l.hours then 'beyond_power' end,
           case when m.total_kwh > 5 * b.average then 'above_average' end,
           case when m.session_count > l.hours then 'too_many_sessions' end,
           case when b.repeats = 2 then 'repeated_total' end,
           case when m.session_count = 0 then 'no_sessions' end,
           case when v.gap then 'meter_gap' end,
           case when m.delivery_id is not null and abs(m.total_kwh * 1000 - v.wh) > greatest(1000, 0.02 * v.wh) then 'differs_from_sessions' end,
           case when v.other_meter then 'other_meter' end], null) else '{}' end,
         case when m.locked or c.ean_exclusive and private.ean_booked(c.ean_code, m.period) then 'already_booked'
              when (m.period + interval '1 month')::date > over then 'month_not_over'
              when factor.bookable_until < today then 'year_closed'
              when s.signed is null then 'no_mandate'
              when s.mandate_id is null then 'outside_mandate'
              when g.ean_validated is not true then 'gate:ean_validated'  -- an archived connection has no gates
              when h.mid_until >= m.period::timestamp at time zone 'Europe/Amsterdam' is not true then 'gate:mid_charger_registered'
              when not g.iban_present then 'gate:iban_present'
              when c.registration_status in ('concept', 'ingediend') then 'registration_open'
              when c.registration_status = 'afgekeurd' then 'registration_rejected'
              when m.status = 'rejected' then 'rejected_by_register'
              when m.total_kwh = 0 then 'zero_kwh'
              when m.delivery_id is null and c.ean_exclusive and private.ean_delivered(c.ean_code, m.period, c.id) then 'already_delivered' end
    from (select d.connection_id, array_agg(d) as months
            from core.delivered_months d
           where d.partner_id = tenant and d.period >= quarter and d.period < (quarter + interval '3 months')::date
             and (held is null or d.connection_id = any (held))
           group by d.connection_id) q
   cross join lateral (
     select * from core.connections c
      where c.partner_id = tenant and c.id = q.connection_id and (chosen is null or c.account_id = any (chosen)) offset 0) c
    left join lateral (select * from core.connection_gates g where g.partner_id = tenant and g.connection_id = c.id offset 0) g on true
   cross join lateral (
     -- a charger of unknown power counts as 50 kW, as for its sessions; a removed charger counts for the time it was
     -- there
     select coalesce(sum(coalesce(h.power_kw, 50)) filter (where h.status = 'active'), sum(coalesce(h.power_kw, 50))) as kw,
            max(case h.status when 'active' then 'infinity' else h.removed_at end) filter (where h.mid_eligible) as mid_until
       from core.chargers h where h.partner_id = tenant and h.connection_id = c.id) h
   cross join lateral unnest(q.months) m
   cross join lateral (
     select extract(epoch from (m.period + interval '1 month') at time zone 'Europe/Amsterdam'
                             - m.period::timestamp at time zone 'Europe/Amsterdam') / 3600 as hours) l
   cross join lateral (
     select avg(p.total_kwh) as average,
            count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
       from core.delivered_months p
      where p.partner_id = tenant and p.connection_id = c.id
        and p.period >= (m.period - interval '12 months')::date and p.period < m.period) b
   cross join lateral (
     -- the sessions of a month must add up to what the meter of their EVSE counted; a meter that starts at 0 for each session proves nothing
     select sum(e.wh) as wh, bool_or(e.gap) as gap, bool_or(not e.meters <@ n.known) as other_meter
       from (select s.charger_id, s.connector, sum(s.wh) as wh,
                    array_agg(distinct private.charger_name_value('meter_id', s.meter_id)) filter (where s.meter_id is not null) as meters,
                    count(distinct s.meter_id) < 2 and count(*) filter (where s.meter_start_wh = 0) < 2
                    and abs((array_agg(s.meter_end_wh order by s.started_at desc) filter (where s.meter_end_wh is not null))[1]
                            - (array_agg(s.meter_start_wh order by s.started_at) filter (where s.meter_start_wh is not null))[1] - sum(s.wh))
                        > greatest(1000, 0.02 * sum(s.wh)) as gap
               from core.charging_sessions s
               join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id and h.mid_eligible
              where s.partner_id = tenant and s.connection_id = c.id and s.month = m.period and s.counted
              group by s.charger_id, s.connector) e
      cross join lateral (
        select array_agg(n.value) as known from core.charger_names n
         where n.partner_id = tenant and n.charger_id = e.charger_id and n.kind = 'meter_id' and n.evse_no = e.connector
           and n.ended_at is null and e.meters is not null) n) v
    left join lateral (
      -- the newest mandate that covers the month, or else the newest of all
      select true as signed, case when k.covers then s.id end as mandate_id
        from core.mandates s
       cross join lateral (select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
       where s.partner_id = tenant and s.connection_id = c.id and s.status <> 'declined'
       order by k.covers desc, s.signed_at desc, s.id limit 1) s on true;
end $function$;

CREATE OR REPLACE FUNCTION private.lease_webhooks (
  size integer,
  key  text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
  head     core.event_heads;
  posts    jsonb;
  more     boolean;
  claimed  jsonb := '[]';
begin
  for endpoint in
    with leased as (
      update core.webhook_endpoints e set lease_id = gen_random_uuid(), lease_until = private.now() + interval '60 seconds'
       where (e.partner_id, e.id) in (
         select w.partner_id, w.id from core.webhook_endpoints w
          where w.status = 'enabled' and (w.lease_until is null or w.lease_until <= private.now()) and private.webhook_is_due(w)
          order by w.lease_until nulls first limit size for update skip locked)
      returning e.*)
    -- two workers that number the same logs do so in one order
    select * from leased l order by l.partner_id, l.owner_id, l.id
  loop
    head := private.sequence_events(endpoint.partner_id, endpoint.owner_id);
    -- retention deleted the events up to here
    endpoint.delivered_to := greatest(endpoint.delivered_to, head.swept);
    -- for a rare type a long log is looked through in parts
    more := head.sequence > endpoint.delivered_to + private.events_at_once();
    head.sequence := least(head.sequence, endpoint.delivered_to + private.events_at_once());
    -- a deleted event is not sent again; this checks only the next events, because many may wait
    delete from core.webhook_retries r
     using (select n.event_id from core.webhook_retries n
             where n.partner_id = endpoint.partner_id and n.endpoint_id = endpoint.id and n.next_attempt_at > '-infinity' and n.next_attempt_at <= private.now()
             order by n.next_attempt_at limit 50) n
     where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = n.event_id
       and not exists (select from core.events e where e.partner_id = r.partner_id and e.id = r.event_id and e.created_at > private.events_kept_since());
    posts := private.posts_of(endpoint, head, key, case when endpoint.failures >= 5 then 1 else 50 end);
    if jsonb_array_length(posts) = 0 then
      -- the events since are of other types; of what failed the next retry is yet to come
      update core.webhook_endpoints e
         set delivered_to = case when endpoint.failures < 5 then head.sequence else e.delivered_to end, lease_id = case when more then e.lease_id end,
             lease_until = case when more then e.lease_until else private.now() end, probe_at = null, failures = case when endpoint.failures >= 5 then 4 else e.failures end
       where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
    end if;
    -- without posts, where the rest of the log is for the next turn
    if more or jsonb_array_length(posts) > 0 then
      claimed := claimed || jsonb_build_object(
        'partner_id', endpoint.partner_id, 'webhook_id', endpoint.id, 'lease_id', endpoint.lease_id, 'url', endpoint.url, 'posts', posts,
        'secrets', jsonb_build_array(jsonb_build_object('ciphertext', endpoint.secret_ciphertext, 'key_id', endpoint.secret_key_id))
                   || case when endpoint.previous_until > private.now()
                           then jsonb_build_array(jsonb_build_object('ciphertext', endpoint.previous_ciphertext, 'key_id', endpoint.previous_key_id)) else '[]' end);
    end if;
  end loop;
  return claimed;
end $function$;

CREATE OR REPLACE FUNCTION private.lock_for_delivery (
  account uuid,
  wanted  uuid
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  connection uuid;
begin
  -- the owner of an account also owns its connections, so we need not read the account
  select c.id into connection
    from core.connections c
   where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' and (wanted is null or c.id = wanted)
   order by c.created_at, c.id limit 1
     for no key update;
  if not found then
    -- these raise the API's own error
    perform private.find_account(account);
    connection := private.pick_connection(account, wanted, true);
    perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for no key update;
  end if;
  return connection;
end $function$;

CREATE OR REPLACE FUNCTION private.ocpp_session (
  told core.ocpp_transactions
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  base        bigint  := coalesce(told.meter_start_wh, told.begin_wh);
  final       bigint  := told.end_wh;
  from_values constant boolean := told.last_wh is not null and (final is null or base is null or final < base - 10 or (final = 0 and base > 0));
  wh          bigint;
begin
  if told.ended_at is null or from_values then
    final := told.last_wh;
    -- a charger that does not know its register at the start says 0
    if base = 0 and told.begin_wh > 0 then
      base := told.begin_wh;
    end if;
    -- the values of some chargers start at 0 for each charge, while their register does not
    if told.ended_at is not null and final < base - 10 and told.end_wh is not null then
      final := told.end_wh;
    end if;
  end if;
  wh := final - base;
  -- a stop may lie 10 Wh below the start, by rounding; a running value below the start is a fault of one sample
  if wh between -10 and -1 or told.ended_at is null then
    wh := greatest(wh, 0);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'charger_id', told.charger_id,
    'source', 'ocpp',
    'external_id', coalesce(told.told_id, '1.6:' || told.id),
    'connector', coalesce(told.connector, 1),
    'started_at', coalesce(told.started_at, private.earlier_ocpp(told.first_at, told.begin_at)),
    'ended_at', told.ended_at,
    'wh', coalesce(wh, 0),
    -- a running charge's reading is noted by the time at which it was measured
    'meter_wh', case when told.ended_at is not null then final end,
    'meter_start_wh', case when wh > 0 then base end,
    'meter_end_wh', case when wh > 0 and told.ended_at is not null then final end,
    'end_from', case when told.ended_at is null then null when told.clock <> 'charger' then 'clock' when from_values then 'values' end,
    'flags', case when told.ended_at is not null and wh is null then '["no_end"]'::jsonb end));
end $function$;

CREATE OR REPLACE FUNCTION private.open_booking (
  tenant  uuid,
  quarter date,
  run     uuid
)
  RETURNS core.bookings
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking core.bookings;
begin
  -- if two run at once, the second finds the booking that the first opened
  perform pg_advisory_xact_lock(hashtextextended('bookings of ' || tenant || ' for ' || quarter, 0));
  select * into booking from core.bookings b where b.partner_id = tenant and b.quarter = open_booking.quarter and b.status = 'open';
  if not found then
    insert into core.bookings (partner_id, run_id, quarter, number)
    select tenant, run, open_booking.quarter, 1 + count(*) from core.bookings b where b.partner_id = tenant and b.quarter = open_booking.quarter
    returning * into booking;
    perform private.audit('booking.opened', booking.id, jsonb_build_object('quarter', booking.quarter, 'number', booking.number));
  end if;
  return booking;
end $function$;

CREATE OR REPLACE FUNCTION private.open_ocpp_transaction (
  charger      core.chargers,
  on_connector integer,
  at           timestamp with time zone,
  meter_wh     bigint
)
  RETURNS core.ocpp_transactions
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  found_ones core.ocpp_transactions[] := array(
    select t from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.ended_at is null
       and (on_connector is null or t.connector = on_connector)
       -- where the clock was ahead at the start, the time of arrival counts
       and (t.clock = 'wrong' or least(t.first_at, t.created_at) <= at)
       and (meter_wh is null or coalesce(t.meter_start_wh, t.begin_wh, 0) <= meter_wh + 10)
       -- one car at a time: a later start ended it, without a stop
       and not exists (
         select from core.ocpp_transactions l
          where l.partner_id = t.partner_id and l.charger_id = t.charger_id and l.connector = t.connector and private.ocpp_began_later(l, t)));
begin
  -- if two are open, we do not know which is meant
  return case when cardinality(found_ones) = 1 then found_ones[1] end;
end $function$;

CREATE OR REPLACE FUNCTION private.park_charging (
  owner  uuid,
  parked core.parked_charging[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  told text[] := array(select distinct n from unnest(parked) p cross join lateral unnest(p.names) n);
  news text[];
begin
  if cardinality(parked) = 0 then
    return;
  elsif (select count(*) from (
           select from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner limit 200000) p) + cardinality(parked) > 200000 then
    perform private.refuse('parked_limit');
  end if;
  news := array(select n from unnest(told) n except select unnest(private.names_parked(owner, told)) order by 1);
  insert into core.parked_charging as p (partner_id, owner_id, source, told_as, external_id, party, names, item, reason, judge_at)
  -- the worker looks again in a minute, because somebody may be storing a name of the charger now
  select private.partner_id(), owner, n.source, n.told_as, n.external_id, n.party, n.names, n.item, n.reason, private.now() + interval '1 minute'
    from unnest(parked) n order by n.told_as, n.source
  on conflict on constraint parked_charging_told_key do update
     set names = excluded.names, item = excluded.item, reason = excluded.reason, received_at = excluded.received_at, judge_at = excluded.judge_at
   where (p.names, p.item, p.reason) is distinct from (excluded.names, excluded.item, excluded.reason);
  if news <> '{}' then
    perform private.tell(private.partner_id(), owner, 'charging.parked', null, jsonb_build_object(
      'names', (select jsonb_agg(jsonb_build_object('kind', split_part(n, ':', 1), 'value', substr(n, strpos(n, ':') + 1))) from unnest(news[:20]) n),
      'name_count', cardinality(news)));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.release_charging_sessions (
  connections uuid[],
  months      date[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  touched_connections uuid[];
  touched_months      date[];
begin
  with opened as (
    select * from unnest(connections, months) as o (connection_id, month)
  ), released as (
    update core.charging_sessions s set flags = array_remove(s.flags, 'after_lock')
      from opened o
     where s.partner_id = private.partner_id() and s.connection_id = o.connection_id and 'after_lock' = any (s.flags)
       and (s.month = o.month or exists (
              select from core.replaced_charging_sessions r where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and r.month = o.month))
       -- a session that moved to another month waits until both months are open: it is still in the booking of the locked one
       and not exists (
              select from core.delivered_months d
               where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                 and (d.period = s.month or exists (
                        select from core.replaced_charging_sessions r
                         where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and r.month = d.period)))
    returning s.charger_id, s.id, s.connection_id, s.month
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select h.partner_id, h.owner_id, h.id, r.id
      from released r join core.chargers h on h.partner_id = private.partner_id() and h.id = r.charger_id and h.user_id is null)
  select array_agg(t.connection_id), array_agg(t.month) into touched_connections, touched_months
    from (select r.connection_id, r.month from released r union select * from opened) t;
  perform private.deliver_charging_sessions(touched_connections, touched_months);
end $function$;

CREATE OR REPLACE FUNCTION private.reverse_credit (
  line   core.booking_rows,
  reason text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  credit core.credits;
  sold   text;
begin
  select * into credit from core.credits c where c.partner_id = line.partner_id and c.row_id = line.id and c.reversed_at is null;
  if not found then
    return false;
  end if;
  select min(s.reference) into sold
    from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
   where a.partner_id = line.partner_id and a.row_id = line.id and a.reversal_id is null;
  if sold is not null then
    perform private.refuse('row_sold', json_build_object('row', line.id, 'reference', sold));
  elsif line.status = 'rejected' then
    perform private.lock_connections(line.partner_id, array[line.connection_id]);
    if not exists (select from core.delivered_months d
                    where d.partner_id = line.partner_id and d.connection_id = line.connection_id and d.period = line.period
                      and d.status = 'rejected' and d.total_kwh = line.kwh)
       or line.ean_exclusive and private.ean_booked(line.ean_code, line.period) then
      perform private.refuse('month_delivered_again', json_build_object('row', line.id, 'period', to_char(line.period, 'YYYY-MM')));
    end if;
  end if;
  update core.credits c set reversed_at = private.now(), reversed_reason = reverse_credit.reason where c.partner_id = credit.partner_id and c.id = credit.id;
  update core.booking_rows r set status = 'submitted' where r.partner_id = line.partner_id and r.id = line.id;
  update core.delivered_months d set status = 'submitted', accepted_kwh = null
   where d.partner_id = line.partner_id and d.connection_id = line.connection_id and d.period = line.period;
  perform private.reverse_postings(line.partner_id, array(
    select 'credit:' || credit.id || ':' || what from unnest(array['registered', 'written_off', 'rejected', 'ere']) what));
  perform private.sum_booking(line.partner_id, line.booking_id);
  perform private.audit('credit.reversed', line.id, jsonb_build_object('accepted_kwh', credit.accepted_kwh));
  -- the month waits for the register again, locked as before the credit
  perform private.emit_months(line.partner_id, 'account.months_locked', array[line.id]);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.settle_attempt (
  endpoint core.webhook_endpoints,
  result   jsonb
)
  RETURNS core.webhook_endpoints
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  event     constant uuid := (result ->> 'event_id')::uuid;
  attempt   constant int := (result ->> 'attempt')::int;
  again     constant boolean := (result ->> 'again')::boolean;
  succeeded constant boolean := (result ->> 'status')::int between 200 and 299;
  retry_in  constant interval := (result ->> 'retry_after')::int * interval '1 second';
  unsigned  constant boolean := coalesce(result ->> 'error' = 'secret_unreadable', false);
  -- an event that could not be signed is retried as for a failing receiver, and does not count as an attempt
  probing   constant boolean := endpoint.failures >= 5 or unsigned;
  next      timestamptz;
begin
  if succeeded then
    endpoint.failures := 0;
    endpoint.failing_since := null;
    endpoint.last_error := null;
    endpoint.warnings := 0;
    endpoint.probe_at := null;
    if again then
      delete from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    end if;
  else
    endpoint.failures := greatest(endpoint.failures + 1, case when unsigned then 5 end);
    -- while we could not read the secret, the receiver did not fail
    endpoint.failing_since := case when endpoint.last_error = 'secret_unreadable' and not unsigned then private.now()
                                   else coalesce(endpoint.failing_since, private.now()) end;
    endpoint.last_error := left(coalesce(result ->> 'error', 'http_' || (result ->> 'status')), 200);
    if endpoint.failures >= 5 then
      endpoint.probe_at := private.now() + coalesce(retry_in, (0.9 + random() * 0.2)
        * coalesce((array['5 seconds', '1 minute', '5 minutes']::interval[])[endpoint.failures - 4], '10 minutes'));
    end if;
    if result ->> 'type' = 'ping' then
      delete from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    elsif again and probing then
      -- it was the receiver that was tried: the event has its attempts still before it, and the next probe is of another
      next := endpoint.probe_at;
      update core.webhook_retries r set next_attempt_at = private.now()
       where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    elsif again then
      next := private.now() + coalesce(case when attempt < 10 then retry_in end, private.webhook_delay(attempt));
      update core.webhook_retries r set attempts = attempt, next_attempt_at = next
       where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    elsif endpoint.failures < 5 and (result ->> 'status')::int is distinct from 410 then
      next := private.now() + coalesce(retry_in, private.webhook_delay(attempt));
      insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts, next_attempt_at)
      values (endpoint.partner_id, endpoint.id, event, attempt, next)
      on conflict on constraint webhook_retries_pkey do nothing;
    else
      next := endpoint.probe_at;
    end if;
  end if;
  -- if the receiver keeps failing, the cursor stays where it is
  if not again and (succeeded or endpoint.failures < 5) and (result ->> 'status')::int is distinct from 410 then
    endpoint.delivered_to := greatest(endpoint.delivered_to, (result ->> 'sequence')::bigint);
  end if;
  insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, status, ms, error, next_attempt_at)
  values (endpoint.partner_id, endpoint.id, event, result ->> 'type', attempt, (result ->> 'at')::timestamptz, (result ->> 'status')::int,
          (result ->> 'ms')::int, left(result ->> 'error', 200), next);
  return endpoint;
end $function$;

CREATE OR REPLACE FUNCTION private.settle_webhook (
  settled  jsonb,
  operator text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
  result   jsonb;
  gone     boolean := false;
begin
  select * into endpoint from core.webhook_endpoints e
   where e.partner_id = (settled ->> 'partner_id')::uuid and e.id = (settled ->> 'webhook_id')::uuid for update;
  -- revoked or moved meanwhile, or another worker has it by now: what was sent is sent once more
  if not found or endpoint.lease_id is distinct from (settled ->> 'lease_id')::uuid then
    return false;
  end if;
  for result in select r from jsonb_array_elements(settled -> 'results') r loop
    endpoint := private.settle_attempt(endpoint, result);
    gone := gone or (result ->> 'status')::int = 410;
  end loop;
  update core.webhook_endpoints e
     set failures = endpoint.failures, failing_since = endpoint.failing_since, last_error = endpoint.last_error, probe_at = endpoint.probe_at, delivered_to = endpoint.delivered_to,
         warnings = case when endpoint.failing_since <= private.now() - interval '96 hours' then 2
                         when endpoint.failing_since <= private.now() - interval '24 hours' then 1 else 0 end,
         -- an endpoint that just had its turn comes after all that wait
         lease_id = null, lease_until = private.now()
   where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
  -- a secret that does not open is for the operator, whom the figures tell
  if endpoint.status = 'disabled' or endpoint.last_error = 'secret_unreadable' then
    return true;
  elsif gone or endpoint.failing_since <= private.now() - interval '5 days' then
    perform private.act_for_partner(endpoint.partner_id), private.disable_webhook(endpoint, case when gone then 'gone' else 'failing' end);
    perform private.warn_of_webhook(endpoint, 'disabled', operator);
  elsif endpoint.failing_since <= private.now() - interval '96 hours' and endpoint.warnings < 2
     or endpoint.failing_since <= private.now() - interval '24 hours' and endpoint.warnings < 1 then
    perform private.warn_of_webhook(endpoint, 'failing', operator);
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.stop_ocpp (
  charger core.chargers,
  said    jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  readings constant jsonb := said -> 'readings';
  told     core.ocpp_transactions := private.own_ocpp_transaction(charger, said ->> 'transaction');
  is_own   constant boolean := told.id is not null;
begin
  if not is_own then
    told := private.guess_ocpp_transaction(charger, said);
  end if;
  if told.id is not null then
    if told.ended_at is null or is_own and told.end_guessed then
      told.ended_at := null;
      told := private.merge_ocpp_readings(told, readings);
      told.ended_at := said ->> 'at';
      told.end_wh := said ->> 'meter_wh';
      told.end_guessed := not is_own;
      told.clock := case when told.clock = 'charger' then said ->> 'clock' else told.clock end;
      perform private.store_ocpp_transaction(told);
    end if;
    return private.ocpp_session(told);
  end if;
  if readings #>> '{begin,at}' is not null and readings #>> '{end,at}' is not null then
    return jsonb_build_object(
      'charger_id', charger.id, 'source', 'ocpp',
      -- a repeat has the same time; the reading tells two connectors apart that stop at the same time
      'external_id', concat('stop:', coalesce(said ->> 'told', said ->> 'at'), ':', readings #>> '{end,wh}'),
      'started_at', readings #> '{begin,at}', 'ended_at', said -> 'at', 'wh', (readings #>> '{end,wh}')::bigint - (readings #>> '{begin,wh}')::bigint,
      'meter_wh', readings #> '{end,wh}', 'meter_start_wh', readings #> '{begin,wh}', 'meter_end_wh', readings #> '{end,wh}');
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION private.store_charging_sessions (
  sent private.charging_session_item[]
)
  RETURNS private.charging_session_result[]
  LANGUAGE plpgsql
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET random_page_cost TO '0'
  SET cpu_operator_cost TO '0.0001'
  SET search_path TO ''
  AS $function$
declare
  chargers constant uuid[] := array(select distinct i.charger_id from unnest(sent) i where i.reason is null);
  compared private.compared_charging_session[];
  changes  private.charging_session_change[];
begin
  -- A plan that was kept from a table without rows may read all of the partner for each item. Planning a batch takes 100 ms: it is done where
  -- the table is small.
  if cardinality(sent) > 20 and (select c.reltuples < 10000 from pg_catalog.pg_class c where c.oid = 'core.charging_sessions'::regclass) then
    perform set_config('plan_cache_mode', 'force_custom_plan', true);
  end if;
  -- one batch at a time on a charger; in order, so that two batches cannot wait for each other
  perform from core.chargers h where h.partner_id = private.partner_id() and h.id = any (chargers) order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select h.connection_id from core.chargers h
                             where h.partner_id = private.partner_id() and h.id = any (chargers) and h.mid_eligible))
    order by c.id for no key update;
  compared := private.compare_charging_sessions(sent);
  if exists (select from unnest(compared) c where c.status = 'updated') then
    changes := private.correct_charging_sessions(compared);
  end if;
  changes := changes || private.write_charging_sessions(compared, changes);
  if changes <> '{}' then
    perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  end if;
  perform private.note_chargers(compared);
  return array(
    select row((c.item).place, (c.item).sheet_row, case when (c.item).source <> 'file' then (c.item).external_id end, c.status,
               case when c.status = 'rejected' then coalesce((c.item).reason, 'unknown_charger') end, s)::private.charging_session_result
      from unnest(compared) c
      left join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = (c.item).charger_id and s.source = (c.item).source
       and s.external_id = (c.item).external_id and c.status <> 'rejected');
end $function$;

CREATE OR REPLACE FUNCTION private.store_named_sessions (
  owner    uuid,
  sessions jsonb,
  shared   jsonb
)
  RETURNS private.charging_session_result[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  AS $function$
declare
  wanted  private.named_charger[];
  found   private.found_charger[];
  sent    private.charging_session_item[];
  waiting core.parked_charging[];
  results private.charging_session_result[];
begin
  perform private.hold_names(owner);
  -- in the order of sessions, so that the n-th charger we find belongs to the n-th session
  wanted := array(
    select row(i.n, i.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id, i.ended_at)::private.named_charger
      from rows from (jsonb_to_recordset(sessions) as (
             party text, started_at timestamptz, charger_id uuid, external_ref text, serial_number text, evse_uid text, evse_id text, meter_id text,
             ended_at timestamptz))
           with ordinality as i (party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id, ended_at, n));
  found := array(select f from private.find_chargers(owner, wanted) f);
  sent := array(select r from private.read_charging_sessions(sessions, shared, found) r);
  results := private.store_charging_sessions(sent);
  if exists (select from unnest(found) f where f.reason is not null) then
    with missed as materialized (
      select s.item, s.reason, coalesce(s.party, '') as party, n.names,
             s.reason in ('unknown_charger', 'charger_removed') and n.names is distinct from array['charger_id:' || upper(s.charger_id::text)] as waits
        from rows from (jsonb_array_elements(sessions), unnest(found), unnest(wanted))
             as s (item, place, found_id, evse_no, reason, moved, n, party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id, ended_at)
       cross join lateral (
         select array_agg(t.kind || ':' || t.value order by t.rank) as names
           from private.names_told(row(s.n, s.party, null, s.charger_id, s.external_ref, s.serial_number, s.evse_uid, s.evse_id, s.meter_id, null)::private.named_charger) t) n
       where s.reason is not null
    ), told as (
      select m.*, m.item ->> 'source' as source, m.item ->> 'external_id' as external_id, (m.item ->> 'place')::int as place,
             -- two chargers may use the same session_id, so we add their names; the id of a CDR already names its party
             case when m.item ->> 'external_id' is null then concat_ws(' ', array_to_string(m.names, ' '), m.item ->> 'evse_no', m.item ->> 'started_at')
                  when m.item ->> 'source' = 'ocpi' then m.item ->> 'external_id'
                  else (m.item ->> 'external_id') || ' ' || md5(array_to_string(m.names, ' ')) end as told_as
        from missed m
    )
    select array(
             -- items with the same told_as, or the same id and start, are one session: the last item counts
             select distinct on (t.source, coalesce(t.external_id, t.told_as), t.item ->> 'started_at')
                    row(null, null, owner, t.source, t.told_as, t.external_id, t.party, t.names,
                        (t.item - 'place') || shared || jsonb_strip_nulls(jsonb_build_object(
                          'client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), ''))), t.reason, null, null)::core.parked_charging
               from (select distinct on (t.source, t.told_as) t.* from told t where t.waits order by t.source, t.told_as, t.place desc) t
              order by t.source, coalesce(t.external_id, t.told_as), t.item ->> 'started_at', t.place desc),
           results || array(
             select row(t.place, (t.item ->> 'sheet_row')::int, t.external_id, case when t.waits then 'parked' else 'rejected' end, t.reason, null)::private.charging_session_result
               from told t)
      into waiting, results;
    perform private.park_charging(owner, waiting);
  end if;
  if exists (select from unnest(found) f where f.moved) then
    results := array(
      select row(r.place, r.sheet_row, r.told_id, r.status, coalesce(r.reason, m.reason), r.session)::private.charging_session_result
        from unnest(results) r
        left join (select (s.item ->> 'place')::int as place, 'name_moved' as reason
                     from rows from (jsonb_array_elements(sessions), unnest(found)) as s (item, place, charger_id, evse_no, reason, moved)
                    where s.moved and s.reason is null) m on m.place = r.place);
  end if;
  -- a session with the same id and start, parked under other names, has these names now
  if exists (select from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner) then
    delete from core.parked_charging p
     using (select i.source, i.external_id, i.started_at from unnest(sent) i
            union all
            select w.source, w.external_id, (w.item ->> 'started_at')::timestamptz from unnest(waiting) w) i
     where p.partner_id = private.partner_id() and p.owner_id = owner and p.source = i.source and p.external_id = i.external_id
       and (p.source = 'ocpi' or (p.item ->> 'started_at')::timestamptz = i.started_at)
       and p.told_as <> all (array(select w.told_as from unnest(waiting) w));
  end if;
  return results;
end $function$;

CREATE OR REPLACE FUNCTION private.store_upload (
  input jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  dry    constant boolean := (input ->> 'dry_run')::boolean;
  upload core.uploads;
  newest core.uploads;
begin
  -- one file of a client at a time, so that equal ones find the first stored
  perform pg_advisory_xact_lock(hashtextextended('uploads of ' || private.client_id(), 0));
  select * into upload from core.uploads u where u.partner_id = private.partner_id() and u.id = (input ->> 'upload_id')::uuid;
  if found then  -- confirmed twice at once
    return private.upload_answer(upload) || '{"idempotent": true}';
  end if;
  select * into newest from core.uploads u
   where u.partner_id = private.partner_id() and u.owner_id = private.client_id() order by u.arrival desc limit 1;
  if newest.sha256 = decode(input ->> 'sha256', 'hex') and newest.kind = input ->> 'kind' and newest.decimal is not distinct from input ->> 'decimal'
     and not private.can_store_again(newest) then
    if private.rows_left_out(newest.counts) = 0 then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
  else
    newest := null;
  end if;
  begin
    upload.results := case input ->> 'kind' when 'months' then private.deliver_months_of_file(input) else private.deliver_sessions_of_file(input) end;
    upload.results := (
      select coalesce(jsonb_agg(r.result order by (r.result ->> 'row')::int), '[]') from (
        -- the id of a session that a dry run undoes is nobody's
        select e.result - case when dry and bool_or(e.result ->> 'status' = 'created') over (partition by e.result ->> 'charging_session_id')
                               then 'charging_session_id' else '' end as result
          from jsonb_array_elements(upload.results) e (result)
        union all
        select jsonb_strip_nulls(e.result || '{"status": "invalid"}') from jsonb_array_elements(input -> 'rejected') e (result)) r);
    upload.counts := (
      select jsonb_object_agg(s.status, coalesce(n.rows, 0))
        from jsonb_array_elements_text(input -> 'statuses') s (status)
        left join (select e.result ->> 'status' as status, count(*) as rows from jsonb_array_elements(upload.results) e (result) group by 1) n
          on n.status = s.status);
    if dry or private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      raise exception using errcode = 'DRY01';
    end if;
    insert into core.uploads (partner_id, id, owner_id, user_id, file_name, sha256, decimal, kind, rows, columns, counts, results)
    values (private.partner_id(), (input ->> 'upload_id')::uuid, private.client_id(), private.manager_id(), input ->> 'file_name',
            decode(input ->> 'sha256', 'hex'), input ->> 'decimal', input ->> 'kind', (input ->> 'rows')::int, input -> 'columns',
            upload.counts, upload.results)
    returning * into upload;
  exception when sqlstate 'DRY01' then
    -- the exception undid the rows that we stored to judge them
    if private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
    return jsonb_build_object('upload_id', null, 'kind', input -> 'kind', 'created_at', null, 'rows', input -> 'rows', 'columns', input -> 'columns',
                              'counts', upload.counts, 'results', upload.results);
  end;
  return private.upload_answer(upload);
end $function$;

CREATE OR REPLACE FUNCTION private.submit_booking (
  tenant     uuid,
  booking_id uuid,
  chosen     uuid[] DEFAULT NULL::uuid[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking  constant core.bookings := private.lock_booking(tenant, booking_id);
  held     uuid[];
  postings private.posting[];
begin
  if booking.status <> 'open' then
    return null;
  end if;
  -- nobody changes the factor while we book by it; later it is fixed, because the booking used it
  perform from core.ere_factors f where f.delivery_year = extract(year from booking.quarter) for share;
  held := array(
    select distinct d.connection_id
      from core.delivered_months d
      join core.connections c on c.partner_id = d.partner_id and c.id = d.connection_id
     where d.partner_id = tenant and d.period >= booking.quarter and d.period < (booking.quarter + interval '3 months')::date and not d.locked
       and (chosen is null or c.account_id = any (chosen)));
  perform private.lock_connections(tenant, held);
  -- a connection that got its first month after we locked is not in held: the next booking takes it
  postings := private.reserve_months(booking, chosen, held);
  if postings is null then
    return 0;
  end if;
  perform private.post(tenant, postings);
  update core.bookings b set status = 'submitted', submitted_at = private.now() where b.partner_id = tenant and b.id = booking.id;
  perform private.sum_booking(tenant, booking.id);
  perform private.audit('booking.submitted', booking.id, jsonb_build_object('rows', cardinality(postings)));
  perform private.emit_months(tenant, 'account.months_locked', array(select r.id from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id));
  return cardinality(postings);
end $function$;

CREATE OR REPLACE FUNCTION private.sweep_charging_changes()
  RETURNS bigint
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  client record;
  swept  bigint := 0;
begin
  for client in
    select distinct c.partner_id, c.owner_id
      from (select c.partner_id, c.owner_id from core.charging_changes c where c.at <= private.events_kept_since()
             order by c.at limit private.events_at_once()) c
     order by 1, 2
  loop
    perform private.sequence_charging(client.partner_id, client.owner_id);
    -- a request that numbers this log holds the head: the next run deletes from it
    perform from core.charging_heads h where h.partner_id = client.partner_id and h.owner_id = client.owner_id for update skip locked;
    continue when not found;
    with gone as (
      delete from core.charging_changes c
       where c.ctid = any (array(
         select d.ctid from core.charging_changes d
          where d.partner_id = client.partner_id and d.owner_id = client.owner_id and d.position is not null and d.at <= private.events_kept_since()
          order by d.position limit private.events_at_once()))
      returning c.position
    ), noted as (
      update core.charging_heads h set swept = greatest(h.swept, (select max(g.position) from gone g))
       where h.partner_id = client.partner_id and h.owner_id = client.owner_id
    )
    select swept + count(*) into swept from gone;
  end loop;
  return swept;
end $function$;

CREATE OR REPLACE FUNCTION private.values_ocpp (
  charger core.chargers,
  said    jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  last constant jsonb := coalesce(nullif(said -> 'last', 'null'), said -> 'begin');
  told core.ocpp_transactions := private.own_ocpp_transaction(charger, said ->> 'transaction');
  at   constant timestamptz := last ->> 'at';
begin
  if at is not null and (told.id is null or private.is_after_ocpp(told, at))
     -- a transaction whose end we guessed may go on until another begins at its connector
     and (told.end_guessed is not true or exists (
       select from core.ocpp_transactions l
        where l.partner_id = charger.partner_id and l.charger_id = charger.id and l.connector = told.connector and l.first_at <= at
          and private.ocpp_began_later(l, told))) then
    told := private.open_ocpp_transaction(charger, (said ->> 'connector')::int, at, null);
  end if;
  if told.id is not null then
    told := private.merge_ocpp_readings(told, said);
    perform private.store_ocpp_transaction(told);
    perform private.note_ocpp_meter(charger, told.last_at, told.last_wh);
    return private.ocpp_session(told);
  end if;
  -- outside a transaction it is only what the meter says
  perform private.note_ocpp_meter(charger, at, (last ->> 'wh')::bigint);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION private.withdraw (
  named uuid
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts;
begin
  -- waits for a claim that runs now, and sees its result
  select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = named for update;
  if draft.id is null then
    return 'draft_not_found';
  elsif draft.status = 'active' then
    return 'draft_active';
  end if;
  delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.release_customer(draft.user_id, draft.partner_id), private.drop_waiting_mail(draft.id);
  perform private.audit('draft.withdrawn', draft.id, jsonb_build_object('status', private.draft_status(draft)));
  return 'withdrawn';
end $function$;

CREATE OR REPLACE VIEW "core"."counted_months" WITH (security_invoker=true) AS  SELECT d.partner_id,
    d.connection_id,
    d.period,
    d.total_kwh,
    d.session_count,
    d.status,
    f.ere_per_kwh,
    (d.total_kwh * f.ere_per_kwh) AS ere,
    d.received_at
   FROM (core.delivered_months d
     JOIN core.ere_factors f ON (((f.delivery_year)::numeric = EXTRACT(year FROM d.period))))
  WHERE (d.locked OR ((d.status = 'staged'::text) AND (EXISTS ( SELECT
           FROM core.connection_coverage k
          WHERE ((k.partner_id = d.partner_id) AND (k.connection_id = d.connection_id) AND (d.period <@ k.covered))))));

commit;
