// What a first deployment has to be told. Answers are kept in a file for each host, so that nothing is asked twice and everything can
// be said beforehand.

import { addToEnv, readEnv, type Variables } from "./env_file.ts";
import { DeployError } from "./management_api.ts";

export type Host = "sandbox" | "production";

type Question = {
  name: string;
  about: string;
  /** What an answer has to look like, and how that is said. */
  form: RegExp;
  said: string;
  /** The answer of who only presses Enter; none: it has to be answered. */
  otherwise?: (host: Host) => string;
  /** Asked only where this holds of the answers before it. */
  when?: (answers: Variables, host: Host) => boolean;
};

const isNew = ({ PROJECT_REF }: Variables) => !PROJECT_REF;
const onProduction = (_: Variables, host: Host) => host === "production";
const LINE = /^[^\p{Cc}]{1,200}$/u;
const URL_FORM = /^https:\/\/[^\s/]+(\/\S*)?$/;

export const QUESTIONS: readonly Question[] = [
  {
    name: "PROJECT_REF",
    about: "Reference of the Supabase project, as in https://<ref>.supabase.co. Empty: one is made",
    form: /^([a-z]{20})?$/,
    said: "20 small letters, or nothing",
    otherwise: () => "",
  },
  {
    name: "ORGANIZATION",
    about: "Slug of the organization to make it in, as in the dashboard's address",
    form: /^[\w-]+$/,
    said: "letters, digits, - and _",
    when: isNew,
  },
  {
    name: "PROJECT_NAME",
    about: "Name of the project",
    form: LINE,
    said: "up to 200 characters",
    otherwise: (host) => `ere-${host}`,
    when: isNew,
  },
  {
    name: "REGION",
    about: "Region of the project",
    form: /^[a-z]+-[a-z]+-\d$/,
    said: "a region of AWS, such as eu-central-1",
    otherwise: () => "eu-central-1",
    when: isNew,
  },
  {
    name: "PUBLIC_URL",
    about:
      "Address of your own that the specification's paths are under, such as https://api.example.nl (a front) or https://api.example.nl/functions/v1 (a custom domain of the platform). Empty: the project's own",
    // without a certificate only to try it out
    form: /^((https:\/\/|http:\/\/127\.0\.0\.1:)[^\s/]+(\/\S*[^\s/])?)?$/,
    said: "https://…, without a slash at its end, or nothing",
    otherwise: () => "",
  },
  ...[
    ["SERVICE_NAME", "Name of the service, by which customers know it", LINE, "up to 200 characters"] as const,
    ["SUPPORT_EMAIL", "Address that customers may write to", /^\S+@\S+\.\S+$/, "an address"] as const,
    [
      "MAIL_FROM",
      'From whom mail is, such as "ERE Service <no-reply@example.nl>"',
      LINE,
      "a name and an address",
    ] as const,
    ["SERVICE_ADDRESS", "Street, number, postal code and town of the service", LINE, "up to 200 characters"] as const,
    ["SERVICE_KVK", "KvK number of the service", /^\d{8}$/, "8 digits"] as const,
    ["SERVICE_PHONE", "Telephone number of the service", /^\+?\d(?:[ -]?\d){8,14}$/, "a telephone number"] as const,
    ["CONDITIONS_URL", "Address of the conditions", URL_FORM, "https://…"] as const,
    ["PRIVACY_URL", "Address of the privacy statement", URL_FORM, "https://…"] as const,
  ].map(([name, about, form, said]) => ({ name, about, form, said, when: onProduction })),
  {
    name: "SMTP_URL",
    about:
      "Where mail is handed over, smtps://user:password@host:465. Empty: no mail leaves, until functions.env says it",
    form: /^(smtps?:\/\/\S+)?$/,
    said: "smtp://… or smtps://…, or nothing",
    otherwise: () => "",
    when: onProduction,
  },
  {
    name: "EAN_REGISTER",
    about:
      "Where an EAN is checked: http is the grid operators' EAN-codeboek, table is core.ean_register_points of the database",
    form: /^(http|table)$/,
    said: "http or table",
    otherwise: () => "http",
    when: onProduction,
  },
  {
    name: "EAN_REGISTER_KEY",
    about: "The key that the EAN-codeboek asks for. Empty: none",
    form: /^\S*$/,
    said: "a key, or nothing",
    otherwise: () => "",
    when: (answers, host) => onProduction(answers, host) && answers.EAN_REGISTER === "http",
  },
  {
    name: "KEY_PREFIX",
    about: "What keys handed to customers begin with",
    form: /^[a-z]{2,12}$/,
    said: "2 to 12 small letters",
    otherwise: () => "ere",
  },
  {
    name: "PARTNER",
    about: "Name of the first partner. Empty: none is made",
    form: /^[^\p{Cc}]{0,120}$/u,
    said: "up to 120 characters",
    otherwise: () => "",
  },
];

/** Asks one question of a person; absent where nobody is there. */
export type Ask = (question: string) => Promise<string>;

/**
 * All answers for a host: those of the file, and for the others what is asked now, each kept at once.
 * @throws {DeployError} naming every answer that is missing or not of its form, where nobody can be asked.
 */
export async function answersFor(host: Host, file: string, ask: Ask | undefined): Promise<Variables> {
  const answers = readEnv(file);
  const faults: string[] = [];
  for (const { name, about, form, said, otherwise, when } of QUESTIONS) {
    if (when && !when(answers, host)) continue;
    const given = answers[name];
    if (given !== undefined) {
      if (!form.test(given)) faults.push(`${name} is not ${said}`);
      continue;
    }
    const fallback = otherwise?.(host);
    if (!ask) {
      if (fallback === undefined) faults.push(`${name} is missing: ${about}`);
      else answers[name] = fallback;
      continue;
    }
    answers[name] = await askUntil(ask, `${about}${fallback ? ` [${fallback}]` : ""}: `, form, said, fallback);
    addToEnv(file, { [name]: answers[name] ?? "" }, ABOUT);
  }
  if (faults.length > 0) throw new DeployError(`${file}:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
  return answers;
}

export const ABOUT = "Answers to npm run deploy:new. It holds the password of the database.";

async function askUntil(
  ask: Ask,
  question: string,
  form: RegExp,
  said: string,
  fallback: string | undefined,
): Promise<string> {
  for (;;) {
    const answer = (await ask(question)).trim() || fallback;
    if (answer !== undefined && form.test(answer)) return answer;
    question = `  It has to be ${said}: `;
  }
}
