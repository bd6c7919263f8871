// What is watched. The functions write these metrics into their logs, one for each stage and never for each subtask: a metric has a price.

import { Duration } from 'aws-cdk-lib';
import { type IMetric, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';

export const metricNamespace = 'Sluice';

export type JobMetric = 'CheckpointAge' | 'JobFailed' | 'DeadLetters';
export type StageMetric = 'CommitConflicts' | 'Records' | 'UnitDuration';

/** Of the pulse: the newest it said. */
export function jobMetric(job: string, metricName: JobMetric): IMetric {
  return new Metric({
    namespace: metricNamespace,
    metricName,
    dimensionsMap: { Job: job },
    statistic: Stats.MAXIMUM,
    period: Duration.minutes(5),
  });
}

/** Of the invocations of a stage. */
export function stageMetric(job: string, stage: number, metricName: StageMetric, statistic: string = Stats.SUM): IMetric {
  const dimensionsMap = { Job: job, Stage: String(stage) };
  return new Metric({ namespace: metricNamespace, metricName, dimensionsMap, statistic, period: Duration.minutes(5) });
}
