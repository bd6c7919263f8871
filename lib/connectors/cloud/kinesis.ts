// A stream of shards as a source. Its records come by events, and are read again from the stream after a restore.

import { checkName } from '../../api/names.ts';
import { checkOptions } from '../../api/option-checks.ts';
import type { Source, SourceContext, SourceOutput, Split, SplitPosition, SplitReader } from '../../api/source.ts';
import type { StreamTarget } from '../../api/targets.ts';
import { UnreadableRecord } from '../../api/unreadable.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Format } from '../formats/format.ts';
import { checkFormat } from '../formats/format-checks.ts';
import { json } from '../formats/json.ts';
import { aggregationOf } from './aggregated.ts';
import { boundFile } from './bound-file.ts';
import { readMessage } from './message-records.ts';
import { compareStreamPlaces, firstShards, placementOfPartitionKey, shardChanges, splitOfShard } from './stream-places.ts';
import { type RecordPages, StreamReader } from './stream-reader.ts';

export interface KinesisOptions<T> {
  /** How records lie in a record of the stream. Default `json()`: it is one JSON value. */
  readonly format?: Format<T>;
}

/** Pages that are looked through for the end of a shard in one go; the rest is for the next look. */
const pagesMax = 20;

/**
 * Reads a Kinesis stream: `kinesis<Click>('clicks')`. The name is bound outside the job.
 *
 * A shard is a split, in order. With `partitionedBy` the producer's partition key has to be the text of that key, because shards split and merge by it and
 * state goes with them. Records that a producer has packed together (KPL) are refused, whatever the format does with what it cannot read, and wait in the
 * stream; one that is damaged besides is parked with its bytes after as many tries as a record that fails.
 *
 * @throws SluiceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `NAME_INVALID` at once; `BIND_MISSING` before the job starts
 */
export function kinesis<T = unknown>(name: string, o: KinesisOptions<T> = {}): Source<T> {
  checkName('the name of kinesis()', name);
  checkOptions('kinesis()', o, ['format']);
  const format = o.format ?? json<T>();
  checkFormat('kinesis()', format);

  const read = (data: Uint8Array = new Uint8Array(0), out: SourceOutput<T>, countSkipped: () => void): void => {
    const aggregation = aggregationOf(data);
    if (aggregation === 'whole') throw aggregated(name);
    if (aggregation === 'damaged') {
      out.values[out.count++] = new UnreadableRecord(data, damaged(name)) as T;
      return;
    }
    readMessage(format, data, { place: `a record of '${name}'`, countSkipped }, out);
  };
  const open = (split: Split, from: SplitPosition | undefined, ctx: SourceContext): SplitReader<T> =>
    new StreamReader<T>({
      pages: pagesOf(streamOf(ctx, name), split.id, name),
      from,
      clock: ctx.clock,
      read: ({ data }, out) => read(data, out, () => ctx.countSkipped()),
    });
  return {
    kind: 'kinesis',
    isRereadable: true,
    isBounded: false,
    isEager: true,
    binding: { name, kinds: ['kinesis'] },
    fromFile: (path) => boundFile(name, path, format),
    enumerate: async (ctx) => firstShards(await streamOf(ctx, name).shards()).map(splitOfShard),
    open,
    comparePlaces: compareStreamPlaces,
    readRecord: (data, out) => read(data, out, () => undefined),
    evolution: {
      changes: async (ctx) => shardChanges(await streamOf(ctx, name).shards()),
      endOf: () => Promise.resolve(undefined), // nobody has counted the records of a shard
      isOver: async (split, position, ctx) => {
        const shard = (await streamOf(ctx, name).shards()).find(({ id }) => id === split.id);
        if (shard !== undefined && !shard.isClosed) return false;
        return isAtEnd(open(split, position, ctx));
      },
      placement: placementOfPartitionKey,
    },
  };
}

function pagesOf(stream: StreamTarget, shard: string, name: string): RecordPages {
  return {
    begin: (after) => stream.begin(shard, after),
    read: (cursor, recordsMax) => stream.read(cursor, recordsMax),
    beginsAtLast: `shard ${shard} of '${name}'`,
  };
}

function aggregated(name: string): SluiceError {
  return new SluiceError('MALFORMED_RECORD', {
    message: `a record of '${name}' holds records that a producer has packed together (KPL); they are not taken apart`,
    next: 'fix-the-job',
    advice: 'switch aggregation off where the records are put (AggregationEnabled=false); the record stays in the stream until then',
  });
}

function damaged(name: string): SluiceError {
  return new SluiceError('RECORD_DAMAGED', {
    message: `a record of '${name}' holds records that a producer has packed together (KPL), and is damaged: its sum is not that of its bytes`,
    next: 'dead-letter-record',
  });
}

/** What is malformed, and goes to a side output, has to come by an event as well. */
async function isAtEnd(reader: SplitReader<unknown>): Promise<boolean> {
  let aside = 0;
  const out: SourceOutput<unknown> = { values: [], count: 0, side: () => void aside++ };
  try {
    for (let page = 0; page < pagesMax && !reader.hasEnded; page++) {
      await reader.ready();
      if (reader.poll(out, 1) > 0 || aside > 0) return false;
    }
    return reader.hasEnded;
  } finally {
    await reader.close();
  }
}

function streamOf({ targets, uid }: SourceContext, name: string): StreamTarget {
  if (targets !== undefined) return targets.stream(name);
  throw new SluiceError('BIND_MISSING', {
    message: `the source '${name}' is bound to nothing`,
    next: 'fix-the-command',
    advice: `give a file to read, --bind ${name}=FILE, or deploy the job with a stream of that name in bind`,
    operator: uid,
  });
}
