// How parked records read, of a job in a file and of a deployed one, whose query function tells the same fields.
import { plainLine } from '../core/errors.ts';
import { jsonText } from './json-text.ts';
import { tableText } from './table.ts';
import { timeText } from './time-text.ts';

type Fields = Readonly<Record<string, unknown>>;

export function letterTable(letters: readonly Fields[]): string {
  if (letters.length === 0) return 'no dead letter';
  const rows = letters.map((l) =>
    [l.letter, l.subtask, l.operator, timeText(Number(l.parkedMs)), plainLine(String(errorOf(l).message))].map(String),
  );
  return tableText(['letter', 'subtask', 'operator', 'parked', 'error'], rows);
}

export function letterText(l: Fields): string {
  const { code, message } = errorOf(l);
  return [
    `letter ${l.letter}`,
    `  operator  ${l.operator}`,
    `  subtask   ${l.subtask}, entry ${l.n} of generation ${l.generation}`,
    `  place     ${l.place}, record ${l.record}`,
    `  parked    ${timeText(Number(l.parkedMs))}`,
    `  error     ${code}: ${plainLine(String(message))}`,
    `  record    ${jsonText(l.value)}`,
  ].join('\n');
}

export function outcomeText({ letter, outcome }: Fields): string {
  return `${letter}: ${outcome === 'redriven' ? 'redriven' : `refused (${outcome})`}`;
}

function errorOf({ error }: Fields): Fields {
  return typeof error === 'object' && error !== null ? (error as Fields) : { message: error };
}
