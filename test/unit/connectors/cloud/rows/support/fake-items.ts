// A table by the rules of the service: conditions, limits, all or nothing. What a request meets is for the test to say.
import {
  type ItemChange,
  type ItemTable,
  type RowFields,
  type RowWrite,
  rowRevisionAttribute,
  rowTagAttribute,
  type TableItem,
} from '../../../../../../lib/api/row-table.ts';
import { keyName } from '../../../../../../lib/connectors/cloud/row-writes.ts';
import { readItem } from '../../../../../../lib/connectors/cloud/rows/held-row.ts';
import { itemBytes, itemBytesMax } from '../../../../../../lib/connectors/cloud/rows/item-size.ts';
import { SluiceError } from '../../../../../../lib/core/errors.ts';
import { MiB } from '../../../../../../lib/core/limits.ts';

/** Called around each request; may throw in the place of its answer, before or after its effect. */
export interface Weather {
  before?(request: number): void | Promise<void>;
  after?(request: number): void;
  /** Whether only half of the changes happen that are each by itself, and nobody answers. */
  isHalf?(request: number): boolean;
}

export class FakeItems {
  readonly items = new Map<string, TableItem>();
  requests = 0;
  readonly #names: readonly string[];
  /** Called when an effect has happened. */
  onEffect: () => void = () => undefined;

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  through(weather: Weather = {}): ItemTable {
    const request = async <T>(effect: () => T): Promise<T> => {
      const n = ++this.requests;
      await weather.before?.(n);
      const answer = effect();
      this.onEffect();
      weather.after?.(n);
      return answer;
    };
    return {
      read: (keys) => request(() => this.#read(keys)),
      changeEach: (changes) => {
        const isHalf = weather.isHalf?.(this.requests + 1) === true;
        const each = request(() => changes.filter((_, i) => !isHalf || i % 2 === 1).map((change) => this.#each(change)));
        return each.catch((error: unknown) => {
          if ((error as { readonly code?: string }).code !== 'STORE_UNCERTAIN') throw error;
          return changes.map(() => 'left' as const);
        });
      },
      changeAll: (changes) => request(() => this.#all(changes)),
    };
  }

  #read(keys: readonly RowFields[]): readonly (TableItem | undefined)[] {
    const names = keys.map(keyName);
    if (new Set(names).size < names.length) throw invalid('a key is asked for twice');
    return names.map((name) => this.items.get(name));
  }

  #each(change: ItemChange): 'changed' | 'conflict' {
    this.#check(change);
    if (!this.#holds(change)) return 'conflict';
    this.items.set(this.#name(change), change.item);
    return 'changed';
  }

  #all(changes: readonly ItemChange[]): 'changed' | 'conflict' {
    for (const change of changes) this.#check(change);
    if (changes.length > 100) throw invalid(`${changes.length} items in a transaction`);
    if (changes.reduce((sum, { item }) => sum + itemBytes(item), 0) > 4 * MiB) throw invalid('a transaction of more than 4 MB');
    const names = changes.map((change) => this.#name(change));
    if (new Set(names).size < names.length) throw invalid('a transaction names an item twice');
    if (!changes.every((change) => this.#holds(change))) return 'conflict';
    for (const [i, { item }] of changes.entries()) this.items.set(names[i]!, item);
    return 'changed';
  }

  #check({ item, expects }: ItemChange): void {
    const bytes = itemBytes(item);
    if (bytes > itemBytesMax) throw invalid(`an item of ${bytes} bytes`);
    if (revisionOf(item) !== (expects.revision ?? 0) + 1) throw invalid('a revision that is not the next one');
  }

  #holds({ item, expects }: ItemChange): boolean {
    const read = readItem(this.items.get(this.#name({ item })));
    return read.revision === expects.revision && read.tag === expects.tag;
  }

  /** As a sink that writes at once does: it knows no revisions. */
  writeAtOnce({ how, key, fields, tag }: Omit<RowWrite, 'alsoOver'>): void {
    const held = this.items.get(keyName(key));
    const kept = how === 'merge' ? (held ?? []) : [];
    this.items.set(keyName(key), new Map([...kept, ...key, ...fields, [rowTagAttribute, { kind: 'text', text: tag }]]));
  }

  #name({ item }: Pick<ItemChange, 'item'>): string {
    return keyName(new Map(this.#names.map((name) => [name, item.get(name)!])));
  }
}

function revisionOf(item: TableItem): number {
  const value = item.get(rowRevisionAttribute);
  return value?.kind === 'number' ? Number(value.digits) : Number.NaN;
}

function invalid(message: string): SluiceError {
  return new SluiceError('STORE_REQUEST_INVALID', { message, next: 'report-a-bug' });
}
