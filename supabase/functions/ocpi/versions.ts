import { done } from "./envelope.ts";
import type { PlatformRequest } from "./platform_request.ts";

const root = ({ environment }: PlatformRequest) => `${environment.config.BASE_URL}/ocpi/2.2.1`;

export const showVersions = async (asked: PlatformRequest) => done([{ version: "2.2.1", url: root(asked) }]);

/** What we have: the credentials of both sides, and CDRs that a platform sends. */
export const showDetails = async (asked: PlatformRequest) =>
  done({
    version: "2.2.1",
    endpoints: [
      { identifier: "credentials", role: "RECEIVER", url: `${root(asked)}/credentials` },
      { identifier: "cdrs", role: "RECEIVER", url: `${root(asked)}/receiver/cdrs` },
    ],
  });
