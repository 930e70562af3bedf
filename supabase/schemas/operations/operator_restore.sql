-- The operator around a restore: what the database knows since the moment, and that it is known again afterwards.

create function ops.restore_save(input jsonb) returns json
language plpgsql security definer
as $$
declare
  since constant timestamptz := coalesce(private.dutch_midnight(private.as_day(input ->> 'since')),
                                         private.as_moment(input ->> 'since'));
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('invalid_since', (since <= private.now()) is not true);
  perform private.audit('restore.saved', null, jsonb_build_object('since', private.iso(since)));
  return json_build_object(
    'host', private.host(),
    'since', private.iso(since),
    'opt_outs', (select coalesce(json_agg(encode(s.email_hash, 'hex') order by s.created_at), '[]')
                   from core.suppressions s),
    'logs', (select coalesce(json_agg(json_build_object('partner_id', h.partner_id, 'owner_id', h.owner_id,
                                                        'sequence', h.sequence)), '[]')
               from core.event_heads h),
    'deeds', (select coalesce(json_agg(json_build_object('at', private.iso(a.at), 'actor', a.actor, 'action', a.action,
                                                         'partner_slug', p.slug, 'subject_id', a.subject_id,
                                                         'details', a.details) order by a.at, a.id), '[]')
                from core.audit_log a
                join core.partners p on p.id = a.partner_id
               where a.at >= since
                 and a.action in (select x from jsonb_array_elements_text(input -> 'actions') as x)),
    'batches', (select coalesce(json_agg(b.id order by b.exported_at), '[]') from core.payout_batches b
                 where b.exported_at >= since and b.prepared_by <> 'sandbox'));
end $$;
comment on function ops.restore_save(jsonb) is
  'What a restore to a moment would lose, and that protects somebody: {since, actions} to {host, since, opt_outs, '
  'logs, deeds, batches}. opt_outs are hashes of addresses, logs say how far each is numbered, deeds are the audit '
  'rows of these actions since, batches the payout batches that the bank got since.';

create function ops.restore_apply(input jsonb) returns json
language plpgsql security definer
as $$
declare
  opt_outs bigint;
  raised   bigint;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('restore_of_other_host', input ->> 'host' is distinct from private.host(),
                            json_build_object('host', private.host()));
  insert into core.suppressions (email_hash)
    select decode(x, 'hex') from jsonb_array_elements_text(input -> 'opt_outs') as x on conflict do nothing;
  get diagnostics opt_outs = row_count;
  -- a cursor from after the moment is not before a new event then
  insert into core.event_heads as h (partner_id, owner_id, sequence)
    select l.partner_id, l.owner_id, l.sequence
      from jsonb_to_recordset(input -> 'logs') as l (partner_id uuid, owner_id uuid, sequence bigint)
     where exists (select from core.partners p where p.id = l.partner_id)
  on conflict on constraint event_heads_pkey do update set sequence = excluded.sequence
    where h.sequence < excluded.sequence;
  get diagnostics raised = row_count;
  perform private.audit('restore.applied', null, jsonb_build_object('since', input ->> 'since', 'opt_outs', opt_outs,
                                                                    'logs', raised))
    where opt_outs + raised > 0;
  return json_build_object('changed', opt_outs + raised > 0, 'opt_outs', opt_outs, 'logs', raised);
end $$;
comment on function ops.restore_apply(jsonb) is
  'Stores again what ops.restore_save saved: {host, since, opt_outs, logs} to {changed, opt_outs, logs}. Opt-outs are '
  'added, and no log gets a number twice. The deeds are for the commands that did them.';
