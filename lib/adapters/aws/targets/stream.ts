import {
  GetRecordsCommand,
  type GetRecordsCommandOutput,
  GetShardIteratorCommand,
  type KinesisClient,
  ListShardsCommand,
  type ListShardsCommandOutput,
  PutRecordsCommand,
  type Shard,
} from '@aws-sdk/client-kinesis';
import type { AppendedRow, NotTaken, StreamPage, StreamShard, StreamTarget } from '../../../api/targets.ts';
import { errorOf, meaningOf, nameOf } from '../errors.ts';

/**
 * A Kinesis stream.
 *   K1  An iterator lives five minutes. Whoever holds one longer begins anew from the last record that it has.
 *   K2  `PutRecords` fails for single records in an answer that is a success.
 */
export class KinesisStream implements StreamTarget {
  readonly #client: KinesisClient;
  readonly #stream: { readonly StreamARN: string } | { readonly StreamName: string };

  /** @param stream  ARN, or name in the client's own account and Region */
  constructor(client: KinesisClient, stream: string) {
    this.#client = client;
    this.#stream = stream.startsWith('arn:') ? { StreamARN: stream } : { StreamName: stream };
  }

  async shards(): Promise<readonly StreamShard[]> {
    const shards: StreamShard[] = [];
    for (let token: string | undefined, isLast = false; !isLast; ) {
      const command = new ListShardsCommand(token === undefined ? this.#stream : { NextToken: token });
      const page: ListShardsCommandOutput = await this.#ask('ListShards', () => this.#client.send(command));
      shards.push(...(page.Shards ?? []).map(shardOf));
      token = page.NextToken;
      isLast = token === undefined;
    }
    return shards;
  }

  async begin(shard: string, at: string | undefined): Promise<string> {
    const place =
      at === undefined
        ? { ShardIteratorType: 'TRIM_HORIZON' as const }
        : { ShardIteratorType: 'AT_SEQUENCE_NUMBER' as const, StartingSequenceNumber: at };
    const command = new GetShardIteratorCommand({ ...this.#stream, ShardId: shard, ...place });
    const { ShardIterator: iterator = '' } = await this.#ask('GetShardIterator', () => this.#client.send(command));
    return iterator;
  }

  async read(cursor: string, recordsMax: number): Promise<StreamPage | 'expired'> {
    const command = new GetRecordsCommand({
      ShardIterator: cursor,
      Limit: recordsMax,
      ...('StreamARN' in this.#stream ? this.#stream : {}),
    });
    let page: GetRecordsCommandOutput;
    try {
      page = await this.#client.send(command);
    } catch (error) {
      if (nameOf(error) === 'ExpiredIteratorException') return 'expired';
      throw this.#errorOf(error, 'GetRecords');
    }
    const { Records: records = [], NextShardIterator: next } = page;
    return {
      records: records.map(({ SequenceNumber: sequence = '', Data: data = new Uint8Array() }) => ({ sequence, data })),
      next: next ?? undefined, // null on a shard that is closed, whatever the type says
    };
  }

  async append(rows: readonly AppendedRow[]): Promise<readonly NotTaken[]> {
    const records = rows.map(({ key, body }) => ({ PartitionKey: key, Data: new TextEncoder().encode(body) }));
    const command = new PutRecordsCommand({ ...this.#stream, Records: records });
    const { Records: answers = [] } = await this.#ask('PutRecords', () => this.#client.send(command));
    return rows.flatMap((_, at): readonly NotTaken[] => {
      const { ErrorCode: code, ErrorMessage: message = '', SequenceNumber: number } = answers[at] ?? {};
      if (code === undefined || code === null) {
        return number === undefined || number === null ? [{ at, reason: 'nothing was said of it', isFinal: false }] : [];
      }
      const meaning = meaningOf(code);
      return [{ at, reason: `${code}: ${message}`, isFinal: meaning !== 'nothing' && meaning !== 'unknown' }];
    });
  }

  async #ask<T>(action: string, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw this.#errorOf(error, action);
    }
  }

  #errorOf(error: unknown, action: string): Error {
    return errorOf(error, `kinesis:${action} of ${'StreamARN' in this.#stream ? this.#stream.StreamARN : this.#stream.StreamName}`);
  }
}

function shardOf({ ShardId: id = '', ParentShardId, AdjacentParentShardId, HashKeyRange, SequenceNumberRange }: Shard): StreamShard {
  return {
    id,
    parents: [ParentShardId, AdjacentParentShardId].filter((parent) => parent !== undefined && parent !== null),
    hashes: { from: BigInt(HashKeyRange?.StartingHashKey ?? 0), to: BigInt(HashKeyRange?.EndingHashKey ?? 0) },
    isClosed: (SequenceNumberRange?.EndingSequenceNumber ?? null) !== null,
  };
}
