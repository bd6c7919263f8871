// Every example, three ways with one expected output: straight; killed at many moments and restored; restored at another parallelism.

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import wordCount from '../../../examples/01-word-count/job.ts';
import batchingSink from '../../../examples/02-batching-sink/job.ts';
import transactionalSink from '../../../examples/03-transactional-sink/job.ts';
import lateFlights from '../../../examples/late-flights/job.ts';
import { runJob } from '../../../lib/adapters/embedded/run.ts';
import type { Job } from '../../../lib/api/job.ts';
import type { FileSystem } from '../../../lib/core/ports.ts';
import { type SimulatedProcess, World } from '../../../lib/testing/index.ts';

// In a simulated world time stands still for what the world does not know. The folder of the transactional sink is real, so its calls are
// made to be over at once.
vi.mock('node:fs/promises', async (original) => ({
  ...(await original<typeof import('node:fs/promises')>()),
  mkdir: async (...args: Parameters<typeof mkdirSync>) => mkdirSync(...args),
  rename: async (...args: Parameters<typeof renameSync>) => renameSync(...args),
  rm: async (...args: Parameters<typeof rmSync>) => rmSync(...args),
  open: async (...args: Parameters<typeof openSync>) => {
    const file = openSync(...args);
    return {
      writeFile: async (text: string) => writeFileSync(file, text),
      sync: async () => fsyncSync(file),
      close: async () => closeSync(file),
    };
  },
}));

const root = join(import.meta.dirname, '../../..');
const flights = readFileSync(join(root, 'node_modules/vega-datasets/data/flights-20k.json'), 'utf8');
const fewFlights = `${flights.slice(0, flights.indexOf('"date":"2001/01/03') - 2)}]`;

interface Example {
  readonly job: Job;
  readonly input: string;
  /** A real folder, for the sink that writes to one. */
  readonly isReal?: boolean;
}

const examples: Readonly<Record<string, Example>> = {
  'word-count': { job: wordCount, input: readFileSync(join(root, 'examples/01-word-count/input.txt'), 'utf8').repeat(300) },
  'batching-sink': { job: batchingSink, input: readFileSync(join(root, 'examples/02-batching-sink/readings.csv'), 'utf8') },
  'transactional-sink': { job: transactionalSink, input: fewFlights, isReal: true },
  'late-flights': { job: lateFlights, input: fewFlights },
};

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** The input comes in so many pieces, so far apart: about five seconds, for jobs with a checkpoint each second. */
const pieces = 16;
const pieceMs = 300;

/** A world with the input of an example on its disk, in which its job runs in one process after the other. */
class Stage {
  readonly world: World;
  readonly #example: Example;
  readonly #output: string;
  #runs = 0;
  /** Runs that went on from a checkpoint. */
  restored = 0;

  constructor(example: Example, seed: number) {
    this.world = new World({ seed });
    this.#example = example;
    this.#output = example.isReal ? mkdtempSync(join(tmpdir(), 'sluice-example-')) : '/home/out';
    if (example.isReal) folders.push(this.#output);
    this.world.disk.append(this.world.disk.create('/home/input', 'test'), Buffer.from(example.input));
  }

  /** Runs the job to its end, or until it is killed in the moment in which a checkpoint has completed and nothing is committed yet. */
  async run(o: { readonly parallelism: number; readonly killed: boolean }): Promise<void> {
    const process = this.world.process(`run-${++this.#runs}`);
    const work = runJob(
      { ...process.ports, files: this.#slowly(process) },
      {
        job: this.#example.job,
        params: new Map(Object.entries({ input: '/home/input', output: this.#output })),
        global: {},
        parallelism: o.parallelism,
        ...(this.#runs === 1 ? {} : { from: 'latest' }),
        print: () => undefined,
        report: (event) => {
          if (event.kind === 'started' && event.restored !== undefined) this.restored++;
          if (event.kind === 'checkpoint-completed' && o.killed) process.kill();
        },
        workingDirectory: '/home',
        owner: process.name,
      },
    );
    await this.world.run(Promise.race([work.then(() => undefined), process.becomes('dead')]));
    if (process.state === 'running') process.kill(); // its exit frees its locks
  }

  #slowly(process: SimulatedProcess): FileSystem {
    const { files, clock } = process.ports;
    const pieceBytes = Math.ceil(Buffer.byteLength(this.#example.input) / pieces);
    return {
      ...files,
      async openReader(path, offset) {
        const reader = await files.openReader(path, offset);
        if (path !== '/home/input') return reader;
        const read = async (max: number): Promise<Uint8Array> => {
          await clock.sleep(pieceMs).done;
          return reader.read(Math.min(max, pieceBytes));
        };
        return { read, close: () => reader.close() };
      },
    };
  }

  rows(): string[] {
    if (this.#example.isReal) {
      const parts = readdirSync(this.#output).filter((name) => !name.startsWith('.'));
      return parts.flatMap((name) =>
        (JSON.parse(readFileSync(join(this.#output, name), 'utf8')) as unknown[]).map((row) => JSON.stringify(row)),
      );
    }
    const { disk } = this.world;
    const parts = disk.list(this.#output).filter((e) => !e.name.startsWith('.'));
    return parts.flatMap((e) => disk.text(`${this.#output}/${e.name}`).trimEnd().split('\n'));
  }
}

async function straight(example: Example): Promise<string[]> {
  const stage = new Stage(example, 1);
  await stage.run({ parallelism: 1, killed: false });
  return stage.rows();
}

/** One run for each parallelism; all but the last are killed. */
async function interrupted(example: Example, seed: number, parallelisms: readonly number[]): Promise<string[]> {
  const stage = new Stage(example, seed);
  for (const [i, parallelism] of parallelisms.entries()) await stage.run({ parallelism, killed: i < parallelisms.length - 1 });
  expect(stage.restored).toBe(parallelisms.length - 1);
  return stage.rows();
}

describe.each(Object.entries(examples))('%s', (_name, example) => {
  test('straight: the expected output', async () => {
    const rows = await straight(example);
    expect({ rows: rows.length, first: rows.slice(0, 3), last: rows.slice(-3) }).toMatchSnapshot();
  });

  test('killed as soon as a checkpoint is complete, and restored: the same rows in the same order', async () => {
    const expected = await straight(example);
    const rows = await interrupted(example, 7, [1, 1, 1]);
    // Names of the folder's transactions hold the generation, and their order is not that of the rows.
    if (example.isReal) expect([...rows].sort()).toEqual([...expected].sort());
    else expect(rows).toEqual(expected);
  });

  test('restored at another parallelism: the same rows', async () => {
    const expected = await straight(example);
    const rows = await interrupted(example, 11, [2, 3, 1]);
    expect([...rows].sort()).toEqual([...expected].sort());
  });
});
