import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Collector, OutputTag } from '../../../lib/api/functions.ts';
import { RestartStrategies } from '../../../lib/api/restart-strategy.ts';
import { listState, mapState, valueState } from '../../../lib/api/state.ts';
import { FsStateBackend } from '../../../lib/api/state-backend.ts';
import { TumblingEventTimeWindows } from '../../../lib/api/window.ts';
import { layOut } from '../../../lib/graph/layout.ts';
import { renderPlan } from '../../../lib/graph/render.ts';
import { count } from '../../../lib/operators/aggregates.ts';
import { type Build, nowhere, planned } from '../api/building.ts';

interface Click {
  readonly user: string;
  readonly at: number;
}

/** One of each: chains, branches, side outputs, every sort of state, a broadcast, a union, names that need escaping. */
const clicks: Build = (env) => {
  env.setParallelism(2);
  env.setStateBackend(new FsStateBackend('file:./checkpoints'));
  env.enableCheckpointing('10 s', { minPauseBetweenCheckpoints: '500 ms', tolerableFailures: 2, numRetained: 3 });
  env.setRestartStrategy(RestartStrategies.exponentialDelay());
  const malformed = new OutputTag<string>('malformed & <odd>');
  const web = env.fromCollection<Click>([], { uid: 'web' });
  const app = env
    .fromCollection<Click>([], { uid: 'app' })
    .filter(({ at }) => at > 0)
    .name('only "real" ones');
  const parsed = web
    .union(app)
    .process({
      processElement(click, ctx, out: Collector<Click>) {
        if (click.user === '') ctx.output(malformed, click.user);
        else out.collect(click);
      },
    })
    .uid('parse');
  parsed.getSideOutput(malformed).sinkTo(nowhere(), { uid: 'dead', parallelism: 1 });
  const rules = env.fromCollection<string>([], { uid: 'rules' }).setParallelism(1);
  parsed
    .keyBy(({ user }) => user)
    .connect(rules.broadcast({ byName: mapState<string, string>() }))
    .process({
      state: { seen: listState<number>({ version: 2 }), last: valueState<Click>() },
      processElement(click, _ctx, out: Collector<Click>) {
        out.collect(click);
      },
      processBroadcastElement() {},
    })
    .uid('apply-rules')
    .keyBy(({ user }) => user)
    .window(TumblingEventTimeWindows.of('1 min'))
    .aggregate(count())
    .uid('per-minute')
    .sinkTo(nowhere(), { uid: 'out' });
};

describe('a plan for a reader', () => {
  test.each(['text', 'json', 'dot', 'svg'] as const)('as %s stays what it was', async (format) => {
    await expect(renderPlan(planned(clicks), format)).toMatchFileSnapshot(
      join(import.meta.dirname, `fixtures/clicks.${format === 'text' ? 'txt' : format}`),
    );
  });

  test('says when nothing is promised, and what a source that cannot be read again costs', () => {
    expect(
      renderPlan(
        planned((env) => void env.fromSequence(1, 2, { uid: 'a' })),
        'text',
      ),
    ).toContain('guarantee    none: checkpointing is off');
    const socket = planned((env) => {
      env.enableCheckpointing('1 s');
      env.fromSource(
        { kind: 'socket', isRereadable: false, isBounded: false, isEager: true, enumerate: async () => [], open: () => undefined as never },
        { uid: 'wire' },
      );
    });
    expect(renderPlan(socket, 'text')).toContain('exactly-once, but wire cannot be read again');
  });

  test('as JSON is one object that JSON can carry', () => {
    const view = JSON.parse(renderPlan(planned(clicks), 'json')) as { stages: readonly { operators: readonly { uid: string }[] }[] };
    expect(view.stages.flatMap(({ operators }) => operators.map(({ uid }) => uid))).toContain('apply-rules');
  });

  test('as SVG has as many tags opened as closed, and no raw text of users', () => {
    const svg = renderPlan(planned(clicks), 'svg');
    expect(svg).not.toContain('<odd>');
    const open: string[] = [];
    for (const [, slash, name, selfClosed] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
      if (slash === '/') expect(open.pop()).toBe(name);
      else if (selfClosed !== '/') open.push(name as string);
    }
    expect(open).toEqual([]);
  });
});

describe('a layout', () => {
  const gaps = { layer: 50, box: 10, margin: 5 };

  test('lets every edge point to the right and no boxes overlap', () => {
    const boxes = Array.from({ length: 9 }, (_, i) => ({ width: 20 + i, height: 10 + 3 * i }));
    const edges = [
      [0, 2],
      [1, 2],
      [2, 3],
      [2, 4],
      [0, 5],
      [4, 6],
      [3, 6],
      [5, 8],
      [6, 8],
      [1, 7],
    ] as const;
    const { boxes: placed, width, height } = layOut(boxes, edges, gaps);
    for (const [from, to] of edges) expect(placed[from]!.x + placed[from]!.width).toBeLessThan(placed[to]!.x);
    for (const [i, a] of placed.entries()) {
      expect(a.x >= 5 && a.y >= 5 && a.x + a.width <= width - 5 && a.y + a.height <= height - 5).toBe(true);
      for (const b of placed.slice(i + 1)) {
        const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        expect(apart).toBe(true);
      }
    }
  });

  test('of nothing is empty', () => {
    expect(layOut([], [], gaps)).toEqual({ boxes: [], width: 10, height: 10 });
  });
});
