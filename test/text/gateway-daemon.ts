import { afterAll, beforeAll } from 'vitest';
import { readAdminEndpoint } from '../../src/administration/admin-endpoint.ts';
import { FEATURES } from '../../src/store/features.ts';
import { processDaemon, sharedDaemon, type TestDaemon } from '../daemon.ts';
import { RUNS_TWICE } from '../second-run.ts';
import { CLOUD_SECRETS, type Cloud, type CloudName, startCloud } from './clouds.ts';
import { type DialectName, type MockUpstream, startMockUpstream } from './mock-upstream.ts';

/** The daemon's keys for its upstreams, which only upstreams may see. */
export const UPSTREAM_KEYS = {
  openai: 'sk-upstream-openai-5ecre7',
  anthropic: 'sk-upstream-anthropic-5ecre7',
  gemini: 'AIza-upstream-gemini-5ecre7',
} as const;

export const DIALECTS: readonly DialectName[] = ['chat', 'responses', 'messages'];

/** The model whose upstream speaks a dialect. */
export const modelTo = (dialect: DialectName) => `to-${dialect}`;

/** All pairs of a client's and an upstream's dialect. */
export const PAIRS: readonly (readonly [DialectName, DialectName])[] = DIALECTS.flatMap((client) =>
  DIALECTS.map((upstream) => [client, upstream] as const),
);

/** Pairs in which the gateway translates. */
export const FOREIGN = PAIRS.filter(([client, upstream]) => client !== upstream);

/** Credits per million tokens, so that one token of output costs 0.01. */
const PRICE = { input: 1000, cachedInput: 100, output: 10_000 } as const;

export const REASONING = {
  supported_efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
  default_effort: 'medium',
  can_disable: true,
};

/** `bedrock` or `vertex` to ask models of chat and messages in a cloud before the mock. */
export const CLOUD = process.env['ORIEL_CLOUD'] as CloudName | undefined;

/** What the upstream of a dialect gets that no client may see. */
export const secretFor = (dialect: DialectName) => {
  if (CLOUD && dialect !== 'responses') return CLOUD_SECRETS[CLOUD];
  return UPSTREAM_KEYS[dialect === 'messages' ? 'anthropic' : 'openai'];
};

/** The configuration of a daemon whose upstreams are all one mock. @param cloud before the mock */
export function gatewayConfig(url: string, changes: object = {}, cloud?: Cloud): object {
  const openai = { kind: 'openai', baseUrl: url, apiKey: UPSTREAM_KEYS.openai };
  // Neither cloud has the format of responses.
  const ofResponses = cloud ? 'other' : 'openai';
  const text = (provider: string, dialect: DialectName, more: object = {}) => ({
    type: 'text',
    routes: [{ provider, model: `upstream-${dialect}`, dialect }],
    reasoning: REASONING,
    maxOutputTokens: 64_000,
    price: PRICE,
    ...more,
  });
  const gemini = { kind: 'gemini', baseUrl: url.replace(/\/v1$/, '/v1beta') };
  const to = (provider: string, model: string) =>
    text(provider, 'chat', { routes: [{ provider, model }] });
  const { reasoning: _, ...fixed } = text('openai', 'chat', {
    rules: 'fixed-reasoning',
    maxOutputTokens: 1_048_576,
  }) as Record<string, unknown>;
  return {
    // Tests of retries and the circuit breaker have settings of their own.
    routing: { retries: 0, cooldown: { after: 0 } },
    limits: { free: { rpm: 1_000_000 }, paid: { rpm: 1_000_000 } },
    owner: { credits: 1_000_000 },
    providers: {
      openai,
      anthropic: { kind: 'anthropic', baseUrl: url, apiKey: UPSTREAM_KEYS.anthropic },
      gemini: { ...gemini, apiKey: UPSTREAM_KEYS.gemini },
      'other-openai': { ...openai, apiKey: 'sk-upstream-rival-5ecre7' },
      'other-gemini': { ...gemini, apiKey: 'AIza-rival-gemini-5ecre7' },
      sandbox: { kind: 'sandbox' },
      ...(cloud && { openai: cloud.provider, anthropic: cloud.provider, other: openai }),
    },
    models: {
      'to-chat': text('openai', 'chat'),
      'to-responses': text(ofResponses, 'responses'),
      'to-messages': text('anthropic', 'messages'),
      'to-messages-or-chat': text('anthropic', 'messages', {
        routes: [
          { provider: 'anthropic', model: 'upstream-messages', dialect: 'messages' },
          { provider: 'openai', model: 'upstream-chat', dialect: 'chat' },
        ],
      }),
      'to-gemini': to('gemini', 'gemini-3-pro'),
      'to-gemini-2': to('gemini', 'gemini-2.5-pro'),
      'to-other-openai': text('other-openai', 'chat'),
      'to-other-gemini': to('other-gemini', 'gemini-3-pro'),
      'sandbox-chat': to('sandbox', 'chat'),
      'always-reasons': fixed,
      'sandbox-reasoner': {
        type: 'text',
        rules: 'fixed-reasoning',
        routes: [{ provider: 'sandbox', model: 'reasoner' }],
      },
      'allows-chat': text('openai', 'chat', { allow: FEATURES }),
      'allows-responses': text(ofResponses, 'responses', { allow: FEATURES }),
      'allows-messages': text('anthropic', 'messages', { allow: FEATURES }),
    },
    // Tests with providers that fall silent do not wait for their usage.
    billing: { drainTimeout: '1s' },
    ...changes,
  };
}

