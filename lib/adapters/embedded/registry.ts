// registry.ts lets a running job be found by its name from another process: which process runs it. Where its checkpoints lie is
// checkpoint-directory.ts.
//   N1  An entry is a hint. That a checkpoint directory has one owner is the business of the lock in it.
//   N2  A process id alone proves nothing, since ids are used again: an entry also holds when that process began, where the system tells.
//   N3  An entry is taken away by the run that made it; one that was left by a killed run says `gone` when it is looked at.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultDirectory } from './checkpoint-directory.ts';

export interface RunEntry {
  readonly job: string;
  readonly pid: number;
  /** When the process began, in the system's own terms; undefined where it does not tell. */
  readonly began: string | undefined;
}

export type Liveness = 'running' | 'stopped' | 'gone';

function entriesDirectory(workingDirectory: string): string {
  return join(workingDirectory, defaultDirectory, '.runs'); // a job's name begins with no dot, so no job's own directory is in the way
}

function entryPath(workingDirectory: string, job: string): string {
  return join(entriesDirectory(workingDirectory), `${encodeURIComponent(job)}.json`);
}

/** Notes that this process runs a job. A reader sees the old entry or the new one, never a part. */
export function registerRun(workingDirectory: string, job: string, pid: number): void {
  mkdirSync(entriesDirectory(workingDirectory), { recursive: true });
  const path = entryPath(workingDirectory, job);
  const draft = `${path}.${pid}`;
  const entry: RunEntry = { job, pid, began: processOf(pid)?.began };
  writeFileSync(draft, `${JSON.stringify(entry)}\n`);
  renameSync(draft, path);
}

/** Takes the entry away when it is this process's own, and with it a directory that nothing else needs. */
export function forgetRun(workingDirectory: string, job: string, pid: number): void {
  if (findRun(workingDirectory, job)?.pid !== pid) return;
  rmSync(entryPath(workingDirectory, job), { force: true });
  for (const directory of [entriesDirectory(workingDirectory), join(workingDirectory, defaultDirectory)]) {
    try {
      rmdirSync(directory); // only when it is empty: another run may be making its checkpoint directory there at this moment
    } catch {
      return;
    }
  }
}

/** The entry of a job, or undefined. */
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
    const { job, pid, began } = entry;
    if (typeof job !== 'string' || !Number.isSafeInteger(pid) || (pid as number) < 1) return undefined; // 0 and below would be groups
    return { job, pid: pid as number, began: typeof began === 'string' ? began : undefined };
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
    return {
      began: `${boot}/${fields[startTimeField]}`,
      isStopped: state === 'T' || state === 't',
      isDead: state === 'Z' || state === 'X',
    };
  } catch {
    return undefined;
  }
}
