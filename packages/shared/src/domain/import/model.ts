/** Rows one request may bring; what comes after them is counted and left. */
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

/** An import's answer, as the specification has it; the schema with its texts is the partner function's. */
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

/** What is asked of an import. */
export type Import = {
  rows: unknown[];
  /** Of each row the number that a spreadsheet shows beside it. */
  sheet_rows?: number[];
  source: "csv" | "api" | "invite";
  send_invite: boolean;
  /** A partner's own words, put into the invitation. */
  message?: string | null;
  /** Only says what would happen: nothing is stored, and nobody is mailed. */
  dry_run?: boolean;
  /** Each customer agreed that their data is passed on: a dry run then tells what depends on other partners' people too. */
  consent?: boolean;
};

/** The api functions that an import runs. */
export const IMPORT_SQL = ["import_drafts", "record_draft_lookups"] as const;
export type ImportSql = (typeof IMPORT_SQL)[number];
