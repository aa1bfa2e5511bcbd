import { afterAll, afterEach, beforeAll } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type { InputFile, Order, Workshop } from '../../../src/media/providers/provider.ts';
import type { AudioWork, ImageWork, VideoWork } from '../../../src/media/work.ts';
import { LightAbortSignal } from '../../../src/upstream/abort-signal.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';
import type { Timeouts } from '../../../src/upstream/request.ts';
import { png } from '../media-files.ts';
import type { Interface } from '../mock-answers.ts';
import { type MockProvider, startMockProvider } from '../mock-provider.ts';

/** The key of the mock: to be seen in headers and nowhere else. */
export const KEY = 'sk-provider-5ecre7-0123456789';

const PATIENT: Timeouts = { connect: 30_000, firstByte: 30_000, idle: 30_000, total: 60_000 };

interface Changes {
  readonly timeouts?: Partial<Timeouts>;
  readonly noted?: unknown;
  readonly baseUrl?: string;
}

export interface TestWorkshop extends Workshop {
  /** All that was noted, in its order. */
  readonly notes: readonly unknown[];
  /** Requests that were announced as charged. */
  readonly asked: () => number;
  readonly cancellation: LightAbortSignal;
}

/** A mock and what is needed to have it work, for all tests of a file. */
export function mockedProvider(kind: Interface): {
  mock(): MockProvider;
  workshop(changes?: Changes): TestWorkshop;
} {
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
  return {
    mock: () => mock!,
    workshop({ timeouts, noted = null, baseUrl = mock!.url } = {}) {
      const notes: unknown[] = [];
      let asked = 0;
      const cancellation = new LightAbortSignal();
      return {
        settings: { kind, baseUrl, apiKey: KEY, concurrency: 8 },
        model: 'upstream-model',
        idempotencyKey: 'key of the task for mödel',
        upstream,
        pool: { size: 1, run: unused, close: unused },
        timeouts: { ...PATIENT, ...timeouts },
        signal: cancellation,
        noted,
        note: async (progress) => {
          notes.push(progress);
        },
        asking: async () => {
          asked += 1;
        },
        notes,
        asked: () => asked,
        cancellation,
      };
    },
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

export function input(index: number, filename = `input-${index}.png`): InputFile {
  return { bytes: png(8, 8, index), mediaType: 'image/png', filename };
}

const PROMPTED = { prompt: 'a lighthouse at dusk', seed: null, user: null };

export function imageOrder(
  work: Partial<ImageWork> = {},
  inputs: readonly InputFile[] = [],
  mask: InputFile | null = null,
): Order<ImageWork> {
  return {
    work: {
      ...PROMPTED,
      type: 'image',
      edit: false,
      n: 1,
      size: null,
      native: false,
      quality: null,
      inputs: [],
      mask: null,
      ...work,
    },
    inputs,
    mask,
  };
}

export function videoOrder(
  work: Partial<VideoWork> = {},
  inputs: readonly InputFile[] = [],
): Order<VideoWork> {
  return {
    work: { ...PROMPTED, type: 'video', size: null, duration: 4, inputs: [], ...work },
    inputs,
    mask: null,
  };
}

export function audioOrder(work: Partial<AudioWork> = {}): Order<AudioWork> {
  return {
    work: { ...PROMPTED, type: 'audio', voice: null, format: null, duration: null, ...work },
    inputs: [],
    mask: null,
  };
}
