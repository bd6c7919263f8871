/** What `run` and `plan` say of a job without checkpoints. */
export const checkpointingIsOff =
  'checkpointing is off: state is lost with the process, and sinks commit at the end of input only; call env.enableCheckpointing, or set execution.checkpointing.interval';
