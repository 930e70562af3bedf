-- Bookings: what a tenant sends to the register for a quarter, row by row, and what the register granted.

-- A quarter as people write it: 2026-Q2.
create function private.quarter_name(quarter date) returns text
language sql immutable
as $$ select to_char(quarter, 'YYYY-"Q"Q') $$;
