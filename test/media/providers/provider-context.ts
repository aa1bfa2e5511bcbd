import { afterAll, afterEach, beforeAll } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type {
  InputFile,
  MediaProvider,
  ModerationInput,
  ProviderContext,
} from '../../../src/media/provider/provider.ts';
import type {
  AudioTaskRequest,
  ImageTaskRequest,
  VideoTaskRequest,
} from '../../../src/media/task/task-request.ts';
import { canFailOver, isRetriable } from '../../../src/routing/retry-policy.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';
import type { Timeouts } from '../../../src/upstream/request.ts';
import { png } from '../media-files.ts';
import type { Interface } from '../mock-answers.ts';
import { type MockProvider, startMockProvider } from '../mock-provider.ts';
import { AUDIO, IMAGE, jobOf, VIDEO } from '../task-requests.ts';

/** The key of the mock: to be seen in headers and nowhere else. */
export const KEY = 'sk-provider-5ecre7-0123456789';

/** Usage of the images of the mock. */
export const USAGE = {
  prompt_tokens: 50,
  completion_tokens: 400,
  total_tokens: 450,
  input_tokens: 50,
  output_tokens: 400,
  cached_input_tokens: 20,
};

const PATIENT: Timeouts = { connect: 30_000, firstByte: 30_000, idle: 30_000, total: 60_000 };

interface Changes {
  readonly timeouts?: Partial<Timeouts>;
  readonly savedState?: unknown;
  readonly baseUrl?: string;
  /** Further settings of the provider. */
  readonly settings?: object;
}

export interface TestContext extends ProviderContext {
  /** All states that were saved, in order. */
  readonly savedStates: readonly unknown[];
  /** Number of requests announced as billable. */
  readonly billableRequests: () => number;
  readonly cancellation: AbortController;
}

/** A mock that all tests of a file share, and the calls of the provider that asks it. */
export function mockedProvider(
  kind: Interface,
  provider: Pick<MediaProvider, 'makeImages' | 'makeVideo' | 'makeAudio' | 'moderate'>,
) {
  let mock: MockProvider | undefined;
  const upstream = new UpstreamClient();
  beforeAll(async () => {
    mock = await startMockProvider(kind);
  });
  afterEach(() => mock?.reset());
  afterAll(async () => {
    await upstream.close();
    await mock?.close();
  });
  const unused = () => {
    throw new Error('nothing is worked on here');
  };
  const newContext = (changes: Changes = {}): TestContext => {
    const { timeouts, savedState = null, baseUrl = mock!.url, settings } = changes;
    const savedStates: unknown[] = [];
    let billableRequests = 0;
    const cancellation = new AbortController();
    return {
      settings: { kind, baseUrl, apiKey: KEY, concurrency: 8, ...settings },
      model: 'upstream-model',
      idempotencyKey: 'key of the task for mödel',
      upstream,
      pool: { size: 1, run: unused, close: unused },
      textThreads: { run: unused },
      timeouts: { ...PATIENT, ...timeouts },
      signal: cancellation.signal,
      savedState,
      saveState: async (state) => {
        savedStates.push(state);
      },
      beforeBillableRequest: async () => {
        billableRequests += 1;
      },
      savedStates,
      billableRequests: () => billableRequests,
      cancellation,
    };
  };
  return {
    mock: () => mock!,
    newContext,
    makeImages: (job = imageJob(), context: ProviderContext = newContext()) =>
      provider.makeImages(job, context),
    makeVideo: (job = videoJob(), context: ProviderContext = newContext()) =>
      provider.makeVideo(job, context),
    makeAudio: (job = audioJob(), context: ProviderContext = newContext()) =>
      provider.makeAudio(job, context),
    moderate: (asked: ModerationInput) => provider.moderate(asked, newContext()),
  };
}

/** The failure of what must fail. */
export async function failureOf(made: Promise<unknown>): Promise<Failure> {
  const error = await made.then(
    (value) => value,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Failure))
    throw new Error(`no failure: ${String(error)}`, { cause: error });
  return error;
}

/** The type of a failure, whether the request may be repeated, and whether another route may be tried. */
export function verdictOf(failure: Failure) {
  return [failure.type, isRetriable(failure), canFailOver(failure)];
}

export function input(index: number, filename = `input-${index}.png`): InputFile {
  return { bytes: png(8, 8, index), mediaType: 'image/png', filename };
}

export const imageJob = (
  request: Partial<ImageTaskRequest> = {},
  inputs?: readonly InputFile[],
  mask?: InputFile,
) => jobOf({ ...IMAGE, ...request }, inputs, mask);

export const videoJob = (request: Partial<VideoTaskRequest> = {}, inputs?: readonly InputFile[]) =>
  jobOf({ ...VIDEO, ...request }, inputs);

export const audioJob = (request: Partial<AudioTaskRequest> = {}) =>
  jobOf({ ...AUDIO, ...request });
