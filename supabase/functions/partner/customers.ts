import { claimKey } from "#shared/domain/claim/links.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant } from "#shared/values/fields.ts";
import { AccountType, calendarDate, RegistrationStatus } from "#shared/values/models.ts";

/** Customers per statement, about 2.5 MB of JSON: no side holds a hundred thousand at once, and a slow database keeps its limit of 8 s. */
const STRETCH = 5_000;
/** Stretches that are built, or wait to be sent, at the same time. */
const AT_ONCE = 2;
const LIST = '"customers" : ';

const disclosed = {
  naam: z.string().nullable().optional().meta({ description: "Name; only of customers you brought yourself" }),
  email: z
    .string()
    .nullable()
    .optional()
    .meta({ description: "E-mail address; only of customers you brought yourself" }),
  phone: z
    .string()
    .nullable()
    .optional()
    .meta({ description: "Telephone number; only of customers you brought yourself" }),
  postal_code: z
    .string()
    .nullable()
    .optional()
    .meta({ description: "Postal code; only of customers you brought yourself" }),
  street: z.string().nullable().optional().meta({ description: "Street; only of customers you brought yourself" }),
  house_number: z.string().nullable().optional().meta({ description: "With its addition" }),
  registration_status: RegistrationStatus.nullable().optional().meta({ description: "Status of the registration" }),
};

const AttributedCustomer = z
  .object({
    customer_ref: z.string().meta({ description: "Opaque and stable; each partner sees a different one" }),
    external_ref: z.string().nullable().meta({ description: "Id of the draft; null for applications" }),
    ...disclosed,
    city: z.string().nullable().meta({ description: "Town of the connection" }),
    attached_month: calendarDate().meta({ description: "The first of the month" }),
    is_active: z.boolean().meta({ description: "Whether a mandate is signed for an active connection" }),
    effective_fee_pct: z.number().meta({ description: "Percent of the proceeds that is the service's fee" }),
    partner_share_pct: z.number().meta({ description: "Percent of that fee that is the partner's" }),
    source: z
      .enum(["partner_upload", "partner_invite", "referral_link", "referral_code", "oauth_consent", "manual"])
      .meta({ description: "How the customer came to the partner" }),
    type: AccountType,
    charger_brand: z
      .string()
      .nullable()
      .meta({ description: "Brand of the newest active charger; the next fields are about the same charger" }),
    charger_model: z.string().nullable().meta({ description: "Model of the newest active charger" }),
    charger_connection_type: z.string().nullable().meta({ description: "How that charger is connected" }),
    charger_mid_eligible: z.boolean().nullable().meta({ description: "Whether that charger's kWh may become ERE" }),
    charger_count: z.int().meta({ description: "Active chargers" }),
    has_charger: z.boolean().meta({ description: "Whether the customer has an active charger" }),
    brand_asked_at: instant()
      .nullable()
      .meta({ description: "When we asked the customer for the brand of the charger" }),
  })
  .meta({
    id: "AttributedCustomer",
    description:
      "naam, email, phone, postal_code, street, house_number and registration_status are present only for the " +
      "sources partner_upload and partner_invite, and never for an application",
  });

export const listCustomers = endpoint(
  {
    id: "listCustomers",
    summary: "List every customer attributed to the partner, newest profile first",
    description:
      "Unpaginated. You see a customer's personal data only if you uploaded or invited them yourself. The newest " +
      "profile is the one attributed last. If the response breaks off, it is not valid JSON: repeat the request.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["list_customers"],
    response: z
      .object({ customers: z.array(AttributedCustomer).meta({ description: "The customers" }) })
      .meta({ id: "Customers" }),
    errors: [],
    failure: "customers_failed",
  },
  async ({ list, environment }) => {
    const key = claimKey(environment);
    const fetchStretch = async (limits: object) => read(await list("list_customers", { ...limits, key }));
    const { borders, rows } = await fetchStretch({ size: STRETCH });
    if (borders.length === 0) return `{"customers":[${rows}]}`;

    const left = borders.map((after, index) => ({ after, until: borders[index + 1] ?? null }));
    const coming: Promise<{ rows: string }>[] = [];
    const goOn = () => {
      while (coming.length < AT_ONCE) {
        const next = left.shift();
        if (!next) return;
        const stretch = fetchStretch(next);
        // it may fail before pull awaits it, and an unhandled failure ends the process
        stretch.catch(() => {});
        coming.push(stretch);
      }
    };
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(encoder.encode(`{"customers":[${rows}`));
        goOn();
      },
      async pull(controller) {
        const stretch = coming.shift();
        goOn();
        if (stretch) return controller.enqueue(encoder.encode(`,${(await stretch).rows}`));
        controller.enqueue(encoder.encode("]}"));
        controller.close();
      },
      cancel: () => {
        left.length = 0;
      },
    });
    return new Response(body, { headers: { "Content-Type": "application/json" } });
  },
);

/** SQL's `{"borders" : […], "customers" : […]}`; the customers stay text. */
function read(text: string): { borders: object[]; rows: string } {
  const at = text.indexOf(LIST);
  const { borders } = JSON.parse(`${text.slice(0, at).trimEnd().slice(0, -1)}}`);
  const list = text.slice(at + LIST.length, -1).trim();
  return { borders, rows: list.slice(1, -1) };
}
