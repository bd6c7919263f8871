// Topics against a real broker: what producers in Java wrote, read again as a restore does it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TopicAuth } from '../../lib/adapters/kafka/login.ts';
import { KafkaTopic } from '../../lib/adapters/kafka/topic.ts';
import type { StreamRecord } from '../../lib/api/targets.ts';
import { type Broker, startBroker } from '../../tools/kafka/broker.ts';

let broker: Broker;
const open: KafkaTopic[] = [];

beforeAll(async () => {
  broker = await startBroker();
});
afterAll(async () => {
  for (const topic of open) await topic.close();
  await broker.stop();
});

const tools = 'org.apache.kafka.tools';
const at = (): string[] => ['--bootstrap-server', broker.plain];

async function createTopic(name: string, partitions = 1): Promise<KafkaTopic> {
  await broker.tool(`${tools}.TopicCommand`, [...at(), '--create', '--topic', name, '--partitions', String(partitions)]);
  return topicOf(name);
}

function topicOf(name: string): KafkaTopic {
  const topic = new KafkaTopic({
    topic: name,
    bootstrap: broker.plain,
    login: { auth: 'none', sasl: () => Promise.resolve(undefined) },
  });
  open.push(topic);
  return topic;
}

/** One record a line, `key:value`; a value `GONE` is none. */
async function produce(topic: string, lines: readonly string[], ...words: string[]): Promise<void> {
  const reading = ['parse.key=true', 'key.separator=:', 'null.marker=GONE'].flatMap((one) => ['--reader-property', one]);
  await broker.tool(`${tools}.ConsoleProducer`, [...at(), '--topic', topic, ...reading, ...words], `${lines.join('\n')}\n`);
}

interface Read {
  readonly lines: readonly string[];
  readonly pages: number;
}

const text = ({ key, data }: StreamRecord): string =>
  `${Buffer.from(key ?? []).toString()}:${data === undefined ? 'GONE' : Buffer.from(data).toString()}`;

/** From an offset to the end, page by page; each record has to lie behind the one before. */
async function readAll(topic: KafkaTopic, partition = 0, from?: bigint, recordsMax = 1_000): Promise<Read> {
  const lines: string[] = [];
  let cursor = from;
  let last = from === undefined ? -1n : from - 1n;
  for (let pages = 1; ; pages++) {
    const { records, next, end } = await topic.read(partition, cursor, recordsMax);
    expect(records.length).toBeLessThanOrEqual(recordsMax);
    for (const record of records) {
      expect(BigInt(record.sequence)).toBeGreaterThan(last);
      last = BigInt(record.sequence);
      lines.push(text(record));
    }
    if (next >= end) return { lines, pages };
    expect(next).toBeGreaterThan(cursor ?? -1n);
    cursor = next;
  }
}

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `k${(from + i) % 7}:value ${from + i}`);

