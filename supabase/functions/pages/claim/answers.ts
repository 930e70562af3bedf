import type { Claim } from "#shared/domain/claim/answers.ts";
import type { Kept, REFUSALS } from "#shared/domain/claim/flow.ts";
import { PEOPLE_TENANT } from "#shared/domain/claim/links.ts";
import type { StepName } from "#shared/domain/claim/model.ts";
import { eanRegisterOf } from "#shared/domain/ean_register/ean_register.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { z } from "#shared/foundation/zod.ts";
import {
  eanCode,
  houseNumber,
  lineOf,
  orNull,
  postalCode,
  signatoryName,
  trimmedTo,
  uuid,
} from "#shared/values/fields.ts";
import { isIban, sealIban } from "#shared/values/iban.ts";
import { AccountType } from "#shared/values/models.ts";
import { loadNumberingPlans, phone } from "#shared/values/phone.ts";
import type { Errors } from "../kit/frame.ts";
import type { KitWords } from "../kit/words.ts";
import type { Value } from "./step_views.ts";
import type { ClaimWords } from "./words.ts";

type Form = { environment: Environment; form: URLSearchParams; claim: Claim; words: ClaimWords };

type StepRefusal = Exclude<(typeof REFUSALS)["save" | "complete"][number], "claim_not_open">;

type Step = {
  /** What a field shows at first. */
  known: (claim: Claim, name: string) => string | number | null | undefined;
  read: (form: Form) => Kept | { errors: Errors } | Promise<Kept | { errors: Errors }>;
};

const answered: Step["known"] = ({ answers }, name) => (answers as Record<string, string> | undefined)?.[name];

/** Reads the fields of a form by their rules, or says which rule is broken and what to do. */
function check<Fields extends Record<string, z.ZodType>>(
  fields: Fields,
  form: URLSearchParams,
  words: { [field in keyof Fields]?: string },
): { answers: { [field in keyof Fields]: z.output<Fields[field]> } } | { errors: Errors } {
  const errors: Errors = {};
  const answers: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(fields)) {
    const read = rule.safeParse((form.get(name) ?? "").trim());
    if (read.success) answers[name] = read.data;
    else errors[name] = words[name] ?? "";
  }
  return Object.keys(errors).length > 0 ? { errors } : { answers: answers as never };
}

const kvk = () =>
  z
    .string()
    .transform((value) => value.replace(/[\s.]/g, ""))
    .pipe(z.string().regex(/^\d{8}$/));
const serialNumber = () =>
  z
    .string()
    .transform((value) => value.replace(/\s/g, "").toUpperCase() || null)
    .pipe(
      z
        .string()
        .regex(/^[\x21-\x60\x7b-\x7e]{1,64}$/)
        .nullable(),
    );

