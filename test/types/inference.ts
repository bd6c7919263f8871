// What the compiler works out by itself. `same<A>()(b)` compiles only when the type of `b` is exactly `A`.
import {
  aggregatingState,
  average,
  type BroadcastStream,
  type Collector,
  count,
  type DataStream,
  type DeepReadonly,
  type Env,
  type KeyedStream,
  type ListCheckpointed,
  listState,
  mapState,
  OutputTag,
  type ProcessFunction,
  type TimeWindow,
  TumblingEventTimeWindows,
  valueState,
} from 'sluice';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same =
  <A>() =>
  <B>(_value: B, ..._proof: Same<A, B> extends true ? [] : [never]): void => {};

interface Order {
  id: string;
  user: string;
  amount: number;
  tags: string[];
}
declare const env: Env;
declare const orders: DataStream<Order>;
declare const byUser: KeyedStream<Order, string>;

// Streams.
same<DataStream<number>>()(orders.map((o) => o.amount));
same<DataStream<string>>()(orders.flatMap((o) => o.tags));
same<KeyedStream<Order, string>>()(orders.keyBy((o) => o.user));
same<KeyedStream<Order, readonly [string, number]>>()(orders.keyBy((o) => [o.user, o.amount] as const));
same<KeyedStream<Order, { user: string; id: string }>>()(orders.keyBy(({ user, id }) => ({ user, id })));
same<DataStream<Order>>()(byUser.sum('amount'));
same<DataStream<Order>>()(byUser.maxBy('user'));
same<DataStream<number>>()(byUser.aggregate(count()));
same<DataStream<Order>>()(orders.rebalance());
same<DataStream<Order>>()(orders.broadcast());
same<BroadcastStream<Order, { readonly seen: ReturnType<typeof mapState<string, Order>> }>>()(
  orders.broadcast({ seen: mapState<string, Order>() }),
);
same<DataStream<{ kind: 'a' }>>()(env.fromCollection([{ kind: 'a' as const }], { uid: 'a' }));
same<DataStream<number>>()(env.fromSequence(0, 9, { uid: 'n' }));
same<DataStream<bigint>>()(env.generate((i) => BigInt(i), { uid: 'g', count: 3 }));

// A type guard narrows the stream.
declare const mixed: DataStream<Order | string>;
same<DataStream<string>>()(mixed.filter((v): v is string => typeof v === 'string'));

// Windows.
const perDay = byUser.window(TumblingEventTimeWindows.of('1 d'));
same<DataStream<{ user: string; start: number; n: number }>>()(
  perDay.aggregate(count(), (user, window, [n]) => {
    same<string>()(user);
    same<TimeWindow>()(window);
    same<number>()(n);
    return { user, start: window.start, n };
  }),
);
same<DataStream<number>>()(perDay.aggregate(count()));
same<DataStream<Order>>()(perDay.reduce((a, b) => (a.amount > b.amount ? a : b)));
same<DataStream<string>>()(
  perDay.reduce(
    (a) => a,
    (key, window, [order]) => `${key} ${window.end} ${order.id}`,
  ),
);

// Keyed functions: input, key, state and timers are inferred, the output is that of the annotated collector.
const big = new OutputTag<Order>('big');
const alerts = byUser.process({
  state: {
    last: valueState<Order>(),
    total: valueState<bigint>({ default: () => 0n }),
    mean: aggregatingState(average()),
    seen: listState<Order>(),
    byId: mapState<string, number>(),
  },
  open(ctx) {
    ctx.metrics.counter('orders').inc();
    ctx.metrics.gauge('one', () => 1);
    ctx.metrics.histogram('amount').update(1);
  },
  processElement(order, ctx, out: Collector<{ user: string }>) {
    same<Order>()(order);
    same<string>()(ctx.getCurrentKey());
    same<DeepReadonly<Order> | undefined>()(ctx.state.last.value());
    same<bigint>()(ctx.state.total.value());
    same<number | undefined>()(ctx.state.mean.get());
    same<readonly DeepReadonly<Order>[]>()(ctx.state.seen.get());
    same<number | undefined>()(ctx.state.byId.get('a'));
    same<number | undefined>()(ctx.timestamp());
    ctx.output(big, order);
    ctx.accumulator('orders', count()).add(order);
    out.collect({ user: ctx.getCurrentKey() });
  },
  onTimer(at, ctx, out) {
    same<number>()(at);
    same<'event' | 'processing'>()(ctx.timeDomain);
    same<Collector<{ user: string }>>()(out);
  },
});
same<DataStream<{ user: string }>>()(alerts);
same<DataStream<Order>>()(alerts.getSideOutput(big));

// Two inputs share state and key.
const joined = byUser.connect(orders.keyBy((o) => o.id)).process({
  state: { left: valueState<Order>() },
  processElement1(order, ctx, out: Collector<number>) {
    same<Order>()(order);
    same<string>()(ctx.getCurrentKey());
    out.collect(ctx.state.left.value()?.amount ?? 0);
  },
  processElement2(order, ctx, out) {
    ctx.state.left.update(order);
    out.collect(1);
  },
});
same<DataStream<number>>()(joined);

// Operator state as a list, by a factory whose object says what it keeps.
const buffered = orders.process(() => {
  let kept: Order[] = [];
  return {
    restoreState(list: Order[]) {
      kept = list;
    },
    snapshotState(checkpointId: number, timestamp: number) {
      same<[number, number]>()([checkpointId, timestamp] as [number, number]);
      return kept;
    },
    processElement(order, _ctx, out: Collector<Order>) {
      same<Order>()(order);
      kept.push(order);
      out.collect(order);
    },
  };
});
same<DataStream<Order>>()(buffered);

// … and by a class that implements the two contracts.
class Buffer implements ListCheckpointed<Order> {
  readonly #kept: Order[] = [];
  restoreState(list: Order[]): void {
    this.#kept.push(...list);
  }
  snapshotState(): readonly Order[] {
    return this.#kept;
  }
  processElement(order: Order, _ctx: Parameters<ProcessFunction<Order, Order>['processElement']>[1], out: Collector<Order>): void {
    out.collect(order);
  }
}
same<DataStream<Order>>()(orders.process(() => new Buffer()));

// The checkpointed function with the context of the snapshot.
same<DataStream<number>>()(
  orders.process(() => ({
    initializeState(ctx) {
      same<boolean>()(ctx.isRestored);
      same<number>()(ctx.subtask.index);
    },
    snapshotState(ctx) {
      same<number>()(ctx.checkpointId);
    },
    processElement(_order, _ctx, out: Collector<number>) {
      out.collect(1);
    },
  })),
);
