// registry.ts lets a job be found by its name from another process: which directory its checkpoints lie in, also one that was chosen in code,
// and which process runs it.
//   N1  An entry is a hint. That a directory has one owner is the business of the lock in it; nothing here is asked for correctness.
//   N2  A process id alone proves nothing, since ids are used again: an entry also holds when that process began, where the system tells.
//   N3  An entry outlives its run, or the checkpoints of a finished job could not be found.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The directory, below the working directory, in which Sluice keeps what nobody chose a place for. */
export const homeDirectory = '.sluice';

export interface RunEntry {
  readonly job: string;
  /** Directory of the job's checkpoints; undefined when the run keeps none. */
  readonly checkpoints: string | undefined;
  readonly pid: number;
  /** When the process began, in the system's own terms; undefined where it does not tell. */
  readonly began: string | undefined;
}

export type Liveness = 'running' | 'stopped' | 'gone';

function entriesDirectory(workingDirectory: string): string {
  return join(workingDirectory, homeDirectory, '.runs'); // a job's name begins with no dot, so no job's own directory is in the way
}

function entryPath(workingDirectory: string, job: string): string {
  return join(entriesDirectory(workingDirectory), `${encodeURIComponent(job)}.json`);
}

/** Notes that this process runs a job. A reader sees the old entry or the new one, never a part. */
export function registerRun(workingDirectory: string, run: Omit<RunEntry, 'began'>): void {
  mkdirSync(entriesDirectory(workingDirectory), { recursive: true });
  const path = entryPath(workingDirectory, run.job);
  const draft = `${path}.${run.pid}`;
  const entry: RunEntry = { ...run, began: processOf(run.pid)?.began };
  writeFileSync(draft, `${JSON.stringify(entry)}\n`);
  renameSync(draft, path);
}

/** Takes the entry away when it is this process's own, and with it a directory that nothing else needs. */
export function forgetRun(workingDirectory: string, job: string, pid: number): void {
  if (findRun(workingDirectory, job)?.pid !== pid) return;
  rmSync(entryPath(workingDirectory, job), { force: true });
  for (const directory of [entriesDirectory(workingDirectory), join(workingDirectory, homeDirectory)]) {
    if (readdirSync(directory).length > 0) return;
    rmSync(directory, { recursive: true });
  }
}

/** The newest entry of a job, or undefined. */
export function findRun(workingDirectory: string, job: string): RunEntry | undefined {
  return readEntry(entryPath(workingDirectory, job));
}

/** All entries, by name of the job. */
export function listRuns(workingDirectory: string): readonly RunEntry[] {
  let names: readonly string[];
  try {
    names = readdirSync(entriesDirectory(workingDirectory)).sort();
  } catch {
    return [];
  }
  return names
    .filter((name) => name.endsWith('.json'))
    .map((name) => readEntry(join(entriesDirectory(workingDirectory), name)))
    .filter((entry) => entry !== undefined);
}

/** An entry that is absent or damaged says nothing (N1). */
function readEntry(path: string): RunEntry | undefined {
  try {
    const entry = JSON.parse(readFileSync(path, 'utf8')) as Partial<Record<keyof RunEntry, unknown>>;
    const { job, checkpoints, pid, began } = entry;
    if (typeof job !== 'string' || typeof pid !== 'number') return undefined;
    return {
      job,
      pid,
      checkpoints: typeof checkpoints === 'string' ? checkpoints : undefined,
      began: typeof began === 'string' ? began : undefined,
    };
  } catch {
    return undefined;
  }
}

/** Whether the process of an entry still lives. */
export function livenessOf(entry: RunEntry): Liveness {
  try {
    process.kill(entry.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return 'gone';
  }
  const seen = processOf(entry.pid);
  if (seen === undefined) return process.platform === 'linux' ? 'gone' : 'running';
  if (seen.isDead || (entry.began !== undefined && entry.began !== seen.began)) return 'gone';
  return seen.isStopped ? 'stopped' : 'running';
}

interface SeenProcess {
  readonly began: string;
  readonly isStopped: boolean;
  /** Ended, but its parent has not asked for its exit code. */
  readonly isDead: boolean;
}

const stateField = 0; // fields of /proc/PID/stat, counted behind the name, which may hold spaces and brackets
const startTimeField = 19;

/** What Linux tells of a process; undefined when there is none, or on another system. */
function processOf(pid: number): SeenProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const state = fields[stateField];
    return { began: `${boot}/${fields[startTimeField]}`, isStopped: state === 'T' || state === 't', isDead: state === 'Z' || state === 'X' };
  } catch {
    return undefined;
  }
}
