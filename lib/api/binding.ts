// binding.ts is how a source or sink of a service says what it reads or writes without saying where that is: a job names it, and whoever runs the
// job binds the name, to a file on a desk or to a stream in an account.

/** What a name can be bound to. */
export type BindingKind = 'kinesis' | 'sqs' | 'dynamodb' | 's3' | 'kafka';

export interface Binding {
  /** As the job wrote it; of a job's sources and sinks each has its own. */
  readonly name: string;
  /** What may stand behind the name. */
  readonly kinds: readonly BindingKind[];
}
