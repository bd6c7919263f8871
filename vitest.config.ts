import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// `npm test` runs everything that needs nothing but Node. Five modes run what needs more, each alone: `npm run test:kill` starts processes and kills
// them at random moments, `npm run test:aws` talks to an emulator of AWS that it starts, `npm run test:e2e` deploys to one,
// `npm run test:states` runs the coordinator's state machine on LocalStack's interpreter, `npm run test:services` starts a Kafka broker.
const modes = ['kill', 'aws', 'e2e', 'states', 'services'];

export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      { find: /^sluice$/, replacement: here('./lib/index.ts') },
      { find: /^sluice\/aws$/, replacement: here('./lib/aws/index.ts') },
      { find: /^sluice\/cdk$/, replacement: here('./lib/cdk/index.ts') },
      { find: /^sluice\/testing$/, replacement: here('./lib/testing/index.ts') },
    ],
  },
  test: {
    include: modes.includes(mode) ? [`test/${mode}/**/*.test.ts`] : ['test/**/*.test.ts'],
    exclude: modes.includes(mode) ? [] : modes.map((one) => `test/${one}/**`),
    pool: 'forks',
    testTimeout: modes.includes(mode) ? 600_000 : 60_000,
    hookTimeout: modes.includes(mode) ? 600_000 : 180_000,
    ...(mode === 'aws' ? { globalSetup: here('./test/aws/emulator-setup.ts') } : {}),
    allowOnly: false,
    passWithNoTests: false,
  },
}));
