import { serve } from "#shared/http/serve.ts";
import { surface } from "./app.ts";

Deno.serve(serve(surface).fetch);
