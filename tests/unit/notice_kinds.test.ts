import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { NOTICE_KINDS } from "#shared/domain/mail/notices.ts";

test("core.notices takes exactly the kinds of notices that have a mail", () => {
  const tables = readFileSync(`${ROOT}supabase/schemas/outbox/mail/tables.sql`, "utf8");
  const check = /constraint notices_kind_known check \(kind in \(([^)]*)\)/.exec(tables)?.[1] ?? "";
  expect([...check.matchAll(/'(\w+)'/g)].map(([, kind]) => kind)).toEqual(NOTICE_KINDS);
});
