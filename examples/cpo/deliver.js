// Every night: accounts, chargers and months of all customers. Each request may be sent twice, so after a failure you run it again.

import { readFileSync } from "node:fs";
import { ApiError, orThrow } from "@ere-api/client";
import { client } from "./client.js";

/**
 * A customer as your own system knows it.
 * @typedef {{ period: string, total_kwh: number, session_count: number }} Month
 * @typedef {{ vendor: string, model: string, serial_number: string }} Charger
 * @typedef {{ ref: string, name: string, email: string, iban: string, ean: string, postal_code: string,
 *   house_number: string, charger: Charger, months: Month[] }} Customer
 */

/**
 * @param {Customer} customer
 * @returns {Promise<string[]>} what was refused, and why. A locked month is in a booking already, and stays as it is.
 */
async function deliver(customer) {
  const { ref, charger, months } = customer;
  const { account_id, idempotent } = orThrow(
    await client.POST("/v1/accounts", {
      body: {
        cpo_external_ref: ref,
        iban: customer.iban,
        person: { full_name: customer.name, email: customer.email },
        connection: {
          ean_code: customer.ean,
          postal_code: customer.postal_code,
          house_number: customer.house_number,
        },
      },
    }),
  );
  // the account was there: the API ignores what is sent about the person and the connection
  if (idempotent) {
    const { accounts } = orThrow(await client.GET("/v1/accounts", { params: { query: { cpo_external_ref: ref } } }));
    const connections = accounts.flatMap((account) => account.connections);
    if (!connections.some(({ ean_code, status }) => ean_code === customer.ean && status === "active"))
      return ["nothing delivered: the account with this reference has another EAN"];
  }
  const { vendor, model, serial_number } = charger;
  orThrow(
    await client.POST("/v1/chargers", { body: { account_id, ocpp_vendor: vendor, ocpp_model: model, serial_number } }),
  );
  const { results } = orThrow(await client.POST("/v1/sessions:batch", { body: { account_id, months } }));
  return results.filter(({ status }) => status === "invalid").map(({ period, reason }) => `${period} ${reason}`);
}

/** @type {Customer[]} */
const customers = JSON.parse(readFileSync(process.argv[2] ?? "customers.json", "utf8"));
for (const customer of customers) {
  try {
    const refused = await deliver(customer);
    console.log(customer.ref, refused.length === 0 ? "delivered" : refused.join(", "));
    if (refused.length > 0) process.exitCode = 1;
  } catch (error) {
    // what is wrong with one customer stops no other; without a connection there is nothing to go on with
    if (!(error instanceof ApiError)) throw error;
    console.error(customer.ref, error.message);
    process.exitCode = 1;
  }
}