describe('a topic on a real broker', () => {
  test('is read from its beginning and from any offset, in pages of any size, with its keys and tombstones', async () => {
    const topic = await createTopic('plain');
    const lines = [...numbered(1, 40), 'k1:GONE', ...numbered(41, 60)];
    await produce('plain', lines);
    expect(await topic.partitions()).toBe(1);
    expect((await readAll(topic)).lines).toEqual(lines);
    expect(await readAll(topic, 0, undefined, 7)).toEqual({ lines, pages: 9 });
    for (const from of [0, 1, 39, 40, 60]) expect((await readAll(topic, 0, BigInt(from), 5)).lines).toEqual(lines.slice(from));
    expect(await topic.read(0, 61n, 10)).toEqual({ records: [], next: 61n, oldest: 0n, end: 61n });
    expect(await topic.read(0, 99n, 10)).toEqual({ records: [], next: 99n, oldest: 0n, end: 61n });
  });

  test('keeps the order of a key in each of its partitions, also in one that was added', async () => {
    const topic = await createTopic('parted', 3);
    await produce('parted', numbered(1, 200));
    await broker.tool(`${tools}.TopicCommand`, [...at(), '--alter', '--topic', 'parted', '--partitions', '5']);
    await produce('parted', numbered(201, 400));
    expect(await topic.partitions()).toBe(5);
    const parts = [];
    for (let partition = 0; partition < 5; partition++) parts.push((await readAll(topic, partition, undefined, 50)).lines);
    expect(parts.flat().sort()).toEqual(numbered(1, 400).sort());
    for (const lines of parts) {
      const numbers = new Map<string, number[]>();
      for (const line of lines) {
        const [key = '', value = ''] = line.split(':value ');
        numbers.set(key, [...(numbers.get(key) ?? []), Number(value)]);
      }
      for (const one of numbers.values()) expect(one).toEqual([...one].sort((a, b) => a - b));
    }
  });

  test.each(['gzip', 'snappy', 'lz4', 'zstd'])('is read where producers press with %s', async (codec) => {
    const topic = await createTopic(`pressed-${codec}`);
    await produce(`pressed-${codec}`, numbered(1, 3_000), '--compression-codec', codec, '--batch-size', '2000');
    expect((await readAll(topic, 0, undefined, 700)).lines).toEqual(numbered(1, 3_000));
    expect((await readAll(topic, 0, 1_234n, 700)).lines).toEqual(numbered(1_235, 3_000));
  });

  test('a record that is larger than a page comes all the same', async () => {
    const topic = await createTopic('large');
    const large = `k:${'x'.repeat(5_000_000)}`;
    await produce(
      'large',
      ['k:before', large, 'k:after'],
      '--command-property',
      'max.request.size=8000000',
      '--max-memory-bytes',
      '50000000',
    );
    expect((await readAll(topic)).lines).toEqual(['k:before', large, 'k:after']);
  });

  test('marks of transactions are no records, and records of one that was given up are there, as for the mapping', async () => {
    const topic = await createTopic('transactions');
    for (const [name, ends] of [
      ['a', 'commit'],
      ['b', 'abort'],
      ['c', 'commit'],
    ] as const) {
      const script = `
        import { Producer, stringSerializers } from '@platformatic/kafka';
        const producer = new Producer({ clientId: 'test', bootstrapBrokers: ['${broker.plain}'], serializers: stringSerializers, idempotent: true, transactionalId: 't-${name}' });
        const transaction = await producer.beginTransaction();
        await transaction.send({ messages: [1, 2].map((n) => ({ topic: 'transactions', partition: 0, key: '${name}', value: String(n) })) });
        await transaction.${ends}();
        await producer.close();`;
      await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: join(import.meta.dirname, '../..') });
    }
    const { lines } = await readAll(topic, 0, undefined, 2);
    expect(lines).toEqual(['a:1', 'a:2', 'b:1', 'b:2', 'c:1', 'c:2']);
    const { end } = await topic.read(0, undefined, 1);
    expect(end, 'a mark behind each transaction').toBe(9n);
    expect((await readAll(topic, 0, 4n)).lines).toEqual(['b:2', 'c:1', 'c:2']);
  });

  test('tells from where on it still has records', async () => {
    const topic = await createTopic('trimmed');
    await produce('trimmed', numbered(1, 20));
    const script = `
      import { Admin } from '@platformatic/kafka';
      const admin = new Admin({ clientId: 'test', bootstrapBrokers: ['${broker.plain}'] });
      await admin.deleteRecords({ topics: [{ name: 'trimmed', partitions: [{ partition: 0, offset: 12n }] }] });
      await admin.close();`;
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: join(import.meta.dirname, '../..') });
    expect(await topic.read(0, 5n, 100)).toEqual({ records: [], next: 5n, oldest: 12n, end: 20n });
    expect((await readAll(topic)).lines).toEqual(numbered(13, 20));
  });

  test('one that does not exist is missing, and one that was made again is another', async () => {
    await expect(topicOf('nowhere').partitions()).rejects.toMatchObject({ code: 'STORE_MISSING' });
    await expect(topicOf('nowhere').read(0, undefined, 1)).rejects.toMatchObject({ code: 'STORE_MISSING' });
    const topic = await createTopic('again');
    await produce('again', numbered(1, 5));
    expect((await readAll(topic)).lines).toEqual(numbered(1, 5));
    await broker.tool(`${tools}.TopicCommand`, [...at(), '--delete', '--topic', 'again']);
    await createTopic('again');
    await produce('again', numbered(6, 7));
    const outcome = await topic.read(0, undefined, 10).catch((error: unknown) => error);
    if (outcome instanceof Error) expect(outcome).toMatchObject({ name: 'SluiceError' });
    expect((await readAll(topic)).lines).toEqual(numbered(6, 7));
  });
});

describe('a broker that is killed', () => {
  test('is no loss: the page is asked for again when it is back', async () => {
    const topic = await createTopic('killed');
    await produce('killed', numbered(1, 10));
    expect((await topic.read(0, undefined, 4)).next).toBe(4n);
    await broker.kill();
    await expect(topic.read(0, 4n, 4)).rejects.toMatchObject({ code: 'STORE_UNCERTAIN', next: 'retry-invocation' });
    await broker.restart();
    const read = async (): Promise<Read> => {
      for (;;) {
        try {
          return await readAll(topic, 0, 4n);
        } catch (error) {
          expect(error).toMatchObject({ code: 'STORE_UNCERTAIN' }); // it answers before it leads the partition
        }
      }
    };
    expect((await read()).lines).toEqual(numbered(5, 10));
  });
});

describe('a broker that wants a user, over TLS', () => {
  const ask = async (auth: TopicAuth, password: string): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(import.meta.dirname, 'ask-topic.ts'), broker.secure, 'secret', auth, JSON.stringify({ ...broker.user, password })],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: broker.certificate } },
    );
    return JSON.parse(stdout);
  };

  test('takes each way of logging in, and a wrong password is told as forbidden', async () => {
    await createTopic('secret', 2);
    await produce('secret', ['k:v']);
    for (const auth of ['scram-512', 'scram-256', 'plain'] as const) {
      expect(await ask(auth, broker.user.password), auth).toEqual({ partitions: 2, records: ['v'] });
      expect(await ask(auth, 'wrong'), auth).toMatchObject({ code: 'STORE_FORBIDDEN' });
    }
  });
});
