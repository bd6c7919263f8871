// The entry point `sluice/cdk`: a job as a construct. Loading it loads aws-cdk-lib, so an app imports it and a job never does.

export type { JobAlarms } from './alarms.ts';
export type { BindTarget, BucketFolder, KafkaTopic, SluiceJobProps, SourceProps, StreamExchangeProps } from './props.ts';
export { SluiceJob } from './sluice-job.ts';
