import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { uuid } from "#shared/values/fields.ts";
import { gatesFor } from "#shared/values/gates.ts";
import { CALLER } from "./caller.ts";

/** Why a booking leaves a month out, the first that holds. */
const LEFT_OUT = [
  "already_booked",
  "month_not_over",
  "year_closed",
  "no_mandate",
  "outside_mandate",
  ...gatesFor("booking").map((name) => `gate:${name}` as const),
  "registration_open",
  "registration_rejected",
  "rejected_by_register",
  "zero_kwh",
  "already_delivered",
] as const;

const quarterOf = (month: string) => `${month.slice(0, 4)}-Q${Math.ceil(Number(month.slice(5)) / 3)}`;

const LeftOutMonths = z
  .array(
    z.object({
      account_id: z.guid().meta({ description: "The account" }),
      period: z.string().meta({ description: "The month", example: "2026-06" }),
      reason: z.enum(LEFT_OUT).meta({ description: "The first reason that applies" }),
    }),
  )
  .meta({ id: "LeftOutMonths", description: "Delivered months that are not settled, at most 1000" });

export const settleQuarter = endpoint(
  {
    id: "settleSandboxQuarter",
    summary: "Book, credit, sell and pay a quarter of your own customers now",
    description:
      "Does at once what the operator does after a quarter, with the same functions. It covers your CPO accounts " +
      "and the customers you uploaded or invited. Every month that can be booked is booked. The register credits " +
      "all of it, and it is sold at `price_per_ere`. Then everyone with an IBAN is paid, including you (`POST " +
      "/partner/payout-iban`; before that `GET /v1/settlements` is empty). An account whose `iban_checksum_ok` is " +
      "false is not paid: give another IBAN and repeat the call. The sandbox skips the bank, the 48 hours " +
      "that a new IBAN waits, and the minimum amount. For the running quarter it settles the months that are over; " +
      "in January, when no month of the year is over, also January. A year without a published factor uses the " +
      "factor of the year before. The figures of the year are published to you. One call settles at most 1000 " +
      "accounts: repeat it until `accounts_left` is 0. The call is safe to repeat. The response has everything " +
      "settled of the quarter so far; settled months keep their price. `booking_id` is the newest booking, of your " +
      "CPO accounts if one has them. The register rejects the months of `reject`, which you can then deliver again. " +
      "The payment of an account in `fail` comes back, because its bank account is closed: its IBAN gets no money " +
      "until there is another one. For an account that you settle with yourself, your own payment comes back without " +
      "a reason; a call without `fail` pays it again. Both are for months and payments that this call settles. If one " +
      "was settled before, the answer is 409 `already_settled`, which names it. `reset` undoes the settlement.",
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
        reject: z
          .array(z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/, "must be a month such as 2026-05"))
          .max(3)
          .nullish()
          .transform((months) => months ?? [])
          .meta({ description: "Months of the quarter that the register rejects", example: ["2026-05"] }),
        fail: z
          .array(uuid())
          .max(1000)
          .nullish()
          .transform((accounts) => accounts ?? [])
          .meta({
            description: "Account ids of customers whose payment comes back: the bank says the account is closed",
          }),
      })
      .refine(({ quarter, reject }) => reject.every((month) => quarterOf(month) === quarter), {
        message: "must be months of the quarter",
        path: ["reject"],
      })
      .meta({ id: "SettleSandboxQuarter" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        quarter: z.string().meta({ description: "The quarter" }),
        booking_id: z.guid().meta({ description: "The booking" }),
        accounts: z.int().meta({ description: "How many accounts have a settled month" }),
        kwh: z.number().meta({ description: "kWh accepted by the register" }),
        ere: z.number().meta({ description: "Credited, two decimals" }),
        gross_eur: z.number().meta({ description: "What was sold" }),
        net_eur: z.number().meta({ description: "The customers' part of the proceeds, after the fee" }),
        accounts_left: z.int().meta({
          description:
            "Accounts whose months can be settled but were not in this call, which settles at most 1000 accounts: " +
            "repeat until 0",
        }),
        payments_failed: z.array(z.guid()).meta({ description: "The accounts of `fail` whose payment came back now" }),
        left_out: LeftOutMonths,
      })
      .meta({ id: "SettledSandboxQuarter" }),
    errors: ["nothing_to_settle", "already_settled", "customer_not_found"],
    failure: "sandbox_step_failed",
  },
  ({ body, call }) => call("settle_sandbox", body),
);
