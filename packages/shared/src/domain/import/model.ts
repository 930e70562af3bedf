/** Rows per request; later rows are counted and ignored. */
export const MAX_ROWS = 500;
/** The largest file or body, in bytes. */
export const MAX_IMPORT = 2 * 1024 * 1024;

/** Why a row makes no draft, and what `skipped` counts, in its order. */
export const COUNTERS = [
  "invalid",
  "reserved_domain",
  "missing_kvk",
  "already_drafted",
  "existing_user",
  "suppressed",
  "conflict",
  "over_request_limit",
  "over_cap",
  "charger_brand_unsupported",
  "charger_not_linked",
  "charger_claimed",
] as const;

/** The response of an import, as in the specification; the partner function has the schema with its descriptions. */
export type Imported = {
  ok: true;
  dry_run: false;
  added: number;
  batch_id: string;
  created: {
    row: number;
    sheet_row: number | null;
    draft_id: string;
    email: string;
    external_ref: string | null;
    claim_url: string;
    ean_status: string;
    ean_candidates: number;
  }[];
  address_ignored: { email: string; reason: string }[];
  ean_ignored: { email: string; reason: string }[];
  invite_ignored: { email: string; reason: string }[];
  claim_urls: { email: string; claim_url: string }[];
  referral_codes: { email: string; code: string; matched: boolean }[];
  rejected: {
    email: string | null;
    reason: (typeof COUNTERS)[number];
    row: number;
    sheet_row: number | null;
    detail?: string;
  }[];
  skipped: Record<string, number>;
  cap: { rolling_days: number; rolling_cap: number; remaining_before: number };
};

/** The input of an import. */
export type Import = {
  rows: unknown[];
  /** For each row its line number in a spreadsheet. */
  sheet_rows?: number[];
  /** Rows of the file beyond these, which are counted only. */
  more?: number;
  source: "csv" | "api" | "invite";
  send_invite: boolean;
  /** The partner's own words in the invitation. */
  message?: string | null;
  /** A dry run: nothing is stored, and nobody is mailed. */
  dry_run?: boolean;
  /**
   * Each customer agreed that their data is passed on. A dry run then also returns the results that depend on other
   * partners' people.
   */
  consent?: boolean;
};

/** The api functions that an import runs. */
export const IMPORT_SQL = ["import_drafts", "record_draft_lookups"] as const;
export type ImportSql = (typeof IMPORT_SQL)[number];
