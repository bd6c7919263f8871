import {
  aggregatingState,
  average,
  type Collector,
  type DataStream,
  foldingState,
  listState,
  mapState,
  OutputTag,
  reducingState,
  valueState,
} from 'sluice';

interface Reading {
  sensor: string;
  at: number;
  kind: string;
  amount: number;
}
interface Alert {
  sensor: string;
  at: number;
}
declare const readings: DataStream<Reading>;
const late = new OutputTag<Reading>('late');

const alerts: DataStream<Alert> = readings
  .keyBy((r) => r.sensor)
  .process({
    state: {
      last: valueState<Reading>(),
      history: listState<number>({ ttl: { duration: '30 d', updateType: 'OnReadAndWrite', visibility: 'NeverReturnExpired' } }),
      byKind: mapState<string, number>(),
      max: reducingState<number>(Math.max),
      mean: aggregatingState(average()),
      trace: foldingState('', (acc: string, r: Reading) => acc + r.kind),
      total: valueState<bigint>({ default: () => 0n }),
    },
    processElement(r, ctx, out: Collector<Alert>) {
      ctx.state.total.update(ctx.state.total.value() + BigInt(r.amount));
      ctx.timerService.registerEventTimeTimer(r.at + 60_000);
      if (r.at < ctx.timerService.currentWatermark()) ctx.output(late, r);
    },
    onTimer(at, ctx, out) {
      out.collect({ sensor: ctx.getCurrentKey(), at });
    },
  })
  .uid('alerts');

const lateReadings: DataStream<Reading> = alerts.getSideOutput(late);

export { lateReadings };
