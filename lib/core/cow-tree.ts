// cow-tree.ts owns an ordered map that can be looked at while it changes: a B+tree that copies what it writes. Map state keeps its
// entries in one, timers their index, and a running checkpoint reads a snapshot of either while records go on being processed.
//
//   T1  Entries are in the order of JavaScript's `<` on their keys, which for binary strings is byte order.
//   T2  A node is changed only by the tree whose token it carries. A snapshot gives the tree a new token, so that each node is copied
//       the first time it is written afterwards, and the snapshot keeps the old one.
//   T3  Leaves are all at the same depth, no node is empty (a tree without entries has no root), and no node has more than `fanOut`
//       entries.
//   T4  `keys[i]` of an inner node is above every key in the children up to i and not above any in child i + 1. It need not occur.

const fanOut = 32; // a copied path costs this much per level; less makes trees deep, more makes the first write after a snapshot dear
const mergeBelow = 8; // a node this small joins a neighbour, when both fit with room for growth
const mergedMax = 24;

class Leaf<V> {
  readonly isLeaf = true;
  readonly token: number;
  readonly keys: string[];
  readonly values: V[];

  constructor(token: number, keys: string[], values: V[]) {
    this.token = token;
    this.keys = keys;
    this.values = values;
  }
}

class Inner<V> {
  readonly isLeaf = false;
  readonly token: number;
  /** One less than there are children. */
  readonly keys: string[];
  readonly children: Node<V>[];

  constructor(token: number, keys: string[], children: Node<V>[]) {
    this.token = token;
    this.keys = keys;
    this.children = children;
  }
}

type Node<V> = Leaf<V> | Inner<V>;

interface Split<V> {
  readonly key: string;
  readonly right: Node<V>;
}

let lastToken = 0;

/** What can be asked of a tree or of a snapshot of one. */
export class ReadonlyCowTree<V> {
  protected root: Node<V> | undefined;
  protected count: number;

  protected constructor(root: Node<V> | undefined, count: number) {
    this.root = root;
    this.count = count;
  }

  get size(): number {
    return this.count;
  }

  get(key: string): V | undefined {
    const leaf = leafOf(this.root, key);
    if (leaf === undefined) return undefined;
    const i = lowerBound(leaf.keys, key);
    return leaf.keys[i] === key ? leaf.values[i] : undefined;
  }

  has(key: string): boolean {
    const leaf = leafOf(this.root, key);
    return leaf !== undefined && leaf.keys[lowerBound(leaf.keys, key)] === key;
  }

  /** The smallest key; with `firstValue`, the way to look at the first entry without allocating one. */
  firstKey(): string | undefined {
    return firstLeaf(this.root)?.keys[0];
  }

  firstValue(): V | undefined {
    return firstLeaf(this.root)?.values[0];
  }

  first(): readonly [string, V] | undefined {
    const leaf = firstLeaf(this.root);
    return leaf === undefined ? undefined : [leaf.keys[0]!, leaf.values[0]!];
  }

  /** The entries in key order, from the first key that is not below `from` on. */
  entries(from = ''): IterableIterator<[string, V]> {
    return walk(this.root, from);
  }

  [Symbol.iterator](): IterableIterator<[string, V]> {
    return this.entries();
  }

  /** Calls `visit` for each entry in key order; faster than an iterator. The tree must not change meanwhile, a snapshot never does. */
  forEach(visit: (value: V, key: string) => void): void {
    if (this.root !== undefined) visitAll(this.root, visit);
  }
}

class Snapshot<V> extends ReadonlyCowTree<V> {
  static of<V>(root: Node<V> | undefined, count: number): ReadonlyCowTree<V> {
    return new Snapshot(root, count);
  }
}

/** The ordered map. Keys are strings compared by code unit; one tree has one writer. */
export class CowTree<V> extends ReadonlyCowTree<V> {
  #token: number = ++lastToken;

  constructor() {
    super(undefined, 0);
  }

