-- The documents of a claim, for the browser that proved the address.

-- Makes the browser that proved the address of a claim act for its person. Its page counts the visit.
create function private.enter_signed_claim(caller jsonb, request jsonb) returns core.drafts
language plpgsql
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, false);
  perform private.refuse_if('claim_not_open', private.draft_state(draft) is distinct from 'active'
                            or not private.is_proven(draft, request -> 'session'));
  perform private.enter_account(draft);
  return draft;
end $$;

create function api.read_claim_mandate(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
declare
  draft constant core.drafts := private.enter_signed_claim(caller, request);
begin
  return private.mandate_document((
    select m.id from core.mandates m
      join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
     where m.partner_id = private.partner_id() and m.id = (request ->> 'mandate_id')::uuid
         and c.account_id = draft.account_id));
end $$;
comment on function api.read_claim_mandate(jsonb, jsonb) is
  'The document of a claim''s mandate: {draft_id, session, mandate_id} to private.mandate_document.';

-- private.kept_document of a payout, of one account or of any that the transaction may read.
create function private.statement_document(line_id uuid, account uuid default null) returns json
language plpgsql stable
as $$
declare
  line core.payout_lines;
begin
  select l.* into line from core.payout_lines l
   where l.partner_id = private.partner_id() and l.id = statement_document.line_id and l.status = 'paid'
     and l.account_id = coalesce(account, l.account_id);
  perform private.refuse_if('statement_not_found', line.id is null);
  return private.kept_document((
    select d from core.documents d where d.partner_id = line.partner_id and d.line_id = line.id),
    concat_ws('-', 'statement', private.dutch_day(line.paid_at), private.payment_reference(line.id)));
end $$;

create function api.read_claim_statement(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
declare
  draft constant core.drafts := private.enter_signed_claim(caller, request);
begin
  return private.statement_document((request ->> 'line_id')::uuid, draft.account_id);
end $$;
comment on function api.read_claim_statement(jsonb, jsonb) is
  'The statement of a payout to a claim''s account: {draft_id, session, line_id} to private.statement_document.';
