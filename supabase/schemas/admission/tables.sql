-- The tables and views of admission.

create table core.rate_limits (
  bucket         text not null,
  quota          int  not null,
  window_seconds int  not null default 60,
  constraint rate_limits_pkey primary key (bucket),
  constraint rate_limits_positive check (quota > 0 and window_seconds > 0)
);
comment on table core.rate_limits is 'Requests a subject may make per window, refilled continuously. Changed by the operator.';
alter table core.rate_limits enable row level security;

insert into core.rate_limits (bucket, quota, window_seconds) values
  ('cpo_read',        300,     60),
  ('cpo_write',       120,     60),
  ('cpo_sessions',     60,     60),
  ('token',            60,     60),
  ('token_failures',   10,    300),
  ('page',             60,     60),
  ('user',             60,     60),
  ('partner_read',    120,     60),
  ('partner_write',    60,     60),
  ('partner_import',   10,     60),
  ('sandbox',          60,     60),
  -- wrong codes of an address and a purpose: over the 60 days of a draft a guess succeeds with about 1 in 800, however many drafts or links
  ('code_guesses',     20,  86400),
  -- links to renew a mandate, by the link that signed it
  ('mandate_renewal',  10,  86400),
  -- Sign-ins on the consent page, counted before Supabase Auth is asked. A browser that signed in to the account before (OWASP: device
  -- cookies) is counted by sign_in, sign_in_day and sign_in_code of its own, and per account with such browsers alone: by nothing that
  -- strangers use up. All others: per account and address in five minutes and in a day, per account, and per address whatever the account.
  -- A hundred a day (NIST SP 800-63B section 5.2.2) are all the passwords that browsers new to an account try, from however many
  -- addresses, and twenty the codes they have mailed, of which one is guessed right in 10,000 days (five guesses each). One address gets
  -- half of either. So a stranger with one address locks nobody out. One with two can use up both, and then the owner gets in from a
  -- browser that was signed in before, and from a new one neither by password nor by code while the stranger goes on; after that within
  -- a quarter of an hour by password, and 72 minutes by code.
  ('sign_in',          10,    300),
  ('sign_in_day',      50,  86400),
  ('sign_in_account', 100,  86400),
  ('sign_in_address',  30,    300),
  ('sign_in_code',     10,  86400),
  ('sign_in_mail',     20,  86400),
  -- These five are counted by Dutch day in core.mail_counts, and on production only. Mails to an address, or about a connection: of all
  -- kinds, and of one; sign-in codes that one network, or one browser that signed in before, may have mailed to an address: half of what
  -- strangers have together, so that one of them uses up nobody's codes alone.
  ('mail',             20,  86400),
  ('mail_kind',        10,  86400),
  ('mail_place',        5,  86400),
  -- invitations of one partner to an address, and of all partners together: withdrawing a draft and making it again mails its customer
  -- each time
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
comment on table core.rate_limit_overrides is 'A quota of one subject (client:<uuid>) that differs from the bucket''s.';
alter table core.rate_limit_overrides enable row level security;

-- Unlogged, because it is written on every request and may be lost in a crash.
create unlogged table core.rate_limit_state (
  subject    text        not null,
  bucket     text        not null,
  full_at    timestamptz not null,
  constraint rate_limit_state_pkey primary key (subject, bucket)
) with (fillfactor = 50);
comment on table core.rate_limit_state is
  'When a subject''s bucket is full again (the generic cell rate algorithm). Addresses appear hashed. Rows in the past are swept.';
-- No index has full_at in it: an update then stays on its page and leaves the primary key alone (HOT), and the sweep reads the
-- table, which holds those who called within their window.
alter table core.rate_limit_state enable row level security;
