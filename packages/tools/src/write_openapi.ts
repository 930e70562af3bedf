// Writes openapi.json from the endpoints' declarations: `npm run openapi`. A test fails when the committed file is out of date.
import { readFileSync, writeFileSync } from "node:fs";

import { surface as cpo } from "../../../supabase/functions/cpo-v1/app.ts";
import { surface as oauthAuthorize } from "../../../supabase/functions/oauth-authorize/app.ts";
import { surface as oauthRevoke } from "../../../supabase/functions/oauth-revoke/app.ts";
import { surface as oauthToken } from "../../../supabase/functions/oauth-token/app.ts";
import { surface as partner } from "../../../supabase/functions/partner/app.ts";
import { surface as personal } from "../../../supabase/functions/personal/app.ts";
import { surface as sandbox } from "../../../supabase/functions/sandbox/app.ts";
import { describe, type Examples } from "./openapi.ts";
import { describeWebhooks } from "./webhooks.ts";

const root = new URL("../../../", import.meta.url);

export async function openapi(): Promise<string> {
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const surfaces = [oauthToken, oauthAuthorize, oauthRevoke, cpo, partner, sandbox, personal];
  const examples: Examples = JSON.parse(readFileSync(new URL("tests/contract/examples.json", root), "utf8"));
  const webhooks = describeWebhooks();
  const document = await describe(surfaces, { version, server: "https://api.example.com", examples, webhooks });
  return `${JSON.stringify(document, null, 2)}\n`;
}

if (import.meta.main) writeFileSync(new URL("openapi.json", root), await openapi());
