// A job whose subtasks do what a test says: the world is the strict fake, the coordinator is the real one, and between them stands a script that
// appends, acknowledges and refuses as real subtasks would.

import type { CheckpointOptions } from '../../../../../lib/api/options.ts';
import type { SourceContext, Split, SplitChange, SplitEvolution } from '../../../../../lib/api/source.ts';
import type { StateBackend } from '../../../../../lib/api/state-backend.ts';
import { collect } from '../../../../../lib/connectors/sinks/collect.ts';
import type { Plan } from '../../../../../lib/graph/plan.ts';
import { createJob } from '../../../../../lib/invocation/coordinator/create-job.ts';
import { requestResume } from '../../../../../lib/invocation/coordinator/job-life.ts';
import { type PulseEvent, type PulseOptions, type PulseReport, pulse } from '../../../../../lib/invocation/coordinator/pulse.ts';
import { readExistingJob } from '../../../../../lib/invocation/coordinator/read-job.ts';
import { type EntryBody, type EntryHead, emptyBody, nextEpoch, type PendingTransaction } from '../../../../../lib/invocation/entry.ts';
import { encodeHead, packEntry } from '../../../../../lib/invocation/entry-codec.ts';
import type { Answer, Invocation } from '../../../../../lib/invocation/invocation.ts';
import { acknowledgementName, type JobItem } from '../../../../../lib/invocation/job-item.ts';
import { encodeHandle } from '../../../../../lib/invocation/job-item-codec.ts';
import type { InvocationPorts } from '../../../../../lib/invocation/ports.ts';
import { appendEntry, type RingView, readRing } from '../../../../../lib/invocation/ring.ts';
import { type FakeCall, FakeService, fakePorts, seededRandom } from '../../../../../lib/testing/index.ts';
import { planOf } from '../../../../support/hosts.ts';

export interface ScriptOptions {
  readonly checkpoints?: CheckpointOptions | 'off';
  /** Milliseconds; 1,000 when absent. */
  readonly interval?: number;
  readonly isBounded?: boolean;
  /** Without the exchange: the sink is in the stage of the source. */
  readonly isOneStage?: boolean;
  /** What the source says of splits that give way to others: then each is a subtask of its own, `0-s0` and `0-s1` to begin with. */
  readonly evolution?: SplitEvolution;
  /** Of the whole job; the table when absent. */
  readonly backend?: StateBackend;
}

export const splits: readonly Split[] = [{ id: 'a' }, { id: 'b' }];

/** Two subtasks `0-0` and `0-1` that read one split each, and one, `1-0`, behind an exchange. */
export function twoStages(o: ScriptOptions = {}): Plan {
  const { checkpoints = {}, interval = 1_000, isBounded = false, isOneStage = false, evolution, backend } = o;
  return planOf((env) => {
    env.setParallelism(isOneStage ? 2 : 1);
    if (backend !== undefined) env.setStateBackend(backend);
    if (checkpoints !== 'off') env.enableCheckpointing(interval, checkpoints);
    const source = env.fromSource<number>({ ...scripted, isBounded, evolution }, { uid: 'in' }).setParallelism(2);
    if (isOneStage) source.sinkTo(collect(), { uid: 'out' });
    else source.keyBy((n) => n).sinkTo(collect(), { uid: 'out' });
  });
}

const scripted = {
  kind: 'script',
  isRereadable: true,
  isEager: false,
  enumerate: async () => splits,
  open: () => {
    throw new Error('a scripted source is not opened');
  },
};

/** A source whose splits a test closes. */
export class ScriptedEvolution implements SplitEvolution {
  readonly known: SplitChange[] = [];
  readonly #ends = new Map<string, number>();

  /** @param ends  index behind the last record of each parent */
  close(ends: Readonly<Record<string, number>>, ...children: readonly Split[]): void {
    for (const [id, end] of Object.entries(ends)) this.#ends.set(id, end);
    if (children.length > 0) this.known.push({ parents: Object.keys(ends), children });
  }

  changes = async (): Promise<readonly SplitChange[]> => this.known;

