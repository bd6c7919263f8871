// What every emulator is to its starter: a process with a log, an address that answers after a while, and an end.

import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';

export function keepLog(child: ChildProcess, log: string): void {
  const file = createWriteStream(log);
  child.stdout?.pipe(file, { end: false });
  child.stderr?.pipe(file, { end: false });
  child.once('close', () => file.end());
}

export function stopping(child: ChildProcess, tidy: () => Promise<void>): () => Promise<void> {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  process.once('exit', kill); // whoever started it may be killed without a chance to stop it
  return async () => {
    process.removeListener('exit', kill);
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const late = setTimeout(kill, 5_000);
    await ended;
    clearTimeout(late);
    await tidy();
  };
}

const startWithinMs = 60_000;

/**
 * Waits until the address answers.
 * @param isUp  how it is asked; a URL by default
 * @throws with the end of the log when the process ends or stays silent
 */
export async function answering(
  url: string,
  child: ChildProcess,
  log: string,
  stop: () => Promise<void>,
  isUp: () => Promise<boolean> = () => isGood(url),
): Promise<void> {
  const until = Date.now() + startWithinMs;
  for (;;) {
    if (await isUp()) return;
    if (child.exitCode !== null || Date.now() > until) {
      const said = await readFile(log, 'utf8').catch(() => '');
      await stop();
      throw new Error(`nothing answers at ${url}. The end of its log:\n${said.slice(-2_000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function isGood(url: string): Promise<boolean> {
  return fetch(url).then(
    (answer) => answer.ok,
    () => false,
  );
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
