import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { mailKey } from "#shared/domain/mail/about.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { email, lineOf, orNull, signatoryName, trimmedTo, uuid } from "#shared/values/fields.ts";
import { loadNumberingPlans, phone } from "#shared/values/phone.ts";

const text = (description: string) => z.string().nullable().meta({ description });

const kvk = () => z.string().regex(/^\d{8}$/, "must be 8 digits");

const PersonChange = z
  .object({
    full_name: orNull(signatoryName()).meta({ description: "First and last name; fixed once somebody has signed" }),
    email: orNull(email()).meta({ description: "E-mail address" }),
    phone: orNull(phone()).meta({ description: "Telephone number, Dutch or with its country code" }),
  })
  .meta({ id: "PersonChange", description: "Omitted, null and empty fields keep their value" });

const CompanyChange = z
  .object({
    name: orNull(lineOf(1, 120)).meta({ description: "The company's name" }),
    kvk: orNull(kvk()).meta({ description: "KVK number, 8 digits" }),
    vat: orNull(lineOf(4, 20)).meta({ description: "VAT number" }),
  })
  .meta({
    id: "CompanyChange",
    description: "Fixed once somebody has signed. Omitted, null and empty fields keep their value",
  });

/** New links for the voided ones. SQL asks for them, because few accounts have an open link. */
const newLinks = async ({ config }: Environment, { count }: { count: number }) =>
  Array.from({ length: count }, () => {
    const token = newSecret();
    return { token_hash: hashSecret(token), url: `${config.PAGES_URL}/mandate/${token}` };
  });

export const updateAccount = endpoint(
  {
    id: "updateAccount",
    summary: "Correct the signatory or the company of an account",
    description:
      "Finds the account by `account_id` or `cpo_external_ref`; if you send both, both must match it. Until somebody " +
      "has signed, everything can change. After that only `person.email` and `person.phone` can; another name or " +
      "company returns 409 `account_signed` and stores nothing. We then tell the signatory by mail, at the old " +
      "address. Another e-mail address also voids the open mandate links. We mail a new link to the new address for " +
      "each connection whose link we mailed; if you sent the link yourself, issue and send a new one. We mail an " +
      "address a few such mails a day; after that the call returns 429 and stores nothing.",
    caller: { kind: "cpo", scope: "cpo:accounts:write" },
    idempotent: true,
    limit: "cpo_write",
    sql: ["update_account"],
    needs: { new_links: newLinks },
    prepare: loadNumberingPlans,
    body: z
      .object({
        account_id: orNull(uuid()).meta({ description: "The account" }),
        cpo_external_ref: orNull(trimmedTo(120)).meta({ description: "Your own customer number" }),
        person: PersonChange.nullish().meta({ description: "What changes of the person who signs" }),
        company: CompanyChange.nullish().meta({ description: "What changes of the company details" }),
      })
      .refine(({ account_id, cpo_external_ref }) => account_id || cpo_external_ref, {
        message: "send account_id or cpo_external_ref",
        path: ["account_id"],
      })
      .refine(({ person, company }) => person || company, {
        message: "send person or company",
        path: ["person"],
      })
      .meta({ id: "UpdateAccount" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        changed: z.boolean().meta({ description: "Whether the request changed anything" }),
        account_id: z.guid().meta({ description: "The account" }),
        cpo_external_ref: text("Your own customer number"),
        person: z
          .object({
            full_name: z.string().meta({ description: "First and last name" }),
            email: text("E-mail address"),
            phone: text("Telephone number"),
          })
          .meta({ description: "Who signs, or signed, the mandate" }),
        company: z
          .object({
            name: text("The company's name").optional(),
            kvk: text("KVK number").optional(),
            vat: text("VAT number").optional(),
          })
          .nullable()
          .meta({ description: "Company details that appear in the mandate; null if there are none" }),
        signed: z.boolean().meta({ description: "Whether somebody has signed, so that name and company are fixed" }),
        mandate_links_voided: z.int().meta({
          description: "How many open mandate links stopped working, because the e-mail address changed",
          example: 1,
        }),
        mandate_links_mailed: z.int().meta({
          description:
            "How many new mandate links we mailed to the new address. If it is 0 and links were voided, issue one",
          example: 1,
        }),
      })
      .meta({ id: "UpdatedAccount" }),
    errors: ["account_not_found", "account_signed"],
    failure: "update_failed",
  },
  ({ body, call, environment: { config } }) => call("update_account", { ...body, key: mailKey(config) }),
);
