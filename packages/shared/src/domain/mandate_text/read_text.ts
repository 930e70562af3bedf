import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";

type MandateSection = {
  heading: string;
  details: [label: string, value: string][];
  points: string[];
  rest: string[];
};

/** The text of composeDocument() by its parts: every word of it, and no other. Its language is the one somebody signed in. */
export function readMandateText(text: string): { locale: Locale; title: string; sections: MandateSection[] } {
  const [title = "", ...sections] = text.split("\n\n");
  return {
    locale: title === en.document.title ? "en" : "nl",
    title,
    sections: sections.map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      const starting = (begin: string) => lines.filter((line) => line.startsWith(begin));
      return {
        heading,
        details: starting("  ").map((line) => {
          const colon = line.indexOf(": ");
          return [line.slice(2, colon), line.slice(colon + 2)];
        }),
        points: starting("- ").map((line) => line.slice(2)),
        rest: lines.filter((line) => !line.startsWith("  ") && !line.startsWith("- ")),
      };
    }),
  };
}
