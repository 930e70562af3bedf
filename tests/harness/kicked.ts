// A worker that runs whenever a request kicks it, as on a host.

import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/worker/app.ts";
import type { World } from "./world.ts";

export function runOnKick({ environment }: World): void {
  const worker = serve(surface, environment);
  const headers = { authorization: `Bearer ${environment.config.WORKER_SECRET}` };
  environment.kick = () =>
    environment.waitUntil(worker.fetch(new Request("http://api.test/worker/kick", { method: "POST", headers })));
}
