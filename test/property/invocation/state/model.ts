// What a subtask's keyed state should be: plain maps, changed by the same operations that its handles are asked for.

import { keyValue, normalizeKey } from '../../../../lib/core/key-codec.ts';
import type { KeyedStateBackend } from '../../../../lib/state/backend.ts';
import type { SeededRandom } from '../../../../lib/testing/index.ts';
import type { TestHandles } from '../../../unit/invocation/state/support.ts';

interface Cells {
  value: unknown;
  list: unknown[];
  map: Map<unknown, unknown>;
  sum: number | undefined;
}

export class Model {
  readonly cells = new Map<string, Cells>();
  /** `domain/time/key` → cause. */
  readonly timers = new Map<string, string | undefined>();
  rows: string[] = [];

  copy(): Model {
    return Object.assign(new Model(), structuredClone({ cells: this.cells, timers: this.timers, rows: this.rows }), {});
  }

  of(key: string): Cells {
    const known = this.cells.get(key) ?? { value: undefined, list: [], map: new Map(), sum: undefined };
    this.cells.set(key, known);
    return known;
  }

  /** As `readAll` gives it, and timers in order of their names. */
  read(key: string): unknown {
    const { value, list, map, sum } = this.of(key);
    const inOrder = [...map].sort(([a], [b]) => ((a as number) < (b as number) ? -1 : 1));
    return { value, list: [...list], map: inOrder, sum };
  }

  readTimers(): string[] {
    return [...this.timers].map(([name, cause]) => `${name} ${cause}`).sort();
  }
}

export const keys: readonly string[] = Array.from({ length: 7 }, (_, i) => `k${i}`);

/** One thing done to one key, by the handles and to the model. */
export type Step = (s: TestHandles, model: Model, backend: KeyedStateBackend) => void;

const bytesOf = (random: SeededRandom): string => {
  const dice = random.below(20);
  return 'x'.repeat(dice < 2 ? 40_000 : dice < 6 ? 1_500 : random.below(9)) + random.below(1_000);
};

export function randomStep(random: SeededRandom, key: string): Step {
  const name = random.below(5);
  const text = bytesOf(random);
  const time = random.below(6);
  const domain = random.pick(['event', 'processing'] as const);
  const timer = `${domain}/${time}/${key}`;
  const steps: readonly Step[] = [
    (s, m) => {
      s.value.update(text);
      m.of(key).value = text;
    },
    (s, m) => {
      s.value.clear();
      m.of(key).value = undefined;
    },
    (s, m) => {
      s.list.add(text);
      m.of(key).list.push(text);
    },
    (s, m) => {
      s.list.addAll([text, text, text, text]);
      m.of(key).list.push(text, text, text, text);
    },
    (s, m) => {
      s.list.update([text]);
      m.of(key).list = [text];
    },
    (s, m) => {
      s.list.clear();
      m.of(key).list = [];
    },
    (s, m) => {
      s.map.put(name, text);
      m.of(key).map.set(name, text);
    },
    (s, m) => {
      s.map.remove(name);
      m.of(key).map.delete(name);
    },
    (s, m) => {
      s.map.put(name, `${s.map.get(name)}`.length);
      m.of(key).map.set(name, `${m.of(key).map.get(name)}`.length);
    },
    (s, m) => {
      if (s.map.isEmpty()) s.map.put(name, 1);
      else s.map.clear();
      if (m.of(key).map.size === 0) m.of(key).map.set(name, 1);
      else m.of(key).map.clear();
    },
    (s, m) => {
      s.sum.add(name);
      m.of(key).sum = (m.of(key).sum ?? 0) + name;
    },
    (_, m, { timers }) => {
      timers[domain].register(time, normalizeKey(key));
      m.timers.set(timer, undefined);
    },
    (_, m, { timers }) => {
      timers[domain].registerCaused(time, normalizeKey(key), text.slice(-3));
      if (!m.timers.has(timer)) m.timers.set(timer, text.slice(-3));
    },
    (_, m, { timers }) => {
      timers[domain].remove(time, normalizeKey(key));
      m.timers.delete(timer);
    },
    (_, m, { timers }) => {
      const due = timers.event.takeDue(1);
      if (due !== undefined) m.timers.delete(`event/${due.time}/${keyValue(due.key)}`);
    },
  ];
  return random.pick(steps);
}

export function timersOf({ timers }: KeyedStateBackend): string[] {
  const names: string[] = [];
  for (const domain of ['event', 'processing'] as const) {
    for (const [, { time, key, cause }] of timers[domain].snapshot().entries()) names.push(`${domain}/${time}/${keyValue(key)} ${cause}`);
  }
  return names.sort();
}
