// aws-stores.ts puts the job of bench:calls on the adapters of AWS: real clients of the SDK, whose commands are counted, over the stand-in or over an
// emulator. Pulses are those of a deployed job, by its handler.

import { KinesisClient } from '@aws-sdk/client-kinesis';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { openAwsPorts } from '../../lib/adapters/aws/aws-ports.ts';
import { type AwsClients, clientSettings, createClients } from '../../lib/adapters/aws/clients.ts';
import { type ExchangePlaces, streamsIn } from '../../lib/adapters/aws/exchange-place.ts';
import { addressOfKey, keyOfState } from '../../lib/adapters/aws/layout.ts';
import { openExchange } from '../../lib/adapters/aws/open-exchange.ts';
import { openTargets } from '../../lib/adapters/aws/targets/open-targets.ts';
import { type ControlEvent, controlAnswer, invocationOf } from '../../lib/aws/control-call.ts';
import type { Deployed } from '../../lib/aws/deployed.ts';
import { handlePulse, newPulseState } from '../../lib/aws/pulse-handler.ts';
import type { Control } from '../../lib/invocation/control.ts';
import { patient } from '../../lib/invocation/patience.ts';
import type { Exchange, InvocationPorts, StateItem } from '../../lib/invocation/ports.ts';
import { createEnvironment, createServices } from '../../lib/invocation/unit/create-environment.ts';
import type { Meter } from '../calls/meter.ts';
import type { OpenStores, Stores, World } from '../calls/stores.ts';
import { Streams } from './cloud/streams.ts';
import { Cloud } from './counting.ts';

/** Where things of the job lie, made by whoever owns them. */
export interface Place {
  readonly table: string;
  readonly bucket: string;
  /** Stage → its exchange queue, or stream. */
  readonly queues: ExchangePlaces;
  /** Of the rows of the sink; its key is `key`. */
  readonly rows: string;
  /** Address of an emulator; absent: the stand-in answers. */
  readonly endpoint?: string;
}

export const inMemory: Place = { table: 'job', bucket: 'job', queues: { 1: 'https://queue/1.fifo' }, rows: 'rows' };

/** The same with a stream between the stages, of a shard for each of four subtasks. */
export const shards = 4;
const stream = 'arn:aws:kinesis:us-east-1:000000000000:stream/exchange';
export const inStreams: Place = { ...inMemory, queues: { 1: { stream, targets: shards } } };

/** An emulator on a busy machine takes its time, and a time-out would be a request that nobody expects. */
export const requestMs = 60_000;

/** @param onCloud  told of what answers, to ask it later */
export function awsStores(place: Place, onCloud: (cloud: Cloud) => void = () => undefined): OpenStores {
  return (world) => {
    const cloud = new Cloud({ now: () => world.clock.now(), table: place.table, isEmulated: place.endpoint !== undefined });
    cloud.tables.create(place.rows, ['key']);
    onCloud(cloud);
    return openStores(place, world, cloud);
  };
}

function openStores(place: Place, world: World, cloud: Cloud): Stores {
  const { table, bucket, queues, endpoint } = place;
  const clientsOf = (meter: Meter): AwsClients => {
    const clients = createClients({ endpoint, requestMs });
    cloud.count(clients, meter);
    return clients;
  };
  const streams = Object.keys(streamsIn(queues)).length === 0 ? undefined : new Streams(shards);
  const portsOf = (clients: AwsClients, meter: Meter): InvocationPorts => {
    const exchange = streams === undefined ? undefined : streamExchange(queues, clients, { cloud, streams, meter });
    return openAwsPorts({ table, bucket, queues, clients, exchange, random: world.random });
  };
  const targetsOf = (clients: AwsClients) => openTargets({ bind: { rows: { kind: 'dynamodb', table: place.rows } }, clients });
  return {
    ports: (meter) => portsOf(clientsOf(meter), meter),
    forUnits: (meter) => {
      const clients = clientsOf(meter);
      return { ports: portsOf(clients, meter), targets: targetsOf(clients) };
    },
    fill: async (items) => {
      for (const { address, tags, bytes } of items) cloud.tables.put(table, { ...keyOfState(address), t: { S: tags }, b: { B: bytes } });
    },
    items: () => stateItemsOf(cloud, table),
    onJobItem: (listener) => cloud.onJobItem(listener),
    pulse: pulseOf({ place, world, cloud, clientsOf, portsOf, targetsOf }),
  };
}

