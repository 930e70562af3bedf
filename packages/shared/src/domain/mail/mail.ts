import type { Brand, Farewell, ShownLogo } from "#shared/domain/answers.ts";
import { longMoment, MANDATE_WORDS } from "#shared/domain/mandate_text/mandate_text.ts";
import { estimateOf, shownYield, TYPICAL_KWH } from "#shared/values/estimate.ts";
import type { Locale } from "#shared/values/locale.ts";
import { type Content, layOut, MAIL_MESSAGES, type Service, sentBy, type Written } from "./layout.ts";
import { farewellLines, NOTICE_KINDS, type Notice, type NoticeReader, noticeContent } from "./notices.ts";

/** Who is written to, about which CPO: in the service's name, under the CPO's logo. */
type Signatory = { full_name: string; partner_name: string; logo?: ShownLogo | null };
/** What private.letter_content gives of a draft; what a year yields, as far as it was published when the mail was stored. */
type Letter = {
  full_name: string | null;
  brand: Brand;
  claim_url: string;
  unsubscribe_url: string;
  offer: { ere_per_kwh: number | null; price_per_ere_eur: number | null; fee_pct: number };
};
type NoticeContent = { notice: Notice; reader: NoticeReader };

/** What each mail is about, as core.mail_outbox keeps it until the mail is sent. A function gives the codes and links, SQL the names. */
export type Contents = {
  /** Brings a signatory the link. */
  mandate_link: Signatory & { link: string };
  mandate_code: Signatory & { code: string };
  /** The signatory's copy: the text as signed, and where it can be read again. After a claim, in the name of its partner. */
  mandate_signed: Signatory & { link: string; document: string; brand?: Brand | null | undefined };
  /** The invitation to claim a draft, with the partner's own words. */
  claim: Letter & { message?: string | null };
  reminder: Letter;
  /** A partner's sign-in link for its customer; or a code, to sign in to an application or the own pages, or to join a partner. */
  sign_in: (Letter & { link: string }) | { code: string; app: string | null } | { code: string; purpose: "join" };
  /** The invitation to manage a partner; without invited_by the service invites. */
  manager_invitation: { link: string; partner_name: string; invited_by: string | null };
  /** To the others who manage a partner; `alone` to the operator. Without `by` the service did it. */
  managers_changed: {
    change: "invited" | "joined" | "removed" | "left" | "alone";
    partner_name: string;
    person: string;
    by: string | null;
  };
  /** To the address on file before the CPO changed something: says what, and never the new value. */
  /** iban_last4: of an account number that was changed in the last 48 hours. */
  contact_changed: Signatory & { changed: readonly ("email" | "phone")[]; iban_last4: string | null };
  /** To everybody who manages a CPO: a customer withdrew the mandate. */
  customer_withdrew: { reference: string; partner_name: string };
  /** A code of a claim; or, without a brand, for the signatory of a CPO's customer. */
  claim_code: { code: string } & (
    | { purpose: "prove" | "sign" | "iban" | "revoke"; brand: Brand }
    | { purpose: "iban" | "revoke"; partner_name: string }
  );
  /** To everybody who manages a partner: its share goes to another account from now on. */
  iban_changed: { partner_name: string; iban_masked: string; account_holder: string };
  /** To everybody who manages a partner: it has a new API key. Without `by` the service made it. */
  key_minted: { partner_name: string; key: string; by: string | null; application: string | null };
  /** To a customer who gave an account number after signing, the first one or another. */
  customer_iban_changed: { brand: Brand; iban_masked: string; held_until: string };
  /** To everybody who manages a partner, and to the operator. `since` is when it began to fail. */
  webhook_failing: { partner_name: string; url: string; since: string };
  webhook_disabled: { partner_name: string; url: string; since: string };
  /** The same, of CDRs that could not be read for a day. */
  ocpi_pull_failed: { partner_name: string; url: string; since: string };
  /** To a person whose login somebody else may have made: what became of it. */
  login_secured: object;
  /** To a person who ended the account: what is kept, lost and paid. */
  account_closed: { end: Farewell };
} & Record<Notice["kind"], NoticeContent>;

export type Template = keyof Contents;
type Messages = (typeof MAIL_MESSAGES)[Locale];
type Composer<T extends Template> = (
  content: Contents[T],
  messages: Messages,
  service: Service,
  locale: Locale,
) => Content;

const composeNotice: Composer<Notice["kind"]> = ({ notice, reader }, _, { SERVICE_NAME }, locale) =>
  noticeContent(notice, reader, locale, SERVICE_NAME);

const composeWebhook =
  (about: "webhook_failing" | "webhook_disabled" | "ocpi_pull_failed"): Composer<typeof about> =>
  ({ partner_name, url, since }, { hello, [about]: message }) => ({
    ...message,
    subject: message.subject(partner_name),
    greeting: hello,
    lines: message.lines(url, since),
  });

