// The checks that are not about behaviour: types, lint and format, over every file. They run the tools themselves, so that
// `npm test` alone says whether a change may be committed.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Runs a tool of node_modules/.bin and answers what it printed, empty when it was content. */
function complaints(tool: string, ...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(root, 'node_modules/.bin', tool), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.on('error', reject);
    child.on('close', (status) => resolve(status === 0 ? '' : `${tool} ${args.join(' ')} ended with ${status}\n${said}`));
  });
}

describe('the house rules', () => {
  test('every file type-checks, tests and examples included', async () => {
    expect(await complaints('tsc', '-p', 'tsconfig.json')).toBe('');
  });

  test('every export of lib/ states its type, so that declarations need no inference', async () => {
    expect(await complaints('tsc', '-p', 'tsconfig.lib.json')).toBe('');
  });

  test('every file passes lint and is formatted', async () => {
    expect(await complaints('biome', 'check', '--error-on-warnings', '--max-diagnostics=50')).toBe('');
  });
});
