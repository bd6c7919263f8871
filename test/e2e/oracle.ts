// What the results have to be, worked out from what was sent and from nothing else.
import type { PageRow, Visit } from './jobs/visits.ts';

export const minuteMs = 60_000;
/** Visits that only move event time on; the window that they lie in never closes. */
export const lastPage = 'last';

export class Oracle {
  readonly #visits = new Map<string, Visit>();

  note(visit: Visit): void {
    this.#visits.set(visit.id, visit);
  }

  totals(): ReadonlyMap<string, number> {
    const totals = new Map<string, number>();
    for (const { user } of this.#visits.values()) totals.set(user, (totals.get(user) ?? 0) + 1);
    return totals;
  }

  pages(): readonly PageRow[] {
    const counts = new Map<string, number>();
    for (const { page, at } of this.#visits.values()) {
      if (page === lastPage) continue;
      const window = `${page} ${at - (at % minuteMs)}`;
      counts.set(window, (counts.get(window) ?? 0) + 1);
    }
    return [...counts].map(([window, visits]) => ({ page: window.split(' ')[0]!, minute: Number(window.split(' ')[1]), visits }));
  }
}

/** As lines in order, so that a difference is seen at once. */
export function inOrder(rows: ReadonlyMap<string, number> | readonly PageRow[]): string {
  const lines = Array.isArray(rows)
    ? (rows as readonly PageRow[]).map(({ page, minute, visits }) => `${page} ${minute / minuteMs}: ${visits}`)
    : [...(rows as ReadonlyMap<string, number>)].map(([user, n]) => `${user}: ${n}`);
  return lines.sort().join('\n');
}
