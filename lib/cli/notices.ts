/** What an embedded `run` and `plan` say of a job without checkpoints. */
export const checkpointingIsOff =
  'checkpointing is off: state is lost with the process, and sinks commit at the end of input only; call env.enableCheckpointing, or set execution.checkpointing.interval';

/** The same of a run by invocations, which commits each batch by itself. */
export const checkpointingIsOffInvocations =
  'checkpointing is off: state is kept with each batch all the same, but transactional sinks commit at the end of input only, and --from has nothing to go back to; call env.enableCheckpointing, or set execution.checkpointing.interval';
