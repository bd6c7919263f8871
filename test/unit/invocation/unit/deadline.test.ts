import { describe, expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, WatermarkStrategy } from '../../../../lib/index.ts';
import type { Answer, EventRecord, QueueMessage } from '../../../../lib/invocation/invocation.ts';
import { commitReserveMs } from '../../../../lib/invocation/unit/session.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';
import { queueSource } from '../../../support/lane-world.ts';
import { pushed } from '../../../support/pushed-source.ts';

const modes = ['EXACTLY_ONCE', 'AT_MOST_ONCE'] as const;

/** Work of an invocation before it has to come to its end, ms. */
const patienceMs = 500;

class Slow {
  readonly out = collect<number>();
  readonly world: InvocationWorld;

  /** Every record takes a millisecond. */
  constructor(mode: (typeof modes)[number], source: Parameters<Env['fromSource']>[0]) {
    const job = defineJob('slow', (env: Env) => {
      env.setParallelism(1);
      env.enableCheckpointing('5 s', { mode });
      env
        .fromSource(source, { uid: 'in' })
        .map((n) => {
          this.world.now += 1;
          return n as number;
        })
        .uid('work')
        .sinkTo(this.out, { uid: 'out' });
    });
    this.world = new InvocationWorld({ job });
  }

  /** Input is given again as far as it was not taken. @returns the answers */
  async give(total: number, invoke: (from: number, deadlineMs: number) => Promise<Answer>): Promise<readonly Answer[]> {
    await this.world.create();
    const answers: Answer[] = [];
    for (let at = 0; at < total; ) {
      const answer = await invoke(at, this.world.now + commitReserveMs + patienceMs);
      answers.push(answer);
      expect(answer.kind).not.toBe('refused');
      at = answer.kind === 'partial' ? at + answer.count : total;
    }
    for (let pulses = 0; pulses < 30; pulses++) await this.world.pulse();
    return answers;
  }
}

describe.each(modes)('an event that takes longer than its invocation has, under %s', (mode) => {
  const values = Array.from({ length: 2_500 }, (_, i) => i);

  test('is taken from the front, and nothing of it is lost', async () => {
    const slow = new Slow(mode, pushed);
    const { out, world } = slow;
    const records = values.map((value): EventRecord => ({ value, after: { index: value + 1, at: value + 1 } }));
    const answers = await slow.give(values.length, (from, deadlineMs) =>
      world.environments[0]!.invoke(
        { kind: 'records', subtask: '0-0', split: 0, records: records.slice(from), isLast: false },
        { deadlineMs },
      ),
    );
    expect(answers.length).toBeGreaterThan(1);
    expect(out.rows).toEqual(values);
  });

  test('of a queue, too, though state had to be loaded first', async () => {
    const slow = new Slow(mode, queueSource<number>({ order: 'standard', lanes: 1, retentionMs: 3_600_000 }));
    const { out, world } = slow;
    const sentMs = world.now;
    const messages = values.map((body): QueueMessage => ({ id: `m${body}`, group: '', sequence: '0', receives: 1, sentMs, body }));
    const answers = await slow.give(values.length, (from, deadlineMs) =>
      world.environments[0]!.invoke({ kind: 'queue', subtask: '0-0', messages: messages.slice(from) }, { deadlineMs }),
    );
    expect(answers.length).toBeGreaterThan(1);
    expect(out.rows).toEqual(values);
  });
});

test('timers that throw are counted as far as there is time, and letters take the places of all in the end', async () => {
  const timers = 20;
  const job = defineJob('timers', (env: Env) => {
    env.enableCheckpointing('60 s');
    env
      .fromSource<number>(pushed, {
        uid: 'in',
        partitionedBy: (n) => n,
        watermarks: WatermarkStrategy.forMonotonousTimestamps<number>().withTimestamps((n) => n),
      })
      .keyBy((n) => n)
      .process(
        keyedProcess({
          state: {},
          processElement: (_n: number, ctx, _to: Collector<string>) => ctx.timerService.registerEventTimeTimer(50),
          onTimer: () => {
            world.now += 100;
            throw new Error('no');
          },
        }),
      )
      .uid('timed')
      .sinkTo(collect<string>(), { uid: 'out' });
  });
  const world = new InvocationWorld({ job });
  await world.create();
  const give = (from: number, to: number, at: number): Promise<Answer> => {
    const records = Array.from({ length: to - from }, (_, i): EventRecord => ({ value: at + i, after: { index: from + i + 1, at: 0 } }));
    const event = { kind: 'records' as const, subtask: '0-0', split: 0, records, isLast: false };
    return world.environments[0]!.invoke(event, { deadlineMs: world.now + commitReserveMs + patienceMs });
  };
  expect(await give(0, timers, 0)).toEqual({ kind: 'done' });
  let longestMs = 0;
  for (let tries = 0; ; tries++) {
    expect(tries).toBeLessThan(40);
    const began = world.now;
    const answer = await give(timers, timers + 1, 100);
    longestMs = Math.max(longestMs, world.now - began);
    if (answer.kind === 'done') break;
    expect(answer).toEqual({ kind: 'refused', why: 'record-failed' });
  }
  expect(longestMs).toBeLessThanOrEqual(patienceMs + 100);
});
