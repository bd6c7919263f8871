// Transactions over a strict table: at every moment, whatever head a reader has seen, each row is what it was then, or says that the reader has to begin
// anew; and whatever happens to whoever commits, in the end the rows are those of the transactions.
import { describe, expect, test } from 'vitest';
import type { RowFields } from '../../../../../lib/api/row-table.ts';
import { tagText } from '../../../../../lib/connectors/cloud/row-tags.ts';
import { keyName } from '../../../../../lib/connectors/cloud/row-writes.ts';
import { type CommitHead, headKey, headOf } from '../../../../../lib/connectors/cloud/rows/commits.ts';
import { heldRow } from '../../../../../lib/connectors/cloud/rows/held-row.ts';
import { patientItems } from '../../../../../lib/connectors/cloud/rows/patient-items.ts';
import { rowAsOf } from '../../../../../lib/connectors/cloud/rows/read-row.ts';
import {
  abortRows,
  commitRows,
  prepareRows,
  type RowOfTransaction,
  type RowTransaction,
} from '../../../../../lib/connectors/cloud/rows/transaction.ts';
import { transactionTag } from '../../../../../lib/connectors/cloud/rows/version-tags.ts';
import { SluiceError } from '../../../../../lib/core/errors.ts';
import type { Clock } from '../../../../../lib/core/ports.ts';
import { seededRandom } from '../../../../../lib/testing/seeded-random.ts';
import { FakeItems, type Weather } from './support/fake-items.ts';

