// bench.ts is `npm run bench`: all contenders of all queries in turn, round by round, in one run; then the pause of a checkpoint
// and the cold start; then the tables, on the terminal and in docs/benchmarks.md. Results that differ are an error.
//
//   npm run bench -- [--queries q0,q2] [--events 0.1] [--rounds 3] [--no-flink] [--no-pause] [--no-cold-start] [--no-page]

import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { differences } from './checks.ts';
import {
  buildFlink,
  type Contender,
  contenders,
  defaultEvents,
  lastJsonLine,
  type Measurement,
  measure,
  type QueryName,
  queryNames,
} from './contenders.ts';
import { describeEnvironment } from './environment.ts';
import {
  type ColdStart,
  coldStartTargets,
  type Pause,
  pauseTarget,
  render,
  speedTargets,
  type TargetLine,
  writeBetweenMarkers,
} from './report.ts';

const { values: flags } = parseArgs({
  allowNegative: true,
  options: {
    /** Which, separated by commas; empty for none. */
    queries: { type: 'string', default: queryNames.join(',') },
    /** A factor on the number of events of each query. */
    events: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    flink: { type: 'boolean', default: true },
    pause: { type: 'boolean', default: true },
    'cold-start': { type: 'boolean', default: true },
    /** Write docs/benchmarks.md. */
    page: { type: 'boolean', default: true },
  },
});

const rounds = positive('rounds', flags.rounds);
const factor = positive('events', flags.events);
const queries = flags.queries
  .split(',')
  .filter((name) => name !== '')
  .map(asQuery);
const command = ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ');
const environment = describeEnvironment(flags.flink);

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} is ${text}, but it must be a number above 0`);
  return value;
}

function asQuery(name: string): QueryName {
  const found = queryNames.find((known) => known === name);
  if (found === undefined) throw new Error(`unknown query ${name}; known are ${queryNames.join(', ')}`);
  return found;
}

async function measureQuery(query: QueryName): Promise<ReadonlyMap<Contender, readonly Measurement[]>> {
  const events = Math.round(defaultEvents[query] * factor);
  const results = new Map<Contender, Measurement[]>(contenders(flags.flink).map((contender) => [contender, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const [contender, list] of results) {
      const measurement = await measure(contender, query, events);
      list.push(measurement);
      const rate = Math.round(measurement.eventsPerSecond).toLocaleString('en');
      console.error(`${query} round ${round} ${contender}: ${rate} events/s, checksum ${measurement.checksum}`);
    }
  }
  return results;
}

if (flags.flink) await buildFlink();
const results = new Map<QueryName, ReadonlyMap<Contender, readonly Measurement[]>>();
for (const query of queries) results.set(query, await measureQuery(query));
const wrong = [...results].flatMap(([query, list]) => differences(query, list));

const lines: TargetLine[] = [...speedTargets(results)];
const script = (name: string): string => join(import.meta.dirname, name);
if (flags.pause) lines.push(pauseTarget((await lastJsonLine([process.execPath, script('pause.ts')])) as unknown as Pause));
if (flags['cold-start'])
  lines.push(...coldStartTargets((await lastJsonLine([process.execPath, script('cold-start.ts')])) as unknown as ColdStart));

if (wrong.length > 0) {
  console.error(`RESULTS DIFFER, no table is written:\n${wrong.join('\n')}`);
  process.exitCode = 1;
} else {
  const text = render(environment, command, rounds, results, lines);
  console.log(text);
  if (flags.page) writeBetweenMarkers(join(import.meta.dirname, '../docs/benchmarks.md'), text);
}
