// C60: the bucket refuses a third of what it is asked for, while many subtasks have their snapshots to store.
import { expect, test } from 'vitest';
import { MemoryStateBackend } from '../../lib/index.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { type SimulatedError, translated } from '../invocation-simulation/service-errors.ts';
import { clicksOf } from '../support/case-jobs.ts';
import type { CallInfo, Fate, Says } from '../support/case-process.ts';
import { type SinkKind, sinkKinds } from '../support/case-targets.ts';
import { beginsAt } from '../support/case-world.ts';
import { ClickWorld } from '../support/click-world.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const subtasks = 200;
const intervalMs = 20_000;
const stepMs = 10_000;
const outageMs = 60_000;

/** 503 has two names, and only one of them promises that nothing happened. */
const refusals: Readonly<Record<'nothing' | 'unknown', SimulatedError>> = {
  nothing: { kind: 'error: throttle', name: 'SlowDown', status: 503 },
  unknown: { kind: 'error: 5xx', name: 'ServiceUnavailable', status: 503 },
};
const says: Says = ({ method, place }, said) => translated(refusals[said], `${method} ${place}`);

class OutageWorld extends ClickWorld {
  readonly refused = { throttle: 0, refuse: 0, 'lose-reply': 0 };
  readonly asked: CallInfo[] = [];
  readonly #virtual: VirtualTime;
  readonly #random;
  #untilMs = 0;

  constructor(sink: SinkKind, seed: number) {
    const time = new VirtualTime(beginsAt);
    const clicks = Array.from({ length: subtasks }, (_, at) => clicksOf(8, 2).map((c) => ({ ...c, user: `${at}-${c.user}` })));
    super({
      ...{ sink, clicks, time, says, isOpen: true, isPartitioned: true, parallelism: subtasks, environments: 4, batch: 1, ringSlots: 6 },
      ...{ interval: `${intervalMs / 1_000} s` as const, backend: new MemoryStateBackend(1_048_576) },
      checkpoints: { tolerableFailures: 0 },
    });
    this.#virtual = time;
    this.#random = seededRandom(seed);
    this.fate = (call) => this.#refuse(call);
  }

  beginOutage(): void {
    this.#untilMs = this.time.now + outageMs;
  }

  get isOut(): boolean {
    return this.time.now < this.#untilMs;
  }

  #refuse(call: CallInfo): Fate {
    if (!this.isOut || !call.method.startsWith('objects.')) return 'go';
    this.asked.push(call);
    if (!this.#random.chance(0.3)) return 'go';
    const fate = this.#random.pick(['throttle', 'throttle', 'refuse', 'lose-reply'] as const);
    this.refused[fate] += 1;
    return fate;
  }

  /** All subtasks at once, as their mappings do. */
  override async feed(): Promise<void> {
    const { owners } = await this.item();
    const fed = owners.flatMap(({ subtask, splits }) => splits.map((ordinal) => this.feedSplit(subtask, ordinal)));
    await this.#virtual.during(Promise.all(fed));
  }

  override async pulse(): Promise<void> {
    this.time.now += stepMs;
    await this.#virtual.during(super.pulse({ concurrency: 32 }));
  }
}

test.each(sinkKinds)(
  'C60: two checkpoints of two hundred subtasks complete while a bucket answers 503 to a third of its calls for a minute (%s)',
  async (sink) => {
    const world = new OutageWorld(sink, 60);
    await world.create();
    await world.rounds(2);
    world.beginOutage();
    const before = world.completed;
    await world.until(() => !world.isOut);
    const stored = world.asked.filter(({ method }) => method === 'objects.putIfAbsent');
    const { throttle, refuse, 'lose-reply': lost } = world.refused;

    expect(Math.min(throttle, refuse, lost)).toBeGreaterThan(20);
    expect(throttle + refuse + lost).toBeGreaterThan(0.25 * world.asked.length);
    expect(new Set(stored.flatMap(({ place }) => /^snapshot\/0\/([^/]+)/.exec(place)?.[1] ?? [])).size).toBe(subtasks);
    // The bucket spreads load by how names begin: no two subtasks share more than the kind of their objects.
    expect(new Set(stored.map(({ place }) => place.split('/').slice(0, 3).join('/'))).size).toBeGreaterThanOrEqual(subtasks);

    const completed = world.events.flatMap((e) => (e.kind === 'checkpoint-completed' && e.checkpoint > before ? [e] : []));
    expect(completed.length).toBeGreaterThanOrEqual(2);
    expect(completed.filter(({ durationMs }) => durationMs > intervalMs).length).toBeLessThanOrEqual(1);
    expect(world.events.filter(({ kind }) => kind === 'checkpoint-failed')).toEqual([]);
    const codes = world.errors.map((error) => (error as { readonly code?: string }).code);
    expect(codes.filter((code) => code !== 'STORE_THROTTLED' && code !== 'STORE_UNCERTAIN')).toEqual([]);

    await world.end();
    world.checkCounts();
  },
);
