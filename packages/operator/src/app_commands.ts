// Applications that act for people, and people's tokens.

import { Argument, Option } from "commander";
import { USER_SCOPES } from "#shared/values/scopes.ts";
import { about, type Command, changed, limit, list, partner } from "./command.ts";

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
      new Option("--operated-by <who>", "who runs it, as the consent page says").makeOptionMandatory(),
      new Option("--redirect-uris <uri...>", "where people return to with a code, one to ten").makeOptionMandatory(),
      new Option("--scopes <scope...>", "all it may ever ask for")
        .choices(Object.keys(USER_SCOPES))
        .makeOptionMandatory(),
      new Option("--partner <partner>", "id or slug of the partner it belongs to"),
    ],
    ops: "app_create",
    makes: "app",
    view: changed("app", "Application registered. Its secret is shown this once; only a hash of it is stored."),
  },
  {
    name: "app list",
    summary: "List applications, newest first, disabled ones included",
    example: "app list --partner laadpunt-zuid",
    takes: [new Option("--partner <partner>", "only those of this partner (id or slug)")],
    ops: "app_list",
    view: list("apps", "client_id name operated_by partner_slug people scopes redirect_uris disabled_at"),
  },
  {
    name: "app rotate-secret",
    summary: "Replace the secret of an application; the old one is dead at once",
    details: "Access tokens that were issued before live on for up to an hour, unless --revoke-tokens ends them too.",
    example: "app rotate-secret app_4fGh2kLm",
    takes: [app(), new Option("--revoke-tokens", "end every access token issued before as well")],
    ends: about("app", "will get no token any more with the secret it has"),
    ops: "app_rotate_secret",
    makes: "secret",
    view: changed("app", "Secret replaced. The new one is shown this once; only a hash of it is stored."),
  },
  {
    name: "app disable",
    summary: "End an application for good: its secret and every token it holds stop at once",
    example: "app disable app_4fGh2kLm",
    takes: [app()],
    ends: about("app", "will stop working for good, with every token it holds"),
    ops: "app_disable",
    view: changed("app", "Application disabled."),
  },
  {
    name: "app link",
    summary: "Let an application belong to a partner",
    details: "First consents attribute new users to that partner from now on; those that were given stay as they are.",
    example: "app link app_4fGh2kLm laadpunt-zuid",
    takes: [app(), partner()],
    ops: "app_link",
    view: changed("app", "Application linked."),
  },
  {
    name: "token list",
    summary: "List people's personal tokens and what applications hold, newest first",
    example: "token list --user sanne@example.nl",
    takes: [new Option("--user <user>", "only those of this person (id or e-mail address)"), limit(50)],
    ops: "token_list",
    view: list("tokens", "id kind email name scopes created_at last_used_at expires_at revoked_at"),
  },
  {
    name: "token revoke",
    summary: "End a personal token, or all that an application holds by one consent, at once",
    example: "token revoke 5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11",
    takes: [new Argument("<token>", "its id in token list")],
    ends: about("token", "will stop working at once; its owner makes another, or consents again"),
    ops: "token_revoke",
    view: changed("token", "Token revoked."),
  },
];
