// What must not compile about state: wrong types written, and changing what was read.
import {
  aggregatingState,
  average,
  type Collector,
  foldingState,
  type KeyedStream,
  listState,
  mapState,
  reducingState,
  valueState,
} from 'sluice';

interface Basket {
  items: string[];
  owner: { name: string };
  prices: Map<string, number>;
}
declare const baskets: KeyedStream<Basket, string>;

baskets.process({
  state: {
    last: valueState<Basket>(),
    n: valueState<number>({ default: () => 0 }),
    all: listState<Basket>(),
    byId: mapState<string, Basket>(),
    max: reducingState<number>(Math.max),
    mean: aggregatingState(average()),
    trace: foldingState('', (acc: string, b: Basket) => acc + b.owner.name),
  },
  processElement(basket, ctx, out: Collector<number>) {
    const { state } = ctx;
    // Written.
    // @ts-expect-error the state holds baskets
    state.last.update(1);
    // @ts-expect-error the state holds a number
    state.n.update('1');
    // @ts-expect-error the state holds a number
    state.n.update(undefined);
    // @ts-expect-error the list holds baskets
    state.all.add('x');
    // @ts-expect-error the list is replaced by an iterable of baskets
    state.all.update([1]);
    // @ts-expect-error the map's keys are text
    state.byId.put(1, basket);
    // @ts-expect-error the map's values are baskets
    state.byId.put('a', 1);
    // @ts-expect-error the reduced values are numbers
    state.max.add(1n);
    // @ts-expect-error the mean is of numbers
    state.mean.add(basket);
    // @ts-expect-error baskets are folded
    state.trace.add('x');
    // @ts-expect-error there is no such state
    state.lst.update(basket);

    // What was read may be written again, and is otherwise left alone.
    const last = state.last.value();
    // @ts-expect-error it may be absent
    last.items;
    if (last === undefined) return;
    state.last.update(last);
    // @ts-expect-error what was read is read only
    last.items.push('x');
    // @ts-expect-error what was read is read only, all the way down
    last.owner.name = 'x';
    // @ts-expect-error a map that was read is read only
    last.prices.set('x', 1);
    // @ts-expect-error what was read is not what may be changed
    const _mutable: Basket = last;
    // @ts-expect-error the list is read only
    state.all.get().push(basket);
    for (const value of state.byId.values()) {
      // @ts-expect-error what a map gives is read only
      value.items.pop();
    }

    // Read.
    // @ts-expect-error reducing state may be empty
    out.collect(state.max.get());
    // @ts-expect-error text is no number
    out.collect(state.trace.get() ?? '');
    out.collect(state.n.value());
  },
});

// Declarations.
// @ts-expect-error the default makes a number
valueState<number>({ default: () => 'x' });
// @ts-expect-error there is no such option
valueState<number>({ defaults: () => 1 });
// @ts-expect-error the default is a function
valueState<number>({ default: 1 });
// @ts-expect-error migrating gives a value of this version
listState<number>({ version: 1, migrate: (old) => String(old) });
// @ts-expect-error the reduced values have one type
reducingState<number>((a, b) => `${a}${b}`);
