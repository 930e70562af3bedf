/** What the api functions behind a person's own pages answer, as private.own_accounts and its neighbors in SQL say. */

import { Farewell, KeptDocument, Offer, Signed, Withdrawal } from "#shared/domain/answers.ts";
import { Charger } from "#shared/endpoints/responses/charger.ts";
import { ChargingSession } from "#shared/endpoints/responses/charging_session.ts";
import { Month as EnergyMonth, ErePosition } from "#shared/endpoints/responses/energy.ts";
import { Token } from "#shared/endpoints/responses/token.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { checklist } from "#shared/values/gates.ts";
import { MandateStatus, PayoutHandler, RegistrationStatus } from "#shared/values/models.ts";
import { USER_SCOPES, type UserScope } from "#shared/values/scopes.ts";

export type { Charger, ChargingSession, Token };

/** As GET /energy, but by its first day. */
const Month = EnergyMonth.extend({ month: z.string() });
export type Month = z.output<typeof Month>;

/**
 * ERE that are not sold. `net_eur` is what they may bring at the last average price of their tenant, less the mandate's fee. Both are
 * null before the first sale.
 */
const Unsold = z.object({
  ere: z.number(),
  price_per_ere_eur: z.number().nullable(),
  fee_pct: z.number(),
  net_eur: z.number().nullable(),
});
export type Unsold = z.output<typeof Unsold>;

const Connection = z.object({
  connection_id: z.string(),
  ean_code: z.string(),
  ean_validation_status: z.string().nullable(),
  street: z.string().nullable(),
  house_number: z.number(),
  house_number_addition: z.string().nullable(),
  postal_code: z.string(),
  city: z.string().nullable(),
  registration_status: RegistrationStatus,
  mandate_status: MandateStatus,
  valid_from: z.string().nullable(),
  valid_until: z.string().nullable(),
  renewed_until: z.string().nullable(),
  may_sign_again: z.boolean(),
});
export type Connection = z.output<typeof Connection>;

const Account = z.object({
  account_id: z.string(),
  /** The claim whose pages can do more with it; null where it began otherwise. */
  draft_id: z.string().nullable(),
  /** The CPO whose customer they signed as; null of an account of their own. */
  cpo: z.string().nullable(),
  payout_handler: PayoutHandler,
  /** What they signed for last; null before. */
  fee_pct: z.number().nullable(),
  iban_last4: z.string().nullable(),
  iban_held_until: z.string().nullable(),
  /** The last payment, if it did not arrive: because the account is wrong, its holder died, or for a reason of the bank's. */
  payment_back: z
    .object({
      amount_eur: z.number(),
      iban_last4: z.string(),
      day: z.string(),
      because: z.enum(["account", "holder", "none"]),
    })
    .nullable(),
  /** Whether the bank was asked to pay all that is owed. */
  sent: z.boolean(),
  checklist: checklist(),
  chargers: z.object({ count: z.number(), with_mid: z.number(), waiting: z.number() }),
  connections: z.array(Connection),
});
export type Account = z.output<typeof Account>;

/** A quarter, by its first day, in which something counts. Of net_eur, which is sold, unpaid_eur is still to be paid. */
const Earned = z.object({
  quarter: z.string(),
  kwh: z.number(),
  ere: z.number(),
  sold_ere: z.number(),
  net_eur: z.number(),
  unpaid_eur: z.number(),
  unsold: z.array(Unsold),
});
export type Earned = z.output<typeof Earned>;

/** The progress of an account: the day of each step, or null. */
const Progress = z.object({
  signed_on: z.string().nullable(),
  withdrawn_on: z.string().nullable(),
  approved_on: z.string().nullable(),
  charger_on: z.string().nullable(),
  /** Names of chargers that connect by OCPP, and never did. */
  silent_chargers: z.array(z.string()),
  first_month: z.string().nullable(),
  /** By their first day. */
  booked_quarters: z.array(z.string()),
  /** These three say the latest. */
  booked_on: z.string().nullable(),
  sold_on: z.string().nullable(),
  paid_on: z.string().nullable(),
});
export type Progress = z.output<typeof Progress>;

/** A charger whose kWh do not count. */
const IdleCharger = z.object({
  name: z.string(),
  kwh: z.number(),
  why: z.enum(["no_mid", "mid_unknown", "no_connection"]),
});
export type IdleCharger = z.output<typeof IdleCharger>;

/** What of a year does not count; the register's own words where it gave any. */
const LeftOut = z.object({
  month: z.string(),
  kwh: z.number(),
  why: z.enum(["before_ere", "outside_mandate", "mandate_ended", "register", "after_booking", "no_factor"]),
  reason: z.string().nullable(),
});
export type LeftOut = z.output<typeof LeftOut>;

