// How large a checkpoint is, by operator: what is its own is counted, and what it shares with others is not.
import { describe, expect, test } from 'vitest';
import { encodeValue } from '../../../../lib/core/value-codec.ts';
import { sizesOf } from '../../../../lib/invocation/coordinator/checkpoint-sizes.ts';
import type { EntryHead, PendingTransaction } from '../../../../lib/invocation/entry.ts';
import { encodeHead } from '../../../../lib/invocation/entry-codec.ts';
import type { SubtaskHandle } from '../../../../lib/invocation/job-item.ts';
import { encodeSnapshot } from '../../../../lib/invocation/state/snapshot-format.ts';
import { headOf } from '../support/entries.ts';
import { objectsOf } from '../support/objects.ts';

const bytes = (n: number): Uint8Array => new Uint8Array(n);

function handleOf(more: Partial<EntryHead>): SubtaskHandle {
  const head = headOf(more);
  const { generation, subtask, n, flushedThrough } = head;
  return { generation, subtask, n, flushedThrough, head: encodeHead(head) };
}

const transaction: PendingTransaction = { sink: 'out', opened: 0, under: 1, generation: 0, subtask: '1-0', rows: 'rows' };
const listOf = (name: string, n: number): unknown => [name, 'split', [bytes(n)]];

describe('bytes of an operator', () => {
  test('are keyed state that is a snapshot, operator state, accumulators and rows to be committed, for each subtask', async () => {
    const partition = (operator: string, key: string) => ({ operator, state: 's', key });
    const snapshot = encodeSnapshot(
      new Map([
        ['a', { partition: partition('count', 'a'), pieces: new Map([['', bytes(10)], ['1', bytes(5)]]) }], // biome-ignore format: one partition a line
        ['b', { partition: partition('count', 'b'), pieces: new Map([['', bytes(20)]]) }],
      ]),
    );
    const operatorState = encodeValue([['count', [listOf('l', 3), listOf('m', 4)], [['seen', bytes(2)]]]]);
    const first = handleOf({ subtask: '1-0', snapshot: 'snapshot', operatorState: { bytes: operatorState, object: undefined } });
    const second = handleOf({ subtask: '1-1', transactions: [transaction] });
    const sizes = await sizesOf(objectsOf({ snapshot, rows: bytes(100) }), [first, second]);
    expect(sizes).toEqual([
      { subtask: '1-0', metadataBytes: first.head.length, operators: new Map([['count', 44]]) },
      { subtask: '1-1', metadataBytes: second.head.length, operators: new Map([['out', 100]]) },
    ]);
  });

  test('are read whole where a part rides in the entry and the rest is an object', async () => {
    const whole = encodeValue([['count', [listOf('l', 3), listOf('m', 4)], []]]);
    const changed = encodeValue([['count', [listOf('l', 30)], []]]);
    const handle = handleOf({ operatorState: { bytes: changed, object: 'whole' } });
    const [sizes] = await sizesOf(objectsOf({ whole }), [handle]);
    expect(sizes?.operators).toEqual(new Map([['count', 34]]));
  });

  test('are none of rows that are settled and gone, and of keyed state in the table', async () => {
    const [sizes] = await sizesOf(objectsOf({}), [handleOf({ transactions: [transaction] })]);
    expect(sizes?.operators).toEqual(new Map([['out', 0]]));
    const [none] = await sizesOf(objectsOf({}), [handleOf({ flushedThrough: 1 })]);
    expect(none?.operators).toEqual(new Map());
  });

  test('are not made up for a snapshot that is gone', async () => {
    await expect(sizesOf(objectsOf({}), [handleOf({ snapshot: 'snapshot' })])).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
  });
});
