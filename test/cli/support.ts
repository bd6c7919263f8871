// Runs the real command in a child process, in a directory of its own, the way a user would.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';

const main = join(import.meta.dirname, '../../lib/cli/main.ts');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  #stdout = '';
  #stderr = '';
  #look: () => void = () => {};

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      this.#look();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
      this.#look();
    });
    this.ended = new Promise((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr }));
    });
  }

  /** Resolves when the output holds the text; rejects when the process ends before. */
  async says(text: string | RegExp): Promise<void> {
    const holds = (all: string): boolean => (typeof text === 'string' ? all.includes(text) : text.test(all));
    const said = new Promise<true>((resolve) => {
      this.#look = () => {
        if (holds(this.#stdout) || holds(this.#stderr)) resolve(true);
      };
      this.#look();
    });
    const first = await Promise.race([said, this.ended]);
    if (first !== true && !holds(first.stdout) && !holds(first.stderr)) {
      throw new Error(`the process ended with ${first.code} before it said ${text}\n${first.stdout}\n${first.stderr}`);
    }
  }
}

/** A working directory with files in it, which is gone after the test. */
export class Workplace {
  readonly path: string = mkdtempSync(join(tmpdir(), 'sluice-cli-'));

  write(files: Readonly<Record<string, string>>): this {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), text);
    }
    return this;
  }

  start(words: readonly string[], variables: Readonly<Record<string, string>> = {}): Started {
    const env = { ...process.env, ...variables };
    return new Started(spawn(process.execPath, [main, ...words], { cwd: this.path, env, stdio: 'pipe' }));
  }

  sluice(...words: readonly string[]): Promise<Ended> {
    return this.start(words).ended;
  }
}

const opened: Workplace[] = [];
afterEach(() => {
  for (const place of opened.splice(0)) rmSync(place.path, { recursive: true, force: true });
});

export function workplace(files: Readonly<Record<string, string>> = {}): Workplace {
  const place = new Workplace().write(files);
  opened.push(place);
  return place;
}

/** The lines of standard output, each of which must be one JSON object. */
export function objectsOf({ stdout }: Ended): readonly Readonly<Record<string, unknown>>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The last JSON object: the result. */
export function resultOf(ended: Ended): Readonly<Record<string, unknown>> {
  const last = objectsOf(ended).at(-1);
  if (last === undefined) throw new Error(`nothing on standard output\n${ended.stderr}`);
  return last;
}

/** True for the second and later lines of a stack trace. */
export const stackTrace: RegExp = /^\s+at .*[(:]\d+:\d+\)?$/m;
