import { Buffer } from 'node:buffer';
import { SluiceError } from '../../core/errors.ts';
import type { FileAppender, FileSystem } from '../../core/ports.ts';

// part-writer.ts owns one staged part while rows are added to it. Text is collected and goes to the file in pieces; the file is created with
// the first piece, so a part without rows leaves no file.
//   A failed append may have written all, some or none of its bytes, and the checkpoint that met it may be one that the job tolerates. So the
//   bytes are kept until the file has them, and the next flush asks the file how far it got. A failed sync is different: the system may
//   have dropped the bytes and would call a second sync a success, so the part is lost and the attempt has to start over.

export class PartWriter {
  readonly openedAt: number;
  readonly staged: string;
  readonly part: string;
  readonly #files: FileSystem;
  readonly #path: string;
  #text: string;
  #bytes = 0;
  /** Taken out of `text`, not yet known to be in the file. */
  #unwritten: Uint8Array = new Uint8Array(0);
  #writtenBytes = 0;
  /** The last call to the file failed, so what it holds has to be asked. */
  #isUnsure = false;
  #isSynced = false;
  #lost: unknown;
  #appender: FileAppender | undefined;

  constructor(
    files: FileSystem,
    p: { readonly path: string; readonly staged: string; readonly part: string; readonly head: string; readonly openedAt: number },
  ) {
    this.#files = files;
    this.#path = p.path;
    this.staged = p.staged;
    this.part = p.part;
    this.openedAt = p.openedAt;
    this.#text = p.head;
    this.#bytes = Buffer.byteLength(p.head);
  }

  /** Characters that wait for `flush`. */
  get waiting(): number {
    return this.#text.length;
  }

  /** Size of the part once everything is flushed, when every `add` told its bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(text: string, bytes: number): void {
    this.#text += text;
    this.#bytes += bytes;
  }

  async flush(): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#text !== '') {
      const added = Buffer.from(this.#text, 'utf8');
      this.#text = '';
      this.#unwritten = this.#unwritten.length === 0 ? added : Buffer.concat([this.#unwritten, added]);
    }
    if (this.#unwritten.length === 0) return;
    const mayDiffer = this.#isUnsure;
    this.#isUnsure = true;
    if (mayDiffer) await this.#findOut();
    this.#appender ??= await this.#files.createFile(this.#path);
    if (this.#unwritten.length > 0) await this.#appender.append(this.#unwritten);
    this.#isUnsure = false;
    this.#drop(this.#unwritten.length);
  }

  /** After a failure: sees how much of what was written has arrived. */
  async #findOut(): Promise<void> {
    if (this.#appender === undefined)
      await this.#files.removeFile(this.#path); // created, perhaps, but the answer was lost
    else this.#drop(((await this.#files.stat(this.#path))?.bytes ?? this.#writtenBytes) - this.#writtenBytes);
  }

  #drop(bytes: number): void {
    this.#unwritten = this.#unwritten.subarray(bytes);
    this.#writtenBytes += bytes;
  }

  /** Writes the rest and makes the bytes durable; the directory entry is the caller's to sync. A second call does what the first left undone. */
  async seal(): Promise<void> {
    await this.flush();
    if (this.#appender === undefined) return;
    if (!this.#isSynced) {
      try {
        await this.#appender.sync();
      } catch (cause) {
        this.#lost = new SluiceError('OUTPUT_NOT_DURABLE', {
          message: `output '${this.#path}' could not be made durable`,
          next: 'recover-subtask',
          cause,
          path: this.#path,
        });
        throw this.#lost;
      }
      this.#isSynced = true;
    }
    const appender = this.#appender;
    this.#appender = undefined;
    await appender.close();
  }

  /** Closes the file without finishing it and removes it. */
  async abandon(): Promise<void> {
    const appender = this.#appender;
    this.#appender = undefined;
    this.#text = '';
    this.#unwritten = new Uint8Array(0);
    if (appender === undefined && !this.#isSynced) return;
    await appender?.close();
    await this.#files.removeFile(this.#path);
  }
}
