// What a spreadsheet makes of a CSV, whatever delimiter it was told, and however it reads quotes.

/** Cells as a reader splits them: by quotes only where they begin a cell, as LibreOffice and Excel do, or not at all. */
export function cellsOf(text: string, delimiter: string, quotes: boolean): string[] {
  const cells: string[] = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charAt(at);
    if (quoted && sign === '"' && text.charAt(at + 1) === '"') {
      cell += '"';
      at += 1;
    } else if (quoted && sign === '"') quoted = false;
    else if (!quoted && quotes && cell === "" && sign === '"') quoted = true;
    else if (!quoted && (sign === delimiter || sign === "\r" || sign === "\n")) {
      cells.push(cell);
      cell = "";
    } else cell += sign;
  }
  return [...cells, cell];
}

/** Cells that a program would compute, of any way to open the file. A number below zero is none. */
export const formulasIn = (text: string): string[] =>
  [",", ";", "\t"].flatMap((delimiter) =>
    [true, false].flatMap((quotes) =>
      cellsOf(text.replace(/^\ufeff/, ""), delimiter, quotes).filter(
        (cell) => /^[\s"]*[=+@＝＋＠－-]/.test(cell) && !/^-\d+([.,]\d+)?$/.test(cell),
      ),
    ),
  );

/** Names that somebody may have, so that a cell of them is computed. */
export const FORMULAS = [
  ...[
    "=1+1",
    "Jan;=1+1;x",
    "Jan,=1+1",
    "Jan\t=1+1",
    'Jan;"=1+1"',
    "a;;@SUM(A1)",
    "a; +31",
    "-2+3",
    "a\r\n=1",
    "a\n-1+1",
  ],
  ...['"=1+1"', "'=1+1", "a;'=1", ";=1;=2;=3", "＝1+1", " =1", 'x";=1+1;"y', "a,\t;=1", '""=1', "=;=,=\t="],
];
