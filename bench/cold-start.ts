// cold-start.ts measures the time from the start of the process `sluice run job.ts` to its first record, in a project that has
// the built package in its node_modules, as a user has. It also lists what the entry point `sluice` loads besides itself.
//
//   node bench/cold-start.ts [--runs 20] [--no-build]

import { execFile, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const { values: flags } = parseArgs({
  allowNegative: true,
  options: { runs: { type: 'string', default: '20' }, build: { type: 'boolean', default: true } },
});
const runs = Number(flags.runs);
const repository = join(import.meta.dirname, '..');

/** Three lines, of which the middle one tells when its first record came: on the clock that all processes share. */
const jobText = `import { defineJob, print } from 'sluice';
let first = (n: number) => { process.stderr.write(\`first record \${process.hrtime.bigint()}\\n\`); first = (m) => m; return n; };
export default defineJob('cold-start', (env) => env.fromSequence(1, 1_000, { uid: 'numbers' }).map((n) => first(n)).sinkTo(print()));
`;

/** Prints the address of every module that importing `sluice` loads, the built-in ones of Node included. */
const listingText = `import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) { console.log(url); return next(url, context); } });
await import('sluice');
`;

async function makeProject(): Promise<string> {
  const bin = join(repository, 'dist/cli/main.js');
  const project = await mkdtemp(join(tmpdir(), 'sluice-cold-start-'));
  await mkdir(join(project, 'node_modules/.bin'), { recursive: true });
  await symlink(repository, join(project, 'node_modules/sluice'));
  // What npm does on an install.
  await chmod(bin, 0o755);
  await symlink(bin, join(project, 'node_modules/.bin/sluice'));
  await writeFile(join(project, 'package.json'), '{ "name": "cold-start", "private": true, "type": "module" }\n');
  await writeFile(join(project, 'job.ts'), jobText);
  await writeFile(join(project, 'listing.mjs'), listingText);
  return project;
}

function firstRecordMs(project: string): Promise<number> {
  const startedAt = process.hrtime.bigint();
  const child = spawn('node_modules/.bin/sluice', ['run', 'job.ts'], { cwd: project, stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => (text += more));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const at = /^first record (\d+)$/m.exec(text)?.[1];
      if (code !== 0 || at === undefined) reject(new Error(`sluice run ended with ${code} and said:\n${text}`));
      else resolve(Number(BigInt(at) - startedAt) / 1e6);
    });
  });
}

/** Modules that are neither the package's own nor Node's. */
async function foreignModules(project: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, ['listing.mjs'], { cwd: project });
  const own = pathToFileURL(join(repository, 'dist')).href;
  return stdout.split('\n').filter((url) => url !== '' && !url.startsWith('node:') && !url.startsWith(own));
}

if (flags.build) await promisify(execFile)('npm', ['run', 'build'], { cwd: repository });
const project = await makeProject();
try {
  const times: number[] = [];
  for (let n = 0; n < runs; n++) times.push(await firstRecordMs(project));
  times.sort((a, b) => a - b);
  const at = (share: number): number => Math.round(times[Math.min(runs - 1, Math.floor(runs * share))] ?? Number.NaN);
  const line = { bench: 'cold-start', runs, medianMs: at(0.5), minMs: at(0), maxMs: at(1), entryPointLoads: await foreignModules(project) };
  console.log(JSON.stringify(line));
} finally {
  await rm(project, { recursive: true, force: true });
}
