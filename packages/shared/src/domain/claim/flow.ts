import { hashSecret, newCode } from "#shared/auth/tokens.ts";
import type { Brand } from "#shared/domain/answers.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { composeDocument, type Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Call, SqlAnswer } from "#shared/foundation/answers.ts";
import { CODE_REFUSALS } from "#shared/foundation/attempt.ts";
import { callFor } from "#shared/foundation/call.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { SealedIban } from "#shared/values/iban.ts";
import type { Locale } from "#shared/values/locale.ts";
import type { Claim } from "./answers.ts";
import { claimKey, claimToken } from "./links.ts";
import { makeLogin } from "./login.ts";
import { CLAIM_SQL, type StepName } from "./model.ts";

type Name = (typeof CLAIM_SQL)[number];

/** The steps that can be put off until after the signature, and what they ask can be changed then. */
export type LaterStep = "payout" | "charger";

/** What a step keeps, as private.save_step takes it. */
export type Kept = { answers: Record<string, unknown>; ean_register?: object; iban?: SealedIban; later?: boolean };

/** Where a claim is: private.claim_stage. */
export type Stage = "invited" | "claimed" | "active";

/** How a browser showed that the customer is in it: by a mailed code, or a partner's sign-in link; and where the claim was then. */
export type ClaimProof = { proved_by: "code" | "link"; stage: Stage };

/**
 * How the acting session was proved. A session that was proved by a code confirms an IBAN again if it was given behind
 * a sign-in link. It has its own codes and guesses.
 */
type Proved = { proved_by?: ClaimProof["proved_by"] | undefined };

/** What a mailed code is for: one that proves the address cannot sign, and neither changes where the money goes. */
export type CodePurpose = "prove" | "sign" | "iban" | "revoke";

/** What the rules may say no with; what else is thrown is our failure, or the visitor's limit. */
export const REFUSALS = {
  sendCode: ["claim_not_open", "too_many_codes"],
  prove: ["claim_not_open", "claim_conflict", ...CODE_REFUSALS],
  save: ["claim_not_open", "ean_in_use", "ean_address_mismatch", "charger_claimed"],
  sign: ["claim_not_open", "claim_conflict", "mandate_changed", "charger_claimed", ...CODE_REFUSALS],
  complete: ["claim_not_open", "charger_claimed", "charger_limit_reached", "serial_number_required", ...CODE_REFUSALS],
  revoke: ["claim_not_open", ...CODE_REFUSALS],
} as const;

type Signature = {
  facts: Facts;
  /** In whose name the copy is mailed. */
  brand?: Brand | null;
  signed_name: string;
  code: string;
  locale: Locale;
  /** Where it was signed from; evidence. */
  address: string;
  user_agent: string | null;
} & Proved;

/**
 * What a customer does with a claim link, step by step: the pages drive it for people, the sandbox for integrators.
 * Each step throws what it is refused with, see REFUSALS.
 */
export class ClaimFlow {
  readonly environment: Environment;
  readonly draft_id: string;
  /** From the link they opened, which may have an older key: cookies and codes are bound to it. */
  readonly token: string;
  readonly #run: Call<Name>;

  /** `kind` is who acts, for the audit log: somebody with the link, or a sandbox helper that plays the customer. */
  constructor(
    environment: Environment,
    request_id: string,
    draft_id: string,
    {
      kind = "anyone",
      token = claimToken(environment, draft_id),
    }: { kind?: "anyone" | "sandbox"; token?: string } = {},
  ) {
    this.environment = environment;
    this.draft_id = draft_id;
    this.token = token;
    const caller = { kind, host: environment.config.API_HOST, request_id };
    this.#run = callFor({ id: "a claim", sql: CLAIM_SQL, needs: { login: makeLogin } }, environment, caller);
  }

  async #call<Called extends Name>(name: Called, request: object): Promise<SqlAnswer<Called>> {
    return JSON.parse(await this.#run(name, { draft_id: this.draft_id, ...request }));
  }

  /** What private.claim_view shows of the draft: {address_hash, session, step, brand}. */
  open(about: { address_hash: string; session: ClaimProof | null }): Promise<Claim> {
    return this.#call("open_claim", about);
  }

