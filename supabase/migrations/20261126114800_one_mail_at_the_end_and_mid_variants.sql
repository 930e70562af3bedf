begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.review_due_registrations()
  RETURNS bigint
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection core.connections;
  charger    core.chargers;
  reviewed   bigint := 0;
begin
  if private.is_sandbox() then
    for connection in
      select c.* from core.connections c
        join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
       where c.registration_status = 'ingediend' and c.status = 'active' and c.submitted_at <= private.now() - interval '2 minutes'
       -- a reset locks accounts first, and what is told of the review refers to the account
       order by c.submitted_at, c.id limit 500 for key share of a skip locked for update of c skip locked
    loop
      perform private.act_for_partner(connection.partner_id);
      -- a person who chose "(MID variant)" has one: nobody asks for evidence here
      for charger in
        update core.chargers h set mid_eligible = true
         where h.partner_id = connection.partner_id and h.connection_id = connection.id and h.user_id is not null and h.status = 'active'
           and h.mid_eligible is null and h.catalog_charger_id is not null returning *
      loop
        perform private.audit('charger.mid_confirmed', charger.id), private.emit_charger('charger.mid_confirmed', charger);
      end loop;
      perform private.review_registration(connection,
        -- by the gates alone: whether months wait of who withdrew the mandate, for which a person may approve, depends on the day
        case when array_remove(private.closed_gates(connection), 'iban_present') = '{}' then 'goedgekeurd' else 'afgekeurd' end);
      reviewed := reviewed + 1;
    end loop;
    perform private.act_for_partner(null);
  end if;
  return reviewed;
end $function$;

CREATE OR REPLACE FUNCTION private.say_farewell (
  person uuid,
  ending json,
  input  jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  tenant  constant uuid := private.partner_id();
  address constant text := (private.user_profile(person)).email;
begin
  -- kept as opt-outs are, for these partners alone
  insert into core.suppressions (email_hash)
  select private.claim_mac('ended:' || p.id || ':' || lower(address), (private.keys_for('opt_out', input ->> 'key'))[1])
    from (select a.partner_id from core.attributions a where a.user_id = person
          union select a.partner_id from core.ended_attributions a where a.user_id = person
          union select d.partner_id from core.drafts d where d.user_id = person) p (id)
   where input ->> 'key' is not null
  on conflict do nothing;
  -- the functions of the release before send no mail
  if jsonb_typeof(input -> 'mail') = 'object' then
    -- it says what these would, but for money
    delete from core.notices n using core.accounts a
     where a.user_id = person and n.partner_id = a.partner_id and n.account_id = a.id and n.due_at is not null and n.kind not like 'payout\_%';
    perform private.act_for_partner(private.house()),
            private.enqueue_mail(input -> 'mail', address, 'account_closed:' || person, jsonb_build_object('end', ending)),
            private.act_for_partner(tenant);
  end if;
end $function$;

COMMENT ON FUNCTION "private"."review_due_registrations"() IS 'The sandbox''s reviewer, two minutes after a registration was submitted. It takes a person''s MID variant to have its meter, and approves if mandate, EAN and MID charger hold, else rejects. Definer: every tenant at once.';

commit;
