// environment.ts says on what the numbers were made.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';

export interface Environment {
  readonly cpu: string;
  readonly memory: string;
  readonly versions: string;
  readonly commit: string;
  readonly load1: number;
}

export function describeEnvironment(hasFlink: boolean): Environment {
  const [cpu] = cpus();
  const pom = readFileSync(join(import.meta.dirname, 'flink/pom.xml'), 'utf8');
  const flink = /<flink\.version>(.*)<\/flink\.version>/.exec(pom)?.[1] ?? 'unknown';
  const peer = hasFlink ? `, Apache Flink ${flink} on ${javaVersion()}` : '';
  return {
    cpu: `${cpus().length} × ${cpu?.model ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    versions: `Node ${process.version} (V8 ${process.versions.v8}), Linux ${release()}${peer}`,
    commit: describeCommit(),
    load1: loadavg()[0] ?? 0,
  };
}

function javaVersion(): string {
  // It writes its version to standard error.
  const { stderr } = spawnSync('java', ['-version'], { encoding: 'utf8' });
  return `Java ${/version "(.*?)"/.exec(stderr)?.[1] ?? 'unknown'}`;
}

/** A copy of the sources without history has none to name. */
function describeCommit(): string {
  const head = git('rev-parse', '--short', 'HEAD');
  if (head === undefined) return 'unknown';
  return git('status', '--porcelain', '--untracked-files=no') === '' ? head : `${head}, with changes`;
}

function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', [...args], { encoding: 'utf8', cwd: import.meta.dirname });
  return status === 0 ? stdout.trim() : undefined;
}
