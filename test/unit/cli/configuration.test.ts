import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Configuration, loadConfiguration } from '../../../lib/cli/configuration.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-configuration-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

interface Given {
  readonly file?: string;
  readonly variables?: Record<string, string>;
  readonly set?: readonly string[];
}

function load({ file, variables = {}, set = [] }: Given): Promise<Configuration> {
  if (file !== undefined) writeFileSync(join(directory, 'sluice.yaml'), file);
  return loadConfiguration({ directory, variables, set });
}

const interval = 'execution.checkpointing.interval';

describe('where a setting comes from', () => {
  test('--set wins over a variable, and that over the file', async () => {
    const file = `${interval}: 1s\nparallelism.default: 2\nstate.backend: filesystem\n`;
    const variables = { SLUICE_EXECUTION_CHECKPOINTING_INTERVAL: '2s', SLUICE_PARALLELISM_DEFAULT: '3' };
    const { settings } = await load({ file, variables, set: [`${interval}=3s`] });
    expect(settings).toEqual({ checkpointIntervalMs: 3_000, parallelism: 3, backend: 'filesystem' });
  });

  test('a stronger origin hides a weaker one that is wrong', async () => {
    const { settings } = await load({ file: `${interval}: soon\n`, set: [`${interval}=3s`] });
    expect(settings.checkpointIntervalMs).toBe(3_000);
  });

  test('without a file there are no settings', async () => {
    expect(await load({})).toEqual({ settings: {}, settingTexts: new Map(), params: new Map(), looseParams: new Set() });
  });

  test('an error names the origin', async () => {
    await expect(load({ set: [`${interval}=soon`] })).rejects.toThrow(`${interval} (--set): 'soon' is not a duration`);
    await expect(load({ variables: { SLUICE_PARALLELISM_DEFAULT: 'x' } })).rejects.toThrow('(SLUICE_PARALLELISM_DEFAULT)');
  });

  test('--set without a value, and with an unknown key, is wrong use', async () => {
    await expect(load({ set: ['parallelism.default'] })).rejects.toThrow('write --set key=value');
    await expect(load({ set: ['paralelism.default=2'] })).rejects.toThrow("did you mean 'parallelism.default'?");
  });

  test('a value may hold equals signs', async () => {
    expect((await load({ set: ['state.checkpoints.dir=./a=b'] })).settings.checkpointsDirectory).toBe('./a=b');
  });
});

describe('sluice.yaml', () => {
  test('nested and dotted names are one thing', async () => {
    const nested = await load({
      file: 'state:\n  backend: filesystem\n  checkpoints.dir: ./c\nexecution:\n  checkpointing: { interval: 1500 }\n',
    });
    expect(nested.settings).toEqual({ backend: 'filesystem', checkpointsDirectory: './c', checkpointIntervalMs: 1_500 });
  });

  test('a name given both ways is refused, because one of them would be lost', async () => {
    await expect(load({ file: 'state.backend: filesystem\nstate: { backend: jobmanager }\n' })).rejects.toThrow(
      "'state.backend' is there twice",
    );
  });

  test('an unknown dotted key is refused with the nearest known name', async () => {
    await expect(load({ file: 'state.backnd: filesystem\n' })).rejects.toThrow("did you mean 'state.backend'?");
    await expect(load({ file: 'state: { checkpoint: { dir: x } }\n' })).rejects.toThrow("did you mean 'state.checkpoints.dir'?");
  });

  test('parameters stand below params, or at the top level where only a job can tell them from a mistake', async () => {
    const { params, looseParams } = await load({ file: 'params:\n  input: a.ndjson\n  limit: 15\noutput: out/\n' });
    expect(Object.fromEntries(params)).toEqual({ input: 'a.ndjson', limit: '15', output: 'out/' });
    expect([...looseParams]).toEqual(['output']);
  });

  test.each([
    ['a: [1, 2', /line 1/],
    ['a: 1\na: 2\n', /unique/],
    ['- a\n- b\n', /must be a map/],
    ['just text', /must be a map/],
    ['params:\n  input:\n', /'params.input' has no value/],
    ['params:\n  inputs: [a, b]\n', /'params.inputs' is a list/],
  ])('what is no map of plain values is refused in one line: %j', async (file, why) => {
    const refused = load({ file });
    await expect(refused).rejects.toThrow(why);
    await expect(refused).rejects.toThrow(/^sluice\.yaml: [^\n]+$/);
  });

  test('an empty file is no configuration', async () => {
    expect((await load({ file: '# nothing yet\n' })).settings).toEqual({});
  });
});
