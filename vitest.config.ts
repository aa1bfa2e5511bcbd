import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Some files wait for time to pass, most for processes that they start: with a worker a core,
    // cores would idle.
    maxWorkers: availableParallelism() + 1,
  },
});
