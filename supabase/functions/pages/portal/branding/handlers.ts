import { Buffer } from "node:buffer";
import { readLogo } from "#shared/domain/logo/logo.ts";
import { BRANDING } from "#shared/domain/partner_settings.ts";
import { z } from "#shared/foundation/zod.ts";
import type { Handler } from "../../kit/page_request.ts";
import { signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { previewStyle } from "./preview.ts";
import { BRANDING_PAGE, brandingPage, colorOf, FIELDS, removeLogoPage } from "./views.ts";

const { logo_url: _theirs, ...fields } = BRANDING;
const Form = z.object(fields);

const showBranding = signedIn(async (request) => {
  const news = request.news();
  return request.pageOf(brandingPage(request.frame, await request.own("read_portal_branding"), news), news);
});

const saveBranding = signedIn(async (request) => {
  const { form, locale } = request;
  const typed = Object.fromEntries(FIELDS.map((field) => [field, (form.get(field) ?? "").trim()]));
  const color = colorOf(typed.primary_color ?? "");
  const read = Form.safeParse({ ...typed, primary_color: color });
  if (!read.success) {
    const wrong = read.error.issues.map(({ path }) => path[0]);
    const { errors } = WORDS[locale].branding;
    return request.refuse(
      BRANDING_PAGE,
      Object.fromEntries(FIELDS.filter((field) => wrong.includes(field)).map((field) => [field, errors[field]])),
    );
  }
  // shown before it is saved
  if (form.has("look")) return request.refuse(BRANDING_PAGE, {});
  await request.own("set_partner_branding", read.data);
  return request.told(BRANDING_PAGE, "saved");
});

const saveLogo = signedIn(async (request) => {
  const { file, locale } = request;
  const { refused } = WORDS[locale].branding;
  if (!file) return request.refuse(BRANDING_PAGE, { logo: refused.missing });
  const read = await readLogo(new Uint8Array(await file.arrayBuffer()));
  if ("refused" in read) {
    request.logOutcome(read.refused);
    return request.refuse(BRANDING_PAGE, { logo: refused[read.refused] });
  }
  const { png, width, height } = read.logo;
  await request.own("set_partner_logo", { png: Buffer.from(png).toString("base64"), width, height });
  return request.told(BRANDING_PAGE, "logo_saved");
});

const askRemoveLogo = signedIn(async (request) => {
  const { who, brand } = await request.own("read_portal_branding");
  return brand.logo ? request.page(removeLogoPage(request.frame, who)) : request.go(BRANDING_PAGE);
});

const removeLogo = signedIn(async (request) => {
  await request.own("set_partner_logo", { png: null });
  return request.told(BRANDING_PAGE, "removed");
});

/** The style sheet of the preview: the color is in its address, and nobody's. */
const showPreviewStyle: Handler = ({ c }) =>
  c.body(previewStyle(c.req.query()), 200, {
    "Content-Type": "text/css; charset=utf-8",
    "Cache-Control": "public, max-age=3600",
  });

/** What the pages about a partner's brand do. */
export const handlers = { showBranding, saveBranding, saveLogo, askRemoveLogo, removeLogo, showPreviewStyle };
