import { describe, expect, test } from 'vitest';
import { collect } from '../../../../lib/connectors/sinks/collect.ts';
import { print } from '../../../../lib/connectors/sinks/print.ts';
import { attempt, batch, keep } from '../support/sinks.ts';

describe('print', () => {
  test('each row is a line, at once: text as it is, data as JSON, the rest as Node shows it', async () => {
    const lines: string[] = [];
    const [writer] = await attempt(() => print() as never, { print: (line) => lines.push(line) });
    await writer!.write(batch('text', { a: 1, b: [true, null] }, 3, 4n, new Map([['k', 1]]), { n: 1n }, undefined, Number.NaN));
    expect(lines).toEqual(['text', '{"a":1,"b":[true,null]}', '3', '4n', "Map(1) { 'k' => 1 }", '{ n: 1n }', 'undefined', 'NaN']);
  });

  test('a label and, with several subtasks, their numbers stand before the line', async () => {
    const lines: string[] = [];
    const one = await attempt(() => print('late') as never, { print: (line) => lines.push(line) });
    const two = await attempt(() => print('late') as never, { print: (line) => lines.push(line), parallelism: 2 });
    const bare = await attempt(() => print() as never, { print: (line) => lines.push(line), parallelism: 2 });
    for (const writer of [one[0], two[1], bare[0]]) await writer!.write(batch('x'));
    expect(lines).toEqual(['late> x', 'late:2> x', '1> x']);
  });
});

describe('collect', () => {
  test('rows appear when their checkpoint has completed, in order', async () => {
    const out = collect<string>();
    const [writer] = await attempt(() => out as never);
    await writer!.write(batch('a', 'b'));
    await writer!.prepare(1);
    await writer!.write(batch('c'));
    await writer!.prepare(2);
    expect(out.rows).toEqual([]);
    await writer!.commit(1);
    expect(out.rows).toEqual(['a', 'b']);
    await writer!.commit(2);
    await writer!.commit(2);
    expect(out.rows).toEqual(['a', 'b', 'c']);
  });

  test('a restart inside the process commits what was promised once', async () => {
    const out = collect<string>();
    const [writer] = await attempt(() => out as never);
    await writer!.write(batch('a'));
    const kept = keep(1, [await writer!.prepare(1)]);
    await writer!.commit(1);
    await writer!.write(batch('undone'));
    await writer!.discard();
    const [again] = await attempt(() => out as never, { generation: 2, from: kept });
    await again!.write(batch('b'));
    await again!.prepare(2);
    await again!.commit(2);
    expect(out.rows).toEqual(['a', 'b']);
  });

  test('of two sinks with one object, what one has promised is committed once, though the other has promised nothing', async () => {
    const out = collect<string>();
    const [writer] = await attempt(() => out as never, { uid: 'one' });
    await writer!.write(batch('a'));
    const kept = keep(1, [await writer!.prepare(1)]);
    await writer!.commit(1);
    await attempt(() => out as never, { uid: 'another', generation: 2 });
    await attempt(() => out as never, { uid: 'one', generation: 2, from: kept });
    expect(out.rows).toEqual(['a']);
  });

  test('a promise that was not committed before the restart is committed by it', async () => {
    const out = collect<string>();
    const [writer] = await attempt(() => out as never);
    await writer!.write(batch('a'));
    const kept = keep(1, [await writer!.prepare(1)]);
    await attempt(() => out as never, { generation: 2, from: kept });
    expect(out.rows).toEqual(['a']);
  });
});
