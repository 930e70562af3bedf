create table core.dashboards (
  partner_id uuid        not null,
  as_of      timestamptz not null,
  asked_at   timestamptz,
  failed_at  timestamptz,
  figures    json,
  accounts   json,
  payouts    json,
  needs      json,
  coming_eur numeric,
  constraint dashboards_pkey primary key (partner_id),
  constraint dashboards_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.dashboards is
  'The last count of each partner that private.has_many, since somebody first read it. The worker counts when a reader '
  'asks, and every night. figures, accounts, payouts, needs and coming_eur are what private.count_partner '
  'counts: null before the first count. as_of is -infinity until all five are counted. Sums, no personal data. Kept as '
  'long as the partner.';
comment on column core.dashboards.failed_at is
  'When the last count failed; null if it did not. It is tried again after ten minutes, so that others have their '
  'turn.';
select private.enable_tenant_policy('core.dashboards', 'select');

create table core.imports (
  partner_id  uuid        not null,
  id          uuid        not null,
  user_id     uuid        not null,
  ciphertext  text        not null,
  key_id      text        not null,
  row_count   int         not null,
  rows_done   int         not null default 0,
  send_invite boolean,
  outcomes    jsonb       not null default '[]',
  created_at  timestamptz not null default private.now(),
  expires_at  timestamptz not null default private.now() + interval '1 hour',
  constraint imports_pkey primary key (partner_id, id),
  constraint imports_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint imports_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint imports_rows check (rows_done between 0 and row_count and row_count between 1 and 5000),
  -- three megabytes of JSON in hex, of a file of two
  constraint imports_size check (octet_length(ciphertext) <= 6291456),
  constraint imports_confirmed check (rows_done = 0 or send_invite is not null)
);
comment on table core.imports is
  'A file of customers that a manager looks at before the import. Personal data, encrypted by the functions: only the '
  'person who brought it reads it, for an hour. outcomes has {row, draft_id} or {row, reason} for each row that is '
  'done; until it is confirmed, what the first look found.';
comment on column core.imports.send_invite is 'Whether its customers are mailed; null until confirmed.';
-- serves: the clean-up
create index imports_expiry on core.imports (expires_at);
-- serves: a person's imports; the deletion of a login
create index imports_user on core.imports (user_id, created_at desc);
select private.enable_tenant_policy('core.imports', 'select, insert, update, delete');
create policy "a manager reaches only what they brought" on core.imports as restrictive to api_owner
  using (coalesce((select private.manager_id()), user_id) = user_id);
