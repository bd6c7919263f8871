// The table of commands. It holds shapes only; what a command does is loaded when it is called, so that `sluice --help` and a bad flag cost
// nothing, and a run loads the engine and nothing else.
import type { Arguments, CommandShape, Flag } from './arguments.ts';
import type { Described } from './help.ts';
import type { Output } from './output.ts';

/** What a command is handed. */
export interface Call {
  readonly shape: CommandShape;
  readonly arguments: Arguments;
  readonly output: Output;
}

/** Carries the command out. @returns the exit code */
export type Command = (call: Call) => Promise<number>;

export interface CommandEntry extends Described {
  /** Absent: the command is for deployed jobs only, and needs --stack. */
  readonly load?: () => Promise<Command>;
  /** With --stack; absent: the command is not for deployed jobs. */
  readonly loadDeployed?: () => Promise<Command>;
  /** Without --stack too it may ask the services that sinks of the job are bound to, at an --endpoint. */
  readonly asksServices?: true;
  /** With and without --stack. */
  readonly always?: () => Promise<Command>;
}

const set: Flag = { name: 'set', value: 'key=value', repeats: true, help: 'a setting of sluice.yaml, for this call; may be repeated' };
const bind: Flag = {
  name: 'bind',
  value: 'name=PATH|dynamodb:TABLE|…',
  repeats: true,
  help: 'what stands behind a name of the job: a file; for a sink also dynamodb:TABLE, s3:BUCKET/FOLDER, sqs:URL, kinesis:STREAM; may be repeated',
};
const laterFlags = (...names: readonly (readonly [string, string?])[]): readonly Flag[] =>
  names.map(([name, value]) => ({ name, ...(value === undefined ? {} : { value }), help: '', notYet: true }));

const run: CommandShape = {
  name: 'run',
  positionals: ['FILE'],
  takesParams: true,
  flags: [
    { name: 'parallelism', value: 'N', help: 'default parallelism of the job' },
    {
      name: 'from',
      value: 'PATH|latest',
      help: 'go on from a checkpoint (by its number with --runtime invocations), or from the last completed one',
    },
    { name: 'take-over', help: 'take the checkpoint directory from an owner that is stopped or hangs' },
    { name: 'allow-non-restored-state', help: 'drop state of the checkpoint that no operator of the job wants' },
    {
      name: 'runtime',
      value: 'embedded|invocations',
      help: 'in this process, or by worker processes over one SQLite file; embedded by default',
    },
    { name: 'workers', value: 'N', help: 'worker processes of --runtime invocations; 2 by default' },
    { name: 'chaos', help: 'with --runtime invocations: deliver twice, and kill and stop workers, on purpose' },
    set,
    bind,
    { name: 'endpoint', value: 'URL', help: 'address of an emulator of AWS, for what the job is bound to' },
    ...laterFlags(['stack', 'NAME']),
  ],
};

const plan: CommandShape = {
  name: 'plan',
  positionals: ['FILE'],
  takesParams: true,
  flags: [
    { name: 'format', value: 'text|json|dot|svg', help: 'how the plan is shown; text by default' },
    { name: 'parallelism', value: 'N', help: 'default parallelism of the job' },
    set,
    bind,
    ...laterFlags(['diff', 'PATH'], ['stack', 'NAME'], ['endpoint', 'URL']),
  ],
};

const deployed: readonly Flag[] = [
  { name: 'stack', value: 'NAME', help: 'the job is deployed on AWS, by this stack' },
  { name: 'endpoint', value: 'URL', help: 'address of an emulator of AWS; with --stack' },
];

const named = (name: string, positional: string, ...own: readonly Flag[]): CommandShape => ({
  name,
  positionals: [positional],
  takesParams: false,
  flags: [...own, set, ...deployed],
});

const yes: Flag = { name: 'yes', help: 'do not ask' };

const deploy: CommandShape = {
  name: 'deploy',
  positionals: ['FILE'],
  takesParams: true,
  flags: [
    { name: 'stack', value: 'NAME', help: 'the stack that is made or changed; `sluice-` and the name of the job by default' },
    { name: 'endpoint', value: 'URL', help: 'address of an emulator of AWS, which is bootstrapped first' },
    {
      name: 'bind',
      value: 'name=NAME|ARN',
      repeats: true,
      help: 'what stands behind a name of the job: a stream, queue, table or bucket that is there; may be repeated',
    },
    set,
    {
      name: 'exchange',
      value: 'sqs|kinesis',
      help: 'what carries records from stage to stage: FIFO queues by default, or streams; a job that was started keeps it',
    },
    { name: 'table', value: 'NAME', help: 'a table with the state of the job, which stayed or was restored, in place of a new one' },
    { name: 'bucket', value: 'NAME', help: 'the bucket that belongs to it' },
    yes,
  ],
};

const destroy: CommandShape = {
  name: 'destroy',
  positionals: ['FILE'],
  takesParams: false,
  flags: [
    { name: 'stack', value: 'NAME', help: 'the stack that is removed; `sluice-` and the name of the job by default' },
    { name: 'endpoint', value: 'URL', help: 'address of an emulator of AWS' },
    { name: 'delete-state', help: 'delete table, bucket and queues with all that the job knows; without it they stay' },
    yes,
  ],
};

