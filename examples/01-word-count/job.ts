// The first job of every stream processor: how often has each word been seen so far? One row for each word of the input, with the count at
// that moment; the last row of a word is its total.
//
//   sluice run examples/01-word-count/job.ts --input examples/01-word-count/input.txt --output out/

import { defineJob, fileSink, files, lines, ndjson } from 'sluice';

export default defineJob('word-count', (env, params) => {
  env.enableCheckpointing('1 s');

  env
    .fromSource(files({ path: params.required('input'), format: lines() }), { uid: 'lines' })
    .flatMap((line) => line.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [])
    .map((word) => ({ word, count: 1 }))
    .keyBy((w) => w.word)
    .sum('count')
    .uid('count-per-word')
    .sinkTo(fileSink({ path: params.required('output'), format: ndjson() }), { uid: 'out' });
});
