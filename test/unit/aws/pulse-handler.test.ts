// Pulses of a small job over strict fakes, with a Lambda that calls the handler of the stage.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorOf } from '../../../lib/adapters/aws/errors.ts';
import { decideMappings } from '../../../lib/aws/pulse-handler.ts';
import { requestPause } from '../../../lib/invocation/coordinator/job-life.ts';
import { readExistingJob } from '../../../lib/invocation/coordinator/read-job.ts';
import { type FakeCall, FakeService, fakePorts } from '../../../lib/testing/invocation/index.ts';
import { type Account, plan, pulsesOf } from './pulses.ts';

const mappingCalls = ({ calls }: Account): readonly string[] => calls.filter((call) => call.startsWith('mapping'));

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => void vi.restoreAllMocks());

describe('a pulse', () => {
  it('makes the job when there is none, and switches nothing that is as it was deployed', async () => {
    const { account, pulse } = pulsesOf(new FakeService());
    await pulse();
    expect(await pulse()).toMatchObject({ status: 'running', generation: 0 });
    expect(mappingCalls(account)).toEqual([]);
  });

  it('changes nothing of a job that runs another plan', async () => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    await expect(pulsesOf(service, 'of-another-deployment').pulse()).rejects.toThrow(/^PLAN_CHANGED: /);
  });

  it.each([
    ['AccessDeniedException', 'STORE_FORBIDDEN'],
    ['KMSAccessDeniedException', 'STORE_FORBIDDEN'],
    ['ResourceNotFoundException', 'STORE_MISSING'],
    ['ThrottlingException', 'STORE_THROTTLED'],
  ])('fails where the table answers %s, under the action and what it was on, and the next one goes on', async (name, code) => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    const before = await readExistingJob(fakePorts(service));
    const call: FakeCall = async () => {
      throw errorOf(Object.assign(new Error('said the service'), { name }), 'dynamodb:GetItem in table clicks');
    };
    const refused = pulsesOf(service, plan.hash, 'clicks-table', call);
    await expect(refused.pulse()).rejects.toThrow(`${code}: dynamodb:GetItem in table clicks: ${name}: said the service`);
    expect(refused.account.calls).toEqual([]);
    expect(await readExistingJob(fakePorts(service))).toEqual(before);
    expect((await pulsesOf(service).pulse()).status).toBe('running');
  });

  it('switches the mappings off with the job, once, also by another sandbox', async () => {
    const service = new FakeService();
    const { account, ports, pulse } = pulsesOf(service);
    await pulse();
    await requestPause(ports);
    for (let n = 0; n < 20 && (await pulse()).status !== 'paused'; n++);
    const other = pulsesOf(service);
    expect((await other.pulse()).status).toBe('paused');
    expect(mappingCalls(account)).toEqual(['mapping-1 off', 'mapping-2 off']);
    expect(mappingCalls(other.account)).toEqual([]);
  });

  it('says that a control function failed, and goes on with the next pulse', async () => {
    const { account, ports, pulse } = pulsesOf(new FakeService());
    await pulse();
    await requestPause(ports);
    account.failsWith = 'STORE_MISSING: the table is gone';
    await pulse().catch(() => undefined);
    account.failsWith = undefined;
    for (let n = 0; n < 20 && (await pulse()).status !== 'paused'; n++);
    expect((await pulse()).status).toBe('paused');
  });

  it('of an execution sees its successor, and a later one does not see an earlier one', async () => {
    const service = new FakeService();
    const { pulse } = pulsesOf(service);
    const call = (n: number) => ({ execution: `execution-${n}`, startedAt: new Date(Date.now() - 60_000 + n * 1_000).toISOString() });
    await pulse(call(1));
    await pulse(call(2));
    expect((await pulse(call(1))).next).toBe('done');
  });

  it('tells what the alarms look for', async () => {
    const { pulse } = pulsesOf(new FakeService());
    await pulse();
    const metrics = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(({ JobFailed }) => JobFailed !== undefined);
    expect(metrics).toMatchObject({ Job: 'clicks', JobFailed: 0, DeadLetters: 0, CheckpointAge: 0 });
  });

  it('that fails says since when a checkpoint is owed, though none was ever begun', async () => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    lines = [];
    await expect(pulsesOf(service, 'of-another-deployment').pulse()).rejects.toThrow(/^PLAN_CHANGED: /);
    const ages = lines.map((line) => (JSON.parse(line) as { CheckpointAge?: number }).CheckpointAge).filter((age) => age !== undefined);
    expect(ages).toHaveLength(1);
    expect(ages[0]).toBeGreaterThanOrEqual(0);
  });
});

describe('mappings', () => {
  it('that a deployment put into the place of others while the job stands still are switched off like those', () => {
    expect(decideMappings(['a', 'new'], ['a', 'b'], false)).toEqual({ toSwitch: ['new'], off: ['a', 'new'], isOn: false });
  });

  it('are switched on again when the job goes on, and none that was not switched off', () => {
    expect(decideMappings(['a', 'new'], ['a', 'b'], true)).toEqual({ toSwitch: ['a'], off: [], isOn: true });
    expect(decideMappings(['new'], ['a'], true).toSwitch).toBeUndefined();
  });

  it('are what an older version said of all of them', () => {
    expect(decideMappings(['a', 'b'], 'disabled', true).toSwitch).toEqual(['a', 'b']);
    expect(decideMappings(['a', 'b'], 'disabled', false).toSwitch).toBeUndefined();
    expect(decideMappings(['a', 'b'], 'enabled', false).toSwitch).toEqual(['a', 'b']);
  });
});
