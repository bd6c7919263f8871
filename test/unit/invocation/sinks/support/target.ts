import type { DetachedContext, Sink, TransactionId } from '../../../../../lib/api/sink.ts';
import { TwoPhaseCommitSink } from '../../../../../lib/connectors/sinks/two-phase-commit.ts';
import type { Plan } from '../../../../../lib/graph/plan.ts';
import type { PendingTransaction } from '../../../../../lib/invocation/entry.ts';
import { encodeRows } from '../../../../../lib/invocation/rows-codec.ts';
import { encodeTransactionRows } from '../../../../../lib/invocation/sinks/transaction-rows.ts';
import { type FakeCall, FakeService, fakePorts, promptCall } from '../../../../../lib/testing/index.ts';
import { contextOf } from '../../../connectors/support/detached.ts';
import { batch } from '../../../connectors/support/sinks.ts';

interface Txn {
  readonly name: string;
  readonly rows: string[];
}

/** A target with transactions. It keeps the names of those that are decided, as the contract asks. */
export class Target {
  readonly rows: string[] = [];
  readonly prepared = new Map<string, readonly string[]>();
  readonly decided = new Map<string, 'committed' | 'aborted'>();
  readonly calls: string[] = [];

  begin(name: string): void {
    this.calls.push(`begin ${name}`);
  }

  prepare(name: string, rows: readonly string[]): void {
    this.calls.push(`prepare ${name}`);
    if (!this.decided.has(name)) this.prepared.set(name, rows);
  }

  commit(name: string): void {
    this.calls.push(`commit ${name}`);
    if (this.decided.get(name) === 'committed') return;
    const rows = this.prepared.get(name);
    if (rows === undefined) throw Object.assign(new Error(`no transaction ${name}`), { code: 'SINK_TRANSACTION_FORGOTTEN' });
    this.rows.push(...rows);
    this.decided.set(name, 'committed');
    this.prepared.delete(name);
  }

  abort(name: string): void {
    this.calls.push(`abort ${name}`);
    if (this.decided.has(name)) return;
    this.decided.set(name, 'aborted');
    this.prepared.delete(name);
  }

  /** Time has passed: what was prepared is gone. */
  forget(): void {
    this.prepared.clear();
  }
}

class TargetSink extends TwoPhaseCommitSink<string, Txn> {
  readonly #target: Target;
  readonly #call: FakeCall;

  constructor(target: Target, call: FakeCall) {
    super();
    this.#target = target;
    this.#call = call;
  }

  override async beginTransaction(id: TransactionId): Promise<Txn> {
    const name = `${id.generation}/${id.subtask}/${id.checkpoint}`;
    await this.#call('begin', name, () => this.#target.begin(name));
    return { name, rows: [] };
  }

  override invoke(txn: Txn, row: string): void {
    txn.rows.push(row);
  }

  override async preCommit({ name, rows }: Txn): Promise<void> {
    await this.#call('prepare', name, () => this.#target.prepare(name, [...rows]));
  }

  override async commit({ name }: Txn): Promise<void> {
    await this.#call('commit', name, () => this.#target.commit(name));
  }

  override async abort({ name }: Txn): Promise<void> {
    await this.#call('abort', name, () => this.#target.abort(name));
  }
}

export const transaction: PendingTransaction = { sink: 'out', opened: 2, under: 3, generation: 1, subtask: '1-0', rows: 'rows/1/1-0/7' };

/** A service, a target, and processes that work on them. */
export interface World {
  readonly service: FakeService;
  readonly target: Target;
}

export async function createWorld(rows: readonly string[] | undefined = ['a', 'b']): Promise<World> {
  const service = new FakeService();
  if (rows !== undefined)
    await fakePorts(service).objects.putIfAbsent(transaction.rows, encodeTransactionRows(rows.map((row) => encodeRows(batch(row)))));
  return { service, target: new Target() };
}

export interface Process {
  readonly sink: Sink<unknown>;
  readonly objects: ReturnType<typeof fakePorts>['objects'];
  readonly ports: ReturnType<typeof fakePorts>;
  readonly plan: Plan;
  readonly contextOf: () => DetachedContext;
}

export function processOf({ service, target }: World, call: FakeCall = promptCall): Process {
  const create = (): Sink<unknown> => new TargetSink(target, call) as Sink<unknown>;
  const ports = fakePorts(service, call);
  return { sink: create(), objects: ports.objects, ports, plan: planOf({ out: create }), contextOf: () => contextOf() };
}

/** A plan with one stage that ends in these sinks. */
export function planOf(sinks: Readonly<Record<string, () => Sink<never>>>, parallelism = 2): Plan {
  const operators = Object.entries(sinks).map(([uid, create]) => ({ uid, node: { operator: { kind: 'sink', create } } }));
  return { job: 'late-flights', stages: [{ id: 1, parallelism, operators }] } as unknown as Plan;
}

/** Calls of a process that waits before, or behind the effect of, its call number `at` until it is let go on. */
export function waiting(at: number, where: 'before' | 'behind'): { readonly call: FakeCall; readonly count: () => number; goOn(): void } {
  let count = 0;
  let goOn = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const call: FakeCall = async (_method, _place, effect) => {
    const stops = count++ === at;
    if (stops && where === 'before') await stopped;
    const done = effect();
    if (stops && where === 'behind') await stopped;
    return done;
  };
  return { call, count: () => count, goOn };
}

/** Calls of a process of which one has its effect, and then the reply is lost. */
export function losing(at: number): { readonly call: FakeCall; readonly count: () => number } {
  let count = 0;
  const call: FakeCall = async (_method, _place, effect) => {
    const isLost = count++ === at;
    const done = effect();
    if (isLost) throw Object.assign(new Error('no answer'), { code: 'STORE_UNCERTAIN' });
    return done;
  };
  return { call, count: () => count };
}

export async function turns(): Promise<void> {
  for (let i = 0; i < 200; i++) await Promise.resolve();
}
