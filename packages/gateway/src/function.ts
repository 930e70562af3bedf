/** Calls the edge function `gateway`, which knows what messages mean. */

import { randomUUID } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import type { CallAnswer } from "./frames.ts";
import type { Protocol } from "./handshake.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { Settings } from "./settings.ts";

export type Message = {
  action: string;
  payload: unknown;
  received_at: string;
  /** Whether it tells what happens now; false for what the charger may have queued. */
  live: boolean;
  sent_sha256: string;
};
export type Told = { charger_id: string; generation: number; protocol: Protocol; mirror: boolean; messages: Message[] };
export type Admitted = { ok: true; charger_id: string; generation: number; identified: boolean } | { ok: false };
export type Connected = { charger_id: string; generation: number };

/** The function did not answer in time, or not with success. The message must stay with the charger. */
class Unavailable extends Error {}
/** The charger was removed, or its password renewed. */
export class Superseded extends Error {}

/** A busy database is given a moment. */
const PAUSES_MS = [500, 1_000];
/** Three tries, the pauses between them, and the wait for a connection of ours: a charger waits 30 s. */
const MOST_MS = 20_000;
const MOST_ANSWER = 1024 * 1024;

export class EdgeFunction {
  readonly #settings: Pick<Settings, "functionUrl" | "secret" | "callMs">;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #agent: http.Agent;
  readonly #transport: typeof http | typeof https;
  /** Whether the last call was refused for its secret. */
  isRefused = false;

  constructor(settings: Pick<Settings, "functionUrl" | "secret" | "callMs">, metrics: Metrics, log: Log) {
    this.#settings = settings;
    this.#metrics = metrics;
    this.#log = log;
    this.#transport = settings.functionUrl.startsWith("https:") ? https : http;
    this.#agent = new this.#transport.Agent({ keepAlive: true, maxSockets: 32 });
  }

  /** Without an identity the password is the secret of a mirror's address. */
  admit(credentials: { identity: string | null; password: string }): Promise<Admitted> {
    return this.#ask("chargers:admit", credentials);
  }

  async tell(told: Told): Promise<CallAnswer[]> {
    return (await this.#ask<{ answers: CallAnswer[] }>("messages", told)).answers;
  }

  /** Those of them that may stay no longer: removed, given a new password, or silent and not the newest. */
  async seen(chargers: (Connected & { silent: boolean })[]): Promise<Connected[]> {
    return (await this.#ask<{ gone: Connected[] }>("seen", { chargers })).gone;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #ask<T>(route: string, body: object): Promise<T> {
    const end = AbortSignal.timeout(MOST_MS);
    for (let tried = 0; ; tried += 1) {
      const { status, text } = await this.#send(route, JSON.stringify(body), end);
      this.#metrics.add("ocpp_gateway_requests_total", { route, status: String(status) });
      this.isRefused = status === 401 || status === 403;
      if (status === 200) {
        try {
          return JSON.parse(text);
        } catch {
          // a cut-off answer does not count
        }
      }
      if (status === 409) throw new Superseded();
      const pause = PAUSES_MS[tried];
      if (pause === undefined || end.aborted) {
        this.#log("function_unavailable", { route, status, answer: text.slice(0, 300) });
        throw new Unavailable();
      }
      await sleep(pause * (0.5 + Math.random()));
    }
  }

  /** Status 0 stands for no answer. */
  #send(route: string, body: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
    const { functionUrl, secret, callMs } = this.#settings;
    const headers = {
      Authorization: `Bearer ${secret}`,
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
      "X-Request-ID": randomUUID(),
    };
    return new Promise((resolve) => {
      const none = () => resolve({ status: 0, text: "" });
      const request = this.#transport.request(
        `${functionUrl}/${route}`,
        { method: "POST", agent: this.#agent, headers, signal },
        (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (part: string) => {
            text += part;
            if (text.length > MOST_ANSWER) response.destroy();
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
          response.on("close", none);
          response.on("error", none);
        },
      );
      request.on("error", none);
      // counted from when it has a connection: of 5,000 chargers at once, most wait for one
      request.setTimeout(callMs, () => request.destroy());
      request.end(body);
    });
  }
}
