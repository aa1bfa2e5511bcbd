import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.setup.ts'],
    // For machines that are busy with other work as well: nothing is measured by these.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    // Some files wait for time to pass, most for processes that they start: with a worker a core,
    // cores would idle.
    maxWorkers: availableParallelism() + 1,
  },
});
