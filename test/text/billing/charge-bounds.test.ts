import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Config } from '../../../src/config/settings/schema.ts';
import type { ExactCache } from '../../../src/exchanges/cache/exact-cache.ts';
import { Failure } from '../../../src/failure.ts';
import type { KeyHolder, Store } from '../../../src/store/store.ts';
import { TextReport } from '../../../src/text/canonical/report.ts';
import type { FileContents } from '../../../src/text/execution/insert-files.ts';
import { TextGateway } from '../../../src/text/gateway.ts';
import { Activity } from '../../../src/text/stages/stage.ts';
import { LightAbortSignal } from '../../../src/upstream/abort-signal.ts';
import type { UpstreamClient } from '../../../src/upstream/client.ts';
import type { UpstreamResponse } from '../../../src/upstream/response.ts';
import { runs } from '../../runs.ts';
import { networkSettings } from '../../upstream/policies.ts';
import { PAIRS } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { plainBody } from '../raw.ts';

const HOLDER = {
  account: { id: 'acct_1', plan: 'paid' },
  key: { id: 'key_1', models: null },
} as unknown as KeyHolder;

const price = fc.record({
  input: fc.integer({ min: 0, max: 20_000_000 }),
  output: fc.integer({ min: 1, max: 100_000_000 }),
  cachedInput: fc.option(fc.integer({ min: 0, max: 40_000_000 }), { nil: undefined }),
  cacheWrite: fc.option(fc.integer({ min: 0, max: 40_000_000 }), { nil: undefined }),
  cacheWrite1h: fc.option(fc.integer({ min: 0, max: 80_000_000 }), { nil: undefined }),
  tiers: fc.option(
    fc.tuple(
      fc.record({
        above: fc.integer({ min: 1, max: 1500 }),
        input: fc.integer({ min: 0, max: 40_000_000 }),
        output: fc.integer({ min: 0, max: 200_000_000 }),
      }),
    ),
    { nil: undefined },
  ),
});

const count = fc.oneof(
  fc.nat(2000),
  fc.nat(20_000_000),
  fc.constantFrom(-1, 1.5, Number.MAX_SAFE_INTEGER, '7', null),
);

const lifetimes = fc.record(
  { ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count },
  { requiredKeys: [] },
);
const details = fc.record(
  { cached_tokens: count, cache_write_tokens: count, cache_creation_token_details: lifetimes },
  { requiredKeys: [] },
);

/** Usage in the fields of all dialects at once. */
const usage = fc.record(
  {
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    cache_creation: lifetimes,
    prompt_tokens_details: details,
    input_tokens_details: details,
  },
  { requiredKeys: [] },
);

const word = fc.string({ maxLength: 40 });

