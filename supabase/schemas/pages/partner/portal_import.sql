-- Bringing customers on a partner's pages: a file is kept for an hour, looked at, and then imported in stretches.

-- How far an import is: {row_count, rows_done, send_invite}; send_invite is null until it was confirmed.
create function private.import_state(kept core.imports) returns json
language sql stable
as $$ select json_build_object('row_count', kept.row_count, 'rows_done', kept.rows_done,
                               'send_invite', kept.send_invite) $$;

create function api.keep_import(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  -- ten of a person at most that nobody confirmed, that are under way, and that are done: an older one of the same
  -- makes room
  delete from core.imports d
   where d.partner_id = private.partner_id() and d.user_id = private.manager_id()
     and (d.expires_at <= private.now()
          or d.id in (select k.id
                        from (select i.id, row_number() over (partition by i.send_invite is null,
                                                              i.rows_done = i.row_count
                                                              order by i.created_at desc, i.id) as place
                                from core.imports i where i.user_id = private.manager_id()) k
                       where k.place > 9));
  insert into core.imports (partner_id, id, user_id, ciphertext, key_id, row_count)
  values (private.partner_id(), (input ->> 'id')::uuid, private.manager_id(), input ->> 'ciphertext',
          input ->> 'key_id', (input ->> 'row_count')::int);
  return json_build_object('ok', true);
end $$;
comment on function api.keep_import(jsonb, jsonb) is
  'Keeps for an hour a file of customers that somebody brought: {id, ciphertext, key_id, row_count}. Nothing is '
  'imported yet.';

create function api.read_portal_import(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
declare
  kept core.imports;
begin
  perform private.act_as(caller, 'partner');
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (request ->> 'id')::uuid and i.expires_at > private.now();
  return json_build_object(
    'who', private.portal_who(),
    -- among the newest: a partner may have many that its software brought; of one import somebody may not be mailed
    'mailed_before', (select bool_or(d.send_invite)
                        from (select * from core.drafts d where d.partner_id = private.partner_id()
                               order by d.created_at desc, d.id desc limit 1000) d
                       where d.source = 'csv' group by d.batch_id order by max(d.created_at) desc limit 1),
    'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(),
                             'remaining', greatest(private.draft_cap() - private.drafts_made(), 0)),
    'import', case when kept.id is not null then json_build_object(
      'sealed', json_build_object('ciphertext', kept.ciphertext, 'key_id', kept.key_id),
      'state', private.import_state(kept),
      'outcomes', (
        select coalesce(json_agg(json_build_object(
            'row', o.row, 'reason', o.reason, 'ean_status', o.ean_status,
            'claim_url', case when d.status = 'invited' and d.invited_at is null then private.claim_url(d.id,
                request -> 'links') end) order by o.row), '[]')
          from jsonb_to_recordset(kept.outcomes) as o (row int, draft_id uuid, reason text, ean_status text)
          left join core.drafts d on d.partner_id = kept.partner_id and d.id = o.draft_id)) end);
end $$;
comment on function api.read_portal_import(jsonb, jsonb) is
  'The pages on which a partner brings customers: {id, links} to {who, mailed_before, cap, import: {sealed, state, '
  'outcomes} | null}. mailed_before: whether we mailed the customers that it brought last, null before the first. '
  'claim_url is for customers who were not mailed and have not begun.';

-- What became of rows, or would, as core.imports keeps it.
create function private.import_outcomes(imported json) returns jsonb
language sql immutable
as $$
  select (select coalesce(jsonb_agg(jsonb_build_object('row', c -> 'row', 'draft_id', c -> 'draft_id',
                                                       'ean_status', c -> 'ean_status')), '[]')
            from jsonb_array_elements((imported -> 'created')::jsonb) c)
      || (select coalesce(jsonb_agg(jsonb_build_object('row', r -> 'row', 'reason', r -> 'reason')), '[]')
            from jsonb_array_elements((imported -> 'rejected')::jsonb) r)
$$;

create function api.look_at_import(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  verdicts jsonb;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  verdicts := private.import_outcomes(private.import_drafts(input));
  update core.imports i set outcomes = verdicts
   where i.partner_id = private.partner_id() and i.id = (input ->> 'id')::uuid and i.send_invite is null;
  return verdicts;
end $$;
comment on function api.look_at_import(jsonb, jsonb) is
  'The first look at a kept file: {id} and the input of a dry run of private.import_drafts, to [{row, ean_status} | '
  '{row, reason}]. It stays with the file until its import begins.';

create function api.import_stretch(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  kept     core.imports;
  imported json;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (input ->> 'id')::uuid
       and i.expires_at > private.now() for update;
  -- a second click, or another tab, finds the stretch done; whether people are mailed was said by the first
  if kept.id is null or kept.rows_done <> (input ->> 'from')::int
      or kept.send_invite <> (input ->> 'send_invite')::boolean then
    return private.import_state(kept);
  end if;
  -- sign-ups begin once confirmed
  kept.created_at := case when kept.send_invite is null then private.now() else kept.created_at end;
  imported := private.import_drafts(input || jsonb_build_object('begun', kept.created_at));
  update core.imports i
     set rows_done = least(kept.rows_done + jsonb_array_length(input -> 'rows'), kept.row_count),
         send_invite = (input ->> 'send_invite')::boolean,
         created_at = kept.created_at, expires_at = private.now() + interval '1 hour',
         -- what was expected makes room for what happened
         outcomes = case when kept.send_invite is null then '[]' else kept.outcomes end
             || private.import_outcomes(imported)
   where i.partner_id = kept.partner_id and i.id = kept.id
  returning * into kept;
  return private.import_state(kept);
end $$;
comment on function api.import_stretch(jsonb, jsonb) is
  'Imports the next rows of a kept file, once: {id, from, …} with the input of private.import_drafts, to how far it '
  'is. All null if nothing is kept. Rows that were imported meanwhile are not imported again.';

create function api.invite_import(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  links   constant jsonb := input -> 'links';
  named   jsonb;
  brand   jsonb;
  letters jsonb;
  dropped bigint;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  -- of two clicks the second finds it done
  update core.imports i set send_invite = true
   where i.partner_id = private.partner_id() and i.id = (input ->> 'id')::uuid and i.expires_at > private.now()
     and i.rows_done = i.row_count and not i.send_invite
  returning jsonb_path_query_array(i.outcomes, '$[*].draft_id ? (@ != null)') into named;
  brand := private.partner_brand(private.own_partner());
  -- locked before they are read: somebody who mails one by itself meanwhile is seen
  perform private.own_drafts(named);
  select jsonb_agg(jsonb_build_object('recipient', d.email, 'cause', 'claim:' || d.id,
                                      'content', private.letter_content(d, brand, links)))
    into letters
    from jsonb_array_elements_text(named) n (id)
    join core.drafts d on d.partner_id = private.partner_id() and d.id = n.id::uuid
   where d.invited_at is null and private.draft_status(d) = 'invited'
     and not private.opted_out(d.email, links ->> 'key');
  if letters is not null then
    dropped := private.enqueue_mails(
      jsonb_build_object('template', 'claim', 'locale', coalesce((private.own_partner()).locale, 'nl'),
                         'key', links -> 'key'), letters);
    -- whom a limit left out keeps the link
    update core.drafts d set invited_at = private.now(), send_invite = true
      from jsonb_array_elements_text(named) n (id)
      join core.mail_outbox m on m.partner_id = private.partner_id() and m.cause = 'claim:' || n.id
     where d.partner_id = private.partner_id() and d.id = n.id::uuid and d.invited_at is null;
    perform private.audit('drafts.invited', (input ->> 'id')::uuid,
                          jsonb_build_object('rows', jsonb_array_length(letters) - dropped));
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.invite_import(jsonb, jsonb) is
  'Mails everybody of one import that is done the invitation, if nobody was mailed: {id, links}. Whom a limit of mail '
  'leaves out, who wants no mail or who began keeps the link.';
