// A topic as a source. Its records come by events of a mapping, which cannot seek; a restore reads the topic itself again.
//   K1  A partition is a split, known by its number. Its id says nothing of the topic, whose name is bound outside the job and may have 249 letters.
//   K2  The place of a record is its offset. Offsets have holes (transactions, compaction), so they are compared and never counted with.
//   K3  What the topic no longer keeps is told with its first and last offset, and nothing goes on without it.

import { checkName } from '../../api/names.ts';
import { checkFunction, checkOptions } from '../../api/option-checks.ts';
import type { Source, SourceContext, SourceOutput, Split } from '../../api/source.ts';
import type { StreamPage, TopicTarget } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Format } from '../formats/format.ts';
import { checkFormat } from '../formats/format-checks.ts';
import { json } from '../formats/json.ts';
import { boundFile } from './bound-file.ts';
import { readMessage } from './message-records.ts';
import { compareStreamPlaces } from './stream-places.ts';
import { inputTrimmed, type RecordPages, StreamReader } from './stream-reader.ts';

export interface KafkaOptions<T> {
  /** How records lie in the value of a message. Default `json()`. */
  readonly format?: Format<T>;
  /**
   * What a tombstone stands for: a message that has a key and no value. Without it such a message cannot be read.
   * @param key  of the message, as text
   */
  readonly tombstone?: (key: string) => T;
}

/**
 * Reads a Kafka topic: `kafka<Click>('clicks')`. The name is bound outside the job: to a topic where it is deployed, or to a file in its place
 * (`--bind clicks=FILE`).
 *
 * A partition is a split, in order; partitions that are added are read from their beginning. Partitions are dealt out to the subtasks of the source, so
 * give it as many (`setParallelism`) as are to work at once. A restore reads the topic again, so the topic has to keep what lies behind the oldest
 * retained checkpoint, and may not be compacted.
 *
 * @throws SluiceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `NAME_INVALID` at once; `BIND_MISSING` before the job starts; `INPUT_CHANGED` when a restore
 *   asks for what the topic no longer has
 */
export function kafka<T = unknown>(name: string, o: KafkaOptions<T> = {}): Source<T> {
  checkName('the name of kafka()', name);
  checkOptions('kafka()', o, ['format', 'tombstone']);
  const format = o.format ?? json<T>();
  checkFormat('kafka()', format);
  const { tombstone } = o;
  if (tombstone !== undefined) checkFunction('kafka(): tombstone', tombstone);

  const read = (data: Uint8Array | undefined, key: Uint8Array | undefined, out: SourceOutput<T>, countSkipped: () => void): void => {
    if (data !== undefined) readMessage(format, data, { place: `a record of '${name}'`, countSkipped }, out);
    else if (tombstone === undefined) throw withoutValue(name);
    else out.values[out.count++] = tombstone(Buffer.from(key ?? []).toString('utf8'));
  };
  return {
    kind: 'kafka',
    isRereadable: true,
    isBounded: false,
    isEager: true,
    binding: { name, kinds: ['kafka'] },
    fromFile: (path) => boundFile(name, path, format),
    enumerate: async (ctx) => Array.from({ length: await topicOf(ctx, name).partitions() }, (_, partition) => partitionSplit(partition)),
    splitOf: partitionSplit,
    open: (split, from, ctx) =>
      new StreamReader<T>({
        pages: pagesOf(topicOf(ctx, name), numberOf(split), name),
        from,
        clock: ctx.clock,
        read: ({ data, key }, out) => read(data, key, out, () => ctx.countSkipped()),
      }),
    comparePlaces: compareStreamPlaces,
    readRecord: (data, out, key) => read(data, key, out, () => undefined),
  };
}

function partitionSplit(partition: number): Split {
  return { id: `partition-${partition}`, partition };
}

function numberOf({ partition }: Split): number {
  return partition as number;
}

/**
 * Pages of a partition from a place to where it ends now: the record there included, since only a part of what it holds may have been taken. A cursor is
 * the offset of the next record, or of the last one.
 */
function pagesOf(topic: TopicTarget, partition: number, name: string): RecordPages {
  const read = async (from: bigint | undefined, gone: bigint, recordsMax: number): Promise<StreamPage> => {
    const { records, next, oldest, end } = await topic.read(partition, from, recordsMax);
    if (from === undefined || from >= oldest) return { records, next: next >= end ? undefined : String(next) };
    if (gone === oldest) return read(oldest, oldest, recordsMax);
    throw inputTrimmed(`partition ${partition} of '${name}'`, { first: String(gone), last: String(oldest - 1n) });
  };
  return {
    begin: (after) => Promise.resolve(after === undefined ? oldestOf : lastOf + after),
    read: (cursor, recordsMax) => {
      if (cursor === oldestOf) return read(undefined, 0n, recordsMax);
      const isLast = cursor.startsWith(lastOf);
      const from = BigInt(isLast ? cursor.slice(lastOf.length) : cursor);
      return read(from, isLast ? from + 1n : from, recordsMax);
    },
  };
}

const oldestOf = 'oldest';
const lastOf = 'last ';

function topicOf({ targets, uid }: SourceContext, name: string): TopicTarget {
  if (targets !== undefined) return targets.topic(name);
  throw new SluiceError('BIND_MISSING', {
    message: `the source '${name}' is bound to nothing`,
    next: 'fix-the-command',
    advice: `give a file to read, --bind ${name}=FILE, or deploy the job with a topic of that name in bind`,
    operator: uid,
  });
}

function withoutValue(name: string): SluiceError {
  return new SluiceError('MALFORMED_RECORD', {
    message: `a record of '${name}' has no value: it is a tombstone, which says that its key is gone`,
    next: 'fix-the-job',
    advice: `say what it stands for: kafka('${name}', { tombstone: (key) => … })`,
  });
}
