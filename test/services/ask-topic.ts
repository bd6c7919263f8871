// Reads all of a topic with a password, in a process that was told which certificate to trust: `ask-topic.ts BOOTSTRAP TOPIC AUTH SECRET`.
import { loginOf, type TopicAuth } from '../../lib/adapters/kafka/login.ts';
import { KafkaTopic } from '../../lib/adapters/kafka/topic.ts';
import type { SluiceError } from '../../lib/core/errors.ts';

const [, , bootstrap = '', name = '', auth, secret = ''] = process.argv;
const login = loginOf(auth as TopicAuth, { readSecret: () => Promise.resolve(secret), token: () => Promise.resolve('') });
const topic = new KafkaTopic({ topic: name, bootstrap, login });
try {
  const partitions = await topic.partitions();
  const records: string[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    for (const { data } of (await topic.read(partition, undefined, 100)).records) records.push(Buffer.from(data ?? []).toString());
  }
  console.log(JSON.stringify({ partitions, records }));
} catch (error) {
  const { code, message } = error as SluiceError;
  console.log(JSON.stringify({ code, message }));
}
await topic.close().catch(() => undefined);
process.exit();
