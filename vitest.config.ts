import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Starts `*.long.test.ts` files first: started last, they would run alone at the end. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => (moduleId.endsWith('.long.test.ts') ? 0 : 1);
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
    sequence: { sequencer: LongFilesFirst },
    // Most files wait for processes that they start, some for time to pass: with one worker per core,
    // cores would be idle.
    maxWorkers: availableParallelism() + 1,
  },
});
