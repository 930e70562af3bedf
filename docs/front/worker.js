// A Cloudflare worker that answers the specification's paths at a domain of your own. PROJECT is a variable of the worker: <project>.supabase.co.
const ELSEWHERE = {
  "/openapi.json": "/docs/openapi.json",
  "/llms.txt": "/docs/llms.txt",
  "/.well-known/oauth-authorization-server": "/oauth-token/.well-known/oauth-authorization-server",
};

export default {
  fetch(request, { PROJECT }) {
    const { pathname, search } = new URL(request.url);
    const target = `https://${PROJECT}/functions/v1${ELSEWHERE[pathname] ?? pathname}${search}`;
    return fetch(new Request(target, request), { redirect: "manual" });
  },
};