const shape = { names: ['k'], sortKind: undefined };
const owner = 'shop/totals';
const clock: Clock = { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
type State = ReadonlyMap<string, string | undefined>;

interface Planned {
  readonly tag: string;
  readonly rows: readonly RowOfTransaction[];
}

const keyOf = (n: number): RowFields => new Map([['k', { kind: 'text', text: `row-${n}` }]]);

/** Rows `from` to `to`; every seventh is deleted. */
function planned(checkpoint: number, from: number, to: number, generation = 1): Planned {
  const tag = transactionTag(1, { generation, checkpoint });
  const rows = Array.from({ length: to - from }, (_, i): RowOfTransaction => {
    const n = from + i;
    const isGone = (n + checkpoint) % 7 === 0;
    const fields: RowFields = new Map([['by', { kind: 'text', text: tag }]]);
    return { key: keyOf(n), version: { tag, content: isGone ? { kind: 'gone', until: '9' } : { kind: 'row', fields } } };
  });
  return { tag, rows };
}

// Small ones and large ones over the same rows, as they may follow one another.
const rowsOfAll = 120;
const readersMax = 4;
const allKeys = Array.from({ length: rowsOfAll }, (_, n) => ({ key: keyOf(n), name: keyName(keyOf(n)) }));
const line: readonly Planned[] = [
  planned(1, 0, 12),
  planned(2, 5, 106),
  planned(3, 0, 101),
  planned(4, 95, 108),
  planned(5, 20, rowsOfAll),
];

/** What the rows are after each commit. */
const states: ReadonlyMap<string | undefined, State> = (() => {
  const all = new Map<string | undefined, State>([[undefined, new Map()]]);
  let state: State = new Map();
  for (const { tag, rows } of line) {
    state = new Map([
      ...state,
      ...rows.map(({ key, version: { content } }) => [keyName(key), content.kind === 'row' ? tag : undefined] as const),
    ]);
    all.set(tag, state);
  }
  return all;
})();

class World {
  readonly table = new FakeItems(['k']);
  /** Of the readers that have begun last. */
  readonly #heads = new Map<string, CommitHead>();
  #looks = 0;

  constructor() {
    this.table.onEffect = () => this.look();
  }

  transaction({ tag, rows }: Planned, weather: Weather = {}): RowTransaction {
    return { table: patientItems(this.table.through(weather), clock), clock, shape, owner, tag, rows, until: '9' };
  }

  get head(): CommitHead {
    const key = headKey(shape, owner);
    return headOf(key, this.table.items.get(keyName(key)));
  }

  /** Every reader that has begun so far reads every row now. */
  look(isThorough = this.#looks++ % 7 === 0): void {
    const now = this.head;
    this.#heads.set(`${now.committed} ${now.open.join()}`, now);
    if (this.#heads.size > readersMax) this.#heads.delete(this.#heads.keys().next().value!);
    if (!isThorough) return;
    for (const head of this.#heads.values()) {
      const state = states.get(head.committed)!;
      for (const [n, { key, name }] of allKeys.entries()) {
        const seen = rowAsOf(heldRow(key, this.table.items.get(name)), head);
        if (seen.kind === 'start-over' && head !== now) continue;
        const by = seen.kind === 'row' ? seen.content.fields.get('by') : undefined;
        const expected = state.get(name);
        const got = by?.kind === 'text' ? by.text : seen.kind === 'none' ? undefined : seen.kind;
        if (got !== expected)
          throw new Error(`row ${n} is ${got} to a reader of ${head.committed} (${head.open.join()}), and was ${expected}`);
      }
    }
  }

  /** Everything is in place: whoever knows no rules sees the rows, too. */
  expectSettled(tag: string): void {
    this.look(true);
    expect(this.head).toMatchObject({ committed: tag, open: [] });
    for (const [name, by] of states.get(tag)!) {
      const item = this.table.items.get(name);
      expect(item?.get('by')).toEqual(by === undefined ? undefined : { kind: 'text', text: by });
      expect(item?.has('sluice_next') ?? false).toBe(false);
    }
  }
}

class Killed extends Error {}

const lostReply = (): SluiceError => new SluiceError('STORE_UNCERTAIN', { message: 'no answer', next: 'retry-invocation' });

type When = 'before its effect' | 'within its effect' | 'behind its effect';

function strike(when: When, at: number, error: () => Error): Weather {
  const fail = (request: number): void => {
    if (request === at) throw error();
  };
  if (when === 'before its effect') return { before: fail };
  return when === 'behind its effect' ? { after: fail } : { after: fail, isHalf: (request) => request === at };
}

async function settle(world: World, one: Planned, weather: Weather = {}): Promise<void> {
  await prepareRows(world.transaction(one, weather));
  await commitRows(world.transaction(one, weather));
}

async function requestsOfLine(): Promise<number> {
  const world = new World();
  for (const one of line) await settle(world, one);
  return world.table.requests;
}

describe('transactions of rows', () => {
  test('each becomes visible in one request, whole, and no reader ever sees a part', async () => {
    const world = new World();
    for (const one of line) {
      await prepareRows(world.transaction(one));
      world.look(true);
      expect(world.head.committed).toBe(line[line.indexOf(one) - 1]?.tag);
      await commitRows(world.transaction(one));
      world.expectSettled(one.tag);
    }
  });

  test('up to 98 rows are one transaction of the table and no request before it', async () => {
    const world = new World();
    const small = planned(1, 0, 98);
    await prepareRows(world.transaction(small));
    expect(world.table.requests).toBe(0);
    await commitRows(world.transaction(small));
    expect(world.table.requests).toBe(3); // the head, the rows, the commit
  });

  describe.each(['before its effect', 'within its effect', 'behind its effect'] as const)('whoever commits is killed %s', (when) => {
    test('at each request in turn, and somebody else goes on', async () => {
      const requests = await requestsOfLine();
      expect(requests).toBeGreaterThan(20);
      for (let at = 1; at <= requests; at++) {
        const world = new World();
        const weather = strike(when, at, () => new Killed());
        for (const one of line) {
          await settle(world, one, weather).catch((error: unknown) => {
            if (!(error instanceof Killed)) throw error;
          });
          await settle(world, one);
          world.expectSettled(one.tag);
        }
      }
    });

    test('the answer of each request in turn is lost, or what it changes is left', async () => {
      const requests = await requestsOfLine();
      for (let at = 1; at <= requests; at++) {
        const world = new World();
        const weather = strike(when, at, lostReply);
        for (const one of line) await settle(world, one, weather);
        world.expectSettled(line.at(-1)!.tag);
      }
    });
  });

  test('two that are prepared at once are committed in order, whatever rows they share', async () => {
    for (const [a, b] of [
      [0, 1],
      [1, 2],
      [1, 4],
      [2, 3],
    ] as const) {
      const world = new World();
      for (const one of line.slice(0, a)) await settle(world, one);
      const pending = line.slice(a, b + 1);
      for (const one of pending) await prepareRows(world.transaction(one));
      for (const one of pending) {
        await commitRows(world.transaction(one));
        world.look(true);
      }
      expect(world.head).toMatchObject({ committed: line[b]!.tag, open: [] });
      for (const one of line.slice(b + 1)) await settle(world, one);
      world.expectSettled(line.at(-1)!.tag);
    }
  });

  test('a process that was left behind at any request sets nothing back, however much later it goes on', async () => {
    const alone = new World();
    for (const one of line.slice(0, 2)) await settle(alone, one);
    const requests = alone.table.requests;
    let frozen = 0;
    for (let at = 1; at <= requests; at++) {
      const world = new World();
      let thaw = (): void => undefined;
      const thawed = new Promise<void>((resolve) => {
        thaw = resolve;
      });
      let isFrozen = (): void => undefined;
      const freeze = new Promise<void>((resolve) => {
        isFrozen = resolve;
      });
      let own = 0;
      const weather: Weather = {
        before: async () => {
          if (++own !== at) return;
          frozen++;
          isFrozen();
          await thawed;
        },
      };
      const zombie = (async () => {
        for (const one of line.slice(0, 2)) await settle(world, one, weather);
      })();
      await Promise.race([freeze, zombie]);
      for (const one of line) await settle(world, one);
      thaw();
      await zombie;
      world.expectSettled(line.at(-1)!.tag);
    }
    expect(frozen).toBe(requests);
  });

  test('any number of processes at once, in any order of their requests', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const world = new World();
      const random = seededRandom(seed);
      const waiting: (() => void)[] = [];
      const weather: Weather = { before: () => new Promise<void>((go) => waiting.push(go)) };
      let running = 3;
      const processes = Array.from({ length: running }, async () => {
        for (const one of line) await settle(world, one, weather);
        running--;
      });
      while (running > 0) {
        for (let i = 0; i < 20; i++) await Promise.resolve();
        if (waiting.length > 0) waiting.splice(random.between(0, waiting.length - 1), 1)[0]!();
      }
      await Promise.all(processes);
      world.expectSettled(line.at(-1)!.tag);
    }
  });
});

