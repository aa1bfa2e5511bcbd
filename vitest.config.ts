import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { NODE_FLAGS } from './test/node-flags.ts';

/** Long files that mostly wait, or that run longest. Without a cache Vitest starts the largest files first. */
const WAITING =
  /\/(hard-cases|action|container|providers|views|page|text-hostile|routing|after-crash|disk-full|install|readme|kill|drain|outage|example|restart|postgres\/driver|pgbouncer|lowdb\/driver)\.long\.test\.ts$/;

/**
 * Starts files that take longest first, because started last they would run alone at the end. Files of a project follow
 * each other: Vitest ends a process whose project is not that of the next file.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) =>
      project.name !== 'long' ? 2 : WAITING.test(moduleId) ? 0 : 1;
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

const TESTS = ['test/**/*.test.ts'];
const LONG = ['test/**/*.long.test.ts'];

// test/house.test.ts checks that both groups are complete.

/** Files that change what other files of the same process would see: mocked modules, decoders, threads. */
export const ISOLATED = [
  'test/cli/client/media.test.ts',
  'test/media/files/images.test.ts',
  'test/operations/{pool-loading,pool/pool}.test.ts',
  'test/store/lowdb/lock.test.ts',
  'test/text/toy/toy.test.ts',
];

/** Files whose pool of images blocks decoders of the process: they share processes with their like. */
export const POOLS = [
  'test/http/{batch,image-urls,request}/*.test.ts',
  'test/http/routes/{media,tasks}/*.test.ts',
  'test/http/routes/{media-tasks,server/health}.test.ts',
  'test/media/{files/*,sandbox/*,pool-fairness}.test.ts',
  'test/operations/{pool/shared-pool,tools/verify}.test.ts',
];

/**
 * Files that talk to providers as clients do. With ORIEL_CASSETTES they repeat their requests from recordings: agents,
 * each format and way of streaming, kinds of failure, requests at once, and endpoints beside those of texts.
 */
const CASSETTES = [
  'test/text/agents/{replay,messages-agent}.long.test.ts',
  'test/text/matrix/{choices,errors.long,text,tools}.test.ts',
  'test/text/{dialects/completions,embeddings}/*.test.ts',
  'test/text/gemini/client.test.ts',
  'test/text/counting/count-tokens.long.test.ts',
  'test/text/azure.test.ts',
  'test/media/tasks/openai-*.test.ts',
];
const REPEATED = process.env['ORIEL_CASSETTES'] === undefined ? [] : CASSETTES;

/** Options of every project; the root's own are not inherited, so that its setup builds once. */
const TEST = {
  unstubEnvs: true,
  restoreMocks: true,
  // Generous, for machines under load: a test that waits for something fails by the time of that wait.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
  // CI gives a test a second try and names it (.ci/count.mjs). A property has none: its counterexample is random.
  ...(process.env['CI'] && { retry: { count: 1, condition: /^(?!Property failed)/ } }),
  pool: 'forks' as const,
  execArgv: [...NODE_FLAGS],
};

const PATIENT = { testTimeout: 240_000, hookTimeout: 240_000 };

export default defineConfig({
  test: {
    projects: [
      // One process runs many files, so that Oriel's modules are loaded once a process and not once a file.
      {
        test: {
          ...TEST,
          name: 'shared',
          include: TESTS,
          exclude: [...LONG, ...ISOLATED, ...POOLS, ...REPEATED],
          isolate: false,
        },
      },
      {
        test: {
          ...TEST,
          name: 'pools',
          include: POOLS,
          exclude: [...LONG, ...ISOLATED],
          isolate: false,
        },
      },
      { test: { ...TEST, name: 'isolated', include: ISOLATED } },
      {
        test: {
          ...TEST,
          ...PATIENT,
          name: 'long',
          include: LONG,
          exclude: REPEATED,
          isolate: false,
        },
      },
      {
        test: {
          ...TEST,
          ...PATIENT,
          name: 'cassettes',
          include: REPEATED,
          env: { ORIEL_TWICE: '1' },
          isolate: false,
        },
      },
    ],
    globalSetup: ['test/build.setup.ts'],
    sequence: { sequencer: LongestFirst },
    // Many files wait for timeouts, fsync and processes that they start: with one worker per core, cores would be
    // idle. Each worker loads the modules again: six more than cores took CI 31 minutes of CPU, two more 28.
    maxWorkers: availableParallelism() + 2,
  },
});
