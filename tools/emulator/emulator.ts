// Starts and stops the emulators that the tests run against: ministack for DynamoDB, S3, SQS, Lambda, CloudFormation and Step Functions, and
// kinesis-local for streams whose shards split. Nothing needs Docker. Why these, and what they do not tell: README.md beside this file.

import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { answering, freePort, keepLog, stopping } from './server.ts';

const run = promisify(execFile);
const here = import.meta.dirname;
const root = join(here, '../..');
const version = '1.5.33';

export interface Emulator {
  /** Address of everything but streams, such as `http://127.0.0.1:4566`. */
  readonly endpoint: string;
  /** What a program needs in its environment to reach it. */
  readonly variables: Readonly<Record<string, string>>;
  /** Log of the emulator, for whoever looks for a reason. */
  readonly log: string;
  /** Forgets everything that was made in it. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export interface StreamEmulator {
  readonly endpoint: string;
  stop(): Promise<void>;
}

export interface EmulatorOptions {
  /** A free one when absent. */
  readonly port?: number;
  /** For the emulator and the functions that it runs. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Credentials that emulators take: the key is the number of the account. */
export const credentials = { AWS_ACCESS_KEY_ID: '000000000000', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'us-east-1' } as const;

/** Makes the Python environment of the emulator when there is none. @returns its Python */
export async function installEmulator(): Promise<string> {
  const place = join(root, 'node_modules/.cache/sluice-emulator', version);
  const python = join(place, 'bin/python');
  if (existsSync(join(place, 'installed'))) return python;
  await rm(place, { recursive: true, force: true });
  await mkdir(dirname(place), { recursive: true });
  await run('python3', ['-m', 'venv', place]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `ministack==${version}`]);
  await mkdir(join(place, 'installed'));
  return python;
}

export async function startEmulator(o: EmulatorOptions = {}): Promise<Emulator> {
  const python = await installEmulator();
  const port = o.port ?? (await freePort());
  const endpoint = `http://127.0.0.1:${port}`;
  const place = await mkdtemp(join(tmpdir(), 'sluice-emulator-'));
  const log = join(place, 'emulator.log');
  const variables = { ...credentials, AWS_DEFAULT_REGION: credentials.AWS_REGION, AWS_ENDPOINT_URL: endpoint };
  const child = spawn(python, [join(here, 'ministack_sluice.py')], {
    // Functions inherit the environment of the emulator, so that it gets nothing of ours but what they may know.
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      HOME: process.env.HOME ?? place,
      TMPDIR: place,
      BIND_HOST: '127.0.0.1',
      GATEWAY_PORT: String(port),
      MINISTACK_HOST: '127.0.0.1',
      IOT_MTLS_ENABLED: '0',
      SFTP_ENABLED: '0',
      LAMBDA_EXECUTOR: 'local',
      NODE_PATH: join(root, 'node_modules'),
      SLUICE_OWN_STREAM_MAPPINGS: '1',
      SLUICE_END_WITH_INPUT: '1',
      ...variables,
      ...o.variables,
    },
    stdio: ['pipe', 'pipe', 'pipe'], // the first only to be closed: a starter that is killed takes the emulator along
  });
  keepLog(child, log);
  const stop = stopping(child, () => rm(place, { recursive: true, force: true }));
  await answering(`${endpoint}/_ministack/health`, child, log, stop);
  const reset = async (): Promise<void> => {
    await fetch(`${endpoint}/_ministack/reset`, { method: 'POST' });
  };
  return { endpoint, variables, log, reset, stop };
}

export async function startStreamEmulator(): Promise<StreamEmulator> {
  const place = await mkdtemp(join(tmpdir(), 'sluice-streams-'));
  const [plain, tls] = [await freePort(), await freePort()];
  const endpoint = `http://127.0.0.1:${plain}`;
  const child = spawn(process.execPath, ['--require', join(here, 'loopback.cjs'), 'main.js'], {
    cwd: join(root, 'node_modules/kinesis-local'),
    env: {
      ...process.env,
      KINESIS_MOCK_PLAIN_PORT: String(plain),
      KINESIS_MOCK_TLS_PORT: String(tls),
      LOG_LEVEL: 'ERROR',
      SLUICE_END_WITH_INPUT: '1',
    },
    stdio: ['pipe', 'pipe', 'pipe'], // the first only to be closed: a starter that is killed takes the emulator along
  });
  const log = join(place, 'emulator.log');
  keepLog(child, log);
  const stop = stopping(child, () => rm(place, { recursive: true, force: true }));
  await answering(`${endpoint}/healthcheck`, child, log, stop);
  return { endpoint, stop };
}
