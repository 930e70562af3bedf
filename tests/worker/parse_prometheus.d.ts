// The package has no types of its own.
declare module "parse-prometheus-text-format" {
  type Family = {
    name: string;
    help: string;
    type: "COUNTER" | "GAUGE" | "HISTOGRAM" | "SUMMARY" | "UNTYPED";
    metrics: { value: string; labels?: Record<string, string> }[];
  };
  export default function parse(text: string): Family[];
}
