import { count, defineJob, fileSink, files, jsonArray, ndjson, TumblingEventTimeWindows, WatermarkStrategy } from 'sluice';

interface Flight {
  date: string;
  delay: number;
  distance: number;
  origin: string;
  destination: string;
}

export default defineJob('late-flights', (env, params) => {
  env.enableCheckpointing('1 s', { externalizedCleanup: 'RETAIN_ON_CANCELLATION' });

  env
    .fromSource(files<Flight>({ path: params.required('input'), format: jsonArray() }), {
      uid: 'flights',
      watermarks: WatermarkStrategy.forBoundedOutOfOrderness<Flight>('1 h').withTimestamps((f) => Date.parse(`${f.date} UTC`)),
    })
    .filter((f) => f.delay > 15)
    .keyBy((f) => f.origin)
    .window(TumblingEventTimeWindows.of('1 d'))
    .aggregate(count(), (airport, window, [late]) => ({ airport, day: window.start, late }))
    .uid('late-per-airport-and-day')
    .sinkTo(fileSink({ path: params.required('output'), format: ndjson() }), { uid: 'out' });
});
