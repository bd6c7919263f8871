// An emulator with a deployed stack, and what a test does with it: real clients, the real CDK, the real command line.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { startEmulator, startStreamEmulator } from '../../tools/emulator/emulator.ts';

const root = join(import.meta.dirname, '../..');

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Where it all runs: emulators that are stopped with the test, or what `AWS_ENDPOINT_URL` names. */
interface Services {
  readonly variables: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

async function startServices(): Promise<Services> {
  const { AWS_ENDPOINT_URL: given } = process.env;
  if (given !== undefined) return { variables: {}, stop: () => Promise.resolve() };
  const streams = await startStreamEmulator();
  // Functions inherit the variables of the emulator that runs them.
  const emulator = await startEmulator({ variables: { AWS_ENDPOINT_URL_KINESIS: streams.endpoint } });
  const variables = { ...emulator.variables, AWS_ENDPOINT_URL_KINESIS: streams.endpoint };
  return { variables, stop: async () => void (await Promise.all([emulator.stop(), streams.stop()])) };
}

export class Cloud {
  readonly #services: Services;

  private constructor(services: Services) {
    this.#services = services;
  }

  static async start(): Promise<Cloud> {
    const services = await startServices();
    Object.assign(process.env, services.variables);
    const cloud = new Cloud(services);
    await cloud.must('cdk', ['bootstrap', '--no-notices', 'aws://000000000000/us-east-1']);
    return cloud;
  }

  get endpoint(): string {
    return process.env.AWS_ENDPOINT_URL ?? '';
  }

  async run(command: string, words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const path = `${join(root, 'node_modules/.bin')}:${process.env.PATH ?? ''}`;
    const env = { ...process.env, CI: '1', PATH: path, ...more };
    const child = spawn(command, words, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (data: Buffer) => {
      out += data;
    });
    child.stderr.on('data', (data: Buffer) => {
      err += data;
    });
    const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? -1)));
    return { code, out, err };
  }

  async must(command: string, words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const ended = await this.run(command, words, more);
    if (ended.code !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${ended.code}:\n${ended.out}\n${ended.err}`);
    return ended;
  }

  /** The CDK CLI on an app of `test/e2e/apps`. @param stacks  all when absent */
  cdk(
    verb: 'deploy' | 'destroy',
    app: string,
    more: Readonly<Record<string, string>> = {},
    stacks: readonly string[] = ['--all'],
  ): Promise<Ended> {
    const flags = verb === 'deploy' ? ['--require-approval', 'never', '--method', 'direct'] : ['--force'];
    const place = ['--no-notices', '--concurrency', '3', '--app', `node test/e2e/apps/${app}`, '--output', `cdk.out/${app}`];
    return this.run('cdk', [verb, ...stacks, ...place, ...flags], more);
  }

  /** @returns the result object of `sluice … --stack … --json` */
  async sluice(stack: string, ...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const flags = ['--stack', stack, '--json'];
    const { out } = await this.must('node', ['lib/cli/main.ts', ...words, ...flags]);
    return JSON.parse(out.trim().split('\n').at(-1) ?? '{}') as Record<string, unknown>;
  }

  async stop(): Promise<void> {
    await this.#services.stop();
  }
}

const lookEveryMs = 500;

/** Waits for something that others bring about; a bound says that it never came. @param what  that is to come, or what was seen instead */
export async function eventually<T>(what: string | (() => string), look: () => Promise<T | undefined>, withinMs = 300_000): Promise<T> {
  for (const until = performance.now() + withinMs; ; ) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (performance.now() > until) throw new Error(`it never came that ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}
