import { expect, test } from 'vitest';
import { collect, defineJob, type Env } from '../../../../lib/index.ts';
import { pulse } from '../../../../lib/invocation/coordinator/pulse.ts';
import type { Answer, EventRecord, Invocation } from '../../../../lib/invocation/invocation.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

test('records that a tick sets free are marked before they run, also in an environment that knows the subtask', async () => {
  const told: string[] = [];
  const job = defineJob('freed', (env: Env) => {
    env.enableCheckpointing('60 s', { timeout: '10 s', tolerableFailures: 5 });
    const [one, other] = ['one', 'other'].map((uid) => env.fromCollection<string>([], { uid }));
    one!
      .union(other!)
      .keyBy(() => 'k')
      .map((record) => {
        told.push(`run ${record}`);
        return record;
      })
      .sinkTo(collect<string>(), { uid: 'out' });
  });
  const world = new InvocationWorld({
    job,
    wrap: (ports) => {
      const put: typeof ports.items.put = (p) => {
        if (p.name.startsWith('marker/')) told.push('mark');
        return ports.items.put(p);
      };
      return {
        ...ports,
        items: {
          get: (name) => ports.items.get(name),
          list: (prefix) => ports.items.list(prefix),
          remove: (p) => ports.items.remove(p),
          put,
        },
      };
    },
  });
  await world.create();
  const { ports, plan, clock, random, settler } = world;
  const stageOf = (uid: string): number => plan.stages.find(({ operators }) => operators[0]!.uid === uid)!.id;
  const behind = plan.stages.find(({ inputs }) => inputs.length > 0)!.id;
  const isSilent = (i: Invocation): boolean => i.subtask === `${stageOf('other')}-0`;
  const pulses = async (): Promise<void> => {
    const invoke = async (i: Invocation): Promise<Answer> => (isSilent(i) ? { kind: 'refused', why: 'contended' } : await world.invoke(i));
    await pulse({ ports, plan, control: { invoke }, settler, clock, random });
  };
  const read = (n: number): Promise<Answer> => {
    const records: readonly EventRecord[] = [{ value: `r${n}`, after: { index: n + 1, at: n + 1 } }];
    return world.invoke({ kind: 'records', subtask: `${stageOf('one')}-0`, split: 0, records, isLast: false });
  };
  await read(0);
  while (await world.drain());
  world.now += 60_000;
  for (let i = 0; i < 2; i++) await pulses();
  await read(1);
  while (await world.drain());
  expect((await world.item()).open).toHaveLength(1);
  world.now += 11_000;
  told.length = 0;
  await pulses();
  expect((await world.item()).open).toEqual([]);
  expect(await world.invoke({ kind: 'tick', subtask: `${behind}-0` })).toEqual({ kind: 'done' });
  expect(told.slice(0, 2)).toEqual(['mark', 'run r1']);
});
