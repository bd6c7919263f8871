// A process that begins an attempt below a root and then does as it is told, line by line on its standard input; it answers line by line.
//   write NAME   makes a file in the attempt's directory and tells whether that worked
//   next         begins the next attempt of the same owner
// Without a line it stays alive and does nothing.
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Attempt, openAttempt } from '../../../../../lib/adapters/embedded/attempt-directory.ts';
import { nodeFileSystem } from '../../../../../lib/adapters/embedded/node-file-system.ts';

const [root, takeOver] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const told = (e: unknown): string => (e as { code?: string }).code ?? String(e);

let attempt: Attempt | undefined;
try {
  attempt = await openAttempt(nodeFileSystem, root!, { owner: `process ${process.pid}`, takeOver: takeOver === 'take-over' });
  say(`generation ${attempt.generation}`);
} catch (e) {
  say(`refused ${told(e)} ${(e as Error).message}`);
}
if (attempt !== undefined) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [verb, name] = line.split(' ');
    try {
      if (verb === 'write') {
        const file = await nodeFileSystem.createFile(join(attempt.path, name!));
        await file.close();
      } else attempt = await attempt.next();
      say(`done ${verb} in generation ${attempt.generation}`);
    } catch (e) {
      say(`failed ${verb} ${told(e)}`);
    }
  }
}
