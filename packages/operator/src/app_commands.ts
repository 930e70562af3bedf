// Applications that act for people, and people's tokens.

import { Argument, Option } from "commander";
import { USER_SCOPES } from "#shared/values/scopes.ts";
import { about, type Command, changed, limit, list, partner } from "./command.ts";

const scopes = Object.keys(USER_SCOPES);
const app = () => new Argument("<app>", "client_id (or id) of the application");

export const APP_COMMANDS: Command[] = [
  {
    name: "app create",
    summary: "Register an application that acts for people; its secret is shown once",
    details:
      "Redirect URIs are compared letter for letter. With --partner, a new user's first consent attributes them to the partner.",
    example:
      'app create "Laadapp" --operated-by "Laadapp B.V." --redirect-uris https://laadapp.example/callback --scopes sessions:read energy:read',
    takes: [
      new Argument("<name>", "what people know it by, up to 120 characters"),
      new Option("--operated-by <who>", "who runs it, as the consent page shows it").makeOptionMandatory(),
      new Option("--redirect-uris <uri...>", "where people return to with a code; one to ten").makeOptionMandatory(),
      new Option("--scopes <scope...>", "all scopes it may ever ask for").choices(scopes).makeOptionMandatory(),
      new Option("--partner <partner>", "id or slug of the partner it belongs to"),
    ],
    ops: "app_create",
    makes: "app",
    view: changed("app", "Application registered. Its secret is shown only once; we store its hash."),
  },
  {
    name: "app list",
    summary: "List applications, newest first, disabled ones included",
    example: "app list --partner laadpunt-zuid",
    takes: [new Option("--partner <partner>", "only applications of this partner (id or slug)")],
    ops: "app_list",
    view: list("apps", "client_id name operated_by partner_slug people scopes redirect_uris disabled_at"),
  },
  {
    name: "app rotate-secret",
    summary: "Replace the secret of an application; the old one stops working at once",
    details: "Access tokens issued earlier work for up to an hour, unless --revoke-tokens ends them too.",
    example: "app rotate-secret app_4fGh2kLm",
    takes: [app(), new Option("--revoke-tokens", "also end every access token issued earlier")],
    ends: about("app", "will get no more tokens with its current secret"),
    ops: "app_rotate_secret",
    makes: "secret",
    view: changed("app", "Secret replaced. The new one is shown only once; we store its hash."),
  },
  {
    name: "app disable",
    summary: "End an application for good: its secret and all its tokens stop working at once",
    example: "app disable app_4fGh2kLm",
    takes: [app()],
    ends: about("app", "will stop working for good, with all its tokens"),
    ops: "app_disable",
    view: changed("app", "Application disabled."),
  },
  {
    name: "app set-scopes",
    summary: "Replace the scopes that an application may ask people for",
    details: "A removed scope also stops in tokens already issued. An added scope comes with a person's next consent.",
    example: "app set-scopes app_4fGh2kLm chargers:read sessions:read",
    takes: [app(), new Argument("<scopes...>", "all its scopes from now on").choices(scopes)],
    ends: about("app", "will keep only the scopes named here"),
    ops: "app_set_scopes",
    view: changed("app", "Scopes set."),
  },
  {
    name: "app link",
    summary: "Link an application to a partner",
    details: "From now on, first consents attribute new users to that partner. Earlier ones stay as they are.",
    example: "app link app_4fGh2kLm laadpunt-zuid",
    takes: [app(), partner()],
    ops: "app_link",
    view: changed("app", "Application linked."),
  },
  {
    name: "token list",
    summary: "List personal tokens and tokens of applications, newest first",
    example: "token list --user sanne@example.nl",
    takes: [new Option("--user <user>", "only tokens of this person (id or e-mail address)"), limit(50)],
    ops: "token_list",
    view: list("tokens", "id kind email name scopes created_at last_used_at expires_at revoked_at"),
  },
  {
    name: "token revoke",
    summary: "End a personal token, or all tokens from one consent, at once",
    example: "token revoke 5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11",
    takes: [new Argument("<token>", "its id in token list")],
    ends: about("token", "will stop working at once; its owner can make another, or consent again"),
    ops: "token_revoke",
    view: changed("token", "Token revoked."),
  },
];
