// What functions of a deployed job decide about its life. Pure.
import { describe, expect, it } from 'vitest';
import { thrownByFunction } from '../../../lib/adapters/aws/thrown.ts';
import { checkStages } from '../../../lib/aws/deployed.ts';
import { functionError } from '../../../lib/aws/function-error.ts';
import { decideNext, takesInput } from '../../../lib/aws/pulse-handler.ts';
import { readFunctionSettings } from '../../../lib/aws/settings.ts';
import { SluiceError } from '../../../lib/core/errors.ts';
import type { Plan } from '../../../lib/graph/plan.ts';
import type { PulseReport } from '../../../lib/invocation/coordinator/pulse.ts';
import type { JobItem } from '../../../lib/invocation/job-item.ts';

const variables = { SLUICE_JOB: 'clicks', SLUICE_PLAN_HASH: 'abc', SLUICE_TABLE: 'table', SLUICE_BUCKET: 'bucket' };

describe('what a function is told', () => {
  it('is read from its variables', () => {
    const told = readFunctionSettings({ ...variables, SLUICE_STAGE: '2', SLUICE_QUEUES: '{"1":"https://q"}', SLUICE_MAPPINGS: '["id"]' });
    expect(told).toMatchObject({ job: 'clicks', planHash: 'abc', stage: 2, queues: { 1: 'https://q' }, mappings: ['id'], params: {} });
  });

  it.each(Object.keys(variables))('is refused without %s', (name) => {
    expect(() => readFunctionSettings({ ...variables, [name]: '' })).toThrow(
      expect.objectContaining({ code: 'SETTING_INVALID', message: expect.stringContaining(name) as string }),
    );
  });

  it('is refused where it is no JSON', () => {
    expect(() => readFunctionSettings({ ...variables, SLUICE_BIND: '{' })).toThrow(/SLUICE_BIND of this function is no JSON/);
  });
});

describe('a function of another plan', () => {
  const plan = {
    job: 'clicks',
    stages: [
      { id: 0, inputs: [] },
      { id: 1, inputs: [0] },
    ],
  } as unknown as Plan;
  const given = { job: 'clicks', stage: 1, queues: { 1: 'https://q' } };

  it('is not one whose stages are those of its stack', () => {
    expect(() => checkStages(plan, given)).not.toThrow();
  });

  it.each([
    ['a stage more than the stack has queues', { ...given, queues: {} }],
    ['a stage less', { ...given, queues: { 1: 'https://q', 2: 'https://r' } }],
    ['another stage', { ...given, queues: { 2: 'https://q' } }],
    ['another job', { ...given, job: 'orders' }],
    ['no stage of its number', { ...given, stage: 2 }],
  ])('takes nothing: %s', (_, settings) => {
    expect(() => checkStages(plan, settings)).toThrow(expect.objectContaining({ code: 'PLAN_CHANGED' }));
  });
});

describe('the mappings of a job', () => {
  it.each([
    ['running', true],
    ['resuming', true],
    ['pausing', false],
    ['paused', false],
    ['failing', false],
    ['failed', false],
    ['cancelling', false],
    ['cancelled', false],
    ['finished', false],
  ] as const)('of a job that is %s deliver: %s', (status, takes) => {
    expect(takesInput({ status: status as JobItem['status'] })).toBe(takes);
  });
});

describe('an execution of the coordinator', () => {
  const report = (status: string, isBusy: boolean): PulseReport => ({ item: { status }, isBusy }) as unknown as PulseReport;
  const given = { report: report('running', true), isSucceeded: false, intervalMs: 60_000, elapsedMs: 0 };

  it('calls again soon while something is under way', () => {
    expect(decideNext(given)).toEqual({ next: 'again', waitSeconds: 1 });
  });

  it('ends when the next one has begun', () => {
    expect(decideNext({ ...given, isSucceeded: true }).next).toBe('done');
  });

  it('ends after four minutes, whatever is under way', () => {
    expect(decideNext({ ...given, elapsedMs: 239_999 }).next).toBe('again');
    expect(decideNext({ ...given, elapsedMs: 240_000 }).next).toBe('done');
  });

  it('ends at once when nothing is under way, unless checkpoints are closer than a minute', () => {
    const idle = { ...given, report: report('running', false) };
    expect(decideNext(idle).next).toBe('done');
    expect(decideNext({ ...idle, intervalMs: undefined }).next).toBe('done');
    expect(decideNext({ ...idle, intervalMs: 10_000 })).toEqual({ next: 'again', waitSeconds: 5 });
    expect(decideNext({ ...idle, intervalMs: 100 })).toEqual({ next: 'again', waitSeconds: 1 });
    expect(decideNext({ ...idle, report: report('paused', false), intervalMs: 10_000 }).next).toBe('done');
  });
});

describe('an error of a function', () => {
  it('has its code in front of its message and what is to be done behind it, because that is all that Lambda keeps', () => {
    const error = functionError(new SluiceError('STORE_MISSING', { message: 'table clicks is gone', next: 'repair-state' }));
    expect([error.name, error.message]).toEqual(['SluiceError', 'STORE_MISSING: table clicks is gone\nnext: repair-state']);
  });

  it.each([
    [
      'an advice of its own',
      { advice: 'pause it: first' },
      { code: 'JOB_NOT_IN_STATE', next: 'fix-the-command', details: { advice: 'pause it: first' } },
    ],
    ['none', {}, { code: 'JOB_NOT_IN_STATE', next: 'fix-the-command', details: { function: 'clicks-query' } }],
  ])('is the same for whoever called the function, with %s', (_, more, expected) => {
    const { message } = functionError(
      new SluiceError('JOB_NOT_IN_STATE', { message: 'clicks is running', next: 'fix-the-command', ...more }),
    );
    const told = thrownByFunction('clicks-query', { errorType: 'SluiceError', errorMessage: message });
    expect(told).toMatchObject({ ...expected, message: 'clicks-query: clicks is running' });
  });

  it('of another family, or of a version that says less, is to be tried again', () => {
    const told = (errorMessage: string): object => thrownByFunction('f', { errorType: 'Error', errorMessage });
    expect(told('2026 Task timed out after 30.00 seconds')).toMatchObject({ code: 'FUNCTION_FAILED', next: 'try-again' });
    expect(told('STATE_UNKNOWN: no such\nstate')).toMatchObject({ code: 'STATE_UNKNOWN', message: 'f: no such\nstate', next: 'try-again' });
    expect(told('STATE_UNKNOWN: no such\nnext: dance')).toMatchObject({ code: 'STATE_UNKNOWN', next: 'try-again' });
  });

  it('that is not ours keeps its name', () => {
    expect(functionError(new TypeError('x is not a function')).name).toBe('TypeError');
  });
});
