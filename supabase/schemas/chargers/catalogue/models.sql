-- The catalogue of charger models: brands, models, and the names under which chargers report themselves.

-- A string of a BootNotification, normalized for the patterns.
create function private.charger_key(reported text) returns text
language sql immutable
as $$
  -- collate "C" gives the same result on every deployment, whatever its locale; NFKC has already replaced the letters
  -- it does not know
  select trim(regexp_replace(lower(normalize(reported, nfkc) collate "C"), '\s+', ' ', 'g'))
$$;

-- A chargePointVendor, normalized for the aliases: without the legal form of the company.
create function private.vendor_key(reported text) returns text
language sql immutable
as $$
  select regexp_replace(private.charger_key(reported),
    '[ ,]+(b\.?v\.?|n\.?v\.?|gmbh( ?&? ?co\.? ?kg)?|kg|ag|asa?|a/s|ab|oy|s\.?a\.?s?\.?|s\.?l\.?u?\.?|s\.?r\.?l\.?|'
    's\.?p\.?a\.?|'
    'se|(co\.?,? ?)?ltd\.?|limited|inc\.?|corp\.?|llc|plc)$', '')
$$;

-- Both sides of the catalogue search. Signs that the specification blanks in the search are blanked in names too, so
-- that both match.
create function private.catalog_search_key(words text) returns text
language sql immutable
as $$ select private.charger_key(translate(words, '%_,()', '     ')) $$;

-- A catalog model as every answer shows it (§2).
create function private.catalog_charger(entry core.charger_models) returns json
language sql immutable
as $$ select json_build_object('catalog_charger_id', entry.id, 'brand', entry.brand, 'model', entry.model) $$;

create function api.list_catalog_chargers(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  wanted  text := private.catalog_search_key(coalesce(query ->> 'search', ''));
  size    int  := (query ->> 'limit')::int;
  answer  json;
begin
  perform private.act_as(caller, 'cpo');
  with page as (
    select m, row_number() over (order by lower(m.brand) collate "C", lower(m.model) collate "C") as place
      from core.charger_models m
     where m.listed and position(wanted in private.catalog_search_key(m.brand || ' ' || m.model)) > 0
     order by place
     limit size + 1
  )
  select json_build_object(
           'models',   coalesce(json_agg(private.catalog_charger(m) order by place) filter (where place <= size), '[]'),
           'count',    count(*) filter (where place <= size),
           'has_more', count(*) > size)
    into answer
    from page;
  return answer;
end $$;
comment on function api.list_catalog_chargers(jsonb, jsonb) is
  'GET /v1/catalog/chargers: query {search, limit}. The search is a substring of brand, of model, or of both in a row '
  '("alfen eve").';
