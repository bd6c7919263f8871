// What a deployed job is asked by commands that need its code, over strict fakes.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bodyOf } from '../../../lib/adapters/aws/sqs-exchange.ts';
import { systemClock } from '../../../lib/adapters/embedded/system-clock.ts';
import type { Deployed } from '../../../lib/aws/deployed.ts';
import { handleQuery, type Query } from '../../../lib/aws/query-handler.ts';
import type { SqsAnswer, SqsEvent } from '../../../lib/aws/sqs-event.ts';
import { handleStage } from '../../../lib/aws/stage-handler.ts';
import { requestPause } from '../../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../../lib/invocation/coordinator/restore.ts';
import { FakeService } from '../../../lib/testing/invocation/index.ts';
import { fifoEvent } from './events.ts';
import { pulsesOf } from './pulses.ts';

beforeEach(() => {
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

async function runningJob() {
  const { deployed, ports, pulse } = pulsesOf(new FakeService());
  await pulse();
  const handle = async (stage: number, event: SqsEvent): Promise<number> => {
    const at: Deployed = { ...deployed, settings: { ...deployed.settings, stage } };
    const answer = (await handleStage(at, event, { getRemainingTimeInMillis: () => 30_000 }, systemClock)) as SqsAnswer;
    return answer.batchItemFailures.length;
  };
  const send = async (...bodies: readonly string[]): Promise<void> => {
    const event = fifoEvent(bodies.map((body, i) => ({ id: `m${i}`, group: 'eu', body })));
    for (let tries = 0; tries < 5 && (await handle(0, event)) > 0; tries++);
    const messages = await ports.exchange.receive({ max: 10 });
    if (messages.length > 0) await handle(1, fifoEvent(messages.map((m, i) => ({ id: `x${i}`, group: m.group, body: bodyOf(m.bytes) }))));
    await ports.exchange.settle(messages.map(({ receipt }) => receipt));
  };
  const pauseIt = async (): Promise<void> => {
    await requestPause(ports);
    for (let n = 0; n < 20 && (await pulse()).status !== 'paused'; n++);
  };
  return { ports, send, pauseIt, ask: (query: Query) => handleQuery(deployed, query) };
}

const click = (user: string): string => JSON.stringify({ user });
const stateOf = (key: unknown, state = 'aggregate'): Query => ({ command: 'state get', operator: 'count', state, key });

describe('the state of a key', () => {
  it('of an operator or under a name that the job does not have is told with what was asked for', async () => {
    const { ask } = await runningJob();
    await expect(ask(stateOf('ada', 'nothing'))).rejects.toThrow(/count.*nothing/);
    await expect(ask({ command: 'state get', operator: 'cuont', state: 'x', key: 1 })).rejects.toThrow(/cuont/);
  });
});

it('its operators are told with their keyed states, and whether those lie in the table', async () => {
  const { ask } = await runningJob();
  const { operators } = await ask({ command: 'operators' });
  expect(operators).toContainEqual(expect.objectContaining({ uid: 'count', isShared: true }));
  expect(operators).toContainEqual(expect.objectContaining({ uid: 'clicks', keyed: [], isShared: false }));
});

describe('dead letters', () => {
  it('are listed with what they were and why, and redriven by name', async () => {
    const { ask, send } = await runningJob();
    expect(await ask({ command: 'dead-letters list' })).toEqual({ state: 'done', letters: [] });
    await send('{"user": ', click('ada'));
    const { letters } = (await ask({ command: 'dead-letters list' })) as { readonly letters: readonly { readonly letter: string }[] };
    expect(letters).toHaveLength(1);
    expect(letters[0]).toMatchObject({ operator: 'clicks' });
    const again = await ask({ command: 'dead-letters redrive', letters: [letters[0]!.letter] });
    expect(again.letters).toMatchObject([{ letter: letters[0]!.letter }]);
  });

  it('that do not exist are told by name, and nothing is redriven', async () => {
    const { ask } = await runningJob();
    await expect(ask({ command: 'dead-letters redrive', letters: ['nobody'] })).rejects.toThrow(
      /^COMMAND_LINE_INVALID: there is no dead letter 'nobody'/,
    );
    expect(await ask({ command: 'dead-letters redrive', letters: 'all' })).toEqual({ state: 'done', letters: [] });
  });
});

describe('transactions', () => {
  it('are none where no sink promises any', async () => {
    const { ask } = await runningJob();
    expect(await ask({ command: 'transactions list' })).toEqual({ state: 'done', transactions: [] });
  });

  it('of a job that runs are its own affair, and those of one that is paused can be committed and not aborted', async () => {
    const { ask, pauseIt } = await runningJob();
    const [commit, abort] = (['commit', 'abort'] as const).map((how): Query => ({ command: `transactions ${how}`, names: 'all' }));
    await expect(ask(commit!)).rejects.toThrow(/^JOB_NOT_IN_STATE: clicks is running, .*; pause it first/);
    await expect(ask(abort!)).rejects.toThrow(/^JOB_NOT_IN_STATE: clicks is running, .*; cancel it first/);
    await pauseIt();
    await expect(ask(abort!)).rejects.toThrow(/^JOB_NOT_IN_STATE: clicks is paused, /);
    expect(await ask(commit!)).toEqual({ state: 'done', settled: 'commit', transactions: [], wereCommitted: [] });
    await expect(ask({ command: 'transactions commit', names: ['nobody'] })).rejects.toThrow(/there is no transaction 'nobody'/);
  });
});

it('an answer that no function can give is refused with its size', async () => {
  const { deployed } = pulsesOf(new FakeService());
  const operators = [{ uid: 'u', name: 'n'.repeat(7 * 1_024 * 1_024), node: { operator: { kind: 'map' } } }];
  const large = { ...deployed, plan: { ...deployed.plan, stages: [{ parallelism: 1, operators }] } } as unknown as Deployed;
  await expect(handleQuery(large, { command: 'operators' })).rejects.toThrow(
    /^ANSWER_TOO_LARGE: `operators` has an answer of 7 MiB, and a function can give 5.7 MiB/,
  );
});

it('a command of another version is refused by name', async () => {
  const { ask } = await runningJob();
  await expect(ask({ command: 'state list' } as unknown as Query)).rejects.toThrow(/is asked 'state list', which it does not know/);
});

it('a job that no pulse has made is told', async () => {
  const { deployed } = pulsesOf(new FakeService());
  await expect(handleQuery(deployed, { command: 'transactions list' })).rejects.toThrow(/^JOB_UNKNOWN: /);
});

it('a checkpoint that has expired cannot be restored, and asking for it changes nothing', async () => {
  const { ports } = await runningJob();
  const before = await ports.items.get('job');
  expect((await startRestore(ports, 99)).kind).toBe('no-checkpoint');
  expect(await ports.items.get('job')).toEqual(before);
});
