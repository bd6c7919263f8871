import { describe, expect, test } from 'vitest';
import { collect } from '../../../../lib/connectors/sinks/collect.ts';
import { type IdempotentSinkOptions, idempotentSink } from '../../../../lib/connectors/sinks/idempotent.ts';
import { print } from '../../../../lib/connectors/sinks/print.ts';
import { GenericWriteAheadSink } from '../../../../lib/connectors/sinks/write-ahead.ts';
import { listedOrigins } from '../../../../lib/core/origins.ts';
import { contextOf, immediate, prepare, transactional, transactionOf } from '../support/detached.ts';
import { batch } from '../support/sinks.ts';

describe('print without a writer', () => {
  test.each([
    [1, 'now', 'now> a'],
    [2, 'now', 'now:2> a'],
    [2, undefined, '2> a'],
    [1, undefined, 'a'],
  ])('writes the same lines as with one (parallelism %i, label %s)', async (parallelism, label, line) => {
    const lines: string[] = [];
    await immediate(print<string>(label)).write(
      contextOf({ parallelism, subtask: parallelism - 1, print: (l) => lines.push(l) }),
      batch('a'),
    );
    expect(lines).toEqual([line]);
  });
});

describe('collect without a writer', () => {
  test('rows appear at the commit and not before', async () => {
    const out = collect<string>();
    const ctx = contextOf();
    const t = transactionOf(['a', 'b']);
    const prepared = await prepare(out, ctx, t);
    expect(out.rows).toEqual([]);
    await transactional(out).commit(ctx, t, prepared);
    expect(out.rows).toEqual(['a', 'b']);
  });

  test('C01: a commit whose reply was lost is made again and adds nothing', async () => {
    const out = collect<string>();
    const t = transactionOf(['a', 'b']);
    await transactional(out).commit(contextOf(), t, undefined);
    await transactional(out).commit(contextOf(), t, undefined);
    expect(out.rows).toEqual(['a', 'b']);
  });

  test('transactions of other barriers, subtasks, generations and runs are others', async () => {
    const out = collect<string>();
    const others = [{ opened: 0 }, { opened: 1 }, { opened: 0, subtask: 1 }, { opened: 0, generation: 2 }, { opened: 0, timestamp: 2_000 }];
    for (const [i, o] of others.entries()) await transactional(out).commit(contextOf(), transactionOf([String(i)], o), undefined);
    expect(out.rows).toEqual(['0', '1', '2', '3', '4']);
  });

  test('what is aborted never appears', async () => {
    const out = collect<string>();
    const t = transactionOf(['a']);
    await transactional(out).abort(contextOf(), t, await prepare(out, contextOf(), t));
    expect(out.rows).toEqual([]);
  });
});

describe('idempotentSink without a writer', () => {
  const rows = { ...batch('a', 'b'), origins: listedOrigins(['s/a', 's/b']) };

  test('rows carry the uid of the sink and their cause as id, the same in each delivery', async () => {
    const given: unknown[] = [];
    const sink = idempotentSink<string>({ write: (r) => void given.push(...r.map(({ id, value }) => `${id}=${value}`)) });
    await immediate(sink).write(contextOf(), rows);
    await immediate(sink).write(contextOf({ generation: 2, subtask: 1, parallelism: 2 }), rows);
    expect(given).toEqual(['out/s/a=a', 'out/s/b=b', 'out/s/a=a', 'out/s/b=b']);
  });

  test.each([
    [5, 'written'],
    [6, 'rejected'],
  ])('a write that fails is made again, %i failures end %s', async (failures, outcome) => {
    let calls = 0;
    const calledOff: string[] = [];
    const o: IdempotentSinkOptions<string> = {
      open: () => void calledOff.push('open'),
      write: () => {
        if (calls++ < failures) throw new Error('throttled');
        calledOff.push('write');
      },
      close: () => void calledOff.push('close'),
    };
    const done = immediate(idempotentSink(o)).write(contextOf(), rows);
    if (outcome === 'written') await done;
    else await expect(done).rejects.toMatchObject({ code: 'SINK_NOT_WRITTEN', details: { operator: 'out' } });
    expect(calledOff).toEqual(outcome === 'written' ? ['open', 'write', 'close'] : ['open', 'close']);
  });
});

class LogSink extends GenericWriteAheadSink<string> {
  readonly #calls: string[];
  readonly #answers: (boolean | Error)[];

  constructor(calls: string[], answers: (boolean | Error)[] = []) {
    super();
    this.#calls = calls;
    this.#answers = answers;
  }

  override async open(): Promise<void> {
    this.#calls.push('open');
  }

  override sendValues(values: readonly string[], checkpointId: number, timestamp: number): boolean {
    this.#calls.push(`send ${values.join('')} ${checkpointId} ${timestamp}`);
    const answer = this.#answers.shift() ?? true;
    if (answer instanceof Error) throw answer;
    return answer;
  }

  override async close(): Promise<void> {
    this.#calls.push('close');
  }
}

describe('GenericWriteAheadSink without a writer', () => {
  test('rows are sent at the commit, between open and close, with the barrier that ended them and its time', async () => {
    const calls: string[] = [];
    const t = transactionOf(['a', 'b'], { opened: 3, checkpoint: 5 });
    const prepared = await prepare(new LogSink(calls), contextOf(), t);
    expect(calls).toEqual([]);
    await transactional(new LogSink(calls)).commit(contextOf(), t, prepared);
    expect(calls).toEqual(['open', 'send ab 5 1000', 'close']);
  });

  test.each([
    ['false', false, { code: 'SINK_NOT_WRITTEN' }],
    ['a throw', new Error('down'), { message: 'down' }],
  ])('%s rejects, and the call is made again', async (_what, answer, error) => {
    const calls: string[] = [];
    const sink = new LogSink(calls, [answer]);
    const t = transactionOf(['a']);
    await expect(transactional(sink).commit(contextOf(), t, undefined)).rejects.toMatchObject(error);
    await transactional(sink).commit(contextOf(), t, undefined);
    expect(calls).toEqual(['open', 'send a 1 1000', 'close', 'open', 'send a 1 1000', 'close']);
  });

  test('what is aborted is never sent', async () => {
    const calls: string[] = [];
    await transactional(new LogSink(calls)).abort(contextOf(), transactionOf(['a']), undefined);
    expect(calls).toEqual([]);
  });
});
