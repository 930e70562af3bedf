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
