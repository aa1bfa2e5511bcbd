import { afterAll, beforeAll, expect } from 'vitest';
import { sharedDaemon, type TestDaemon } from '../../daemon.ts';
import { type MockProvider, startMockProvider } from '../mock-provider.ts';

/** The key that the daemon has for its provider: to be seen there and nowhere else. */
export const SECRET = 'sk-upstream-media-5ecre7-0123456789';

interface Hostile {
  readonly daemon: TestDaemon;
  readonly provider: MockProvider;
}

/** A daemon and a provider that wishes it ill, for all tests of a file. */
export function hostileDaemon(): () => Hostile {
  let provider: MockProvider | undefined;
  beforeAll(async () => {
    provider = await startMockProvider();
  });
  const daemon = sharedDaemon({
    // Read when the daemon starts: by then the mock has its port.
    get config() {
      const model = (type: string, kind: string) => ({
        type,
        routes: [{ provider: kind, model: type }],
      });
      return {
        // What is as large as this keeps a small machine busy; it is to answer all the same.
        overload: { eventLoopDelay: '1h' },
        routing: { retries: 0, cooldown: { after: 0 } },
        limits: { paid: { rpm: 1_000_000 }, syncWait: '1m' },
        providers: {
          outside: { kind: 'openai', baseUrl: provider!.url, apiKey: SECRET },
          sandbox: { kind: 'sandbox' },
        },
        models: {
          draws: { ...model('image', 'outside'), price: { perImage: 1 } },
          films: { ...model('video', 'outside'), price: { perVideo: 1 } },
          judges: model('moderation', 'outside'),
          sandbox: { ...model('image', 'sandbox'), price: { perImage: 1 } },
        },
      };
    },
  });
  afterAll(async () => {
    await provider?.close();
  });
  return () => ({ daemon: daemon(), provider: provider! });
}

interface Told {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as what they are.
  readonly json: any;
}

/** Posts JSON with the owner's key. A daemon that hangs fails the test rather than the run. */
export async function post({ daemon }: Hostile, path: string, body: object): Promise<Told> {
  const response = await daemon.send(path, body, { signal: AbortSignal.timeout(120_000) });
  const text = await response.text();
  return { status: response.status, text, json: JSON.parse(text) };
}

/** What must hold after all of it: nothing reserved, nothing complained of, and a clean end. */
export async function expectCalm({ daemon }: Hostile): Promise<void> {
  const account = await (await daemon.request('/v1/account')).json();
  expect(account).toMatchObject({ credits: { reserved: 0 } });
  expect(await daemon.stop()).toMatchObject({ status: 0, stderr: '' });
  expect(daemon.log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  expect(JSON.stringify(daemon.log)).not.toContain(SECRET);
}
