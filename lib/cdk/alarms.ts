// An alarm for each way in which a job can stand still or lose ground; what to do about each is in docs/aws.md.

import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IAlarmAction, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import {
  checkpointAgeAlarmMinutesMin,
  checkpointAgeTimes,
  conflictsAlarm,
  iteratorAgeAlarmMinutes,
  offsetLagAlarm,
  queueAgeAlarmMinutes,
} from './defaults.ts';
import type { JobFunction } from './job-function.ts';
import { jobMetric, stageMetric } from './metrics.ts';

export interface Watched {
  readonly job: string;
  readonly machine: StateMachine;
  readonly checkpointIntervalMs: number | undefined;
  readonly streams: readonly { readonly name: string; readonly fn: JobFunction }[];
  readonly topics: readonly { readonly name: string; readonly fn: JobFunction }[];
  /** Of sources, and of stages. */
  readonly queues: readonly { readonly name: string; readonly queue: IQueue }[];
  readonly stages: readonly { readonly id: number; readonly uid: string }[];
}

interface Limit {
  readonly metric: IMetric;
  readonly above: number;
  readonly periods: number;
  readonly says: string;
  readonly missing?: TreatMissingData;
}

export class JobAlarms extends Construct {
  readonly #actions: readonly IAlarmAction[];
  readonly #job: string;
  readonly all: Alarm[] = [];

  constructor(scope: Construct, id: string, watched: Watched, actions: readonly IAlarmAction[]) {
    super(scope, id);
    this.#actions = actions;
    this.#job = watched.job;
    this.#watchInput(watched);
    this.#watchJob(watched);
  }

  #watchInput({ streams, topics, queues, stages, job }: Watched): void {
    for (const { name, fn } of streams) {
      const metric = fn.lambda.metric('IteratorAge', { statistic: Stats.MAXIMUM, period: Duration.minutes(1) });
      const says = `records of stream ${name} wait: the stage that reads it is too slow, or does not get on`;
      this.#alarm(`IteratorAge-${name}`, { metric, above: iteratorAgeAlarmMinutes * 60_000, periods: 5, says });
    }
    for (const { name, fn } of topics) {
      const metric = fn.lambda.metric('OffsetLag', { statistic: Stats.MAXIMUM, period: Duration.minutes(1) });
      const says = `more than ${offsetLagAlarm} records of topic ${name} wait: the stage that reads it is too slow, or does not get on`;
      this.#alarm(`OffsetLag-${name}`, { metric, above: offsetLagAlarm, periods: 5, says });
    }
    for (const { name, queue } of queues) {
      const metric = queue.metricApproximateAgeOfOldestMessage({ statistic: Stats.MAXIMUM, period: Duration.minutes(1) });
      const says = `messages of ${name} wait: whoever takes them is too slow, or does not get on`;
      this.#alarm(`QueueAge-${name}`, { metric, above: queueAgeAlarmMinutes * 60, periods: 5, says });
    }
    for (const { id, uid } of stages) {
      const metric = stageMetric(job, id, 'CommitConflicts');
      this.#alarm(`CommitConflicts-${uid}`, {
        metric,
        above: conflictsAlarm,
        periods: 3,
        says: `environments of ${uid} often meet on one subtask`,
      });
    }
  }

  #watchJob({ job, machine, checkpointIntervalMs }: Watched): void {
    this.#alarm('JobFailed', { metric: jobMetric(job, 'JobFailed'), above: 0, periods: 1, says: 'the job has failed and takes no input' });
    this.#alarm('DeadLetters', { metric: jobMetric(job, 'DeadLetters'), above: 0, periods: 1, says: 'records are parked' });
    if (checkpointIntervalMs !== undefined) {
      const above = Math.max(checkpointAgeTimes * checkpointIntervalMs, checkpointAgeAlarmMinutesMin * 60_000);
      this.#alarm('CheckpointAge', {
        metric: jobMetric(job, 'CheckpointAge'),
        above,
        periods: 2,
        says: 'no checkpoint has completed for long',
        missing: TreatMissingData.BREACHING, // each pulse says an age, of 0 where none is owed
      });
    }
    const metric = machine.metricFailed({ statistic: Stats.SUM, period: Duration.minutes(5) });
    this.#alarm('PulseFailed', { metric, above: 3, periods: 1, says: 'pulses fail one after the other' });
    const started = machine.metricStarted({ statistic: Stats.SUM, period: Duration.minutes(5) });
    this.#add(
      new Alarm(this, 'PulseMissing', {
        metric: started,
        threshold: 1,
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        evaluationPeriods: 2,
        treatMissingData: TreatMissingData.BREACHING,
        alarmDescription: `Sluice ${job}: no pulse has begun; timers, checkpoints and changes of the job stand still`,
      }),
    );
  }

  #alarm(id: string, { metric, above, periods, says, missing = TreatMissingData.NOT_BREACHING }: Limit): void {
    this.#add(
      new Alarm(this, id, {
        metric,
        threshold: above,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluationPeriods: periods,
        treatMissingData: missing,
        alarmDescription: `Sluice ${this.#job}: ${says}`,
      }),
    );
  }

  #add(alarm: Alarm): void {
    this.all.push(alarm);
    if (this.#actions.length === 0) return;
    alarm.addAlarmAction(...this.#actions);
    alarm.addOkAction(...this.#actions);
  }
}