  endOf = async ({ id }: Split): Promise<{ readonly index: number; readonly at: unknown } | undefined> => {
    const index = this.#ends.get(id);
    return index === undefined ? undefined : { index, at: index };
  };
}

type Appended = Partial<Omit<EntryHead, 'generation' | 'subtask' | 'n' | 'base'>>;

export class ScriptedJob {
  readonly service: FakeService;
  readonly ports: InvocationPorts;
  readonly plan: Plan;
  readonly settings: ScriptOptions;
  nowMs = 1_000_000;
  #cut: { readonly request: number; readonly when: 'before' | 'after' } | undefined;
  #requests = 0;
  #nap: ((method: string) => Promise<void>) | undefined;
  /** What the coordinator asked of subtasks, such as `barrier 3 of 0-1`. */
  readonly asked: string[] = [];
  /** What was settled, such as `commit out/0`. */
  readonly settled: string[] = [];
  readonly events: PulseEvent[] = [];
  answer: (invocation: Invocation) => Promise<Answer> = (invocation) => this.obey(invocation);
  /** Runs before each settling; may reject. */
  onSettle: (what: string) => Promise<void> = async () => {};
  /** Runs before each request to a store. */
  onRequest: (method: string, place: string) => void = () => {};

  constructor(settings: ScriptOptions = {}) {
    this.settings = settings;
    this.plan = twoStages(settings);
    this.service = new FakeService({ now: () => this.nowMs });
    const call: FakeCall = async (method, place, effect) => {
      this.onRequest(method, place);
      await this.#nap?.(method);
      const cut = this.#cut;
      const request = ++this.#requests;
      if (cut !== undefined && (request > cut.request || (request === cut.request && cut.when === 'before'))) throw new Error('cut off');
      const reply = effect();
      if (request === cut?.request) throw new Error('cut off');
      return reply;
    };
    this.ports = fakePorts(this.service, call);
  }

  /** From the request of this number on, nothing happens any more (`before`), or its reply is lost too (`after`). */
  cutAt(request: number | undefined, when: 'before' | 'after' = 'before'): void {
    this.#cut = request === undefined ? undefined : { request, when };
    this.#requests = 0;
  }

