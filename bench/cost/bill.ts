// bill.ts makes money of counts. Prices are facts of a file beside this one.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Counts, type Kind, kinds } from '../calls/meter.ts';
import type { FunctionUse } from './functions.ts';

interface Prices {
  readonly source: string;
  readonly usdPerMillion: Readonly<Record<string, number>>;
  readonly usdPerShardHour: number;
  /** On top, of a stream that is kept above a day. */
  readonly usdPerShardHourKept: number;
  readonly sqsPollsPerMonth: number;
}

export const prices: Prices = JSON.parse(readFileSync(join(import.meta.dirname, 'prices.json'), 'utf8'));

export interface BillLine {
  readonly service: string;
  readonly unit: string;
  readonly quantity: number;
  readonly usd: number;
}

export interface Bill {
  readonly lines: readonly BillLine[];
  readonly usd: number;
}

export interface Usage {
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly objectPuts: number;
  readonly objectGets: number;
  readonly queueUnits: number;
  readonly putUnits: number;
  readonly functions: FunctionUse;
  /** Executions of the machine, each started by the schedule. */
  readonly executions: number;
  /** How long one takes: the calls of the pulse, and the second in between where there are two. */
  readonly executionSeconds: number;
}

export const noUsage: Omit<Usage, 'functions'> = {
  writeUnits: 0,
  readUnits: 0,
  objectPuts: 0,
  objectGets: 0,
  queueUnits: 0,
  putUnits: 0,
  executions: 0,
  executionSeconds: 0,
};

/** Pure. A delete of an object costs nothing, a list as much as a put. */
export function usageOf(counts: Counts, of: readonly Kind[] = kinds): Omit<Usage, 'functions' | 'executions' | 'executionSeconds'> {
  const sum = (unit: 'writeUnits' | 'readUnits' | 'queueUnits' | 'putUnits'): number =>
    of.reduce((all, kind) => all + counts[kind][unit], 0);
  const requests = (kind: Kind): number => (of.includes(kind) ? counts[kind].requests : 0);
  return {
    writeUnits: sum('writeUnits'),
    readUnits: sum('readUnits'),
    queueUnits: sum('queueUnits'),
    putUnits: sum('putUnits'),
    objectPuts: requests('object put') + requests('object list'),
    objectGets: requests('object get'),
  };
}

/** What the machine is billed in. */
const executionGb = 0.0625;

export function billOf(u: Usage): Bill {
  const { calls, gbSeconds } = u.functions;
  const functionCalls = Object.values(calls).reduce((a, b) => a + b, 0);
  const lines = [
    line('DynamoDB', 'dynamodb write unit', u.writeUnits),
    line('DynamoDB', 'dynamodb read unit', u.readUnits),
    line('S3', 's3 put, list', u.objectPuts),
    line('S3', 's3 get', u.objectGets),
    line('SQS', 'sqs fifo, 64 KB', u.queueUnits),
    line('Kinesis', 'kinesis put unit, 25 KB', u.putUnits),
    line('Lambda', 'lambda request', functionCalls),
    line('Lambda', 'lambda GB-s, arm', gbSeconds),
    line('Step Functions', 'express start', u.executions),
    line('Step Functions', 'express GB-s', u.executions * u.executionSeconds * executionGb),
    line('Scheduler', 'scheduler call', u.executions),
  ].filter(({ quantity }) => quantity > 0);
  return { lines, usd: lines.reduce((sum, { usd }) => sum + usd, 0) };
}

function line(service: string, unit: string, quantity: number): BillLine {
  const price = prices.usdPerMillion[unit];
  if (price === undefined) throw new Error(`prices.json has no price of ${unit}`);
  return { service, unit, quantity, usd: (quantity * price) / 1e6 };
}
