-- For local databases only; hosted ones are never seeded. The demo partner and client are made by npm start itself, since their
-- secret is made on each machine. Here: a small EAN register, which a local production host asks (EAN_REGISTER=table).

insert into core.ean_register_points (ean_code, postal_code, house_number, house_number_addition, street, city) values
  ('871687110000000018', '3818LH', 8,   null, 'Stationsplein',  'Amersfoort'),
  ('871687110000000025', '3818LH', 10,  'A',  'Stationsplein',  'Amersfoort'),
  ('871687110000000032', '3818LH', 10,  'B',  'Stationsplein',  'Amersfoort'),
  ('871687110000000049', '1012JS', 1,   null, 'Dam',            'Amsterdam'),
  ('871687110000000056', '3511CE', 112, null, 'Domplein',       'Utrecht'),
  ('871687110000000063', '9712HG', 12,  null, 'Grote Markt',    'Groningen')
on conflict on constraint ean_register_points_pkey do nothing;
