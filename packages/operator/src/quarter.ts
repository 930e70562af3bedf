// Where each partner stands in a quarter, and the command that comes next.

import type { Row } from "./command.ts";
import { count } from "./command.ts";
import type { OpsAnswer } from "./database.ts";
import { euro, table } from "./text.ts";

/** What is typed of a payout batch: to approve it, to write its file, or to record what the bank said. */
export const PAYOUT_STEPS = {
  approve: (batch: unknown) => `payout approve ${batch}`,
  send: (batch: unknown, file: string) => `payout export ${batch} --out ${file}`,
  reject: (batch: unknown) => `payout reject ${batch} --reason <why>`,
  settle: () => "payout answer --file <file of the bank>",
};

type Step = { step: string; booking?: string; batch?: string; ere?: number; rejecting?: boolean };

/** What is typed once where several partners wait for a step. */
const ALL: Record<string, (quarter: string) => string> = {
  export: (quarter) => `booking export ${quarter} --all --to out`,
  credit: () => "booking credit --file <granted.csv>",
  sell: (quarter) => `sale record ${quarter} --all --price <euro> --buyer <name> --reference <reference>`,
  invoice: (quarter) => `invoice issue ${quarter} --all`,
};

/** What the person types next for a partner; undefined if there is nothing to type. among: how many wait for the same. */
function nextCommand(
  quarter: string,
  slug: string,
  among: number,
  { step, booking, batch, ere, rejecting }: Step,
): string | undefined {
  const named = booking ?? `${quarter} --partner ${slug}`;
  if (among > 1 && ALL[step]) return ALL[step](quarter);
  const commands: Record<string, string> = {
    preview: `booking preview ${quarter} --partner ${slug}`,
    open: `booking open ${quarter}`,
    submit: `booking submit ${quarter}`,
    export: `booking export ${named} --out ${slug}-${quarter}.csv`,
    credit: `booking credit ${named} --file <granted.csv>`,
    sell: `sale record ${named} --ere ${ere} --price <euro> --buyer <name> --reference <reference>`,
    publish: `figures publish ${quarter.slice(0, 4)}`,
    pay: "payout prepare",
    approve: PAYOUT_STEPS.approve(batch),
    send: PAYOUT_STEPS.send(batch, `${quarter}.xml`),
    settle: rejecting ? PAYOUT_STEPS.reject(batch) : PAYOUT_STEPS.settle(),
    invoice: `invoice issue ${quarter}`,
  };
  return commands[step];
}

type Unpayable = {
  payee: string;
  partner_slug: string;
  is_partner: boolean;
  amount_eur: number | null;
  reason: string;
  until: string | null;
  /** of came_back: the code of the bank */
  because: string | null;
};

/** What the person types, or waits for, so that a payee can be paid. */
const HELP: Record<string, (payee: Unpayable) => string> = {
  owes: () => "nothing to type: later sales settle it",
  iban_missing: ({ payee }) => `account show ${payee}: they give an IBAN`,
  iban_changed: ({ until }) => `payout prepare after ${until}`,
  iban_invalid: ({ payee }) => `account show ${payee}: its checksum is wrong, they give another one`,
  iban_failed: ({ payee }) => `payout release ${payee} --reason <why>, or they give another one`,
  holder_died: ({ payee }) => `payout iban ${payee}, then payout release: once the heirs gave their account`,
  name_unreadable: ({ payee }) => `payout name ${payee} <name>`,
  came_back: ({ payee, because }) => `account show ${payee}: ask about the account, because the bank said ${because}`,
};

/** What differs where the payee is a partner: it gives its own account, at /portal/settings. */
const PARTNER_HELP: typeof HELP = {
  iban_missing: ({ partner_slug }) => `partner show ${partner_slug}: they give an IBAN`,
  iban_invalid: ({ partner_slug }) => `partner show ${partner_slug}: its checksum is wrong, they give another one`,
  name_unreadable: ({ partner_slug }) => `partner show ${partner_slug}: they give a holder in Latin letters`,
  came_back: ({ partner_slug, because }) =>
    `partner show ${partner_slug}: ask about the account, because the bank said ${because}`,
};

const sumOf = (payees: Unpayable[]) => payees.reduce((sum, { amount_eur }) => sum + Number(amount_eur), 0);

/** How many payees are named. */
const MOST_NAMED = 50;

function named(title: string, unpayable: Unpayable[]): string[] {
  if (unpayable.length === 0) return [];
  const helpOf = ({ is_partner, reason }: Unpayable) => (is_partner && PARTNER_HELP[reason]) || HELP[reason];
  const rows = unpayable.slice(0, MOST_NAMED).map((each) => ({ ...each, help: helpOf(each)?.(each) }));
  const more = unpayable.length - rows.length;
  return [
    `${title}\n${table(rows, ["partner_slug", "payee", "amount_eur", "reason", "help"], ["amount_eur"])}`,
    ...(more > 0 ? [`and ${more} more; --json names all`] : []),
  ];
}

export function showQuarter({ quarter, over, last_day, partners, ...rest }: OpsAnswer): string {
  const { payable, unpayable, conflicts, without } = rest;
  const rows = partners as (Row & { partner_slug: string; next: Step })[];
  const steps = rows.map(({ partner_slug, next }) =>
    next.step === "pay" && !payable
      ? undefined
      : nextCommand(String(quarter), partner_slug, rows.filter((row) => row.next.step === next.step).length, next),
  );
  const payees = (unpayable ?? []) as Unpayable[];
  const small = payees.filter(({ reason }) => reason === "below_minimum");
  const typed = [...new Set(steps.filter((step) => step !== undefined))];
  return [
    `${quarter}: ${over ? "over" : `runs until ${last_day}, and its bookings can be submitted after that`}. ` +
      `${count(rows.length, "partner")} with months or bookings, ${without} without.`,
    ...(rows.length > 0
      ? [
          table(
            rows.map((row) => ({ ...row, next: row.next.step })),
            "partner_slug next months kwh to_book left_out credited_ere sold_ere due_eur paid_eur".split(" "),
            "months kwh to_book left_out credited_ere sold_ere due_eur paid_eur".split(" "),
          ),
        ]
      : []),
    typed.length > 0
      ? `Next\n${typed.map((command) => `  npm run -s operator -- ${command}`).join("\n")}`
      : "Nothing to type now.",
    ...(payable === false ? ["Nobody can be paid now: `payout prepare` says why."] : []),
    ...(Number(conflicts) > 0
      ? [
          `${count(Number(conflicts), "pair")} of chargers may be one, counted twice: see \`charger conflicts\` before you book.`,
        ]
      : []),
    ...named(
      "Cannot be paid",
      payees.filter(({ reason }) => reason !== "came_back" && reason !== "below_minimum"),
    ),
    ...(small.length > 0
      ? [
          `Below the minimum: ${count(small.length, "payee")}, ${euro(sumOf(small))} in all. It waits for more; ` +
            "payout prepare --minimum 0 pays who can be paid now.",
        ]
      : []),
    ...named(
      "Will be paid again to the account from which the last payment came back",
      payees.filter(({ reason }) => reason === "came_back"),
    ),
  ].join("\n\n");
}
