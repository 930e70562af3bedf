import type { Kind } from "#shared/domain/charging_in/file/columns.ts";
import type { Sealed } from "#shared/values/sealed.ts";
import type {} from "../../kit/page_request.ts";
import type { Who } from "../model.ts";

/** What the api functions of pages/partner/portal_uploads.sql answer. */

export type RowResult = {
  row: number;
  sheet_row: number;
  status: string;
  reason?: string;
  column?: string;
  counted?: boolean;
  not_counted?: string;
  flags?: string[];
};

export type Upload = {
  upload_id: string | null;
  kind: Kind;
  rows: number;
  columns: { header: string; field: string | null }[];
  results: RowResult[];
};

export type Shown = {
  who: Who;
  clients: { id: string; name: string }[];
  sealed: Sealed | null;
  /** Of the first look at a kept file. */
  judged: RowResult[] | null;
  upload: Upload | null;
};

/** A file as it is kept for an hour. */
export type Kept = { file: string; file_name: string; client: string; kind: Kind | ""; decimal: "," | "." | "" };

declare module "../../kit/page_request.ts" {
  interface SqlAnswers {
    read_portal_uploads: Shown;
    portal_upload: Upload;
  }
}
