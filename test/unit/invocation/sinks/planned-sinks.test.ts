import { describe, expect, test } from 'vitest';
import type { Sink } from '../../../../lib/api/sink.ts';
import { lines } from '../../../../lib/connectors/formats/lines.ts';
import { collect } from '../../../../lib/connectors/sinks/collect.ts';
import { fileSink } from '../../../../lib/connectors/sinks/file-sink.ts';
import { idempotentSink } from '../../../../lib/connectors/sinks/idempotent.ts';
import { print } from '../../../../lib/connectors/sinks/print.ts';
import { listedOrigins } from '../../../../lib/core/origins.ts';
import { decodeRows, encodeRows } from '../../../../lib/invocation/rows-codec.ts';
import { checkDetached, createContextOf } from '../../../../lib/invocation/sinks/planned-sinks.ts';
import { startSinks } from '../../../../lib/invocation/sinks/start-sinks.ts';
import { settledObjects, subtaskNumber, transactionName } from '../../../../lib/invocation/sinks/transaction-names.ts';
import { writeImmediate } from '../../../../lib/invocation/sinks/write-immediate.ts';
import { contextOf } from '../../connectors/support/detached.ts';
import { diskOf, stillClock } from '../../connectors/support/reading.ts';
import { batch } from '../../connectors/support/sinks.ts';
import { createWorld, planOf, processOf, transaction } from './support/target.ts';

const surroundings = (files = diskOf({}).files) => ({ files, clock: stillClock, report: () => undefined, print: () => undefined });

describe('a job is refused before it starts', () => {
  test('when a sink needs a writer that lives on, with the uid of the sink', () => {
    const { detached: _, ...own } = collect<unknown>();
    const plan = planOf({ shown: () => print() as never, kept: () => own as never });
    expect(() => checkDetached(plan)).toThrow(
      expect.objectContaining({
        code: 'FEATURE_NOT_AVAILABLE',
        message: expect.stringContaining("sink 'kept' (collect)"),
        details: expect.objectContaining({ operator: 'kept' }),
      }),
    );
  });

  test('and not because of any sink of ours', () => {
    const sinks: readonly Sink<never>[] = [
      print() as never,
      collect(),
      fileSink({ path: '/out', format: lines() }),
      idempotentSink({ write: () => undefined }),
    ];
    checkDetached(planOf(Object.fromEntries(sinks.map((s) => [s.kind, () => s]))));
  });

  test('when an output cannot be written; one that was looked at is not looked at again', async () => {
    const { objects } = processOf(await createWorld());
    const plan = planOf({ shown: () => print() as never, out: () => fileSink({ path: '/out', format: lines() }) as never });
    const refused = startSinks({ plan, objects, generation: 1, ...surroundings(diskOf({ '/out': 'a file' }).files) });
    await expect(refused).rejects.toMatchObject({ code: 'OUTPUT_NOT_WRITABLE', details: { operator: 'out', path: '/out' } });
    await startSinks({ plan, objects, generation: 1, ...surroundings(diskOf({ '/out/part-0-0000000004.txt': 'old' }).files) });
    await startSinks({ plan, objects, generation: 2, ...surroundings(diskOf({ '/out': 'a file' }).files) });
    expect(await objects.list('sink/')).toEqual(['sink/out']);
  });
});

describe('names', () => {
  test('N1: a transaction is named by generation, subtask, sink and the barrier that opened it, and by nothing else', () => {
    expect(transactionName(transaction)).toBe('1/1-0/out/2');
    expect(transactionName({ ...transaction, under: 9, rows: 'elsewhere' } as typeof transaction)).toBe('1/1-0/out/2');
  });

  test.each([
    ['0-3', 3],
    ['12-s45', 45],
  ])('the number of subtask %s is %i', (subtask, number) => expect(subtaskNumber(subtask)).toBe(number));

  test('what is no name of a subtask has none', () =>
    expect(() => subtaskNumber('first')).toThrow(expect.objectContaining({ code: 'DATA_DAMAGED' })));

  test('the decision outlives rows and record by a day', () => {
    expect(settledObjects(transaction)).toEqual({
      atOnce: ['rows/1/1-0/7'],
      afterADay: ['transaction/1/1-0/out/2', 'decided/1/1-0/out/2'],
    });
  });

  test('the context of a sink says what the plan and the transaction say', () => {
    const context = createContextOf({ plan: planOf({ out: () => print() as never }, 4), ...surroundings() })({
      ...transaction,
      subtask: '1-3',
    });
    expect(context).toMatchObject({ job: 'late-flights', uid: 'out', generation: 1, subtask: 3, parallelism: 4 });
  });
});

describe('rows that are written at once', () => {
  const tag = { begunMs: 0, generation: 1, n: 7, index: 0 };

  test('arrive with what caused them and the tag of their entry, through the bytes of the entry', async () => {
    const given: unknown[] = [];
    const sink = idempotentSink<unknown>({ write: (rows, by) => void given.push(...rows, by) });
    const rows = decodeRows(encodeRows({ ...batch('a'), origins: listedOrigins(['in/0/4']) }));
    await writeImmediate({ sink, rows, context: contextOf(), tag });
    expect(given).toEqual([{ id: 'out/in/0/4', value: 'a' }, tag]);
  });

  test('an entry without rows does not call the sink', async () => {
    const sink = idempotentSink<unknown>({ write: () => expect.unreachable() });
    await writeImmediate({ sink, rows: batch(), context: contextOf(), tag });
  });

  test('a sink that has become one that commits is told', async () => {
    const written = writeImmediate({ sink: collect(), rows: batch('a'), context: contextOf(), tag });
    await expect(written).rejects.toMatchObject({ code: 'STATE_WITHOUT_OPERATOR' });
  });
});
