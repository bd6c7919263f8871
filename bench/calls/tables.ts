// tables.ts prints what the runs of bench:calls counted.

import { type Counts, type Kind, kinds } from './meter.ts';
import { type Spread, type Steady, totalUnitsPerRecord } from './steady.ts';

const shown: readonly Kind[] = kinds.filter((kind) => kind !== 'receive' && kind !== 'settle' && kind !== 'release');

const bytesOf = (bytes: number): string => (bytes < 10_000 ? `${Math.round(bytes)} B` : `${(bytes / 1_000).toFixed(1)} kB`);
const spread = ({ count, median, p99 }: Spread): string => (count === 0 ? '–' : `${bytesOf(median)}, ${bytesOf(p99)}`);

function rowsOf(name: string, counts: Counts): readonly string[] {
  return shown.flatMap((kind) => {
    const { requests, items, bytes, writeUnits, readUnits, refused } = counts[kind];
    if (requests === 0) return [];
    const cells = [name, kind, requests, items, refused, bytesOf(bytes), writeUnits, readUnits];
    return [`| ${cells.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)).join(' | ')} |`];
  });
}

/** One line for each run, then what each asked for by kind. */
export function countTables(runs: readonly Steady[]): string {
  const lines = runs.map((s) => {
    const { mean, max } = s.versionsPerItem;
    const versions = `${mean.toFixed(2)}, ${max}`;
    return `| ${[s.name, spread(s.entries), spread(s.objects), versions, totalUnitsPerRecord(s.unitsPerRecord).toFixed(4)].join(' | ')} |`;
  });
  return [
    '| run | entry: median, p99 | object: median, p99 | versions of an item: mean, most | write units a record |',
    '|---|---|---|---|---:|',
    ...lines,
    '',
    '| run, who | request | requests | items | refused | bytes | write units | read units |',
    '|---|---|---:|---:|---:|---:|---:|---:|',
    ...runs.flatMap((s) => [...rowsOf(`${s.name}: subtasks`, s.units), ...rowsOf(`${s.name}: coordinator`, s.coordinator)]),
  ].join('\n');
}
