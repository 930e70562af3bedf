import { createHash } from "node:crypto";
import { readCdr } from "#shared/domain/charging_in/ocpi/cdr.ts";
import { partyIn } from "#shared/domain/charging_in/ocpi/routing.ts";
import { cdrAsKept } from "#shared/domain/charging_in/ocpi/shown.ts";
import { parseJson } from "#shared/http/body.ts";
import { MAX_LEVELS } from "#shared/values/json.ts";
import { storable } from "#shared/values/text.ts";
import { done, wrong } from "./envelope.ts";
import type { PlatformRequest } from "./platform_request.ts";

/** What a sender reads back: the same for the same CDR, whatever the case of its ids. */
const locationOf = ({ environment }: PlatformRequest, party: string, id: string) =>
  `${environment.config.BASE_URL}/ocpi/2.2.1/receiver/cdrs/${party}/${encodeURIComponent(id)}`;

export async function receiveCdr(asked: PlatformRequest) {
  const { request, self, text, call } = asked;
  const read = readCdr(parseJson(text, MAX_LEVELS));
  const sent_sha256 = createHash("sha256").update(text).digest("hex");
  const to = partyIn(request.headers, "to");
  const cdr =
    to && to !== self ? { place: 0, refused: "OCPI-to-party-id: is not us" } : { place: 0, ...read, sent_sha256 };
  const result = JSON.parse(await call("take_cdr", { cdr, from: partyIn(request.headers, "from") }));
  if (result.status === "refused") return wrong(result.reason);
  if ("refused" in read) return wrong(read.refused);
  const answer = done();
  answer.headers.Location = locationOf(asked, read.party, read.id);
  return answer;
}

export async function showCdr({ call, param }: PlatformRequest) {
  const of = { party: storable(param("party")).toUpperCase(), cdr_id: storable(param("cdr_id")).toUpperCase() };
  return done(cdrAsKept(JSON.parse(await call("get_cdr", of))));
}
