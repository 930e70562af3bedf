/** Where the pages are under the root. */
export const PATH = "/portal";

/** What somebody who manages a partner may run there. */
export const PORTAL_SQL = [
  "read_portal_start",
  "read_portal_customers",
  "read_portal_customer",
  "read_portal_drafts",
  "read_portal_draft",
  "invite_draft_again",
  "withdraw_draft",
  "read_portal_payouts",
  "read_invoice",
  "read_portal_settings",
  "read_portal_log",
  "set_partner_company",
  "set_partner_iban",
  "set_partner_return_url",
  "mint_partner_key",
  "revoke_partner_key",
  "read_portal_import",
  "keep_import",
  "import_drafts",
  "import_stretch",
  "read_portal_branding",
  "set_partner_branding",
  "set_partner_logo",
] as const;
