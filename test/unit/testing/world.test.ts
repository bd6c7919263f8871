import { describe, expect, test } from 'vitest';
import { FaultPlan, randomFaults, type SimulatedProcess, StuckWorld, seededRandom, World } from '../../../lib/testing/index.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function write(process: SimulatedProcess, path: string, text: string): Promise<void> {
  const file = await process.ports.files.createFile(path);
  await file.append(bytes(text));
  await file.sync();
  await file.close();
}

async function busy(process: SimulatedProcess, name: string): Promise<void> {
  const { files, clock } = process.ports;
  await files.createDirectoryTree(`/data/${name}`);
  for (let i = 0; i < 20; i++) {
    await write(process, `/data/${name}/${i}`, 'x'.repeat(i));
    await clock.sleep(process.ports.random.bits() % 10).done;
    await files.rename(`/data/${name}/${i}`, `/data/${name}/done-${i}`);
  }
}

describe('a simulated world', () => {
  test('one seed, one trace; another seed, another trace', async () => {
    const trace = async (seed: number): Promise<number> => {
      const faults = new FaultPlan(randomFaults(seededRandom(seed), 3, ['slow', 'clock-jump']), seededRandom(seed));
      const world = new World({ seed, faults });
      await world.run(Promise.all([busy(world.process('a'), 'a'), busy(world.process('b'), 'b')]));
      return world.traceHash;
    };
    expect(await trace(7)).toBe(await trace(7));
    expect(await trace(7)).not.toBe(await trace(8));
  });

  test('time moves only when nothing else can run, and a cancelled sleep ends at once', async () => {
    const world = new World({ seed: 1 });
    const { clock } = world.process('a').ports;
    const before = clock.now();
    const long = clock.sleep(1_000_000);
    const scenario = clock.sleep(50).done.then(() => {
      long.cancel();
      return long.done;
    });
    await world.run(scenario);
    expect(clock.now() - before).toBe(50);
  });

  test('a killed process is never answered, and its lock is free', async () => {
    const world = new World({ seed: 3 });
    const first = world.process('first');
    const second = world.process('second');
    let isAnswered = false;
    await world.run(
      (async () => {
        await first.ports.files.lock('/home/lock', 'first');
        expect(await second.ports.files.lock('/home/lock', 'second')).toEqual({ kind: 'held', owner: 'first' });
        void first.ports.clock.sleep(10).done.then(() => {
          isAnswered = true;
        });
        first.kill();
        await second.ports.clock.sleep(100).done;
        expect((await second.ports.files.lock('/home/lock', 'second')).kind).toBe('locked');
      })(),
    );
    expect(isAnswered).toBe(false);
  });

  test('a stopped process keeps its lock and goes on where it was', async () => {
    const world = new World({ seed: 4 });
    const first = world.process('first');
    const second = world.process('second');
    await world.run(
      (async () => {
        await first.ports.files.lock('/home/lock', 'first');
        const slept = first.ports.clock.sleep(10).done;
        first.stop();
        await second.ports.clock.sleep(100).done;
        expect((await second.ports.files.lock('/home/lock', 'second')).kind).toBe('held');
        first.continue();
        await slept;
      })(),
    );
  });

  test('a scenario that waits for nothing is stuck', async () => {
    await expect(new World({ seed: 5 }).run(new Promise(() => {}))).rejects.toThrow(StuckWorld);
  });

  test('each planned fault strikes once, in order, and a lost reply has had its effect', async () => {
    const faults = new FaultPlan(
      [
        { kind: 'error', after: 0, at: 'createFile' },
        { kind: 'lost-reply', after: 0, at: 'createFile' },
      ],
      seededRandom(1),
    );
    const world = new World({ seed: 6, faults });
    const { files } = world.process('a').ports;
    await world.run(
      (async () => {
        await expect(files.createFile('/home/x')).rejects.toThrow('EIO');
        expect(await files.stat('/home/x')).toBeUndefined();
        await expect(files.createFile('/home/x')).rejects.toThrow('EIO');
        expect(await files.stat('/home/x')).toMatchObject({ kind: 'file' });
      })(),
    );
    expect(faults.struck).toEqual(['error', 'lost-reply']);
    expect(faults.isSpent(world.now)).toBe(true);
  });

  test('a disk that is full refuses writes for a while and then takes them', async () => {
    const faults = new FaultPlan([{ kind: 'disk-full', after: 0 }], seededRandom(2));
    const world = new World({ seed: 7, faults });
    const process = world.process('a');
    await world.run(
      (async () => {
        await write(process, '/home/first', 'a').catch(() => {});
        for (let i = 0; ; i++) {
          const outcome = await write(process, `/home/${i}`, 'a').then(
            () => 'written',
            (e: Error) => e.message.slice(0, 6),
          );
          if (outcome === 'written') return;
          expect(outcome).toBe('ENOSPC');
        }
      })(),
    );
  });
});
