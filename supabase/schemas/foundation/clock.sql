-- The one clock. Tests replace private.now() in their own copy of the database, to travel in time.

create function private.now() returns timestamptz
language plpgsql stable
set search_path = ''
as $$ begin return pg_catalog.now(); end $$;
comment on function private.now() is
  'The only clock of the rules. Tests replace this one function in their own copy of the database to travel in time.';
grant execute on function private.now() to api_owner;

create function private.today() returns date
language plpgsql stable
set search_path = ''
as $$ begin return (private.now() at time zone 'Europe/Amsterdam')::date; end $$;
comment on function private.today() is 'The calendar day in the Netherlands: borders of months, years and mandates are Dutch.';
grant execute on function private.today() to api_owner;

create function private.iso(moment timestamptz) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'); end $$;
comment on function private.iso(timestamptz) is 'A moment as the API writes it: UTC, no fraction, Z.';
grant execute on function private.iso(timestamptz) to api_owner;
