// Operators: who they are to the database.

import { Argument } from "commander";
import { about, type Command, changed, list } from "./command.ts";

const login = () => new Argument("<name>", "small letters and digits, such as eva");

export const LOGIN_COMMANDS: Command[] = [
  {
    name: "login create",
    summary: "Make a login of the database for one operator; its password is shown once",
    details:
      "Needs the owner of the database (--database-url or OWNER_DATABASE_URL). A payout takes two operators, each with a login of their own: operator_<name>.",
    example: "login create eva",
    takes: [login()],
    ops: "login_create",
    owner: true,
    makes: "login",
    view: changed("login", "Login made. Its password is shown this once."),
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
      "Needs the owner of the database (--database-url or OWNER_DATABASE_URL). Sessions that are open end by themselves.",
    example: "login disable eva",
    takes: [login()],
    ends: about("name", "will not be let in any more"),
    ops: "login_disable",
    owner: true,
    view: changed("login", "Login disabled."),
  },
];
