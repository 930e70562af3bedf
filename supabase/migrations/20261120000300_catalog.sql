-- The charger catalogue, and the one resolver that tells which model a charger reports itself to be (§4.1).
--
-- The rows are reference data, the same on every deployment, ids included: they ship with the migration. They rest on
-- boot captures, dealer listings, makers' pages and open-source clients; what these do not establish is left open.

create table core.charger_brands (
  brand  text,
  constraint charger_brands_pkey primary key (brand)
);
comment on table core.charger_brands is 'One row per make of charger, as the maker writes it. Reference data.';

create table core.charger_models (
  id            uuid,
  brand         text    not null,
  model         text    not null,
  mid_meter     boolean,
  mid_evidence  text    not null,
  mid_source    text,
  listed        boolean not null generated always as (coalesce(mid_meter, mid_evidence = 'variant')) stored,
  constraint charger_models_pkey primary key (id),
  constraint charger_models_name_key unique (brand, model),
  constraint charger_models_brand_fkey foreign key (brand) references core.charger_brands,
  constraint charger_models_mid_evidence_check check (mid_evidence in ('certain', 'variant', 'unknown')),
  constraint charger_models_mid_meter_check check ((mid_meter is not null) = (mid_evidence = 'certain')),
  constraint charger_models_mid_source_check check ((mid_source is null) = (mid_evidence = 'unknown'))
);
comment on table core.charger_models is
  'One row per model or family of chargers. Reference data; ids never change, registered chargers point at them.';
comment on column core.charger_models.mid_meter is
  'Whether it measures with a MID meter; null where the name does not settle it. The mid_eligible of a charger of this model.';
comment on column core.charger_models.mid_evidence is
  'certain; variant: sold with and without, the row stands for the one with; unknown: not established, and never offered.';
comment on column core.charger_models.mid_source is 'What mid_meter or the variant rests on.';
comment on column core.charger_models.listed is 'Whether GET /v1/catalog/chargers shows it and the resolver suggests it.';

create table core.charger_vendor_aliases (
  vendor       text,
  brand        text,
  names_brand  boolean not null default true,
  constraint charger_vendor_aliases_pkey primary key (vendor, brand),
  constraint charger_vendor_aliases_brand_fkey foreign key (brand) references core.charger_brands
);
comment on table core.charger_vendor_aliases is
  'The chargePointVendor strings of each brand, as private.vendor_key() writes them. Reference data.';
comment on column core.charger_vendor_aliases.names_brand is
  'False where several makers send the string: it then stands for the brand only together with one of its model patterns.';
create unique index charger_vendor_aliases_one_brand on core.charger_vendor_aliases (vendor) where names_brand;

create table core.charger_model_patterns (
  brand               text,
  model_pattern       text,
  meter_type_pattern  text     default '^',
  model               text     not null,
  precedence          smallint not null default 1,
  constraint charger_model_patterns_pkey primary key (brand, model_pattern, meter_type_pattern),
  constraint charger_model_patterns_model_fkey foreign key (brand, model)
    references core.charger_models (brand, model) on update cascade,
  constraint charger_model_patterns_anchored_check check (model_pattern like '^%' and meter_type_pattern like '^%')
);
comment on table core.charger_model_patterns is
  'How the models of a brand name themselves in chargePointModel, as private.charger_key() writes it. Reference data.';
comment on column core.charger_model_patterns.meter_type_pattern is
  'What meterType must say; the default accepts any and none.';
comment on column core.charger_model_patterns.precedence is 'Lower is more specific and is tried first.';

alter table core.charger_brands         enable row level security;
alter table core.charger_models         enable row level security;
alter table core.charger_vendor_aliases enable row level security;
alter table core.charger_model_patterns enable row level security;
create policy "api functions read the catalogue" on core.charger_brands         for select to api_owner using (true);
create policy "api functions read the catalogue" on core.charger_models         for select to api_owner using (true);
create policy "api functions read the catalogue" on core.charger_vendor_aliases for select to api_owner using (true);
create policy "api functions read the catalogue" on core.charger_model_patterns for select to api_owner using (true);
grant select on core.charger_brands, core.charger_models, core.charger_vendor_aliases, core.charger_model_patterns
  to api_owner;

-- The rows -----------------------------------------------------------------------------------------------------------

