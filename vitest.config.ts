import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Starts files that take longest first, because started last they would run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      if (moduleId.endsWith('.long.test.ts')) return 0;
      // Waits for timeouts of providers, 40 s in all.
      return moduleId.endsWith('/text/routing.test.ts') ? 1 : 2;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.setup.ts'],
    // Generous, for machines under load: tests do not measure time by them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // Many files wait for timeouts, fsync and processes that they start: with one worker per core, cores
    // would be idle.
    maxWorkers: availableParallelism() + 2,
  },
});
