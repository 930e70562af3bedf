import { expect, test } from "vitest";
import { contrast, shadesOf } from "#shared/domain/brand.ts";
import { DARK, LIGHT, PALETTE } from "#shared/look/palette.ts";
import { STYLE as DOCS_STYLE } from "../../packages/docs/src/style.ts";
import { STYLE } from "../../supabase/functions/pages/kit/style.ts";

test.each([
  ["#7a1fa2", "#7a1fa2", "#b582cb", "#ffffff"],
  ["#FFD400", "#7f6a00", "#ffd400", "#000000"],
  ["#ffffff", "#6b6b6b", "#ffffff", "#000000"],
  ["#808080", "#6c6c6c", "#929292", "#000000"],
  ["#000000", "#000000", "#949494", "#ffffff"],
])(
  "contract §4 a partner's color %s is %s for links on light and %s on dark; letters on a button are %s",
  (color, light, dark, on) => {
    const shades = shadesOf(color);
    expect([shades?.light.accent, shades?.dark.accent, shades?.light.on_fill, shades?.dark.on_fill]).toEqual([
      light,
      dark,
      on,
      on,
    ]);
    expect([shades?.light.fill, shades?.dark.fill]).toEqual([color.toLowerCase(), color.toLowerCase()]);
  },
);

test.each([null, undefined, "", "red", "#12345", "#1234567", "#123456; } body { display: none"])(
  "contract §4 what is no color has no shades: %s",
  (color) => expect(shadesOf(color)).toBeNull(),
);

/** What color-mix(in srgb, color 8%, sheet) makes. */
function tintOf(color: string, sheet: string): string {
  const at = (hex: string, place: number) => Number.parseInt(hex.slice(place, place + 2), 16);
  const level = (place: number) => Math.round(at(color, place) * 0.08 + at(sheet, place) * 0.92);
  return `#${[1, 3, 5].map((place) => level(place).toString(16).padStart(2, "0")).join("")}`;
}

test("contract §4 every color can be read on the backgrounds of pages, and letters on its button", () => {
  const colorOf = (colors: string, name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(colors)?.[1] ?? "";
  const steps = ["00", "33", "66", "80", "99", "cc", "ff"];
  const all = steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)));
  const unreadable = all.flatMap((color) => {
    const shades = shadesOf(color);
    if (!shades) return [color];
    return (
      [
        [shades.light, LIGHT],
        [shades.dark, DARK],
      ] as const
    ).flatMap(([{ accent, fill, on_fill }, colors]) => {
      const sheet = colorOf(colors, "sheet");
      const pairs = [
        ...["ground", "sheet", "tint", "on-accent"].map((name) => [accent, colorOf(colors, name)] as const),
        [accent, tintOf(accent, sheet)] as const,
        [colorOf(colors, "ink"), tintOf(accent, sheet)] as const,
        [fill, on_fill] as const,
      ];
      return pairs.filter(([one, other]) => contrast(one, other) < 4.5).map((pair) => `${color}: ${pair.join(" on ")}`);
    });
  });
  expect(unreadable).toEqual([]);
  expect(STYLE).toContain("background: var(--fill, var(--accent)); color: var(--on-fill, var(--on-accent))");
});

test.each([
  ["light", LIGHT],
  ["dark", DARK],
])("contract §6 on a %s ground every letter can be read, on each background, and each edge be seen", (_, colors) => {
  const colorOf = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(colors)?.[1] ?? "";
  const grounds = ["ground", "sheet", "tint", "wrong-tint", "wait-tint"];
  const pairs = (letters: string[], behind: string[], least: number) =>
    letters
      .flatMap((one) => behind.map((other) => [one, other] as const))
      .filter(([one, other]) => !(contrast(colorOf(one), colorOf(other)) >= least));
  expect([
    ...pairs(["ink", "quiet", "accent", "accent-strong", "wrong", "wait"], grounds, 4.5),
    ...pairs(["on-accent"], ["accent", "accent-strong"], 4.5),
    // what is no letter: WCAG 2.2, 1.4.11
    ...pairs(["edge", "focus"], ["ground", "sheet"], 3),
  ]).toEqual([]);
});

test("contract §6 the documentation's code can be read on a light ground and on a dark one", () => {
  const themes = [...DOCS_STYLE.matchAll(/:root \{ --code: (#\w{6});(.*) \}/g)];
  expect(themes).toHaveLength(2);
  for (const [, code = "", letters = ""] of themes)
    for (const [letter = ""] of letters.matchAll(/#\w{6}/g)) expect(contrast(letter, code)).toBeGreaterThanOrEqual(4.5);
});

test("contract §6 pages take no color but those", () => {
  const screen = STYLE.slice(0, STYLE.indexOf("@media print"));
  // behind a partner's logo, which is made for white
  const own = screen.replace(PALETTE, "").replace("background: #fff; color: #17211c", "");
  expect(own.match(/#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(/gi)).toBeNull();
});
