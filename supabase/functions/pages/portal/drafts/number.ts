/** What the log of changes calls a draft, also once it is withdrawn and its data is gone. */
export const numberOf = (draft_id: string): string => draft_id.slice(0, 8);
