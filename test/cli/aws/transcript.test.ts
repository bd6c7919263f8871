// docs/aws-transcript.md is what `npm run transcript` wrote, and speaks of the commands that there are. The script is played over what the page holds:
// where it would call another command, or tell another thing, the page is not its own any more. What of it can be said without an emulator is said again.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseArguments } from '../../../lib/cli/arguments.ts';
import { commands } from '../../../lib/cli/commands.ts';
import { file, normalised, page, type Scene, stack, transcribe, typed } from '../../e2e/transcript.ts';
import { FakeCloud } from '../../support/fake-cloud.ts';
import { workplace } from '../support.ts';
import { begunItem, outputsOf, storeItem } from './deployed.ts';

const root = join(import.meta.dirname, '../../..');
const text = readFileSync(join(root, 'docs/aws-transcript.md'), 'utf8');

interface Told {
  readonly line: string;
  readonly said: string;
}

const told: readonly Told[] = [...text.matchAll(/^```console\n\$ (.*)\n([\s\S]*?)^```$/gm)].map(([, line = '', said = '']) => ({
  line,
  said,
}));

/** Says what the page says that was said. */
class Replay implements Scene {
  readonly #left = [...told];
  readonly lines: string[] = [];

  async sluice(words: readonly string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
    const next = this.#left.shift();
    expect(next?.line).toBe(typed(words));
    this.lines.push(typed(words));
    const [, said = '', code = '0'] = /^([\s\S]*?)(?:# exit code (\d+)\n)?$/.exec(next!.said)!;
    if (code === '0') return { code: 0, out: said, err: '' };
    const own = said.indexOf('sluice: ');
    return own < 0 ? { code: Number(code), out: said, err: '' } : { code: Number(code), out: said.slice(0, own), err: said.slice(own) };
  }

  async makeTargets(): Promise<void> {}
  async send(): Promise<void> {}
  async sendDamaged(): Promise<void> {}
  async checkpoint(): Promise<void> {}
  async expectNothingLeft(): Promise<void> {}
}

/** The words of a typed line. */
const wordsOf = (line: string): readonly string[] => line.split(' ').slice(1);

function entryOf(words: readonly string[]): (typeof commands)[number] {
  const entry = [2, 1].flatMap((n) => commands.filter(({ shape }) => shape.name === words.slice(0, n).join(' ')))[0];
  expect(entry, words.join(' ')).toBeDefined();
  return entry!;
}

describe('the page', () => {
  test('is what the script writes, and ends where it ends', async () => {
    const replay = new Replay();
    expect(page(await transcribe(replay))).toBe(text);
    expect(replay.lines).toHaveLength(told.length);
  });

  test('types commands that there are, with flags that they have', () => {
    for (const words of told.map(({ line }) => wordsOf(line))) {
      const { shape } = entryOf(words);
      const { params } = parseArguments(words.slice(shape.name.split(' ').length), shape);
      expect(params.size, words.join(' ')).toBe(0);
    }
  });

  test('shows every command for deployed jobs', () => {
    const shown = told.map(({ line }) => entryOf(wordsOf(line)).shape.name);
    const wanted = commands.filter(({ loadDeployed, always }) => loadDeployed !== undefined || always !== undefined);
    expect(new Set(shown)).toEqual(new Set(wanted.map(({ shape }) => shape.name)));
  });

  test('shows no failure but those that it is about', () => {
    const codes = told.flatMap(({ said }) => /^sluice: ([A-Z_]+): /m.exec(said)?.[1] ?? []);
    expect(codes).toEqual(['BIND_MISSING', 'JOB_NOT_IN_STATE', 'JOB_NOT_IN_STATE', 'JOB_NOT_IN_STATE', 'STACK_UNKNOWN', 'STACK_UNKNOWN']);
  });
});

describe('what it shows is said today', () => {
  let cloud: FakeCloud;
  beforeEach(async () => {
    cloud = await FakeCloud.start();
    cloud.stacks.set(stack, { outputs: { ...outputsOf('Job', 'clicks', 'one'), SluiceApp: 'clicks' } });
    storeItem(cloud, 'one', await begunItem());
  });
  afterEach(() => cloud.stop());

  const saidOf = (...words: readonly string[]): string => told.find(({ line }) => line === typed(words))!.said;

  async function saysNow(...words: readonly string[]): Promise<string> {
    const own = { AWS_ACCESS_KEY_ID: '000000000000', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'us-east-1' };
    const place = workplace({ [file]: readFileSync(join(root, file), 'utf8') });
    const { code, stdout, stderr } = await place.start([...words, '--endpoint', cloud.endpoint], own).ended;
    return normalised(code === 0 ? stdout : `${stderr}# exit code ${code}\n`);
  }

  test('by a deployment that lacks a binding, and by a removal of a job that works', async () => {
    const deploy = ['deploy', file, '--bind', 'clicks=clicks.fifo'];
    expect(await saysNow(...deploy)).toBe(saidOf(...deploy));
    const destroy = ['destroy', file, '--yes'];
    expect(await saysNow(...destroy)).toBe(saidOf(...destroy));
  });

  test('by status, and of a stack that is gone', async () => {
    const status = ['status', '--stack', stack];
    const head = (said: string): string => said.split('\n')[0]!.replace(/ +/g, ' ');
    expect(head(await saysNow(...status))).toBe(head(saidOf(...status)));
    cloud.stacks.clear();
    const gone = told.filter(({ line }) => line === typed(status)).at(-1)!.said;
    expect(await saysNow(...status)).toBe(gone);
  });

  test('by a query function of which letters and a state are asked', async () => {
    const get = ['state', 'get', 'clicks', '--operator', 'count', '--state', 'clicks', '--key', 'u1', '--stack', stack];
    cloud.functions.set('one-query', () => ({ state: 'done', value: 25 }));
    expect(await saysNow(...get)).toBe(saidOf(...get));
    const list = ['transactions', 'list', 'clicks', '--stack', stack];
    cloud.functions.set('one-query', () => ({ state: 'done', transactions: [] }));
    expect(await saysNow(...list)).toBe(saidOf(...list));
  });
});
