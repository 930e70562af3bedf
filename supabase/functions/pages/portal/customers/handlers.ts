import { claimKey } from "#shared/domain/claim/links.ts";
import { csvOfParts } from "../../kit/download.ts";
import { type PortalVisit, signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import { customerPage } from "./customer.ts";
import { columnsOf, rowOf } from "./file.ts";
import { customersPage } from "./list.ts";
import type { Customers, OneCustomer } from "./model.ts";
import { askedOf, type CustomerQuery, lookedFor } from "./query.ts";

/** Customers of a page, and of what a file is written in one go. */
const PAGE = 50;
const STRETCH = 1000;
const REFERENCE = /^cus_[0-9a-f]{32}$/;

const queryOf = ({ environment }: PortalVisit, asked: CustomerQuery, after: string | null, limit: number) => ({
  for: lookedFor(asked),
  after,
  limit,
  key: claimKey(environment),
});

const showCustomers = signedIn(async (visit) => {
  const asked = askedOf(visit);
  const after = REFERENCE.exec(visit.c.req.query("after") ?? "")?.[0] ?? null;
  const shown = visit.c.req.query("shown") ?? "";
  const from = { after, shown: after && /^\d{1,7}$/.test(shown) ? Number(shown) : 0 };
  const found = await visit.own<Customers>("read_portal_customers", queryOf(visit, asked, after, PAGE));
  return visit.page(customersPage(visit.frame, found, asked, from, visit.environment.now()));
});

/** All of what is looked for. */
const downloadCustomers = signedIn(async (visit) => {
  const asked = askedOf(visit);
  const { frame, locale } = visit;
  const read = (after: string | null) =>
    visit.list<Customers>("read_portal_customers", queryOf(visit, asked, after, STRETCH));
  return csvOfParts(
    visit,
    WORDS[locale].customers.file,
    columnsOf(frame),
    await read(null),
    ({ customers }) => customers.map((each) => rowOf(frame, each)),
    ({ more_after }) => (more_after === null ? null : read(more_after)),
  );
});

const showCustomer = signedIn(async (visit) => {
  const reading = visit.own<OneCustomer>("read_portal_customer", {
    customer_ref: visit.c.req.param("ref"),
    key: claimKey(visit.environment),
  });
  const { answer, refused } = await visit.attempt(reading, ["customer_not_found"]);
  return refused ? visit.unknown() : visit.page(customerPage(visit.frame, answer));
});

export const customerPages = { showCustomers, downloadCustomers, showCustomer };
