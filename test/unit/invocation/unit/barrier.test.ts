import { describe, expect, test } from 'vitest';
import { defineJob, print } from '../../../../lib/index.ts';
import type { Answer, EventRecord } from '../../../../lib/invocation/invocation.ts';
import { acknowledgementName, type SubtaskHandle } from '../../../../lib/invocation/job-item.ts';
import { decodeHandle } from '../../../../lib/invocation/job-item-codec.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

const subtask = '0-0';

/** A subtask that passes barriers, ends, and is asked for barriers again. */
class Asked {
  readonly #world = new InvocationWorld({
    job: defineJob('asked', (env) => {
      env.enableCheckpointing('1 h');
      env.fromCollection([10, 20, 30], { uid: 'in' }).sinkTo(print(), { uid: 'print' });
    }),
  });

  create(): Promise<unknown> {
    return this.#world.create();
  }

  read(from: number, to: number): Promise<Answer> {
    const records = [10, 20, 30]
      .slice(from, to)
      .map((value, i): EventRecord => ({ value, after: { index: from + i + 1, at: from + i + 1 } }));
    return this.#world.invoke({ kind: 'records', subtask, split: 0, records, isLast: to === 3 });
  }

  barrier(checkpoint: number): Promise<Answer> {
    return this.#world.invoke({ kind: 'barrier', subtask, generation: 0, checkpoint, lastCompleted: 0 });
  }

  async acknowledged(checkpoint: number): Promise<SubtaskHandle | undefined> {
    const stored = await this.#world.ports.items.get(acknowledgementName(checkpoint, subtask));
    return stored === undefined ? undefined : decodeHandle(stored.bytes);
  }

  async lose(checkpoint: number): Promise<void> {
    await this.#world.ports.items.remove({ name: acknowledgementName(checkpoint, subtask), expects: 'any' });
  }
}

describe('a subtask that has ended and is asked for a barrier that lies behind it', () => {
  test('acknowledges by the entry of that barrier, and not by its end', async () => {
    const asked = new Asked();
    await asked.create();
    await asked.read(0, 1);
    await asked.barrier(1);
    const handle = await asked.acknowledged(1);
    await asked.read(1, 3);
    await asked.lose(1);
    expect(await asked.barrier(1)).toEqual({ kind: 'done' });
    expect(await asked.acknowledged(1)).toEqual(handle);
  });

  test('acknowledges nothing for one that another barrier has overtaken', async () => {
    const asked = new Asked();
    await asked.create();
    await asked.read(0, 1);
    await asked.barrier(2);
    await asked.read(1, 3);
    expect(await asked.barrier(1)).toEqual({ kind: 'done' });
    expect(await asked.acknowledged(1)).toBeUndefined();
  });
});
