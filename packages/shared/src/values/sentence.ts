/** Text as the end of a sentence: with a full stop, unless it has one, as a name such as "Zon B.V." does. */
export const ended = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
