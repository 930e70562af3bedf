import { claimKey } from "#shared/domain/claim/links.ts";
import { csvOfParts } from "../../kit/download.ts";
import { type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { customerPage } from "./customer.ts";
import { columnsOf, rowOf } from "./file.ts";
import { customersPage } from "./list.ts";
import { askedOf, type CustomerQuery, lookedFor } from "./query.ts";

/** Customers of a page, and of what a file is written in one go. */
const PAGE = 25;
const STRETCH = 1000;
const REFERENCE = /^(?:cus_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const queryOf = ({ environment }: PortalRequest, asked: CustomerQuery, after: string | null, limit: number) => ({
  for: lookedFor(asked),
  after,
  limit,
  key: claimKey(environment),
});

const showCustomers = signedIn(async (request) => {
  const asked = askedOf(request);
  const after = REFERENCE.exec(request.c.req.query("after") ?? "")?.[0] ?? null;
  const shown = request.c.req.query("shown") ?? "";
  const from = { after, shown: after && /^\d{1,7}$/.test(shown) ? Number(shown) : 0 };
  const found = await request.own("read_portal_customers", queryOf(request, asked, after, PAGE));
  return request.page(customersPage(request.frame, found, asked, from, request.environment.now()));
});

/** All of what is looked for. */
const downloadCustomers = signedIn(async (request) => {
  const asked = askedOf(request);
  const { frame, locale } = request;
  const read = (after: string | null) => request.list("read_portal_customers", queryOf(request, asked, after, STRETCH));
  return csvOfParts(
    request,
    WORDS[locale].customers.file,
    columnsOf(frame),
    await read(null),
    ({ customers }) => customers.map((each) => rowOf(frame, each)),
    ({ more_after }) => (more_after === null ? null : read(more_after)),
  );
});

const showCustomer = signedIn(async (request) => {
  const reading = request.own("read_portal_customer", {
    customer_ref: request.c.req.param("ref"),
    key: claimKey(request.environment),
  });
  const { answer, refused } = await request.attempt(reading, ["customer_not_found"]);
  return refused ? request.unknown() : request.page(customerPage(request.frame, answer));
});

export const handlers = { showCustomers, downloadCustomers, showCustomer };
