// The tables of routes: every endpoint that is declared stands in one, once, under a path that leads to it.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { Endpoint } from "#shared/http/endpoint.ts";
import { functionFor } from "#shared/http/routes.ts";
import { ENDPOINTS_OF, SERVED } from "../harness/answers.ts";

const folder = fileURLToPath(new URL("../../supabase/functions/", import.meta.url));

const isEndpoint = (value: unknown): value is Endpoint =>
  typeof value === "object" && value !== null && "run" in value && "caller" in value;

/** What the files of a function declare and export, with the file's name. */
async function declaredBy(slug: string): Promise<[file: string, endpoint: Endpoint][]> {
  const files = readdirSync(folder + slug)
    .filter((name) => name.endsWith(".ts"))
    .filter((name) => /endpoints?\(/i.test(readFileSync(`${folder}${slug}/${name}`, "utf8")));
  const found = files.map(async (file) => {
    const module: Record<string, unknown> = await import(`${folder}${slug}/${file}`);
    return Object.values(module)
      .filter(isEndpoint)
      .map((endpoint): [string, Endpoint] => [file, endpoint]);
  });
  return (await Promise.all(found)).flat();
}

test.each(SERVED.map((surface) => [surface.slug, surface] as const))(
  "%s lists each of its endpoints in app.ts, and each once",
  async (slug, { endpoints }) => {
    const listed = await Promise.all(Object.values(endpoints).map((load) => load()));
    const declared = await declaredBy(slug);
    expect(declared.length).toBeGreaterThan(0);
    const wrong = declared.flatMap(([file, endpoint]) => {
      const times = listed.filter((each) => each === endpoint).length;
      return times === 1 ? [] : [`${endpoint.id} of ${file} stands ${times} times in ${slug}/app.ts`];
    });
    expect(wrong).toEqual([]);
    expect(listed.length).toBe(declared.length);
  },
);

test.each([...ENDPOINTS_OF])(
  "the paths of %s lead to it, and no route before to another endpoint",
  (slug, endpoints) => {
    for (const { id, method, path } of endpoints) {
      const asked = path.replace(/\{\w+\}/g, "1");
      expect(functionFor(asked), `${path} belongs to another function, or to none, by ROUTES of http/routes.ts`).toBe(
        slug,
      );
      const first = endpoints.find(
        (each) =>
          each.method === method &&
          new RegExp(`^${each.path.replace(/[.:]/g, "\\$&").replace(/\{\w+\}/g, "[^/]+")}$`).test(asked),
      );
      expect(first?.id, `${method} ${path} is answered by the first route that it fits: put it before that`).toBe(id);
    }
  },
);
