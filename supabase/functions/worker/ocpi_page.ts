// What reads a page of CDRs. Loaded when there is one to read.

export { Platform, PlatformFault } from "#shared/domain/charging_in/ocpi/platform.ts";
export { readSent } from "#shared/domain/charging_in/ocpi/sent.ts";
export { isDeeper } from "#shared/values/json.ts";
