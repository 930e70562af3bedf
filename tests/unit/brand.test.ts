import { expect, test } from "vitest";
import { accentsOf } from "#shared/domain/brand.ts";
import { STYLE } from "../../supabase/functions/pages/kit/style.ts";

test.each([
  ["#7a1fa2", "#7a1fa2", null],
  ["#FFD400", null, "#ffd400"],
  ["#ffffff", null, "#ffffff"],
  ["#808080", null, null],
  ["#000000", "#000000", null],
  // the last grey that can be read on light, and the first on dark; between them there is none
  ["#6d6d6d", "#6d6d6d", null],
  ["#6e6e6e", null, null],
  ["#919191", null, null],
  ["#929292", null, "#929292"],
  [null, null, null],
])("contract §4 a partner's colour %s is used where it can be read: %s on light, %s on dark", (color, light, dark) => {
  expect(accentsOf(color)).toEqual({ light, dark });
});

test("contract §4 a partner's colour is judged on the grounds of the pages and by what is written on it", () => {
  const [light = "", dark = ""] = STYLE.split("@media (prefers-color-scheme: dark)");
  expect(light).toContain("--tint: #e6f2ec");
  expect(dark).toContain("--tint: #1c2f27");
  expect(dark).toContain("--on-accent: #06281c");
});
