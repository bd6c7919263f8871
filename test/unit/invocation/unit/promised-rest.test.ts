// Under AT_MOST_ONCE positions say that a slice is taken before it runs. What shows only behind all of it, such as operator state that cannot be stored, is
// found by running fewer records, and the rest of the slice runs after that.
import { expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, type Source } from '../../../../lib/index.ts';
import type { EventRecord, QueueMessage } from '../../../../lib/invocation/invocation.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';
import { queueSource } from '../../../support/lane-world.ts';

const all = Array.from({ length: 71 }, (_, i) => i);

/** Behind the last record there is state that no codec stores. */
function worldOver(source: Source<number> | undefined) {
  const out = collect<number>();
  const unstorable = () => {
    let isBad = false;
    return {
      processElement: (n: number, _ctx: unknown, to: Collector<number>) => {
        if (n === 70) isBad = true;
        to.collect(n);
      },
      snapshotState: () => (isBad ? [() => 1] : [0]),
      restoreState: () => undefined,
    };
  };
  const job = defineJob('promised', (env: Env) => {
    env.setParallelism(1);
    env.enableCheckpointing('5 s', { mode: 'AT_MOST_ONCE' });
    const stream = source === undefined ? env.fromCollection(all, { uid: 'in' }) : env.fromSource<number>(source, { uid: 'in' });
    stream.process(unstorable).uid('odd').sinkTo(out, { uid: 'out' });
  });
  return { out, world: new InvocationWorld({ job }) };
}

test('of records of a source', async () => {
  const { out, world } = worldOver(undefined);
  await world.create();
  const records = all.map((value): EventRecord => ({ value, after: { index: value + 1, at: value + 1 } }));
  expect(await world.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: false })).toEqual({ kind: 'done' });
  for (let i = 0; i < 20; i++) await world.pulse();
  expect(out.rows).toEqual(all.slice(0, 70));
});

test('of messages of a queue', async () => {
  const { out, world } = worldOver(queueSource<number>({ order: 'standard', lanes: 1, retentionMs: 3_600_000 }));
  await world.create();
  const messages = all.map((body): QueueMessage => ({ id: `m${body}`, group: '', sequence: '0', receives: 1, sentMs: world.now, body }));
  expect(await world.invoke({ kind: 'queue', subtask: '0-0', messages })).toEqual({ kind: 'done' });
  for (let i = 0; i < 20; i++) await world.pulse();
  expect([...out.rows].sort((a, b) => a - b)).toEqual(all.slice(0, 70));
});
