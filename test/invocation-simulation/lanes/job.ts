// The job that lanes are tried on: a queue, a function that some messages make throw or kill, and state that tells which messages had their effect.
// With order the state lies in the lanes; without, behind an exchange.

import type { Source } from '../../../lib/api/source.ts';
import { defineJob, type Env, type Job, keyedProcess, valueState } from '../../../lib/index.ts';
import { laneSplits } from '../../../lib/invocation/lane/queues.ts';

export interface Letter {
  readonly id: number;
  readonly group: string;
}

export interface LaneSetting {
  readonly order: 'fifo' | 'standard';
  readonly lanes: number;
  readonly retentionMs: number;
  readonly intervalMs: number;
  readonly numRetained: number;
}

export const effects = { operator: 'effects', state: 'seen' } as const;

/** Key of the state that remembers a message's effect. */
export function keyOf(letter: Letter, order: LaneSetting['order']): string {
  return order === 'fifo' ? letter.group : `m${letter.id}`;
}

/** @param run  does to the process what the message does */
export function laneJob(setting: LaneSetting, run: (letter: Letter) => void): Job {
  const { order, lanes, intervalMs, numRetained } = setting;
  const isFifo = order === 'fifo';
  const remember = keyedProcess({
    state: { seen: valueState<readonly number[]>({ default: () => [] }) },
    processElement: (letter: Letter, ctx) => {
      const seen = [...ctx.state.seen.value(), letter.id];
      if (isFifo) run(letter);
      ctx.state.seen.update(seen);
    },
  });
  return defineJob('lanes', (env: Env) => {
    env.setMaxParallelism(8);
    env.enableCheckpointing(intervalMs, { mode: 'EXACTLY_ONCE', timeout: 20_000, numRetained, tolerableFailures: 1_000 });
    const source = env.fromSource(queueSource(setting), { uid: 'in', ...(isFifo ? { partitionedBy: groupOf } : {}) });
    const letters = isFifo
      ? source.keyBy(groupOf)
      : source
          .map((letter) => {
            run(letter);
            return letter;
          })
          .setParallelism(lanes)
          .keyBy((letter) => keyOf(letter, order));
    letters.process(remember).uid(effects.operator);
  });
}

const groupOf = (letter: Letter): string => letter.group;

function queueSource({ order, lanes, retentionMs }: LaneSetting): Source<Letter> {
  return {
    kind: 'scripted-queue',
    isRereadable: false,
    isBounded: false,
    isEager: true,
    enumerate: () => Promise.resolve(laneSplits({ lanes })),
    open: () => {
      throw new Error('a queue is only ever delivered');
    },
    queue: {
      order,
      lanes,
      retentionMs,
      read: (body, out) => {
        out.values[out.count++] = body as Letter;
      },
    },
  };
}
