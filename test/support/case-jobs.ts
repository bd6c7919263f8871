// The jobs of the cases: small, and with rows that are all different.

import type { SplitPosition } from '../../lib/api/source.ts';
import {
  type CheckpointOptions,
  type Collector,
  type DataStream,
  defineJob,
  type Env,
  type Job,
  keyedProcess,
  type Source,
  type StateBackend,
  valueState,
} from '../../lib/index.ts';
import type { CaseTarget } from './case-targets.ts';

export interface Click {
  readonly user: string;
  readonly at: number;
}

export function clicksOf(count: number, users = 3): readonly Click[] {
  return Array.from({ length: count }, (_, at) => ({ user: `u${at % users}`, at }));
}

export const counting = keyedProcess({
  state: { seen: valueState({ default: () => 0 }) },
  processElement({ user }: Click, ctx, out: Collector<string>) {
    const seen = ctx.state.seen.value() + 1;
    ctx.state.seen.update(seen);
    out.collect(`${user} ${seen}`);
  },
});

/** What `counting` gives, whatever the order between users. */
export function countsOf(clicks: readonly Click[]): readonly string[] {
  const seen = new Map<string, number>();
  return clicks.map(({ user }) => {
    const n = (seen.get(user) ?? 0) + 1;
    seen.set(user, n);
    return `${user} ${n}`;
  });
}

export interface ScriptedSource<T> {
  readonly source: Source<T>;
  /** What each split has so far; grows, and may be changed behind what was read. */
  readonly splits: T[][];
  /** No split gets any more. */
  end(): void;
}

/** A source that has what its test has given it. */
export function scriptedSource<T>(splits: T[][], o: { readonly isBounded?: boolean } = {}): ScriptedSource<T> {
  let isOver = false;
  const source: Source<T> = {
    kind: 'scripted',
    isRereadable: true,
    isBounded: o.isBounded ?? true,
    isEager: true,
    enumerate: () => Promise.resolve(splits.map((_, at) => ({ id: `s${at}`, at }))),
    open(split, from: SplitPosition | undefined) {
      const values = splits[split['at'] as number] as T[];
      let next = from?.index ?? 0;
      return {
        poll(out, max) {
          let given = 0;
          for (; given < max && next < values.length; given++) out.values[out.count++] = values[next++] as T;
          return given;
        },
        ready: () => undefined,
        get hasEnded() {
          return isOver && next >= values.length;
        },
        position: () => ({ index: next, at: next }),
        close: () => undefined,
      };
    },
  };
  return {
    source,
    splits,
    end: () => {
      isOver = true;
    },
  };
}

export interface ClickJobOptions {
  readonly target: CaseTarget;
  readonly source: Source<Click>;
  /** Source, keyed operator and sink in one stage. */
  readonly isPartitioned?: boolean;
  readonly parallelism?: number;
  readonly interval?: `${number} s`;
  readonly checkpoints?: CheckpointOptions;
  readonly backend?: StateBackend;
  readonly name?: string;
  readonly counter?: typeof counting;
  /** Between source and key. */
  readonly between?: (clicks: DataStream<Click>) => DataStream<Click>;
}

export function clickJob(o: ClickJobOptions): Job {
  return defineJob(o.name ?? 'clicks', (env: Env) => {
    env.setParallelism(o.parallelism ?? 1);
    env.setMaxParallelism(Math.max(o.parallelism ?? 1, 128));
    env.enableCheckpointing(o.interval ?? '2 s', { tolerableFailures: 1_000, numRetained: 2, ...o.checkpoints });
    if (o.backend !== undefined) env.setStateBackend(o.backend);
    const partitioned = o.isPartitioned === true ? { partitionedBy: (c: Click) => c.user } : {};
    const clicks = env.fromSource(o.source, { uid: 'in', ...partitioned });
    (o.between?.(clicks) ?? clicks)
      .keyBy((c) => c.user)
      .process(o.counter ?? counting)
      .uid('count')
      .sinkTo(o.target.sink, { uid: 'out' });
  });
}
