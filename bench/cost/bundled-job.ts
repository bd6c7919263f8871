// A job with every service of the package in it: the largest bundle that a stage may have without code of the user's.
import { defineJob, dynamoDbSink, kinesis, kinesisSink, ndjson, s3Sink, sqs, sqsSink } from 'sluice';

interface Click {
  readonly user: string;
}

export default defineJob('everything', (env) => {
  const clicks = env
    .fromSource(kinesis<Click>('clicks'), { uid: 'clicks' })
    .union(env.fromSource(sqs<Click>('more', { fifo: true }), { uid: 'more' }));
  clicks.sinkTo(dynamoDbSink('totals', { key: 'user' }), { uid: 'totals' });
  clicks.sinkTo(s3Sink('archive', { format: ndjson() }), { uid: 'archive' });
  clicks.sinkTo(kinesisSink('out'), { uid: 'out' });
  clicks.sinkTo(sqsSink('jobs'), { uid: 'jobs' });
});
