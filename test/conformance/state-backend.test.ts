import { describe, test } from 'vitest';
import { HeapState } from '../../lib/state/heap/heap-state.ts';
import { stateBackendSuite } from '../../lib/testing/suites/state-backend-suite.ts';

stateBackendSuite('heap', { describe, test }, async () => ({ create: (request) => new HeapState(request) }));
