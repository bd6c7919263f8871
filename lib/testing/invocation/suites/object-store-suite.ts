import assert from 'node:assert/strict';
import type { SuiteRunner } from '../../suites/file-system-suite.ts';
import { isRefused, type MakePorts, suiteOf, text, textOf } from './support.ts';

/** Registers the tests of the object-store port for one adapter. */
export const objectStoreSuite: (name: string, runner: SuiteRunner, make: MakePorts) => void = suiteOf('the object-store port', (rule) => {
  rule('a name gets its bytes once and keeps them', async ({ ports, elsewhere }) => {
    assert.equal(await ports.objects.get('a/1'), undefined);
    assert.equal(await ports.objects.putIfAbsent('a/1', text('first')), 'stored');
    assert.equal(await elsewhere.objects.putIfAbsent('a/1', text('second')), 'exists');
    for (const { objects } of [ports, elsewhere]) assert.equal(textOf((await objects.get('a/1'))!), 'first');
  });

  rule('of several that put one name, exactly one does', async ({ ports, elsewhere }) => {
    const answers = await Promise.all([ports, elsewhere, ports, elsewhere].map((p, i) => p.objects.putIfAbsent('a', text(`${i}`))));
    assert.deepEqual([...answers].sort(), ['exists', 'exists', 'exists', 'stored']);
    assert.equal(textOf((await ports.objects.get('a'))!), `${answers.indexOf('stored')}`);
  });

  rule('an object may be empty, and may be larger than any item', async ({ ports: { objects } }) => {
    await objects.putIfAbsent('empty', new Uint8Array(0));
    assert.equal((await objects.get('empty'))?.length, 0);
    const large = new Uint8Array(3_000_000).fill(7);
    await objects.putIfAbsent('large', large);
    const got = await objects.get('large');
    assert.equal(got?.length, large.length);
    assert.ok(got.every((b) => b === 7));
  });

  rule('removing is harmless again, and the name may be used anew', async ({ ports, elsewhere }) => {
    await ports.objects.putIfAbsent('a', text('first'));
    await elsewhere.objects.remove('a');
    await elsewhere.objects.remove('a');
    assert.equal(await ports.objects.get('a'), undefined);
    assert.equal(await ports.objects.putIfAbsent('a', text('second')), 'stored');
  });

  rule('a list gives the names of a prefix, in order', async ({ ports: { objects } }) => {
    const names = ['a/2', 'a/10', 'a', 'a0', 'b/1', 'a/\u{1F600}', 'a/\uFFFD'];
    for (const name of names) await objects.putIfAbsent(name, text(name));
    assert.deepEqual(await objects.list('a/'), ['a/10', 'a/2', 'a/\uFFFD', 'a/\u{1F600}']);
    assert.deepEqual(await objects.list('b'), ['b/1']);
    assert.deepEqual(await objects.list('c'), []);
    assert.equal((await objects.list('')).length, names.length);
  });

  rule('bytes are copied on their way in and on their way out', async ({ ports: { objects } }) => {
    const buffer = text('..view..');
    await objects.putIfAbsent('a', buffer.subarray(2, 6));
    buffer.fill(0);
    const first = (await objects.get('a'))!;
    assert.equal(textOf(first), 'view');
    first.fill(0);
    assert.equal(textOf((await objects.get('a'))!), 'view');
  });

  rule('a name that is none is refused', async ({ ports: { objects } }) => {
    await isRefused(objects.putIfAbsent('', text('x')));
    await isRefused(objects.putIfAbsent('\udfff', text('x')));
    await isRefused(objects.putIfAbsent('é'.repeat(513), text('x')));
  });
});