const composeLetter = (
  { full_name, brand, unsubscribe_url }: Letter,
  { greeting, somebody, invitation }: Messages,
) => ({
  ...sentBy(brand),
  greeting: greeting(full_name ?? somebody),
  unsubscribe: { label: invitation.unsubscribe, link: unsubscribe_url },
});

/** What a typical year yields, as the page of the claim says it first; null where nothing is published. */
function yieldOf({ ere_per_kwh, price_per_ere_eur, fee_pct }: Letter["offer"], locale: Locale) {
  if (ere_per_kwh === null || price_per_ere_eur === null) return null;
  const { date_locale } = MANDATE_WORDS[locale];
  return shownYield(estimateOf, TYPICAL_KWH, [ere_per_kwh, price_per_ere_eur, fee_pct], date_locale);
}

const composeInvitation =
  <T extends "claim" | "reminder">(template: T): Composer<T> =>
  (letter: Contents["claim"], messages, { SERVICE_NAME }, locale) => {
    const { [template]: message, invitation } = messages;
    const { claim_url, message: words, brand } = letter;
    const amount = yieldOf(letter.offer, locale);
    return {
      ...composeLetter(letter, messages),
      subject: message.subject(brand.name),
      lines: [
        ...message.lines(brand.name, SERVICE_NAME),
        ...(amount ? [invitation.amount(amount.about, amount.kwh)] : []),
        ...(words ? [invitation.message(brand.name, words)] : []),
      ],
      button: { label: message.button, link: claim_url },
      after: message.after,
      unexpected: invitation.why(brand.name),
    };
  };

const underLogo = ({ partner_name, logo }: Signatory): Pick<Content, "logo"> =>
  logo ? { logo: { of: partner_name, shown: logo } } : {};

