import { claimKey } from "#shared/domain/claim/links.ts";
import { AttributedCustomer } from "#shared/endpoints/responses/customer.ts";
import type { Json } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

/** Customers per statement, about 2.5 MB of JSON: no side holds a hundred thousand at once, and a slow database keeps its limit of 8 s. */
const STRETCH = 5_000;
/** Stretches that are built, or wait to be sent, at the same time. */
const AT_ONCE = 2;
const LIST = '"customers" : ';

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
    if (borders.length === 0) return `{"customers":[${rows}]}` as Json<unknown>;

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
