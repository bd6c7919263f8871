// Readings of sensors, written in batches of 10 records or 10 seconds, whichever comes first: fewer, larger writes, and yet no reading
// waits for long. A batch in the making is state of its sensor: list state holds its readings, value state when it is due, and a timer
// closes it when the time has come. Kill the job in the middle of a batch, and the batch goes on where it was.
//
// The seconds are those of the readings (event time), so a replay makes the same batches, and the end of the input closes the last ones.
//
//   sluice run examples/02-batching-sink/job.ts --input examples/02-batching-sink/readings.csv --output out/

import { type Collector, csv, defineJob, fileSink, files, type ListState, listState, ndjson, valueState, WatermarkStrategy } from 'sluice';

interface Reading {
  sensor: string;
  /** ms since the epoch */
  at: number;
  celsius: number;
}

interface Batch {
  sensor: string;
  from: number;
  to: number;
  celsius: number[];
}

const batchRecordsMax = 10;
const batchAgeMs = 10_000;

/** Takes what the list holds out of it, as one batch. */
function takeBatch(readings: ListState<Reading>): Batch {
  const batch = readings.get();
  const [first, last] = [batch[0]!, batch.at(-1)!];
  readings.clear();
  return { sensor: first.sensor, from: first.at, to: last.at, celsius: batch.map((r) => r.celsius) };
}

export default defineJob('batching-sink', (env, params) => {
  env.enableCheckpointing('1 s');

  env
    .fromSource(files<Reading>({ path: params.required('input'), format: csv({ columns: { at: 'number', celsius: 'number' } }) }), {
      uid: 'readings',
      watermarks: WatermarkStrategy.forMonotonousTimestamps<Reading>().withTimestamps((r) => r.at),
    })
    .keyBy((r) => r.sensor)
    .process({
      state: { readings: listState<Reading>(), due: valueState<number>() },
      processElement(reading, ctx, out: Collector<Batch>) {
        const { readings, due } = ctx.state;
        let closesAt = due.value();
        // The watermark comes in steps; a reading that is late enough closes the batch before it without waiting for one.
        if (closesAt !== undefined && reading.at >= closesAt) {
          ctx.timerService.deleteEventTimeTimer(closesAt);
          out.collect(takeBatch(readings));
          closesAt = undefined;
        }
        if (closesAt === undefined) {
          closesAt = reading.at + batchAgeMs;
          due.update(closesAt);
          ctx.timerService.registerEventTimeTimer(closesAt);
        }
        readings.add(reading);
        if (readings.get().length < batchRecordsMax) return;
        ctx.timerService.deleteEventTimeTimer(closesAt);
        due.clear();
        out.collect(takeBatch(readings));
      },
      onTimer(_at, ctx, out) {
        ctx.state.due.clear();
        out.collect(takeBatch(ctx.state.readings));
      },
    })
    .uid('batches')
    .sinkTo(fileSink({ path: params.required('output'), format: ndjson() }), { uid: 'out' });
});
