import type { Html } from "../frame.ts";
import { html } from "../html.ts";

/** Something to copy to another place, in a box; the script adds the button at its right edge. `once` says that it is not shown again. */
export const secretBox = (text: string | null, once?: string): Html =>
  html`<span class="secret"><code data-copy>${text}</code></span>${once ? html`<small>${once}</small>` : ""}`;
