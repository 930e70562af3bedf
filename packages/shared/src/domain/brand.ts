/** In whose name a page or a mail speaks: private.partner_brand. A colour is there only where it can be read on its ground. */
export type Brand = { name: string; reply_to?: string | null; light?: string | null; dark?: string | null };