/** Of the quarters by their first day; none of a payment that no month explains. */
const Paid = z.object({
  paid_on: z.string(),
  amount_eur: z.number(),
  quarters: z.array(z.string()),
  kwh: z.number(),
});
/** Paid to the person; or to the CPO that settles with them, whose name it then has. */
const Payout = z.union([
  Paid.extend({ line_id: z.string(), part_id: z.null(), cpo: z.null() }),
  Paid.extend({ line_id: z.null(), part_id: z.string(), cpo: z.string() }),
]);
export type Payout = z.output<typeof Payout>;

const Overview = z.object({
  email: z.string(),
  /** The partner that they manage; null of almost everybody. */
  manages: z.string().nullable(),
  name: z.string().nullable(),
  year: z.number(),
  /** The first day of this month. */
  month: z.string(),
  charged_kwh: z.number(),
  month_kwh: z.number(),
  month_before_kwh: z.number(),
  quarters: z.array(Earned),
  /**
   * What was paid since the year began, and ever: to the person, or to the CPO that settles with them. Of it, debts were taken
   * back since: each comes off later payments of its account, which will be for its `unsold`.
   */
  paid: z.object({
    year_eur: z.number(),
    all_eur: z.number(),
    debts: z.array(z.object({ eur: z.number(), unsold: z.array(Unsold) })),
  }),
  payouts: z.array(Payout),
  /** What one of the accounts was told before signing; null without accounts. */
  offer: Offer.nullable(),
  progress: z.record(z.string(), Progress),
  idle_chargers: z.array(IdleCharger),
  left_out: z.array(LeftOut),
  accounts: z.array(Account),
});
export type Overview = z.output<typeof Overview>;

const Charging = z.object({
  email: z.string(),
  year: z.number(),
  years: z.array(z.number()),
  months: z.array(Month),
  left_out: z.array(LeftOut),
  idle_chargers: z.array(IdleCharger),
  sessions: z.array(ChargingSession),
  has_more: z.boolean(),
});
export type Charging = z.output<typeof Charging>;

const Earnings = z.object({
  email: z.string(),
  year: z.number(),
  years: z.array(z.number()),
  /** There is a forecast for this year only. */
  position: ErePosition.extend({ forecast_ere: z.number().nullable() }),
  quarters: z.array(Earned),
  left_out: z.array(LeftOut),
  idle_chargers: z.array(IdleCharger),
  accounts: z.array(Account),
  payouts: z.array(Payout),
  debts: Overview.shape.paid.shape.debts,
  /** The years that are over in which there was money, newest first. */
  overviews: z.array(z.object({ account_id: z.string(), year: z.number() })),
});
export type Earnings = z.output<typeof Earnings>;

/** An account that the service pays, for who signed for it at a CPO. */
const SignedAccount = z.object({
  email: z.string(),
  partner_id: z.string(),
  partner_name: z.string(),
  iban_last4: z.string().nullable(),
  code_sent: z.boolean(),
});
export type SignedAccount = z.output<typeof SignedAccount>;

/** What withdrawing the mandate for a connection would mean, for who signed for it at a CPO. */
const SignedMandate = z.object({
  email: z.string(),
  partner_name: z.string(),
  ean_code: z.string(),
  registration_status: RegistrationStatus,
  may_still_book: z.boolean(),
  renewed_until: z.string().nullable(),
  withdrawal: Withdrawal,
  code_sent: z.boolean(),
});
export type SignedMandate = z.output<typeof SignedMandate>;

const Mandates = z.object({
  email: z.string(),
  accounts: z.array(Account),
  mandates: z.array(Signed.extend({ connection_id: z.string() })),
});
export type Mandates = z.output<typeof Mandates>;

/** `mid_unknown`: chargers whose meter nobody judged yet. `model_unknown`: chargers that connected and did not tell their model. */
const Chargers = z.object({
  email: z.string(),
  accounts: z.array(Account),
  chargers: z.array(Charger),
  /** When the last kWh of a charger came, and from which source. */
  delivered: z.record(z.string(), z.object({ at: z.string(), source: z.string() })),
  mid_unknown: z.array(z.string()),
  model_unknown: z.array(z.string()),
  serial_unknown: z.array(z.string()),
  /** Their serial number is another registration's, or was. `own`: its name, if it is the person's too. */
  elsewhere: z.array(
    z.object({
      id: z.string(),
      since: z.string().nullable(),
      until: z.string().nullable(),
      own: z.string().nullable(),
    }),
  ),
  /** Chargers whose last connection was a mirror's. */
  mirrors: z.array(z.string()),
  /** Another charger uses the address of their mirror. */
  mixed: z.array(z.object({ id: z.string(), serial_number: z.string(), at: z.string() })),
  /** The last stop that fits no charge. */
  unplaced: z.array(z.object({ id: z.string(), at: z.string(), meter_wh: z.number().nullable() })),
  models: z.array(z.object({ id: z.string(), name: z.string() })),
});
export type Chargers = z.output<typeof Chargers>;

