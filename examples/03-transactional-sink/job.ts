// Late flights once more, written by a sink of one's own (folder-sink.ts), exactly once.
//
//   sluice run examples/03-transactional-sink/job.ts --input node_modules/vega-datasets/data/flights-20k.json --output out/

import { type Collector, defineJob, files, jsonArray, valueState } from 'sluice';
import { FolderSink } from './folder-sink.ts';

interface Flight {
  date: string;
  delay: number;
  origin: string;
}

interface NewWorst {
  airport: string;
  date: string;
  delay: number;
}

export default defineJob('transactional-sink', (env, params) => {
  const folder = params.required('output');
  env.enableCheckpointing('1 s');

  env
    .fromSource(files<Flight>({ path: params.required('input'), format: jsonArray() }), { uid: 'flights' })
    .keyBy((f) => f.origin)
    .process({
      state: { worst: valueState<number>({ default: () => 0 }) },
      processElement(f, ctx, out: Collector<NewWorst>) {
        if (f.delay <= ctx.state.worst.value()) return;
        ctx.state.worst.update(f.delay);
        out.collect({ airport: f.origin, date: f.date, delay: f.delay });
      },
    })
    .uid('worst-delay-so-far')
    .sinkTo(() => new FolderSink(folder), { uid: 'folder' });
});
