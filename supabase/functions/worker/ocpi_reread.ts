import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";

const SIZE = 100;

/** Reads CDRs again that could not be read: each once a day, since a later version of ours may read it. */
export async function rereadCdrs(
  environment: Environment,
  call: Call<"lease_unread_cdrs" | "take_reread_cdrs">,
  request_id: string,
): Promise<void> {
  const unread = JSON.parse(await call("lease_unread_cdrs", { size: SIZE }));
  if (unread.length === 0) return;
  const { readCdr } = await import("./ocpi_page.ts");
  const readable = unread.flatMap(({ words, ...each }) => {
    const cdr = readCdr(words);
    return cdr.kind === "unread" ? [] : [{ ...each, cdr }];
  });
  for (const owner_id of new Set(readable.map((each) => each.owner_id))) {
    const own = readable.filter((each) => each.owner_id === owner_id);
    const cdrs = own.map(({ cdr, sent_sha256 }, place) => ({ place, ...cdr, sent_sha256 }));
    try {
      await call("take_reread_cdrs", { partner_id: own[0]?.partner_id, owner_id, cdrs });
    } catch (error) {
      // they are due again tomorrow
      environment.log({
        level: "error",
        event: "ocpi_reread_failed",
        request_id,
        client_id: owner_id,
        ...describeCause(error),
      });
    }
  }
}