const Scope = z.enum(Object.keys(USER_SCOPES) as UserScope[]);

const Application = z.object({
  client_id: z.string(),
  name: z.string(),
  operated_by: z.string().nullable(),
  scopes: z.array(Scope),
  allowed_at: z.string(),
  last_used_at: z.string(),
});
export type Application = z.output<typeof Application>;

const Sharing = z.object({
  email: z.string(),
  /** Who brought the person; null where nobody did, or they stopped sharing. The month as 2026-03-01. */
  partner: z.object({ partner_id: z.string(), name: z.string(), source: z.string(), since: z.string() }).nullable(),
  /** The CPOs whose customer they signed as. */
  cpos: z.array(z.string()),
  applications: z.array(Application),
});
export type Sharing = z.output<typeof Sharing>;

const Tokens = z.object({ email: z.string(), tokens: z.array(Token) });
export type Tokens = z.output<typeof Tokens>;

/** What the end of the account means. */
const End = Farewell.extend({
  /** The partner that nobody else manages. */
  managed_alone: z.string().nullable(),
  iban_missing: z.boolean(),
});
export type End = z.output<typeof End>;
const Ending = z.object({ email: z.string(), end: End });
export type Ending = z.output<typeof Ending>;

/** What api.export_own_data gives, as far as the table of it says it; the JSON file has all. */
const OwnData = z.looseObject({
  login: z.looseObject({ email: z.string(), name: z.string().nullable(), created_at: z.string() }),
  accounts: z.array(
    z.looseObject({
      created_at: z.string(),
      iban_last4: z.string().nullable(),
      signatory: z.looseObject({ full_name: z.string(), phone: z.string().nullable() }).nullable(),
      connections: z.array(
        z.looseObject({
          ean_code: z.string(),
          street: z.string().nullable(),
          house_number: z.number(),
          house_number_addition: z.string().nullable(),
          postal_code: z.string(),
          city: z.string().nullable(),
          mandates: z.array(
            z.looseObject({ signed_at: z.string().nullable(), valid_from: z.string(), valid_until: z.string() }),
          ),
          months: z.array(z.looseObject({ month: z.string(), kwh: z.number() })),
        }),
      ),
      payouts: z.array(z.looseObject({ paid_at: z.string(), amount_eur: z.number(), iban_last4: z.string() })),
    }),
  ),
  chargers: z.array(
    z.looseObject({
      charger_id: z.string(),
      name: z.string(),
      serial_number: z.string().nullable(),
      created_at: z.string(),
    }),
  ),
  charging_sessions: z.array(
    z.looseObject({
      charger_id: z.string(),
      started_at: z.string(),
      ended_at: z.string().nullable(),
      kwh: z.number(),
      meter_start_kwh: z.number().nullable(),
      meter_end_kwh: z.number().nullable(),
      source: z.string(),
    }),
  ),
  partner: z.looseObject({ name: z.string() }).nullable(),
  applications: z.array(z.looseObject({ name: z.string(), allowed_at: z.string() })),
  tokens: z.array(z.looseObject({ name: z.string(), created_at: z.string() })),
});
export type OwnData = z.output<typeof OwnData>;

const ended = z.object({ ended: z.boolean() });

export const ANSWERS = {
  read_own_start: Overview,
  read_own_charging: Charging,
  read_own_earnings: Earnings,
  read_own_mandates: Mandates,
  open_own_document: KeptDocument,
  open_own_claim: z.object({ draft_id: z.string() }),
  read_own_chargers: Chargers,
  choose_own_model: z.object({ chosen: z.boolean() }),
  remove_own_charger: z.object({ removed: z.boolean() }),
  read_own_sharing: Sharing,
  stop_sharing: ended,
  stop_application: ended,
  read_own_tokens: Tokens,
  read_own_end: Ending,
  export_own_data: OwnData,
  close_own_account: z.discriminatedUnion("closed", [
    z.object({ closed: z.literal(true), end: End }),
    z.object({ closed: z.literal(false) }),
  ]),
  read_signed_account: SignedAccount,
  open_signed_mandate: SignedMandate,
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
