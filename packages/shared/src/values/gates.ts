import { z } from "#shared/foundation/zod.ts";

/** The gates of eligibility, in the order of the checklist, and what people read for each. SQL judges them, in `private.gates`; a test compares the two. */
export const GATES = {
  mandate_signed: {
    open: "A signed mandate covers today",
    nl: "machtiging getekend",
    en: "mandate signed",
    needed_for: ["submission", "approval"],
  },
  ean_validated: {
    open: "The EAN belongs to the address",
    nl: "EAN gecontroleerd",
    en: "EAN checked",
    needed_for: ["approval", "booking"],
  },
  mid_charger_registered: {
    open: "A charger with a MID meter is registered",
    nl: "laadpaal met MID-meter",
    en: "charger with a MID meter",
    needed_for: ["approval", "booking"],
  },
  iban_present: {
    open: "The account has an IBAN",
    nl: "rekeningnummer bekend",
    en: "account number known",
    needed_for: ["booking"],
  },
} as const;

export type Gate = keyof typeof GATES;
type Need = (typeof GATES)[Gate]["needed_for"][number];
/** The gates that are needed for something. */
export type GateFor<For extends Need> = {
  [Name in Gate]: For extends (typeof GATES)[Name]["needed_for"][number] ? Name : never;
}[Gate];

export const GATE_NAMES = Object.keys(GATES) as Gate[];

export const gatesFor = <For extends Need>(need: For) =>
  GATE_NAMES.filter((name): name is GateFor<For> => (GATES[name].needed_for as readonly Need[]).includes(need));

export const checklist = () =>
  z.object(
    Object.fromEntries(
      Object.entries(GATES).map(([name, { open }]) => [name, z.boolean().meta({ description: open })]),
    ) as Record<Gate, z.ZodBoolean>,
  );
