// What npm start prints once everything runs.

import { relative, resolve } from "node:path";
import { DATA_DIRS, type Stack } from "./stack.ts";

export function welcome(
  { host, base_url, functions_url, auth_url, database_url, ocpp_url, demo, auth }: Stack,
  data_dir: string,
  claimLink: string,
  sendsMail = Boolean(process.env.SMTP_URL),
): string {
  // of two that run, the one in the sandbox's own folder is found without being named
  const named =
    data_dir === DATA_DIRS.sandbox ? "" : `OPERATOR_STACK=${relative("", resolve(data_dir, "stack.json"))} `;
  const mail = host === "sandbox" ? "which is captured" : sendsMail ? "which is sent" : "which waits";
  const shows = "with --show, the newest in full: its code, its link";
  return `
  ${host === "sandbox" ? "Sandbox" : "Production"} host is running. Ctrl-C stops it; the data stays.

    docs       ${base_url}/docs
    API        ${base_url}/v1/…
    token      ${auth_url}/oauth-token
    functions  ${functions_url}/<slug>/…
    Auth       ${auth.url}/auth/v1  (apikey: ${auth.publishable_key})
    database   ${database_url}
    chargers   ${ocpp_url}/<identity>  (OCPP 1.6J and 2.0.1; POST /chargers gives identity and password)
    OCPI       ${base_url}/ocpi/versions  (OCPI 2.2.1; operator ocpi add gives a token)
    log        ${resolve(data_dir, "functions.log")}

  To open in a browser:

    to claim, as a customer  ${claimLink}
    a customer's own pages   ${base_url}/pages/mijn  (sign in with a password: ${demo.user.email} / ${demo.user.password})
    a partner's portal       ${base_url}/pages/portal  (the same person, who manages the partner)
    the API's documentation  ${base_url}/docs
    mail, ${mail.padEnd(17)}  ${named}npm run -s operator -- mail list  (${mail === "which waits" ? `no mail server is set by SMTP_URL; ${shows}` : shows})

    client_id      ${demo.cpo.client_id}
    client_secret  ${demo.cpo.client_secret}
    partner key    ${demo.partner.api_key}
    person         ${demo.user.email} / ${demo.user.password}, whose token is ${demo.personal_token}
    application    ${demo.oauth_app.client_id} / ${demo.oauth_app.client_secret}, redirect_uri ${demo.oauth_app.redirect_uri}

  A first request:

    TOKEN=$(curl -s ${auth_url}/oauth-token -d grant_type=client_credentials \\
      -d client_id=${demo.cpo.client_id} -d client_secret=${demo.cpo.client_secret} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
    curl -s ${base_url}/v1/accounts -H "Authorization: Bearer $TOKEN"
`;
}