/** Frames that a provider of a dialect may send, in any order and number. */
function framesOf(dialect: DialectName) {
  const answer = fc.record({ text: word, usage }).map(({ text, usage: reported }): object[] => {
    if (dialect === 'chat') {
      return [
        { choices: [{ index: 0, delta: { content: text } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: reported },
      ];
    }
    if (dialect === 'responses') {
      return [
        { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: text },
        { type: 'response.completed', response: { status: 'completed', usage: reported } },
      ];
    }
    return [
      { type: 'message_start', message: { usage: reported } },
      {
        type: 'content_block_start',
        index: 0,
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: reported },
      { type: 'message_stop' },
    ];
  });
  const event = answer.chain((events) => fc.constantFrom(...events));
  const frame = fc.oneof(
    event.map(
      (data) => `event: ${'type' in data ? data.type : ''}\ndata: ${JSON.stringify(data)}\n\n`,
    ),
    fc.constantFrom(': comment\n\n', '\n\n', 'data:\n\n', 'data: {}\n\n', 'data: [DONE]\n\n'),
  );
  return fc.array(fc.tuple(frame, fc.constantFrom(1, 1, 1, 500)), { maxLength: 12 });
}

interface Answer {
  readonly stream: boolean;
  readonly body: string;
  readonly cut: boolean;
}

function exchange({ stream, body, cut }: Answer): UpstreamResponse {
  const type = stream ? 'text/event-stream' : 'application/json';
  return {
    status: 200,
    headers: { 'content-type': type },
    bytes: async () => Buffer.from(body),
    read: async (onData) => {
      onData(Buffer.from(body));
      if (cut) throw new Failure('network_error', 'the connection was reset');
    },
    resume() {},
    abort() {},
  };
}

/** Sends one request. @returns micro-credits held and charged, and the body that the upstream got */
async function ask(
  [client, upstream]: readonly [DialectName, DialectName],
  model: object,
  body: object,
  answer: Answer,
  trustUpstream = false,
): Promise<{ readonly held: number; readonly charged: number; readonly sent: object | null }> {
  let held = 0;
  let charged = 0;
  let sent: object | null = null;
  const store = {
    reserve: async (_: string, __: string, amount: number) => {
      held = amount;
      return { id: 'reservation_1', amount };
    },
    settle: async (_: unknown, { charge }: { charge: number }) => {
      charged = charge;
      return charge;
    },
    release: async () => {},
    documents: { add: async () => [], find: async () => undefined },
  } as unknown as Store;
  const config = {
    answers: { model: 'public' },
    responses: { retention: 0 },
    billing: { trustUpstream, maxOutputTokens: 16_384 },
    routing: {
      retries: 0,
      cooldown: { after: 0, for: 0 },
      timeouts: { connect: 0, firstByte: 0, idle: 0, total: 60_000 },
    },
    network: networkSettings(),
    providers: { mock: { kind: 'oriel', baseUrl: 'http://upstream.example/v1' } },
    models: {
      m: {
        type: 'text',
        routes: [{ provider: 'mock', model: 'up', dialect: upstream, priority: 1 }],
        ...model,
      },
    },
  } as unknown as Config;
  const open = async (_: string, options: { body: string }) => {
    sent = JSON.parse(options.body);
    return exchange(answer);
  };
  const gateway = new TextGateway({
    config: () => config,
    store,
    upstream: { open } as unknown as UpstreamClient,
    cache: {} as ExactCache,
    observer: { onAttempt() {}, used() {}, cached() {}, exceeded() {} },
    activity: new Activity(),
    files: {} as FileContents,
    admitPrompt: async () => {},
  });
  try {
    await gateway.answer({
      requestId: 'req_1',
      dialect: client,
      address: { model: null, stream: null },
      body,
      bytes: null,
      headers: {},
      holder: HOLDER,
      clientDisconnect: new LightAbortSignal(),
      onCharging: () => {},
      response: {
        started: false,
        isBlocked: false,
        setHeader() {},
        write: () => true,
        drained: async () => {},
      },
      report: new TextReport(),
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  return { held, charged, sent };
}

const LIMITS = {
  chat: ['max_completion_tokens', 'max_tokens'],
  responses: ['max_output_tokens'],
  messages: ['max_tokens'],
} as const;

it.each(PAIRS)(
  'client %s, upstream %s: the charge never exceeds the hold',
  async (client, upstream) => {
    const cases = fc.record({
      price,
      limit: fc.option(fc.integer({ min: 1, max: 3000 }), { nil: undefined }),
      most: fc.option(fc.integer({ min: 3000, max: 5000 }), { nil: undefined }),
      contextWindow: fc.option(fc.integer({ min: 1, max: 5000 }), { nil: undefined }),
      n: client === 'chat' ? fc.constantFrom(undefined, 1, 3) : fc.constant(undefined),
      stream: fc.boolean(),
      streams: fc.boolean(),
      cut: fc.boolean(),
      frames: framesOf(upstream),
      reportedUsage: usage,
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ limit, most, n, stream, streams, cut, ...one }) => {
        const body = plainBody(client, 'm', {
          stream,
          ...(limit !== undefined && { [LIMITS[client][0]]: limit }),
          ...(n !== undefined && { n }),
        });
        const whole = {
          id: 'a',
          status: 'completed',
          choices: [
            { index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' },
          ],
          output: [],
          content: [{ type: 'text', text: 'x' }],
          stop_reason: 'end_turn',
          usage: one.reportedUsage,
        };
        const { held, charged } = await ask(
          [client, upstream],
          {
            price: one.price,
            ...(most !== undefined && { maxOutputTokens: most }),
            ...(one.contextWindow !== undefined && { contextWindow: one.contextWindow }),
          },
          body,
          {
            stream: streams,
            cut,
            body: streams
              ? one.frames.map(([frame, times]) => frame.repeat(times)).join('')
              : JSON.stringify(whole),
          },
        );
        expect(charged).toBeLessThanOrEqual(held);
        const window = one.contextWindow ?? Infinity;
        const input = Math.min(JSON.stringify(body).length + 500, window) * (n ?? 1);
        const output = (limit ?? (client === 'messages' ? 500 : (most ?? 16_384))) * (n ?? 1);
        const { input: plain, cachedInput = 0, cacheWrite = 0, cacheWrite1h = 0 } = one.price;
        const [tier = { above: 0, input: 0, output: 0 }] = one.price.tiers ?? [];
        const isReached = input / (n ?? 1) > tier.above;
        const dearest = Math.max(
          ...[plain, cachedInput, cacheWrite, cacheWrite1h, isReached ? tier.input : 0],
        );
        const ofOutput = Math.max(one.price.output, isReached ? tier.output : 0);
        expect(held).toBeLessThanOrEqual(Math.ceil((input * dearest + output * ofOutput) / 1e6));
      }),
      { numRuns: runs(240) },
    );
  },
);

const PRICE = { input: 1_000_000, output: 1_000_000 };

it.each(PAIRS)(
  'client %s, upstream %s: sends the token limit that the hold assumes',
  async (client, upstream) => {
    const answer = { stream: false, cut: true, body: '{}' };
    const own = client === 'messages' ? 500 : 16_384;
    const priced = await ask([client, upstream], { price: PRICE }, plainBody(client, 'm'), answer);
    expect(priced.sent).toMatchObject({ [LIMITS[upstream][0]]: own });
    // The configured maxOutputTokens of the model is the limit.
    const known = { price: PRICE, maxOutputTokens: 9000 };
    const { held, sent } = await ask([client, upstream], known, plainBody(client, 'm'), answer);
    const bytes = JSON.stringify(plainBody(client, 'm')).length;
    expect(held).toBe((client === 'messages' ? 500 : 9000) + bytes + 500);
    if (client === upstream && client !== 'messages') {
      for (const name of LIMITS[upstream]) expect(sent).not.toHaveProperty(name);
    }
  },
);

it('holds and charges the input of each request where a body of its own format is not passed', async () => {
  const name = 'a'.repeat(65);
  const tools = [{ type: 'function', function: { name, parameters: { type: 'object' } } }];
  const body = plainBody('chat', 'm', { n: 3, max_tokens: 10, tools });
  const choices = [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 400, completion_tokens: 2 };
  const answer = { stream: false, cut: false, body: JSON.stringify({ choices, usage }) };
  const { held, charged } = await ask(['chat', 'chat'], { price: PRICE }, body, answer);
  expect(held).toBe(3 * (JSON.stringify(body).length + 500 + 10));
  expect(charged).toBe(3 * 402);
});

it('charges each of n answers by the tier of its own input', async () => {
  const body = plainBody('chat', 'm', { n: 3, max_tokens: 10 });
  const content = [{ type: 'text', text: 'x' }];
  const usage = { input_tokens: 90, output_tokens: 1 };
  const price = { ...PRICE, tiers: [{ above: 100, input: 3_000_000 }] };
  const answer = {
    stream: false,
    cut: false,
    body: JSON.stringify({ content, stop_reason: 'end_turn', usage }),
  };
  const { held, charged } = await ask(['chat', 'messages'], { price }, body, answer);
  expect(charged).toBe(3 * 91);
  expect(held).toBe(3 * (3 * (JSON.stringify(body).length + 500) + 10));
});

it('holds for each prompt of completions its own bytes, and charges them where no usage comes', async () => {
  const prompt = ['a'.repeat(40_000), 'b', 'c'.repeat(400)];
  const body = { model: 'm', prompt, n: 2, max_tokens: 10 };
  const content = [{ type: 'text', text: 'four' }];
  const answer = {
    stream: false,
    cut: false,
    body: JSON.stringify({ content, stop_reason: 'end_turn' }),
  };
  const pair = ['completions' as DialectName, 'messages'] as const;
  const { held, charged } = await ask(pair, { price: PRICE }, body, answer);
  expect(held).toBe(2 * (40_401 + 3 * 500 + 3 * 10));
  expect(charged).toBe(2 * (10_000 + 1 + 100) + 6);
});

it('adds the reasoning budget to the token limit of the answer', async () => {
  const body = plainBody('chat', 'm', { reasoning_effort: 'max' });
  const reasoning = { supported_efforts: ['max'], default_effort: 'max', can_disable: false };
  const { sent } = await ask(['chat', 'messages'], { price: PRICE, reasoning }, body, {
    stream: false,
    cut: true,
    body: '{}',
  });
  expect(sent).toMatchObject({ max_tokens: 16_384 + 4096, thinking: { budget_tokens: 16_384 } });
});

it.each(['chat', 'responses', 'messages'] as const)(
  'comments, pings and empty events of %s are not charged as tokens',
  async (dialect) => {
    const noise = ': comment\n\n\n\ndata:\n\ndata: {}\n\nevent: ping\ndata: {"type": "ping"}\n\n';
    const { charged } = await ask(
      [dialect, dialect],
      { price: { input: 0, output: 1_000_000 } },
      plainBody(dialect, 'm', { stream: true }),
      { stream: true, cut: true, body: noise.repeat(1000) },
    );
    expect(charged).toBe(0);
  },
);

const PRICES = { input: 1_000_000, cachedInput: 100_000, cacheWrite: 2_000_000, output: 5_000_000 };

it.each([
  { title: 'at cacheWrite', price: PRICES, written: 100 * 2 },
  { title: 'at input without cacheWrite', price: { input: 1e6, output: 5e6 }, written: 100 },
  {
    title: 'for an hour at cacheWrite1h',
    price: { ...PRICES, cacheWrite1h: 3_000_000 },
    written: 60 * 2 + 40 * 3,
  },
])('charges cache writes $title', async ({ price: prices, written }) => {
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 100,
    cache_creation: { ephemeral_5m_input_tokens: 60, ephemeral_1h_input_tokens: 40 },
    output_tokens: 1,
  };
  const { charged } = await ask(
    ['messages', 'messages'],
    { price: prices },
    plainBody('messages', 'm'),
    { stream: false, cut: false, body: JSON.stringify({ content: [], usage }) },
  );
  expect(charged).toBe(10 + written + 5);
});

it('charges cache reads at cachedInput, and as input without it', async () => {
  const usage = {
    prompt_tokens: 30,
    completion_tokens: 1,
    prompt_tokens_details: { cached_tokens: 20 },
  };
  const answer = { stream: false, cut: false, body: JSON.stringify({ choices: [{}], usage }) };
  const chargeAt = (prices: object) =>
    ask(['chat', 'chat'], { price: prices }, plainBody('chat', 'm'), answer);
  expect((await chargeAt(PRICES)).charged).toBe(10 + 2 + 5);
  expect((await chargeAt({ input: 1e6, output: 5e6 })).charged).toBe(30 + 5);
});

it('charges reported usage above the limit only with billing.trustUpstream', async () => {
  const answer = {
    stream: false,
    cut: false,
    body: JSON.stringify({ choices: [{}], usage: { prompt_tokens: 7, completion_tokens: 5000 } }),
  };
  const body = plainBody('chat', 'm', { max_tokens: 10 });
  const chargeWith = (trusts: boolean) =>
    ask(['chat', 'chat'], { price: PRICE }, body, answer, trusts);
  expect((await chargeWith(false)).charged).toBe(7 + 10);
  expect((await chargeWith(true)).charged).toBe(7 + 5000);
});
