// fake-disk.ts owns what a disk holds: files (inodes), directories (names), what of both would survive a power cut, and who holds which
// lock. Every operation happens at one instant; when it happens, and whether its caller hears of it, is the world's business.
//   F1  A name is an entry of a directory and leads to a file or a directory; a file may have several names, and lives while it is open.
//   F2  kill -9 loses nothing that was done. A power cut loses bytes that were not synced (F3) and names that were not synced (F4).
//   F3  Of bytes beyond the last `sync`, any prefix may survive, or be there with zeros for content.
//   F4  Changes of names survive in the order in which they happened in each directory; a change is sure once its directory was synced
//       after it: for a rename, the directory of the new name. A rename is atomic: both directories show it, or neither.
//   F5  Locks hang on the file, not on its name, and belong to a process.

import type { DirectoryEntry, FileStat } from '../core/ports.ts';
import type { SeededRandom } from './seeded-random.ts';

export interface FileNode {
  readonly kind: 'file';
  readonly identity: number;
  bytes: Uint8Array;
  length: number;
  /** Bytes that a power cut cannot take away. */
  durableLength: number;
  /** The world's step of the last append; auditors compare it with the step at which something became visible. */
  writtenAtStep: number;
  lock: { readonly process: string; readonly owner: string } | undefined;
}

export interface DirectoryNode {
  readonly kind: 'directory';
  readonly identity: number;
  entries: Map<string, Node>;
  /** The entries as a power cut that loses the whole journal would leave them. */
  base: Map<string, Node>;
}

export type Node = FileNode | DirectoryNode;

/** One atomic change of names. */
interface NameChange {
  readonly changes: readonly { readonly directory: DirectoryNode; readonly name: string; readonly node: Node | undefined }[];
  /** The directory whose sync makes the change sure. */
  readonly owner: DirectoryNode;
  isDurable: boolean;
}

/** An error as Node's `fs` would give it. */
export function diskError(code: string, syscall: string, path: string): Error & { readonly code: string } {
  const said: Record<string, string> = {
    ENOENT: 'no such file or directory',
    EEXIST: 'file already exists',
    ENOTDIR: 'not a directory',
    EISDIR: 'illegal operation on a directory',
    ENOTEMPTY: 'directory not empty',
    EINVAL: 'invalid argument',
    ENOSPC: 'no space left on device',
    EIO: 'i/o error',
    EBADF: 'bad file descriptor',
  };
  return Object.assign(new Error(`${code}: ${said[code] ?? 'failed'}, ${syscall} '${path}'`), { code, syscall, path });
}

/** What changed under which name; told to observers after the change. */
export interface DiskChange {
  readonly kind: 'named' | 'unnamed' | 'moved';
  readonly path: string;
  /** The old path of what moved. */
  readonly from?: string;
  readonly node: Node;
  readonly process: string;
}

const workingDirectory = '/home';