  /** Mails a one-time code; with a stage only while the claim is there. */
  sendCode(
    purpose: CodePurpose,
    locale: Locale,
    brand: Brand | null,
    { code = newCode(), stage = null, proved_by }: { code?: string; stage?: Stage | null } & Proved = {},
  ): Promise<unknown> {
    const { config } = this.environment;
    return this.#call("send_claim_code", {
      code_hash: this.#hashCode(code, purpose),
      mail: aboutMail(config, "claim_code", locale, { code, purpose, brand: brand ?? { name: config.SERVICE_NAME } }),
      stage,
      proved_by,
    });
  }

  /**
   * Proves the address by its code, and gives what open() does, as a refusal does: `claim`. Makes the customer's login
   * if there is none. A `browser` with a secret may send its code twice.
   */
  prove(code: string, address_hash: string, browser?: string): Promise<Claim> {
    return this.#call("prove_claim", { address_hash, ...this.#hashesOf(code, "prove", browser) });
  }

  /** Keeps a step, and says which is next; none where only the mandate is left. */
  save(step: StepName, kept: Kept & Proved): Promise<{ open_step: StepName | null }> {
    return this.#call("save_claim", { step, ...kept });
  }

  /** The mandate as it is signed: composed of the facts, so that the same facts give the same text. */
  document(facts: Facts, locale: Locale): string {
    const { SERVICE_NAME, SUPPORT_EMAIL } = this.environment.config;
    return composeDocument(facts, { name: SERVICE_NAME, email: SUPPORT_EMAIL }, locale);
  }

  sign({ facts, brand, code, locale, ...signature }: Signature): Promise<unknown> {
    const { config } = this.environment;
    const { full_name, partner_name } = facts;
    const document = this.document(facts, locale);
    const link = `${config.PAGES_URL}/claim/${claimToken(this.environment, this.draft_id)}`;
    return this.#call("sign_claim", {
      ...signature,
      facts,
      code_hash: this.#hashCode(code, "sign"),
      key: claimKey(this.environment),
      document,
      document_sha256: hashSecret(document),
      mail: aboutMail(config, "mandate_signed", locale, { link, full_name, partner_name, document, brand }),
    });
  }

  /**
   * Completes or changes a signed claim. With `missing` an IBAN is stored only if there is none. Another IBAN needs a
   * `code`, which a `browser` with a secret may send twice.
   */
  complete(
    step: LaterStep,
    {
      answers,
      iban,
      missing = false,
      code,
      browser,
      proved_by,
    }: Kept & { missing?: boolean; code?: string | null; browser?: string | undefined } & Proved,
    locale: Locale,
    brand: Brand | null,
  ): Promise<unknown> {
    const { config } = this.environment;
    const content = {
      brand: brand ?? { name: config.SERVICE_NAME },
      iban_masked: `**** ${iban?.last4}`,
      // as long as private.payees waits
      held_until: new Date(this.environment.now().getTime() + 48 * 3600 * 1000).toISOString(),
    };
    const mail = iban ? aboutMail(config, "customer_iban_changed", locale, content) : null;
    const hashes = code ? this.#hashesOf(code, "iban", browser) : {};
    return this.#call("complete_claim", { step, answers, iban, missing, mail, proved_by, ...hashes });
  }

  /** Ends the mandate, which nothing undoes. */
  revoke(code: string, proved_by?: Proved["proved_by"]): Promise<unknown> {
    return this.#call("revoke_claim", { proved_by, ...this.#hashesOf(code, "revoke", undefined) });
  }

  /** A code as it is judged, and as the browser that sends it may send it once more. */
  #hashesOf(code: string, purpose: CodePurpose, browser: string | undefined) {
    const code_hash = this.#hashCode(code, purpose);
    return {
      code_hash,
      key: claimKey(this.environment),
      repeat_hash: browser ? hashSecret(`${browser}:${code_hash}`) : null,
    };
  }

  /** Hashed with the token, which the database does not hold, and with what the code is for: one that proves cannot sign. */
  #hashCode(code: string, purpose: CodePurpose): string {
    return hashSecret(`${this.token}:${purpose}:${code}`);
  }
}
