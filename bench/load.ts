// A bounded load from this process, keep-alive connections, and the figures of it.

import http from "node:http";

export type Target = { url: string; method?: "GET" | "POST"; headers?: Record<string, string>; body?: () => string };
type Figures = { per_second: number; requests: number; p50_ms: number; p99_ms: number };

/** Runs `requests` requests, `concurrency` at a time. @throws when one does not answer 200: a figure over errors is none. */
export async function load(target: Target, requests: number, concurrency: number): Promise<Figures> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency });
  const took: number[] = [];
  let sent = 0;
  const started = performance.now();
  const worker = async () => {
    while (sent < requests) {
      sent += 1;
      const begun = performance.now();
      await once(target, agent);
      took.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  took.sort((a, b) => a - b);
  const at = (share: number) => Math.round((took[Math.floor((took.length - 1) * share)] ?? 0) * 10) / 10;
  return { per_second: Math.round(took.length / seconds), requests: took.length, p50_ms: at(0.5), p99_ms: at(0.99) };
}

function once({ url, method = "GET", headers = {}, body }: Target, agent: http.Agent): Promise<void> {
  const payload = body?.();
  return new Promise((resolve, reject) => {
    const request = http.request(
      url,
      { agent, method, headers: { ...headers, ...(payload ? { "content-type": "application/json" } : {}) } },
      (response) => {
        let text = "";
        response.on("data", (chunk) => {
          if (response.statusCode !== 200) text += chunk;
        });
        response.on("end", () =>
          response.statusCode === 200
            ? resolve()
            : reject(new Error(`${url} answered ${response.statusCode}: ${text}`)),
        );
      },
    );
    request.on("error", reject);
    request.end(payload);
  });
}

/** Both targets in turn, several rounds, so that a drift of the machine hits both; the ratio is of the medians. */
export async function compare(ours: Target, floor: Target, requests: number, concurrency: number, rounds = 5) {
  await load(ours, Math.ceil(requests / 5), concurrency);
  await load(floor, Math.ceil(requests / 5), concurrency);
  const figures: { ours: Figures[]; floor: Figures[] } = { ours: [], floor: [] };
  for (let round = 0; round < rounds; round++) {
    figures.ours.push(await load(ours, requests, concurrency));
    figures.floor.push(await load(floor, requests, concurrency));
  }
  const median = (list: Figures[]) =>
    list.toSorted((a, b) => a.per_second - b.per_second)[Math.floor(list.length / 2)] as Figures;
  const [a, b] = [median(figures.ours), median(figures.floor)];
  return { ours: a, floor: b, ratio: Math.round((a.per_second / b.per_second) * 100) / 100 };
}
