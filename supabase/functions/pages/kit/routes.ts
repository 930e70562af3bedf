import type { Flow, Handler } from "./page_request.ts";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** The id of something, in the path of a route. */
export const ID = `:id{${UUID}}`;

const WHOLE = new RegExp(`^${UUID}$`);

/** Whether what a form or an address says can be an id at all. */
export const isId = (text: string): boolean => WHOLE.test(text);

/** The nearest page of a flow at a path, or above it: the page of a form that goes to an address of its own. Empty at the top. */
export function pageAt({ routes }: Pick<Flow, "routes">, path: string): string {
  const matches = (route: string) =>
    new RegExp(`^${route.replace(/:\w+(?:\{([^/]+)\})?(?=\/|$)/g, (_, rule = "[^/]+") => `(?:${rule})`)}$`).test(path);
  if (path === "" || routes.some((route) => route.method === "GET" && matches(route.path))) return path;
  return pageAt({ routes }, path.slice(0, path.lastIndexOf("/")));
}

/** Where sign-in links of partners are, under the root. */
export const ENTER = "/enter";

/** The handlers of a flow by their names, loaded with the first of its pages that somebody asks for: most requests are for others. */
export const loadedLate =
  <Name extends string>(load: () => Promise<{ handlers: Readonly<Record<Name, Handler>> }>) =>
  (name: Name): Handler =>
  async (request) =>
    (await load()).handlers[name](request);

/** Where the forms of signing in go, and that of signing out. What they do is signInHandlers() of sign_in.ts. */
export const signInRoutes = (
  path: string,
  does: (name: "signInByPassword" | "mailCode" | "showCode" | "signInByCode" | "signOut") => Handler,
): Flow["routes"] => [
  { method: "POST", path: `${path}/sign-in`, run: does("signInByPassword") },
  { method: "POST", path: `${path}/mail-code`, run: does("mailCode") },
  { method: "GET", path: `${path}/code`, run: does("showCode") },
  { method: "POST", path: `${path}/code`, run: does("signInByCode") },
  { method: "POST", path: `${path}/sign-out`, run: does("signOut") },
];
