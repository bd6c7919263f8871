import type { RowLeft, RowTable, RowWrite } from '../../../../../lib/api/row-table.ts';

/** Keeps what the service would, by the same condition. */
export class FakeRows implements RowTable {
  readonly rows = new Map<string, RowWrite>();

  write(rows: readonly RowWrite[]): Promise<readonly RowLeft[]> {
    const left: RowLeft[] = [];
    for (const row of rows) {
      const { tag, key, alsoOver: { from, to } = { from: '', to: '' } } = row;
      const name = JSON.stringify([...key]);
      const held = this.rows.get(name)?.tag;
      if (held === undefined || held <= tag || (held >= from && held <= to)) this.rows.set(name, row);
      else left.push({ key, held });
    }
    return Promise.resolve(left);
  }

  told(): readonly unknown[] {
    return [...this.rows.values()].map(({ key, fields }) => {
      const [user, clicks] = [key.get('user'), fields.get('clicks')];
      return [user?.kind === 'text' ? user.text : user, clicks?.kind === 'number' ? Number(clicks.digits) : [...fields.keys()].join()];
    });
  }
}
