-- Rows that we delete one by one, because nothing else goes with them. Rows from before the day :border need not be
-- kept.
create view core.deletions with (security_invoker = true) as
select * from (values
  (1, 'months', 'delivered_months', 'd.period < :border and not exists (
     select from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = d.connection_id and '
     'r.period = d.period)'),
  (2, 'deliveries', 'deliveries', 'd.received_at < private.dutch_midnight(:border)
     and not exists (select from core.delivered_months m where m.partner_id = d.partner_id and m.connection_id = '
     'd.connection_id and m.delivery_id = d.id)
     and not exists (select from core.booking_rows r where r.partner_id = d.partner_id and r.delivery_id = d.id)'),
  (3, 'ean_checks', 'ean_checks', 'd.checked_at < private.dutch_midnight(:border)
     and not exists (select from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = '
     'd.connection_id)'),
  (4, 'mail', 'mail_outbox', $$d.status = 'nobody' or d.created_at < private.now() - interval '90 days'$$),
  -- kept as long as the mails that show them
  (5, 'logos', 'partner_logos', $$d.replaced_at < private.now() - interval '90 days'$$),
  (6, 'invitations', 'manager_invitations', $$d.expires_at < private.now() - interval '30 days'$$),
  -- the clock of a function may be this much behind, and then still takes the token
  (7, 'oauth', 'revoked_access_tokens', $$d.expires_at < private.now() - interval '30 seconds'$$),
  (8, 'oauth', 'oauth_codes', $$d.expires_at < private.now() - interval '1 day'$$),
  (9, 'oauth', 'oauth_refresh_tokens', 'd.expires_at < private.now()'),
  (10, 'oauth', 'one_time_codes', 'd.expires_at < private.now()'),
  (11, 'oauth', 'page_sessions', 'd.expires_at < private.now()'),
  -- a grant without a code or a refresh token gave its last access token more than an hour ago
  (12, 'oauth', 'oauth_grants', $$d.created_at < private.now() - interval '1 day'
     and not exists (select from core.oauth_codes c where c.grant_id = d.id)
     and not exists (select from core.oauth_refresh_tokens t where t.grant_id = d.id)$$),
  (13, 'webhook_attempts', 'webhook_attempts', $$d.at <= private.now() - interval '30 days' order by d.at$$),
  (14, 'job_runs', 'job_runs', $$d.finished_at < private.now() - interval '7 days' or d.id <= (select max(n.id)
      from core.job_runs n) - 100000$$),
  (15, 'mail_counts', 'mail_counts', 'd.day < private.today()'),
  -- a full bucket is the same as none
  (16, 'rate_limits', 'rate_limit_state', 'd.full_at < private.now()'),
  (17, 'uploads', 'uploads', 'd.created_at < private.dutch_midnight(:border)
     and not exists (select from core.deliveries v where v.partner_id = d.partner_id and v.upload_id = d.id)
     and not exists (select from core.charging_evidence e where e.partner_id = d.partner_id and e.upload_id = d.id)'),
  (18, 'parked', 'parked_charging', $$d.received_at < private.now() - interval '400 days' order by d.received_at$$),
  -- the evidence of such a session has no words of its own
  (19, 'ocpi_cdrs', 'ocpi_cdrs', $$d.received_at < private.dutch_midnight(:border)
     and not exists (select from core.charging_sessions s where s.partner_id = d.partner_id
                     and s.external_id = d.party || ':' || coalesce(d.credit_of, d.cdr_id) and s.source = 'ocpi'
                     and s.owner_id = d.owner_id)$$)) as deletion (step, kind,
      of_table, due);
comment on view core.deletions is
  'Which rows we delete one by one. due is a condition on rows d of a table of core; rows from before the day :border '
  'need not be kept. A kind is deleted step by step.';
