-- The steps of a claim; each keeps what the customer confirmed.

create function api.save_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  step    constant text  := request ->> 'step';
  typed   constant jsonb := request -> 'answers';
  draft   core.drafts;
  before  jsonb;
  kept    jsonb;
  answers jsonb;
  points  jsonb;
  moved   boolean;
  checked record;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  -- judged on the locked row: a code may have been proved since the page was opened
  perform private.refuse_if('claim_not_open', draft.status is distinct from 'claimed'
                            or request ->> 'proved_by' = 'link' and private.ends_links(draft));
  before := private.claim_answers(draft);
  kept := draft.progress;
  answers := coalesce(kept -> 'answers', '{}') || typed;
  case step
    when 'address' then
      moved := (before - 'street' - 'city') || (typed - 'street' - 'city') <> before - 'street' - 'city';
      points := case when request #>> '{ean_register,source}' = 'table'
        then private.points_in_table(typed ->> 'postal_code', (typed ->> 'house_number')::int,
                                     typed ->> 'house_number_addition')
        else coalesce(request #> '{ean_register,points}', '[]') end;
      if points = '[]' and not moved then
        points := draft.ean_candidates;  -- the EAN register gives no answer now, but gave one when the draft was made
      end if;
      kept := kept || jsonb_build_object('candidates', points);
      answers := answers || jsonb_strip_nulls(jsonb_build_object(
        'street', coalesce(typed ->> 'street', points #>> '{0,street}'), 'city',
            coalesce(typed ->> 'city', points #>> '{0,city}')));
      if moved and before ->> 'postal_code' is not null then
        -- another address has another connection
        answers := answers || '{"ean_code": null}';
        kept := (kept - 'ean_check') || jsonb_build_object('confirmed', coalesce(kept -> 'confirmed', '[]') - 'ean');
      end if;
    when 'ean' then
      perform private.refuse_if('ean_in_use', private.ean_taken(typed ->> 'ean_code'));
      select * into checked from private.check_ean(typed ->> 'ean_code', before ->> 'postal_code',
                                                   (before ->> 'house_number')::int,
        before ->> 'house_number_addition', request -> 'ean_register');
      perform private.refuse_if('ean_address_mismatch', checked.outcome = 'mismatch');
      kept := kept || jsonb_build_object('ean_check', to_jsonb(checked) - 'street' - 'city');
    when 'payout' then
      kept := case when jsonb_typeof(request -> 'iban') = 'object' then kept
                   || jsonb_build_object('iban', request -> 'iban', 'iban_by_link', request ->> 'proved_by' = 'link')
                   when request -> 'later' = 'true' then kept - 'iban' - 'iban_by_link' else kept end;
    when 'charger' then
      perform private.refuse_if('charger_claimed', private.charger_taken(typed ->> 'brand', typed ->> 'serial_number'));
    else null;
  end case;
  update core.drafts d
     set progress = kept || jsonb_build_object(
           'answers', answers, 'confirmed', (coalesce(kept -> 'confirmed', '[]') - step) || to_jsonb(step))
   where d.partner_id = draft.partner_id and d.id = draft.id
  returning * into draft;
  return json_build_object('open_step', private.claim_open_step(private.draft_for(draft, request ->> 'proved_by')));
end $$;
comment on function api.save_claim(jsonb, jsonb) is
  'Keeps a step of a claim with a proven address: {draft_id, step, answers, ean_register, iban, later, proved_by} to '
  '{open_step}.';