insert into core.charger_brands (brand) values
  ('ABB'), ('ABL'), ('Alfen'), ('Autel'), ('Charge Amps'), ('CTEK'), ('Easee'), ('Ecotap'), ('EN+'),
  ('Enphase'), ('Etrel'), ('EVBox'), ('FoxESS'), ('Fronius'), ('Garo'), ('go-e'), ('Growatt'), ('Hager'),
  ('Huawei'), ('KEBA'), ('LMS'), ('Mennekes'), ('myenergi'), ('Peblar'), ('Phoenix Contact'), ('Ratio'),
  ('Schneider Electric'), ('Shell Recharge'), ('Smappee'), ('SolarEdge'), ('Sungrow'), ('Tesla'), ('V2C'),
  ('Vestel'), ('Volt Time'), ('Wallbox'), ('Webasto'), ('Zaptec');

insert into core.charger_models (id, brand, model, mid_meter, mid_evidence, mid_source) values
  ('668ceff8-2a78-4a8f-ac60-37de86d8eb61', 'ABB',                'Terra AC (MID variant)',                        null,  'variant', 'MID only on the order codes with -M-'),
  ('8a03a134-5540-47c3-bfed-f0cc29ba1c5e', 'ABL',                'eMH1 / eMH2 / eMH3 / eM4',                      null,  'unknown', null),
  ('c95c3c78-84a9-49ad-8058-60bf7e762fd9', 'Alfen',              'Eve Double (older NG920)',                      null,  'unknown', null),
  ('5136d94b-680b-45b0-920f-360ed073a167', 'Alfen',              'Eve Double Pro-line',                           true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('98e37b4c-6efd-42ab-b609-07537e2abad1', 'Alfen',              'Eve Double Pro-line DE',                        true,  'certain', 'order codes in an open-source client; dealer listing; Eichrecht'),
  ('ac75f287-7d2e-413d-b464-0d82cacbcfb0', 'Alfen',              'Eve Double Pro-line FR',                        true,  'certain', 'order codes in an open-source client; dealer listing; Eichrecht'),
  ('924d9212-7593-40a3-9f32-08e3bd3f71f0', 'Alfen',              'Eve Single Pro-line 1-phase',                   true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('b021b28d-fef7-46f1-99a8-81210c0a8c88', 'Alfen',              'Eve Single Pro-line 3-phase',                   true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('45e2ca4e-8609-4cb9-958c-af2bfc9ee36c', 'Alfen',              'Eve Single Pro-line DE',                        true,  'certain', 'order codes in an open-source client; dealer listing; Eichrecht'),
  ('1b275cc8-953d-4d2b-bfa0-825ad2974fb9', 'Alfen',              'Eve Single S-line 1-phase',                     true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('c8b1d2b0-4c8e-4402-9aec-f3484c9db0da', 'Alfen',              'Eve Single S-line 3-phase',                     true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('abc79eaf-e038-4f4a-af12-0d784eceea81', 'Alfen',              'ICU Eve Mini / Eve Dual',                       null,  'unknown', null),
  ('4c0dbf0c-6b73-44b1-9e61-3702f96a0456', 'Autel',              'MaxiCharger AC (MID variant)',                  null,  'variant', 'MID by variant, open-source OCPP documentation'),
  ('1434478b-062e-4bc6-bf3a-dda05df17dd2', 'Charge Amps',        'Halo / Aura / Luna / Dawn',                     null,  'unknown', null),
  ('5aa2e8b8-4380-4cca-af13-25b0133958da', 'CTEK',               'Chargestorm Connected 2 / 3',                   null,  'unknown', null),
  ('36bf59f9-297e-4464-a8ac-0001711cc6ad', 'Easee',              'Charge',                                        false, 'certain', 'open-source energy clients'),
  ('dcb1e424-2387-4004-8d6b-27e32fe94a48', 'Easee',              'Charge Core',                                   false, 'certain', 'dealer listing'),
  ('28ca0a69-7b90-4621-a4f1-e03289ed461f', 'Easee',              'Charge Lite',                                   false, 'certain', 'open-source energy client'),
  ('9b764efe-a245-4b6d-bbd6-fd6406ffe11b', 'Easee',              'Charge Max',                                    true,  'certain', 'dealer listing: class B, EN 50470-3'),
  ('bf260272-e367-4933-bd81-d83c8e3eefe4', 'Easee',              'Charge Pro',                                    true,  'certain', 'dealer listing and price lists'),
  ('7becc11b-1c74-4fcd-9d5b-c8829fd7fbdc', 'Easee',              'Charge Up',                                     false, 'certain', 'dealer listing'),
  ('61b5f466-8fab-4b72-8c04-58b01016f4db', 'Easee',              'Home',                                          false, 'certain', 'open-source energy clients'),
  ('5a44f533-5d75-499b-95e0-c099db7fbd84', 'Easee',              'One',                                           false, 'certain', 'boot capture over native OCPP'),
  ('b5720b2d-e989-41a8-99ab-f44c4de4295c', 'EN+',                'Caro / Silver',                                 null,  'unknown', null),
  ('8469b7f9-ea36-4c39-b1dd-6c39fdb5b017', 'Enphase',            'IQ EV Charger 2 (EU)',                          true,  'certain', 'MID in the invoice text of the SKU'),
  ('f9f05f65-8927-454f-b369-6550df061b95', 'Etrel',              'INCH Duo',                                      true,  'certain', 'product page of a Dutch seller'),
  ('c6aee07c-c24b-4180-964a-90bf8b2adc24', 'Etrel',              'INCH Home / Pro',                               null,  'unknown', null),
  ('77a75359-e8b7-46ff-bb53-b2809a7d98f3', 'EVBox',              'BusinessLine G3',                               null,  'unknown', null),
  ('4be14706-bef0-42d8-ac00-425cc9e5ff27', 'EVBox',              'BusinessLine G4',                               null,  'unknown', null),
  ('5efb9f20-8407-4571-bd34-00424bc4207d', 'EVBox',              'Elvi (MID variant)',                            null,  'variant', 'the MID meter is an option'),
  ('465545e9-4996-4e1a-9017-9f8a511f13c0', 'EVBox',              'Livo / Liviqo',                                 null,  'unknown', null),
  ('804f58f5-be24-4365-8cb7-1227a863f01e', 'Fronius',            'Wattpilot Home / Go / Flex',                    false, 'certain', 'open-source energy client; built on the go-e charger'),
  ('728bc795-bb21-46ce-a382-388f564b2074', 'Garo',               'Entity Pro / Entity Compact',                   null,  'unknown', null),
  ('e2417a82-d417-4a53-90e6-ec1bec826357', 'go-e',               'Charger HOME / Gemini',                         false, 'certain', 'maker: only the PRO has a MID meter'),
  ('9f180d77-8319-4f23-a368-e1c9a15b3da8', 'go-e',               'Charger PRO (MID variant)',                     null,  'variant', 'maker: only the PRO has a MID meter'),
  ('17b3f008-81f6-43cc-85cc-a66bd1ae6f01', 'Growatt',            'THOR',                                          null,  'unknown', null),
  ('bbeb170c-61b3-4509-a382-f299e95c29a0', 'Hager',              'witty start / plus / pro / park 2',             null,  'unknown', null),
  ('a3976d49-a8e0-4846-9d09-59f5470c53e6', 'Huawei',             'SCharger-7KS / 22KT',                           null,  'unknown', null),
  ('9df4b3e1-abdd-4748-92fc-2d3acbcf4a7b', 'KEBA',               'KeContact P30 c / a / b / e-series',            null,  'unknown', null),
  ('07cfb120-8343-4849-97a3-f9cabce9ddf0', 'KEBA',               'KeContact P30 x-series (MID variant)',          null,  'variant', 'the meter class is part of the order code'),
  ('1fb1364a-332c-41fc-80cc-bec4f69bd5b5', 'KEBA',               'KeContact P40 / P40 Pro',                       null,  'unknown', null),
  ('9acc4fad-50ba-4cc0-a733-8fd215725e52', 'KEBA',               'P30 Deutschland Edition',                       false, 'certain', 'no meter at all, by an open-source client'),
  ('9a46db19-288e-4cdc-ae5e-dc5c78fd817b', 'LMS',                'EVC2.2',                                        null,  'unknown', null),
  ('34c2f1cd-2884-4315-ac59-187185a8be19', 'Mennekes',           'AMTRON 4Business 600/700 (MID variant)',        null,  'variant', 'MID by order code'),
  ('60f01537-d8b2-40e1-a40e-b43c1ae3e41b', 'Mennekes',           'AMTRON 4You 400/500 (MID variant)',             null,  'variant', 'MID by order code'),
  ('20a479f1-0960-46ad-a6f1-9435f13d127d', 'Mennekes',           'AMTRON Charge Control / Professional',          null,  'unknown', null),
  ('516bdc7a-3d88-41da-bcd3-7ce8a4db7ea8', 'Shell Recharge',     'Home Standard / Advanced (Lolo)',               null,  'unknown', null),
  ('ce19247a-3a18-4724-ad83-e7d194ac8fe4', 'Peblar',             'Home / Home Plus / Business',                   null,  'unknown', null),
  ('8fd8312b-8f8e-44ae-96bd-96be86eb1cda', 'Phoenix Contact',    'CHARX SEC-3xxx',                                null,  'unknown', null),
  ('8cbcf007-c52c-4d28-bb16-02fb58e1b562', 'Ratio',              'io6 / io7',                                     null,  'unknown', null),
  ('855676d2-bc09-4bd8-8ae0-834ad2005e12', 'Ratio',              'Solar MID 4G',                                  true,  'certain', 'dealer listing'),
  ('ca406937-b5fd-41ab-bf3c-e2da66b11901', 'Ratio',              'Solar RFID',                                    false, 'certain', 'dealer listing'),
  ('18e62324-a2a4-4b07-92db-ef664d8b8f6c', 'Ratio',              'Start',                                         false, 'certain', 'dealer listing'),
  ('664452a0-75fc-44b2-b132-29f1c126f151', 'Schneider Electric', 'EVlink Pro AC',                                 true,  'certain', 'boot capture: meterType "Embedded MID meter"'),
  ('d06ac5b9-227d-45e7-be42-e955957801d4', 'Schneider Electric', 'EVlink Smart Wallbox (MID variant)',            null,  'variant', 'MID by order code'),
  ('9b6b16b8-5bc5-4c76-b80d-70aefbfaf514', 'Schneider Electric', 'Schneider Charge / Charge Pro',                 null,  'unknown', null),
  ('4ece062a-c9bc-4ea4-937d-a78ed6693b6a', 'Smappee',            'EV Wall Home / Business, EV One',               null,  'unknown', null),
  ('83ab9591-825f-44fa-82d1-e44d2265ebd6', 'Sungrow',            'AC011E-01 / AC22E',                             null,  'unknown', null),
  ('f7873368-c979-4f23-8f31-00bb5afd7a5d', 'Tesla',              'Wall Connector Gen 2 / 3',                      false, 'certain', 'has no OCPP client'),
  ('176e7b5b-499f-44bb-8a90-5a3f28599e6f', 'V2C',                'Trydan / Trydan Pro',                           null,  'unknown', null),
  ('1d2763f9-fbb1-4f48-a88a-693542890af2', 'Vestel',             'EVC04 Home Smart / Connect Plus (MID variant)', null,  'variant', 'the hardware of the Webasto Unite'),
  ('053d8680-8f52-479e-83d2-704bc904c517', 'Volt Time',          'Source / Source 2',                             null,  'unknown', null),
  ('10230766-7d8f-4fc2-9a54-3c07c76af6d4', 'Wallbox',            'Commander / Commander 2',                       false, 'certain', 'maker''s documentation'),
  ('150d9119-7cca-42f0-8e13-a44d53e3a34d', 'Wallbox',            'Copper SB',                                     false, 'certain', 'boot capture: meterType "Internal NON compliant"'),
  ('f4af725b-0e14-4f2c-9451-cac827156cb0', 'Wallbox',            'Copper SB (MID variant)',                       null,  'variant', 'boot capture: meterType "External MID"'),
  ('aabdd075-51ac-46a2-9c98-5eed935594c8', 'Wallbox',            'Pulsar Max',                                    false, 'certain', 'dealer listing'),
  ('cf696861-d58e-4460-8043-d23e797ebecd', 'Wallbox',            'Pulsar Plus',                                   false, 'certain', 'maker''s documentation'),
  ('eb8c9be7-42e1-4b5d-accb-1fab36fc9fea', 'Wallbox',            'Pulsar Pro',                                    false, 'certain', 'maker''s documentation: an external MID meter is an option'),
  ('9e7e3fea-6f6b-438c-89a2-acaf82702203', 'Webasto',            'Next',                                          null,  'unknown', null),
  ('2bcde87e-5b75-4c4e-9eb2-9b328755a40a', 'Webasto',            'Unite (MID variant)',                           null,  'variant', 'MID by variant'),
  ('f5e49885-3000-4a72-88b7-fe6c09195c84', 'Zaptec',             'Go',                                            false, 'certain', 'maker''s firmware; dealer listing'),
  ('e6282b3d-559f-4212-8239-b2dace220824', 'Zaptec',             'Go 2',                                          true,  'certain', 'dealer listing'),
  ('e3fa843b-b7df-4624-bb4a-6353cdffe54a', 'Zaptec',             'Pro',                                           true,  'certain', 'dealer listing: class B');

insert into core.charger_vendor_aliases (vendor, brand) values
  ('abb', 'ABB'),
  ('abl', 'ABL'),
  ('alfen', 'Alfen'), ('alfen icu', 'Alfen'),
  ('autel', 'Autel'),
  ('charge amps', 'Charge Amps'),
  ('ctek', 'CTEK'),
  ('easee', 'Easee'),
  ('ecotap', 'Ecotap'),
  ('en+', 'EN+'), ('en plus', 'EN+'),
  ('enphase', 'Enphase'), ('enphase energy', 'Enphase'),
  ('etrel', 'Etrel'),
  ('evbox', 'EVBox'), ('ev-box', 'EVBox'),
  ('foxess', 'FoxESS'),
  ('fronius', 'Fronius'),
  ('garo', 'Garo'),
  ('go-e', 'go-e'),
  ('growatt', 'Growatt'),
  ('hager', 'Hager'),
  ('huawei', 'Huawei'),
  ('keba', 'KEBA'),
  ('lms', 'LMS'),
  ('mennekes', 'Mennekes'),
  ('myenergi', 'myenergi'),
  ('peblar', 'Peblar'), ('prodrive technologies', 'Peblar'),
  ('phoenix contact', 'Phoenix Contact'),
  ('ratio', 'Ratio'), ('ratio electric', 'Ratio'),
  ('schneider electric', 'Schneider Electric'),
  ('shell recharge', 'Shell Recharge'), ('newmotion', 'Shell Recharge'), ('the new motion', 'Shell Recharge'),
  ('smappee', 'Smappee'),
  ('solaredge', 'SolarEdge'),
  ('sungrow', 'Sungrow'),
  ('tesla', 'Tesla'),
  ('v2c', 'V2C'),
  ('vestel', 'Vestel'),
  ('volt time', 'Volt Time'), ('volttime', 'Volt Time'),
  ('wallbox', 'Wallbox'), ('wall box chargers', 'Wallbox'),
  ('webasto', 'Webasto'), ('ampure', 'Webasto'),
  ('zaptec', 'Zaptec');

-- strings that more than one maker sends
insert into core.charger_vendor_aliases (vendor, brand, names_brand) values
  ('bender', 'Mennekes', false),  -- builds the controller, which names its own maker
  ('ebee',   'Mennekes', false),  -- Bender's former name
  ('go-e',   'Fronius',  false),  -- builds the Wattpilot
  ('',       'Huawei',   false);  -- leaves the vendor empty, as others may

-- A pattern that can resolve was seen in a boot message or an order-code list, or is the model's whole readable name, which
-- nothing else can mean. Three are names in place of a prefix that is only guessed: Etrel "G-D" would have declared MID,
-- Wallbox "CMX" would have denied it unseen, and the Tesla speaks no OCPP. A prefix of a family that stays unresolved can
-- do no harm: it only tells the detail and the suggestions. Names end in $ ("Go" is not "Go 2"), order codes may run on.
insert into core.charger_model_patterns (brand, model_pattern, model) values
  ('ABB',                '^cdt_tacw(4|7|11|22)(::.*)?$',                    'Terra AC (MID variant)'),
  ('ABL',                '^em(h[123]|4)',                                   'eMH1 / eMH2 / eMH3 / eM4'),
  ('Alfen',              '^ng920-525[0-9]{2}$',                             'Eve Double (older NG920)'),
  ('Alfen',              '^ng920-610(01|02|11|12|21|22|31|32)$',            'Eve Double Pro-line'),
  ('Alfen',              '^ng920-6110[12]$',                                'Eve Double Pro-line DE'),
  ('Alfen',              '^ng920-612(05|06|15|16)$',                        'Eve Double Pro-line FR'),
  ('Alfen',              '^ng910-600(03|05|07)$',                           'Eve Single Pro-line 1-phase'),
  ('Alfen',              '^ng910-600(23|25|27)$',                           'Eve Single Pro-line 3-phase'),
  ('Alfen',              '^ng910-601(23|27)$',                              'Eve Single Pro-line DE'),
  ('Alfen',              '^ng9(00|10)-605(03|05|07)$',                      'Eve Single S-line 1-phase'),
  ('Alfen',              '^ng910-605(2[357]|5[357]|7[357]|8[357]|9[357])$', 'Eve Single S-line 3-phase'),
  ('Alfen',              '^(icu )?eve?[ -]?(mini|dual)$',                   'ICU Eve Mini / Eve Dual'),
  ('Autel',              '^maxi ?charger ?ac',                              'MaxiCharger AC (MID variant)'),
  ('Charge Amps',        '^(halo|aura|luna|dawn)',                          'Halo / Aura / Luna / Dawn'),
  ('CTEK',               '^(cc2|cc3|chargestorm)',                          'Chargestorm Connected 2 / 3'),
  ('Easee',              '^(easee )?charge$',                               'Charge'),
  ('Easee',              '^(easee )?charge core$',                          'Charge Core'),
  ('Easee',              '^(easee )?charge lite$',                          'Charge Lite'),
  ('Easee',              '^(easee )?charge max$',                           'Charge Max'),
  ('Easee',              '^(easee )?charge pro$',                           'Charge Pro'),
  ('Easee',              '^(easee )?charge up$',                            'Charge Up'),
  ('Easee',              '^(easee )?home$',                                 'Home'),
  ('Easee',              '^easee one$',                                     'One'),
  ('EN+',                '^(en\+|caro|silver)',                             'Caro / Silver'),
  ('Enphase',            '^iq-evse-eu-[0-9]{4}',                            'IQ EV Charger 2 (EU)'),
  ('Etrel',              '^(etrel )?inch duo$',                             'INCH Duo'),
  ('Etrel',              '^g-h[a-z0-9]+-a[0-9]{2}$',                        'INCH Home / Pro'),
  ('EVBox',              '^g3-m[0-9]{4}e?',                                 'BusinessLine G3'),
  ('EVBox',              '^g4e?-',                                          'BusinessLine G4'),
  ('EVBox',              '^elvi',                                           'Elvi (MID variant)'),
  ('EVBox',              '^livi?q?o',                                       'Livo / Liviqo'),
  ('Fronius',            '^wattpilot',                                      'Wattpilot Home / Go / Flex'),
  ('Garo',               '^(entity|glb)',                                   'Entity Pro / Entity Compact'),
  ('go-e',               '^go-echarger_v[34]$',                             'Charger HOME / Gemini'),
  ('go-e',               '^go-echarger_v5$',                                'Charger PRO (MID variant)'),
  ('Growatt',            '^thor',                                           'THOR'),
  ('Hager',              '^witty',                                          'witty start / plus / pro / park 2'),
  ('Huawei',             '^acchargepoint$',                                 'SCharger-7KS / 22KT'),
  ('KEBA',               '^kc-p30-e[cs][0-9a-z]{6}-m',                      'KeContact P30 x-series (MID variant)'),
  ('KEBA',               '^kc-p40',                                         'KeContact P40 / P40 Pro'),
  ('KEBA',               '^kc-p30-ec220112-000-de$',                        'P30 Deutschland Edition'),
  ('LMS',                '^evc2',                                           'EVC2.2'),
  ('Mennekes',           '^amtron 4business',                               'AMTRON 4Business 600/700 (MID variant)'),
  ('Mennekes',           '^amtron 4you',                                    'AMTRON 4You 400/500 (MID variant)'),
  ('Shell Recharge',     '^lolo',                                           'Home Standard / Advanced (Lolo)'),
  ('Peblar',             '^wlac1-',                                         'Home / Home Plus / Business'),
  ('Phoenix Contact',    '^ev-cc-ac1-',                                     'CHARX SEC-3xxx'),
  ('Ratio',              '^io[67]',                                         'io6 / io7'),
  ('Ratio',              '^(ratio )?solar mid( 4g)?$',                      'Solar MID 4G'),
  ('Ratio',              '^(ratio )?solar( rfid)?$',                        'Solar RFID'),
  ('Ratio',              '^(ratio )?start$',                                'Start'),
  ('Schneider Electric', '^(evlink smart wallbox|monoblock)$',              'EVlink Smart Wallbox (MID variant)'),
  ('Schneider Electric', '^(schneider )?charge( pro)?$',                    'Schneider Charge / Charge Pro'),
  ('Smappee',            '^(ev ?(wall|one|base)|evw|evb)',                  'EV Wall Home / Business, EV One'),
  ('Sungrow',            '^ac(011e|22e)',                                   'AC011E-01 / AC22E'),
  ('Tesla',              '^(tesla )?wall connector( gen ?[23])?$',          'Wall Connector Gen 2 / 3'),
  ('V2C',                '^trydan',                                         'Trydan / Trydan Pro'),
  ('Vestel',             '^evc04',                                          'EVC04 Home Smart / Connect Plus (MID variant)'),
  ('Volt Time',          '^source',                                         'Source / Source 2'),
  ('Wallbox',            '^(wallbox )?commander( 2)?$',                     'Commander / Commander 2'),
  ('Wallbox',            '^plp2-',                                          'Pulsar Max'),
  ('Wallbox',            '^plp1-',                                          'Pulsar Plus'),
  ('Wallbox',            '^ppr1-',                                          'Pulsar Pro'),
  ('Webasto',            '^wb_next',                                        'Next'),
  ('Webasto',            '^evc04',                                          'Unite (MID variant)'),
  ('Zaptec',             '^(zaptec )?go$',                                  'Go'),
  ('Zaptec',             '^(zaptec )?go ?2$',                               'Go 2'),
  ('Zaptec',             '^(zaptec )?pro$',                                 'Pro');

-- what is left of a family once its better known members are told apart
insert into core.charger_model_patterns (brand, model_pattern, model, precedence) values
  ('KEBA',     '^kc-p30-',        'KeContact P30 c / a / b / e-series',   2),
  ('Mennekes', '^(amtron|cc612)', 'AMTRON Charge Control / Professional', 2);

-- the model string is the same with and without a MID meter; the meter names itself
insert into core.charger_model_patterns (brand, model_pattern, meter_type_pattern, model) values
  ('Schneider Electric', '^evlink pro ac$', '^embedded mid meter$',     'EVlink Pro AC'),
  ('Wallbox',            '^cpb1-',          '^internal non compliant$', 'Copper SB'),
  ('Wallbox',            '^cpb1-',          '^external mid',            'Copper SB (MID variant)');

-- Normal forms -------------------------------------------------------------------------------------------------------

create function private.charger_key(reported text) returns text
language sql immutable
set search_path = ''
as $$
  -- collate "C": the same letters and spaces on every deployment, whatever its locale; NFKC has made the others plain
  select trim(regexp_replace(lower(normalize(reported, nfkc) collate "C"), '\s+', ' ', 'g'))
$$;
comment on function private.charger_key(text) is 'A string of a BootNotification as the patterns expect it.';

create function private.vendor_key(reported text) returns text
language sql immutable
set search_path = ''
as $$
  select regexp_replace(private.charger_key(reported),
    '[ ,]+(b\.?v\.?|n\.?v\.?|gmbh( ?&? ?co\.? ?kg)?|kg|ag|asa?|a/s|ab|oy|s\.?a\.?s?\.?|s\.?l\.?u?\.?|s\.?r\.?l\.?|s\.?p\.?a\.?|'
    'se|(co\.?,? ?)?ltd\.?|limited|inc\.?|corp\.?|llc|plc)$', '')
$$;
comment on function private.vendor_key(text) is 'A chargePointVendor as the aliases expect it: without the legal form of the company.';

create function private.catalog_search_key(words text) returns text
language sql immutable
set search_path = ''
as $$ select private.charger_key(translate(words, '%_,()', '     ')) $$;
comment on function private.catalog_search_key(text) is
  'Both sides of the catalogue search: what the specification blanks in the search is blanked in the names too, so that a name finds itself.';

create function private.catalog_charger(entry core.charger_models) returns json
language sql immutable
set search_path = ''
as $$ select json_build_object('catalog_charger_id', entry.id, 'brand', entry.brand, 'model', entry.model) $$;
comment on function private.catalog_charger(core.charger_models) is 'A catalog model as every answer shows it (§2).';

-- The resolver -------------------------------------------------------------------------------------------------------

create type private.charger_resolution as (
  resolved            boolean,
  vendor              text,
  model               text,
  catalog_charger_id  uuid,
  brand               text,
  catalog_model       text,
  mid_meter           boolean,
  detail              text,
  suggestions         json
);
comment on type private.charger_resolution is
  'The answer of GET /v1/catalog/chargers/resolve, field by field. Unresolved: no model and no mid_meter, brand where it is known.';

create function private.resolve_charger(vendor text, model text, meter_type text default null)
returns private.charger_resolution
language plpgsql stable
set search_path = ''
as $$
declare
  answer      private.charger_resolution;
  family      record;
  vendor_key  text;
  model_key   text;
  meter_key   text := private.charger_key(coalesce(left(meter_type, 120), ''));
begin
  answer.vendor := left(trim(coalesce(vendor, '')), 120);
  answer.model  := left(trim(coalesce(model, '')), 120);
  vendor_key    := private.vendor_key(answer.vendor);
  model_key     := private.charger_key(answer.model);

  select m.id, m.brand, m.model, m.mid_meter, m.mid_evidence, meter_key ~ p.meter_type_pattern as meter_fits
    into family
    from core.charger_vendor_aliases a
    join core.charger_model_patterns p on p.brand = a.brand and model_key ~ p.model_pattern
    join core.charger_models m on m.brand = p.brand and m.model = p.model
   where a.vendor = vendor_key
   order by meter_fits desc, p.precedence, p.brand, p.model_pattern, p.meter_type_pattern
   limit 1;

  answer.resolved := coalesce(family.meter_fits and family.mid_meter is not null, false);
  answer.brand    := coalesce(family.brand,
    (select a.brand from core.charger_vendor_aliases a where a.vendor = vendor_key and a.names_brand));
  if answer.resolved then
    answer.catalog_charger_id := family.id;
    answer.catalog_model      := family.model;
    answer.mid_meter          := family.mid_meter;
    answer.suggestions        := '[]';
  else
    select coalesce(json_agg(private.catalog_charger(m) order by lower(m.model) collate "C"), '[]')
      into answer.suggestions
      from core.charger_models m
     where m.brand = answer.brand and m.listed;
  end if;

  answer.detail := case
    when answer.mid_meter     then format('The %s %s has a MID meter.', family.brand, family.model)
    when not answer.mid_meter then format('The %s %s has no MID meter: what it charges does not count for ERE.', family.brand, family.model)
    when not family.meter_fits then
      format('%s sells this model with and without a MID meter; only its meterType tells which.', family.brand)
    when family.mid_evidence = 'variant' then
      format('This model is sold with and without a MID meter. If this one has it, choose "%s" by its catalog_charger_id.', family.model)
    when family.mid_evidence = 'unknown' then
      format('Whether the %s %s has a MID meter is not established.', family.brand, family.model)
    when answer.brand is null then 'No brand in the catalog is known by this vendor and model.'
    when json_array_length(answer.suggestions) = 0 then
      format('No %s model is known by this name, and none with a MID meter is in the catalog.', answer.brand)
    else format('No %s model is known by this name. If it is one of the suggestions, choose it by its catalog_charger_id.', answer.brand)
  end;
  return answer;
end $$;
comment on function private.resolve_charger(text, text, text) is
  'Which model a charger is, from its BootNotification (chargePointVendor, chargePointModel, meterType). The only resolver: API and gateways ask it. Never raises; takes 120 characters of each.';

grant execute on function
  private.charger_key(text), private.vendor_key(text), private.catalog_search_key(text),
  private.catalog_charger(core.charger_models), private.resolve_charger(text, text, text)
to api_owner;

-- The endpoints ------------------------------------------------------------------------------------------------------

create function api.list_catalog_chargers(caller jsonb, query jsonb) returns json
language plpgsql security definer
set search_path = ''
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
  'GET /v1/catalog/chargers: query {search, limit}. The search is a substring of brand, of model, or of both in a row ("alfen eve").';
select private.expose('api.list_catalog_chargers(jsonb, jsonb)');

create function api.resolve_catalog_charger(caller jsonb, query jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'cpo');
  return row_to_json(private.resolve_charger(query ->> 'vendor', query ->> 'model', query ->> 'meter_type'));
end $$;
comment on function api.resolve_catalog_charger(jsonb, jsonb) is
  'GET /v1/catalog/chargers/resolve: query {vendor, model} and, where the caller has it, {meter_type}.';
select private.expose('api.resolve_catalog_charger(jsonb, jsonb)');
