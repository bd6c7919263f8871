// timers.ts counts what 100,000 timers of one subtask cost where nobody knows them yet: timers of an operator are loaded whole, by key group.
//
//   node --expose-gc bench/calls/timers.ts [TIMERS]

import { ParamValues } from '../../lib/api/params.ts';
import type { Clock, FileSystem } from '../../lib/core/ports.ts';
import { compile } from '../../lib/graph/compile.ts';
import { collect, defineJob, type Env, keyedProcess, valueState } from '../../lib/index.ts';
import { createJob } from '../../lib/invocation/coordinator/create-job.ts';
import type { EventRecord } from '../../lib/invocation/invocation.ts';
import { createEnvironment } from '../../lib/invocation/unit/create-environment.ts';
import type { Environment } from '../../lib/invocation/unit/environment.ts';
import { describe } from '../../lib/operators/describe.ts';
import { FakeService, fakePorts } from '../../lib/testing/invocation/index.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { type Counts, kinds, Meter, meteredPorts, minus, SizeBook } from './meter.ts';

const timers = Number(process.argv[2] ?? 100_000);
const batch = 1_000;
const startMs = 1_700_000_000_000;
const farMs = 2_000_000_000_000;
const keyOf = (value: number): number => value;

const job = defineJob('timers', (env: Env) => {
  env.enableCheckpointing('60 s');
  env
    .fromCollection([0], { uid: 'in', partitionedBy: keyOf })
    .keyBy(keyOf)
    .process(
      keyedProcess({
        state: { n: valueState<number>() },
        processElement: (value: number, ctx) => ctx.timerService.registerProcessingTimeTimer(farMs + value * 1_000),
        onTimer: () => undefined,
      }),
    )
    .uid('timed')
    .sinkTo(collect(), { uid: 'out' });
});

const clock: Clock = { now: () => startMs, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
const meter = new Meter();
const ports = meteredPorts(fakePorts(new FakeService({ now: clock.now })), meter, new SizeBook());
const plan = compile(describe(job, new ParamValues(new Map())), { keepsPartitions: true });
const random = seededRandom(1);
let taken = 0;

function newEnvironment(): Environment {
  const silent = { report: () => undefined, print: () => undefined };
  return createEnvironment({ plan, ports, clock, random, files: undefined as unknown as FileSystem, ...silent });
}

/** @returns what one invocation asked for */
async function take(environment: Environment, count: number): Promise<Counts> {
  const before = meter.counts;
  const records = Array.from(
    { length: count },
    (_, i): EventRecord => ({ value: taken + i, after: { index: taken + i + 1, at: taken + i + 1 } }),
  );
  const answer = await environment.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: false });
  if (answer.kind !== 'done') throw new Error(`refused: ${JSON.stringify(answer)}`);
  taken += count;
  return minus(meter.counts, before);
}

function told(counts: Counts): string {
  return kinds
    .filter((kind) => counts[kind].requests > 0)
    .map((kind) => `${kind} ${counts[kind].requests} (${counts[kind].items} items, ${counts[kind].bytes} B)`)
    .join(', ');
}

await createJob(ports, { plan, splits: new Map([[0, [{ id: 'a' }]]]), ringSlots: 1_024, nowMs: startMs });
const warm = newEnvironment();
while (taken < timers) await take(warm, Math.min(batch, timers - taken));
const before = meter.counts;
for (let i = 0; i < 1_100; i++) await take(warm, 1); // round the ring, so that all of them lie in the table
console.log(`moved to the table: ${told(minus(meter.counts, before))}`);
globalThis.gc?.();
const heap = process.memoryUsage().heapUsed;
const cpu = process.cpuUsage();
const cold = await take(newEnvironment(), 1);
const { user, system } = process.cpuUsage(cpu);
globalThis.gc?.();
const grown = globalThis.gc === undefined ? '' : `, heap ${((process.memoryUsage().heapUsed - heap) / 1e6).toFixed(0)} MB larger`;
console.log(`first unit of an environment: CPU ${((user + system) / 1_000).toFixed(0)} ms${grown}: ${told(cold)}`);
