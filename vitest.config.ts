import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// `npm test` runs everything but the kill tests; `npm run test:kill` (mode `kill`) runs only those: they start processes, kill them
// at random moments and want the machine for themselves.
export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      { find: /^sluice$/, replacement: here('./lib/index.ts') },
      { find: /^sluice\/testing$/, replacement: here('./lib/testing/index.ts') },
    ],
  },
  test: {
    include: mode === 'kill' ? ['test/kill/**/*.test.ts'] : ['test/**/*.test.ts'],
    exclude: mode === 'kill' ? [] : ['test/kill/**'],
    pool: 'forks',
    testTimeout: mode === 'kill' ? 600_000 : 60_000,
    hookTimeout: mode === 'kill' ? 600_000 : 180_000,
    allowOnly: false,
    passWithNoTests: false,
  },
}));
