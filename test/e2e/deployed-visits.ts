// One of the deployed jobs: what is sent to it, and what its results are held against.
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { type AttributeValue, DynamoDBClient, GetItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { GetEventSourceMappingCommand, InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { openAwsPorts } from '../../lib/adapters/aws/aws-ports.ts';
import { streamsIn } from '../../lib/adapters/aws/exchange-place.ts';
import { systemRandom } from '../../lib/adapters/embedded/system-clock.ts';
import { type DeployedJob, readStack } from '../../lib/cli/aws/stack.ts';
import { commitsKey, committedRow } from '../../lib/index.ts';
import { readExistingJob } from '../../lib/invocation/coordinator/read-job.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import { type Cloud, eventually } from './cloud.ts';
import { QueueInput, StreamInput, type VisitInput } from './inputs.ts';
import type { PageRow, Visit } from './jobs/visits.ts';
import { inOrder, lastPage, minuteMs, Oracle } from './oracle.ts';

const users = 24;
const pages = 4;
const firstMinute = 26_224_187;

interface VisitsBind {
  readonly visits: { readonly queue: string };
  readonly totals: { readonly table: string };
  readonly minutes: { readonly table: string };
  readonly pages: { readonly bucket: string };
}

const minutesKey = ['page', 'minute'] as const;

/** An object that the transactional sink has made visible. */
export interface PageObject {
  readonly generation: number;
  readonly checkpoint: number;
  readonly rows: readonly PageRow[];
}

export class DeployedVisits {
  readonly name: 'stream' | 'fifo' | 'standard';
  readonly stack: string;
  readonly oracle = new Oracle();
  readonly #cloud: Cloud;
  readonly #dynamodb = new DynamoDBClient({});
  readonly #lambda = new LambdaClient({});
  readonly #s3 = new S3Client({ forcePathStyle: true });
  readonly #stream: StreamInput | undefined;
  #input!: VisitInput;
  #deployed!: DeployedJob;
  #bind!: VisitsBind;
  #ports!: InvocationPorts;
  #visits = 0;
  /** Streams between its stages. */
  readonly exchanges: StreamInput[] = [];

  constructor(cloud: Cloud, name: 'stream' | 'fifo' | 'standard', stream?: StreamInput) {
    this.name = name;
    this.stack = `Visits-${name}`;
    this.#cloud = cloud;
    this.#stream = stream;
  }

  /** Finds out what was deployed, and has the first pulse make the job. @param random  for what goes wrong on the way */
  async begin(random: () => number): Promise<void> {
    this.#deployed = (await readStack(this.stack, { endpoint: undefined }))[0]!;
    const { table, bucket, queues } = this.#deployed;
    this.#ports = openAwsPorts({ table, bucket, queues, random: systemRandom });
    const { Stacks: stacks } = await new CloudFormationClient({}).send(new DescribeStacksCommand({ StackName: this.stack }));
    const bound = stacks?.[0]?.Outputs?.find(({ OutputKey: key }) => key?.endsWith('SluiceBind'))?.OutputValue;
    this.#bind = JSON.parse(bound ?? '{}') as VisitsBind;
    const exchanges = await this.#exchangeStreams();
    const { mapping, functionName } = await this.#mappingOf(this.#stream?.arn ?? this.#bind.visits.queue.split('/').at(-1) ?? '');
    this.#input = this.#stream ?? new QueueInput({ url: this.#bind.visits.queue, functionName });
    await eventually(`${this.stack} runs`, async () => ((await this.#pulse()) === 'running' ? true : undefined));
    await new SFNClient({}).send(new StartExecutionCommand({ stateMachineArn: this.#deployed.stateMachine }));
    this.#stream?.read({ functionName, mapping, random });
    for (const { stream, ...read } of exchanges) stream.read({ ...read, random });
  }

  /** The emulator makes the streams of a stack; those that are read are of another one, in which shards split. */
  async #exchangeStreams(): Promise<readonly { readonly stream: StreamInput; readonly mapping: string; readonly functionName: string }[]> {
    const made = [];
    for (const { stream: arn, targets } of Object.values(streamsIn(this.#deployed.queues))) {
      const stream = new StreamInput(arn.split('/').at(-1) ?? '');
      await stream.create(targets);
      this.exchanges.push(stream);
      made.push({ stream, ...(await this.#mappingOf(arn)) });
    }
    return made;
  }

  async #mappingOf(arn: string): Promise<{ readonly mapping: string; readonly functionName: string }> {
    for (const mapping of this.#deployed.mappings) {
      const found = await this.#lambda.send(new GetEventSourceMappingCommand({ UUID: mapping }));
      if (found.EventSourceArn?.endsWith(arn)) return { mapping, functionName: found.FunctionArn ?? '' };
    }
    throw new Error(`${this.stack} has no mapping of ${arn}`);
  }

  async #pulse(): Promise<string> {
    const { Payload: payload } = await this.#lambda.send(
      new InvokeCommand({ FunctionName: this.#deployed.pulse, Payload: Buffer.from('{}') }),
    );
    return (JSON.parse(Buffer.from(payload ?? []).toString()) as { readonly status?: string }).status ?? '';
  }

  /** The visits of a minute, spread over users and pages. @param change  of single ones */
  visits(minute: number, n: number, change: (i: number) => Partial<Visit> = () => ({})): readonly Visit[] {
    return Array.from({ length: n }, (_, i) => {
      const id = this.#visits++;
      const at = (firstMinute + minute) * minuteMs + Math.floor((i * minuteMs) / n);
      return { id: `v${id}`, user: `u${id % users}`, page: `p${(id * 7) % pages}`, at, ...change(i) };
    });
  }

  async send(visits: readonly Visit[]): Promise<void> {
    for (const visit of visits) this.oracle.note(visit);
    await this.#input.send(visits);
  }

  async upset(visits: readonly Visit[]): Promise<void> {
    for (const visit of visits) this.oracle.note(visit);
    await this.#input.upset(visits);
  }

  async totals(): Promise<ReadonlyMap<string, number>> {
    const { Items: rows = [] } = await this.#dynamodb.send(new ScanCommand({ TableName: this.#bind.totals.table, ConsistentRead: true }));
    return new Map(rows.map((row) => [row.user?.S ?? '', Number(row.visits?.N)]));
  }

  async expectTotals(): Promise<void> {
    const wanted = inOrder(this.oracle.totals());
    let seen = '';
    await eventually(
      () => `the totals of ${this.name} are\n${wanted}\nbut\n${seen}`,
      async () => {
        seen = inOrder(await this.totals());
        return seen === wanted ? true : undefined;
      },
    );
  }

  /** Newest completed one, 0 when there is none. */
  async #lastCheckpoint(): Promise<number> {
    const { item } = await readExistingJob(this.#ports);
    return item.completed.at(-1)?.checkpoint ?? 0;
  }

  /** Waits for a checkpoint; there is none without something new. @param minute  of what is new */
  async nextCheckpoint(minute: number): Promise<number> {
    const before = await this.#lastCheckpoint();
    await this.send(this.visits(minute, users));
    return await eventually(`${this.name} completes a checkpoint above ${before}`, async () => {
      const last = await this.#lastCheckpoint();
      return last > before ? last : undefined;
    });
  }

  async objects(): Promise<readonly PageObject[]> {
    const { bucket } = this.#bind.pages;
    const { Contents: listed = [] } = await this.#s3.send(new ListObjectsV2Command({ Bucket: bucket }));
    const names = listed.map(({ Key: key = '' }) => key);
    return await Promise.all(
      names.map(async (name) => {
        const { Body: body } = await this.#s3.send(new GetObjectCommand({ Bucket: bucket, Key: name }));
        const lines = ((await body?.transformToString()) ?? '').trim().split('\n');
        const [, checkpoint, generation] = /-(\d+)-(\d+)\.[^.]+$/.exec(name) ?? [];
        return { checkpoint: Number(checkpoint), generation: Number(generation), rows: lines.map((line) => JSON.parse(line) as PageRow) };
      }),
    );
  }

  /** What the transactional sink has committed, by the rules for its readers. */
  async minutes(): Promise<readonly PageRow[]> {
    const { table } = this.#bind.minutes;
    const place = commitsKey({ job: 'visits', uid: 'minutes', key: minutesKey, sortType: 'N' }) as Record<string, AttributeValue>;
    const { Item: commits } = await this.#dynamodb.send(new GetItemCommand({ TableName: table, Key: place, ConsistentRead: true }));
    const { Items: items = [] } = await this.#dynamodb.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
    const rows = items.filter(({ page }) => page?.S?.startsWith('sluice/') !== true).map((item) => committedRow(item, commits, minutesKey));
    if (rows.some(({ kind }) => kind === 'start-over')) return await this.minutes();
    return rows.flatMap((row) => {
      if (row.kind !== 'row') return [];
      const { page, minute, visits } = row.item;
      return [{ page: page?.S ?? '', minute: Number(minute?.N), visits: Number(visits?.N) }];
    });
  }

  /**
   * Sends what closes all windows, and waits for their rows: each once in objects, but for those that checkpoints after the restored one had made visible,
   * and all in the table.
   * @param restored  checkpoint that generation 0 was taken back to
   */
  async expectPages(restored: number): Promise<void> {
    await this.send(this.visits(60, 2 * users, () => ({ page: lastPage })));
    const wanted = inOrder(this.oracle.pages());
    let seen = '';
    await eventually(
      () => `the pages of ${this.name} are\n${wanted}\nbut\n${seen}`,
      async () => {
        const objects = await this.objects();
        const kept = objects.filter(({ generation, checkpoint }) => generation > 0 || checkpoint <= restored);
        seen = inOrder(kept.flatMap(({ rows }) => rows));
        return seen === wanted ? true : undefined;
      },
    );
    await eventually(
      () => `the minutes of ${this.name} are\n${wanted}\nbut\n${seen}`,
      async () => {
        seen = inOrder(await this.minutes());
        return seen === wanted ? true : undefined;
      },
    );
  }

  sluice(...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    return this.#cloud.sluice(this.stack, ...words);
  }

  get mappings(): readonly string[] {
    return this.#deployed.mappings;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#input, ...this.exchanges].map((input) => input?.stop()));
  }
}
