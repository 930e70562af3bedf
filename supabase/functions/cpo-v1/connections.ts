import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { orNull, trimmedTo, uuid } from "#shared/values/fields.ts";
import { EanValidationStatus, MandateStatus, RegistrationStatus } from "#shared/values/models.ts";
import { ConnectionChange } from "./connection_input.ts";
import { knownAnswer, NEEDS_EAN_REGISTER } from "./ean_register.ts";

export const updateConnection = endpoint(
  {
    id: "updateConnection",
    summary: "Correct the EAN or address of a connection",
    description:
      "Finds the connection by `connection_id`, `account_id` or `cpo_external_ref`; if you send several, all must " +
      "match it. We validate EAN and address together again. A real change revokes a signed mandate, so you must " +
      "send `acknowledge_mandate_lapses: true`. Without it the call returns 409 `mandate_acknowledgement_required` " +
      "and stores nothing. After the change, issue a new mandate link; months are `outside_mandate` until it is " +
      "signed.",
    caller: { kind: "cpo", scope: "cpo:accounts:write" },
    idempotent: true,
    limit: "cpo_write",
    sql: ["update_connection"],
    needs: NEEDS_EAN_REGISTER,
    body: z
      .object({
        connection_id: orNull(uuid()).meta({ description: "The connection: one metering point (EAN) of an account" }),
        account_id: orNull(uuid()).meta({ description: "The account" }),
        cpo_external_ref: orNull(trimmedTo(120)).meta({ description: "Your own customer number" }),
        connection: ConnectionChange,
        acknowledge_mandate_lapses: z
          .unknown()
          .optional()
          .meta({
            override: { type: "boolean", default: false },
            description:
              "Must be exactly true if the connection has a signed mandate, or an expired mandate under which " +
              "delivered months still count",
          }),
      })
      .refine(({ connection_id, account_id, cpo_external_ref }) => connection_id || account_id || cpo_external_ref, {
        message: "send connection_id, account_id or cpo_external_ref",
        path: ["cpo_external_ref"],
      })
      .meta({ id: "UpdateConnection" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        changed: z.boolean().meta({ description: "Whether the request changed anything" }),
        connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
        account_id: z.guid().meta({ description: "The account" }),
        ean_code: z.string().meta({ description: "EAN of the connection, 18 digits" }),
        ean_validation_status: EanValidationStatus,
        registration_status: RegistrationStatus,
        mandate_status: MandateStatus,
        mandate_revoked: z.boolean().meta({ description: "Whether this change revoked a signed mandate" }),
      })
      .meta({ id: "UpdatedConnection" }),
    errors: [
      "connection_not_found",
      "ambiguous_connection",
      "ean_in_use",
      "ean_address_mismatch",
      "mandate_acknowledgement_required",
    ],
    failure: "update_failed",
  },
  ({ body, call, environment }) => {
    const { connection, acknowledge_mandate_lapses, ...criteria } = body;
    return call("update_connection", {
      criteria,
      connection,
      acknowledge_mandate_lapses: acknowledge_mandate_lapses === true,
      ean_register: knownAnswer(environment, connection),
    });
  },
);
