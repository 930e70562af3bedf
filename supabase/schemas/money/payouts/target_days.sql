-- The days on which banks pay: TARGET, the settlement system of the euro, is closed at weekends and on six holidays.

-- Easter Sunday of a year, by the Gregorian rule as Meeus gives it.
create function private.easter(year int) returns date
language plpgsql immutable
as $$
declare
  century constant int := year / 100;
  golden  constant int := year % 19;
  epact   constant int := (century - century / 4 - (8 * century + 13) / 25 + 19 * golden + 15) % 30;
  moon    constant int := epact - epact / 28 * (1 - epact / 28 * (29 / (epact + 1)) * ((21 - golden) / 11));
  sunday  constant int := moon - (year + year / 4 + moon + 2 - century + century / 4) % 7;
  month   constant int := 3 + (sunday + 40) / 44;
begin
  return make_date(year, month, sunday + 28 - 31 * (month / 4));
end $$;

create function private.is_target_day(day date) returns boolean
language sql immutable
as $$
  select extract(isodow from day) < 6 and to_char(day, 'MM-DD') not in ('01-01', '05-01', '12-25', '12-26')
         and day - private.easter(extract(year from day)::int) not in (-2, 1)
$$;

-- The TARGET day that is so many of them after this day; 0: this day, or the first one after it.
create function private.working_day(day date, later int) returns date
language sql immutable
as $$
  select max(w.day) from (
    select d::date as day
      from generate_series(working_day.day + least(later, 1), working_day.day + 10 + 2 * later, interval '1 day') d
     where private.is_target_day(d::date) order by d limit greatest(later, 1)) w
$$;