  /** A coordinator that sleeps before its first request of this sort while something else happens, and then goes on. */
  async asleepBefore(method: string, meanwhile: () => Promise<void>, work: () => Promise<unknown> = () => this.pulse()): Promise<void> {
    this.#nap = async (asked) => {
      if (asked !== method) return;
      this.#nap = undefined;
      await meanwhile();
    };
    await work();
  }

  async create(ringSlots = 8): Promise<JobItem> {
    return createJob(this.ports, { plan: this.plan, splits: new Map([[0, splits]]), ringSlots, nowMs: this.nowMs });
  }

  options(more: Partial<PulseOptions> = {}): PulseOptions {
    const settle = async (what: string, t: PendingTransaction): Promise<void> => {
      await this.onSettle(`${what} ${t.subtask}/${t.opened}`);
      this.settled.push(`${what} ${t.subtask}/${t.opened}`);
    };
    return {
      ports: this.ports,
      plan: this.plan,
      clock: { now: () => this.nowMs, sleep: () => ({ done: Promise.resolve(), cancel: () => {} }) },
      random: seededRandom(1),
      settler: {
        commit: (t) => settle('commit', t),
        abort: async (t) => {
          await settle('abort', t);
          return 'aborted';
        },
      },
      control: {
        invoke: async (invocation) => {
          this.asked.push(`${invocation.kind}${invocation.kind === 'barrier' ? ` ${invocation.checkpoint}` : ''} of ${invocation.subtask}`);
          return this.answer(invocation);
        },
      },
      onEvent: (event) => this.events.push(event),
      sourceContext: () => ({}) as SourceContext,
      ...more,
    };
  }

  pulse(more: Partial<PulseOptions> = {}): Promise<PulseReport> {
    return pulse(this.options(more));
  }

  /** Lets an interval pass, and pulses. */
  /** Asks the stopped job to go on, and lets one pulse open its rings. */
  async resume(): Promise<void> {
    await requestResume(this.ports);
    await this.pulse();
  }

  async wait(ms = 1_000, more: Partial<PulseOptions> = {}): Promise<PulseReport> {
    this.nowMs += ms;
    return this.pulse(more);
  }

  async item(): Promise<JobItem> {
    return (await readExistingJob(this.ports)).item;
  }

  async ring(subtask: string, generation?: number): Promise<RingView> {
    const item = await this.item();
    const view = await readRing(this.ports.changelog, { generation: generation ?? item.generation, subtask }, item.ringSlots);
    if (view === undefined || view === 'closed') throw new Error(`the ring of ${subtask} is ${view ?? 'not there'}`);
    return view;
  }

  async head(subtask: string, generation?: number): Promise<EntryHead> {
    return (await this.ring(subtask, generation)).head;
  }

  /** Appends what a subtask would. */
  async append(subtask: string, more: Appended = {}, body: EntryBody = emptyBody): Promise<EntryHead> {
    const { ringSlots, generation } = await this.item();
    const { head: last } = await this.ring(subtask);
    const kind = more.kind ?? 'data';
    const head: EntryHead = { ...last, kind, epoch: nextEpoch(last), writer: `${subtask}.${last.n + 1}`, ...more, n: last.n + 1 };
    const { bytes } = packEntry({ head, body }, { inlineBytesMax: 100_000, objectName: 'unused' });
    const ring = { generation, subtask };
    const outcome = await appendEntry(this.ports.changelog, ring, ringSlots, head.base, { n: head.n, writer: head.writer, bytes });
    if (outcome === 'lost') throw new Error(`entry ${head.n} of ${subtask} was lost`);
    return head;
  }

  /** Records taken by a source subtask, up to an index. */
  async read(subtask: string, index: number, more: Appended = {}): Promise<EntryHead> {
    const { splits: progress } = await this.head(subtask);
    return this.append(subtask, { splits: progress.map((split) => ({ ...split, position: { index, at: index } })), ...more });
  }

  /** A subtask passes a barrier and acknowledges it. */
  async passBarrier(subtask: string, checkpoint: number, more: Appended = {}): Promise<EntryHead> {
    const { head: last } = await this.ring(subtask);
    const mark = { checkpoint, n: last.n + 1, flushedThrough: last.flushedThrough };
    const head = await this.append(subtask, { kind: 'barrier', epoch: checkpoint, lastBarrier: mark, ...more });
    await this.acknowledge(checkpoint, head);
    return head;
  }

  async acknowledge(checkpoint: number, head: EntryHead): Promise<void> {
    const { generation, subtask, n, flushedThrough } = head;
    const bytes = encodeHandle({ generation, subtask, n, flushedThrough, head: encodeHead(head) });
    await this.ports.items.put({ name: acknowledgementName(checkpoint, subtask), content: { bytes, change: '' }, expects: 'absent' });
  }

  /** Does what is asked: passes barriers, and the one behind the exchange with them. */
  async obey(invocation: Invocation): Promise<Answer> {
    if (invocation.kind !== 'barrier') return { kind: 'done' };
    const last = await this.head(invocation.subtask);
    if (last.kind === 'seal') return { kind: 'refused', why: 'sealed' };
    if (nextEpoch(last) <= invocation.checkpoint) await this.passBarrier(invocation.subtask, invocation.checkpoint);
    return { kind: 'done' };
  }

  /** One checkpoint from its beginning to its confirmation. */
  async checkpoint(): Promise<number> {
    const [first] = (await this.item()).owners;
    await this.read(first!.subtask, ((await this.head(first!.subtask)).splits[0]?.position?.index ?? 0) + 1);
    await this.wait();
    await this.pulse();
    await this.pulse();
    return (await this.item()).completed.at(-1)?.checkpoint ?? 0;
  }
}

export function transaction(subtask: string, opened: number, under: number, generation = 0): PendingTransaction {
  return { sink: 'out', opened, under, generation, subtask, rows: `rows/${generation}/${subtask}/out/${opened}` };
}
