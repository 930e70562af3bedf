import type { ApiClient } from "./api_client.ts";
import { at, orThrow } from "./error.ts";
import type { paths } from "./schema.ts";

/** What a GET answers, and what its query takes. */
type AnswerOf<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;
type QueryOf<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Query } } }
  ? NonNullable<Query>
  : never;

/** The lists that come in pages, by `limit` and `offset`. */
export type PagedPath = {
  [Path in keyof paths]: AnswerOf<Path> extends { offset: number; has_more: boolean } ? Path : never;
}[keyof paths];

/** What such a list is of. */
export type ItemOf<Path extends PagedPath> = {
  [Field in keyof AnswerOf<Path>]: AnswerOf<Path>[Field] extends (infer Item)[] ? Item : never;
}[keyof AnswerOf<Path>];

/**
 * Every item of a list, page by page: `for await (const account of paginate(client, "/v1/accounts", { limit: 200 }))`.
 * `query` is the query of the first page. A page is fetched when you need its first item. If items are added meanwhile,
 * one item may move to the next page and come twice.
 * @throws {ApiError | ConnectionError} if a page could not be read; to continue with that page, pass the error's
 * `offset` in `query`.
 */
export async function* paginate<Path extends PagedPath>(
  client: ApiClient,
  path: Path,
  query: QueryOf<Path> = {} as QueryOf<Path>,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<ItemOf<Path>, void, undefined> {
  // the paths differ in their queries and items alone, which is more than the client's type can follow
  const get = client.GET as unknown as (
    path: string,
    init: object,
  ) => Promise<{ data?: Record<string, unknown>; error?: unknown; response: Response }>;
  let offset = Number((query as { offset?: number }).offset ?? 0);
  for (;;) {
    const init = { params: { query: { ...query, offset } }, ...(signal ? { signal } : {}) };
    const page = await at({ offset }, get(path, init).then(orThrow));
    const items = Object.values(page).find(Array.isArray) ?? [];
    yield* items as ItemOf<Path>[];
    if (page.has_more !== true || items.length === 0) return;
    offset += items.length;
  }
}
