import { afterAll, afterEach, beforeAll } from 'vitest';
import { processDaemon, sharedDaemon, type TestDaemon } from '../../daemon.ts';
import { type MockProvider, startMockProvider } from '../mock-provider.ts';
import { Client } from './client.ts';

/** The keys that the daemon has for its providers: to be seen there and nowhere else. */
export const PROVIDER_KEYS = {
  first: 'sk-provider-first-5ecre7',
  second: 'sk-provider-second-5ecre7',
  far: 'sk-provider-far-5ecre7',
} as const;

/** Where a daemon's models lead: two of OpenAI's kind, and another gateway. */
export interface Providers {
  readonly first: MockProvider;
  readonly second: MockProvider;
  readonly far: MockProvider;
}

export async function startProviders(): Promise<Providers & { close(): Promise<void> }> {
  const [first, second, far] = await Promise.all([
    startMockProvider(),
    startMockProvider(),
    startMockProvider('oriel'),
  ]);
  return {
    first,
    second,
    far,
    close: async () => {
      await Promise.all([first.close(), second.close(), far.close()]);
    },
  };
}

const SANDBOX_IMAGES = { provider: 'local', model: 'image' };

/** What `oriel.yaml` says of a daemon whose media models all lead to mocks. */
export function mediaConfig(
  { first, second, far }: Providers,
  { limits = {}, concurrency = 8, ...changes }: MediaChanges = {},
): object {
  const at = (kind: string, { url }: MockProvider, apiKey: string) => ({
    kind,
    baseUrl: url,
    apiKey,
    concurrency,
  });
  const image = (more: object, ...providers: string[]) => ({
    type: 'image',
    routes: providers.map((provider) => ({ provider, model: 'upstream-image' })),
    price: { perImage: 4 },
    ...more,
  });
  const other = (type: string, provider: string, price: object) => ({
    type,
    routes: [{ provider, model: `upstream-${type}` }],
    price,
  });
  const film = { perVideo: 1, perSecond: 0.5 };
  return {
    // Of failures tests tell by themselves how often they are tried, and whether a route rests.
    routing: { retries: 0, cooldown: { after: 0 } },
    limits: { free: { rpm: 1_000_000 }, paid: { rpm: 1_000_000 }, ...limits },
    owner: { credits: 1_000_000 },
    // A machine under load delays the main thread; no test of tasks is about that.
    overload: { eventLoopDelay: '1h' },
    network: { allowPrivateAddresses: true },
    providers: {
      first: at('openai', first, PROVIDER_KEYS.first),
      second: at('openai', second, PROVIDER_KEYS.second),
      far: at('oriel', far, PROVIDER_KEYS.far),
      local: { kind: 'sandbox' },
    },
    models: {
      native: image({ rules: 'native-size' }, 'first'),
      any: image({ aliases: ['anything'] }, 'first'),
      'brush-*': image({ routes: [{ provider: 'first', model: 'paint-*' }] }),
      'judge-*': {
        type: 'moderation',
        routes: [{ provider: 'first', model: 'verdict-*' }],
        price: { perRequest: 0.25 },
      },
      either: image({}, 'first', 'second'),
      'far-native': image({ rules: 'native-size' }, 'far'),
      drawn: image({ routes: [SANDBOX_IMAGES] }),
      mixed: image({ routes: [SANDBOX_IMAGES, { provider: 'first', model: 'upstream-image' }] }),
      film: other('video', 'first', film),
      'far-film': other('video', 'far', film),
      speech: other('audio', 'first', { perRequest: 2 }),
      'far-speech': other('audio', 'far', { perRequest: 2 }),
      sound: {
        type: 'audio',
        routes: [{ provider: 'local', model: 'audio' }],
        price: { perRequest: 2 },
      },
      scribe: other('transcription', 'first', { perRequest: 2 }),
      'far-scribe': other('transcription', 'far', { perRequest: 2 }),
      'two-scribes': {
        type: 'transcription',
        routes: ['first', 'second'].map((provider) => ({
          provider,
          model: 'upstream-transcription',
        })),
        price: { perRequest: 2 },
      },
      listener: {
        type: 'transcription',
        routes: [{ provider: 'local', model: 'transcription' }],
        price: { perRequest: 2 },
      },
      judge: other('moderation', 'first', { perRequest: 0.5 }),
    },
    ...changes,
  };
}

export interface MediaChanges {
  readonly limits?: object;
  /** Of every provider. */
  readonly concurrency?: number;
  /** Sections of the configuration in the place of the usual ones. */
  readonly [section: string]: unknown;
}

type ClientOptions = Parameters<typeof Client.of>[1];

export interface MediaDaemon extends Providers {
  readonly daemon: TestDaemon;
  /** An account of its own, with a key. */
  client(options?: ClientOptions): Promise<Client>;
}

interface SharedMedia {
  (): MediaDaemon;
  /** The same, with the client of a new account. */
  fresh(options?: ClientOptions): Promise<MediaDaemon & { readonly ann: Client }>;
}

/** A running daemon with its mocks. */
interface Started extends Providers {
  readonly daemon: TestDaemon;
}

/** The daemon without changes, which all files of this process share. */
let shared: Promise<Started> | undefined;

async function startShared(): Promise<Started> {
  const providers = await startProviders();
  return { ...providers, daemon: await processDaemon({ config: mediaConfig(providers) }) };
}

/**
 * A daemon and the mocks that its models lead to. Without changes all files of a process share one, so that a test
 * uses accounts of its own.
 */
export function mediaDaemon(
  changes?: MediaChanges,
  env: Readonly<Record<string, string>> = {},
): SharedMedia {
  const started = changes ? ownDaemon(changes, env) : sharedMedia();
  afterEach(() => {
    const { first, second, far } = started();
    for (const provider of [first, second, far]) provider.reset();
  });
  const media = (): MediaDaemon => {
    const { daemon, ...providers } = started();
    return { ...providers, daemon, client: (options) => Client.of(daemon, options) };
  };
  return Object.assign(media, {
    fresh: async (options?: ClientOptions) => ({ ...media(), ann: await media().client(options) }),
  });
}

function sharedMedia(): () => Started {
  let started: Started | undefined;
  beforeAll(async () => {
    shared ??= startShared();
    started = await shared;
  });
  return () => started!;
}

function ownDaemon(changes: MediaChanges, env: Readonly<Record<string, string>>): () => Started {
  let providers: Awaited<ReturnType<typeof startProviders>> | undefined;
  beforeAll(async () => {
    providers = await startProviders();
  });
  const daemon = sharedDaemon({
    env,
    // Read when the daemon starts: by then the mocks have their ports.
    get config() {
      return mediaConfig(providers!, changes);
    },
  });
  afterAll(async () => {
    await providers?.close();
  });
  return () => ({ ...providers!, daemon: daemon() });
}
