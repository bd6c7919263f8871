// measure.mjs runs one bare loop the way the peer is run: a warm-up of the same query in the same process, then the
// measured run, then one JSON line. Processing only: start of the process and warm-up are in no number.
//
//   node bench/bare/q0.mjs [--events N] [--warmup-events N] [--seed N] [--cold]

import { parseArgs } from 'node:util';

import { generator } from '../generator.mjs';
import { hex } from '../row-hash.mjs';

/** Elements made at a time, before the query looks at them. */
export const batchSize = 1_024;

const { values: flags } = parseArgs({
  options: {
    events: { type: 'string', default: '5000000' },
    'warmup-events': { type: 'string', default: '5000000' },
    seed: { type: 'string', default: '42' },
    cold: { type: 'boolean', default: false },
  },
});

/** @param {string} query @param {(source: object, events: number) => { rows: number, sum: number }} loop */
export function measure(query, loop) {
  const source = generator(Number(flags.seed));
  const events = Number(flags.events);
  if (!flags.cold) loop(source, Number(flags['warmup-events']));
  globalThis.gc?.();

  const cpuBefore = process.cpuUsage();
  const startedAt = process.hrtime.bigint();
  const { rows, sum } = loop(source, events);
  const wallSeconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
  const cpu = process.cpuUsage(cpuBefore);
  const cpuSeconds = (cpu.user + cpu.system) / 1e6;

  const line = {
    engine: 'bare',
    query,
    events,
    wallSeconds,
    cpuSeconds,
    eventsPerSecond: Math.round(events / wallSeconds),
    eventsPerCpuSecond: Math.round(events / cpuSeconds),
    rows,
    checksum: hex(sum),
    rssPeakMB: Math.round(process.resourceUsage().maxRSS / 1024),
  };
  console.log(JSON.stringify(line));
}
