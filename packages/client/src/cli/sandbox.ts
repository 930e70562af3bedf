import { randomInt } from "node:crypto";
import type { ApiClient } from "../api_client.ts";
import { orThrow } from "../error.ts";

/** An EAN that the sandbox's register knows at every address, and one that another connection has. */
const EAN = { matched: "871687000000000016", in_use: "871687000000000054" };
const IBAN = "NL91ABNA0417164300";
const NAME = "Sanne de Vries";

type Payer = "service_pays_customer" | "via_cpo_invoicing";
type Outcome = "goedgekeurd" | "afgekeurd";
type Signing = "signed" | "declined" | "revoked";
/** What the settlement is to go wrong with. */
type Mishap = "reject" | "fail";
type Account = { account_id: string };

/** The year in the Netherlands, where mandates and months begin. */
const dutchYear = () => new Intl.DateTimeFormat("en", { timeZone: "Europe/Amsterdam", year: "numeric" }).format();

/** Somebody who was not there before. */
const somebody = () => {
  const reference = `TRIGGER-${Date.now()}-${randomInt(1e6)}`;
  return { reference, email: `${reference.toLowerCase()}@example.com` };
};

/** The requests that make events happen: those of an integrator, and the sandbox's helpers for the other parts. */
export class Sandbox {
  readonly #partner: ApiClient;
  readonly #cpo: ApiClient;

  constructor(partner: ApiClient, cpo: ApiClient) {
    this.#partner = partner;
    this.#cpo = cpo;
  }

  async account(payout_handler: Payer = "service_pays_customer"): Promise<Account> {
    const { reference, email } = somebody();
    const { account_id } = orThrow(
      await this.#cpo.POST("/v1/accounts", {
        body: {
          cpo_external_ref: reference,
          payout_handler,
          iban: IBAN,
          person: { full_name: NAME, email },
          connection: { ean_code: EAN.matched, postal_code: "3818 LH", house_number: "8" },
        },
      }),
    );
    return { account_id };
  }

  /** What the customer does on the pages. */
  async #sign({ account_id }: Account, outcome: Signing): Promise<void> {
    const init = { params: { path: { id: account_id } }, body: { outcome } };
    orThrow(await this.#partner.POST("/sandbox/v1/customers/{id}/sign", init));
  }

  async declined(): Promise<void> {
    await this.#sign(await this.account(), "declined");
  }

  async signed(payer?: Payer): Promise<Account> {
    const account = await this.account(payer);
    await this.#sign(account, "signed");
    return account;
  }

  /** The customer withdraws. */
  async revokedAccount(): Promise<void> {
    await this.#sign(await this.signed(), "revoked");
  }

  async #expire(id: string): Promise<void> {
    orThrow(await this.#partner.POST("/sandbox/v1/customers/{id}/expire-mandate", { params: { path: { id } } }));
  }

  async expiredAccount(): Promise<void> {
    await this.#expire((await this.signed()).account_id);
  }

  /** All gates open with the signature, which also submits the registration. */
  async eligible(payer?: Payer): Promise<Account> {
    const account = await this.account(payer);
    const { account_id } = account;
    const charger = { account_id, ocpp_vendor: "Alfen BV", ocpp_model: "NG910-60023" };
    orThrow(await this.#cpo.POST("/v1/chargers", { body: charger }));
    await this.#sign(account, "signed");
    return account;
  }

  /** A session of a charger that nobody knows. */
  async parked(): Promise<void> {
    const { reference } = somebody();
    const session = { session_id: reference, external_ref: reference, kwh: 5, started_at: new Date().toISOString() };
    orThrow(await this.#cpo.POST("/v1/charging-sessions", { body: { sessions: [session] } }));
  }

  async #review(id: string, outcome: Outcome): Promise<void> {
    const init = { params: { path: { id } }, body: { outcome } };
    orThrow(await this.#partner.POST("/sandbox/v1/customers/{id}/review", init));
  }

  async reviewedAccount(outcome: Outcome, payer?: Payer): Promise<Account> {
    const account = await this.eligible(payer);
    await this.#review(account.account_id, outcome);
    return account;
  }

  /** January is the first month that a mandate of this year covers, and settle takes it even while it lasts. */
  async settledAccount(payer?: Payer, mishap?: Mishap): Promise<void> {
    const { account_id } = await this.reviewedAccount("goedgekeurd", payer);
    const period = `${dutchYear()}-01`;
    const months = [{ period, total_kwh: 312.5, session_count: 24 }];
    orThrow(await this.#cpo.POST("/v1/sessions:batch", { body: { account_id, months } }));
    const body = {
      quarter: `${period.slice(0, 4)}-Q1`,
      price_per_ere: 0.4,
      ...(mishap === "reject" ? { reject: [period] } : {}),
      ...(mishap === "fail" ? { fail: [account_id] } : {}),
    };
    for (let left = 1; left > 0; )
      left = orThrow(await this.#partner.POST("/sandbox/v1/settle", { body })).accounts_left;
  }

  /** The partner gets the money of customers whom it pays itself. */
  async paid(mishap?: Mishap): Promise<void> {
    const { payout } = orThrow(await this.#partner.GET("/partner/me")).partner;
    if (!payout.iban_masked)
      throw new Error("a payout needs an account number of the partner: POST /partner/payout-iban, or the portal");
    await this.settledAccount("via_cpo_invoicing", mishap);
  }

  async #draft(ean: string): Promise<string> {
    const { reference, email } = somebody();
    const row = { naam: NAME, email, postcode: "3818 LH", huisnummer: "8", ean, external_ref: reference };
    const { created, rejected } = orThrow(
      await this.#partner.POST("/partner/customers", { body: { consent: true, send_invite: false, rows: [row] } }),
    );
    const [draft] = created;
    if (!draft?.draft_id) throw new Error(`the draft was rejected: ${JSON.stringify(rejected)}`);
    return draft.draft_id;
  }

  async #claim(id: string, submit: boolean) {
    return this.#partner.POST("/sandbox/v1/drafts/{id}/claim", { params: { path: { id } }, body: { submit } });
  }

  async customer(submit: boolean): Promise<string> {
    return orThrow(await this.#claim(await this.#draft(EAN.matched), submit)).account_id;
  }

  async reviewedCustomer(outcome: Outcome): Promise<void> {
    await this.#review(await this.customer(true), outcome);
  }

  async expiredCustomer(): Promise<void> {
    await this.#expire(await this.customer(false));
  }

  /** The claim is refused, which is what is wanted. */
  async conflict(): Promise<void> {
    const { error, response } = await this.#claim(await this.#draft(EAN.in_use), false);
    if (error?.error !== "draft_not_claimable") orThrow({ error, response });
  }

  async revoked(): Promise<void> {
    const { fixtures } = orThrow(
      await this.#partner.POST("/sandbox/v1/fixtures", { body: { states: ["no_mandate"] } }),
    );
    const failed = fixtures.find(({ ok }) => !ok);
    if (failed) throw new Error(`the customer could not be made: ${failed.error}`);
  }
}
