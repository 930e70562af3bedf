// What pdfkit depends on, at the versions of deno.json: #shared/foundation/pinned.js says why. pdfkit loads them in any case.

import "@noble/ciphers/aes";
import "@noble/hashes/utils";
import "@swc/helpers/_/_define_property";
import "base64-js";
import "brotli/decompress.js";
import "clone";
import "dfa";
import "fast-deep-equal";
import "fflate";
import "fontkit";
import "linebreak";
import "pako";
import "png-js";
import "restructure";
import "tiny-inflate";
import "unicode-properties";
import "unicode-trie";
