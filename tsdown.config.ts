import { defineConfig } from 'tsdown';

// One entry point per line; what several of them use lands in shared chunks, so that a job and the command line that runs it meet
// in the same module instances.
export default defineConfig({
  entry: {
    index: 'lib/index.ts',
    'testing/index': 'lib/testing/index.ts',
    'aws/index': 'lib/aws/index.ts',
    'cdk/index': 'lib/cdk/index.ts',
    'cdk/deploy-app': 'lib/cdk/deploy-app.ts',
    'cli/main': 'lib/cli/main.ts',
    'cli/invocation-worker': 'lib/cli/invocation-worker.ts',
  },
  outDir: 'dist',
  format: 'esm',
  platform: 'node',
  target: 'node22.18',
  dts: { sourcemap: false },
  fixedExtension: false,
  sourcemap: true,
  clean: true,
  tsconfig: 'tsconfig.lib.json',
});
