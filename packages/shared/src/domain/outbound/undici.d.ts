import type { Agent, Dispatcher } from "undici";

export { Agent } from "undici";

/** Sends a request over the connections of `this`. `path` is of the origin, and has the query in it. */
export function request(
  this: Agent,
  options: Dispatcher.RequestOptions & { origin: string },
): Promise<Dispatcher.ResponseData>;
