// A CDR as its sender reads it back.

type Json = Record<string, unknown>;

const NONE = "#NA";

/**
 * What is kept of a CDR, complete by the specification: `#NA` for what we do not keep, or never got.
 * @param document what readCdr() kept
 */
export function cdrAsKept(document: Json): Json {
  const { country_code, party_id, end_date_time } = document;
  const location = document.cdr_location as Json;
  return {
    cdr_token: { country_code, party_id, uid: NONE, type: "OTHER", contract_id: NONE },
    auth_method: "WHITELIST",
    currency: "EUR",
    charging_periods: [],
    total_cost: { excl_vat: 0 },
    total_time: 0,
    last_updated: end_date_time,
    ...document,
    cdr_location: {
      id: NONE,
      address: NONE,
      city: NONE,
      coordinates: { latitude: "0.000000", longitude: "0.000000" },
      evse_uid: NONE,
      evse_id: NONE,
      connector_id: NONE,
      connector_standard: "IEC_62196_T2",
      connector_format: "SOCKET",
      connector_power_type: "AC_3_PHASE",
      ...location,
    },
  };
}
