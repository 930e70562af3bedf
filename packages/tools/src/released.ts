// The one place that says whether the service was released: CHANGELOG.md. Migrations and breaking changes depend on it.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Whether a changelog has a section of a released version, such as `## 1.0.0 (2027-01-31)`. Before that, it has `## Unreleased`. */
export const namesRelease = (changelog: string): boolean => /^## \d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)$/m.test(changelog);

/** Whether the checkout at `root` was released. */
export const isReleased = (root: string): boolean => namesRelease(readFileSync(join(root, "CHANGELOG.md"), "utf8"));
