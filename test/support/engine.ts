// Runs jobs with the real engine in a seeded world without faults: virtual time, a disk in memory, and several processes one after the other, each
// of which may be killed at any moment.

import { runJob } from '../../lib/adapters/embedded/run.ts';
import type { GlobalSettings, RunEvent, RunResult } from '../../lib/adapters/embedded/run-types.ts';
import type { Job } from '../../lib/api/job.ts';
import { completedNumbers } from '../../lib/checkpoint/reading.ts';
import { isSluiceError, type SluiceError } from '../../lib/core/errors.ts';
import type { FileSystem } from '../../lib/core/ports.ts';
import { type FakeDisk, instantFileSystem, type SimulatedProcess, World, worldBeginsAt } from '../../lib/testing/index.ts';

export interface StartOptions {
  readonly parallelism?: number;
  readonly from?: string;
  readonly global?: GlobalSettings;
  readonly params?: Readonly<Record<string, string>>;
  readonly allowNonRestoredState?: boolean;
  /** The file system of the run, made of the one it would have. */
  readonly through?: (files: FileSystem) => FileSystem;
  /** Called with every event. */
  readonly on?: (event: RunEvent, started: Started) => void;
}

export interface Started {
  readonly process: SimulatedProcess;
  readonly events: RunEvent[];
  readonly lines: string[];
  readonly ended: Promise<Ended>;
  cancel(): void;
}

export interface Ended {
  /** Absent when the process was killed. */
  readonly result: RunResult | undefined;
  readonly error: unknown;
  readonly wasKilled: boolean;
  readonly events: readonly RunEvent[];
  readonly lines: readonly string[];
}

/** The root of the checkpoints of a job that says nothing else. */
export function rootOf(job: string): string {
  return `/home/.sluice/${job}`;
}

export class Engine {
  readonly world: World;
  #processes = 0;

  constructor(seed = 1) {
    this.world = new World({ seed });
  }

  get disk(): FakeDisk {
    return this.world.disk;
  }

  /** Virtual ms since the world began. */
  get now(): number {
    return this.world.now - worldBeginsAt;
  }

  start(job: Job | ((process: SimulatedProcess) => Job), options: StartOptions = {}): Started {
    const process = this.world.process(`run-${++this.#processes}`);
    const cancel = new AbortController();
    const events: RunEvent[] = [];
    const lines: string[] = [];
    let started: Started | undefined;
    const work = Promise.resolve().then(() =>
      runJob(
        { ...process.ports, files: options.through?.(process.ports.files) ?? process.ports.files },
        {
          job: typeof job === 'function' ? job(process) : job,
          params: new Map(Object.entries(options.params ?? {})),
          global: options.global ?? {},
          ...(options.parallelism === undefined ? {} : { parallelism: options.parallelism }),
          ...(options.from === undefined ? {} : { from: options.from }),
          allowNonRestoredState: options.allowNonRestoredState ?? false,
          print: (line) => lines.push(line),
          report: (event) => {
            events.push(event);
            options.on?.(event, started!);
          },
          cancel: cancel.signal,
          workingDirectory: '/home',
          owner: process.name,
        },
      ),
    );
    const ended = Promise.race([
      work.then(
        (result) => ({ result, error: undefined, wasKilled: false }),
        (error: unknown) => ({ result: undefined, error, wasKilled: false }),
      ),
      process.becomes('dead').then(() => ({ result: undefined, error: undefined, wasKilled: true })),
    ]).then((end) => {
      if (process.state === 'running') process.kill(); // its exit frees its locks
      return { ...end, events, lines };
    });
    started = { process, events, lines, ended, cancel: () => cancel.abort() };
    return started;
  }

  /** Runs a job to its end, its failure or its death. */
  run(job: Job | ((process: SimulatedProcess) => Job), options: StartOptions = {}): Promise<Ended> {
    return this.world.run(this.start(job, options).ended);
  }

  /** As `run`, for a job that has to finish. */
  async finish(
    job: Job | ((process: SimulatedProcess) => Job),
    options: StartOptions = {},
  ): Promise<Ended & { readonly result: RunResult }> {
    const ended = await this.run(job, options);
    if (ended.result === undefined)
      throw new Error(`the job did not finish: ${ended.wasKilled ? 'it was killed' : textOf(ended.error)}`, { cause: ended.error });
    return ended as Ended & { readonly result: RunResult };
  }

  /** As `run`, for a job that has to fail. */
  async fail(job: Job | ((process: SimulatedProcess) => Job), options: StartOptions = {}): Promise<SluiceError> {
    const { error, result } = await this.run(job, options);
    if (!isSluiceError(error)) throw new Error(`no SluiceError: ${result === undefined ? textOf(error) : result.state}`, { cause: error });
    return error;
  }

  /** The newest attempt directory of a job. */
  async attemptOf(job: string): Promise<string> {
    const root = rootOf(job);
    const names = this.disk.list(root).map(({ name }) => name);
    const newest = names
      .filter((name) => name.startsWith('attempt-'))
      .sort((a, b) => Number(a.slice(8)) - Number(b.slice(8)))
      .at(-1);
    if (newest === undefined) throw new Error(`no attempt below ${root}: ${names.join(', ')}`);
    return `${root}/${newest}`;
  }

  async completed(job: string): Promise<readonly number[]> {
    return completedNumbers(instantFileSystem(this.disk), await this.attemptOf(job));
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${error.stack}` : String(error);
}

export function kinds(events: readonly RunEvent[]): string[] {
  return events.filter((event) => event.kind !== 'progress').map((event) => event.kind);
}

export function eventsOf<K extends RunEvent['kind']>(events: readonly RunEvent[], kind: K): (RunEvent & { readonly kind: K })[] {
  return events.filter((event): event is RunEvent & { readonly kind: K } => event.kind === kind);
}
