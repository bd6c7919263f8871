// One operator object for one planned operator of one subtask and attempt.

import type { OperatorSpec } from '../api/description.ts';
import { BroadcastProcessOperator, CoProcessOperator, KeyedProcessOperator } from './keyed-operator.ts';
import type { Operator, OperatorEnvironment } from './operator.ts';
import { ProcessOperator } from './process-operator.ts';
import { SinkOperator } from './sink-operator.ts';
import { SourceOperator } from './source-operator.ts';
import { FilterOperator, FlatMapOperator, MapOperator } from './stateless.ts';
import { TimestampsOperator } from './timestamps-operator.ts';

export function createOperator(spec: OperatorSpec, environment: OperatorEnvironment): Operator {
  switch (spec.kind) {
    case 'source':
      return new SourceOperator(environment);
    case 'map':
      return new MapOperator(environment, spec.map);
    case 'filter':
      return new FilterOperator(environment, spec.keep);
    case 'flatMap':
      return new FlatMapOperator(environment, spec.flatMap);
    case 'timestamps':
      return new TimestampsOperator(environment, spec.watermarks);
    case 'process':
      return new ProcessOperator(environment, spec.create());
    case 'keyedProcess':
      return new KeyedProcessOperator(environment, spec.create());
    case 'coProcess':
      return new CoProcessOperator(environment, spec.create());
    case 'broadcastProcess':
      return new BroadcastProcessOperator(environment, spec.create(), spec.broadcastState);
    case 'sink':
      return new SinkOperator(environment, spec.check);
  }
}
