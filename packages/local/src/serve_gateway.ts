// The OCPP gateway of npm start, in a process of its own. The runner holds the other end of standard input: when it is gone, however it
// went, so is this.

import { startGateway } from "../../gateway/src/gateway.ts";
import { readSettings } from "../../gateway/src/settings.ts";

const gateway = await startGateway({ ...readSettings(process.env), drainMs: 0 });
for await (const _ of process.stdin); // until the runner lets go
await gateway.stop();
process.exit(0);
