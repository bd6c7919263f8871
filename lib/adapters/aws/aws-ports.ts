// The ports of one job over its table, its bucket and its queues.
import type { Random } from '../../core/ports.ts';
import type { Exchange, InvocationPorts } from '../../invocation/ports.ts';
import { type AwsClients, closeClients, createClients } from './clients.ts';
import { DynamoChangelog } from './dynamo-changelog.ts';
import { DynamoItems } from './dynamo-items.ts';
import { DynamoTable } from './dynamo-table.ts';
import { type ExchangePlaces, queuesIn } from './exchange-place.ts';
import { S3Objects } from './s3-objects.ts';
import { SqsExchange } from './sqs-exchange.ts';

export interface AwsPortsOptions {
  readonly table: string;
  readonly bucket: string;
  /** Stage (its index in the plan) → its exchange queue. What stands there for a stream is of no use without `exchange`. */
  readonly queues: ExchangePlaces;
  /** Default: that of the queues. Whoever sends to streams opens it (open-exchange.ts), with a client that nobody else needs. */
  readonly exchange?: Exchange | undefined;
  readonly random: Random;
  /** Of whoever has them already; closed by whoever made them. */
  readonly clients?: AwsClients | undefined;
  /** For an emulator that the environment does not name. */
  readonly endpoint?: string | undefined;
}

export interface AwsPorts extends InvocationPorts {
  /** The ports may not be used any more. */
  close(): void;
}

export function openAwsPorts(o: AwsPortsOptions): AwsPorts {
  const clients = o.clients ?? createClients({ endpoint: o.endpoint });
  const place = { client: clients.dynamodb, table: o.table };
  return {
    changelog: new DynamoChangelog(place),
    table: new DynamoTable(place),
    items: new DynamoItems(place, o.random),
    objects: new S3Objects(clients.s3, o.bucket),
    exchange: o.exchange ?? new SqsExchange(clients.sqs, queuesIn(o.queues)),
    close: () => {
      if (o.clients === undefined) closeClients(clients);
    },
  };
}
