import type { components } from "./schema.ts";

/** What every error of the API says: which it is in `error`, what to do in `detail`, and `request_id` to quote. */
export type ErrorBody = components["schemas"]["Error"];

/** An answer that is an error, thrown by what cannot hand it back: `orThrow`, `paginate`, `events`, and getting a token. */
export class ApiError extends Error {
  readonly status: number;
  /** Which error it is; never renamed. */
  readonly code: string;
  readonly body: Partial<ErrorBody>;

  constructor(status: number, body: unknown) {
    const said = (typeof body === "object" && body !== null ? body : {}) as Partial<ErrorBody>;
    const code = said.error ?? `HTTP ${status}`;
    super(
      [code, said.detail ?? said.error_description, said.request_id && `(${said.request_id})`]
        .filter(Boolean)
        .join(" "),
    );
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.body = said;
  }
}

/**
 * The data of an answer: `const page = orThrow(await client.GET("/v1/accounts"))`.
 * @throws {ApiError} where the answer is an error.
 */
export function orThrow<Data>(answer: { data?: Data; error?: unknown; response: Response }): Data {
  if (!answer.response.ok || answer.data === undefined) throw new ApiError(answer.response.status, answer.error);
  return answer.data;
}
