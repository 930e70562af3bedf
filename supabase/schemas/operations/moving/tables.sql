-- Which partner is on its way to another database.

create table core.partner_moves (
  tenant_id  uuid        not null,
  move_id    uuid        not null,
  slug       text        not null,
  phase      text        not null,
  begun_at   timestamptz not null default private.now(),
  changed_at timestamptz not null default private.now(),
  constraint partner_moves_pkey primary key (tenant_id),
  constraint partner_moves_phase_known check (phase in ('leaving', 'held', 'left', 'arriving', 'arrived'))
);
comment on table core.partner_moves is
  'A partner that moves between databases; a move has one move_id in both. Here leaving, held and left; there arriving and arrived. The row stays, so that nothing of a partner that left is written here again.';
