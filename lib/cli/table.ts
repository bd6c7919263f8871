/**
 * Rows as aligned columns.
 *
 * @param right  indexes of columns that hold numbers and are aligned to the right
 */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (row: readonly string[]): string =>
    head
      .map((_, i) => (right.includes(i) ? (row[i] ?? '').padStart(widths[i]!) : (row[i] ?? '').padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  return [line(head), ...rows.map(line)].join('\n');
}
