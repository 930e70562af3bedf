// What reads a page of CDRs. Loaded when there is one to read.

export { readCdr } from "#shared/domain/charging_in/ocpi/cdr.ts";
export { kindOf, Platform, PlatformFault } from "#shared/domain/charging_in/ocpi/platform.ts";
export { isDeeper } from "#shared/values/json.ts";
