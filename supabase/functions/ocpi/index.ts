import { serve } from "#shared/http/surface.ts";
import { surface } from "./app.ts";

Deno.serve(serve(surface).fetch);
