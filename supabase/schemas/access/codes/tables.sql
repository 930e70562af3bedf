create table core.one_time_codes (
  subject    text        not null,
  code_hash  bytea,
  used_hash  bytea,
  email      text        not null,
  attempts   int         not null default 0,
  expires_at timestamptz not null,
  constraint one_time_codes_pkey primary key (subject)
);
comment on table core.one_time_codes is
  'One-time codes that were mailed: good for ten minutes and five attempts. Addresses without a login have rows too, '
  'so that nobody can tell which have one. Personal data; the clean-up after expiry deletes it.';
comment on column core.one_time_codes.subject is
  'What the code opens: claim:, mandate: or invitation: and the id of the draft, link or invitation. Or browser: and '
  'the SHA-256 of 256 random bits in the cookie of the browser that asked. A newer code replaces it.';
comment on column core.one_time_codes.code_hash is
  'SHA-256 of the code with the secret of its link or browser, and its use if a subject has several. Null once it was '
  'used.';
comment on column core.one_time_codes.used_hash is
  'What the browser that used the code may send once more, in case the first answer did not reach it.';
-- serves: the clean-up
create index one_time_codes_expiry on core.one_time_codes (expires_at);
-- serves: ending the codes of an address
create index one_time_codes_email on core.one_time_codes (email);
