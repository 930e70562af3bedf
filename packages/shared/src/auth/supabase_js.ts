// supabase-js with what it depends on at the version of deno.json; foundation/driver.js says why.

import "iceberg-js";

export { createClient } from "@supabase/supabase-js";
