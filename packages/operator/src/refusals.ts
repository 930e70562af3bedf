// What each refusal of an ops function means to the operator, and what to do about it.

type Detail = Record<string, unknown>;

const join = (value: unknown) => (Array.isArray(value) ? value.join(", ") : String(value));

const CREDIT_PROBLEMS: Record<string, string> = {
  unknown_row: "is not a row of this booking",
  row_of_another_booking: "belongs to another booking",
  doubled_row: "occurs more than once in the file",
  invalid_kwh: "has an accepted_kwh that is not a number with a point and at most three decimals",
  more_than_submitted: "would be credited more kWh than were submitted",
  reason_missing: "is credited less than was submitted, but has no reason",
  invalid_reason: "has a reason that is longer than 500 characters or one line",
  credited_otherwise: "was credited another amount; undo that first with booking reverse-credit",
};

const moreAtFault = (others: number) =>
  others > 1 ? `; ${others} other lines are at fault too` : others === 1 ? "; another line is at fault too" : "";

export const SENTENCES: Record<string, (detail: Detail) => string> = {
  invalid_name: () => "A name is 1 to 120 characters on one line.",
  invalid_slug: () =>
    "A slug is lower-case letters and digits in words joined by dashes, at most 60 characters; give one with --slug.",
  slug_taken: ({ slug }) => `A partner with the slug ${slug} exists already; give another with --slug.`,
  partner_not_found: ({ partner }) => `No partner has the id or slug "${partner}"; see partner list.`,
  host_not_set: () => "The database does not know which host it belongs to; set it once with host set.",
  host_is_set: ({ host }) =>
    `This database belongs to the ${host} host and has partners, clients or customers; another host needs its own ` +
    "database.",
  server_unknown: () =>
    "The database does not let its owner run pg_control_system(), so it would not know that it was restored. Grant execute on it " +
    "to the owner (docs/deploy.md); nobody is paid before.",
  key_of_another_host: ({ host }) =>
    `This database belongs to the ${host} host, and the key is for the other one; run the command again.`,
  house_has_no_clients: () =>
    "The service's own partner has no clients, applications, keys, managers or settings, because nobody acts for it; name another partner.",
  house_stays_active: () => "The service's own partner cannot be deactivated; people without a partner live in it.",

  export_not_begun: () => "No export of this partner was begun within a day; begin one with partner export.",
  no_table_of_partner: ({ table }) => `${table} is no table of a partner's own rows.`,
  invalid_partner_setting: () =>
    "A referral code is 4 to 20 letters and digits; a percentage is a number from 0 to 100, such as 12.5.",
  referral_code_taken: ({ referral_code }) => `Another partner has the referral code ${referral_code}.`,
  unknown_charger_brand: () => "Not every brand is in the catalogue; write them as GET /v1/catalog/chargers does.",
  too_many_invitations: () => "Twenty people were invited to manage this partner within a day; wait until tomorrow.",
  manages_another_partner: ({ user }) => `${user} already manages another partner; a person can manage one.`,
  api_key_exists: () => "The partner has an active key; replace it with --rotate.",

  webhook_not_found: () => "No endpoint has that id; see webhook list.",
  endpoint_limit: () => "A partner has at most 10 endpoints, its clients' included.",
  endpoint_disabled: () => "Nothing is sent to a disabled endpoint; enable it first with webhook enable.",
  whose_log: () => "Name the log: --partner, or --client.",
  client_reads_no_log: ({ client }) => `${client} has no log; only a CPO client that belongs to a partner has one.`,
  event_not_found: () => "The log has no event with that id, or it is older than 90 days.",
  invalid_cursor: () =>
    "This is not a cursor of this log, not the id of an event, and not a moment such as 2026-11-01T12:00:00Z.",
  cursor_expired: ({ oldest_cursor }) =>
    `An event after this cursor is older than 90 days; the kept events begin at ${oldest_cursor}.`,

  ocpi_not_found: ({ client }) => `${client} has no OCPI connection; begin with ocpi add or ocpi register.`,
  ocpi_registered: ({ client }) => `The platform of ${client} is registered; end that first with ocpi disable.`,
  ocpi_no_pull: ({ client }) =>
    `The platform of ${client} is not registered, or it only sends CDRs and lets nobody read them.`,

  client_not_found: ({ client }) => `No client has the id or client_id "${client}"; see client list.`,
  client_id_taken: ({ client_id }) => `A client with the client_id ${client_id} exists already; run the command again.`,
  client_disabled: ({ client }) => `${client} is disabled for good; create a new client with client create.`,
  client_has_accounts: ({ client }) =>
    `${client} has created accounts under its partner, and they stay there; create a new client for the other partner.`,
  mixed_scopes: () => "Give + before every scope, to add them, or before none, to replace all.",
  client_is_application: ({ client }) => `${client} is an application; use app set-scopes or app link.`,
  unknown_scope: ({ scopes }) => `Give at least one scope, all of them from: ${join(scopes)}.`,
  invalid_return_url: () =>
    "A return URL is https (http only for localhost), at most 500 characters, without credentials, query or fragment.",

  account_not_found: ({ account }) =>
    `No account matches "${account}"; find it with customer find, and name it by its id.`,
  account_ambiguous: ({ account }) => `Several clients have an account "${account}"; name it by its account id.`,
  account_several: ({ account, accounts }) =>
    `"${account}" matches several accounts; name one by its id: ${join(accounts)}.`,
  connection_not_found: ({ connection }) =>
    `"${connection}" matches no active connection; name it by connection id, account id, EAN or cpo_external_ref.`,
  connection_ambiguous: ({ connection }) =>
    `"${connection}" matches several active connections; name one by its connection id, from connection list ` +
    `${connection}.`,
  connection_archived: ({ connection }) => `Connection ${connection} is archived, and stays as it was.`,
  ean_in_use: ({ ean_code }) => `Another active connection holds EAN ${ean_code}; archive that one first.`,
  invalid_ean_status: () => "The EAN status an operator can set is manual or unverified.",
  ean_not_manual: ({ ean_validation_status }) =>
    `Only a manual EAN status can be set back to unverified; this EAN is ${ean_validation_status}.`,

  mandate_not_signed: ({ mandate_status }) => `There is no signed mandate to revoke; its status is ${mandate_status}.`,
  invalid_verdict: () => "The verdict of a review is goedgekeurd or afgekeurd.",
  registration_not_submitted: ({ registration_status }) =>
    `Only a registration that is ingediend can be reviewed; this registration is ${registration_status}.`,
  gates_closed: ({ gates }) =>
    `It cannot be goedgekeurd while a gate is closed (${join(gates)}); open the gate, or review it as afgekeurd.`,

  charging_session_not_found: ({ session }) => `No charging session has the id "${session}".`,
  charger_not_found: ({ charger }) => `No charger has the id "${charger}"; see charger list.`,
  mid_is_certain: ({ mid_meter }) =>
    `The catalogue knows that this model has ${mid_meter ? "a" : "no"} MID meter; there is nothing to confirm.`,

  invalid_factor: () =>
    "A factor has a year from 2026 on, a share from 0 to 1 with at most four decimals after a point (0.52), and a date written 2028-03-31.",
  factor_missing: ({ delivery_year }) =>
    Number(delivery_year) < 2026
      ? `There are no ERE of ${delivery_year}; the first year is 2026.`
      : `There is no factor for ${delivery_year} yet; set it with factor set ${delivery_year} --share.`,
  factor_in_use: ({ delivery_year, renewable_share }) =>
    `Months of ${delivery_year} are booked with the share ${renewable_share}, so it cannot change. Withdraw those ` +
    "bookings first; credited ones cannot be withdrawn.",

  invalid_quarter: () => "A quarter is written 2026-Q2, from 2026-Q1 on.",
  quarter_not_begun: ({ quarter }) => `${quarter} has not begun; nothing is delivered for it yet.`,
  quarter_not_over: ({ quarter }) =>
    `${quarter} is not over, so its booking cannot be submitted and its invoices cannot be issued; booking preview ` +
    `${quarter} shows it so far.`,
  booking_not_found: ({ booking }) =>
    `"${booking}" matches no booking; name an id, a run or a quarter of booking list.`,
  booking_ambiguous: ({ booking, partner }) =>
    `"${booking}" matches several bookings; name one by its id, from booking list ${booking}` +
    `${partner ? ` --partner ${partner}` : ", or add --partner"}.`,
  booking_not_submitted: ({ booking, status }) =>
    `The booking ${booking} is ${status}; this command needs a submitted booking.`,
  booking_withdrawn: ({ booking }) => `The booking ${booking} was withdrawn; open another with booking open.`,
  booking_credited: ({ booking }) =>
    `The register has credited or rejected rows of booking ${booking}, so it cannot be withdrawn; undo those first ` +
    "with booking reverse-credit.",
  booking_exported: ({ booking, exported_at }) =>
    `The booking ${booking} was exported on ${exported_at}, so the register may have its file. Ask the register to ` +
    "drop it, then withdraw with a --reason.",
  credit_file_refused: ({ line, row, problem, others }) =>
    `Line ${line} of the file${row ? `, row ${row},` : ""} ${CREDIT_PROBLEMS[String(problem)]}${moreAtFault(Number(others))}. Nothing was credited.`,
  row_not_found: ({ row }) => `No booking has a row with the id "${row}"; the file of booking export has the ids.`,
  row_sold: ({ row, reference }) =>
    `ERE of row ${row} are sold, by ${reference}; reverse that first with sale reverse ${reference}.`,
  month_delivered_again: ({ row, period }) =>
    `${period} of row ${row} was delivered or booked again after it was rejected; book it with another booking.`,
  granted_below_sold: ({ granted_ere, sold_ere }) =>
    `The register cannot have granted ${granted_ere} ERE, because ${sold_ere} of them are already sold.`,
  invalid_reason: () => "Give a reason with --reason: 1 to 500 characters on one line.",

  invalid_ere: () =>
    "A number of ERE is above zero, with at most nine digits, and without a sign. Decimals, six at most, have a point: 1200.5.",
  invalid_price: () => "A price is above zero and below a million euro. Decimals, six at most, have a point: 0.42.",
  invalid_date: () => "A date is written 2026-06-30, and a sale is of today or before.",
  worth_nothing: () => "That number of ERE at that price comes to less than half a cent; sell more of them at once.",
  not_enough_ere: ({ ere, sellable_ere }) =>
    `${ere} ERE cannot be sold: ${sellable_ere} of the booking are credited and unsold.`,
  reference_taken: ({ reference }) =>
    `Another sale has the reference ${reference}, with other values; see sale show ${reference}.`,
  sale_not_found: ({ sale }) => `No sale has the id or reference "${sale}"; see sale list.`,
  sale_ambiguous: ({ sale }) => `Several partners have a sale "${sale}"; add --partner, or name it by its id.`,
  sale_paid_out: ({ sale }) =>
    `Everything from the sale ${sale} has been paid out; with --recover it becomes a debt, which later payouts settle.`,

  own_login_needed: ({ login }) =>
    `This command needs two people, each with their own login, and ${login} is shared; create one with login ` +
    "create, or on the local stack add --as anna or --as bram.",
  invalid_login: () => "A login name has at most 31 lower-case letters and digits, and begins with a letter.",
  login_taken: ({ login }) => `The login ${login} exists already; a name is never reused for another person.`,
  login_not_found: ({ login }) => `No operator has the login ${login}; see login list.`,

  invalid_minimum: () => "A minimum is a number of euro without a sign. Decimals, two at most, have a point: 2.50.",
  payout_batch_not_found: ({ batch }) => `No batch has the id "${batch}"; see payout list.`,
  payouts_wait: () =>
    "This database was restored or moved to another server, so the bank may have payments that are missing here; take " +
    "them in with payout adopt, then run payout resume (docs/operations.md).",
  payout_differs: ({ batch }) => `What is owed changed while the batch ${batch} was taken in; repeat it.`,
  payout_half_adopted: () =>
    "A batch that was taken in is not exported yet; approve it, then run payout adopt with its file again.",
  payout_cancelled: ({ batch }) => `The batch ${batch} was cancelled; prepare another.`,
  second_person_needed: ({ batch, login }) =>
    `${login} prepared the batch ${batch}, so somebody else has to approve it.`,
  payout_not_approved: ({ batch, status }) =>
    `The batch ${batch} is ${status}; only an approved batch can be exported.`,
  payout_exported: ({ batch, exported_at }) =>
    `The batch ${batch} was exported on ${exported_at}; --again with a --reason writes the same file once more.`,
  payout_gone: ({ batch }) =>
    `The batch ${batch} was exported, so it may be at the bank; if the bank refused the whole file run payout reject, ` +
    "and read what it did to its lines with payout answer.",
  payout_not_exported: ({ batch, status }) => `The batch ${batch} is ${status}; the bank does not have it yet.`,
  payout_rejected: ({ batch }) => `The bank refused the file of batch ${batch}; its money is in the balances again.`,
  payout_waits: ({ batch }) =>
    `Somebody read that the bank refused batch ${batch}, or that a line of it came back. Another operator repeats that first: ` +
    "payout answer with the same file, or payout reject (with --undo if the first was wrong).",
  payout_had_before: () =>
    "AM05 and DUPL say that the bank had the same order before, and pays that one. Nothing was changed; payout answer reads " +
    "from camt.053 or camt.054 what it paid.",
  second_person_releases: ({ login }) =>
    `${login} reported that it failed, so somebody else has to release it, or take it back.`,
  payout_stale: ({ batch, lines }) =>
    `Since batch ${batch} was prepared the IBAN of these lines was changed or barred: ${lines}. ` +
    "Run payout cancel, then payout prepare.",
  payout_booked: ({ batch }) =>
    `The bank booked a line of batch ${batch}, or somebody settled it by hand, so its file does not count as refused; ` +
    "payout answer reads what came back, and payout settle --failed takes back what was not paid.",
  payout_answered: ({ batch }) =>
    `The bank answered to batch ${batch}, so it had the file, and may pay it twice if it gets it again; payout answer reads what it says.`,
  invalid_pays_on: ({ date, next }) =>
    `The bank does not pay on ${date}; give a TARGET day within 90 days, such as ${next} (no weekend, 1 January, Good ` +
    "Friday, Easter Monday, 1 May, 25 or 26 December).",
  invalid_bank_name: () =>
    "A name for the bank is 1 to 70 letters, digits, spaces and / - ? : ( ) . , ' +, with a letter or digit.",
  payout_line_not_found: ({ line }) => `No batch has a line "${line}"; see payout show.`,
  invoice_not_found: ({ number, partner }) => `${partner} has no invoice ${number}; see invoice list.`,
  invalid_vat_rate: () =>
    "A rate of VAT is a percentage from 0 to 100 with at most two decimals after a point (5.5), from a day that is written 2027-01-01.",
  vat_rate_in_use: ({ valid_from }) =>
    `Invoices were issued on or after ${valid_from}, so that rate cannot change; a new rate must begin on a later day.`,
  nothing_to_settle: () =>
    "Name the batch that was paid. Or name lines: with --failed those that failed, with --booked those that the bank paid after all.",
  payout_line_in_both: ({ line }) => `Line ${line} is in both --failed and --booked; say one of them.`,
  payout_line_not_failed: ({ line }) => `Line ${line} did not fail here, so there is nothing to take back.`,
  payout_failed_before: ({ line, reason }) =>
    `Line ${line} failed before, with the reason "${reason}", and that stays. Nothing was changed. If the bank booked it ` +
    "after all, run payout settle --booked.",
  payout_paid_again: ({ line }) =>
    `Another payment has the money of line ${line}, or it was taken back once before. If that payment is not exported ` +
    "run payout cancel for its batch first; else the payee has both, so ask for one of them back.",
  payout_came_back: ({ line }) =>
    `A file of the bank says that line ${line} came back, so its money is payable again; nothing was changed.`,
  ledger_disagrees: ({ partner_slug, check, first }) =>
    `The books of ${partner_slug} do not agree (${check}: ${first}), so nothing in them is deleted; see ledger check.`,
  audit_disagrees: ({ partner_slug, log, fault, row }) =>
    `Row ${row} of the ${log} of ${partner_slug} was changed (${fault}), so nothing in it is deleted; see audit ` +
    "verify.",
  nothing_to_release: ({ payee }) =>
    `No payment to "${payee}" failed; name an account by its id, a partner by its slug.`,

  invalid_evidence_limit: () => "A limit is more than 0 and at most 1048576 MiB.",
  unknown_bucket: ({ bucket, buckets }) =>
    `"${bucket}" is not a bucket for this command; choose from ${join(buckets)}.`,
  invalid_quota: () => "A quota is a whole number from 1 to 1000000.",
  app_not_found: ({ app }) => `No application has the id or client_id "${app}"; see app list.`,
  invalid_redirect_uris: () =>
    "Give one to ten redirect URIs: https (http only for localhost), at most 500 characters, without credentials or fragment.",
  login_not_proved: ({ user }) =>
    `Nobody has proved the address of ${user} with a code, so anybody may have made that login; mail them an ` +
    "invitation with partner invite.",
  user_not_found: ({ user }) => `Nobody has a login with the id or address "${user}"; they sign up first.`,
  token_not_found: ({ token }) => `No token has the id "${token}"; see token list.`,

  mail_not_found: ({ mail }) => `There is no such mail${mail ? `: ${mail}` : ""}; see mail list.`,
  mail_sent: ({ mail }) =>
    `The mail ${mail} was sent, and its text was wiped then; it can only be mailed again as a new mail.`,
  mail_dropped: ({ mail }) =>
    `The mail ${mail} was not sent: its address reached its daily limit, or its reader opted out. After a limit its ` +
    "reader can ask for it again the next day.",
  mail_bounced: ({ mail }) =>
    `The mail ${mail} was sent and came back, and its text was deleted when it was sent; correct the address, then it can ` +
    "be mailed again as a new mail.",
  invalid_since: () => "A moment is written 2026-11-20 (midnight in Amsterdam) or 2026-11-20T09:30:00Z.",
  mail_captured: ({ mail }) => `The mail ${mail} was captured: the sandbox sends no mail.`,
  mail_outdated: ({ mail }) =>
    `The mail ${mail} is about something already done, or has a code or link that expired or was replaced; its ` +
    "reader asks for another one on the page.",
  mail_unwanted: ({ mail }) => `The reader of mail ${mail} has opted out since, and gets no more invitations.`,
  mail_of_inactive_partner: ({ mail, partner }) =>
    `The mail ${mail} invites in the name of ${partner}, which is deactivated; see partner activate.`,

  iban_not_searchable: () =>
    "IBANs are stored encrypted, so they cannot be searched. Type the name on the statement, or the reference of the payment.",
  restore_of_other_host: ({ host }) =>
    `This database belongs to the ${host} host, and the folder was saved on the other one. Nothing was changed.`,
  text_too_short: () => "Type at least three letters or digits; other characters find nothing.",
};

export function sentence(code: string, detail: Detail): string {
  return SENTENCES[code]?.(detail) ?? `Refused: ${code}. Nothing was changed.`;
}