const operatorFlag: Flag = { name: 'operator', value: 'UID', help: 'uid of the operator' };
const stateFlag: Flag = { name: 'state', value: 'NAME', help: 'name of the state' };
const keyFlag: Flag = { name: 'key', value: 'JSON', help: 'the key; what is no JSON is text' };
const transaction: Flag = { name: 'transaction', value: 'NAME', repeats: true, help: 'as `transactions list` names it; may be repeated' };
const letter: Flag = { name: 'letter', value: 'ID', repeats: true, help: 'as `dead-letters list` names it; may be repeated' };
const all: Flag = { name: 'all', help: 'all that are listed' };

export const commands: readonly CommandEntry[] = [
  { shape: run, summary: 'runs a job', asksServices: true, load: async () => (await import('./run.ts')).run },
  {
    shape: plan,
    summary: 'shows operators, stages, exchanges, states and the guarantee',
    load: async () => (await import('./plan.ts')).plan,
  },
  {
    shape: named('checkpoints list', 'NAME|PATH'),
    summary: 'lists the completed checkpoints of a job, newest last',
    load: async () => (await import('./checkpoints.ts')).listCheckpoints,
    loadDeployed: async () => (await import('./aws/look.ts')).listDeployedCheckpoints,
  },
  {
    shape: named('checkpoints show', 'NAME|PATH'),
    summary: 'shows one checkpoint, or the newest of a job, with the state of each operator',
    load: async () => (await import('./checkpoints.ts')).showCheckpoint,
    loadDeployed: async () => (await import('./aws/look.ts')).showDeployedCheckpoint,
  },
  {
    shape: named('cancel', 'NAME'),
    summary: 'cancels a running job and waits until it has ended',
    asksServices: true,
    load: async () => (await import('./cancel.ts')).cancel,
    loadDeployed: async () => (await import('./aws/stop.ts')).cancelDeployed,
  },
  {
    shape: named('pause', 'NAME'),
    summary: 'lets a job of --runtime invocations stand still; its input stays where it is',
    asksServices: true,
    load: async () => (await import('./pause.ts')).pause,
    loadDeployed: async () => (await import('./aws/stop.ts')).pauseDeployed,
  },
  {
    shape: named('resume', 'NAME'),
    summary: 'lets a paused or failed job go on from where it stands',
    asksServices: true,
    load: async () => (await import('./pause.ts')).resume,
    loadDeployed: async () => (await import('./aws/stop.ts')).resumeDeployed,
  },
  {
    shape: named('state get', 'NAME', operatorFlag, stateFlag, keyFlag),
    summary: 'shows the state of one key as it is now',
    load: async () => (await import('./state.ts')).stateGet,
    loadDeployed: async () => (await import('./aws/code.ts')).stateGetDeployed,
  },
  {
    shape: named('transactions list', 'NAME'),
    summary: 'lists what is promised to sinks and not known to be settled',
    load: async () => (await import('./transactions.ts')).list,
    loadDeployed: async () => (await import('./aws/code.ts')).listDeployedTransactions,
  },
  {
    shape: named('transactions commit', 'NAME', transaction, all),
    summary: 'makes promised rows visible',
    asksServices: true,
    load: async () => (await import('./transactions.ts')).commit,
    loadDeployed: async () => (await import('./aws/code.ts')).commitDeployedTransactions,
  },
  {
    shape: named('transactions abort', 'NAME', transaction, all),
    summary: 'gives promised rows up',
    asksServices: true,
    load: async () => (await import('./transactions.ts')).abort,
    loadDeployed: async () => (await import('./aws/code.ts')).abortDeployedTransactions,
  },
  {
    shape: named('dead-letters list', 'NAME'),
    summary: 'lists records that could not be processed and were parked',
    load: async () => (await import('./dead-letters.ts')).list,
    loadDeployed: async () => (await import('./aws/code.ts')).listDeployedLetters,
  },
  {
    shape: named('dead-letters show', 'NAME', letter),
    summary: 'shows parked records whole, with their errors',
    load: async () => (await import('./dead-letters.ts')).show,
    loadDeployed: async () => (await import('./aws/code.ts')).showDeployedLetters,
  },
  {
    shape: named('dead-letters redrive', 'NAME', letter, all),
    summary: 'processes parked records again, each once',
    load: async () => (await import('./dead-letters.ts')).redrive,
    loadDeployed: async () => (await import('./aws/code.ts')).redriveDeployedLetters,
  },
  {
    shape: { name: 'restore', positionals: ['NAME'], optional: ['PATH'], takesParams: false, flags: deployed },
    summary: 'takes a deployed job back to a checkpoint: the newest, or that of PATH',
    loadDeployed: async () => (await import('./aws/stop.ts')).restoreDeployed,
  },
  {
    shape: { name: 'status', positionals: [], optional: ['NAME'], takesParams: false, flags: deployed },
    summary: 'shows what the jobs of a stack are doing',
    loadDeployed: async () => (await import('./aws/look.ts')).statusDeployed,
  },
  {
    shape: deploy,
    summary: 'makes or changes a stack on AWS that runs the job, with the CDK underneath',
    always: async () => (await import('./aws/deploy.ts')).deploy,
  },
  {
    shape: destroy,
    summary: 'removes the stack; the state of the job stays unless that is said',
    always: async () => (await import('./aws/destroy.ts')).destroy,
  },
];

/** Commands of later versions: refused by name instead of being called unknown. */
export const laterCommands: readonly string[] = ['savepoint', 'stop', 'state list', 'state export'];
