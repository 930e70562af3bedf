import { expect, test } from "vitest";
import type { Stack } from "../../packages/local/src/stack.ts";
import { welcome } from "../../packages/local/src/welcome.ts";

const stack = (host: "sandbox" | "production") =>
  ({ host, auth: {}, demo: { user: {}, cpo: {}, partner: {}, oauth_app: {} } }) as unknown as Stack;

test.each([
  ["sandbox", false, "mail, which is captured  "],
  ["sandbox", true, "mail, which is captured  "],
  ["production", true, "mail, which is sent      "],
  ["production", false, "mail, which waits        "],
] as const)("contract §9 npm start of %s, with a mail server: %s, says what becomes of mail", (host, sends, said) => {
  const lines = welcome(stack(host), "/nowhere", "link", sends).split("\n");
  expect(lines.filter((line) => line.includes("mail, "))).toEqual([expect.stringContaining(`    ${said}`)]);
  expect(lines.some((line) => line.includes("no mail server is set by SMTP_URL"))).toBe(
    host === "production" && !sends,
  );
});
