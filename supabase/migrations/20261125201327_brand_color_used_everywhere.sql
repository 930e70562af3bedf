begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

ALTER TABLE "core"."partners"
  DROP CONSTRAINT "partners_accents_are_colors";

CREATE OR REPLACE FUNCTION private.partner_brand (
  partner core.partners
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return jsonb_build_object(
    'name', private.partner_display_name(partner),
    'reply_to', nullif(partner.branding ->> 'reply_to', ''),
    'color', lower(partner.branding ->> 'primary_color'),
    'logo', (select jsonb_build_object('hash', encode(l.hash, 'hex'), 'width', l.width, 'height', l.height)
               from core.partner_logos l where l.partner_id = partner.id and l.replaced_at is null));
end $function$;

ALTER TABLE "core"."partners"
  ADD CONSTRAINT "partners_color_is_one" CHECK (((branding ->> 'primary_color'::text) ~ '^#[0-9A-Fa-f]{6}$'::text));

COMMENT ON COLUMN "core"."partners"."branding" IS 'display_name, logo_url, primary_color, reply_to: how pages and mail to its customers look. packages/shared/src/domain/brand.ts says how the color is used on light and on dark.';

COMMENT ON FUNCTION "api"."set_partner_branding"(jsonb, jsonb) IS 'POST /partner/branding: replaces the fields that were sent.';

-- how the color was judged when it was chosen; now it is judged where it is used
UPDATE core.partners SET branding = branding - '{light,dark}'::text[] WHERE branding ?| '{light,dark}';

commit;
