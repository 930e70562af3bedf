// Runs one edge function as the platform does: a process of its own, its bundle, a port it is told. Started by kit/serve.ts,
// which holds the other end of standard input: when that is gone, so is this.

const [entry = ""] = Deno.args;
const { serve } = Deno;

Deno.serve = ((handler: Deno.ServeHandler) =>
  serve(
    { hostname: "127.0.0.1", port: Number(Deno.env.get("PORT")), onListen: () => console.error("listening") },
    handler,
  )) as typeof Deno.serve;

/** The most that JavaScript's memory has been, buffers included, since somebody asked last: what an isolate is held to. */
let peak = 0;
function look(): void {
  const { heapUsed, external } = Deno.memoryUsage();
  peak = Math.max(peak, heapUsed + external);
}
if (Deno.env.has("WATCH_MEMORY")) setInterval(look, 5);

await import(entry);

// each line of standard input asks for that
for await (const _ of Deno.stdin.readable) {
  look();
  console.error(`peak ${peak}`);
  peak = 0;
}
Deno.exit(0);
