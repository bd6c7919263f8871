// Numbers of a deployment, with their units and reasons. What a user may choose otherwise is in props.ts; the rest is not for choosing.

/** How long an invocation of a stage may take, s. The queue between stages shows a message again after 45 s, and this stays below. */
export const stageTimeoutSeconds = 30;
/** A message of the exchange that nobody answered for is given out again after this, s: a little more than the function's time-out. */
export const exchangeVisibilitySeconds = 45;
/** The longest that a queue keeps a message, days: an exchange message that was dropped is a gap that only a restore mends. */
export const exchangeRetentionDays = 14;
/** Messages of a first-in-first-out queue in one event: its mapping's own limit. */
export const exchangeBatch = 10;
/** How long a stream between stages keeps a message, hours: over a weekend, for the price of any time above a day. */
export const exchangeStreamHours = 168;
export const streamHoursMin = 24;
export const streamHoursMax = 8_760;
/** Messages of a stream between stages in one event; each may hold a whole event of the stage before. */
export const exchangeStreamBatch = 100;
/** Shards that a stream on demand begins with. */
export const onDemandShards = 4;
/** What the guides of SQS ask for, so that a throttled mapping does not hand out twice what somebody works on. */
export const visibilityTimes = 6;
/** Every throttled delivery counts as a receive, so a message that is fine may have been received several times. */
export const receiveCountMin = 10;

export const kinesisBatch = 1_000;
/** With 100 byte records a batch of 1,000 costs one commit; s. */
export const kinesisWindowSeconds = 1;
/** How long the mapping of a topic waits for its function, s: Lambda's own bound for it. */
export const topicTimeoutSecondsMax = 840;
/** Offsets of a topic that its group is behind; the service tells no age. */
export const offsetLagAlarm = 100_000;
export const queueBatch = 100;
export const queueWindowSeconds = 1;
/** Least that a mapping accepts. */
export const mappingConcurrencyMin = 2;
export const mappingConcurrencyMax = 1_000;

export const stageMemoryMb = 1_024;
export const serviceMemoryMb = 512;
export const pulseTimeoutSeconds = 60;
export const queryTimeoutSeconds = 60;
export const checkTimeoutSeconds = 30;
/** Control calls have environments of their own, so that a flood of records cannot keep barriers out. */
export const controlConcurrency = 5;

/** An express execution ends after five minutes; a pulse that looks for its successor gives up after four. */
export const executionTimeoutSeconds = 290;
export const pulseTriesMax = 2;

/** What is deleted or overwritten by mistake can be brought back this long, days. */
export const noncurrentDays = 7;
/** An upload that nobody finished; ours are small and take seconds. */
export const unfinishedUploadDays = 7;
export const logRetentionDays = 14;

/** Bytes of the variables of a function, names included: Lambda's limit. */
export const environmentBytesMax = 4_096;
/** What a name or address counts that only the deployment knows. */
export const unknownTextBytes = 130;
/** Characters of an output that hold; longer maps are told in several. */
export const outputEntriesMax = 6;

export const iteratorAgeAlarmMinutes = 10;
export const queueAgeAlarmMinutes = 10;
/** Of the interval of checkpoints; at least ten minutes. */
export const checkpointAgeTimes = 5;
export const checkpointAgeAlarmMinutesMin = 10;
/** In five minutes and for one stage; a few are normal where lanes meet. */
export const conflictsAlarm = 100;
