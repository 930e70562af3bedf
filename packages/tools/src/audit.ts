// Known vulnerabilities of what we deploy: `node audit.ts` asks npm, and fails on a high or critical one. A registry that gives no
// audit, such as a mirror, fails nothing.

import { spawnSync } from "node:child_process";
import { ROOT } from "#local/checkout.ts";

type Advisory = { title?: string; url?: string };
type Report = {
  auditReportVersion?: number;
  message?: string;
  vulnerabilities?: Record<string, { severity: string; range: string; via: (Advisory | string)[] }>;
};

/** From this severity on a deployment stops. */
const GRAVE = ["high", "critical"];

const { stdout, stderr } = spawnSync("npm", ["audit", "--json", "--omit=dev"], { cwd: ROOT, encoding: "utf8" });
let report: Report = {};
try {
  report = JSON.parse(stdout);
} catch {
  report.message = stderr.trim();
}
if (report.auditReportVersion === undefined) {
  console.log(`Not audited: the registry gives no advisories. ${report.message ?? ""}`);
} else {
  const found = Object.entries(report.vulnerabilities ?? {});
  for (const [name, { severity, range, via }] of found) {
    const about = via.map((each) =>
      typeof each === "string" ? `by ${each}` : `${each.title ?? ""} ${each.url ?? ""}`,
    );
    console.log(`${severity}  ${name} ${range}  ${about.join("; ")}`);
  }
  const grave = found.filter(([, { severity }]) => GRAVE.includes(severity));
  console.log(`${found.length} vulnerable packages, ${grave.length} of them high or critical`);
  process.exitCode = grave.length > 0 ? 1 : 0;
}
