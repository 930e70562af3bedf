/** Where the pages are under the root. */
export const PATH = "/mijn";

/** What a person who is signed in may run; a signatory of a CPO's customer, who has no login, runs but what SQL lets them. */
export const OWN_SQL = [
  "read_own_start",
  "read_own_charging",
  "read_own_earnings",
  "read_own_mandates",
  "open_own_document",
  "open_own_claim",
  "read_own_chargers",
  "register_own_charger",
  "renew_ocpp_password",
  "choose_own_model",
  "remove_own_charger",
  "read_own_sharing",
  "stop_sharing",
  "stop_application",
  "read_own_tokens",
  "create_personal_token",
  "revoke_personal_token",
  "read_own_end",
  "export_own_data",
  "close_own_account",
  "read_signed_account",
  "send_account_code",
  "change_signed_iban",
  "renew_signed_mandate",
  "open_signed_mandate",
  "send_withdrawal_code",
  "withdraw_signed_mandate",
] as const;
