// In bundles it stands for brotli/decompress.js, whose dictionary is 486,000 bytes: Node and Deno have Brotli themselves.

import { brotliDecompressSync } from "node:zlib";

// copied, because Deno 2.1.4 reads the whole buffer below a view
export default (packed: Uint8Array): Uint8Array => brotliDecompressSync(new Uint8Array(packed));
