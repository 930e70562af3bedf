import { ended } from "#shared/values/sentence.ts";
import type { MailMessages } from "./nl.ts";

export const en: MailMessages = {
  lang: "en",
  greeting: (name) => `Dear ${name},`,
  hello: "Hello,",
  somebody: "Sir or Madam",
  through: (partner, service) => `${partner}, through ${service}`,
  regards: "Kind regards,",
  questions: "Questions? Mail",
  linkFallback: "Does the button not work? Copy this address into your browser:",
  manager_invitation: {
    subject: (partner) => `Invitation to manage ${partner}`,
    lines: (invitedBy, partner, service) => [
      `${invitedBy} invites you to manage ${partner} at ${ended(service)} There you see the customers of ${partner} and what they earn, and you can change settings.`,
      "Open the link and type the code that we then mail you. You need no password.",
    ],
    button: "Accept the invitation",
    after: "The link works for seven days, once, and for this e-mail address only.",
    unexpected: "You do not expect this? Then you need do nothing.",
  },
  managers_changed: {
    invited: {
      subject: (partner) => `Somebody was invited to manage ${partner}`,
      line: (person, partner, by) => `${by} invited ${person} to manage ${partner} too.`,
    },
    joined: {
      subject: (partner) => `${partner} has another manager`,
      line: (person, partner, _by) => `${person} manages ${partner} too from now on: customers, payouts and settings.`,
    },
    removed: {
      subject: (partner) => `A manager of ${partner} was removed`,
      line: (person, partner, by) => `${by} removed ${person}, who no longer manages ${ended(partner)}`,
    },
    left: {
      subject: (partner) => `A manager of ${partner} has left`,
      line: (person, partner, _by) => `${person} no longer manages ${ended(partner)}`,
    },
    alone: {
      subject: (partner) => `Nobody manages ${partner} any more`,
      line: (person, partner, _by) => `${person} was the only one who managed ${partner}, and ended their account.`,
    },
    button: "See who manages it",
    after: "Is this right? Then there is nothing you need to do.",
    operator: "Invite somebody else with: operator partner invite",
    unexpected: "Is this not right? Tell us at once.",
  },
  invitation_code: {
    lines: (service) => [
      `You are accepting an invitation to manage a partner at ${ended(service)} Type this code on the page:`,
    ],
  },
  mandate_link: {
    subject: (partner) => `${partner} asks for your mandate for your charging electricity`,
    lines: (partner, service) => [
      `${partner} would like the electricity you charge with at home or on your premises to be registered as emission reduction (ERE). ${service} does that. It needs your mandate.`,
      "First you read what you sign. Then you sign with your name and a code that we mail you. It takes about three minutes.",
    ],
    button: "Read and sign",
    after: "The link works for 14 days and is for you only. Do not forward it.",
    unexpected:
      "You receive this message because your signature is asked for. Not expecting it? Then there is nothing you need to do.",
  },
  mandate_code: {
    subject: (code) => `${code} is your code to sign`,
    lines: (partner) => [`You are about to sign the mandate that ${partner} asks for. Enter this code on the page:`],
    after: "The code works for 10 minutes. Give it to nobody: with this code you sign.",
    unexpected: "Did you not ask for this code? Then there is nothing you need to do.",
  },
  mandate_signed: {
    subject: "Your mandate has been signed",
    lines: (partner) => [
      `Thank you. You have signed the mandate that ${partner} asked for. Keep this mail: what you signed is below.`,
    ],
    button: "View your mandate",
    after: (ownPages) =>
      `What you charge and what it earns you see at ${ownPages}. Would you like to stop? You can withdraw the mandate there at any time, or mail us; the address is at the end of this mail.`,
    after_claim: (ownPages) =>
      `The button also shows where your registration stands. There you can add what is missing, and withdraw the mandate at any time. What you charge and what it earns you see at ${ownPages}.`,
    document: "This is what you signed",
    unexpected: "Did you not sign this yourself? Tell us at once.",
  },
  contact_changed: {
    subject: "Your contact details have been changed",
    email: (partner) =>
      `${partner} has changed your e-mail address with us. From now on mail about your mandate and your compensation goes to the new address, and no longer to this one.`,
    phone: (partner) => `${partner} has changed your telephone number with us.`,
    iban: (partner, last4) => `${partner} has also changed your account number. It now ends in ${last4}.`,
    after: (partner) => `Is this right? Then there is nothing you need to do. Questions? Ask ${partner}.`,
    unexpected: "Is this not right? Tell us at once. Our address is at the end of this mail.",
  },
  claim: {
    subject: (partner) => `${partner} has prepared your registration for ERE`,
    lines: (partner, service) => [
      `Do you charge an electric car at your own charger? Then you avoid emissions, and that is worth a compensation: ERE. ${partner} has already prepared your registration with ${ended(service)}`,
      "You check your details, choose where the compensation goes and sign a mandate. It takes about five minutes.",
    ],
    button: "View your registration",
    after: "The link works for 60 days and is for you only. You can stop halfway and continue later.",
  },
  reminder: {
    subject: (partner) => `Your registration for ERE with ${partner} is still waiting`,
    lines: (partner, service) => [
      `Some time ago ${partner} prepared your registration with ${ended(service)} With it you receive a compensation for the electricity you charge with at home or on your premises.`,
      "Nothing happens without your mandate. Taking part takes about five minutes.",
    ],
    button: "Complete your registration",
    after: "Would you rather not take part? Then there is nothing you need to do: the registration ends by itself.",
  },
  invitation: {
    amount: (about, kwh) => `What it brings you: ${about} a year, at ${kwh} kWh. It is an estimate, after our costs.`,
    message: (partner: string, words: string) => `${partner} writes: “${words}”`,
    why: (partner) => `You receive this message because ${partner} gave us your e-mail address to invite you.`,
    unsubscribe: "Receive no more messages",
  },
  sign_in: {
    subject: (partner) => `Your link to continue with ${partner}`,
    lines: (partner) => [`With this link you continue your registration with ${ended(partner)}`],
    button: "Continue",
    after: "The link works for 5 minutes and only once. Do not forward it.",
    unexpected: "Did you not ask for this link? Then there is nothing you need to do.",
  },
  sign_in_code: {
    subject: (code) => `${code} is your code to sign in`,
    lines: (app, service) => [
      app
        ? `You are about to sign in to ${service}, because the app ${app} asks for access. Enter this code on the page:`
        : `You are about to sign in to ${ended(service)} Enter this code on the page:`,
    ],
    after: "The code works for 10 minutes. Give it to nobody: whoever has the code can sign in as you.",
    unexpected: "Did you not ask for this code? Then there is nothing you need to do.",
  },
  claim_code: {
    subject: {
      prove: (code) => `${code} is your code to continue`,
      sign: (code) => `${code} is your code to sign`,
      iban: (code) => `${code} is your code to change your account number`,
      revoke: (code) => `${code} is your code to withdraw your mandate`,
    },
    lines: {
      prove: (partner) => [
        `You opened the registration that ${partner} prepared for you. Enter this code on the page:`,
      ],
      sign: (partner) => [
        `You are about to sign the mandate of your registration through ${ended(partner)} Enter this code on the page:`,
      ],
      iban: (partner) => [
        `You are about to change the account number of your registration through ${ended(partner)} Enter this code on the page:`,
      ],
      revoke: (partner) => [
        `You are about to withdraw the mandate of your registration through ${ended(partner)} Enter this code on the page:`,
      ],
    },
    after: {
      prove: "The code works for 10 minutes. Give it to nobody.",
      sign: "The code works for 10 minutes. Give it to nobody: with this code you sign.",
      iban: "The code works for 10 minutes. Give it to nobody: with this code your compensation goes to another account number.",
      revoke: "The code works for 10 minutes. Give it to nobody: with this code your mandate is withdrawn.",
    },
    unexpected: "Did you not ask for this code? Then there is nothing you need to do.",
  },
  customer_withdrew: {
    subject: (reference, _partner) => `Customer ${reference} withdrew the mandate`,
    lines: (reference, partner) => [
      `Customer ${reference} of ${partner} withdrew the mandate for their charging, on their own pages here.`,
      "Whole months before that still count. What is charged after it does not: months that you deliver are outside_mandate.",
    ],
    after: "There is nothing you need to do. If the customer wants to take part again later, send a new link to sign.",
    unexpected: "You get this message because you manage this partner.",
  },
  iban_changed: {
    subject: (partner) => `The account number of ${partner} has changed`,
    lines: (partner, iban, holder) => [
      `Payouts to ${partner} go to ${iban} from now on, in the name of ${ended(holder)}`,
    ],
    after: "Did you change this yourself? Then there is nothing you need to do.",
    unexpected: "Did you not change this? Tell us at once.",
  },
  key_minted: {
    subject: (partner) => `${partner} has a new API key`,
    line: (partner, key, by) => `${by} made a new API key for ${partner}: ${key}. An earlier key no longer works.`,
    application: (name) =>
      `This went through the app ${name}. The key stops if you end that app's access, and shows no names of customers.`,
    button: "To the settings",
    after: "Is this right? Then there is nothing you need to do.",
    unexpected: "Is this wrong? Revoke the key in the settings at once, and tell us.",
  },
  login_secured: {
    subject: (service) => `We secured your access to ${service}`,
    lines: (service) => [
      `Your e-mail address already had a login at ${service}, which somebody else may have made.`,
      "You have now shown by a code that the address is yours. So the password no longer works, nor does anything else that gave access to that login: sessions, apps, tokens and the password of charge points.",
    ],
    after:
      "From now on you sign in with a code that we mail you. Did you connect an app or a charge point? Then connect it again.",
    unexpected: "Did you not type a code? Tell us at once.",
  },
  account_closed: {
    subject: (service) => `Your account with ${service} has ended`,
    access: "You cannot sign in any more. Your chargers, applications and tokens have no access any more.",
    mandate: "Your mandate has ended. We do not register your charging electricity any more.",
    month: (kwh, month) => `You lose the ${kwh} of ${month}, because part of a month does not count.`,
    lost: (kwh) => `You lose ${kwh} of earlier months, because your registration was not approved.`,
    paid: (euro) => `We still pay you ${euro}. If more is added later, we pay that too.`,
    paid_later: "If your ERE still bring in something later, we pay you that.",
    kept: (date) =>
      `For seven years we must keep how your charging became money: your mandates with your name and address, the months and the payments. We delete that from ${date} on.`,
    nothing_kept: "We keep nothing of you.",
    after:
      "The company that registered you with us cannot invite you through us any more. Do you want to take part again later? Mail us.",
    unexpected: "Did you not do this yourself? Tell us at once.",
  },
  webhook_failing: {
    subject: (partner: string) => `Events do not reach ${partner}`,
    lines: (url: string, since: string) => [
      `Since ${since} no event (webhook) has arrived at ${url}.`,
      "Five days after this began we send nothing there any more. Nothing is lost: what waits is sent as soon as the address answers again.",
    ],
    after: "See whether the address can be reached, and answers within ten seconds with a status of 200 to 299.",
    unexpected: "Is the address not in use any more? Then revoke it.",
  },
  webhook_disabled: {
    subject: (partner: string) => `Events are not sent to ${partner} any more`,
    lines: (url: string) => [
      `We send no events (webhooks) to ${url} any more: for five days it did not answer well, or it answered with status 410.`,
      "Nothing is lost: once it is enabled it goes on where it stood. Events are kept for 90 days.",
    ],
    after: "Repair the address, and then enable it again.",
    unexpected: "Is the address not in use any more? Then revoke it.",
  },
  ocpi_pull_failed: {
    subject: (partner: string) => `We cannot read the charging sessions of ${partner}`,
    lines: (url: string, since: string) => [
      `Since ${since} we cannot read charging sessions (CDRs) from the OCPI platform at ${url}.`,
      "We try again every fifteen minutes. Nothing is lost: what waits there is read as soon as the platform answers again.",
    ],
    after: "See whether the platform can be reached, and whether our token there is still valid.",
    unexpected: "Is the platform not in use any more? Then tell us, and we stop.",
  },
  customer_iban_changed: {
    subject: "Your account number has been recorded",
    lines: (partner, iban) => [
      `The compensation of your registration through ${partner} goes to account number ${iban} from now on.`,
    ],
    held: (moment) => `For your safety we transfer nothing to it for 48 hours: until ${moment}.`,
    after: "Did you do this yourself? Then there is nothing you need to do.",
    unexpected: "Did you not do this? Tell us at once.",
  },
  notices: {
    why: "You receive this message because you signed a mandate.",
    view: "View your registration",
    earnings: "See your overview",
    you: "You",
    registration_approved: {
      subject: "Your registration has been approved",
      lines: (service) => [
        `${service} has approved your registration. The charging electricity that your mandate covers counts towards ERE.`,
      ],
      after: {
        own: "On your own pages you see whether your charger reports to us. Each quarter we register your charging electricity. Once it is sold, we pay out your compensation.",
        cpo: (partner) =>
          `There is nothing you need to do. Each quarter we register your charging electricity. ${partner} keeps you informed.`,
      },
    },
    registration_rejected: {
      subject: "Your registration has been rejected: what you can do",
      lines: [
        "Your registration has been rejected. Your charging electricity does not count now. What you gave us is kept.",
      ],
      grounds: {
        mandate_signed: "Your mandate is no longer valid. Without one we may not register your charging electricity.",
        ean_validated:
          "We could not confirm that the EAN code belongs to your address. Look the code up on your energy bill, and mail us what it says.",
        mid_charger_registered:
          "We know no charger of yours with a calibrated meter (MID) yet. Tell us about it, and we judge your registration again.",
      },
      unknown: "Do you not know why? Mail us, and we find out together.",
      cpo: (partner) => `Ask ${partner} what is needed. Once that is settled, we judge your registration again.`,
      button: "See what is needed",
    },
    something_missing: {
      subject: "Something of yours is still missing",
      lines: ["You have signed your mandate. Your charging electricity only counts once we also have this:"],
      missing: {
        iban: "your account number (IBAN), because the compensation goes there",
        charger: "your charger with a calibrated meter (MID), because only what that measures counts",
      },
      button: "Tell us now",
      after: "It takes a few minutes. We ask this once.",
    },
    mandate_ending: {
      subject: (until) => `Your mandate ends on ${until}`,
      reminder: (until) => `Not renewed yet: your mandate ends on ${until}`,
      lines: (until) => [
        `Your mandate to register your charging electricity holds up to and including ${until}. It is not renewed by itself. What you charge after that only counts if you sign again.`,
        "You can do so now: you read the mandate for the years after it and sign with your name and a code. It takes about two minutes.",
      ],
      button: "Renew your mandate",
      after: "Would you rather not renew? Then there is nothing you need to do.",
    },
    mandate_ended: {
      subject: "Your mandate has ended",
      lines: (until) => [
        `Your mandate held up to and including ${until}. What you charge after that is not registered.`,
        "What you charged up to that day still counts. You still receive the compensation for it.",
      ],
      button: "Sign again",
      after:
        "Would you like to take part again? Then sign again. Would you like to stop? Then there is nothing you need to do.",
    },
    mandate_withdrawn: {
      subject: "Your mandate is no longer valid",
      by: {
        customer: "You have withdrawn your mandate. It is no longer valid.",
        operator: "We have ended your mandate. It is no longer valid.",
        connection_updated:
          "The EAN code or the address of your connection has changed. The mandate you signed was for what it was before, and is no longer valid.",
        connection_archived: "Your connection is no longer registered with us. Your mandate has ended with it.",
      },
      covered: (until) =>
        `What you charged up to and including ${until} still counts. You still receive the compensation for it.`,
      not_covered: "What has been registered stays registered. You still receive the compensation for it.",
      lost: (kwh) => `You lose ${kwh} that you had already charged: they no longer count.`,
      again: (partner) =>
        `Would you like your charging electricity to count again? Then ask ${partner} for a new mandate.`,
      after: "Did you not expect this? Let us know; the address is at the end of this mail.",
    },
    net: "It is the compensation for the charging electricity that was sold. Our fee, including VAT, has been taken off.",
    payout_sent: {
      subject: (amount) => `Your compensation of ${amount} is on its way`,
      between: (from, until) => `between ${from} and ${until}`,
      lines: (amount, iban, days) => [
        `${amount} is on its way to the account that ends in ${iban}. We expect it to arrive ${days}.`,
      ],
      after: "There is nothing you need to do. You get another mail once it has been transferred.",
    },
    payout_paid: {
      subject: (amount) => `Your compensation of ${amount} has been transferred`,
      lines: (amount, iban) => [`We have transferred ${amount} to the account that ends in ${iban}.`],
      quarter: (quarter, year) => `quarter ${quarter} of ${year}`,
      covers: (quarters, kwh) => `It is for ${quarters}: the ${kwh} that you charged then.`,
      after: "There is nothing you need to do.",
    },
    payout_failed: {
      subject: "Your compensation could not be transferred",
      lines: (amount, iban) => [
        `We tried to transfer ${amount} to the account that ends in ${iban}. The bank could not deliver it there.`,
        "The amount is kept for you.",
      ],
      button: "Give another account number",
      own: "Give us another account number, and we transfer the amount to it.",
      cpo: (partner) => `Give ${partner} another account number, and we transfer the amount to it.`,
    },
    payout_iban_changed: {
      subject: "Your compensation goes to another account number",
      lines: (partner, iban) => [
        `${partner} gave us another account number for your compensation. It ends in ${iban}.`,
      ],
      held: (until) =>
        until
          ? `For your safety we transfer nothing to it for 48 hours: until ${until}.`
          : "We transfer nothing to it before 48 hours have passed.",
      after: (partner) =>
        `Is this not right? Then tell ${partner} or us at once; our address is at the end of this mail.`,
    },
  },
};
