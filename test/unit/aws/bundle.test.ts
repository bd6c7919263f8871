// Bundles of a deployed job's functions.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BundledRole, bundleRole } from '../../../lib/aws/bundle.ts';

const entry = fileURLToPath(new URL('../../../examples/late-flights/job.ts', import.meta.url));
/** Of the largest job that the package has connectors for. A stage may have 700 KiB; what is left below that is the user's. */
const bytesMax: Readonly<Record<BundledRole, number>> = { stage: 696 * 1_024, pulse: 780 * 1_024, query: 694 * 1_024, check: 290 * 1_024 };
/** A job with every service of the package in it. */
const everything = [
  "import { defineJob, dynamoDbSink, kinesis, kinesisSink, ndjson, s3Sink, sqs, sqsSink } from 'sluice';",
  "export default defineJob('everything', (env) => {",
  "  const clicks = env.fromSource(kinesis('clicks'), { uid: 'clicks' }).union(env.fromSource(sqs('more', { fifo: true }), { uid: 'more' }));",
  "  clicks.sinkTo(dynamoDbSink('totals', { key: 'user', mode: 'transactional' }), { uid: 'totals' });",
  "  clicks.sinkTo(s3Sink('archive', { format: ndjson() }), { uid: 'archive' });",
  "  clicks.sinkTo(kinesisSink('out'), { uid: 'out' });",
  "  clicks.sinkTo(sqsSink('jobs'), { uid: 'jobs' });",
  '});',
];
let place: string;

function bundled(role: BundledRole, job: string | undefined = entry, name: string = role): string {
  const outDir = join(place, name);
  mkdirSync(outDir);
  bundleRole({ role, entry: role === 'check' ? undefined : job, outDir });
  return join(outDir, 'index.js');
}

/** What a fresh process prints that loads a bundle and runs a line with its handler. */
function ran(file: string, line: string, variables: Readonly<Record<string, string>> = {}): string {
  const code = `const { handler } = require(${JSON.stringify(file)}); ${line}`;
  return execFileSync(process.execPath, ['-e', code], { encoding: 'utf8', env: { PATH: process.env.PATH, ...variables } });
}

const tellOutcome =
  "handler({}, { getRemainingTimeInMillis: () => 9000 }).then(() => console.log('answered'), (e) => console.log(e.message));";

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'sluice-bundle-test-'));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

describe('a bundle', () => {
  it.each(['stage', 'pulse', 'query', 'check'] as const)('of %s gives a handler to whoever loads it', (role) => {
    expect(ran(bundled(role), 'console.log(typeof handler)')).toBe('function\n');
  });

  it.each(Object.entries(bytesMax))('of %s with every service in it stays below %i bytes', (role, max) => {
    const job = join(place, `everything-${role}.ts`);
    writeFileSync(job, everything.join('\n'));
    expect(readFileSync(bundled(role as BundledRole, job, `large-${role}`)).length).toBeLessThan(max);
  });

  it('has the same bytes when the sources are the same', () => {
    const first = readFileSync(bundled('stage', entry, 'first'));
    expect(first.equals(readFileSync(bundled('stage', entry, 'second')))).toBe(true);
  });

  it('names the variable that its function was not given, at the call and not while it is loaded', () => {
    expect(ran(bundled('stage', entry, 'bare'), tellOutcome)).toContain(
      'SETTING_INVALID: the variable SLUICE_JOB of this function is missing',
    );
  });

  it('keeps the names of the user, so that no two selectors become one', () => {
    const job = join(place, 'selectors.ts');
    const lines = [
      "import { defineJob } from 'sluice';",
      'function selectorOf(fieldOfTheUser: string) { return (row: Record<string, string>) => row[fieldOfTheUser]; }',
      'export class SinkOfTheUser {}',
      "export default defineJob('named', () => { console.log(String(selectorOf('a')), SinkOfTheUser.name); });",
    ];
    writeFileSync(job, lines.join('\n'));
    const text = readFileSync(bundled('stage', job, 'named'), 'utf8');
    expect(text.includes('row=>row[fieldOfTheUser]')).toBe(true);
    expect(text.includes('SinkOfTheUser=class{}')).toBe(true);
  });

  it('has the client of streams for a job that names one, and not for another', () => {
    const job = join(place, 'stream.ts');
    const lines = [
      "import { defineJob, kinesis, print } from 'sluice';",
      "export default defineJob('streamed', (env) => void env.fromSource(kinesis('clicks'), { uid: 'c' }).sinkTo(print(), { uid: 'p' }));",
    ];
    writeFileSync(job, lines.join('\n'));
    const has = (file: string): boolean => readFileSync(file, 'utf8').includes('Kinesis_20131202');
    expect(has(bundled('stage', job, 'streamed'))).toBe(true);
    expect(has(bundled('stage', entry, 'streamless'))).toBe(false);
  });

  it('has the client of streams where they carry the exchange, of whatever job', () => {
    for (const role of ['stage', 'pulse', 'query'] as const) {
      const outDir = join(place, `exchange-${role}`);
      mkdirSync(outDir);
      bundleRole({ role, entry, outDir, hasStreams: true });
      const file = join(outDir, 'index.js');
      expect(readFileSync(file, 'utf8')).toContain('Kinesis_20131202');
      expect(readFileSync(file).length, role).toBeLessThan(bytesMax[role]);
    }
  });

  it('has the client of topics for a job that names one, in one file', () => {
    const job = join(place, 'topic.ts');
    const lines = [
      "import { defineJob, kafka, print } from 'sluice';",
      "export default defineJob('topics', (env) => void env.fromSource(kafka('clicks'), { uid: 'c' }).sinkTo(print(), { uid: 'p' }));",
    ];
    writeFileSync(job, lines.join('\n'));
    const file = bundled('pulse', job, 'topics');
    expect(ran(file, 'console.log(typeof handler)')).toBe('function\n');
    expect(readFileSync(file, 'utf8')).toMatch(/SCRAM-SHA-512/);
    expect(readFileSync(file, 'utf8')).not.toMatch(/native\.wasm/);
    expect(readFileSync(bundled('pulse', entry, 'topicless'), 'utf8')).not.toMatch(/snappy_decompress/);
  });

  it('refuses a module that is not there', () => {
    expect(() => bundleRole({ role: 'stage', entry: join(place, 'none.ts'), outDir: place })).toThrow(
      expect.objectContaining({ code: 'JOB_FILE_MISSING' }),
    );
  });

  it('tells what cannot be bundled', () => {
    const job = join(place, 'broken.ts');
    writeFileSync(job, "import 'there-is-no-such-package';\nexport default 1;\n");
    expect(() => bundleRole({ role: 'stage', entry: job, outDir: place })).toThrow(
      expect.objectContaining({ code: 'JOB_FILE_IMPORT', message: expect.stringContaining('there-is-no-such-package') as string }),
    );
  });
});
