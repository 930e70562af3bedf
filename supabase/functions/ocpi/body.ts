import { ApiError } from "#shared/foundation/errors.ts";

/** @throws {ApiError} `invalid_json` */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw new ApiError("invalid_json");
  }
}
