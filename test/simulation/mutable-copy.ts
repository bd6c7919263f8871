// A copy of the product and its tests, in which rules are taken out and put back while the original stays as it is.

import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Mutation, patched } from './mutation.ts';

/** What a run needs; the tests that catch mutations ask for nothing else. */
const parts = ['lib', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

/** How many tests of a title failed, and how. */
export interface TestReport {
  readonly passed: number;
  readonly failures: readonly string[];
}

interface JsonReport {
  readonly testResults?: readonly {
    readonly message?: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string; readonly failureMessages?: readonly string[] }[];
  }[];
}

export class MutableCopy {
  #reports = 0;
  readonly directory: string;

  /** @param from  the project, or another copy */
  constructor(from: string) {
    this.directory = mkdtempSync(join(tmpdir(), 'sluice-mutation-'));
    for (const part of parts) cpSync(join(from, part), join(this.directory, part), { recursive: true });
    symlinkSync(join(import.meta.dirname, '../../node_modules'), join(this.directory, 'node_modules'));
  }

  /** Text of a file below lib/. */
  read(file: string): string {
    return readFileSync(join(this.directory, 'lib', file), 'utf8');
  }

  /**
   * Takes one rule out.
   * @returns what puts it back
   * @throws Error as `patched` does
   */
  mutate(mutation: Mutation): () => void {
    const before = new Map<string, string>();
    const write = (file: string, text: string): void => writeFileSync(join(this.directory, 'lib', file), text);
    for (const [file, text] of patched(mutation, (file) => this.read(file))) {
      before.set(file, this.read(file));
      write(file, text);
    }
    return () => {
      for (const [file, text] of before) write(file, text);
    };
  }

  /** @returns what the script printed */
  async run(script: string, args: readonly string[]): Promise<string> {
    const child = spawn(process.execPath, [script, ...args], { cwd: this.directory, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    const hear = (data: Buffer): void => {
      said += data;
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    await new Promise((resolve) => child.on('close', resolve));
    return said;
  }

  /** Runs the tests of a file that have this title. */
  async test(file: string, title: string): Promise<TestReport> {
    const output = join(this.directory, `report-${this.#reports++}.json`); // several may run at once
    const only = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const said = await this.run('node_modules/vitest/vitest.mjs', [
      ...['run', file, '--testNamePattern', `${only}$`],
      ...['--no-cache', '--reporter=json', `--outputFile=${output}`],
    ]);
    const report = readReport(output);
    if (report === undefined) return { passed: 0, failures: [`no report: ${said.trim().split('\n').at(-1)}`] };
    const tests = (report.testResults ?? []).flatMap(({ assertionResults }) => assertionResults).filter((t) => t.title === title);
    return {
      passed: tests.filter(({ status }) => status === 'passed').length,
      failures: tests
        .filter(({ status }) => status === 'failed')
        .map(({ failureMessages }) => failureMessages?.[0]?.split('\n')[0] ?? 'failed'),
    };
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function readReport(file: string): JsonReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JsonReport;
  } catch {
    return undefined;
  }
}
