// A table that was restored to an earlier second, or that took the place of another: the job does not go on by itself, and nothing is lost until somebody
// says where it goes on from.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkBegun, checkHome, newestStored, noteHome, passedByOriginal, readHome, tellPassed } from '../../../lib/adapters/aws/home.ts';
import { StageAtHome, settle } from '../../../lib/aws/at-home.ts';
import { requestCancel } from '../../../lib/invocation/coordinator/job-life.ts';
import { changeJob, readExistingJob, readJob } from '../../../lib/invocation/coordinator/read-job.ts';
import { FakeService, fakePorts } from '../../../lib/testing/invocation/index.ts';
import { plan, pulsesOf } from './pulses.ts';

const restoredTable = 'clicks-restored';

beforeEach(() => {
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

async function storeCheckpoint(service: FakeService, checkpoint: number): Promise<void> {
  await fakePorts(service).objects.putIfAbsent(`checkpoint/${String(checkpoint).padStart(10, '0')}/_metadata`, new Uint8Array([1]));
}

describe('a table that was restored under another name', () => {
  it('is refused by the pulse, which changes nothing, and by the stages, which take nothing', async () => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    const before = await readExistingJob(fakePorts(service));
    const copy = pulsesOf(service, plan.hash, restoredTable);
    const says = /^STORE_REPLACED: table clicks-restored has the state that job clicks had in table clicks-table/;
    await expect(copy.pulse()).rejects.toThrow(says);
    await expect(new StageAtHome().check(copy.deployed)).rejects.toThrow(says);
    expect(await readExistingJob(fakePorts(service))).toEqual(before);
    expect(copy.account.calls).toEqual([]);
  });

  it('is the home of the job when a restore has made it so, also for sandboxes that have refused before', async () => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    const copy = pulsesOf(service, plan.hash, restoredTable);
    const stage = new StageAtHome();
    await expect(copy.pulse()).rejects.toThrow(/^STORE_REPLACED/);
    await expect(stage.check(copy.deployed)).rejects.toThrow(/^STORE_REPLACED/);
    await noteHome(fakePorts(service).items, { table: restoredTable, streams: {} }, 'any');
    expect((await copy.pulse()).status).toBe('running');
    await stage.check(copy.deployed);
  });

  it('lets a job end there', async () => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    await requestCancel(fakePorts(service));
    const copy = pulsesOf(service, plan.hash, restoredTable);
    for (let n = 0; n < 20 && (await copy.pulse()).status !== 'cancelled'; n++);
    expect((await copy.pulse()).status).toBe('cancelled');
  });
});

describe('a table that is older than its bucket', () => {
  it('is refused whatever its name, and a restore passes by all that the bucket knows', async () => {
    const service = new FakeService();
    const ports = fakePorts(service);
    await pulsesOf(service).pulse();
    await storeCheckpoint(service, 7);
    await expect(pulsesOf(service).pulse()).rejects.toThrow(
      /^STORE_REPLACED: the bucket of job clicks knows of checkpoint 7, and the table knows none/,
    );
    const { deployed } = pulsesOf(service);
    const stage = new StageAtHome();
    await expect(stage.check(deployed)).rejects.toThrow(/^STORE_REPLACED: the bucket of job clicks knows of checkpoint 7/);
    await ports.objects.putIfAbsent('sink/out', new Uint8Array([1]));
    const passedBy = await passedByOriginal(ports, { table: 'clicks-table', nowMs: 90_500 });
    expect(passedBy).toEqual({ begun: 1_007, generation: 90 });
    expect(await ports.objects.get('sink/out')).toBeUndefined();
    await changeJob(ports, (item) => ({ ...item, begun: 1_007 })); // by the mark
    expect(await passedByOriginal(ports, { table: 'clicks-table', nowMs: 90_500 })).toBeUndefined();
    expect((await pulsesOf(service).pulse()).status).toBe('running');
    await stage.check(deployed);
  });

  it('and empty makes no new job, whose checkpoints would be those of the old one', async () => {
    const service = new FakeService();
    await storeCheckpoint(service, 3);
    await expect(pulsesOf(service).pulse()).rejects.toThrow(/^STORE_REPLACED: the bucket of job clicks knows of checkpoint 3/);
    expect(await readJob(fakePorts(service))).toBeUndefined();
  });
});

