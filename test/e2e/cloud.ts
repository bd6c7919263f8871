// An emulator with a deployed stack, and what a test does with it: real clients, the real CDK, the real command line.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type Emulator, startEmulator } from '../../tools/emulator/emulator.ts';

const root = join(import.meta.dirname, '../..');

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class Cloud {
  readonly emulator: Emulator;
  readonly variables: NodeJS.ProcessEnv;

  private constructor(emulator: Emulator) {
    this.emulator = emulator;
    this.variables = {
      ...process.env,
      ...emulator.variables,
      CI: '1',
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH ?? ''}`,
    };
  }

  static async start(): Promise<Cloud> {
    const cloud = new Cloud(await startEmulator());
    Object.assign(process.env, cloud.emulator.variables);
    await cloud.must('cdk', ['bootstrap', '--no-notices', 'aws://000000000000/us-east-1']);
    return cloud;
  }

  async run(command: string, words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const child = spawn(command, words, { cwd: root, env: { ...this.variables, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
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

  /** The CDK CLI on an app of `test/e2e/apps`. */
  cdk(verb: 'deploy' | 'destroy', app: string, more: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const flags = verb === 'deploy' ? ['--require-approval', 'never'] : ['--force'];
    return this.run(
      'cdk',
      [verb, '--all', '--no-notices', '--app', `node test/e2e/apps/${app}`, '--output', `cdk.out/${app}`, ...flags],
      more,
    );
  }

  /** @returns the result object of `sluice … --stack … --json` */
  async sluice(stack: string, ...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const flags = ['--stack', stack, '--endpoint', this.emulator.endpoint, '--json'];
    const { out } = await this.must('node', ['lib/cli/main.ts', ...words, ...flags]);
    return JSON.parse(out.trim().split('\n').at(-1) ?? '{}') as Record<string, unknown>;
  }

  async stop(): Promise<void> {
    await this.emulator.stop();
  }
}

const lookEveryMs = 250;

/** Waits for something that others bring about; a bound says that it never came. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined>, withinMs = 120_000): Promise<T> {
  for (let waited = 0; ; waited += lookEveryMs) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (waited > withinMs) throw new Error(`it never came that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}
