// The app of this repository and its example, the way `npx cdk synth` and `sluice run` use them.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'sluice-app-'));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

interface SynthesisedTemplate {
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly DeletionPolicy?: string }>>;
}

/** Runs the app as the command line of CDK does, without bundles. */
function synthesise(): SynthesisedTemplate {
  const { context } = JSON.parse(readFileSync(join(root, 'cdk.json'), 'utf8')) as { readonly context: object };
  execFileSync(process.execPath, ['infra/app.ts'], {
    cwd: root,
    stdio: 'pipe',
    env: {
      PATH: process.env.PATH,
      CDK_OUTDIR: place,
      CDK_CONTEXT_JSON: JSON.stringify({ ...context, 'aws:cdk:bundling-stacks': [] }),
    },
  });
  return JSON.parse(readFileSync(join(place, 'SluiceClicks.template.json'), 'utf8')) as SynthesisedTemplate;
}

describe('the app of this repository', () => {
  test('synthesises offline, and keeps state when the stack goes', () => {
    const types = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::SQS::Queue'];
    const stateful = Object.values(synthesise().Resources).filter(({ Type: type }) => types.includes(type));
    expect(stateful.map(({ DeletionPolicy: policy }) => policy)).toEqual(['Retain', 'Retain', 'Retain', 'Retain', 'Retain']);
  });
});

describe('its example', () => {
  test('is the same job on a desk, where its names are bound to files', () => {
    const clicks = ['a', 'b', 'a', 'c', 'a'].map((user) => JSON.stringify({ user, url: '/' }));
    writeFileSync(join(place, 'clicks.ndjson'), `${clicks.join('\n')}\n`);
    const words = ['run', join(root, 'examples/clicks/job.ts'), '--bind', 'clicks=clicks.ndjson', '--bind', 'totals=totals'];
    execFileSync(process.execPath, [join(root, 'lib/cli/main.ts'), ...words], { cwd: place, stdio: 'pipe' });
    const parts = readdirSync(join(place, 'totals')).filter((name) => !name.startsWith('.'));
    const rows = parts.flatMap((name) =>
      readFileSync(join(place, 'totals', name), 'utf8')
        .trim()
        .split('\n'),
    );
    expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual([
      { user: 'a', clicks: 1 },
      { user: 'b', clicks: 1 },
      { user: 'a', clicks: 2 },
      { user: 'c', clicks: 1 },
      { user: 'a', clicks: 3 },
    ]);
  });
});
