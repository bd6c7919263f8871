// The exchange of a job, and the shards of its own that a stage may look into. The client of streams is made where there is one.
import { KinesisClient } from '@aws-sdk/client-kinesis';
import type { StreamTarget } from '../../api/targets.ts';
import type { Exchange } from '../../invocation/ports.ts';
import { type AwsClients, clientSettings } from './clients.ts';
import { type ExchangePlaces, exchangeKindOf, queuesIn, streamsIn } from './exchange-place.ts';
import { KinesisExchange } from './kinesis-exchange.ts';
import { SqsExchange } from './sqs-exchange.ts';
import { KinesisStream } from './targets/stream.ts';

export interface OpenedExchange {
  readonly exchange: Exchange;
  /** The stream in front of a stage; `undefined`: it has a queue, or nothing is sent to it. */
  streamOf(stage: number): StreamTarget | undefined;
}

/** @param kinesis  default: one with the settings of the other clients */
export function openExchange(places: ExchangePlaces, { sqs }: Pick<AwsClients, 'sqs'>, kinesis?: KinesisClient): OpenedExchange {
  if (exchangeKindOf(places) !== 'kinesis') return { exchange: new SqsExchange(sqs, queuesIn(places)), streamOf: () => undefined };
  const client = kinesis ?? new KinesisClient(clientSettings());
  const streams = streamsIn(places);
  return {
    exchange: new KinesisExchange(client, streams),
    streamOf: (stage) => {
      const place = streams[stage];
      return place === undefined ? undefined : new KinesisStream(client, place.stream);
    },
  };
}
