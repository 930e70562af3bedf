import type { ErrorCode, FieldsOf } from "#shared/foundation/errors.ts";
import type { SheetError } from "../../sheet/model.ts";
import type { Need } from "./columns.ts";

type FaultCode = Extract<
  ErrorCode,
  | "file_type"
  | "unreadable_file"
  | "payload_too_large"
  | "unknown_columns"
  | "ambiguous_columns"
  | "ambiguous_units"
  | "ambiguous_decimals"
  | "ambiguous_dates"
  | "unknown_zone"
>;

/** Why a file is refused whole, as an error of the API. */
export class UploadFault<Code extends FaultCode = FaultCode> extends Error {
  override name = "UploadFault";
  readonly code: Code;
  readonly fields: FieldsOf<Code>;
  /** What is wrong with the file itself, where its sheet says. */
  readonly wrong: SheetError["wrong"] | "too_many_rows" | "no_rows" | null;
  /** With unknown_columns: headings that were not understood, at most ten, and what the file lacks; nothing if it fits both kinds. */
  readonly columns: { unread: string[]; lacks: Need[] };

  constructor(
    code: Code,
    fields: FieldsOf<Code>,
    wrong: UploadFault["wrong"] = null,
    columns: UploadFault["columns"] = { unread: [], lacks: [] },
  ) {
    super(code);
    this.code = code;
    this.fields = fields;
    this.wrong = wrong;
    this.columns = columns;
  }
}
