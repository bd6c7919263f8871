// wordcount-keyed: each word, and how often it was seen so far. One read and one write of a ValueState per element,
// exactly-once checkpoints each second to files.
import { type Collector, defineJob, FsStateBackend, valueState } from '../../lib/index.ts';
import { generator } from '../generator.mjs';
import { finishRow, hashBar, hashInt, hashText, rowStart } from '../row-hash.mjs';
import { hashSink } from './hash-sink.ts';

interface WordCount {
  readonly word: string;
  readonly count: number;
}

export default defineJob('wordcount-keyed', (env, params) => {
  const { word } = generator(params.number('seed', 42));
  env.setStateBackend(new FsStateBackend(params.required('checkpoints')));
  env.enableCheckpointing('1 s', { mode: 'EXACTLY_ONCE' });

  env
    .generate(word, { uid: 'words', count: params.number('events') })
    .keyBy((w) => w)
    .process({
      state: { count: valueState<number>({ default: () => 0 }) },
      processElement(seen, ctx, out: Collector<WordCount>) {
        const count = ctx.state.count.value() + 1;
        ctx.state.count.update(count);
        out.collect({ word: seen, count });
      },
    })
    .uid('counts')
    .sinkTo(hashSink(hashRow), { uid: 'rows' });
});

function hashRow({ word, count }: WordCount): number {
  return finishRow(hashInt(hashBar(hashText(rowStart, word)), count));
}
