// The queue of one job as a table. A delivery is a row that is not visible for a while; its receipt is the row and how often it has been handed
// out, so that a receipt grows stale by itself when the row is handed out again.

import type { StatementSync } from 'node:sqlite';
import type { Clock } from '../../core/ports.ts';
import type { Delivery, Exchange, OutgoingMessage } from '../../invocation/ports.ts';
import { checkMessages, checkReceive } from '../../invocation/request-limits.ts';
import { rowsOf } from './rows.ts';
import type { StoreFile } from './store-file.ts';

export interface QueueTimes {
  /** How long a delivery is kept from others, ms. */
  readonly visibilityMs: number;
  /** How long the id of an accepted message is remembered, ms. */
  readonly dedupMs: number;
}

type Row = { readonly serial: number; readonly bytes: Uint8Array; readonly receives: number; readonly visibleAtMs: number };

// Walks from lane to lane along the index, so that a long queue of few lanes is not read. A lane whose oldest message is in flight or put off
// has nothing to give. What became visible first comes first, so that a lane that fails again and again does not keep the others waiting.
const lanesSql = `
WITH RECURSIVE lanes (lane) AS (
  SELECT min(lane) FROM messages WHERE job = ?1
  UNION ALL
  SELECT (SELECT min(m.lane) FROM messages m WHERE m.job = ?1 AND m.lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL
)
SELECT lanes.lane AS lane FROM lanes
JOIN messages oldest ON oldest.serial = (SELECT min(m.serial) FROM messages m WHERE m.job = ?1 AND m.lane = lanes.lane)
WHERE oldest.visible_at_ms <= ?2 ORDER BY oldest.visible_at_ms, oldest.serial`;

export class SqliteExchange implements Exchange {
  readonly #file: StoreFile;
  readonly #job: number;
  readonly #clock: Clock;
  readonly #times: QueueTimes;
  readonly #forget: StatementSync;
  readonly #remember: StatementSync;
  readonly #insert: StatementSync;
  readonly #lanes: StatementSync;
  readonly #oldest: StatementSync;
  readonly #deliver: StatementSync;
  readonly #settle: StatementSync;
  readonly #release: StatementSync;

  constructor(file: StoreFile, job: number, clock: Clock, times: QueueTimes) {
    this.#file = file;
    this.#job = job;
    this.#clock = clock;
    this.#times = times;
    this.#forget = file.prepare('DELETE FROM accepted WHERE job = ? AND at_ms <= ?');
    this.#remember = file.prepare('INSERT INTO accepted (job, id, at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
    this.#insert = file.prepare('INSERT INTO messages (job, lane, bytes, visible_at_ms, receives) VALUES (?, ?, ?, ?, 0)');
    this.#lanes = file.prepare(lanesSql);
    this.#oldest = file.prepare(
      `SELECT serial, bytes, receives, visible_at_ms AS "visibleAtMs" FROM messages WHERE job = ? AND lane = ? ORDER BY serial LIMIT ?`,
    );
    this.#deliver = file.prepare('UPDATE messages SET visible_at_ms = ?, receives = receives + 1 WHERE serial = ?');
    this.#settle = file.prepare('DELETE FROM messages WHERE serial = ? AND receives = ? AND job = ?');
    this.#release = file.prepare('UPDATE messages SET visible_at_ms = ? WHERE serial = ? AND receives = ? AND job = ?');
  }

  async send(messages: readonly OutgoingMessage[]): Promise<{ readonly left: readonly number[] }> {
    checkMessages(messages);
    this.#file.write(() => {
      const now = this.#now();
      this.#forget.run(this.#job, now - this.#times.dedupMs);
      for (const m of messages) {
        if (this.#remember.run(this.#job, m.id, now).changes > 0) this.#insert.run(this.#job, m.group, m.bytes, now);
      }
    });
    return { left: [] };
  }

  async receive(p: { readonly max: number }): Promise<readonly Delivery[]> {
    checkReceive(p.max);
    // An idle receiver asks often; it takes the writers' lock only when there is something.
    if (this.#file.read(() => this.#lanes.get(this.#job, this.#now())) === undefined) return [];
    return this.#file.write(() => {
      const now = this.#now();
      const deliveries: Delivery[] = [];
      for (const { lane } of [...rowsOf<{ readonly lane: string }>(this.#lanes, this.#job, now)]) {
        for (const row of [...rowsOf<Row>(this.#oldest, this.#job, lane, p.max - deliveries.length)]) {
          if (row.visibleAtMs > now) break;
          this.#deliver.run(now + this.#times.visibilityMs, row.serial);
          const receives = row.receives + 1;
          deliveries.push({ group: lane, bytes: row.bytes, receipt: `${row.serial}.${receives}`, receives });
        }
        if (deliveries.length === p.max) break;
      }
      return deliveries;
    });
  }

  async settle(receipts: readonly string[]): Promise<void> {
    this.#file.write(() => {
      for (const receipt of receipts) this.#settle.run(...deliveryOf(receipt), this.#job);
    });
  }

  async release(p: { readonly receipts: readonly string[]; readonly delayMs: number }): Promise<void> {
    this.#file.write(() => {
      const visibleAtMs = this.#now() + Math.ceil(p.delayMs);
      for (const receipt of p.receipts) this.#release.run(visibleAtMs, ...deliveryOf(receipt), this.#job);
    });
  }

  #now(): number {
    return Math.floor(this.#clock.now());
  }
}

/** Serial and count of a receipt; of what is no receipt of ours, numbers that no row has. */
function deliveryOf(receipt: string): [number, number] {
  const [, serial, receives] = /^(\d{1,15})\.(\d{1,15})$/.exec(receipt) ?? [];
  return [Number(serial ?? -1), Number(receives ?? -1)];
}
