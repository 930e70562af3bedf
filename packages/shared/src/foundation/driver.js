// @ts-self-types="./driver.d.ts"
// No lock file goes up with a function, so the platform chooses the versions of what pg itself depends on. It keeps to those that the
// same file imports before pg: these, as deno.json maps them. pg loads them in any case. JavaScript, because some have no types.

import "pg-cloudflare";
import "pg-connection-string";
import "pg-pool";
import "pg-protocol";
import "postgres-array";
import "postgres-bytea";
import "postgres-date";
import "postgres-interval";
import "split2";
import "xtend";

export { default } from "pg";