/** Absolute, without `.`, `..`, doubled or trailing slashes. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${workingDirectory}/${path}`).split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return `/${parts.join('/')}`;
}

export class FakeDisk {
  readonly observers: ((change: DiskChange) => void)[] = [];
  /** Set by the world: what `writtenAtStep` notes. */
  step = 0;
  #identities = 1;
  readonly #root: DirectoryNode;
  #journal: NameChange[] = [];

  constructor() {
    this.#root = this.#newDirectory();
    this.makeTree(workingDirectory, 'disk');
    this.syncEverything();
  }

  // Looking

  /** What a path leads to. */
  find(path: string): Node | undefined {
    let node: Node = this.#root;
    for (const part of normalPath(path).split('/')) {
      if (part === '') continue;
      if (node.kind !== 'directory') return undefined;
      const next = node.entries.get(part);
      if (next === undefined) return undefined;
      node = next;
    }
    return node;
  }

  file(path: string, syscall: string): FileNode {
    const { parent, name } = this.#place(path, syscall);
    const node = name === '' ? parent : parent.entries.get(name);
    if (node === undefined) throw diskError('ENOENT', syscall, path);
    if (node.kind === 'directory') throw diskError('EISDIR', syscall, path);
    return node;
  }

  /** A copy of the bytes of a file. */
  contents(path: string): Uint8Array {
    const node = this.file(path, 'open');
    return node.bytes.slice(0, node.length);
  }

  text(path: string): string {
    return new TextDecoder().decode(this.contents(path));
  }

  stat(path: string): FileStat | undefined {
    const node = this.find(path);
    if (node === undefined) return undefined;
    return { kind: node.kind, bytes: node.kind === 'file' ? node.length : 0, identity: `fake:${node.identity}` };
  }

  list(path: string): readonly DirectoryEntry[] {
    const node = this.find(path);
    if (node === undefined) throw diskError('ENOENT', 'scandir', path);
    if (node.kind !== 'directory') throw diskError('ENOTDIR', 'scandir', path);
    return [...node.entries].map(([name, n]) => ({ name, kind: n.kind })).sort((x, y) => (x.name < y.name ? -1 : x.name > y.name ? 1 : 0));
  }

  /** Paths of all files below a directory, sorted; empty when there is none. */
  walk(path: string): readonly string[] {
    const out: string[] = [];
    const visit = (node: Node, at: string): void => {
      if (node.kind === 'file') out.push(at);
      else for (const [name, child] of node.entries) visit(child, at === '/' ? `/${name}` : `${at}/${name}`);
    };
    const start = this.find(path);
    if (start !== undefined) visit(start, normalPath(path));
    return out.sort();
  }

  // Changing

  create(path: string, process: string): FileNode {
    const { parent, name } = this.#place(path, 'open');
    if (name === '' || parent.entries.has(name)) throw diskError('EEXIST', 'open', path);
    const node = this.#newFile();
    this.#change([{ directory: parent, name, node }], parent);
    this.#tell({ kind: 'named', path: normalPath(path), node, process });
    return node;
  }

  append(node: FileNode, bytes: Uint8Array): void {
    const needed = node.length + bytes.length;
    if (needed > node.bytes.length) {
      const grown = new Uint8Array(Math.max(needed, node.bytes.length * 2, 64));
      grown.set(node.bytes.subarray(0, node.length));
      node.bytes = grown;
    }
    node.bytes.set(bytes, node.length);
    node.length = needed;
    node.writtenAtStep = this.step;
  }

  syncFile(node: FileNode): void {
    node.durableLength = node.length;
  }

  makeDirectory(path: string, process: string): 'created' | 'exists' {
    const { parent, name } = this.#place(path, 'mkdir');
    const taken = name === '' ? this.#root : parent.entries.get(name);
    if (taken?.kind === 'directory') return 'exists';
    if (taken !== undefined) throw diskError('EEXIST', 'mkdir', path);
    const node = this.#newDirectory();
    this.#change([{ directory: parent, name, node }], parent);
    this.#tell({ kind: 'named', path: normalPath(path), node, process });
    return 'created';
  }

  /** Creates missing directories from the top; after `stepsMax` of them it stops, as a crash would. */
  makeTree(path: string, process: string, stepsMax: number = Number.POSITIVE_INFINITY): void {
    let at = '';
    let made = 0;
    for (const part of normalPath(path).split('/')) {
      if (part === '') continue;
      at += `/${part}`;
      if (made >= stepsMax) return;
      if (this.makeDirectory(at, process) === 'created') made++;
    }
  }

  rename(from: string, to: string, process: string): void {
    const source = this.#place(from, 'rename');
    const target = this.#place(to, 'rename');
    const node = source.parent.entries.get(source.name);
    if (node === undefined) throw diskError('ENOENT', 'rename', from);
    const taken = target.parent.entries.get(target.name);
    if (taken === node) return;
    if (node.kind === 'directory' && `${normalPath(to)}/`.startsWith(`${normalPath(from)}/`)) throw diskError('EINVAL', 'rename', from);
    if (taken !== undefined) {
      if (node.kind === 'file' && taken.kind === 'directory') throw diskError('EISDIR', 'rename', to);
      if (node.kind === 'directory' && taken.kind === 'file') throw diskError('ENOTDIR', 'rename', to);
      if (taken.kind === 'directory' && taken.entries.size > 0) throw diskError('ENOTEMPTY', 'rename', to);
    }
    const gone = { directory: source.parent, name: source.name, node: undefined };
    this.#change([gone, { directory: target.parent, name: target.name, node }], target.parent);
    if (taken !== undefined) this.#tell({ kind: 'unnamed', path: normalPath(to), node: taken, process });
    this.#tell({ kind: 'moved', path: normalPath(to), from: normalPath(from), node, process });
  }

  link(from: string, to: string, process: string): 'linked' | 'exists' {
    const node = this.file(from, 'link');
    const target = this.#place(to, 'link');
    if (target.name === '' || target.parent.entries.has(target.name)) return 'exists';
    this.#change([{ directory: target.parent, name: target.name, node }], target.parent);
    this.#tell({ kind: 'named', path: normalPath(to), node, process });
    return 'linked';
  }

  unlink(path: string, process: string): 'removed' | 'absent' {
    const at = this.find(path);
    if (at === undefined) return 'absent';
    if (at.kind === 'directory') throw diskError('EISDIR', 'unlink', path);
    this.#remove(path, process);
    return 'removed';
  }

  /** Removes everything below and the directory itself, children first; after `stepsMax` names it stops, as a crash would. */
  removeTree(path: string, process: string, stepsMax: number = Number.POSITIVE_INFINITY): void {
    let left = stepsMax;
    const visit = (at: string): void => {
      const node = this.find(at);
      if (node === undefined) return;
      if (node.kind === 'directory') for (const name of [...node.entries.keys()]) visit(`${at}/${name}`);
      if (left-- > 0) this.#remove(at, process);
    };
    visit(normalPath(path));
  }

  syncDirectory(path: string): void {
    const node = this.find(path);
    if (node === undefined) throw diskError('ENOENT', 'open', path);
    if (node.kind !== 'directory') throw diskError('ENOTDIR', 'open', path);
    // What happened earlier in a directory of a sure change is sure too (F4), so the journal is walked backwards.
    const sure = new Set<DirectoryNode>();
    for (let i = this.#journal.length - 1; i >= 0; i--) {
      const change = this.#journal[i]!;
      if (!change.isDurable && change.owner !== node && !change.changes.some((c) => sure.has(c.directory))) continue;
      change.isDurable = true;
      for (const c of change.changes) sure.add(c.directory);
    }
    this.#forgetSure();
  }

  /** Everything that is there survives from now on: the state of a machine that has been left alone. */
  syncEverything(): void {
    for (const change of this.#journal) change.isDurable = true;
    this.#forgetSure();
    const visit = (node: Node): void => {
      if (node.kind === 'file') node.durableLength = node.length;
      else for (const child of node.entries.values()) visit(child);
    };
    visit(this.#root);
  }

  /** What a restart of the machine finds (F3, F4). Locks are gone. */
  powerCut(random: SeededRandom): void {
    const broken = new Set<DirectoryNode>();
    for (const change of this.#journal) {
      const survives = change.isDurable || (!change.changes.some((c) => broken.has(c.directory)) && random.chance(0.5));
      if (survives) for (const c of change.changes) applyTo(c.directory.base, c.name, c.node);
      else for (const c of change.changes) broken.add(c.directory);
    }
    this.#journal = [];
    const seen = new Set<Node>();
    const visit = (node: Node): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (node.kind === 'directory') {
        node.entries = new Map(node.base);
        for (const child of node.entries.values()) visit(child);
        return;
      }
      node.lock = undefined;
      const kept = node.durableLength + random.below(node.length - node.durableLength + 1);
      if (random.chance(0.3)) node.bytes.fill(0, node.durableLength, kept);
      node.length = kept;
      node.durableLength = kept;
    };
    visit(this.#root);
  }

  releaseLocks(process: string): void {
    const seen = new Set<Node>();
    const visit = (node: Node): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (node.kind === 'directory') for (const child of node.entries.values()) visit(child);
      else if (node.lock?.process === process) node.lock = undefined;
    };
    visit(this.#root);
  }

  #remove(path: string, process: string): void {
    const { parent, name } = this.#place(path, 'unlink');
    const node = parent.entries.get(name);
    if (node === undefined || (node.kind === 'directory' && node.entries.size > 0)) return;
    this.#change([{ directory: parent, name, node: undefined }], parent);
    this.#tell({ kind: 'unnamed', path: normalPath(path), node, process });
  }

  #place(path: string, syscall: string): { readonly parent: DirectoryNode; readonly name: string } {
    const parts = normalPath(path)
      .split('/')
      .filter((p) => p !== '');
    const name = parts.pop() ?? '';
    let node: Node = this.#root;
    for (const part of parts) {
      if (node.kind !== 'directory') throw diskError('ENOTDIR', syscall, path);
      const next = node.entries.get(part);
      if (next === undefined) throw diskError('ENOENT', syscall, path);
      node = next;
    }
    if (node.kind !== 'directory') throw diskError('ENOTDIR', syscall, path);
    return { parent: node, name };
  }

  #change(changes: NameChange['changes'], owner: DirectoryNode): void {
    for (const c of changes) applyTo(c.directory.entries, c.name, c.node);
    this.#journal.push({ changes, owner, isDurable: false });
  }

  #forgetSure(): void {
    let sure = 0;
    while (this.#journal[sure]?.isDurable) {
      for (const c of this.#journal[sure]!.changes) applyTo(c.directory.base, c.name, c.node);
      sure++;
    }
    if (sure > 0) this.#journal = this.#journal.slice(sure);
  }

  #newFile(): FileNode {
    const identity = this.#identities++;
    return { kind: 'file', identity, bytes: new Uint8Array(0), length: 0, durableLength: 0, writtenAtStep: this.step, lock: undefined };
  }

  #newDirectory(): DirectoryNode {
    return { kind: 'directory', identity: this.#identities++, entries: new Map(), base: new Map() };
  }

  #tell(change: DiskChange): void {
    for (const observer of this.observers) observer(change);
  }
}

function applyTo(entries: Map<string, Node>, name: string, node: Node | undefined): void {
  if (node === undefined) entries.delete(name);
  else entries.set(name, node);
}
