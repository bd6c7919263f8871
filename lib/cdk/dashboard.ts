// One page of graphs, for who asked for it: how far behind, how much, how long, what went wrong.

import { Duration } from 'aws-cdk-lib';
import { Dashboard, GraphWidget, type IMetric, type IWidget, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { Watched } from './alarms.ts';
import { jobMetric, stageMetric } from './metrics.ts';

export function createDashboard(scope: Construct, { job, streams, topics, queues, stages, machine }: Watched): Dashboard {
  const period = Duration.minutes(1);
  const maximum = { statistic: Stats.MAXIMUM, period };
  const rows: readonly (readonly IWidget[])[] = [
    [
      graph(
        'How far behind streams are, ms',
        streams.map(({ name, fn }) => fn.lambda.metric('IteratorAge', { ...maximum, label: name })),
      ),
      graph(
        'Oldest message of queues, s',
        queues.map(({ name, queue }) => queue.metricApproximateAgeOfOldestMessage({ ...maximum, label: name })),
      ),
    ],
    ...(topics.length === 0
      ? []
      : [
          [
            graph(
              'Records of topics that wait',
              topics.map(({ name, fn }) => fn.lambda.metric('OffsetLag', { ...maximum, label: name })),
            ),
          ],
        ]),
    [
      graph(
        'Records',
        stages.map(({ id }) => stageMetric(job, id, 'Records')),
      ),
      graph(
        'Duration of a unit, ms',
        stages.map(({ id }) => stageMetric(job, id, 'UnitDuration', Stats.percentile(99))),
      ),
    ],
    [
      graph('Age of the newest checkpoint, ms', [jobMetric(job, 'CheckpointAge')]),
      graph('What went wrong', [
        jobMetric(job, 'DeadLetters'),
        ...stages.map(({ id }) => stageMetric(job, id, 'CommitConflicts')),
        machine.metricFailed({ period }),
      ]),
    ],
  ];
  return new Dashboard(scope, 'Dashboard', { widgets: rows.map((row) => [...row]) });
}

function graph(title: string, left: readonly IMetric[]): IWidget {
  return new GraphWidget({ title, left: [...left], width: 12, height: 6 });
}
