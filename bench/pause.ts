// pause.ts measures what a checkpoint costs the record that comes at the wrong moment: the longest time between two records at
// a keyed operator that holds a million keys, over 20 checkpoints, less the longest of the same run without checkpoints.
//
//   node bench/pause.ts [--keys 1000000] [--checkpoints 20] [--interval-ms 1000]
//
// The operator reads the clock at every record, so its rate says nothing. Gaps count from the second time that each key is seen:
// before that state grows, and the code is still being compiled. What the machine and the garbage collector do is in both runs.

import { parseArgs } from 'node:util';

import { type Collector, defineJob, FsStateBackend, valueState } from '../lib/index.ts';
import { runEmbedded } from './sluice/embedded.ts';
import { hashSink, tally } from './sluice/hash-sink.ts';

const { values: flags } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' },
    checkpoints: { type: 'string', default: '20' },
    'interval-ms': { type: 'string', default: '1000' },
  },
});
const keys = Number(flags.keys);
const wanted = Number(flags.checkpoints);
const intervalMs = Number(flags['interval-ms']);
/** Coprime with every count of keys that is not a multiple of it: neighbours in time are strangers in memory. */
const stride = 7_919;
const warmRounds = 2;
const gapsKept = 5;

/** The longest gaps, longest first, and how many records lay between the first and the last that counted. */
const gaps = { longestMs: [] as number[], records: 0, firstMs: 0, lastMs: 0, checkpointsBefore: 0 };

function noteRecord(): void {
  const now = performance.now();
  gaps.records++;
  if (gaps.records === warmRounds * keys) Object.assign(gaps, { firstMs: now, checkpointsBefore: tally.checkpoints });
  if (gaps.records > warmRounds * keys && tally.checkpoints - gaps.checkpointsBefore < wanted) {
    const gap = now - gaps.lastMs;
    if (gap > (gaps.longestMs[gapsKept - 1] ?? 0)) {
      gaps.longestMs.push(gap);
      gaps.longestMs.sort((a, b) => b - a);
      gaps.longestMs.length = Math.min(gapsKept, gaps.longestMs.length);
    }
  }
  gaps.lastMs = now;
}

const job = defineJob('pause', (env, params) => {
  env.setStateBackend(new FsStateBackend(params.required('checkpoints')));
  if (params.boolean('checkpointing')) env.enableCheckpointing(intervalMs);
  env
    .generate((i) => (i * stride) % keys, { uid: 'numbers', count: params.number('events') })
    .keyBy((n) => n)
    .process({
      state: { seen: valueState<number>({ default: () => 0 }) },
      processElement(_n, ctx, out: Collector<number>) {
        noteRecord();
        const seen = ctx.state.seen.value() + 1;
        ctx.state.seen.update(seen);
        out.collect(seen);
      },
    })
    .uid('seen')
    .sinkTo(
      hashSink((seen: number) => seen),
      { uid: 'rows' },
    );
});

async function measure(
  events: number,
  hasCheckpoints: boolean,
): Promise<{ longestMs: number[]; recordsPerSecond: number; checkpoints: number }> {
  Object.assign(gaps, { longestMs: [], records: 0, firstMs: 0, lastMs: 0, checkpointsBefore: 0 });
  await runEmbedded(job, { events: String(events), checkpointing: String(hasCheckpoints) });
  const recordsPerSecond = (gaps.records - warmRounds * keys) / ((gaps.lastMs - gaps.firstMs) / 1_000);
  return { longestMs: gaps.longestMs, recordsPerSecond, checkpoints: tally.checkpoints - gaps.checkpointsBefore };
}

/** The first run tells the rate, so that the measured ones are long enough for the checkpoints, with a fifth to spare. */
const probe = await measure((warmRounds + 2) * keys, false);
let events = warmRounds * keys + Math.ceil(probe.recordsPerSecond * (intervalMs / 1_000) * wanted * 1.2);
let withCheckpoints = await measure(events, true);
for (let tries = 0; withCheckpoints.checkpoints < wanted && tries < 3; tries++) {
  events = Math.ceil(events * 1.5);
  withCheckpoints = await measure(events, true);
}
const without = await measure(events, false);
if (withCheckpoints.checkpoints < wanted)
  throw new Error(`only ${withCheckpoints.checkpoints} checkpoints in ${events} records, ${wanted} are needed`);

const round = (ms: number): number => Math.round(ms * 10) / 10;
console.log(
  JSON.stringify({
    bench: 'pause',
    keys,
    events,
    checkpoints: wanted,
    longestMs: withCheckpoints.longestMs.map(round),
    longestWithoutMs: without.longestMs.map(round),
    pauseMs: round(Math.max(0, (withCheckpoints.longestMs[0] ?? 0) - (without.longestMs[0] ?? 0))),
  }),
);
