// Operators and their database logins.

import { Argument } from "commander";
import { about, type Command, changed, list } from "./command.ts";

const login = () => new Argument("<name>", "lower-case letters and digits, such as eva");

export const LOGIN_COMMANDS: Command[] = [
  {
    name: "login create",
    summary: "Create a database login for one operator; its password is shown once",
    details:
      "Needs the owner of the database (--database-url or OWNER_DATABASE_URL). A payout needs two operators, each " +
      "with their own login: operator_<name>.",
    example: "login create eva",
    takes: [login()],
    ops: "login_create",
    owner: true,
    makes: "login",
    view: changed("login", "Login created. Its password is shown only once."),
  },
  {
    name: "login list",
    summary: "List the logins of operators",
    example: "login list",
    ops: "login_list",
    view: list("logins", "login role enabled"),
  },
  {
    name: "login disable",
    summary: "End the login of an operator for good",
    details:
      "Needs the owner of the database (--database-url or OWNER_DATABASE_URL). Open sessions stay until they close.",
    example: "login disable eva",
    takes: [login()],
    ends: about("name", "will not be let in any more"),
    ops: "login_disable",
    owner: true,
    view: changed("login", "Login disabled."),
  },
];
