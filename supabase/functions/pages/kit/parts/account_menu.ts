import type { Html } from "../frame.ts";
import { html } from "../html.ts";
import { icon } from "./icons.ts";

/** Who is signed in, in the header; folded are the sentence about it and the way out. */
export const accountMenu = (name: string, said: string, wayOut: Html): Html =>
  html`<details class="signed-in"><summary>${icon("person")}<span>${name}</span></summary><div><p>${said}</p>${wayOut}</div></details>`;
