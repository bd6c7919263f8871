import type { Compositions } from '../api/compositions.ts';
import { rollingExtreme, rollingExtremeBy, rollingSum } from './field-functions.ts';
import { rollingAggregate, rollingReduce } from './reduce.ts';
import { tumblingWindows } from './windows.ts';

// compositions.ts is the table of what the stream algebra is made of on keyed streams.

export const compositions: Compositions = {
  reduce: rollingReduce,
  aggregate: rollingAggregate,
  sum: rollingSum,
  extreme: rollingExtreme,
  extremeBy: rollingExtremeBy,
  window: tumblingWindows,
};
