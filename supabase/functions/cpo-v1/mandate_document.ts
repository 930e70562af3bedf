import { answerDocument, PdfDocument } from "#shared/domain/documents.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { uuid } from "#shared/values/fields.ts";

export const readMandateDocument = endpoint(
  {
    id: "readMandateDocument",
    summary: "Download the signed mandate of a connection",
    description:
      "A tagged PDF (PDF/UA-1) with the signed text, its SHA-256, who signed it and when. The text itself is " +
      "attached. If there are several mandates, you get the one that covers today. If none does, you get the last " +
      "one signed, which may have ended. The bytes never change; `Repr-Digest` (RFC 9530) has their SHA-256. In the " +
      "first seconds after signing, the PDF is not ready: the call returns 503 with `Retry-After`.",
    params: { connection_id: "The connection: one metering point (EAN) of an account" },
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["read_connection_mandate"],
    produces: "application/pdf",
    response: PdfDocument,
    errors: ["connection_not_found", "mandate_not_found", "document_not_ready"],
    failure: "internal_error",
  },
  async ({ param, call, fail }) => {
    const connection_id = uuid().safeParse(param("connection_id")).data ?? fail("connection_not_found");
    return answerDocument(JSON.parse(await call("read_connection_mandate", { connection_id })));
  },
);
