// expressions.ts evaluates what requests to a table say of items: conditions, key conditions and updates, as far as the runtime and its sinks use
// them. Anything else is an error and no guess.

import type { AttributeValue } from '@aws-sdk/client-dynamodb';

export type Item = Readonly<Record<string, AttributeValue>>;

/** What the names and values of an expression stand for, and the item it is about. */
export interface Scope {
  readonly item: Item | undefined;
  readonly names: Readonly<Record<string, string>> | undefined;
  readonly values: Readonly<Record<string, AttributeValue>> | undefined;
}

type Operand = (scope: Scope) => AttributeValue | undefined;
type Condition = (scope: Scope) => boolean;
type Change = (scope: Scope, changed: Record<string, AttributeValue>) => void;

/** Texts are few, and evaluated a million times. */
function remembered<T>(parse: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const parsed = known.get(text) ?? parse(text);
    known.set(text, parsed);
    return parsed;
  };
}

export const conditionOf: (text: string) => Condition = remembered((text) => {
  const reader = new Reader(text);
  const condition = either(reader);
  reader.end();
  return condition;
});

/** @returns what makes the new item of the old one */
export const updateOf: (text: string) => (scope: Scope) => Item = remembered((text) => {
  const reader = new Reader(text);
  const changes: Change[] = [];
  while (!reader.isAtEnd) {
    if (reader.takes('SET')) changes.push(...listOf(reader, assignment));
    else if (reader.takes('REMOVE')) changes.push(...listOf(reader, removal));
    else reader.refuse();
  }
  return (scope) => {
    const changed: Record<string, AttributeValue> = { ...scope.item };
    for (const change of changes) change(scope, changed);
    return changed;
  };
});

class Reader {
  readonly #text: string;
  readonly #words: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#words = text.match(/[#:]?\w+|<=|>=|<>|[=<>+(),]/g) ?? [];
    if (this.#words.join('') !== text.replaceAll(/\s/g, '')) this.refuse();
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#words.length;
  }

  get next(): string {
    return this.#words[this.#at] ?? '';
  }

  take(): string {
    if (this.isAtEnd) this.refuse();
    return this.#words[this.#at++] as string;
  }

  takes(word: string): boolean {
    const isNext = this.next === word;
    if (isNext) this.#at++;
    return isNext;
  }

  expect(word: string): void {
    if (!this.takes(word)) this.refuse();
  }

  end(): void {
    if (!this.isAtEnd) this.refuse();
  }

  refuse(): never {
    throw new Error(`the stand-in of the table does not know this expression at '${this.next}': ${this.#text}`);
  }
}

function listOf<T>(reader: Reader, one: (reader: Reader) => T): T[] {
  const list = [one(reader)];
  while (reader.takes(',')) list.push(one(reader));
  return list;
}

const nameOf = (word: string, { names }: Scope): string => (word.startsWith('#') ? (names?.[word] ?? word) : word);

function either(reader: Reader): Condition {
  const parts = [both(reader)];
  while (reader.takes('OR')) parts.push(both(reader));
  return (scope) => parts.some((part) => part(scope));
}

function both(reader: Reader): Condition {
  const parts = [test(reader)];
  while (reader.takes('AND')) parts.push(test(reader));
  return (scope) => parts.every((part) => part(scope));
}

function test(reader: Reader): Condition {
  if (reader.takes('(')) {
    const inner = either(reader);
    reader.expect(')');
    return inner;
  }
  const name = reader.take();
  if (reader.next === '(') return functionOf(reader, name);
  const left = operandOf(name);
  const sign = reader.take();
  const right = operandOf(reader.take());
  if (sign === 'BETWEEN') {
    reader.expect('AND');
    const most = operandOf(reader.take());
    return (scope) => compared(left, right, scope, (order) => order >= 0) && compared(left, most, scope, (order) => order <= 0);
  }
  const holds = signs[sign] ?? reader.refuse();
  return (scope) => compared(left, right, scope, holds);
}

const signs: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

function functionOf(reader: Reader, name: string): Condition {
  reader.expect('(');
  const word = reader.take();
  const argument = reader.takes(',') ? operandOf(reader.take()) : undefined;
  reader.expect(')');
  const isThere = (scope: Scope): boolean => scope.item?.[nameOf(word, scope)] !== undefined;
  if (name === 'attribute_exists') return isThere;
  if (name === 'attribute_not_exists') return (scope) => !isThere(scope);
  if (name !== 'begins_with' || argument === undefined) return reader.refuse();
  return (scope) => (operandOf(word)(scope)?.S ?? '').startsWith(argument(scope)?.S ?? '\0');
}

function operandOf(word: string): Operand {
  return word.startsWith(':') ? ({ values }) => values?.[word] : (scope) => scope.item?.[nameOf(word, scope)];
}

/** Of different types, or of what is not there, nothing holds. */
function compared(left: Operand, right: Operand, scope: Scope, holds: (order: number) => boolean): boolean {
  const [a, b] = [left(scope), right(scope)];
  if (a?.S !== undefined && b?.S !== undefined) return holds(compareTexts(a.S, b.S));
  if (a?.N !== undefined && b?.N !== undefined) return holds(Number(a.N) - Number(b.N));
  return false;
}

/** By UTF-8 bytes. */
export function compareTexts(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function assignment(reader: Reader): Change {
  const name = reader.take();
  reader.expect('=');
  const first = addend(reader);
  const second = reader.takes('+') ? addend(reader) : undefined;
  return (scope, changed) => {
    const value = first(scope);
    if (value === undefined) throw new Error(`nothing to set ${nameOf(name, scope)} to`);
    changed[nameOf(name, scope)] = second === undefined ? value : { N: String(Number(value.N) + Number(second(scope)?.N)) };
  };
}

function addend(reader: Reader): Operand {
  const word = reader.take();
  if (word !== 'if_not_exists') return operandOf(word);
  reader.expect('(');
  const own = operandOf(reader.take());
  reader.expect(',');
  const otherwise = operandOf(reader.take());
  reader.expect(')');
  return (scope) => own(scope) ?? otherwise(scope);
}

function removal(reader: Reader): Change {
  const name = reader.take();
  return (scope, changed) => {
    delete changed[nameOf(name, scope)];
  };
}
