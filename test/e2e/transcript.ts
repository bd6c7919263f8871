// Every command for deployed jobs, called one after the other, and what each printed: the text of docs/aws-transcript.md. What happens in between
// (records that are sent, a checkpoint that is waited for) is told by a line of its own, and is the scene's business.

export const file = 'examples/clicks/job.ts';
export const stack = 'sluice-clicks';
/** Where `npm run emulator` listens, so that the text does not depend on a port that was free. */
export const usualEndpoint = 'http://127.0.0.1:4566';

const head = `# What commands for deployed jobs print

Made by \`npm run transcript\` with the [clicks example](../examples/clicks/job.ts) on the emulator. What the CDK says while it works goes to standard
error and is left out; times, numbers of entries, and what CloudFormation adds to names, are always the same here. On an account the commands are the same without
\`--endpoint\`. How it fits together: [On AWS](aws.md).
`;

/** @param text  of `transcribe` */
export function page(text: string): string {
  return `${head}${text}\n`;
}

/** What the commands are called on. */
export interface Scene {
  /** Calls the command line. */
  sluice(words: readonly string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
  /** Makes what the job reads and writes. */
  makeTargets(): Promise<void>;
  /** Sends so many clicks, and waits until each was counted. */
  send(clicks: number): Promise<void>;
  /** Sends a message that is no click, and waits until the job has given it up. */
  sendDamaged(): Promise<void>;
  /** Waits until there is a checkpoint. */
  checkpoint(): Promise<void>;
  /** At the end. @throws when something is there that belonged to the job's state */
  expectNothingLeft(): Promise<void>;
}

class Transcript {
  readonly scene: Scene;
  readonly #parts: string[] = [];

  constructor(scene: Scene) {
    this.scene = scene;
  }

  get text(): string {
    return this.#parts.join('\n');
  }

  /** A heading and why. */
  tell(title: string, text: string): void {
    this.#parts.push(`\n## ${title}\n\n${text}\n`);
  }

  /** @returns what it printed @throws when it failed, with what it said */
  async sluice(...words: readonly string[]): Promise<string> {
    const { code, out, err } = await this.scene.sluice(words);
    if (code !== 0) throw new Error(`${typed(words)} ended with ${code}:\n${out}\n${err}`);
    return this.#show(words, out);
  }

  /** A command that has to fail. */
  async refused(...words: readonly string[]): Promise<void> {
    const { code, out, err } = await this.scene.sluice(words);
    if (code === 0) throw new Error(`${typed(words)} was not refused:\n${out}`);
    this.#show(words, `${out}${ownLines(err)}# exit code ${code}\n`);
  }

  #show(words: readonly string[], output: string): string {
    const said = normalised(output);
    this.#parts.push(`\`\`\`console\n$ ${typed(words)}\n${said}\`\`\``);
    return said;
  }
}

/** As a person types it. */
export function typed(words: readonly string[]): string {
  return `sluice ${words.map(quoted).join(' ')} --endpoint ${usualEndpoint}`;
}

function quoted(word: string): string {
  return /^[\w./=:@-]+$/.test(word) ? word : `'${word}'`;
}

/** Lines of ours: what the CDK tells of its progress is its own. */
function ownLines(err: string): string {
  const lines = err.split('\n').filter((line) => /^(sluice: | {2}(because|next): )/.test(line));
  return lines.map((line) => `${line}\n`).join('');
}

/** Of whatever differs between two runs and has one look. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/http:\/\/127\.0\.0\.1:\d+/g, usualEndpoint],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC/g, '2026-01-01 00:00:00.000 UTC'],
  // How long a checkpoint took, and which entries of a changelog there were: the widths of columns stay.
  [/UTC +[\d.]+ m?s {2}/g, 'UTC    500 ms  '],
  [/(?<=^ {2}duration {2})[\d.]+ m?s$/gm, '500 ms'],
  [/^(\d+-\d+) +\d+ {2}up to \d+/gm, '$1         10  up to 0'],
  [/entry \d+ of generation/g, 'entry 10 of generation'],
  // What CloudFormation adds to names, so that they are new.
  [/(?<=-Job\w*[0-9A-F]{8}-)\w+/g, '0A1B2C3D4E5F'],
  [/(?<=sluice-clicks-jobbucket[0-9a-f]{8}-)\w+/g, '0a1b2c3d4e5f'],
];

/** Pure. The same for two runs of the same commands, but for numbers that depend on how records met in batches. */
export function normalised(text: string): string {
  return volatile.reduce((now, [what, by]) => now.replaceAll(what, by), text);
}

