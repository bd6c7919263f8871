// report.ts turns measurements into the tables of docs/benchmarks.md. A rate is the median of its rounds. A ratio is the median of
// the ratios of the rounds: the two sides of a round ran one after the other, so that a slow hour of the machine hits both.

import { readFileSync, writeFileSync } from 'node:fs';

import type { Contender, Measurement, QueryName } from './contenders.ts';
import type { Environment } from './environment.ts';

export type Results = ReadonlyMap<QueryName, ReadonlyMap<Contender, readonly Measurement[]>>;

export interface Pause {
  readonly keys: number;
  readonly checkpoints: number;
  readonly longestMs: readonly number[];
  readonly longestWithoutMs: readonly number[];
  readonly pauseMs: number;
}

export interface ColdStart {
  readonly runs: number;
  readonly medianMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly entryPointLoads: readonly string[];
}

export interface TargetLine {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly isMet: boolean;
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

type Rate = 'eventsPerSecond' | 'eventsPerCpuSecond';

/** `undefined` when one of the two did not run. */
export function ratio(results: Results, query: QueryName, rate: Rate, of: Contender, to: Contender): number | undefined {
  const ours = results.get(query)?.get(of) ?? [];
  const theirs = results.get(query)?.get(to) ?? [];
  if (ours.length === 0 || ours.length !== theirs.length) return undefined;
  return median(ours.map((m, round) => m[rate] / (theirs[round]?.[rate] ?? Number.NaN)));
}

export function speedTargets(results: Results): readonly TargetLine[] {
  const lines: TargetLine[] = [];
  const want = (query: QueryName, what: string, rate: Rate, of: Contender, to: Contender, least: number): void => {
    const measured = ratio(results, query, rate, of, to);
    if (measured === undefined) return;
    lines.push({ what: `${query}: ${what}`, target: `≥ ${least}`, measured: measured.toFixed(2), isMet: measured >= least });
  };
  for (const query of results.keys()) {
    if (query === 'wordcount-keyed') {
      want(query, 'Sluice / Flink, both on one core, events per second', 'eventsPerSecond', 'Sluice, one core', 'Flink, one core', 2);
      want(query, 'Sluice / Flink on two threads, events per second', 'eventsPerSecond', 'Sluice', 'Flink', 1.2);
    }
    want(query, 'Sluice / bare loop, events per CPU second', 'eventsPerCpuSecond', 'Sluice, one core', 'bare, one core', 0.7);
  }
  return lines;
}

export function pauseTarget(pause: Pause): TargetLine {
  const detail = `${pause.longestMs[0]} ms with, ${pause.longestWithoutMs[0]} ms without`;
  const what = `pause of a checkpoint, ${pause.keys.toLocaleString('en')} keys on the heap, ${pause.checkpoints} checkpoints`;
  return { what, target: '< 50 ms', measured: `${pause.pauseMs} ms (${detail})`, isMet: pause.pauseMs < 50 };
}

export function coldStartTargets(cold: ColdStart): readonly TargetLine[] {
  const loads = cold.entryPointLoads.length === 0 ? 'none' : cold.entryPointLoads.join(', ');
  return [
    {
      what: `first record after the start of \`sluice run\`, median of ${cold.runs}`,
      target: '≤ 400 ms',
      measured: `${cold.medianMs} ms (${cold.minMs} to ${cold.maxMs} ms)`,
      isMet: cold.medianMs <= 400,
    },
    { what: 'modules of other packages that the entry point `sluice` loads', target: 'none', measured: loads, isMet: loads === 'none' },
  ];
}

const millions = (n: number): string => `${(n / 1e6).toFixed(2)} M`;

function rateTable(results: Results): string {
  const head =
    '| query | who | events/s | lowest to highest | events per CPU second | peak memory | checkpoints | checksum |\n|---|---|---:|---|---:|---:|---:|---|';
  const rows = [...results].flatMap(([query, contenders]) =>
    [...contenders].map(([contender, list]) => {
      const rates = list.map((m) => m.eventsPerSecond);
      const cells = [
        query,
        contender,
        millions(median(rates)),
        `${millions(Math.min(...rates))} to ${millions(Math.max(...rates))}`,
        millions(median(list.map((m) => m.eventsPerCpuSecond))),
        `${Math.round(median(list.map((m) => m.rssPeakMB)))} MB`,
        list[0]?.checkpoints === undefined ? '–' : String(median(list.map((m) => m.checkpoints ?? 0))),
        `\`${list[0]?.checksum ?? ''}\``,
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  );
  return [head, ...rows].join('\n');
}

export function targetTable(lines: readonly TargetLine[]): string {
  const rows = lines.map((line) => `| ${line.what} | ${line.target} | ${line.measured} | ${line.isMet ? 'yes' : '**no**'} |`);
  return ['| what | target | measured | met |\n|---|---|---|---|', ...rows].join('\n');
}

export function render(environment: Environment, command: string, rounds: number, results: Results, lines: readonly TargetLine[]): string {
  const sizes = [...results].map(([query, contenders]) => `${query} ${millions([...contenders.values()][0]?.[0]?.events ?? 0)}`);
  return [
    `Machine: ${environment.cpu}, ${environment.memory}; load average before the run ${environment.load1.toFixed(2)}.  `,
    `Versions: ${environment.versions}; commit ${environment.commit}.  `,
    `Command: \`${command}\`. Rounds: ${rounds}. Events: ${sizes.join(', ')}.`,
    '',
    targetTable(lines),
    ...(results.size === 0 ? [] : ['', rateTable(results)]),
  ].join('\n');
}

/** Replaces what lies between the two markers of the page. */
export function writeBetweenMarkers(page: string, text: string, name = 'bench'): void {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const before = readFileSync(page, 'utf8');
  const from = before.indexOf(begin);
  const to = before.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${page} has no ${begin} … ${end} to write the table between`);
  writeFileSync(page, `${before.slice(0, from + begin.length)}\n${text}\n${before.slice(to)}`);
}
