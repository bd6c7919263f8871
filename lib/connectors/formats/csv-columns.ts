import { nameOfKind } from '../../core/kinds.ts';

export type CsvColumnType = 'string' | 'number' | 'bigint' | 'boolean';

const numberForm = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const bigintForm = /^[+-]?[0-9]+$/;

/**
 * The value of a field of a column.
 * @throws Error with the reason, when the text is not of the type
 */
export function fieldValue(text: string, type: CsvColumnType, column: string): string | number | bigint | boolean {
  switch (type) {
    case 'string':
      return text;
    case 'number':
      if (numberForm.test(text)) return Number(text);
      break;
    case 'bigint':
      if (bigintForm.test(text)) return BigInt(text.startsWith('+') ? text.slice(1) : text);
      break;
    case 'boolean': {
      const word = text.toLowerCase();
      if (word === 'true' || word === 'false') return word === 'true';
    }
  }
  throw new Error(`column '${column}' is ${text === '' ? 'empty' : `'${text.slice(0, 40)}'`}, not a ${type}`);
}

/**
 * The text of a field, quoted where it must be. `null` and `undefined` are empty.
 * @throws Error with the reason, for a value that a field cannot carry
 */
export function fieldText(value: unknown, delimiter: string): string {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw new Error('it holds half of a surrogate pair, which UTF-8 cannot carry');
      return mustBeQuoted(value, delimiter) ? `"${value.replaceAll('"', '""')}"` : value;
    case 'number':
      if (Number.isFinite(value)) return String(value);
      throw new Error(`it is ${value}`);
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'undefined':
      return '';
    default:
      if (value === null) return '';
      if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
      throw new Error(`it is ${nameOfKind(value)}`);
  }
}

function mustBeQuoted(value: string, delimiter: string): boolean {
  return value.includes(delimiter) || value.includes('"') || value.includes('\n') || value.includes('\r');
}
