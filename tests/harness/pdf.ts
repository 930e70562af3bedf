// A PDF as its readers see it: by a library of another project than the one that wrote it, and by the tools of the system where they are.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getDocument } from "pdfjs-dist/legacy/build/pdf.mjs";
import type { World } from "./world.ts";

/** An element of the structure: its role, and its text with everything below it. */
export type Tag = { role: string; text: string; children: Tag[] };
type ReadPdf = {
  pages: number;
  title: string;
  lang: string | null;
  tagged: boolean;
  created: string;
  /** XMP, as it stands in the document. */
  metadata: string;
  /** What is tagged, page after page, from the children of Document on. */
  tags: Tag[];
  /** What is drawn, decoration included. */
  text: string;
  /** Each piece of it, with where it begins and ends on its line, in points. */
  cells: { text: string; left: number; right: number }[];
  attachments: { name: string; text: string }[];
};

type Node = { role?: string; type?: string; id?: string; children?: Node[] };

export async function readPdf(bytes: Uint8Array): Promise<ReadPdf> {
  // it takes the bytes over
  const document = await getDocument({ data: Uint8Array.from(bytes), verbosity: 0 }).promise;
  const { info, metadata } = (await document.getMetadata()) as unknown as {
    info: Record<string, string>;
    metadata: { getRaw(): string };
  };
  const tags: Tag[] = [];
  const cells: ReadPdf["cells"] = [];
  for (let number = 1; number <= document.numPages; number += 1) {
    const page = await document.getPage(number);
    const texts = new Map<string, string>();
    let open: string[] = [];
    const { items } = await page.getTextContent({ includeMarkedContent: true });
    for (const item of items) {
      if ("str" in item) {
        cells.push({ text: item.str, left: item.transform[4], right: item.transform[4] + item.width });
        const id = open.findLast((each) => each !== "");
        if (id) texts.set(id, (texts.get(id) ?? "") + item.str);
      } else if (item.type === "endMarkedContent") open = open.slice(0, -1);
      else open.push((item as { id?: string }).id ?? "");
    }
    const read = (node: Node): Tag => {
      const children = (node.children ?? []).filter(({ role }) => role).map(read);
      const own = (node.children ?? []).flatMap(({ type, id }) =>
        type === "content" && id ? [texts.get(id) ?? ""] : [],
      );
      return { role: node.role ?? "", text: [...own, ...children.map(({ text }) => text)].join(" "), children };
    };
    const root = read((await page.getStructTree()) as Node);
    tags.push(...(root.children[0]?.children ?? []));
  }
  const attached = Object.values(
    ((await document.getAttachments()) ?? {}) as Record<string, { filename: string; content: Uint8Array }>,
  );
  const { lang, MarkInfo } = {
    lang: (info as { Language?: string }).Language ?? null,
    MarkInfo: await document.getMarkInfo(),
  };
  const result = {
    pages: document.numPages,
    title: info.Title ?? "",
    lang,
    tagged: (MarkInfo as { Marked?: boolean } | null)?.Marked === true,
    created: info.CreationDate ?? "",
    metadata: metadata.getRaw(),
    tags,
    text: cells.map(({ text }) => text).join(" "),
    cells,
    attachments: attached.map(({ filename, content }) => ({
      name: filename,
      text: Buffer.from(content).toString("utf8"),
    })),
  };
  await document.destroy();
  return result;
}

/** Whether a program of the system is there. */
export const hasTool = (name: string): boolean => spawnSync(name, ["--version"]).error === undefined;

/** What a program of the system says of a PDF. @throws {Error} where it finds fault with it. */
export function ask(tool: string, options: string[], bytes: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), "ere-pdf-"));
  try {
    writeFileSync(join(folder, "document.pdf"), bytes);
    return execFileSync(tool, [...options, join(folder, "document.pdf")], { encoding: "utf8" });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs the function `documents` until nothing is due: a run renders for about a second. */
export async function renderAll(world: World): Promise<void> {
  let rendered = 1;
  while (rendered > 0) {
    const { body } = await world.send("/documents/run", {
      method: "POST",
      token: world.environment.config.WORKER_SECRET,
    });
    if (!body.ok) throw new Error(`a document was not rendered: ${JSON.stringify(world.log)}`);
    rendered = body.rendered;
  }
}
