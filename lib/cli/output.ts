// output.ts owns the two streams. Answers and what a job prints go to standard output; progress, warnings and errors go to standard error,
// so that a pipe holds data only. Under `--json` standard output is one JSON object a line and standard error stays empty.
//   O1  On a terminal there is at most one status line, at the bottom; whatever is written goes above it.
//   O2  What a job prints is gathered into large writes, and leaves in the order in which it was printed.
//   O3  A note may quote what came from outside, and a terminal acts on none of it.
import { plainLine } from '../core/errors.ts';
import { jsonText } from './json-text.ts';

const gatheredCharactersMax = 32 * 1_024; // one write of this size costs little more than one of a single line
const eraseLine = '\r\u001b[2K';

/** The part of a stream that is used here, so that a test can stand in for it. */
export interface Stream {
  write(text: string, done?: (error?: Error | null) => void): boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly verbose: boolean;
  readonly out: Stream;
  readonly err: Stream;
}

export class Output {
  readonly json: boolean;
  readonly verbose: boolean;
  readonly #out: Stream;
  readonly #err: Stream;
  #gathered = '';
  #flushIsDue = false;
  #status = '';

  constructor(o: OutputOptions) {
    this.json = o.json;
    this.verbose = o.verbose;
    this.#out = o.out;
    this.#err = o.err;
  }

  /** True when a person watches: a status line may be drawn over and over. */
  get isWatched(): boolean {
    return !this.json && this.#err.isTTY === true;
  }

  /** Text of the answer; nothing under `--json`, where the answer is the result. */
  text(text: string): void {
    if (!this.json) this.#gather(`${text}\n`);
  }

  /** What the job prints. */
  printed(line: string): void {
    this.#gather(this.json ? `${jsonText({ kind: 'print', line })}\n` : `${line}\n`);
  }

  /** Something to know while the command works. */
  note(text: string): void {
    if (this.json) return;
    this.#flush();
    this.#eraseStatus();
    this.#err.write(`${text.split('\n').map(plainLine).join('\n')}\n`);
    this.#drawStatus();
  }

  /** The line at the bottom of a terminal; empty takes it away. */
  status(text: string): void {
    if (!this.isWatched) return;
    this.#flush();
    this.#eraseStatus();
    const widthMax = (this.#err.columns ?? 80) - 1; // a line that wraps could not be erased
    this.#status = text.length > widthMax ? `${text.slice(0, widthMax - 1)}…` : text;
    this.#drawStatus();
  }

  /** One JSON object on a line of its own; nothing without `--json`. */
  object(object: Readonly<Record<string, unknown>>): void {
    if (this.json) this.#gather(`${jsonText(object)}\n`);
  }

  /** Resolves when everything has left the process. */
  async end(): Promise<void> {
    this.status('');
    this.#flush();
    await Promise.all([this.#out, this.#err].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))));
  }

  #gather(text: string): void {
    this.#gathered += text;
    if (this.#gathered.length >= gatheredCharactersMax) {
      this.#flush();
    } else if (!this.#flushIsDue) {
      this.#flushIsDue = true;
      setImmediate(() => this.#flush());
    }
  }

  #flush(): void {
    this.#flushIsDue = false;
    if (this.#gathered === '') return;
    const text = this.#gathered;
    this.#gathered = '';
    this.#eraseStatus();
    this.#out.write(text);
    this.#drawStatus();
  }

  #eraseStatus(): void {
    if (this.#status !== '') this.#err.write(eraseLine);
  }

  #drawStatus(): void {
    if (this.#status !== '') this.#err.write(this.#status);
  }
}