describe('a transaction that is aborted', () => {
  const large = planned(2, 5, 106);

  test('is never seen, leaves nothing staged, and is never committed, whatever request of the abort its process died at', async () => {
    for (const when of ['before', 'after'] as const) {
      for (let at = 1; at <= 9; at++) {
        const world = new World();
        await settle(world, line[0]!);
        await prepareRows(world.transaction(large));
        const from = world.table.requests;
        const weather: Weather = {
          [when]: (request: number) => {
            if (request === from + at) throw new Killed();
          },
        };
        await abortRows(world.transaction(large, weather)).catch(() => undefined);
        await abortRows(world.transaction(large));
        await expect(commitRows(world.transaction(large))).rejects.toMatchObject({ code: 'SINK_TRANSACTION_ABORTED' });
        await prepareRows(world.transaction(large)); // by a process that was left behind
        world.expectSettled(line[0]!.tag);
      }
    }
  });

  test('one that is committed stays so', async () => {
    const world = new World();
    for (const one of line.slice(0, 2)) await settle(world, one);
    await abortRows(world.transaction(line[1]!));
    world.expectSettled(line[1]!.tag);
    await commitRows(world.transaction(line[1]!));
  });

  test('of commit and abort at once one wins', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const world = new World();
      await settle(world, line[0]!);
      await prepareRows(world.transaction(line[1]!));
      const random = seededRandom(seed);
      const waiting: (() => void)[] = [];
      const weather: Weather = { before: () => new Promise<void>((go) => waiting.push(go)) };
      let running = 2;
      const commit = commitRows(world.transaction(line[1]!, weather)).then(
        () => 'committed',
        (error: SluiceError) => error.code,
      );
      const abort = abortRows(world.transaction(line[1]!, weather));
      for (const one of [commit, abort]) void one.finally(() => running--);
      while (running > 0) {
        for (let i = 0; i < 20; i++) await Promise.resolve();
        if (waiting.length > 0) waiting.splice(random.between(0, waiting.length - 1), 1)[0]!();
      }
      await abort;
      world.expectSettled(line[(await commit) === 'committed' ? 1 : 0]!.tag);
    }
  });

  test('what an earlier generation left staged goes with the next write of the row, and is not seen meanwhile', async () => {
    const world = new World();
    await settle(world, line[0]!);
    await prepareRows(world.transaction(planned(9, 5, 106, 0)));
    world.look(true);
    for (const one of line.slice(1)) await settle(world, one);
    world.expectSettled(line.at(-1)!.tag);
  });
});

