-- Scheduled work: the worker calls, and each call does what is due.

create function api.run_due_jobs(caller jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object(
    'mandates_expired', private.expire_mandates(),
    'endings_announced', private.announce_endings(),
    'missing_asked', private.announce_missing(),
    'mail_purged', private.sweep('mail'),
    'logos_purged', private.sweep('logos'),
    'invitations_purged', private.sweep('invitations'),
    'oauth_purged', private.sweep('oauth'),
    'sessions_synced', private.sync_virtual_chargers(),
    'charges_given_up', private.give_up_charges(),
    'parked_stored', private.judge_due_parked(),
    'registrations_reviewed', private.review_due_registrations(),
    'partitions_made', private.make_due_partitions(),
    'events_swept', private.sweep_events(),
    'charging_changes_swept', private.sweep_charging_changes(),
    'parked_swept', private.sweep('parked'),
    'webhook_attempts_swept', private.sweep('webhook_attempts'),
    'job_runs_swept', private.sweep('job_runs'),
    'mail_counts_swept', private.sweep('mail_counts'),
    -- last: whose bucket it deletes waits until this transaction ends
    'rate_limits_swept', private.sweep('rate_limits'));
end $$;
comment on function api.run_due_jobs(jsonb) is
  'Does everything that is due, in one transaction: counts by job. Safe to call at any time, from several callers at once.';
grant execute on function api.run_due_jobs(jsonb) to edge_slow;
