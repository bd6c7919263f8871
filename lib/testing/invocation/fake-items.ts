// Job items and objects of a fake service.

import type { JobItemContent, StoredJobItem } from '../../invocation/ports.ts';
import { checkJobItem, checkObjectName, compareTexts } from '../../invocation/request-limits.ts';
import { copyOf, type FakeHost } from './fake-hooks.ts';

const kept = (i: StoredJobItem): StoredJobItem => ({ name: i.name, revision: i.revision, change: i.change, bytes: copyOf(i.bytes) });

export class FakeItems {
  readonly #host: FakeHost;
  readonly #items = new Map<string, StoredJobItem>();
  #revisions = 0;

  constructor(host: FakeHost) {
    this.#host = host;
  }

  get(name: string): StoredJobItem | undefined {
    checkJobItem(name);
    const held = this.#items.get(name);
    return held === undefined ? undefined : kept(held);
  }

  put(p: {
    readonly name: string;
    readonly content: JobItemContent;
    readonly expects: number | 'absent' | 'any';
  }): { readonly kind: 'stored'; readonly revision: number } | { readonly kind: 'conflict' } {
    checkJobItem(p.name, p.content);
    const was = this.#items.get(p.name);
    if (p.expects !== 'any' && (was?.revision ?? 'absent') !== p.expects) return { kind: 'conflict' };
    const now = kept({ ...p.content, name: p.name, revision: ++this.#revisions });
    this.#items.set(p.name, now);
    this.#host.tell({ kind: 'item', name: p.name, content: now, revision: now.revision, was });
    return { kind: 'stored', revision: now.revision };
  }

  list(prefix: string): readonly StoredJobItem[] {
    return [...this.#items.values()]
      .filter((i) => i.name.startsWith(prefix))
      .sort((a, b) => compareTexts(a.name, b.name))
      .map(kept);
  }

  remove(p: { readonly name: string; readonly expects: number | 'any' }): 'removed' | 'conflict' {
    checkJobItem(p.name);
    const was = this.#items.get(p.name);
    if (was === undefined || (p.expects !== 'any' && was.revision !== p.expects)) return 'conflict';
    this.#items.delete(p.name);
    this.#host.tell({ kind: 'item-removed', name: p.name, was });
    return 'removed';
  }

  /** For auditors: every item in order of name. Not copied. */
  items(): readonly StoredJobItem[] {
    return [...this.#items.values()].sort((a, b) => compareTexts(a.name, b.name));
  }
}

export class FakeObjects {
  readonly #host: FakeHost;
  readonly #objects = new Map<string, Uint8Array>();

  constructor(host: FakeHost) {
    this.#host = host;
  }

  putIfAbsent(name: string, bytes: Uint8Array): 'stored' | 'exists' {
    checkObjectName(name);
    if (this.#objects.has(name)) return 'exists';
    const now = copyOf(bytes);
    this.#objects.set(name, now);
    this.#host.tell({ kind: 'object', name, bytes: now });
    return 'stored';
  }

  get(name: string): Uint8Array | undefined {
    checkObjectName(name);
    const held = this.#objects.get(name);
    return held === undefined ? undefined : copyOf(held);
  }

  remove(name: string): void {
    checkObjectName(name);
    const was = this.#objects.get(name);
    if (was === undefined) return;
    this.#objects.delete(name);
    this.#host.tell({ kind: 'object-removed', name, was });
  }

  list(prefix: string): readonly string[] {
    return [...this.#objects.keys()].filter((n) => n.startsWith(prefix)).sort(compareTexts);
  }

  /** For auditors: bytes of an object. Not copied. */
  peek(name: string): Uint8Array | undefined {
    return this.#objects.get(name);
  }
}
