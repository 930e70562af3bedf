// Customers that a partner brings, five hundred in a request.

import type { Bench } from "./kit/bench.ts";
import { rateAgainst } from "./kit/findings.ts";
import { openConnection, wire } from "./kit/load.ts";
import { repeated, takeTurns } from "./kit/measure.ts";
import { addDrafts, addPartner } from "./kit/people.ts";
import { draftRow } from "./kit/routes.ts";
import { bearer, liftLimits } from "./kit/seed.ts";
import { withStack } from "./kit/stack.ts";

const ROWS = 500;

/** A table like that of the drafts, indexes and all, without keys, triggers and row-level security. */
const TABLE = "create table bench.drafts (like core.drafts including all)";

const INSERT = `
  insert into bench.drafts (partner_id, batch_id, source, type, name, email, postal_code, house_number, city, ean_status, send_invite, expires_at)
  select $1, gen_random_uuid(), 'csv', 'particulier', r.naam, r.email, r.postcode, r.huisnummer::int, r.plaats, 'pending', false, now() + interval '60 days'
    from jsonb_to_recordset($2::jsonb) as r (naam text, email text, postcode text, huisnummer text, plaats text)`;

const rows = () => Array.from({ length: ROWS }, draftRow);

export const imports: Bench = {
  about:
    "POST /partner/drafts/import of 500 rows, without and with invitations, beside one bare insert of the same rows",
  defaults: { accounts: 10_000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      const partner = await addPartner(stack.admin, "bench");
      const others = await addPartner(stack.admin, "bench-others");
      await addDrafts(stack.admin, others.id, options.accounts);
      await stack.admin.query(TABLE);
      await stack.admin.query("insert into bench.drafts select * from core.drafts");
      await stack.admin.query("vacuum (analyze)");
      await liftLimits(stack.admin);
      const ours = await stack.serve("partner");
      const connection = await openConnection(ours.url);
      const importing = (send_invite: boolean) =>
        repeated(
          stack,
          ours,
          async () => {
            const request = { consent: true, send_invite, rows: rows() };
            const path = "/partner/drafts/import";
            const { status, body } = await connection.send(
              wire({ method: "POST", path, headers: bearer(partner.key), body: request }),
            );
            const added = status === 200 ? (JSON.parse(body.toString()) as { added: number }).added : 0;
            if (added !== ROWS) throw new Error(`${path} answered ${status}: ${body.toString().slice(0, 500)}`);
          },
          // or the third would be over the cap of thirty days
          () => stack.admin.query("delete from core.draft_uploads"),
        );
      const inserting = repeated(stack, null, async () => {
        const { rowCount } = await stack.admin.query(INSERT, [partner.id, JSON.stringify(rows())]);
        if (rowCount !== ROWS) throw new Error(`the bare insert made ${rowCount} rows`);
      });
      const turns = await takeTurns({ without: importing(false), invited: importing(true), bare: inserting }, options);
      connection.close();
      const floor = { what: "one bare multi-row insert of the same rows", figures: turns.bare };
      const what = `POST /partner/drafts/import, ${ROWS} rows`;
      return [
        rateAgainst(`${what}, no invitations`, "rows/s", turns.without, floor, { at_least: 0.3 }, ROWS),
        rateAgainst(`${what}, invitations written`, "rows/s", turns.invited, floor, { at_least: 0.15 }, ROWS),
      ];
    }),
};
