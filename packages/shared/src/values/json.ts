/** Levels of objects and arrays in charging data, of which each source has its own fields. */
export const MAX_LEVELS = 50;

/** Whether JSON is nested deeper than so many levels. */
export function isDeeper(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}
