-- An integrator plays the customer, the charger, the reviewer and the mailbox. The functions of production do the work.

-- The sessions of a virtual charger since it was last collected. Always the same: its id decides when the n-th takes
-- place.
create function private.virtual_charging_sessions(virtual core.virtual_chargers, upto timestamptz) returns jsonb
language plpgsql stable
as $$
declare
  started constant timestamptz := private.dutch_midnight(virtual.since);
  lasts   constant bigint := ceil(virtual.wh_per_session * 3.6 / virtual.power_kw);
  slot    bigint;
begin
  if virtual.sessions_per_week = 0 then
    return '[]';
  end if;
  -- one session in each slot, anywhere in it where it ends before the next slot begins: sessions never overlap
  slot := floor(604800 / virtual.sessions_per_week);
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
             'charger_id', virtual.charger_id, 'source', 'sandbox', 'external_id', n::text,
             'started_at', private.iso(s.at), 'ended_at', private.iso(s.at + make_interval(secs => lasts)),
             'wh', virtual.wh_per_session, 'meter_wh', (n + 1) * virtual.wh_per_session) order by n), '[]')
      from generate_series(greatest(floor(extract(epoch
                                                  from coalesce(virtual.synced_at,
                                                                started) - started) / slot)::bigint - 1, 0),
                           floor(extract(epoch from upto - started) / slot)::bigint) n
      cross join lateral (
        select started + make_interval(secs => n * slot
                 + (hashtextextended(virtual.charger_id || ':' || n, 0) & 9223372036854775807) % (greatest(slot - lasts,
                     0) + 1)) as at) s
     where s.at + make_interval(secs => lasts) <= upto
       and (virtual.synced_at is null or s.at + make_interval(secs => lasts) > virtual.synced_at));
end $$;

-- Collects what locked virtual chargers charged up to now, and returns how many sessions were new.
create function private.collect_charging_sessions(virtuals core.virtual_chargers[]) returns bigint
language plpgsql
as $$
declare
  sessions jsonb;
  created  bigint;
begin
  select coalesce(jsonb_agg(s.session), '[]') into sessions
    from unnest(virtuals) v
        cross join lateral jsonb_array_elements(private.virtual_charging_sessions(v, private.now())) s (session);
  select count(*) into created from private.store_sessions(sessions) r where r.status = 'created';
  update core.virtual_chargers v set synced_at = private.now()
   where v.partner_id = private.partner_id() and v.id = any (array(select u.id from unnest(virtuals) u));
  return created;
end $$;

-- Collects every virtual charger ten minutes after its last collection; with a worker each minute, within fifteen.
create function private.sync_virtual_chargers() returns bigint
language plpgsql
as $$
declare
  due     core.virtual_chargers[];
  created bigint := 0;
begin
  if private.is_sandbox() then
    perform private.set_tenant(private.people_tenant());
    due := array(
      select v from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
          and h.status = 'active'
       where v.partner_id = private.people_tenant()
           and (v.synced_at is null or v.synced_at <= private.now() - interval '10 minutes')
       order by v.synced_at nulls first limit 2000 for update of v skip locked);
    created := private.collect_charging_sessions(due);
    perform private.set_tenant(null);
  end if;
  return created;
end $$;

create function private.virtual_charger_answer(virtual core.virtual_chargers) returns jsonb
language plpgsql stable
as $$
begin
  return (
    select jsonb_build_object('charger_id', h.id, 'integration_id', virtual.id, 'catalog_charger_id', m.id,
                              'brand', m.brand, 'model', m.model,
                              'mid', coalesce(h.mid_eligible, false))
      from core.chargers h join core.charger_models m on m.id = h.catalog_charger_id
     where h.partner_id = virtual.partner_id and h.id = virtual.charger_id);
end $$;

-- The catalogue model of a profile: the one named, else the first with or without a MID meter. Refuses a profile that
-- begins in the future.
create function private.virtual_model(profile jsonb) returns core.charger_models
language plpgsql
as $$
declare
  model core.charger_models;
begin
  if (profile ->> 'since')::date > private.today() then
    perform private.refuse('invalid_request', json_build_object(
      'detail', 'since: must not be after today',
          'issues', json_build_array(json_build_object('path', 'since', 'message', 'must not be after today'))));
  elsif profile ->> 'catalog_charger_id' is not null then
    return private.choose_model(jsonb_build_object('catalog_charger_id', profile -> 'catalog_charger_id'));
  end if;
  select m.* into model from core.charger_models m
   where m.mid_meter = (profile ->> 'mid')::boolean order by lower(m.brand) collate "C",
       lower(m.model) collate "C" limit 1;
  return model;
end $$;
