import { beforeEach, expect, test } from 'vitest';
import type { Source } from '../../../../lib/api/source.ts';
import { defineJob, type Env, OutputTag } from '../../../../lib/index.ts';
import type { QueueMessage } from '../../../../lib/invocation/invocation.ts';
import { IdentifiedTarget } from '../../../support/identified-target.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';
import { queueSource } from '../../../support/lane-world.ts';

const broken = new OutputTag<string>('broken');

/** A message is a text of lines; one that begins with `!` is malformed, and nobody can read a message with `?`. */
function lines(): Source<string> {
  const source = queueSource<string>({ order: 'fifo', lanes: 1, retentionMs: 3_600_000 });
  return {
    ...source,
    queue: {
      ...source.queue!,
      read: (body, out) => {
        if (String(body).includes('?') && !isMended) throw new Error('no');
        for (const line of String(body).split(' ')) {
          if (line.startsWith('!')) out.side(broken, line);
          else out.values[out.count++] = line;
        }
      },
    },
  };
}

let isMended: boolean;
let good: IdentifiedTarget;
let bad: IdentifiedTarget;
let world: InvocationWorld;

beforeEach(async () => {
  isMended = false;
  good = new IdentifiedTarget();
  bad = new IdentifiedTarget();
  const job = defineJob('lines', (env: Env) => {
    const read = env.fromSource(lines(), { uid: 'in' });
    read.sinkTo(good.sink<string>(), { uid: 'good' });
    read.getSideOutput(broken).sinkTo(bad.sink<string>(), { uid: 'bad' });
  });
  world = new InvocationWorld({ job });
  await world.create();
});

function message(sequence: number, body: string): QueueMessage {
  return { id: `m${sequence}`, group: 'g', sequence: String(sequence), sentMs: world.now, receives: 1, body };
}

async function take(...messages: readonly QueueMessage[]): Promise<void> {
  await world.invoke({ kind: 'queue', subtask: '0-0', messages });
}

test('malformed records of one message are rows of their own', async () => {
  await take(message(1, 'a !b c !d'));
  expect([...bad.rows]).toEqual([
    ['bad/in/g/1/malformed-0.0', '!b'],
    ['bad/in/g/1/malformed-1.0', '!d'],
  ]);
  expect(good.ids).toEqual(['good/in/g/1.0', 'good/in/g/1.1']);
});

test('a malformed record is known by its message, whatever else came in the batch', async () => {
  await take(message(1, 'a'), message(2, '!b'));
  expect([...bad.rows]).toEqual([['bad/in/g/2/malformed-0.0', '!b']]);
});

test('and in the same way when the letter of its message is run again', async () => {
  const body = '? !b !c';
  for (let tries = 0; tries < 3; tries++) await take({ ...message(1, body), receives: tries + 1 });
  expect(bad.ids).toEqual([]);
  isMended = true;
  expect(await world.invoke({ kind: 'redrive', subtask: '0-0', letter: 'in/g/1' })).toEqual({ kind: 'done' });
  expect([...bad.rows]).toEqual([
    ['bad/in/g/1/malformed-0.0', '!b'],
    ['bad/in/g/1/malformed-1.0', '!c'],
  ]);
});
