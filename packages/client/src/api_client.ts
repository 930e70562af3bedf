import type { Client } from "openapi-fetch";
import type { paths } from "./schema.ts";

/** `client.GET(path, …)`, `client.POST(path, …)`, `client.DELETE(path, …)`, each answering `{ data, error, response }`. */
export type ApiClient = Client<paths>;
