-- POST /sandbox/v1/drafts/{id}/claim: the state of a rehearsal. The claim itself runs through the functions of the
-- pages.

create function private.foreign_login(email text, partner uuid) returns boolean
language sql stable security definer
as $$
  select exists (
    select from auth.users u
     where u.email = foreign_login.email and u.is_sso_user = false and u.deleted_at is null
       and u.raw_app_meta_data ->> 'claimed_for' is distinct from partner::text)
$$;
comment on function private.foreign_login(text, uuid) is
  'Whether an address has a login that no claim of this partner made. Definer, because logins belong to Supabase Auth.';

create function private.customer_state(account uuid) returns jsonb
language plpgsql stable security definer
as $$
begin
  return (
    select jsonb_build_object(
             'registration_status', c.registration_status,
             'iban_present', a.iban_ciphertext is not null,
             'charger', (select private.virtual_charger_answer(v)
                           from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id
                               and h.id = v.charger_id
                          where v.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'
                          order by v.created_at, v.id limit 1))
      from core.accounts a
      left join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
     where a.partner_id = private.people_tenant() and a.id = account
     order by c.created_at, c.id limit 1);
end $$;
comment on function private.customer_state(uuid) is
  'The state of a draft''s account: registration, IBAN, first virtual charger. Definer, because accounts of people are '
  'in the people''s tenant.';

create function api.find_rehearsal(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  named   constant text := input ->> 'id';
  lease   constant uuid := (input ->> 'lease')::uuid;
  held    boolean := false;
  leased  core.drafts;
  draft   core.drafts;
  answers jsonb;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- of several drafts with one reference the newest that can be claimed
  select d.* into draft from core.drafts d
   where d.partner_id = private.partner_id() and (d.id = private.as_uuid(named) or d.external_ref = named)
   order by d.id = private.as_uuid(named) desc nulls last, private.draft_status(d) in ('invited', 'claimed') desc,
       d.created_at desc, d.id limit 1
     -- a reset that deletes the draft ends first: what is read below would miss the login and call the draft
     -- unclaimable
     for key share;
  if draft.id is null then
    perform private.refuse('draft_not_found');
  elsif jsonb_typeof(input -> 'profile') = 'object' then
    perform private.virtual_model(input -> 'profile');
  end if;
  if lease is not null then
    -- what the rehearsal before wrote is in the row that is answered
    update core.drafts d
       set rehearsal_id = case when (input -> 'leave')::boolean then null else lease end,
           rehearsal_until = case when (input -> 'leave')::boolean then null
                                  else private.now() + interval '20 seconds' end
     where d.partner_id = draft.partner_id and d.id = draft.id
       and (d.rehearsal_id is null or d.rehearsal_id = lease or d.rehearsal_until <= private.now())
     returning d.* into leased;
    held := found;
    if held then draft := leased; end if;
  end if;
  answers := private.claim_answers(draft);
  return (jsonb_build_object(
    'draft_id', draft.id,
    'held', held,
    'external_ref', draft.external_ref,
    'email', draft.email,
    'type', draft.type,
    'locale', coalesce(draft.locale, (private.own_partner()).locale, 'nl'),
    'draft_status', private.draft_status(draft),
    'stage', private.claim_stage(draft),
    'foreign_login', private.foreign_login(draft.email, draft.partner_id),
    'banned_login', not private.claimant_stands(draft),
    'account_id', draft.account_id,
    'customer_ref', private.customer_ref(draft.user_id, private.customer_key(draft.partner_id, input ->> 'key')),
    'brand', private.partner_brand(private.own_partner()),
    'answers', answers,
    'candidates', case when draft.postal_code is null
                         or (answers ->> 'postal_code', answers ->> 'house_number', answers ->> 'house_number_addition')
                            is not distinct from (draft.postal_code, draft.house_number::text,
                                                  draft.house_number_addition)
                       then draft.ean_candidates
                       -- of the address the customer gave instead
                       else coalesce(draft.progress -> 'candidates', '[]') end,
    'confirmed', coalesce(draft.progress -> 'confirmed', '[]'))
    || coalesce(private.customer_state(draft.account_id), '{}'))::json;
end $$;
comment on function api.find_rehearsal(jsonb, jsonb) is
  'A draft of the partner by its id or external_ref, and how far its claim is: {id, key, profile?, lease, leave?}. '
  'Refuses at once a profile that cannot be connected. held: this lease has the draft, for 20 seconds or until leave; '
  'one rehearsal at a time moves it. foreign_login: a login the caller did not make, which no helper enters.';

create function api.settle_rehearsal(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  ean   constant text := input ->> 'ean';
  draft core.drafts;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = (input ->> 'draft_id')::uuid
       and private.draft_state(d) = 'open' for update;
  if draft.id is not null and (private.claimant(draft.email, draft.partner_id)).taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return private.refusal('draft_not_claimable');
  elsif draft.id is not null and private.ean_taken(ean) then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return private.refusal('draft_not_claimable');
  elsif ean is not null and private.claim_stage(draft) = 'invited' and private.ean_taken(draft.ean) then
    update core.drafts d set ean = input ->> 'ean', ean_status = 'provided' where d.partner_id = draft.partner_id
        and d.id = draft.id;
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.settle_rehearsal(jsonb, jsonb) is
  'Ends a draft in conflict as the pages would: {draft_id, ean | null}, refused as draft_not_claimable. It does so if '
  'the login is another partner''s or has an account, or the wanted EAN is in use. Before the address is proven, a '
  'free EAN replaces an uploaded one that is in use.';
