// csv-fields.ts owns what RFC 4180 says about one record: where it ends among bytes, and which fields its text holds.

const quote = 0x22;
const newline = 0x0a;

/**
 * Index of the line feed that ends the record at `start`, or of the end of the bytes; -1 when the record goes on behind them.
 *
 * Line feeds between quotes belong to the record. A quote opens a quoted field only at the beginning of a field.
 *
 * @param isLast  nothing follows the bytes
 */
export function recordEnd(
  bytes: Uint8Array,
  start: number,
  delimiter: number,
  isLast: boolean,
): { readonly end: number; readonly isOpen: boolean } {
  let isQuoted = false;
  let isFieldStart = true;
  for (let at = start; at < bytes.length; at++) {
    const c = bytes[at]!;
    if (isQuoted) {
      if (c !== quote) continue;
      if (bytes[at + 1] === quote) at++;
      else if (at + 1 === bytes.length && !isLast)
        return { end: -1, isOpen: true }; // the next byte tells whether this one closes
      else isQuoted = false;
      continue;
    }
    if (c === newline) return { end: at, isOpen: false };
    if (c === quote && isFieldStart) isQuoted = true;
    isFieldStart = c === delimiter;
  }
  return { end: isLast ? bytes.length : -1, isOpen: isQuoted };
}

/**
 * The fields of one record, without its line end.
 * @throws Error with the reason, when quotes do not follow the rules
 */
export function splitFields(text: string, delimiter: string): string[] {
  if (!text.includes('"')) return text.split(delimiter);
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    const field = text[at] === '"' ? quotedField(text, at, delimiter) : plainField(text, at, delimiter);
    fields.push(field.value);
    if (field.end >= text.length) return fields;
    at = field.end + 1;
    if (at === text.length) {
      fields.push('');
      return fields;
    }
  }
}

function plainField(text: string, start: number, delimiter: string): { value: string; end: number } {
  const found = text.indexOf(delimiter, start);
  const end = found < 0 ? text.length : found;
  const value = text.slice(start, end);
  if (value.includes('"')) throw new Error('a quote stands inside a field that does not begin with one');
  return { value, end };
}

function quotedField(text: string, start: number, delimiter: string): { value: string; end: number } {
  let value = '';
  for (let from = start + 1; ; ) {
    const close = text.indexOf('"', from);
    if (close < 0) throw new Error('a quoted field is not closed');
    value += text.slice(from, close);
    if (text[close + 1] !== '"') {
      if (close + 1 < text.length && text[close + 1] !== delimiter) throw new Error('text follows behind a closing quote');
      return { value, end: close + 1 };
    }
    value += '"';
    from = close + 2;
  }
}
