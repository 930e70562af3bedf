// The customer of the story: signs a mandate by walking through the page's forms as a browser would. The one-time code is in the
// mail, which the operator may read: captured on the sandbox, waiting for a mail server on production.

import { connected } from "./postgres.ts";

type Said = (what: { sent: string; fields: URLSearchParams; status: number; title: string }) => void;

/**
 * Signs the mandate behind a link.
 * @throws when the page does not say that it was signed.
 */
export async function signMandate(
  link: string,
  { name, email }: { name: string; email: string },
  operator_database_url: string,
  said: Said = () => {},
): Promise<void> {
  const page = await fetch(link).then((response) => response.text());
  const seen = /seen=([^"&]+)/.exec(page)?.[1] ?? "";
  const submit = async (step: string, filled: Record<string, string>) => {
    const sent = `${link}/${step}`;
    const fields = new URLSearchParams(filled);
    const body = new URLSearchParams({ seen, ...filled });
    const response = await fetch(sent, { method: "POST", body, headers: { origin: new URL(link).origin } });
    const title = /<title>([^<]*)</.exec(await response.text())?.[1] ?? "";
    said({ sent, fields, status: response.status, title });
    if (!response.ok) throw new Error(`${sent} answered ${response.status}: ${title}`);
  };
  await submit("code", {});
  await submit("sign", { name, agree: "yes", code: await mailedCode(email, operator_database_url) });
}

/** What `npm run operator -- mail list --to … --show` shows, as long as no mail server has taken it. */
async function mailedCode(email: string, operator_database_url: string): Promise<string> {
  const { content } = (await operate(operator_database_url, "mail_show", { to: email })) as {
    content: { code?: string };
  };
  if (content.code) return content.code;
  throw new Error(`The code has left by the mail server (SMTP_URL): open the link and sign with what ${email} got.`);
}

/** Runs a function of the operator's, as its command line does. */
export async function operate(operator_database_url: string, name: string, input: object): Promise<unknown> {
  const client = await connected(operator_database_url);
  try {
    const { rows } = await client.query(`select ops.${name}($1) as answer`, [{ operator: "demo", ...input }]);
    return rows[0].answer;
  } finally {
    await client.end();
  }
}
