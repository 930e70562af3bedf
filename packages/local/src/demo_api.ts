// The Partner API as the demo's partner calls it.

import type { Stack } from "./stack.ts";

type Ask = <Answer>(path: string, body?: object) => Promise<Answer>;

/** Asks with the partner's key: GET, or POST where there is a body. @throws what was answered where that is no success. */
export function partnerApi({ base_url, demo }: Pick<Stack, "base_url" | "demo">): Ask {
  return async <Answer>(path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(base_url + path, {
      method: body ? "POST" : "GET",
      headers: { Authorization: `Bearer ${demo.partner.api_key}`, "Content-Type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as Answer;
  };
}
