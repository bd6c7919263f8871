// LocalStack's interpreter of state machines: a second opinion on the coordinator's, since ministack does not mind a machine's time-out, validates
// nothing, and accepts payloads of any size. It needs Python 3.13 or newer, which is not everywhere; `findPython` says whether it is here.

import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { answering, freePort, keepLog, stopping } from './server.ts';

const run = promisify(execFile);
const here = import.meta.dirname;
const version = '2026.3.0';
/** What LocalStack asks for by range, held where it works. */
const packages = [`localstack-core[runtime]==${version}`, 'cbor2<6', 'pyopenssl==25.3.0', 'cryptography<47', 'service-identity<25'];
const minorMin = 13;

export interface StateMachineEmulator {
  readonly endpoint: string;
  readonly log: string;
  stop(): Promise<void>;
}

/** @returns a Python that the interpreter runs on, in the path or of pyenv; `undefined`: there is none */
export async function findPython(): Promise<string | undefined> {
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions');
  const installed = (await readdir(pyenv).catch(() => [])).map((name) => join(pyenv, name, 'bin/python3'));
  for (const python of ['python3', 'python3.13', 'python3.14', ...installed]) {
    const said = await run(python, ['-c', 'import sys, venv, ensurepip; print(*sys.version_info[:2])']).catch(() => undefined);
    const [major, minor] = (said?.stdout ?? '').trim().split(' ').map(Number);
    if (major === 3 && minor !== undefined && minor >= minorMin) return python;
  }
  return undefined;
}

/** Takes about a minute and 500 MB the first time. @returns the Python that has it */
async function installInterpreter(python: string): Promise<string> {
  const place = join(here, '../../node_modules/.cache/sluice-state-machines', version);
  const own = join(place, 'bin/python');
  if (existsSync(join(place, 'installed'))) return own;
  await rm(place, { recursive: true, force: true });
  await mkdir(dirname(place), { recursive: true });
  await run(python, ['-m', 'venv', place]);
  await run(own, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]);
  await mkdir(join(place, 'installed'));
  return own;
}

/** @param tasks address of whoever answers what the state machines call, such as Lambda functions */
export async function startStateMachines(o: { readonly python: string; readonly tasks: string }): Promise<StateMachineEmulator> {
  const own = await installInterpreter(o.python);
  const place = await mkdtemp(join(tmpdir(), 'sluice-state-machines-'));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(own, [join(here, 'interpreter_sluice.py')], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: place,
      TMPDIR: place,
      OVERRIDE_IN_DOCKER: '0',
      FILESYSTEM_ROOT: place,
      SERVICES: 'stepfunctions,sts',
      GATEWAY_SERVER: 'hypercorn', // the other one listens on every address
      GATEWAY_LISTEN: address,
      LOCALSTACK_HOST: address,
      DISABLE_EVENTS: '1',
      SKIP_SSL_CERT_DOWNLOAD: '1',
      DNS_ADDRESS: '0',
      SLUICE_TASKS: o.tasks,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const log = join(place, 'interpreter.log');
  keepLog(child, log);
  const stop = stopping(child, () => rm(place, { recursive: true, force: true }));
  const endpoint = `http://${address}`;
  await answering(`${endpoint}/_localstack/health`, child, log, stop);
  return { endpoint, log, stop };
}
