import {
  type Collector,
  type DataStream,
  type KeyedContext,
  type KeyedProcessFunction,
  keyedProcess,
  type ListState,
  listState,
  mapState,
  valueState,
} from 'sluice';

interface Row {
  id: string;
}
interface Order {
  id: string;
  user: string;
  amount: number;
}
interface Rule {
  name: string;
  limit: number;
}
declare const rows: DataStream<Row>;
declare const orders: DataStream<Order>;
declare const rules: DataStream<Rule>;

// Operator state, as CheckpointedFunction: 10 rows at a time.
const batches: DataStream<readonly Row[]> = rows
  .process(() => {
    let buffer: Row[] = [];
    let stored: ListState<Row>;
    return {
      initializeState(ctx) {
        stored = ctx.operatorState.getListState<Row>('rows');
        buffer = [...stored.get()];
      },
      snapshotState() {
        stored.update(buffer);
      },
      processElement(row, _ctx, out: Collector<readonly Row[]>) {
        buffer.push(row);
        if (buffer.length >= 10) {
          out.collect(buffer);
          buffer = [];
        }
      },
    };
  })
  .uid('batches');

// A class; `implements` infers nothing, so it annotates its parameters.
const states = { total: valueState<bigint>({ default: () => 0n }), seen: listState<number>() };
class Totals implements KeyedProcessFunction<Order, string, typeof states, string> {
  readonly state = states;
  processElement(o: Order, ctx: KeyedContext<typeof states, string>, out: Collector<string>): void {
    ctx.state.total.update(ctx.state.total.value() + BigInt(o.amount));
    out.collect(`${ctx.getCurrentKey()} ${ctx.state.total.value()}`);
  }
}
const totals: DataStream<string> = orders
  .keyBy((o) => o.user)
  .process(() => new Totals())
  .uid('totals');

// Outside its chain, with inference.
export const firstPerUser = keyedProcess({
  state: { seen: valueState<boolean>({ default: () => false }) },
  processElement(o: Order, ctx, out: Collector<string>) {
    if (ctx.state.seen.value()) return;
    ctx.state.seen.update(true);
    out.collect(o.user);
  },
});

// Broadcast state: read-only on the keyed side.
const over: DataStream<string> = orders
  .keyBy((o) => o.user)
  .connect(rules.broadcast({ rules: mapState<string, Rule>() }))
  .process({
    processElement(o, ctx, out: Collector<string>) {
      for (const rule of ctx.broadcast.rules.values()) if (o.amount > rule.limit) out.collect(`${ctx.getCurrentKey()} ${rule.name}`);
    },
    processBroadcastElement(rule, ctx) {
      ctx.broadcast.rules.put(rule.name, rule);
    },
  })
  .uid('over');

export { batches, over, totals };
