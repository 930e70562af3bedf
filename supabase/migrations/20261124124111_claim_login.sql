begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.claim_login (
  draft   core.drafts,
  session jsonb
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return (select u.email from auth.users u
           where session ->> 'proved_by' = 'code' and u.id = draft.user_id and u.email = draft.email
             and private.login_proved(u, draft.partner_id) and private.login_stands(u.id));
end $function$;

CREATE OR REPLACE FUNCTION private.claim_view (
  draft   core.drafts,
  request jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  state  constant text := private.draft_state(draft);
  answers jsonb;
  view   jsonb;
begin
  draft := private.draft_for(draft, request #>> '{session,proved_by}');
  draft.status := private.claim_stage(draft);
  select jsonb_build_object('state', state, 'status', draft.status, 'locale', coalesce(draft.locale, p.locale),
                            'brand', private.partner_brand(p), 'partner_name', p.name) into view
    from core.partners p where p.id = draft.partner_id;
  if state not in ('open', 'active') then
    return coalesce(view, jsonb_build_object('state', state));
  end if;
  view := view || jsonb_build_object('email', draft.email, 'code_sent', private.code_sent('claim:' || draft.id));
  if not private.is_proven(draft, request -> 'session') or state = 'open' and draft.status <> 'claimed' then
    -- the link alone shows nothing of what is known or typed, but what anybody may earn
    return view || jsonb_build_object('offer', private.offer(private.house(), 'service_pays_customer'),
                                      'fee_pct', (private.own_partner()).default_fee_pct);
  elsif state = 'active' then
    view := view || private.claim_outcome(draft) || jsonb_build_object(
      'login', private.claim_login(draft, request -> 'session'),
      'return_url', coalesce(draft.progress ->> 'return_url', (select p.return_url from core.partners p where p.id = draft.partner_id)));
    -- what the partner uploaded describes the first charger, not a second one
    answers := case when view -> 'chargers' = '[]' then coalesce(draft.charger, '{}') else '{}' end;
    return view || jsonb_build_object('answers', answers)
      || case when request ->> 'step' = 'charger'
              then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
  end if;
  answers := private.claim_answers(draft);
  return view || jsonb_build_object(
    'answers', answers,
    'confirmed', coalesce(draft.progress -> 'confirmed', '[]'),
    'open_step', private.claim_open_step(draft),
    'candidates', coalesce(draft.progress -> 'candidates', '[]'),
    'iban_last4', draft.progress #>> '{iban,last4}',
    'charger', (select jsonb_build_object('name', m.brand || ' ' || m.model, 'mid_meter', m.mid_meter)
                  from core.charger_models m where m.id = (answers ->> 'catalog_charger_id')::uuid))
    || case when private.claim_open_step(draft) is null
            then private.what_may_be_signed(private.claim_facts(draft), null, private.own_partner()) else '{}' end
    || case when request ->> 'step' = 'charger'
            then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
end $function$;

COMMENT ON FUNCTION "private"."claim_login"(core.drafts, jsonb) IS 'The address of the login that a browser may be signed in to from a signed claim: its session proved the address by a code, and so did the owner of the login. Null for any other login at that address. Definer, because logins belong to Supabase Auth.';

REVOKE ALL ON FUNCTION "private"."claim_login"(core.drafts, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."claim_login"(core.drafts, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."claim_login"(core.drafts, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_login"(core.drafts, jsonb) TO "postgres";

commit;
