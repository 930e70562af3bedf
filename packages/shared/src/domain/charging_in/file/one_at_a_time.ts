import { ApiError } from "#shared/foundation/errors.ts";

/** By client, the upload that this process reads or stores now, and how many requests do so. */
const running = new Map<string, { upload_id: string; requests: number }>();

/**
 * Reads and stores a file of a client. The same upload, confirmed twice at once, waits for its turn in the database.
 * @throws {ApiError} if another file of the client is running: reading it too would stop everybody else. SQL says the
 * same of a file in another process (private.store_upload).
 */
export async function oneAtATime<T>(client: string, upload_id: string, run: () => Promise<T>): Promise<T> {
  const turn = running.get(client) ?? { upload_id, requests: 0 };
  if (turn.upload_id !== upload_id)
    throw new ApiError("too_many_requests", {
      reason: "upload_running",
      detail: "Another file of yours is being stored. Wait retry_after_seconds, then send this one again.",
      retry_after_seconds: 5,
    });
  turn.requests += 1;
  running.set(client, turn);
  try {
    return await run();
  } finally {
    turn.requests -= 1;
    if (turn.requests === 0) running.delete(client);
  }
}