export interface GatewayDaemon {
  readonly daemon: TestDaemon;
  readonly upstream: MockUpstream;
}

let ofProcess: Promise<GatewayDaemon> | undefined;
/** Its configuration now. */
let current: object;

async function startOfProcess(): Promise<GatewayDaemon> {
  const upstream = await startMockUpstream();
  const cloud = CLOUD && (await startCloud(CLOUD, upstream.url));
  current = gatewayConfig(upstream.url, {}, cloud);
  return { upstream, daemon: await processDaemon({ config: current, env: cloud?.env ?? {} }) };
}

/**
 * A daemon and the mock upstream of all its models, shared by all test files that this process runs. Accounts, logs
 * and metrics stay.
 *
 * @param changes of the configuration, which a reload applies before the first test of the file
 */
export function sharedGateway(changes?: (url: string) => object): () => GatewayDaemon {
  if (RUNS_TWICE) return gatewayDaemon(changes);
  let gateway: GatewayDaemon | undefined;
  beforeAll(async () => {
    ofProcess ??= startOfProcess();
    gateway = await ofProcess;
    if (CLOUD) return;
    const { url } = gateway.upstream;
    const config = gatewayConfig(url, changes?.(url));
    if (JSON.stringify(config) === JSON.stringify(current)) return;
    const none = Object.fromEntries(Object.keys(current).map((section) => [section, undefined]));
    await gateway.daemon.reload({ ...none, ...config });
    current = config;
  });
  return () => gateway!;
}

/** The same for the tests of one file, with changes of the configuration. */
export function gatewayDaemon(
  changes: (url: string) => object = () => ({}),
  cloudName = CLOUD,
): () => GatewayDaemon {
  let upstream: MockUpstream | undefined;
  let cloud: Cloud | undefined;
  beforeAll(async () => {
    upstream = await startMockUpstream();
    cloud = cloudName && (await startCloud(cloudName, upstream.url));
  });
  const daemon = sharedDaemon({
    get env() {
      return cloud?.env ?? {};
    },
    // Read when the daemon starts, after the mock has a port.
    get config() {
      const { url } = upstream!;
      return gatewayConfig(url, changes(url), cloud);
    },
  });
  afterAll(async () => {
    await Promise.all([upstream?.close(), cloud?.close()]);
  });
  return () => ({ daemon: daemon(), upstream: upstream! });
}

/**
 * Runs a command of administration by the way that they all go: each of them as a process of its own would take
 * longer than all else that a test does.
 */
export async function administer(
  { data }: TestDaemon,
  command: string,
  body: object,
): Promise<{ readonly key: string }> {
  const { url, token } = readAdminEndpoint(data)!;
  const response = await fetch(`${url}/${command}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${command}: ${await response.text()}`);
  return ((await response.json()) as { result: { key: string } }).result;
}

type KeyOption = 'budget' | 'models' | 'allow' | 'images' | 'tpm' | 'parallel' | 'team' | 'bodies';

/** Makes an account with credits and a key for it. */
export async function newKey(
  daemon: TestDaemon,
  account: string,
  { credits = '1000', ...options }: { readonly [Name in 'credits' | KeyOption]?: string } = {},
): Promise<string> {
  await administer(daemon, 'accounts/create', { name: account, plan: 'paid', credits });
  return (await administer(daemon, 'keys/create', { account, ...options })).key;
}
