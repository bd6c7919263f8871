// contenders.ts knows who runs a query and how: the command line of each contender, and the one JSON line that it prints.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const queryNames = ['q0', 'q1', 'q2', 'wordcount-keyed'] as const;
export type QueryName = (typeof queryNames)[number];

export type Contender = 'bare, one core' | 'Sluice, one core' | 'Sluice' | 'Flink, one core' | 'Flink';

export interface Measurement {
  readonly events: number;
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly eventsPerSecond: number;
  readonly eventsPerCpuSecond: number;
  readonly rows: number;
  readonly checksum: string;
  readonly rssPeakMB: number;
  readonly checkpoints: number | undefined;
}

/** About five seconds or more of the slowest contender, once the code is warm. */
export const defaultEvents: Readonly<Record<QueryName, number>> = {
  q0: 20_000_000,
  q1: 20_000_000,
  q2: 60_000_000,
  'wordcount-keyed': 30_000_000,
};

/** Everyone runs the same query once in the same process before the measured run. */
const warmupEvents = 5_000_000;
const flinkJar = join(import.meta.dirname, 'flink/target/flink-bench.jar');
const flinkJvmOptions = ['-Xms4g', '-Xmx4g'];

export function contenders(hasFlink: boolean): readonly Contender[] {
  const ours: Contender[] = ['bare, one core', 'Sluice, one core', 'Sluice'];
  return hasFlink ? [...ours, 'Flink, one core', 'Flink'] : ours;
}

/** The command without the pinning. Flink is run as `flink/run.sh` does, but once a process, so that rounds can be interleaved. */
export function commandOf(contender: Contender, query: QueryName, events: number): readonly string[] {
  const size = ['--events', String(events), '--warmup-events', String(Math.min(warmupEvents, events))];
  if (contender.startsWith('bare')) return [process.execPath, join(import.meta.dirname, `bare/${query}.mjs`), ...size];
  if (contender.startsWith('Sluice')) return [process.execPath, join(import.meta.dirname, 'sluice/measure.ts'), '--query', query, ...size];
  const options = ['--parallelism', '1', '--checkpoint-ms', '1000', '--object-reuse', '--repeat', '1', '--out', 'json'];
  return ['java', ...flinkJvmOptions, '-jar', flinkJar, '--query', query, ...size, ...options];
}

/** @throws Error with the command and what it wrote when it fails or prints no measurement. */
export async function measure(contender: Contender, query: QueryName, events: number): Promise<Measurement> {
  const command = commandOf(contender, query, events);
  const pinned = contender.endsWith('one core') ? ['taskset', '-c', '0', ...command] : command;
  return asMeasurement(await lastJsonLine(pinned));
}

/** Runs a command and parses the last line of its output that is a JSON object. */
export async function lastJsonLine(command: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const [file = '', ...args] = command;
  const { stdout, stderr } = await promisify(execFile)(file, args, { maxBuffer: 64 * 1024 * 1024 });
  const line = stdout.split('\n').findLast((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`${command.join(' ')} printed no result:\n${stdout}${stderr}`);
  return JSON.parse(line) as Record<string, unknown>;
}

function asMeasurement(line: Readonly<Record<string, unknown>>): Measurement {
  const events = Number(line.events);
  const cpuSeconds = Number(line.cpuSeconds);
  return {
    events,
    wallSeconds: Number(line.wallSeconds),
    cpuSeconds,
    eventsPerSecond: Number(line.eventsPerSecond),
    eventsPerCpuSecond: events / cpuSeconds,
    rows: Number(line.rows),
    checksum: String(line.checksum),
    rssPeakMB: Number(line.rssPeakMB),
    checkpoints: line.checkpoints === undefined ? undefined : Number(line.checkpoints),
  };
}

/** Builds the peer when its jar is missing; `flink/run.sh` does the same and also looks at the age of the sources. */
export async function buildFlink(): Promise<void> {
  if (existsSync(flinkJar)) return;
  await promisify(execFile)('mvn', ['-q', '-B', 'package'], { cwd: join(import.meta.dirname, 'flink') });
}
