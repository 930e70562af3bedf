/** Counters and gauges, as Prometheus reads them. */

export const HELP = {
  ocpp_connections: ["gauge", "Chargers that are connected to this process"],
  ocpp_waiting: ["gauge", "Chargers that wait to be admitted"],
  ocpp_messages_total: ["counter", "Calls of chargers, by action and what became of them"],
  ocpp_frames_lost_total: [
    "counter",
    "Frames that could not be told: full, late after 10 minutes, superseded, or restart",
  ],
  ocpp_closed_total: ["counter", "Connections that ended, by WebSocket code"],
  ocpp_admissions_total: ["counter", "Handshakes, by outcome"],
  ocpp_gateway_requests_total: ["counter", "Calls to the edge function, by route and status; 0 is no answer"],
  process_resident_memory_bytes: ["gauge", "Memory of this process"],
  process_cpu_seconds_total: ["counter", "Processor time of this process"],
} as const;
type Name = keyof typeof HELP;

export class Metrics {
  readonly #values = new Map<string, number>();

  add(name: Name, labels: Readonly<Record<string, string>> = {}, by = 1): void {
    const key = seriesOf(name, labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + by);
  }

  text(gauges: Partial<Record<Name, number>>): string {
    const series = [...this.#values, ...Object.entries(gauges)];
    return Object.entries(HELP)
      .flatMap(([name, [type, help]]) => {
        const own = series.filter(([key]) => key === name || key.startsWith(`${name}{`));
        return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...own.map(([key, value]) => `${key} ${value}`)];
      })
      .concat("")
      .join("\n");
  }
}

const seriesOf = (name: Name, labels: Readonly<Record<string, string>>) => {
  const written = Object.entries(labels).map(([label, value]) => `${label}="${value.replace(/[\\"\n]/g, "_")}"`);
  return written.length === 0 ? name : `${name}{${written.join(",")}}`;
};
