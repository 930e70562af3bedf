import type { Html } from "../frame.ts";
import { html } from "../html.ts";

/** Something to copy to another place, in a box; the script adds the button at its right edge. */
export const secretBox = (text: string | null): Html =>
  html`<span class="secret"><code data-copy>${text}</code></span>`;
