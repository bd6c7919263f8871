// What a stage says of each event, as a line of CloudWatch's embedded format: a log line that becomes metrics without a request. One set for a stage and
// none for its subtasks, because each set has a price.

import type { InvocationPorts } from '../invocation/ports.ts';

/** What happened in a sandbox since it was last told. */
export interface StageTally {
  conflicts: number;
}

export interface StageCounts {
  readonly job: string;
  readonly stage: number;
  /** Records and messages that were handed in. */
  readonly records: number;
  readonly durationMs: number;
  /** Appends that another environment was faster with, or that were there already. */
  readonly conflicts: number;
}

/** The same ports; appends that are lost are counted. */
export function counting(ports: InvocationPorts, tally: StageTally): InvocationPorts {
  const { changelog } = ports;
  type Put = typeof changelog.put;
  const put: Put = async (p) => {
    const result = await changelog.put(p);
    if (result.kind === 'conflict') tally.conflicts++;
    return result;
  };
  return {
    ...ports,
    changelog: {
      put,
      putDuring: (p) => changelog.putDuring(p),
      get: (p) => changelog.get(p),
      readPage: (p) => changelog.readPage(p),
      create: (p) => changelog.create(p),
      overwrite: (p) => changelog.overwrite(p),
      remove: (ring) => changelog.remove(ring),
    },
  };
}

/** Pure: the line. Names are those that the alarms look for (lib/cdk/metrics.ts). @param nowMs  ms since the epoch */
export function stageMetricsLine({ job, stage, records, durationMs, conflicts }: StageCounts, nowMs: number): string {
  const metrics = [
    { Name: 'Records', Unit: 'Count' },
    { Name: 'UnitDuration', Unit: 'Milliseconds' },
    { Name: 'CommitConflicts', Unit: 'Count' },
  ];
  return JSON.stringify({
    _aws: {
      Timestamp: Math.floor(nowMs),
      CloudWatchMetrics: [{ Namespace: 'Sluice', Dimensions: [['Job', 'Stage']], Metrics: metrics }],
    },
    ...{ Job: job, Stage: String(stage), Records: records, UnitDuration: durationMs, CommitConflicts: conflicts },
  });
}
