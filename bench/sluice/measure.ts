// measure.ts runs one query as a Sluice job the way the peer is run: a warm-up of the same query in the same process, then
// the measured run, then one JSON line. `wallSeconds` is processing only: from the opening of the sink, which comes before the
// first element is made, to the last row hashed. `cpuSeconds` is the whole process during the whole job, last checkpoint included.
//
//   node bench/sluice/measure.ts --query q0 [--events N] [--warmup-events N] [--seed N] [--cold]

import { parseArgs } from 'node:util';

import type { Job } from '../../lib/index.ts';
import { hex } from '../row-hash.mjs';
import { runEmbedded } from './embedded.ts';
import { tally } from './hash-sink.ts';

const { values: flags } = parseArgs({
  options: {
    query: { type: 'string', default: 'q0' },
    events: { type: 'string', default: '5000000' },
    'warmup-events': { type: 'string', default: '5000000' },
    seed: { type: 'string', default: '42' },
    cold: { type: 'boolean', default: false },
  },
});

const { query, seed } = flags;
const { default: job } = (await import(`./${query}.ts`)) as { readonly default: Job };
if (!flags.cold) await runEmbedded(job, { seed, events: flags['warmup-events'] });
const { cpuSeconds, checkpoints, failedCheckpoints } = await runEmbedded(job, { seed, events: flags.events });

const events = Number(flags.events);
const wallSeconds = (tally.endedAtMs - tally.startedAtMs) / 1_000;
const line = {
  engine: 'sluice',
  query,
  events,
  wallSeconds,
  cpuSeconds,
  eventsPerSecond: Math.round(events / wallSeconds),
  eventsPerCpuSecond: Math.round(events / cpuSeconds),
  rows: tally.rows,
  checksum: hex(tally.sum),
  rssPeakMB: Math.round(process.resourceUsage().maxRSS / 1024),
  checkpoints: checkpoints.length,
  failedCheckpoints,
  checkpointMaxMs: Math.round(Math.max(0, ...checkpoints.map((c) => c.durationMs))),
  checkpointMaxKB: Math.round(Math.max(0, ...checkpoints.map((c) => c.bytes)) / 1024),
};
console.log(JSON.stringify(line));
