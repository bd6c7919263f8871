// Starts and stops a Kafka broker for tests: one node, its own controller, with a port in plain text and one with TLS and passwords. Java runs it, and
// Maven fetches its jars once; why it is started like this, README.md beside this file tells.

import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { answering, freePort, keepLog, stopping } from '../emulator/server.ts';

const run = promisify(execFile);
const here = import.meta.dirname;
const version = '4.4.0';

export interface Broker {
  /** `host:port` of the listener in plain text. */
  readonly plain: string;
  /** Of the one that wants a user, over TLS, by SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN. */
  readonly secure: string;
  readonly user: { readonly username: string; readonly password: string };
  /** File of the certificate that `secure` shows. */
  readonly certificate: string;
  /** Runs one of the command line tools of Kafka, such as `org.apache.kafka.tools.TopicCommand`. @returns what it printed */
  tool(name: string, words: readonly string[], input?: string): Promise<string>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again over the same data, at the same ports. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const user = { username: 'sluice', password: 'a-password' };
const storePassword = 'of-a-test';
const java = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dlog4j2.level=WARN'];

/** Fetches the jars when they are not there. @returns the class path */
async function install(): Promise<string> {
  const place = join(here, '../../node_modules/.cache/sluice-kafka', version);
  const classPath = join(place, 'libs/*');
  if (existsSync(join(place, 'installed'))) return classPath;
  await rm(place, { recursive: true, force: true });
  await mkdir(dirname(place), { recursive: true });
  const goal = ['-q', '-B', 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${join(place, 'libs')}`];
  await run('mvn', goal, { cwd: here });
  await mkdir(join(place, 'installed'));
  return classPath;
}

export async function startBroker(): Promise<Broker> {
  const classPath = await install();
  const place = await mkdtemp(join(tmpdir(), 'sluice-kafka-'));
  const [plain, secure, controller] = [await freePort(), await freePort(), await freePort()];
  const settings = join(place, 'server.properties');
  const certificate = await makeCertificate(place);
  await writeFile(settings, settingsOf({ place, plain, secure, controller }));
  const main = (words: readonly string[]): string[] => [...java, '-cp', classPath, ...words];
  const scram = ['SCRAM-SHA-512', 'SCRAM-SHA-256'].flatMap((mechanism) => [
    '--add-scram',
    `${mechanism}=[name=${user.username},password=${user.password}]`,
  ]);
  const cluster = randomBytes(16).toString('base64url').replace(/^-/, 'A');
  await run('java', main(['kafka.tools.StorageTool', 'format', '-t', cluster, '-c', settings, ...scram]));
  let running = await launch(main(['kafka.Kafka', settings]), place, plain);
  return {
    plain: `127.0.0.1:${plain}`,
    secure: `localhost:${secure}`,
    ...{ user, certificate },
    tool: (name, words, input) => runTool(main([name, ...words]), input),
    kill: () => running.kill(),
    restart: async () => {
      running = await launch(main(['kafka.Kafka', settings]), place, plain);
    },
    stop: async () => {
      await running.stop();
      await rm(place, { recursive: true, force: true });
    },
  };
}

interface Running {
  kill(): Promise<void>;
  stop(): Promise<void>;
}

async function launch(words: readonly string[], place: string, port: number): Promise<Running> {
  const log = join(place, 'broker.log');
  const child = spawn('java', words, { cwd: place, stdio: ['ignore', 'pipe', 'pipe'] });
  keepLog(child, log);
  const stop = stopping(child, () => Promise.resolve());
  await answering(`127.0.0.1:${port}`, child, log, stop, () => isOpen(port));
  return {
    stop,
    kill: () => {
      child.kill('SIGKILL');
      return stop();
    },
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const tell = (isUp: boolean) => (): void => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once('connect', tell(true)).once('error', tell(false));
  });
}

async function runTool(words: readonly string[], input = ''): Promise<string> {
  const running = run('java', words);
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** @returns file of the certificate */
async function makeCertificate(place: string): Promise<string> {
  const store = ['-keystore', join(place, 'broker.p12'), '-storetype', 'PKCS12', '-storepass', storePassword, '-alias', 'broker'];
  const names = ['-dname', 'CN=localhost', '-ext', 'san=dns:localhost,ip:127.0.0.1'];
  await run('keytool', ['-genkeypair', ...store, ...names, '-keyalg', 'RSA', '-validity', '30']);
  const certificate = join(place, 'broker.pem');
  await run('keytool', ['-exportcert', '-rfc', ...store, '-file', certificate]);
  return certificate;
}

interface Ports {
  readonly place: string;
  readonly plain: number;
  readonly secure: number;
  readonly controller: number;
}

/** The last lines let a broker that was killed come back at once instead of waiting for its own old session. */
function settingsOf({ place, plain, secure, controller }: Ports): string {
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  const login = `org.apache.kafka.common.security.plain.PlainLoginModule required user_${user.username}="${user.password}";`;
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:${plain},SECURE://127.0.0.1:${secure},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=PLAINTEXT://127.0.0.1:${plain},SECURE://localhost:${secure}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512,SCRAM-SHA-256,PLAIN
listener.name.secure.scram-sha-512.sasl.jaas.config=${scram}
listener.name.secure.scram-sha-256.sasl.jaas.config=${scram}
listener.name.secure.plain.sasl.jaas.config=${login}
ssl.keystore.location=${join(place, 'broker.p12')}
ssl.keystore.type=PKCS12
ssl.keystore.password=${storePassword}
log.dirs=${join(place, 'data')}
auto.create.topics.enable=false
message.max.bytes=8388608
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
`;
}
