// A world of clicks whose exchange is a stream for each stage behind another, read by mappings as Lambda documents them: one event of a shard at a time,
// and of what an answer names everything again.
import type { KinesisAnswer } from '../../lib/aws/kinesis-event.ts';
import { handleStage } from '../../lib/aws/stage-handler.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import type { EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import type { FakeCall } from '../../lib/testing/index.ts';
import type { CaseProcess } from './case-process.ts';
import { ClickWorld, type ClickWorldOptions } from './click-world.ts';
import { FakeShards, type FakeShardsOptions } from './fake-shards.ts';

const context = { getRemainingTimeInMillis: () => 30_000 };

export interface ShardWorldOptions extends ClickWorldOptions, Pick<FakeShardsOptions, 'shards' | 'isLeft' | 'overtakes'> {
  /** Messages of an event. */
  readonly messages?: number;
}

export class ShardWorld extends ClickWorld {
  /** By stage. */
  readonly streams: ReadonlyMap<number, FakeShards>;
  /** What functions said that failed. */
  readonly failed: string[] = [];
  readonly #messages: number;

  constructor(o: ShardWorldOptions) {
    super(o);
    this.#messages = o.messages ?? 3;
    const behind = this.plan.stages.filter(({ inputs }) => inputs.length > 0);
    this.streams = new Map(behind.map(({ id, parallelism }) => [id, new FakeShards({ ...o, stage: id, targets: parallelism })]));
  }

  override optionsOf(process: CaseProcess): EnvironmentOptions {
    const options = super.optionsOf(process);
    return { ...options, ports: { ...options.ports, exchange: this.exchangeOf(process.call) } };
  }

  /** The one of a job with two stages. */
  get shards(): FakeShards {
    return this.streams.get(1)!;
  }

  /** Called before there is a stream. */
  private exchangeOf(call: FakeCall): InvocationPorts['exchange'] {
    const none = (): Promise<never> => Promise.reject(new Error('nothing is taken out of a stream'));
    const send: InvocationPorts['exchange']['send'] = async (messages) => {
      const asked = messages.map(({ group, id, bytes }) => ({ group, id, bytes: bytes.slice() }));
      const stage = Number(asked[0]!.group.split('-')[0]);
      return await call('exchange.send', `${asked.length} to ${asked[0]!.group}`, () => this.streams.get(stage)!.send(asked));
    };
    return { send, receive: none, settle: none, release: none };
  }

  /** One event of every shard, children of a reshard before their parents. */
  override async drain(): Promise<boolean> {
    let hasAny = false;
    for (const [stage, shards] of this.streams) {
      for (const shard of [...shards.all].reverse()) {
        const event = shards.event(shard, this.#messages);
        if (event === undefined) continue;
        hasAny = true;
        const answer = await this.#handle(stage, shards, event);
        if (answer instanceof Error) this.failed.push(answer.message);
        else shards.taken(shard, event, answer.batchItemFailures[0]?.itemIdentifier);
      }
    }
    return hasAny;
  }

  async #handle(stage: number, shards: FakeShards, event: object): Promise<KinesisAnswer | Error> {
    const deployed = {
      ...{ plan: this.plan, ports: this.ports, settings: { stage, bind: {} }, tally: { conflicts: 0 } },
      environment: { invoke: (invocation: Parameters<ClickWorld['invoke']>[0]) => this.invoke(invocation) },
      exchangeStream: () => shards.target,
    };
    const clock = { now: () => this.time.now, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
    try {
      return (await handleStage(deployed, event, context, clock)) as KinesisAnswer;
    } catch (error) {
      return error as Error;
    }
  }
}