/** Whoever asks it for messages is their mapping. */
function streamExchange(
  queues: ExchangePlaces,
  clients: AwsClients,
  { cloud, streams, meter }: { readonly cloud: Cloud; readonly streams: Streams; readonly meter: Meter },
): Exchange {
  const kinesis = new KinesisClient(clientSettings());
  cloud.countStreams(kinesis, streams, meter);
  return streams.mapped(openExchange(queues, clients, kinesis).exchange);
}

function stateItemsOf(cloud: Cloud, table: string): readonly StateItem[] {
  const items: StateItem[] = [];
  for (const { p, s, t, b } of cloud.tables.itemsOf(table)) {
    if (p?.S?.startsWith('s') !== true) continue;
    items.push({ address: addressOfKey(p.S, s?.S ?? ''), tags: t?.S ?? '', bytes: b?.B ?? new Uint8Array(0) });
  }
  return items;
}

interface PulseParts {
  readonly place: Place;
  readonly world: World;
  readonly cloud: Cloud;
  readonly clientsOf: (meter: Meter) => AwsClients;
  readonly portsOf: (clients: AwsClients, meter: Meter) => InvocationPorts;
  readonly targetsOf: (clients: AwsClients) => Deployed['targets'];
}

/** One function of the pulse that stays warm, whose calls of control functions arrive in this process. */
function pulseOf(parts: PulseParts): NonNullable<Stores['pulse']> {
  const { world, cloud } = parts;
  let opened: { readonly deployed: Deployed; readonly state: ReturnType<typeof newPulseState> } | undefined;
  let control: Control | undefined;
  const open = (meter: Meter): NonNullable<typeof opened> => {
    const lambda = new LambdaClient(clientSettings());
    cloud.callFunctions(lambda, async (_, event) => {
      const { invocation } = JSON.parse(Buffer.from(event).toString('utf8')) as ControlEvent;
      const answer = await (control as Control).invoke(invocationOf({ invocation }));
      return { Payload: Buffer.from(JSON.stringify(controlAnswer(answer))) };
    });
    return { deployed: deployedOf(parts, meter), state: { ...newPulseState(), lambda } };
  };
  let executions = 0;
  return async ({ meter, control: own }) => {
    opened ??= open(meter);
    control = own;
    const { deployed, state } = opened;
    const startedAt = new Date(world.clock.now()).toISOString();
    await quietly(() => handlePulse(deployed, state, { execution: `execution-${++executions}`, startedAt }, world.clock));
  };
}

function deployedOf({ place, world, clientsOf, portsOf, targetsOf }: PulseParts, meter: Meter): Deployed {
  const { plan, clock, random } = world;
  const { table, bucket, queues } = place;
  const clients = clientsOf(meter);
  const [ports, targets] = [portsOf(clients, meter), targetsOf(clients)];
  const controls = Object.fromEntries(plan.stages.map(({ id }) => [String(id), `control-${id}`]));
  const none = { params: {}, set: {}, mappings: [], bind: {}, stage: undefined };
  const options = { plan, ports, targets, clock, random, files: {} as never, report: () => undefined, print: () => undefined };
  return {
    ...{ plan, clients, targets, tally: { conflicts: 0 } },
    settings: { job: plan.job, planHash: plan.hash, table, bucket, queues, controls, ...none },
    ports: patient(ports, { clock, random }),
    environment: createEnvironment(options),
    services: createServices(options),
    sourceContext: (uid) => ({ job: plan.job, uid, files: {} as never, clock, targets, countSkipped: () => undefined }),
    exchangeStream: () => undefined,
  };
}

/** A function's log has a line for each event; here nobody reads it. */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { log } = console;
  console.log = () => undefined;
  try {
    return await work();
  } finally {
    console.log = log;
  }
}
