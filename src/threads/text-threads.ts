import { availableParallelism } from 'node:os';
import { codedFailure, type Failure } from '../failure.ts';
import { type JobContext, type ThreadStatistics, Threads, workerFile } from './threads.ts';

type Jobs = typeof import('#workers/text.js');

/** Labels in /metrics. */
const LABELS: { readonly [Name in keyof Jobs]: string } = {
  classify: 'judge',
  countTokens: 'count-tokens',
  readRecipe: 'read-recipe',
};

/** Jobs of one account that may wait. */
const MAX_WAITING = 256;

/** Runs functions of `workers/text.ts` in threads. */
export type TextJobs = Pick<TextThreads, 'run'>;

/** Threads for texts that are so long that the event loop would wait for them. */
export class TextThreads {
  readonly #threads: Threads;

  constructor(threads = availableParallelism()) {
    this.#threads = new Threads({ file: workerFile('text'), threads });
  }

  /**
   * @param deadline milliseconds after which the function's thread is terminated
   * @throws ThreadLostError; Failure too_many_waiting; the signal's reason
   */
  async run<Name extends keyof Jobs>(
    name: Name,
    input: Parameters<Jobs[Name]>[0],
    deadline: number,
    context: JobContext = {},
  ): Promise<Awaited<ReturnType<Jobs[Name]>>> {
    if (this.#threads.waitingOf(context.client ?? '') >= MAX_WAITING) {
      throw tooManyWaiting(MAX_WAITING, 'texts');
    }
    const job = { name: LABELS[name], run: name, input, deadline };
    return (await this.#threads.run(job, context)) as Awaited<ReturnType<Jobs[Name]>>;
  }

  /** A view of the threads for one client, who gets them in turn with others. */
  forClient(client: string): TextJobs {
    return {
      run: (name, input, deadline, context) =>
        this.run(name, input, deadline, { client, ...context }),
    };
  }

  statistics(): ThreadStatistics {
    return this.#threads.statistics();
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

export function tooManyWaiting(most: number, what: 'images' | 'texts'): Failure {
  return codedFailure(
    'too_many_waiting',
    `${most} ${what} of this account wait already; send this one when others are done`,
    { retryAfter: 5 },
  );
}
