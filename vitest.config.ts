import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { globSync } from 'tinyglobby';
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

const TESTS = ['test/**/*.test.ts'];
const LONG = ['test/**/*.long.test.ts'];

/**
 * Whether a file changes what others of the same process would see: mocked modules, the registry of dialects, and
 * the image decoders, of which the threads of a pool block all but a few.
 */
function needsProcess(file: string): boolean {
  return /vi\.mock\(|registerDialect\(|startPool|startSharedPool|(test|media)-server\.ts/.test(
    readFileSync(file, 'utf8'),
  );
}

const ISOLATED = globSync(TESTS, { ignore: LONG }).filter(needsProcess);

export default defineConfig({
  test: {
    projects: [
      // One process runs many files, so that Oriel's modules are loaded once a process and not once a file.
      {
        extends: true,
        test: { name: 'shared', include: TESTS, exclude: [...LONG, ...ISOLATED], isolate: false },
      },
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
      { extends: true, test: { name: 'long', include: LONG } },
    ],
    unstubEnvs: true,
    restoreMocks: true,
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
