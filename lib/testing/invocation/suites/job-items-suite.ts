import assert from 'node:assert/strict';
import type { JobItemContent, JobItems } from '../../../invocation/ports.ts';
import type { SuiteRunner } from '../../suites/file-system-suite.ts';
import { isRefused, type MakePorts, type Rule, suiteOf, text, textOf } from './support.ts';

/** Registers the tests of the job-items port for one adapter. */
export const jobItemsSuite: (name: string, runner: SuiteRunner, make: MakePorts) => void = suiteOf('the job-items port', (rule) => {
  conditions(rule);
  namesAndRemoval(rule);
});

const content = (s: string, change = ''): JobItemContent => ({ bytes: text(s), change });

async function store(items: JobItems, name: string, s: string, expects: number | 'absent' | 'any' = 'any'): Promise<number> {
  const put = await items.put({ name, content: content(s), expects });
  assert.equal(put.kind, 'stored');
  return put.kind === 'stored' ? put.revision : Number.NaN;
}

function conditions(rule: Rule): void {
  rule('an item that was put is what every connection gets, with its revision and its change', async ({ ports, elsewhere }) => {
    assert.equal(await ports.items.get('job'), undefined);
    const put = await ports.items.put({ name: 'job', content: content('one', 'restore 7'), expects: 'absent' });
    assert.equal(put.kind, 'stored');
    for (const { items } of [ports, elsewhere]) {
      const got = await items.get('job');
      assert.deepEqual(
        { name: got?.name, change: got?.change, bytes: textOf(got!.bytes), revision: got?.revision },
        { name: 'job', change: 'restore 7', bytes: 'one', revision: put.kind === 'stored' ? put.revision : undefined },
      );
    }
  });

  rule('a put is stored only while the item has the expected revision, and raises it', async ({ ports, elsewhere }) => {
    const conflict = { kind: 'conflict' };
    assert.deepEqual(await ports.items.put({ name: 'job', content: content('x'), expects: 1 }), conflict);
    const first = await store(ports.items, 'job', 'one', 'absent');
    assert.deepEqual(await elsewhere.items.put({ name: 'job', content: content('x'), expects: 'absent' }), conflict);
    const second = await store(elsewhere.items, 'job', 'two', first);
    assert.ok(second > first);
    assert.deepEqual(await ports.items.put({ name: 'job', content: content('x'), expects: first }), conflict);
    assert.equal(textOf((await ports.items.get('job'))!.bytes), 'two');
    const third = await store(ports.items, 'job', 'three');
    assert.ok(third > second);
  });

  rule('of several that expect the same revision, exactly one is stored', async ({ ports, elsewhere }) => {
    const revision = await store(ports.items, 'job', 'one', 'absent');
    for (const expects of [revision, 'absent'] as const) {
      const name = expects === 'absent' ? 'other' : 'job';
      const puts = [ports, elsewhere, ports, elsewhere].map((p, i) => p.items.put({ name, content: content(`${i}`), expects }));
      const outcomes = await Promise.all(puts);
      assert.equal(outcomes.filter((o) => o.kind === 'stored').length, 1);
      assert.equal(textOf((await ports.items.get(name))!.bytes), `${outcomes.findIndex((o) => o.kind === 'stored')}`);
    }
  });

  rule('bytes are copied on their way in and on their way out', async ({ ports: { items } }) => {
    const bytes = text('as asked');
    await items.put({ name: 'job', content: { bytes, change: '' }, expects: 'absent' });
    bytes.fill(0);
    const first = await items.get('job');
    assert.equal(textOf(first!.bytes), 'as asked');
    first!.bytes.fill(0);
    assert.equal(textOf((await items.get('job'))!.bytes), 'as asked');
  });

  rule('an item over the limit is refused and not stored', async ({ ports: { items } }) => {
    await isRefused(items.put({ name: 'job', content: { bytes: new Uint8Array(400 * 1024), change: '' }, expects: 'any' }));
    await isRefused(items.put({ name: '', content: content('x'), expects: 'any' }));
    assert.equal(await items.get('job'), undefined);
  });
}

function namesAndRemoval(rule: Rule): void {
  rule('a list gives the items of a prefix, in order of name', async ({ ports: { items } }) => {
    for (const name of ['ack/2/b', 'ack/10/a', 'ack/2/a', 'ack0', 'ack', 'job', 'ack/\u{1F600}', 'ack/\uFFFD'])
      await store(items, name, name);
    const names = async (prefix: string): Promise<readonly string[]> => (await items.list(prefix)).map((i) => i.name);
    assert.deepEqual(await names('ack/'), ['ack/10/a', 'ack/2/a', 'ack/2/b', 'ack/\uFFFD', 'ack/\u{1F600}']);
    assert.deepEqual(await names('ack/2/'), ['ack/2/a', 'ack/2/b']);
    assert.equal((await names('')).length, 8);
    assert.deepEqual(await names('none'), []);
    assert.equal(textOf((await items.list('job'))[0]!.bytes), 'job');
  });

  rule('an item is removed only while it has the expected revision', async ({ ports, elsewhere }) => {
    assert.equal(await ports.items.remove({ name: 'a', expects: 'any' }), 'conflict');
    const first = await store(ports.items, 'a', 'one', 'absent');
    const second = await store(ports.items, 'a', 'two', first);
    assert.equal(await elsewhere.items.remove({ name: 'a', expects: first }), 'conflict');
    assert.equal(await elsewhere.items.remove({ name: 'a', expects: second }), 'removed');
    assert.equal(await ports.items.remove({ name: 'a', expects: second }), 'conflict');
    assert.equal(await ports.items.get('a'), undefined);
    await store(ports.items, 'a', 'three', 'absent');
    assert.equal(await ports.items.remove({ name: 'a', expects: 'any' }), 'removed');
  });

  rule('a revision is never used again, also not after the item was removed', async ({ ports, elsewhere }) => {
    const used = new Set<number>();
    for (let life = 0; life < 4; life++) {
      const first = await store(elsewhere.items, 'a', 'one', 'absent');
      const second = await store(ports.items, 'a', 'two', first);
      for (const old of used) {
        assert.deepEqual(await ports.items.put({ name: 'a', content: content('x'), expects: old }), { kind: 'conflict' });
      }
      for (const revision of [first, second]) assert.equal(used.has(revision), false);
      used.add(first).add(second);
      await elsewhere.items.remove({ name: 'a', expects: second });
    }
  });
}
