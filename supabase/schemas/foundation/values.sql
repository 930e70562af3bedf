-- Reading values that came from outside as JSON, and writing bytes.

-- The text as an id, or null if it is none: a person may have typed a name.
create function private.as_uuid(value text) returns uuid
language sql immutable
return case when value ~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then value::uuid end;

-- ISO 8601 with its offset, to the second as the API shows it; else null.
create function private.as_moment(value text) returns timestamptz
language sql stable
-- as sessions are usually written: without an expression it takes a fifth
return case when value like '____-__-__T__:__:__Z' and translate(value, '0123456789', '') = '--T::Z'
            and pg_input_is_valid(value, 'timestamptz')
            then value::timestamptz
            when value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|'
                         '[+-][0-9]{2}:?[0-9]{2})$'
             and pg_input_is_valid(value, 'timestamptz')
            then date_trunc('second', value::timestamptz) end;

-- A calendar day as people write it, 2026-08-15; else null. Postgres by itself reads infinity and yesterday too.
create function private.as_day(value text) returns date
language sql immutable
as $$ select case when value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' and pg_input_is_valid(value, 'date')
                  then value::date end $$;

-- A JSON number as a whole one; null if it is none, or too large.
create function private.as_count(value jsonb) returns bigint
language sql immutable
return case when jsonb_typeof(value) = 'number' and abs(value::numeric) <= 1e12 then round(value::numeric)::bigint end;

-- A number of at most nine digits and so many decimals, without a sign; else null.
create function private.as_decimal(value text, places int) returns numeric
language sql immutable
as $$ select case when value ~ ('^[0-9]{1,9}([.][0-9]{1,' || places || '})?$') then value::numeric end $$;

-- A date as its Dutch midnight, a moment as itself.
create function private.as_border(value text) returns timestamptz
language sql stable
as $$ select case when value ~ '^[0-9-]{10}$' then private.dutch_midnight(value::date) else value::timestamptz end $$;

create function private.reserve_token_hash(hex text) returns bytea
language plpgsql immutable
as $$
declare
  hash constant bytea := decode(hex, 'hex');
begin
  if length(hash) is distinct from 32 then
    raise exception 'a token is stored as its SHA-256' using errcode = 'invalid_parameter_value';
  end if;
  return hash;
end $$;
comment on function private.reserve_token_hash(text) is
  'How a new token is stored: its SHA-256, from hexadecimal. It is looked up before the tenant is known. Its 256 '
  'random bits make it unique.';

-- A line of CSV by RFC 4180: null is an empty field, and every text is quoted. A spreadsheet may split it by another
-- delimiter, and then a text begins a cell after each comma, semicolon, tab and line break in it. What begins like a
-- formula there gets an apostrophe in front, so that it is computed by nobody.
create function private.csv_line(variadic fields text[]) returns text
language sql immutable
as $$
  select string_agg(
           case when f.value ~ '^-?[0-9]+(\.[0-9]+)?$' then f.value
                when f.value <> '' then
                  '"' || replace(regexp_replace(f.value, '(^|[,;\t\r\n])([\s"'']*)([=+@＝＋＠－-])', '\1\2''\3', 'g'),
                                 '"', '""') || '"'
                else '' end, ',' order by f.place) || E'\r\n'
    from unnest(fields) with ordinality as f (value, place)
$$;

-- The words of a text in lower case, without accents. Anything but letters and digits separates them.
create function private.words_of(said text) returns text[]
language sql immutable parallel safe
return array_remove(regexp_split_to_array(lower(regexp_replace(normalize(coalesce(said, ''), nfkd), '[\u0300-\u036f]',
                                                               '', 'g')), '[^[:alnum:]]+'), '');

-- The last nine digits of a telephone number, the same for 06, +316 and 00316.
create function private.phone_end(phone text) returns text
language sql immutable parallel safe
return right(regexp_replace(phone, '\D', '', 'g'), 9);

-- The words by which a row is found, for the index that private.search_query uses.
create function private.search_words(variadic said text[]) returns tsvector
language sql immutable parallel safe
return array_to_tsvector(private.words_of(array_to_string(said, ' ')));

-- Matches rows that have, for each typed word, a word that begins with it. Null if only signs were typed.
create function private.search_query(typed text) returns tsquery
language sql immutable
return (select string_agg(quote_literal(left(w.word, 255)) || ':*', ' & ')::tsquery
        from unnest(private.words_of(typed)) as w (word));

-- The ten characters by which a customer names a payment. Of a million payments two share one with a chance of 1 in 80.
create function private.payment_reference(line uuid) returns text
language sql immutable
as $$
  -- no 0 O, 1 I L, 2 Z, 5 S, 8 B, U V: people read it aloud and copy it from paper
  select string_agg(substr('34679ACDEFGHJKMNPQRTWXY', 1 + get_byte(sha256(uuid_send(line)), i) % 23, 1), '' order by i)
   from generate_series(0, 9) i
$$;

-- What a row says of mail that failed: when and why, or neither.
create function private.is_mail_failure(at timestamptz, reason text) returns boolean
language sql immutable
return at is null and reason is null
    or at is not null and reason is not null
       and reason in ('unknown_address', 'mailbox_full', 'refused', 'given_up');
