// Starts the gateway from its environment, and ends it in order on SIGTERM.

import { startGateway } from "./gateway.ts";
import { readSettings, SettingsError } from "./settings.ts";

try {
  const gateway = await startGateway(readSettings(process.env));
  let isStopping = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      // a second signal does not wait
      if (isStopping) process.exit(1);
      isStopping = true;
      gateway.stop().then(() => process.exit(0));
    });
  }
} catch (error) {
  process.stderr.write(`${error instanceof SettingsError ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
