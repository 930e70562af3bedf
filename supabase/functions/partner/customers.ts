import * as z from "zod";
import { claimKey } from "#shared/domain/claim/links.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant } from "#shared/values/fields.ts";
import { AccountType, calendarDate, RegistrationStatus } from "#shared/values/models.ts";

/** What one statement builds: some 2 MB of JSON, so that neither side ever holds a hundred thousand customers at once. */
const STRETCH = 5_000;
const LIST = '"customers" : ';

const disclosed = {
  naam: z.string().nullable().optional(),
  email: z.string().nullable().optional(),
  phone: z.string().nullable().optional(),
  postal_code: z.string().nullable().optional(),
  street: z.string().nullable().optional(),
  house_number: z.string().nullable().optional().meta({ description: "With its addition" }),
  registration_status: RegistrationStatus.nullable().optional(),
};

const AttributedCustomer = z
  .object({
    customer_ref: z.string().meta({ description: "Opaque and stable; another one for every partner" }),
    external_ref: z.string().nullable().meta({ description: "Of the draft; null for applications" }),
    ...disclosed,
    city: z.string().nullable(),
    attached_month: calendarDate().meta({ description: "The first of the month" }),
    is_active: z.boolean().meta({ description: "Whether a mandate is signed for an active connection" }),
    effective_fee_pct: z.number(),
    partner_share_pct: z.number(),
    source: z.enum(["partner_upload", "partner_invite", "referral_link", "referral_code", "oauth_consent", "manual"]),
    type: AccountType,
    charger_brand: z
      .string()
      .nullable()
      .meta({ description: "Of the newest active charger, as the fields that follow" }),
    charger_model: z.string().nullable(),
    charger_connection_type: z.string().nullable(),
    charger_mid_eligible: z.boolean().nullable(),
    charger_count: z.int(),
    has_charger: z.boolean(),
    brand_asked_at: instant().nullable(),
  })
  .meta({
    id: "AttributedCustomer",
    description:
      "naam, email, phone, postal_code, street, house_number and registration_status are there only for the sources partner_upload and partner_invite, and never for an application",
  });

export const listCustomers = endpoint(
  {
    id: "listCustomers",
    method: "GET",
    path: "/partner/customers",
    summary: "List every customer attributed to the partner, newest profile first",
    description:
      "Unpaginated. Who a customer is is disclosed only where the partner uploaded or invited them itself. A profile is as new as its " +
      "attribution to the partner. A list that breaks off is no JSON: repeat it.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["list_customers"],
    response: z.object({ customers: z.array(AttributedCustomer) }).meta({ id: "Customers" }),
    errors: [],
    failure: "customers_failed",
  },
  async ({ call, environment }) => {
    const key = claimKey(environment);
    const fetchAfter = async (after: object | null) =>
      read(await call("list_customers", { size: STRETCH, after, key }));
    const first = await fetchAfter(null);
    if (first.more_after === null) return `{"customers":[${first.rows}]}`;

    const encoder = new TextEncoder();
    let after: object | null = first.more_after;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(encoder.encode(`{"customers":[${first.rows}`)),
      async pull(controller) {
        if (after === null) {
          controller.enqueue(encoder.encode("]}"));
          return controller.close();
        }
        const stretch = await fetchAfter(after);
        after = stretch.more_after;
        controller.enqueue(encoder.encode(`,${stretch.rows}`));
      },
    });
    return new Response(body, { headers: { "Content-Type": "application/json" } });
  },
);

/** SQL's `{"more_after" : …, "customers" : […]}`, the customers left as the text they are. */
function read(text: string): { more_after: object | null; rows: string } {
  const at = text.indexOf(LIST);
  const { more_after } = JSON.parse(`${text.slice(0, at).trimEnd().slice(0, -1)}}`);
  const list = text.slice(at + LIST.length, -1).trim();
  return { more_after, rows: list.slice(1, -1) };
}
