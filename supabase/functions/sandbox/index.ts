import { serve } from "../../../packages/shared/src/surface.ts";
import { surface } from "./app.ts";

Deno.serve(serve(surface).fetch);
