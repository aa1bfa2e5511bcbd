import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take minutes, the longest first: begun last, they would be all that still runs. */
const LONG = ['/test/media/tasks/disk-full.', '/test/text/routing.'];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONG.findIndex((part) => moduleId.includes(part));
      return index === -1 ? LONG.length : index;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.setup.ts'],
    // For machines that are busy with other work as well: nothing is measured by these.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    sequence: { sequencer: LongFirst },
    // Some files wait for time to pass, most for processes that they start: with a worker a core,
    // cores would idle.
    maxWorkers: availableParallelism() + 1,
  },
});
