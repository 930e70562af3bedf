// What each refusal of an ops function means to the person at the command line, and what to do about it.

type Detail = Record<string, unknown>;

const join = (value: unknown) => (Array.isArray(value) ? value.join(", ") : String(value));

export const SENTENCES: Record<string, (detail: Detail) => string> = {
  invalid_name: () => "A name is 1 to 120 characters on one line.",
  invalid_slug: () =>
    "A slug is lower-case letters and digits in words joined by dashes, at most 60 characters; give one with --slug.",
  slug_taken: ({ slug }) => `A partner with the slug ${slug} exists already; give another with --slug.`,
  partner_not_found: ({ partner }) => `No partner has the id or slug "${partner}"; see partner list.`,
  host_not_set: () => "The database does not know which host it belongs to; say so once with host set.",
  host_is_set: ({ host }) =>
    `This database belongs to the ${host} host and has partners, clients or customers; another host has a database of its own.`,
  key_of_another_host: ({ host }) =>
    `This database belongs to the ${host} host, and the key is for the other one; run the command again.`,
  house_has_no_clients: () =>
    "The service's own partner has no clients, applications, keys, managers or settings, because nobody acts for it; name another partner.",
  house_stays_active: () => "The service's own partner cannot be deactivated; people who came on their own live in it.",

  invalid_partner_setting: () =>
    "A referral code is 4 to 20 letters and digits; a percentage is a number from 0 to 100.",
  referral_code_taken: ({ referral_code }) => `Another partner has the referral code ${referral_code}.`,
  unknown_charger_brand: () => "Not every brand is in the catalogue; write them as GET /v1/catalog/chargers does.",
  manages_another_partner: ({ user }) => `${user} manages another partner already; a person manages one.`,
  api_key_exists: () => "The partner has an active key; replace it with --rotate.",

  client_not_found: ({ client }) => `No client has the id or client_id "${client}"; see client list.`,
  client_id_taken: ({ client_id }) => `A client with the client_id ${client_id} exists already; run the command again.`,
  client_disabled: ({ client }) => `${client} is disabled for good; make a new client with client create.`,
  client_has_accounts: ({ client }) =>
    `${client} has created accounts under its partner, and they stay there; make a new client for the other partner.`,
  unknown_scope: ({ scopes }) => `Give at least one scope, all of them from: ${join(scopes)}.`,
  invalid_return_url: () =>
    "A return URL is https (http only for localhost), at most 500 characters, without credentials, query or fragment.",

  account_not_found: ({ account }) => `No account has the id or cpo_external_ref "${account}".`,
  account_ambiguous: ({ account }) => `Several clients have an account "${account}"; name it by its account id.`,
  connection_not_found: ({ connection }) =>
    `No active connection is meant by "${connection}"; name it by connection id, account id, EAN or cpo_external_ref.`,
  connection_ambiguous: ({ connection }) =>
    `"${connection}" means several active connections; name one by its connection id, from connection list ${connection}.`,
  connection_archived: ({ connection }) => `Connection ${connection} is archived, and stays as it was.`,
  ean_in_use: ({ ean_code }) => `Another active connection holds EAN ${ean_code}; archive that one first.`,
  invalid_ean_status: () => "The EAN status an operator can set is manual or unverified.",
  ean_not_manual: ({ ean_validation_status }) =>
    `Only manual can be set back to unverified; this EAN is ${ean_validation_status}.`,

  mandate_not_signed: ({ mandate_status }) => `There is no signed mandate to revoke; it is ${mandate_status}.`,
  invalid_verdict: () => "The verdict of a review is goedgekeurd or afgekeurd.",
  registration_not_submitted: ({ registration_status }) =>
    `Only a registration that is ingediend can be reviewed; this one is ${registration_status}.`,
  gates_closed: ({ gates }) =>
    `It cannot be goedgekeurd while a gate is closed (${join(gates)}); have it opened, or review it as afgekeurd.`,

  charger_not_found: ({ charger }) => `No charger has the id "${charger}"; see charger list.`,
  mid_is_certain: ({ mid_meter }) =>
    `The catalogue is certain that this model has ${mid_meter ? "a" : "no"} MID meter; there is nothing to judge.`,

  invalid_period: () => "A period is a month written YYYY-MM.",
  month_not_found: ({ period }) => `Nothing was delivered for ${period} on this connection.`,
  month_not_staged: ({ status }) => `Only a staged month can be locked; this one is ${status}.`,

  unknown_bucket: ({ bucket, buckets }) => `"${bucket}" is no bucket for this; there are ${join(buckets)}.`,
  invalid_quota: () => "A quota is a whole number from 1 to 1000000.",
  app_not_found: ({ app }) => `No application has the id or client_id "${app}"; see app list.`,
  invalid_redirect_uris: () =>
    "Give one to ten redirect URIs: https (http only for localhost), at most 500 characters, without credentials or fragment.",
  user_not_found: ({ user }) => `Nobody has a login with the id or address "${user}"; they sign up first.`,
  token_not_found: ({ token }) => `No token has the id "${token}"; see token list.`,

  mail_not_found: () => "There is no such mail; see mail list.",
};

export function sentence(code: string, detail: Detail): string {
  return SENTENCES[code]?.(detail) ?? `Refused: ${code}. Nothing was changed.`;
}
