// The compiler is the judge here: `samples/` are the public samples as a user types them, `inference.ts` says what must be inferred, and
// `refused/` what must not compile. This test runs the compiler over all of them and keeps account of what is not covered yet.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const here = import.meta.dirname;
const root = join(here, '../..');

/** Samples of the public interface, in its order, and the file that holds each; or the feature that is still to come. */
const samples: Readonly<Record<string, { readonly file: string } | { readonly notYet: string }>> = {
  'a job': { file: 'late-flights.ts' },
  'state, timers, side outputs': { file: 'readings.ts' },
  'one instance per subtask': { file: 'functions.ts' },
  configuration: { file: 'configuration.ts' },
  'configuration: RocksDB backend': { notYet: 'RocksDBStateBackend comes with incremental checkpoints' },
  'configuration: DynamoDB backend': { notYet: 'DynamoDbStateBackend comes with the cloud' },
  'a source from the cloud': { notYet: 'kinesis and --bind come with the cloud' },
  'a deployed job': { notYet: 'sluice/cdk comes with the cloud' },
  sinks: { file: 'sinks.ts' },
  'testing kit': { notYet: 'testJob, harness and chaos come with the testing kit' },
};

/** Names of the stream algebra that no type declares yet. */
const notYet = ['join', 'coGroup', 'intervalJoin', 'asyncMap', 'countWindow', 'windowAll', 'trigger', 'evictor', 'iterate'];

/** @returns lines of the compiler, empty when everything compiles */
async function compile(project: string): Promise<string> {
  try {
    await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '--pretty', 'false', '-p', project], { cwd: root });
    return '';
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}`;
  }
}

describe('types', () => {
  test('every public sample compiles, what must be inferred is inferred, and what is wrong does not compile', async () => {
    expect(await compile(join(here, 'tsconfig.json'))).toBe('');
  });

  test('each file of samples stands for a public sample', () => {
    const named = Object.values(samples).flatMap((sample) => ('file' in sample ? [sample.file] : []));
    expect(readdirSync(join(here, 'samples')).sort()).toEqual([...named].sort());
  });

  test('the wrong lines are many, and each says why it is wrong', () => {
    const lines = readdirSync(join(here, 'refused')).flatMap((file) => readFileSync(join(here, 'refused', file), 'utf8').split('\n'));
    const expected = lines.filter((line) => line.includes('@ts-expect-error'));
    expect(expected.length).toBeGreaterThan(50);
    expect(expected.filter((line) => !/@ts-expect-error \w+/.test(line))).toEqual([]);
  });

  test('what does not exist yet is not declared, so that nobody writes a job with it', () => {
    const declared = ['stream.ts', 'window.ts', 'environment.ts']
      .map((file) => readFileSync(join(root, 'lib/api', file), 'utf8'))
      .join('\n');
    expect(notYet.filter((name) => new RegExp(`^ {2}${name}[<(]`, 'm').test(declared))).toEqual([]);
  });
});