function stateOf(user: string): readonly string[] {
  return ['state', 'get', 'clicks', '--operator', 'count', '--state', 'clicks', '--key', user];
}

/**
 * Runs everything.
 * @param note  the text so far, after each part
 * @returns the text
 */
export async function transcribe(scene: Scene, note: (text: string) => void = () => undefined): Promise<string> {
  const t = new Transcript(scene);
  await scene.makeTargets();
  for (const part of [deployAndLook, pauseAndRestore, lettersAndTransactions, endAndTakeUp, removeAll]) {
    await part(t, ['--stack', stack]);
    note(t.text);
  }
  await scene.expectNothingLeft();
  return t.text;
}

type On = readonly ['--stack', string];
const bind = ['--bind', 'clicks=clicks.fifo', '--bind', 'totals=totals'] as const;

async function deployAndLook(t: Transcript, on: On): Promise<void> {
  t.tell('A stack is made', 'The queue `clicks.fifo` and the table `totals` are there. What is wrong is refused before anything changes.');
  await t.refused('deploy', file, '--bind', 'clicks=clicks.fifo');
  await t.sluice('deploy', file, ...bind);
  t.tell('What it does', '100 clicks of four users were sent, and a checkpoint was waited for.');
  await t.scene.send(100);
  await t.scene.checkpoint();
  await t.sluice('status', ...on);
  await t.sluice('checkpoints', 'list', 'clicks', ...on);
  await t.sluice('checkpoints', 'show', 'clicks', ...on);
  await t.sluice(...stateOf('u1'), ...on);
  await t.sluice(...stateOf('nobody'), ...on);
}

async function pauseAndRestore(t: Transcript, on: On): Promise<void> {
  t.tell('It stands still, and goes on', 'A paused job takes no input; a removal is refused while the job works.');
  await t.sluice('pause', 'clicks', ...on);
  await t.sluice('status', ...on);
  await t.sluice('resume', 'clicks', ...on);
  await t.refused('destroy', file, '--yes');
  t.tell(
    'It goes back to a checkpoint',
    '40 clicks more were sent. What came after the checkpoint is counted again from what the job has kept; then 20 more were sent.',
  );
  await t.scene.send(40);
  await t.sluice('restore', 'clicks', ...on);
  await t.scene.send(20);
  await t.sluice(...stateOf('u1'), ...on);
}

async function lettersAndTransactions(t: Transcript, on: On): Promise<void> {
  t.tell(
    'A record that cannot be processed',
    'A message that is no JSON was sent. It is parked, and nothing behind it waits. Run again, it fails again, and stays where it is.',
  );
  await t.scene.sendDamaged();
  await t.sluice('dead-letters', 'list', 'clicks', ...on);
  await t.sluice('dead-letters', 'show', 'clicks', ...on);
  await t.refused('dead-letters', 'redrive', 'clicks', '--all', ...on);
  t.tell('What is promised to sinks', 'The sink of this job writes row by row, so that nothing is ever promised.');
  await t.sluice('transactions', 'list', 'clicks', ...on);
  await t.refused('transactions', 'commit', 'clicks', '--all', ...on);
  await t.refused('transactions', 'abort', 'clicks', '--all', ...on);
}

async function endAndTakeUp(t: Transcript, on: On): Promise<void> {
  t.tell(
    'It ends, its stack goes, and another one takes its state up',
    'The table and the bucket stay, and are given to the new stack. 20 clicks more were sent to it.',
  );
  await t.sluice('cancel', 'clicks', ...on);
  const said = await t.sluice('destroy', file, '--yes');
  const [, table = '', bucket = ''] = /^ {2}table +(\S+)\n {2}bucket +(\S+)$/m.exec(said) ?? [];
  await t.refused('status', ...on);
  await t.sluice('deploy', file, ...bind, '--table', table, '--bucket', bucket);
  await t.sluice('restore', 'clicks', ...on);
  await t.scene.send(20);
  await t.sluice(...stateOf('u1'), ...on);
  await t.sluice('dead-letters', 'list', 'clicks', ...on);
}

async function removeAll(t: Transcript, on: On): Promise<void> {
  t.tell('State goes', 'It goes only when that is said, and then before the stack does.');
  await t.sluice('cancel', 'clicks', ...on);
  await t.sluice('destroy', file, '--delete-state', '--yes');
  await t.refused('status', ...on);
}
