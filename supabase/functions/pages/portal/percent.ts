import { inNumbers } from "../kit/signed_in_views.ts";
import type { PortalFrame } from "./request.ts";

/** A percentage as the reader writes it, with no more decimals than it has. */
export const percent = (frame: PortalFrame, value: number): string =>
  `${inNumbers(frame, value, Number.isInteger(value) ? 0 : 2)}%`;
