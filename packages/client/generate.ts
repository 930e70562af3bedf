// npm run generate: writes src/schema.ts, the types of openapi.json, in which a file to send may be text, bytes or a Blob.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import openapiTypescript, { astToString } from "openapi-typescript";
import { factory } from "typescript";

const FILE = ["string", "Uint8Array", "Blob"];

const at = (path: string) => new URL(path, import.meta.url);
const types = await openapiTypescript(JSON.parse(readFileSync(at("../../openapi.json"), "utf8")), {
  transform({ format }, { path = "" }) {
    if (format !== "binary" || path.includes("/responses")) return undefined;
    // a form says the length of each field, so only a whole body may be a stream
    const names = path.includes("/requestBody") ? [...FILE, "ReadableStream<Uint8Array>"] : FILE;
    return factory.createUnionTypeNode(names.map((name) => factory.createTypeReferenceNode(name)));
  },
});
// at once: others may be compiling it
writeFileSync(at("src/.schema.ts"), astToString(types));
renameSync(at("src/.schema.ts"), at("src/schema.ts"));
