// What standardwebhooks depends on, at the versions of deno.json: #shared/foundation/driver.js says why.

import "@stablelib/base64";
import "fast-sha256";