  /** @returns true when the key was not there before */
  set(key: string, value: V): boolean {
    if (this.root === undefined) {
      this.root = new Leaf(this.#token, [key], [value]);
      this.count = 1;
      return true;
    }
    const before = this.count;
    const root = this.#writable(this.root);
    this.root = root;
    const split = this.#insert(root, key, value);
    if (split !== undefined) this.root = new Inner(this.#token, [split.key], [root, split.right]);
    return this.count !== before;
  }

  /** @returns true when the key was there */
  delete(key: string): boolean {
    if (!this.has(key)) return false;
    this.#remove(key);
    return true;
  }

  /** Takes the first entry out. */
  deleteFirst(): readonly [string, V] | undefined {
    const first = this.first();
    if (first !== undefined) this.#remove(first[0]);
    return first;
  }

  clear(): void {
    this.root = undefined;
    this.count = 0;
  }

  /** The tree as it is now, for ever; costs nothing now, and a copy of each node that is written for the first time later. */
  snapshot(): ReadonlyCowTree<V> {
    this.#token = ++lastToken;
    return Snapshot.of(this.root, this.count);
  }

  /** The entries that are present now, in key order: later changes are not seen by an iteration that has begun. */
  override entries(from = ''): IterableIterator<[string, V]> {
    return this.snapshot().entries(from);
  }

  #writable(node: Node<V>): Node<V> {
    if (node.token === this.#token) return node;
    return node.isLeaf
      ? new Leaf(this.#token, node.keys.slice(), node.values.slice())
      : new Inner(this.#token, node.keys.slice(), node.children.slice());
  }

  /** Puts an entry below a writable node; the right half when the node had to be split. */
  #insert(node: Node<V>, key: string, value: V): Split<V> | undefined {
    if (node.isLeaf) return this.#insertIntoLeaf(node, key, value);
    const i = upperBound(node.keys, key);
    const child = this.#writable(node.children[i]!);
    node.children[i] = child;
    const split = this.#insert(child, key, value);
    if (split === undefined) return undefined;
    insertAt(node.keys, i, split.key);
    insertAt(node.children, i + 1, split.right);
    if (node.children.length <= fanOut) return undefined;
    const half = splitPoint(node.children.length, i === node.keys.length - 1);
    const children = node.children.splice(half);
    const keys = node.keys.splice(half - 1);
    return { key: keys.shift()!, right: new Inner(this.#token, keys, children) };
  }

  #insertIntoLeaf(leaf: Leaf<V>, key: string, value: V): Split<V> | undefined {
    const i = lowerBound(leaf.keys, key);
    if (leaf.keys[i] === key) {
      leaf.values[i] = value;
      return undefined;
    }
    this.count++;
    insertAt(leaf.keys, i, key);
    insertAt(leaf.values, i, value);
    if (leaf.keys.length <= fanOut) return undefined;
    const half = splitPoint(leaf.keys.length, i === leaf.keys.length - 1);
    const right = new Leaf(this.#token, leaf.keys.splice(half), leaf.values.splice(half));
    return { key: right.keys[0]!, right };
  }

  /** Takes out an entry that is there. */
  #remove(key: string): void {
    let root = this.#writable(this.root!);
    this.#removeBelow(root, key);
    this.count--;
    while (!root.isLeaf && root.children.length === 1) root = root.children[0]!;
    this.root = this.count === 0 ? undefined : root;
  }

  #removeBelow(node: Node<V>, key: string): void {
    if (node.isLeaf) {
      const at = lowerBound(node.keys, key);
      removeAt(node.keys, at);
      removeAt(node.values, at);
      return;
    }
    const i = upperBound(node.keys, key);
    const child = this.#writable(node.children[i]!);
    node.children[i] = child;
    this.#removeBelow(child, key);
    const left = sizeOf(child);
    if (left === 0) {
      removeAt(node.children, i);
      if (node.keys.length > 0) removeAt(node.keys, Math.max(0, i - 1));
    } else if (left < mergeBelow && node.children.length > 1) {
      this.#merge(node, i > 0 ? i - 1 : 0);
    }
  }

  /** Joins child `i` with the one behind it, when both fit. */
  #merge(node: Inner<V>, i: number): void {
    const right = node.children[i + 1]!;
    if (sizeOf(node.children[i]!) + sizeOf(right) > mergedMax) return;
    const left = this.#writable(node.children[i]!);
    const between = node.keys[i]!;
    if (left.isLeaf) {
      left.keys.push(...right.keys);
      left.values.push(...(right as Leaf<V>).values);
    } else {
      left.keys.push(between, ...right.keys);
      left.children.push(...(right as Inner<V>).children);
    }
    node.children[i] = left;
    removeAt(node.children, i + 1);
    removeAt(node.keys, i);
  }
}

/** `splice` without its cost: the arrays are short, and it would make one more each time. */
function insertAt<T>(array: T[], at: number, item: T): void {
  array.push(item);
  for (let i = array.length - 1; i > at; i--) array[i] = array[i - 1]!;
  array[at] = item;
}

function removeAt<T>(array: T[], at: number): void {
  for (let i = at + 1; i < array.length; i++) array[i - 1] = array[i]!;
  array.pop();
}

function sizeOf<V>(node: Node<V>): number {
  return node.isLeaf ? node.keys.length : node.children.length;
}

/** The middle, or, when entries arrive in order, the end: full nodes instead of half empty ones. */
function splitPoint(length: number, atEnd: boolean): number {
  return atEnd ? length - 1 : length >>> 1;
}

/** The first index whose key is not below `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first index whose key is above `key`. */
function upperBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function leafOf<V>(root: Node<V> | undefined, key: string): Leaf<V> | undefined {
  let node = root;
  while (node !== undefined && !node.isLeaf) node = node.children[upperBound(node.keys, key)]!;
  return node;
}

function firstLeaf<V>(root: Node<V> | undefined): Leaf<V> | undefined {
  let node = root;
  while (node !== undefined && !node.isLeaf) node = node.children[0]!;
  return node;
}

function visitAll<V>(node: Node<V>, visit: (value: V, key: string) => void): void {
  if (!node.isLeaf) for (const child of node.children) visitAll(child, visit);
  else for (let i = 0; i < node.keys.length; i++) visit(node.values[i]!, node.keys[i]!);
}

function* walk<V>(root: Node<V> | undefined, from: string): Generator<[string, V], void> {
  const path: { readonly node: Inner<V>; next: number }[] = [];
  let node = root;
  let i = 0;
  while (node !== undefined && !node.isLeaf) {
    const child = upperBound(node.keys, from);
    path.push({ node, next: child + 1 });
    node = node.children[child]!;
  }
  if (node !== undefined) i = lowerBound(node.keys, from);
  while (node !== undefined) {
    for (; i < node.keys.length; i++) yield [node.keys[i]!, node.values[i]!];
    i = 0;
    node = nextLeaf(path);
  }
}

function nextLeaf<V>(path: { readonly node: Inner<V>; next: number }[]): Leaf<V> | undefined {
  while (path.length > 0 && path.at(-1)!.next === path.at(-1)!.node.children.length) path.pop();
  const last = path.at(-1);
  if (last === undefined) return undefined;
  let node = last.node.children[last.next++]!;
  while (!node.isLeaf) {
    path.push({ node, next: 1 });
    node = node.children[0]!;
  }
  return node;
}