const COMPOSERS: { [T in Template]: Composer<T> } = {
  mandate_link: (about, { greeting, mandate_link: message }, { SERVICE_NAME }) => ({
    subject: message.subject(about.partner_name),
    ...underLogo(about),
    greeting: greeting(about.full_name),
    lines: message.lines(about.partner_name, SERVICE_NAME),
    button: { label: message.button, link: about.link },
    after: message.after,
    unexpected: message.unexpected,
  }),
  // the subject begins with the code: a phone then shows it without the mail being opened
  mandate_code: (about, { greeting, mandate_code: message }) => ({
    subject: message.subject(about.code),
    ...underLogo(about),
    greeting: greeting(about.full_name),
    lines: message.lines(about.partner_name),
    code: about.code,
    after: message.after,
    unexpected: message.unexpected,
  }),
  mandate_signed: ({ brand, link, document, ...about }, { greeting, mandate_signed: message }, { PAGES_URL }) => ({
    subject: message.subject,
    ...(brand ? sentBy(brand) : underLogo(about)),
    greeting: greeting(about.full_name),
    lines: message.lines(brand?.name ?? about.partner_name),
    button: { label: message.button, link },
    after: (brand ? message.after_claim : message.after)(`${PAGES_URL}/mijn`),
    unexpected: message.unexpected,
    document: { title: message.document, text: document },
  }),
  claim: composeInvitation("claim"),
  reminder: composeInvitation("reminder"),
  sign_in: (about, messages, { SERVICE_NAME }) => {
    const { sign_in, sign_in_code, invitation_code, hello } = messages;
    if ("link" in about)
      return {
        ...composeLetter(about, messages),
        subject: sign_in.subject(about.brand.name),
        lines: sign_in.lines(about.brand.name),
        button: { label: sign_in.button, link: about.link },
        after: sign_in.after,
        unexpected: sign_in.unexpected,
      };
    return {
      subject: sign_in_code.subject(about.code),
      greeting: hello,
      lines: "purpose" in about ? invitation_code.lines(SERVICE_NAME) : sign_in_code.lines(about.app, SERVICE_NAME),
      code: about.code,
      after: sign_in_code.after,
      unexpected: sign_in_code.unexpected,
    };
  },
  manager_invitation: (
    { link, partner_name, invited_by },
    { manager_invitation: message, hello },
    { SERVICE_NAME },
  ) => ({
    subject: message.subject(partner_name),
    greeting: hello,
    lines: message.lines(invited_by ?? SERVICE_NAME, partner_name, SERVICE_NAME),
    button: { label: message.button, link },
    after: message.after,
    unexpected: message.unexpected,
  }),
  managers_changed: ({ change, partner_name, person, by }, { managers_changed: message, hello }, service, locale) => ({
    subject: message[change].subject(partner_name),
    greeting: hello,
    lines: [message[change].line(person, partner_name, by ?? service.SERVICE_NAME)],
    ...(change === "alone"
      ? { after: message.operator }
      : {
          button: { label: message.button, link: `${service.PAGES_URL}/portal/settings/colleagues?lang=${locale}` },
          after: message.after,
        }),
    unexpected: message.unexpected,
  }),
  contact_changed: ({ changed, iban_last4, ...about }, { greeting, contact_changed: message }) => ({
    subject: message.subject,
    ...underLogo(about),
    greeting: greeting(about.full_name),
    lines: [
      ...changed.map((what) => message[what](about.partner_name)),
      ...(iban_last4 ? [message.iban(about.partner_name, iban_last4)] : []),
    ],
    after: message.after(about.partner_name),
    unexpected: message.unexpected,
  }),
  customer_withdrew: ({ reference, partner_name }, { customer_withdrew: message, hello }) => ({
    subject: message.subject(reference, partner_name),
    greeting: hello,
    lines: message.lines(reference, partner_name),
    after: message.after,
    unexpected: message.unexpected,
  }),
  claim_code: ({ code, purpose, ...about }, { claim_code: message, hello }) => ({
    subject: message.subject[purpose](code),
    ...("brand" in about ? sentBy(about.brand) : {}),
    greeting: hello,
    lines: message.lines[purpose]("brand" in about ? about.brand.name : about.partner_name),
    code,
    after: message.after[purpose],
    unexpected: message.unexpected,
  }),
  iban_changed: ({ partner_name, iban_masked, account_holder }, { iban_changed: message, hello }) => ({
    subject: message.subject(partner_name),
    greeting: hello,
    lines: message.lines(partner_name, iban_masked, account_holder),
    after: message.after,
    unexpected: message.unexpected,
  }),
  key_minted: ({ partner_name, key, by, application }, { key_minted: message, hello }, service, locale) => ({
    subject: message.subject(partner_name),
    greeting: hello,
    lines: [
      message.line(partner_name, key, by ?? service.SERVICE_NAME),
      ...(application ? [message.application(application)] : []),
    ],
    button: { label: message.button, link: `${service.PAGES_URL}/portal/settings?lang=${locale}` },
    after: message.after,
    unexpected: message.unexpected,
  }),
  customer_iban_changed: (
    { brand, iban_masked, held_until },
    { customer_iban_changed: message, hello },
    _,
    locale,
  ) => ({
    subject: message.subject,
    ...sentBy(brand),
    greeting: hello,
    lines: [...message.lines(brand.name, iban_masked), message.held(longMoment(held_until, MANDATE_WORDS[locale]))],
    after: message.after,
    unexpected: message.unexpected,
  }),
  webhook_failing: composeWebhook("webhook_failing"),
  ocpi_pull_failed: composeWebhook("ocpi_pull_failed"),
  webhook_disabled: composeWebhook("webhook_disabled"),
  login_secured: (_, { login_secured: message, hello }, { SERVICE_NAME }) => ({
    subject: message.subject(SERVICE_NAME),
    greeting: hello,
    lines: message.lines(SERVICE_NAME),
    after: message.after,
    unexpected: message.unexpected,
  }),
  account_closed: ({ end }, { account_closed: message, hello }, { SERVICE_NAME }, locale) => ({
    subject: message.subject(SERVICE_NAME),
    greeting: hello,
    lines: farewellLines(end, locale),
    after: message.after,
    unexpected: message.unexpected,
  }),
  ...(Object.fromEntries(NOTICE_KINDS.map((kind) => [kind, composeNotice])) as Record<
    Notice["kind"],
    typeof composeNotice
  >),
};

/** Every template. docs/attacks.md says what each carries, and who reads it on the sandbox; a test holds it to that. */
export const MAIL_TEMPLATES = Object.keys(COMPOSERS) as Template[];

/** A mail as core.mail_outbox has it. */
export type StoredMail<T extends Template = Template> = {
  template: T;
  locale: Locale;
  content: Contents[T];
};

/** Writes the text of a stored mail. The same mail gives the same text, as long as the templates stay. */
export function writeMail<T extends Template>(service: Service, { template, locale, content }: StoredMail<T>): Written {
  const composer = COMPOSERS[template];
  const written = layOut(service, locale, composer(content, MAIL_MESSAGES[locale], service, locale));
  // stored by a release with other field names: the mail waits rather than say "Dear undefined"
  if (MISSING.test(written.subject + written.text) && !MISSING.test(JSON.stringify(content)))
    throw new TypeError("A field of the mail is missing.");
  return written;
}

const MISSING = /undefined|NaN/;

/** The text for a list of mail. It is empty if this release cannot write it, so that the other mails are listed. */
export function readMail(service: Service, mail: StoredMail): Written {
  try {
    return writeMail(service, mail);
  } catch {
    return { subject: "", html: "", text: "", links: [] };
  }
}
