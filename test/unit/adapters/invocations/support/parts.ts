// What the parts of the runner stand on in their tests: a source in memory, workers that answer when the test says so, and ports of a fake service.
import { decodeInvocation, type FromWorker, type ToWorker } from '../../../../../lib/adapters/invocations/ipc.ts';
import type { WorkerEvents, WorkerHandle } from '../../../../../lib/adapters/invocations/worker-pool.ts';
import { OutputTag } from '../../../../../lib/api/functions.ts';
import type { Source, SourceContext, SourceOutput, SplitPosition, SplitReader } from '../../../../../lib/api/source.ts';
import type { Answer, Invocation } from '../../../../../lib/invocation/invocation.ts';

export const context = { job: 'job', uid: 'in', countSkipped: () => undefined } as unknown as SourceContext;

export const malformed: OutputTag<string> = new OutputTag<string>('malformed');

/** Records of one split; texts that begin with `!` are malformed. */
export class ListSource implements Source<string> {
  readonly kind = 'list';
  readonly isRereadable: boolean;
  readonly isBounded = true;
  readonly isEager: boolean;
  records: readonly string[];
  hasEnded = true;
  opened = 0;
  closed = 0;
  #wake: (() => void)[] = [];

  constructor(records: readonly string[], o: { readonly isEager?: boolean; readonly isRereadable?: boolean } = {}) {
    this.records = records;
    this.isEager = o.isEager ?? false;
    this.isRereadable = o.isRereadable ?? true;
  }

  /** More of a stream. */
  add(records: readonly string[], hasEnded = false): void {
    this.records = [...this.records, ...records];
    this.hasEnded = hasEnded;
    for (const wake of this.#wake.splice(0)) wake();
  }

  async enumerate(): Promise<readonly { readonly id: string }[]> {
    return [{ id: 'all' }];
  }

  open(_split: unknown, from: SplitPosition | undefined): SplitReader<string> {
    this.opened += 1;
    let at = (from?.at as number | undefined) ?? 0;
    let index = from?.index ?? 0;
    const isAtEnd = (): boolean => at === this.records.length && this.hasEnded;
    return {
      poll: (out: SourceOutput<string>, max) => {
        let count = 0;
        while (count < max && at < this.records.length) {
          const record = this.records[at++]!;
          if (record.startsWith('!')) out.side(malformed, record);
          else {
            out.values[out.count++] = record;
            count += 1;
            index += 1;
          }
        }
        return count;
      },
      ready: () => (at < this.records.length || isAtEnd() ? undefined : new Promise((resolve) => this.#wake.push(resolve))),
      get hasEnded() {
        return isAtEnd();
      },
      position: () => ({ index, at }),
      close: () => {
        this.closed += 1;
      },
    };
  }
}

export const done: Answer = { kind: 'done' };

/** A worker that a test answers for. */
export class FakeWorker implements WorkerHandle {
  readonly pid: number;
  readonly events: WorkerEvents;
  readonly signals: string[] = [];
  readonly told: ToWorker[] = [];

  constructor(pid: number, events: WorkerEvents) {
    this.pid = pid;
    this.events = events;
  }

  send(message: ToWorker): void {
    this.told.push(message);
  }

  kill(signal: string): void {
    this.signals.push(signal);
    if (signal === 'SIGKILL') this.events.exit('was ended by SIGKILL');
  }

  says(message: FromWorker): void {
    this.events.message(message);
  }

  /** What it was asked to do. */
  get invocations(): readonly Invocation[] {
    return this.told.flatMap((message) => (message.kind === 'invoke' ? [decodeInvocation(message.invocation)] : []));
  }

  answers(answer: Answer = done, nth = -1): void {
    const asked = this.told.filter((message) => message.kind === 'invoke').at(nth)!;
    this.says({ kind: 'answer', id: asked.id, answer, counts: {} });
  }
}

/** Lets everything that can go on go on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
