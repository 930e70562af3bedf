import { Buffer } from "node:buffer";
import { readLogo } from "#shared/domain/logo/logo.ts";
import { BRANDING } from "#shared/domain/partner_settings.ts";
import { z } from "#shared/foundation/zod.ts";
import type { Handler } from "../../kit/visit.ts";
import type { Branding } from "../model.ts";
import { signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import { previewStyle } from "./preview.ts";
import { BRANDING_PAGE, brandingPage, colorOf, FIELDS, removeLogoPage } from "./views.ts";

const { logo_url: _theirs, ...fields } = BRANDING;
const Form = z.object(fields);

const showBranding = signedIn(async (visit) => {
  const news = visit.news();
  return visit.pageOf(brandingPage(visit.frame, await visit.own<Branding>("read_portal_branding"), news), news);
});

const saveBranding = signedIn(async (visit) => {
  const { form, locale } = visit;
  const typed = Object.fromEntries(FIELDS.map((field) => [field, (form.get(field) ?? "").trim()]));
  const color = colorOf(typed.primary_color ?? "");
  const read = Form.safeParse({ ...typed, primary_color: color });
  if (!read.success) {
    const wrong = read.error.issues.map(({ path }) => path[0]);
    const { errors } = WORDS[locale].branding;
    return visit.refuse(
      BRANDING_PAGE,
      Object.fromEntries(FIELDS.filter((field) => wrong.includes(field)).map((field) => [field, errors[field]])),
    );
  }
  // shown before it is saved
  if (form.has("look")) return visit.refuse(BRANDING_PAGE, {});
  await visit.own("set_partner_branding", read.data);
  return visit.told(BRANDING_PAGE, "saved");
});

const saveLogo = signedIn(async (visit) => {
  const { file, locale } = visit;
  const { refused } = WORDS[locale].branding;
  if (!file) return visit.refuse(BRANDING_PAGE, { logo: refused.missing });
  const read = await readLogo(new Uint8Array(await file.arrayBuffer()));
  if ("refused" in read) {
    visit.logOutcome(read.refused);
    return visit.refuse(BRANDING_PAGE, { logo: refused[read.refused] });
  }
  const { png, width, height } = read.logo;
  await visit.own("set_partner_logo", { png: Buffer.from(png).toString("base64"), width, height });
  return visit.told(BRANDING_PAGE, "logo_saved");
});

const askRemoveLogo = signedIn(async (visit) => {
  const { who, brand } = await visit.own<Branding>("read_portal_branding");
  return brand.logo ? visit.page(removeLogoPage(visit.frame, who)) : visit.go(BRANDING_PAGE);
});

const removeLogo = signedIn(async (visit) => {
  await visit.own("set_partner_logo", { png: null });
  return visit.told(BRANDING_PAGE, "removed");
});

/** The style sheet of the preview: the color is in its address, and nobody's. */
const showPreviewStyle: Handler = ({ c }) =>
  c.body(previewStyle(c.req.query()), 200, {
    "Content-Type": "text/css; charset=utf-8",
    "Cache-Control": "public, max-age=3600",
  });

/** What the pages about a partner's brand do. */
export const brandingPages = { showBranding, saveBranding, saveLogo, askRemoveLogo, removeLogo, showPreviewStyle };
