// tables.ts prints what was counted and what it costs.

import { kinds, plus, type Tally } from '../calls/meter.ts';
import type { Bill } from './bill.ts';
import { type ByHand, ways } from './by-hand.ts';
import type { JobRun } from './job-run.ts';
import { usdPerMillion } from './lines.ts';

export interface Priced {
  readonly name: string;
  readonly batch: number;
  readonly records: number;
  readonly bill: Bill;
  readonly writeUnits: number;
  readonly rowsUsd: number;
  readonly shardsUsd: number;
}

const row = (cells: readonly (string | number)[]): string =>
  `| ${cells.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en', { maximumFractionDigits: 0 }) : cell)).join(' | ')} |`;

const services = ['DynamoDB', 'S3', 'SQS', 'Kinesis', 'Lambda', 'Step Functions', 'Scheduler'];

export function pricedByHand(run: ByHand, bill: Bill): Priced {
  return {
    name: `(${run.way}) ${ways[run.way]}`,
    batch: run.batch,
    records: run.records,
    bill,
    writeUnits: run.writeUnits,
    rowsUsd: 0,
    shardsUsd: 0,
  };
}

export function pricedJob({ name, options, steady, usage, bill, rows, shards }: JobRun): Priced {
  const apart = { rowsUsd: rows.usd, shardsUsd: shards.usd };
  return { name, batch: options.batch, records: steady.records, bill, writeUnits: usage.writeUnits, ...apart };
}

/** USD a million records, by service. */
export function moneyTable(list: readonly Priced[]): string {
  const lines = list.map(({ name, batch, records, bill, writeUnits, rowsUsd, shardsUsd }) => {
    const of = (service: string): number => bill.lines.filter((line) => line.service === service).reduce((sum, { usd }) => sum + usd, 0);
    const parts = services.map((service) => (of(service) === 0 ? '–' : usdPerMillion(of(service), records)));
    const apart = [rowsUsd, shardsUsd].map((usd) => (usd === 0 ? '–' : usdPerMillion(usd, records)));
    return row([batch, name, records, (writeUnits / records).toFixed(4), ...parts, `**${usdPerMillion(bill.usd, records)}**`, ...apart]);
  });
  return [
    row([
      'batch',
      'who',
      'records',
      'write units a record',
      ...services,
      'USD a million records',
      "the sink's own writes",
      "the exchange's shards",
    ]),
    '|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...lines,
  ].join('\n');
}

/** What each run asked for, by kind. */
export function requestTable(runs: readonly JobRun[]): string {
  const lines = runs.flatMap(({ name, options, steady, usage }) => {
    const counts = plus(plus(steady.units, steady.coordinator), steady.polls);
    const run = `batch ${options.batch.toLocaleString('en')}, ${name}`;
    const asked = kinds.flatMap((kind) => (counts[kind].requests === 0 ? [] : [rowOf(run, kind, counts[kind])]));
    const { calls, gbSeconds } = usage.functions;
    const called = Object.entries(calls).flatMap(([kind, count]) =>
      count === 0 ? [] : [row([run, `call of a function: ${kind}`, count, '', '', '', '', '', ''])],
    );
    return [...asked, ...called, row([run, 'GB-s of functions, modelled', gbSeconds, '', '', '', '', '', ''])];
  });
  return [
    row(['run', 'request', 'requests', 'items', 'kB', 'write units', 'read units', 'queue units', 'put units']),
    '|---|---|---:|---:|---:|---:|---:|---:|---:|',
    ...lines,
  ].join('\n');
}

function rowOf(run: string, kind: string, { requests, items, bytes, ...units }: Tally): string {
  return row([run, kind, requests, items, bytes / 1_000, units.writeUnits, units.readUnits, units.queueUnits, units.putUnits]);
}
