import { describe, expect, test } from 'vitest';
import type { SinkWriter } from '../../../../lib/api/sink.ts';
import { GenericWriteAheadSink } from '../../../../lib/connectors/sinks/write-ahead.ts';
import { attempt, batch, keep } from '../support/sinks.ts';

interface Sent {
  readonly values: readonly string[];
  readonly checkpoint: number;
  readonly timestamp: number;
}

class Wal extends GenericWriteAheadSink<string> {
  readonly #sent: Sent[];
  readonly #answer: () => boolean;

  constructor(sent: Sent[], answer: () => boolean = () => true) {
    super();
    this.#sent = sent;
    this.#answer = answer;
  }

  override async sendValues(values: readonly string[], checkpoint: number, timestamp: number): Promise<boolean> {
    if (!this.#answer()) return false;
    this.#sent.push({ values: [...values], checkpoint, timestamp });
    return true;
  }
}

const open = async (sent: Sent[], answer?: () => boolean, now: () => number = () => 0): Promise<SinkWriter> => {
  const [writer] = await attempt(() => new Wal(sent, answer) as never, { now });
  return writer!;
};

describe('GenericWriteAheadSink', () => {
  test('rows are sent when their checkpoint has completed, with its number and the time of its barrier', async () => {
    const sent: Sent[] = [];
    let now = 5;
    const writer = await open(sent, undefined, () => now);
    await writer.write(batch('a'));
    await writer.write(batch('b'));
    await writer.prepare(1);
    now = 9;
    await writer.prepare(2);
    await writer.write(batch('c'));
    expect(sent).toEqual([]);
    await writer.commit(2);
    await writer.commit(2);
    expect(sent).toEqual([{ values: ['a', 'b'], checkpoint: 1, timestamp: 5 }]);
  });

  test('false and a throw have the call made again, and later rows wait', async () => {
    const sent: Sent[] = [];
    let attempts = 0;
    const writer = await open(sent, () => {
      attempts++;
      if (attempts === 2) throw new Error('target is down');
      return attempts > 2;
    });
    await writer.write(batch('a'));
    await writer.prepare(1);
    await writer.write(batch('b'));
    await writer.prepare(2);
    await expect(writer.commit(1)).rejects.toMatchObject({ code: 'SINK_NOT_WRITTEN', details: { operator: 'out', checkpoint: 1 } });
    await expect(writer.commit(2)).rejects.toThrow('target is down');
    expect((await writer.prepare(3)).transactions).toHaveLength(2);
    await writer.commit(3);
    expect(sent.map((s) => s.values)).toEqual([['a'], ['b']]);
  });

  test('rows that were not written are told with the uid, also when the class has no name', async () => {
    for (const [kind, name] of [
      [(() => class extends Wal {})(), 'the sink'],
      [Wal, 'Wal'],
    ] as const) {
      const [writer] = await attempt(() => new kind([], () => false) as never, { now: () => 0 });
      await writer!.write(batch('a'));
      await writer!.prepare(1);
      await expect(writer!.commit(1)).rejects.toThrow(`sendValues of ${name} at out did not write the 1 rows of checkpoint 1`);
    }
  });

  test('after a restore the rows come out of the checkpoint, and rows beyond it are gone', async () => {
    const sent: Sent[] = [];
    const writer = await open(sent);
    await writer.write(batch('a'));
    const kept = keep(1, [await writer.prepare(1)]);
    await writer.write(batch('b'));
    await writer.prepare(2);
    const [again] = await attempt(() => new Wal(sent) as never, { generation: 2, from: kept });
    await again!.prepare(3);
    await again!.commit(3);
    expect(sent.map((s) => s.values)).toEqual([['a']]);
  });
});