describe('what cannot be', () => {
  test('rows that another job writes are told, and nothing of the transaction is visible', async () => {
    const world = new World();
    await settle(world, line[0]!);
    world.table.onEffect = () => undefined;
    const key = keyOf(7);
    const theirs = transactionTag(2, { generation: 1, checkpoint: 1 });
    world.table.items.set(
      keyName(key),
      new Map([...key, ['sluice_tag', { kind: 'text', text: theirs }], ['sluice_rev', { kind: 'number', digits: '9' }]]),
    );
    for (const one of [planned(2, 5, 106), planned(2, 0, 12)])
      await expect(settle(world, one)).rejects.toMatchObject({ code: 'OUTPUT_CONFLICT', message: expect.stringContaining('k=row-7') });
    expect(world.head.committed).toBe(line[0]!.tag);
  });

  test('a run that has been succeeded by a later one is told', async () => {
    const world = new World();
    const later = { ...planned(1, 300, 310), tag: transactionTag(2, { generation: 1, checkpoint: 1 }) };
    world.table.onEffect = () => undefined;
    await commitRows(world.transaction(later));
    await expect(commitRows(world.transaction(line[0]!))).rejects.toMatchObject({ code: 'OUTPUT_TAKEN_OVER' });
  });

  test('rows that fit into no one request are staged, however few', async () => {
    const table = new FakeItems(['k']);
    const text = 'x'.repeat(150_000);
    const tag = transactionTag(1, { generation: 1, checkpoint: 1 });
    const rows = Array.from(
      { length: 40 },
      (_, n): RowOfTransaction => ({
        key: keyOf(n),
        version: { tag, content: { kind: 'row', fields: new Map([['text', { kind: 'text', text }]]) } },
      }),
    );
    const t: RowTransaction = { table: table.through(), clock, shape, owner, tag, rows, until: '9' };
    await prepareRows(t);
    expect(table.items.size).toBe(40);
    await commitRows(t);
    expect(table.items.get(keyName(keyOf(0)))?.has('text')).toBe(true);
  });

  test('a row whose versions do not fit together is told with its key, its bytes and the limit', async () => {
    const table = new FakeItems(['k']);
    const big = (checkpoint: number): RowTransaction => {
      const tag = transactionTag(1, { generation: 1, checkpoint });
      const fields: RowFields = new Map([['text', { kind: 'text', text: 'x'.repeat(150_000) }]]);
      const rows = Array.from(
        { length: 30 },
        (_, n): RowOfTransaction => ({ key: keyOf(n), version: { tag, content: { kind: 'row', fields } } }),
      );
      return { table: table.through(), clock, shape, owner, tag, rows, until: '9' };
    };
    await prepareRows(big(1));
    await prepareRows(big(2));
    await expect(prepareRows(big(3))).rejects.toMatchObject({
      code: 'ROW_TOO_LARGE',
      message: expect.stringMatching(/k=row-0.*3 versions.*450\d\d\d bytes.*409600/),
    });
    await commitRows(big(1));
    await commitRows(big(2));
    await prepareRows(big(3));
    await commitRows(big(3));
  });
});

describe('a later run writes a row at once, while a transaction has it in hand', () => {
  const by = (begunMs: number): RowFields => new Map([['by', { kind: 'text', text: `run ${begunMs}` }]]);
  const write = (world: World, n: number, how: 'replace' | 'merge', begunMs: number): void =>
    world.table.writeAtOnce({
      how,
      key: keyOf(n),
      fields: by(begunMs),
      tag: tagText({ begunMs, generation: 0, n: world.table.requests + 1, index: 0 }),
    });
  /** How the transaction finds the row. */
  const founds = ['with a revision', 'with a tag alone', 'not at all'] as const;

  async function worldWith(n: number, found: (typeof founds)[number]): Promise<World> {
    const world = new World();
    world.table.onEffect = () => undefined;
    if (found === 'with a revision') await settle(world, planned(1, n, n + 1));
    if (found === 'with a tag alone') write(world, n, 'replace', 0);
    return world;
  }

  test.each([
    ['in one request', 17, commitRows],
    ['staged', 106, prepareRows],
  ] as const)('it stays as the later run left it, and the transaction is told (%s)', async (_, to, carryOut) => {
    const n = 8;
    for (const how of ['replace', 'merge'] as const)
      for (const found of founds)
        for (const request of [1, 2, 3]) {
          const world = await worldWith(n, found);
          const at = world.table.requests + request;
          const weather: Weather = { before: (asked) => (asked === at ? write(world, n, how, 2) : undefined) };
          await expect(carryOut(world.transaction(planned(2, 5, to), weather))).rejects.toMatchObject({ code: 'OUTPUT_CONFLICT' });
          expect(world.table.items.get(keyName(keyOf(n)))?.get('by'), `${how} before request ${request}, found ${found}`).toEqual(
            by(2).get('by'),
          );
        }
  });

  test('an earlier run that does so is overwritten, as ever', async () => {
    const n = 8;
    for (const found of founds) {
      const world = await worldWith(n, found);
      const at = world.table.requests + 3;
      const weather: Weather = { before: (asked) => (asked === at ? write(world, n, 'merge', 0) : undefined) };
      const transaction = planned(2, 5, 17);
      await commitRows(world.transaction(transaction, weather));
      expect(world.table.items.get(keyName(keyOf(n)))?.get('by')).toEqual({ kind: 'text', text: transaction.tag });
    }
  });
});
