import { execFileSync } from "node:child_process";
import { addCustomers, addPartner } from "./kit/people.ts";
import { withStack } from "./kit/stack.ts";
await withStack(async (stack) => {
  const partner = await addPartner(stack.admin, "bench");
  await addCustomers(stack.admin, partner.id, 100_000, 1);
  const old = execFileSync("git", ["show", "main:supabase/schemas/pages/partner/customers.sql"], { encoding: "utf8" });
  const start = old.indexOf("create function private.customer_page");
  const text = old.slice(start, old.indexOf("end $$;", start) + 7).replace("private.customer_page(", "private.customer_page_old(");
  await stack.admin.query(text);
  await stack.admin.query("analyze");
  const time = async (name: string) => {
    const begun = performance.now();
    const { rows } = await stack.admin.query(
      `select length(private.${name}(p, true, jsonb_build_object('key', $2::text))::text) as n from core.partners p where p.id = $1`, [partner.id, "k".repeat(64)]);
    return [Math.round(performance.now() - begun), rows[0].n];
  };
  for (let i = 0; i < 6; i++) console.log("old", await time("customer_page_old"), "new", await time("customer_page"));
});
