import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { CALLER } from "./caller.ts";

/** Why a booking leaves a month out, the first that holds. */
const LEFT_OUT = [
  "already_booked",
  "month_not_over",
  "year_closed",
  "no_mandate",
  "outside_mandate",
  "gate:ean_validated",
  "gate:mid_charger_registered",
  "gate:iban_present",
  "registration_open",
  "registration_rejected",
  "rejected_by_register",
  "zero_kwh",
  "already_delivered",
] as const;

const LeftOutMonths = z
  .array(
    z.object({
      account_id: z.guid().meta({ description: "The account" }),
      period: z.string().meta({ description: "The month", example: "2026-06" }),
      reason: z.enum(LEFT_OUT).meta({ description: "The first that holds" }),
    }),
  )
  .meta({ id: "LeftOutMonths", description: "Delivered months that are not settled, at most 1000 of them" });

export const settleQuarter = endpoint(
  {
    id: "settleSandboxQuarter",
    summary: "Book, credit, sell and pay a quarter of your own customers now",
    description:
      "What the operator does once a quarter happens at once, by the same functions, to your CPO accounts and to the customers you uploaded or invited: every month that may be booked " +
      "is booked, the register credits all of it, it is sold at `price_per_ere`, and whoever has an IBAN is paid, you too (`POST /partner/payout-iban`; before that nothing is in `GET /v1/settlements`): without the bank, the 48 hours that an IBAN waits, and a minimum. Of the running quarter the months that are over; in January, when no month of the year is over, January too. A year without a published factor takes the one of the year before. The figures of the year are published to you. " +
      "A call settles 1000 accounts at most: repeat it until `accounts_left` is 0. " +
      "Safe to repeat: the answer says what is settled of the quarter by now; months that are keep their price. `booking_id` is the newest booking, of your CPO accounts where they are in one. " +
      "`reset` takes it back.",
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["settle_sandbox"],
    slow: true,
    body: z
      .object({
        quarter: z
          .string()
          .regex(/^20\d\d-Q[1-4]$/, "must be a quarter such as 2026-Q2")
          .meta({ description: "The quarter", example: "2026-Q2" }),
        price_per_ere: z
          .number()
          .positive()
          .max(1000)
          .refine((price) => Number(price.toFixed(6)) === price, "at most six decimals")
          .default(0.4)
          .meta({ description: "Euro, up to six decimals" }),
      })
      .meta({ id: "SettleSandboxQuarter" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }),
        quarter: z.string().meta({ description: "The quarter" }),
        booking_id: z.guid().meta({ description: "The booking" }),
        accounts: z.int().meta({ description: "How many have a settled month" }),
        kwh: z.number().meta({ description: "Accepted by the register" }),
        ere: z.number().meta({ description: "Credited, two decimals" }),
        gross_eur: z.number().meta({ description: "What was sold" }),
        net_eur: z.number().meta({ description: "What of it the customers get, after the fee" }),
        accounts_left: z.int().meta({
          description:
            "How many accounts have months that can be settled and were not in this call, which settles 1000 accounts at most: repeat until 0",
        }),
        left_out: LeftOutMonths,
      })
      .meta({ id: "SettledSandboxQuarter" }),
    errors: ["nothing_to_settle"],
    failure: "sandbox_step_failed",
  },
  ({ body, call }) => call("settle_sandbox", body),
);
