import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { globSync } from 'tinyglobby';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Long files that mostly wait. */
const WAITING =
  /\/(docs-page|routing|after-crash|disk-full|install|readme|kill|drain)\.long\.test\.ts$/;

/** Starts files that take longest first, because started last they would run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      WAITING.test(moduleId) ? 0 : moduleId.endsWith('.long.test.ts') ? 1 : 2;
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

const TESTS = ['test/**/*.test.ts'];
const LONG = ['test/**/*.long.test.ts'];

/** Whether a test file, or a file of tests that it imports, contains a call. */
function calling(calls: RegExp): (file: string) => boolean {
  const checked = new Map<string, boolean>();
  const check = (file: string): boolean => {
    const known = checked.get(file);
    if (known !== undefined) return known;
    checked.set(file, false);
    const source = readFileSync(file, 'utf8');
    const imports = [...source.matchAll(/^(?:import |\} )[^\n]*from '(\.[^'\n]+)';$/gm)].map(
      ([, path]) => join(dirname(file), path!),
    );
    const found =
      calls.test(source) || imports.some((path) => path.startsWith('test/') && check(path));
    checked.set(file, found);
    return found;
  };
  return check;
}

/** For files that change what other files of the same process would see. */
const needsProcess = calling(/vi\.mock\(|registerDialect\(|startPool\(|terminal\/encode-image/);

/** For files whose pool of images blocks decoders of the process: they share processes with their like. */
const startsPool = calling(/(inline|startShared)Pool\(/);

const SHORT = globSync(TESTS, { ignore: LONG });
const ISOLATED = SHORT.filter(needsProcess);
const WITH_POOL = SHORT.filter((file) => !needsProcess(file) && startsPool(file));

/** Options of every project; the root's own are not inherited, so that its setup builds once. */
const TEST = {
  unstubEnvs: true,
  restoreMocks: true,
  // Generous, for machines under load: tests do not measure time by them.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
  pool: 'forks',
} as const;

export default defineConfig({
  test: {
    projects: [
      // One process runs many files, so that Oriel's modules are loaded once a process and not once a file.
      {
        test: {
          ...TEST,
          name: 'shared',
          include: TESTS,
          exclude: [...LONG, ...ISOLATED, ...WITH_POOL],
          isolate: false,
        },
      },
      { test: { ...TEST, name: 'pools', include: WITH_POOL, isolate: false } },
      { test: { ...TEST, name: 'isolated', include: ISOLATED } },
      {
        test: {
          ...TEST,
          name: 'long',
          include: LONG,
          isolate: globSync(LONG).some((file) => needsProcess(file) || startsPool(file)),
        },
      },
    ],
    globalSetup: ['test/build.setup.ts'],
    sequence: { sequencer: LongestFirst },
    // Many files wait for timeouts, fsync and processes that they start: with one worker per core, cores
    // would be idle.
    maxWorkers: availableParallelism() + 2,
  },
});
