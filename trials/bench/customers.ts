// What a large partner asks: every customer in one list, which is the largest answer there is, and the first page of its portal.

import { gzipSync } from "node:zlib";
import { type Bench, progress } from "./kit/bench.ts";
import { against, alone, durationAgainst } from "./kit/findings.ts";
import { openConnection, wire } from "./kit/load.ts";
import { answerOf, median, requests, takeTurns } from "./kit/measure.ts";
import { addCustomers, addManager, addPartner, type Partner } from "./kit/people.ts";
import { processorTime } from "./kit/processor.ts";
import { bearer, liftLimits, seed } from "./kit/seed.ts";
import { withStack } from "./kit/stack.ts";

/** Customers of the partner whose portal is held against: the page counts them when it is read. */
const FEW = 100;

/** The same columns of the same rows, without a rule about who may see them. */
const BARE = `
  select json_agg(c)::text as answer from (
    select a.user_id as customer_ref, a.external_ref, s.full_name as naam, s.email, s.phone, l.postal_code, l.street, l.house_number, l.city,
           c.registration_status, a.attached_month, m.status = 'signed' as is_active, 20 as effective_fee_pct, 25 as partner_share_pct, a.source, b.type,
           h.brand as charger_brand, h.nickname as charger_model, h.connection_type as charger_connection_type,
           h.mid_eligible as charger_mid_eligible, 1 as charger_count, true as has_charger, null as brand_asked_at
      from core.attributions a
      join core.accounts b on b.user_id = a.user_id
      join core.signatories s on s.account_id = b.id
      join core.connections c on c.account_id = b.id
      join core.mandates m on m.connection_id = c.id
      join core.locations l on l.id = c.location_id
      join core.chargers h on h.user_id = a.user_id
     where a.partner_id = $1 order by a.created_at desc, a.user_id desc) c`;

export const customers: Bench = {
  about:
    "GET /partner/customers of a large partner beside one bare json_agg; processor and memory; its portal beside a small one",
  defaults: { accounts: 100_000, rounds: 7, seconds: 1 },
  run: ({ accounts, rounds, seconds }) =>
    withStack(async (stack) => {
      const partner = await addPartner(stack.admin, "bench");
      await addCustomers(stack.admin, partner.id, accounts, 12);
      const small = await addPartner(stack.admin, "small");
      await addCustomers(stack.admin, small.id, FEW, 12);
      const cpo = await seed(stack.admin, 1, accounts, { booked: false });
      const software = { id: String(cpo.clients[0]?.partner_id) };
      await liftLimits(stack.admin);
      // above 1,000 customers the first reader counts, and later ones take what it stored
      for (const { id } of [partner, software])
        await stack.admin.query("select private.partner_figures(p) from core.partners p where p.id = $1", [id]);
      progress(`${accounts} customers`);
      const ours = await stack.serve("partner", { WATCH_MEMORY: "yes" });
      const connection = await openConnection(ours.url);
      const request = wire({ path: "/partner/customers", headers: bearer(partner.key) });

      const ask = async () => {
        await ours.peakMemory();
        const processor = processorTime(ours.pid);
        const begun = performance.now();
        const { status, body } = await connection.send(request);
        const ms = performance.now() - begun;
        if (status !== 200) throw new Error(`/partner/customers answered ${status}: ${body}`);
        const after = processorTime(ours.pid);
        const processor_ms = processor === null || after === null ? null : after - processor;
        return { ms, processor_ms, memory: await ours.peakMemory(), body };
      };
      const bare = async () => {
        const begun = performance.now();
        const text = await answerOf(stack.admin, BARE, [partner.id]);
        return { ms: performance.now() - begun, text };
      };
      const listed = (JSON.parse((await ask()).body.toString()) as { customers: unknown[] }).customers.length;
      const found = (JSON.parse((await bare()).text) as unknown[]).length;
      if (listed !== accounts || found !== accounts)
        throw new Error(`of ${accounts} customers ${listed} were listed, and ${found} by the bare statement`);

      const asked: Awaited<ReturnType<typeof ask>>[] = [];
      const bared: number[] = [];
      for (let round = 0; round < rounds; round++) {
        asked.push(await ask());
        bared.push((await bare()).ms);
      }
      connection.close();

      const pages = await stack.serve("pages");
      const firstPage = async ({ id }: Pick<Partner, "id">, path = "") => {
        const secret = await addManager(stack.admin, id);
        const request = wire({ path: `/pages/portal${path}?lang=nl`, headers: { cookie: `portal=${secret}` } });
        const reader = await openConnection(pages.url);
        const { status, body } = await reader.send(request);
        reader.close();
        if (status !== 200) throw new Error(`/pages/portal answered ${status}: ${body}`);
        // one at a time: what somebody waits who opens it
        return {
          bytes: gzipSync(body).length,
          turns: requests(stack, pages, { url: pages.url, next: () => request, concurrency: 1 }),
        };
      };
      const [large, beside, api] = [await firstPage(partner), await firstPage(small), await firstPage(software)];
      const [list, shortList] = [await firstPage(software, "/customers"), await firstPage(small, "/customers")];
      progress("portal");
      const turns = await takeTurns(
        { large: large.turns, small: beside.turns, api: api.turns, list: list.turns, short: shortList.turns },
        { rounds, seconds },
      );
      const floor = { what: `that of ${FEW}`, figures: turns.small };
      const one = median(asked, ({ ms }) => ms);
      const floorMs = median(bared, (ms) => ms);
      const what = `GET /partner/customers, ${accounts} customers`;
      const size_mib = one.body.length / 2 ** 20;
      const rate = { what: "one bare json_agg of the same columns", value: 1000 / floorMs };
      return [
        against(what, "lists/s", 1000 / one.ms, rate, { at_least: 0.5 }, { size_mib, ms: one.ms, bare_ms: floorMs }),
        alone(`${what}: processor time of the function`, "s", (one.processor_ms ?? Number.NaN) / 1000, { at_most: 2 }),
        alone(`${what}: its memory at its highest`, "MiB", median(asked, ({ memory }) => memory).memory / 2 ** 20, {
          at_most: 128,
        }),
        durationAgainst(`/pages/portal of ${accounts} customers`, turns.large, floor, "p50_ms", { at_most: 1.5 }),
        durationAgainst(`/pages/portal of ${accounts} accounts of a client`, turns.api, floor, "p50_ms", {
          at_most: 1.5,
        }),
        durationAgainst(
          `/pages/portal/customers of ${accounts} accounts of a client`,
          turns.list,
          { what: `that of ${FEW} customers`, figures: turns.short },
          "p50_ms",
          { at_most: 1.5 },
        ),
        against(
          "its weight",
          "bytes with gzip",
          large.bytes,
          { what: `that of ${FEW}`, value: beside.bytes },
          { at_most: 1.15 },
        ),
      ];
    }),
};