describe('a table from which a copy has taken over', () => {
  it('is older than its bucket as soon as the copy is restored, and is above the copy when it is restored itself', async () => {
    const service = new FakeService();
    const ports = fakePorts(service);
    await pulsesOf(service).pulse();
    const copied = (await passedByOriginal(ports, { table: restoredTable, nowMs: 90_500 }))!;
    await tellPassed(ports.objects, copied);
    await expect(pulsesOf(service).pulse()).rejects.toThrow(
      /^STORE_REPLACED: the bucket of job clicks knows of checkpoint 1000, and the table knows none/,
    );
    await expect(new StageAtHome().check(pulsesOf(service).deployed)).rejects.toThrow(/^STORE_REPLACED/);
    const back = (await passedByOriginal(ports, { table: 'clicks-table', nowMs: 95_500 }))!;
    expect([back.begun > copied.begun, back.generation > copied.generation]).toEqual([true, true]);
    await changeJob(ports, (item) => ({ ...item, begun: back.begun })); // by the mark
    await tellPassed(ports.objects, back);
    expect((await pulsesOf(service).pulse()).status).toBe('running');
    expect(await newestStored(ports.objects)).toBe(back.begun); // no clean-up of the pulse has taken it
  });
});

describe('a table that is at home', () => {
  it('is asked once in the life of a sandbox', async () => {
    const service = new FakeService();
    const { pulse, deployed } = pulsesOf(service);
    await pulse();
    await pulse();
    const list = vi.spyOn(deployed.ports.objects, 'list');
    await pulse();
    expect(list.mock.calls.filter(([prefix]) => prefix === 'checkpoint/')).toEqual([]);
  });

  it('is noted where an older version made the job', async () => {
    const service = new FakeService();
    const ports = fakePorts(service);
    await pulsesOf(service).pulse();
    await ports.items.remove({ name: 'runner/home', expects: 'any' });
    expect((await pulsesOf(service).pulse()).status).toBe('running');
    expect(await readHome(ports.items)).toEqual({ table: 'clicks-table', streams: {} });
  });

  it('is noted with the streams and topics that the job reads', async () => {
    const { deployed } = pulsesOf(new FakeService());
    const bind = {
      clicks: { kind: 'kinesis', stream: 'arn' },
      orders: { kind: 'kafka', topic: 'orders-1', bootstrap: 'b:9092' },
      out: { kind: 'sqs', queue: 'url' },
    };
    await settle({ ...deployed, settings: { ...deployed.settings, bind } });
    expect(await readHome(deployed.ports.items)).toMatchObject({ streams: { clicks: 'arn', orders: 'orders-1' } });
  });

  it('keeps what was noted first', async () => {
    const { items } = fakePorts(new FakeService());
    await noteHome(items, { table: 'a', streams: { clicks: 'arn' } }, 'absent');
    await noteHome(items, { table: 'b', streams: {} }, 'absent');
    expect(await readHome(items)).toEqual({ table: 'a', streams: { clicks: 'arn' } });
    expect(() => checkHome({ table: 'a', streams: {} }, 'a', 'clicks')).not.toThrow();
  });

  it.each([
    ['keeps what sinks have seen of their targets when it is restored', 'clicks-table', true],
    ['has them look again when it is a copy', restoredTable, false],
  ])('%s', async (_, table, isKept) => {
    const service = new FakeService();
    await pulsesOf(service).pulse();
    const ports = fakePorts(service);
    await ports.objects.putIfAbsent('sink/out', new Uint8Array([1]));
    await storeCheckpoint(service, 3);
    await changeJob(ports, (item) => ({ ...item, begun: 4 })); // so the other one may be about to store checkpoint 5
    const passedBy = await passedByOriginal(ports, { table, nowMs: 90_500 });
    expect(passedBy).toEqual(isKept ? undefined : { begun: 1_004, generation: 90 });
    expect((await ports.objects.get('sink/out')) !== undefined).toBe(isKept);
  });

  it('has counted each checkpoint that the bucket holds', async () => {
    const service = new FakeService();
    for (const checkpoint of [2, 11, 9]) await storeCheckpoint(service, checkpoint);
    expect(await newestStored(fakePorts(service).objects)).toBe(11);
    expect(() => checkBegun(11, 11, 'clicks')).not.toThrow();
    expect(() => checkBegun(11, 10, 'clicks')).toThrow(/knows of checkpoint 11, and the table knows of 10 at most/);
  });
});