export const STEPS: Record<StepName, Step> = {
  details: {
    known: answered,
    async read({ form, words }) {
      await loadNumberingPlans();
      return check(
        { full_name: signatoryName(), type: AccountType, phone: orNull(phone()) },
        form,
        words.details.errors,
      );
    },
  },

  company: {
    known: answered,
    read: ({ form, claim, words }) =>
      check(
        {
          company_name: signatoryName(),
          kvk: claim.answers?.type === "vve" ? orNull(kvk()) : kvk(),
          vat: trimmedTo(30).catch(null),
        },
        form,
        words.company.errors,
      ),
  },

  address: {
    known(claim, name) {
      const { postal_code, house_number, house_number_addition } = claim.answers ?? {};
      if (name === "postal_code") return postal_code?.replace(/^\d{4}/, "$& ");
      return name === "house_number"
        ? [house_number, house_number_addition].filter(Boolean).join(" ")
        : answered(claim, name);
    },
    async read({ environment, form, words }) {
      const read = check(
        {
          postal_code: postalCode(),
          house_number: houseNumber(),
          street: orNull(lineOf(1, 120)),
          city: orNull(lineOf(1, 120)),
        },
        form,
        words.address.errors,
      );
      if ("errors" in read) return read;
      const { house_number, ...rest } = read.answers;
      const answers = { ...rest, house_number: house_number.number, house_number_addition: house_number.addition };
      return { answers, ean_register: await eanRegisterOf(environment).lookup(answers) };
    },
  },

  ean: {
    known({ answers, candidates = [] }, name) {
      const known = candidates.some(({ ean_code }) => ean_code === answers?.ean_code);
      if (name === "ean_code") return known ? "" : answers?.ean_code;
      if (answers?.ean_code) return known ? answers.ean_code : "other";
      return candidates.length === 1 ? candidates[0]?.ean_code : null;
    },
    async read({ environment, form, claim, words }) {
      const point = form.get("point") ?? "";
      if (!point) return { errors: { point: words.ean.errors.choose } };
      const read = check({ ean_code: eanCode() }, point === "other" ? form : new URLSearchParams({ ean_code: point }), {
        ean_code: words.ean.errors.ean_code,
      });
      if ("errors" in read) return read;
      const { postal_code, house_number, house_number_addition } = claim.answers ?? {};
      if (!postal_code || !house_number) return { errors: { ean_code: words.ean.errors.ean_address_mismatch } };
      const address = { postal_code, house_number, house_number_addition: house_number_addition ?? null };
      return { ...read, ean_register: await eanRegisterOf(environment).lookup(address, read.answers.ean_code) };
    },
  },

  payout: {
    known: () => null,
    async read({ environment, form, claim, words }) {
      if (form.has("later")) return { answers: {}, later: true };
      const iban = (form.get("iban") ?? "").replace(/[\s.-]/g, "").toUpperCase();
      if (!iban && claim.iban_last4 && !claim.signed) return { answers: {} };
      if (!(await isIban(iban))) return { errors: { iban: words.payout.errors.iban } };
      return { answers: {}, iban: sealIban(environment, PEOPLE_TENANT, iban) };
    },
  },

  charger: {
    known: answered,
    read({ form, claim, words }) {
      if (form.has("later")) return { answers: { catalog_charger_id: null, serial_number: null } };
      const read = check({ catalog_charger_id: uuid(), serial_number: serialNumber() }, form, {
        ...words.charger.errors,
        catalog_charger_id: words.charger.errors.model,
      });
      if ("errors" in read) return read;
      const model = claim.models?.find(({ id }) => id === read.answers.catalog_charger_id);
      if (!model) return { errors: { catalog_charger_id: words.charger.errors.model } };
      return { answers: { ...read.answers, brand: form.get("brand") } };
    },
  },
};

/** Which field a refusal of a step is about, and what to do. */
export function errorsOf(
  refused: StepRefusal,
  { form, words, kit }: Pick<Form, "form" | "words"> & { kit: KitWords },
): Errors {
  switch (refused) {
    case "ean_in_use":
    case "ean_address_mismatch":
      return { [form.get("point") === "other" ? "ean_code" : "point"]: words.ean.errors[refused] };
    case "wrong_code":
    case "code_expired":
    case "too_many_attempts":
    case "too_many_guesses":
      return { code: kit.code.errors[refused] };
    case "charger_limit_reached":
      return { catalog_charger_id: words.charger.errors.charger_limit_reached };
    case "serial_number_required":
      return { serial_number: words.charger.errors.serial_number_required };
    default:
      return { serial_number: words.charger.errors.charger_claimed };
  }
}

/** What was just typed, or else what is known. */
export function shownValue(step: StepName, claim: Claim, form: URLSearchParams | null): Value {
  return (name) => {
    if (form?.has(name)) return (form.get(name) ?? "").slice(0, 200);
    if (form) return null; // a form that came back without a field: nothing was chosen
    const known = STEPS[step].known(claim, name);
    return known == null ? null : String(known);
  };
}
