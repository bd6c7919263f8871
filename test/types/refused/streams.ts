// What must not compile. Each marked line is an error of the compiler; one that stops being an error fails the type check.
import {
  average,
  type Collector,
  count,
  type DataStream,
  defineJob,
  type Env,
  fileSink,
  files,
  type KeyedStream,
  mapState,
  ndjson,
  OutputTag,
  print,
  TumblingEventTimeWindows,
  valueState,
  WatermarkStrategy,
} from 'sluice';

interface Order {
  user: string;
  amount: number;
  at: Date;
  lines: Map<string, number>;
}
declare const env: Env;
declare const orders: DataStream<Order>;
declare const byUser: KeyedStream<Order, string>;

// Keys.
// @ts-expect-error a Date is no key
orders.keyBy((o) => o.at);
// @ts-expect-error a Map is no key
orders.keyBy((o) => o.lines);
// @ts-expect-error a key has no undefined parts
orders.keyBy((o) => [o.user, undefined] as const);
// @ts-expect-error a function is no key
orders.keyBy((o) => ({ user: o.user, f: () => 1 }));
// @ts-expect-error there is no such field
orders.keyBy((o) => o.usr);
// @ts-expect-error an object with a Date in it is no key
orders.keyBy((o) => o);

// Fields.
// @ts-expect-error text cannot be added up
byUser.sum('user');
// @ts-expect-error there is no such field
byUser.sum('amuont');
// @ts-expect-error maps have no order
byUser.min('lines');

// Aggregates over the wrong type.
// @ts-expect-error the mean of orders is not defined
byUser.aggregate(average());
// @ts-expect-error the mean of orders is not defined
byUser.window(TumblingEventTimeWindows.of('1 d')).aggregate(average());
// @ts-expect-error the result is a number
byUser.window(TumblingEventTimeWindows.of('1 d')).aggregate(count(), (_user, _window, [n]) => n.length);
// @ts-expect-error reduce gives what it takes
byUser.reduce((a, b) => a.amount + b.amount);

// Durations.
// @ts-expect-error a unit has a space before it
TumblingEventTimeWindows.of('1d');
// @ts-expect-error there is no such unit
env.enableCheckpointing('10 sec');
// @ts-expect-error there is no such option
env.enableCheckpointing('10 s', { minPause: '1 s' });
// @ts-expect-error there is no such mode
env.enableCheckpointing('10 s', { mode: 'exactly-once' });

// Sources and sinks.
// @ts-expect-error a source has a uid
env.fromSource(files<Order>({ path: 'a', format: ndjson() }), {});
env.fromSource(files<Order>({ path: 'a', format: ndjson() }), {
  uid: 'a',
  // @ts-expect-error the watermarks are those of another type
  watermarks: WatermarkStrategy.forMonotonousTimestamps<string>().withTimestamps((s) => s.length),
});
// @ts-expect-error the sink takes numbers
orders.sinkTo(fileSink<number>({ path: 'b', format: ndjson() }), { uid: 'b' });
// @ts-expect-error there is no such option
orders.sinkTo(print(), { uuid: 'b' });

// Keyed state needs a key, and a forgotten annotation collects nothing.
orders.process({
  // @ts-expect-error only functions on a keyed stream have state
  state: { total: valueState<number>() },
  processElement() {},
});
byUser.process({
  processElement(order, _ctx, out) {
    // @ts-expect-error without `out: Collector<…>` nothing can be collected
    out.collect(order);
  },
});
orders.process({
  processElement(order, _ctx, out: Collector<string>) {
    // @ts-expect-error the collector takes text
    out.collect(order);
  },
});
orders.process({
  processElement(_order, ctx) {
    // @ts-expect-error timers belong to a key
    ctx.timerService.registerEventTimeTimer(1);
  },
});

// A uid is for operators, and keyed streams are none.
// @ts-expect-error a keyed stream is no operator
byUser.uid('x');
// @ts-expect-error a stream cut by key has no broadcast partitioning before `connect`
byUser.connect(orders);
// @ts-expect-error the keys of both sides have one type
byUser.connect(orders.keyBy((o) => o.amount));

// Side outputs are typed.
const late = new OutputTag<Order>('late');
byUser.process({
  processElement(_order, ctx) {
    // @ts-expect-error the tag carries orders
    ctx.output(late, 1);
  },
});
// @ts-expect-error the tag carries orders
const _numbers: DataStream<number> = orders.getSideOutput(late);
const perDay = orders
  .map((o) => o.amount)
  .keyBy((n) => n)
  .window(TumblingEventTimeWindows.of('1 d'));
// @ts-expect-error the tag carries orders
perDay.sideOutputLateData(late);

// Broadcast state is read-only on the keyed side.
byUser.connect(orders.broadcast({ rules: mapState<string, number>() })).process({
  processElement(_order, ctx) {
    // @ts-expect-error the keyed side only reads
    ctx.broadcast.rules.put('a', 1);
  },
  processBroadcastElement(_order, ctx) {
    ctx.broadcast.rules.put('a', 1);
  },
});

// Parameters are text unless asked otherwise.
export default defineJob('x', (_env, params) => {
  // @ts-expect-error a parameter is text
  const _n: number = params.required('n');
});
