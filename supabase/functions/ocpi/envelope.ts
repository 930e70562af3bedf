/** An answer in OCPI's envelope: `{data?, status_code, status_message?, timestamp}`. */
export class OcpiAnswer {
  readonly status: number;
  /** OCPI's own: 1000 done, 2xxx the client's fault, 3xxx ours or of its platform. */
  readonly code: number;
  readonly headers: Record<string, string> = {};
  readonly #data: unknown;
  readonly #message: string | undefined;

  constructor(status: number, code: number, data?: unknown, message?: string) {
    this.status = status;
    this.code = code;
    this.#data = data;
    this.#message = message;
  }

  respond(now: Date, more: Record<string, string>): Response {
    const body = {
      ...(this.#data === undefined ? {} : { data: this.#data }),
      status_code: this.code,
      ...(this.#message === undefined ? {} : { status_message: this.#message }),
      timestamp: now.toISOString(),
    };
    return Response.json(body, {
      status: this.status,
      headers: { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", ...this.headers, ...more },
    });
  }
}

/** It was understood. */
export const done = (data?: unknown) => new OcpiAnswer(200, 1000, data);
/** A field is wrong: the message names it, and repeats no value. */
export const wrong = (message: string) => new OcpiAnswer(200, 2001, undefined, message);
