create table core.rate_limits (
  bucket         text not null,
  quota          int  not null,
  window_seconds int  not null default 60,
  constraint rate_limits_pkey primary key (bucket),
  constraint rate_limits_positive check (quota > 0 and window_seconds > 0)
);
comment on table core.rate_limits is
  'Requests a subject may make per window, refilled continuously. The operator changes it.';

insert into core.rate_limits (bucket, quota, window_seconds) values
  ('cpo_read',        300,     60),
  ('cpo_write',       120,     60),
  ('cpo_sessions',     60,     60),
  ('ocpi',            600,     60),
  ('token',            60,     60),
  ('token_failures',   10,    300),
  ('page',             60,     60),
  ('user',             60,     60),
  ('partner_read',    120,     60),
  ('partner_write',    60,     60),
  ('partner_import',   10,     60),
  ('sandbox',          60,     60),
  -- wrong codes for an address and a purpose: over the 60 days of a draft somebody guesses a code with a chance of
  -- about 1 in 800, however many drafts or links there are
  ('code_guesses',     20,  86400),
  -- links to renew a mandate, by the link that signed it
  ('mandate_renewal',  10,  86400),
  -- Sign-ins, counted before Supabase Auth is asked. A browser that signed in to the account before (OWASP: device
  -- cookies) has limits of its own, which strangers cannot use up. Others count per account and address, per account,
  -- and per address over all accounts. New browsers may try a hundred passwords a day (NIST SP 800-63B section 5.2.2),
  -- and have twenty codes mailed: at five guesses each, one is guessed right in 10,000 days. One address gets half of
  -- either, so it takes two to lock new browsers out, until a quarter of an hour (by code 72 minutes) after the
  -- stranger stops.
  ('sign_in',          10,    300),
  ('sign_in_day',      50,  86400),
  ('sign_in_account', 100,  86400),
  ('sign_in_address',  30,    300),
  ('sign_in_code',     10,  86400),
  ('sign_in_mail',     20,  86400),
  -- These five are counted by Dutch day in core.mail_counts, on production only. mail, mail_kind: mails to an address
  -- or about a connection, of all kinds and of one. mail_place: codes for one network or known browser, half of what
  -- strangers have, so that one leaves some.
  ('mail',             20,  86400),
  ('mail_kind',        10,  86400),
  ('mail_place',        5,  86400),
  -- invitations to an address, of one partner and of all together: withdrawing a draft and making it again mails its
  -- customer each time
  ('draft_invitation',  3,  86400),
  ('draft_invitation_any', 5, 86400),
  -- invitations to manage a partner, in a day
  ('manager_invitation', 20, 86400);

create table core.rate_limit_overrides (
  subject text not null,
  bucket  text not null,
  quota   int  not null,
  constraint rate_limit_overrides_pkey primary key (subject, bucket),
  constraint rate_limit_overrides_bucket_fkey foreign key (bucket) references core.rate_limits (bucket),
  constraint rate_limit_overrides_positive check (quota > 0)
);
comment on table core.rate_limit_overrides is 'A quota of one subject (client:<uuid>) in place of the bucket''s.';

-- Unlogged, because it is written on every request and may be lost in a crash.
create unlogged table core.rate_limit_state (
  subject    text        not null,
  bucket     text        not null,
  full_at    timestamptz not null,
  constraint rate_limit_state_pkey primary key (subject, bucket)
) with (fillfactor = 50);
comment on table core.rate_limit_state is
  'When a subject''s bucket is full again (the generic cell rate algorithm). Addresses are hashed. A job deletes rows '
  'in the past.';
-- No index has full_at: an update then stays on its page (HOT). The sweep reads the table, which holds only who called
-- within their window.
