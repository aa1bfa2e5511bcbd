import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { gate } from '../../gate.ts';
import { newKey, sharedGateway } from '../gateway-daemon.ts';
import { type Script, USAGE } from '../script.ts';

const gateway = sharedGateway(() => ({ responses: { maxCount: 30 } }));

const FORMATS = ['chat', 'responses', 'messages', 'gemini'] as const;

let answers = 0;
const says = (text: string, ...more: NonNullable<Script['steps']>): Script => {
  answers += 1;
  return { id: `answer${answers}x`, steps: [...more, { text }], usage: USAGE };
};

type Streamed = Parameters<OpenAI['responses']['stream']>[0];

let count = 0;
/** A client of a new account. */
async function client(): Promise<OpenAI> {
  const { daemon } = gateway();
  count += 1;
  const apiKey = await newKey(daemon, `stores-${count}`, { credits: '100000' });
  return new OpenAI({ apiKey, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
}

/** Texts of what the upstream was sent last, one after the other. */
function sentTexts(): string[] {
  const { body } = gateway().upstream.requests.at(-1)!;
  const texts: string[] = [];
  JSON.stringify(body.input ?? body.messages ?? body.contents, (name, value) => {
    if (['text', 'content', 'output'].includes(name) && typeof value === 'string')
      texts.push(value);
    return value;
  });
  return texts;
}

/** A field that the client's types lack. */
const isStored = (response: object) => (response as { readonly store?: boolean }).store === true;

const failureOf = (promise: PromiseLike<unknown>) =>
  Promise.resolve(promise).then(
    () => null,
    ({ status, code, param }) => [status, code, param],
  );

const NOT_FOUND = (param: string) => [404, 'document_not_found', param];

describe.each(FORMATS)('with a provider of %s, a response', (format) => {
  const model = `to-${format}`;
  let openai: OpenAI;
  beforeAll(async () => {
    openai = await client();
  });

  it.each([false, true])('is continued, read and deleted: stream %s', async (stream) => {
    const { upstream } = gateway();
    const create = async (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) => {
      if (!stream) return openai.responses.create(body);
      const events = openai.responses.stream({ ...body, stream: true } as Streamed);
      const heads = new Set<string>();
      for await (const event of events) {
        if (!('response' in event)) continue;
        heads.add(JSON.stringify([isStored(event.response), event.response.previous_response_id]));
      }
      expect([...heads]).toEqual([JSON.stringify([true, body.previous_response_id ?? null])]);
      return events.finalResponse();
    };
    upstream.play(says('Hello Ada.'));
    const first = await create({ model, input: 'I am Ada.' });
    expect(isStored(first)).toBe(true);
    upstream.play(says('Ada.'));
    const previous = { previous_response_id: first.id };
    const second = await create({
      model,
      input: 'Who am I?',
      instructions: 'Be brief.',
      ...previous,
    });
    expect(second.previous_response_id).toBe(first.id);
    const said = ['I am Ada.', 'Hello Ada.', 'Who am I?'];
    expect(sentTexts().filter((text) => text !== 'Be brief.')).toEqual(said);
    upstream.play(says('Yes.'));
    const item = { type: 'item_reference' as const, id: first.output[0]!.id! };
    await create({ model, input: [item, { role: 'user', content: 'Sure?' }] });
    expect(sentTexts()).toEqual(['Hello Ada.', 'Sure?']);

    const found = await openai.responses.retrieve(second.id);
    expect(second.output).toMatchObject(found.output);
    const items = await openai.responses.inputItems.list(second.id);
    expect(items.data).toMatchObject([{ role: 'user', content: [{ text: 'Who am I?' }] }]);
    await openai.responses.delete(second.id);
    expect(await failureOf(openai.responses.retrieve(second.id))).toEqual(NOT_FOUND('response_id'));
    await openai.responses.delete(first.id);
    const later = openai.responses.create({ model, input: 'And?', ...previous });
    expect(await failureOf(later)).toEqual(NOT_FOUND('previous_response_id'));
  });

  it('keeps calls of tools, and adds to a conversation', async () => {
    const { upstream } = gateway();
    const tools = [{ type: 'function' as const, name: 'time', parameters: {}, strict: false }];
    const { id: conversation } = await openai.conversations.create({
      items: [{ role: 'user', content: 'In Rome.' }],
    });
    upstream.play({ steps: [{ call: 'time', id: 'call_1', arguments: '{}' }], usage: USAGE });
    const first = await openai.responses.create({
      model,
      input: 'What time is it?',
      tools,
      conversation,
    });
    expect(first.conversation).toEqual({ id: conversation });
    const call = first.output.find(({ type }) => type === 'function_call');
    const { call_id } = call as OpenAI.Responses.ResponseFunctionToolCall;
    upstream.play(says('Noon.'));
    const output = { type: 'function_call_output' as const, call_id, output: '12:00' };
    await openai.responses.create({ model, input: [output], tools, conversation });
    expect(sentTexts().slice(0, 2)).toEqual(['In Rome.', 'What time is it?']);
    expect(JSON.stringify(upstream.only().body)).toContain('12:00');
    const { data } = await openai.conversations.items.list(conversation, { order: 'asc' });
    const types = data.map(({ type }) => type).filter((type) => type !== 'reasoning');
    const called = ['function_call', 'function_call_output'];
    expect(types).toEqual(['message', 'message', ...called, 'message']);
    const one = await openai.conversations.items.retrieve(data[0]!.id!, {
      conversation_id: conversation,
    });
    expect(one).toEqual(data[0]);
    await openai.conversations.items.delete(one.id!, { conversation_id: conversation });
    expect(await openai.conversations.update(conversation, { metadata: { a: 'b' } })).toMatchObject(
      {
        metadata: { a: 'b' },
      },
    );
    await openai.conversations.delete(conversation);
    const gone = openai.conversations.items.list(conversation);
    expect(await failureOf(gone)).toEqual(NOT_FOUND('conversation_id'));
  });

  it('is compacted, and goes on from its summary', async () => {
    const { upstream } = gateway();
    upstream.play(says('Hello Ada.'));
    const { id: previous_response_id } = await openai.responses.create({
      model,
      input: 'I am Ada.',
    });
    upstream.play(says('The user is Ada.'));
    const call = { type: 'function_call' as const, call_id: 'c', name: 'time', arguments: '{}' };
    const result = { type: 'function_call_output' as const, call_id: 'c', output: 'noon' };
    const input = [call, result];
    const compact = { model, previous_response_id, input };
    const compacted = await openai.responses.compact(compact);
    const [asked] = sentTexts();
    expect([asked, sentTexts().join(' ').includes('noon')]).toEqual(['I am Ada.', true]);
    expect(compacted.usage.total_tokens).toBe(USAGE.input + USAGE.output);
    expect(compacted.output).toMatchObject([
      { type: 'message', role: 'user', content: [{ text: 'I am Ada.' }] },
      { type: 'compaction', encrypted_content: expect.stringMatching(/^oriel\.compaction\./) },
    ]);
    expect(JSON.stringify(compacted)).not.toContain('The user is Ada.');
    const alone = await openai.responses.compact({ model, previous_response_id });
    expect(alone.output.map(({ type }) => type)).toEqual(['message', 'compaction']);
    await openai.responses.compact({
      model,
      previous_response_id,
      input: [{ id: 'msg_other' } as never],
    });
    expect(JSON.stringify(gateway().upstream.requests.at(-1)!.body)).not.toContain('msg_other');
    const sent = ['I am Ada.', expect.stringContaining('The user is Ada.'), 'Who?'];
    const items = compacted.output as OpenAI.Responses.ResponseInputItem[];
    for (const body of [
      { input: [...items, { role: 'user' as const, content: 'Who?' }] },
      { input: 'Who?', previous_response_id: compacted.id },
    ]) {
      upstream.play(says('Ada.'));
      await openai.responses.create({ model, ...body });
      expect(sentTexts()).toEqual(sent);
    }
    const item = items[1] as OpenAI.Responses.ResponseCompactionItem;
    const changed = item.encrypted_content.replace(/.{6}$/, 'AAAAAA');
    for (const [from, encrypted_content] of [
      [openai, changed],
      [openai, 'oriel.compaction.'],
      [await client(), item.encrypted_content],
    ] as const) {
      const refused = from.responses.create({
        model,
        input: ['x', ''].map(() => ({ ...item, encrypted_content })),
      });
      expect(await failureOf(refused)).toEqual([400, null, 'input[0].encrypted_content']);
    }
  });

  it('is answered in the background, polled and followed', async () => {
    gateway().upstream.play(says('Done at last.'));
    const queued = await openai.responses.create({ model, input: 'Work.', background: true });
    expect([queued.status, queued.background]).toEqual(['queued', true]);
    const events = await openai.responses.retrieve(queued.id, { stream: true });
    const types: string[] = [];
    for await (const { type } of events) types.push(type);
    expect(types.at(-1)).toBe('response.completed');
    const done = await openai.responses.retrieve(queued.id);
    expect([done.status, done.output_text, done.id]).toEqual([
      'completed',
      'Done at last.',
      queued.id,
    ]);

    const stream = openai.responses.stream({ model, input: 'Again.', background: true });
    const seen: number[] = [];
    let id = '';
    for await (const event of stream) {
      seen.push(event.sequence_number);
      if ('response' in event) id = event.response.id;
    }
    expect(seen).toEqual(seen.map((_, index) => index));
    const rest = await openai.responses.retrieve(id, { stream: true, starting_after: 2 });
    const resumed: number[] = [];
    for await (const { sequence_number: number } of rest) resumed.push(number);
    expect(resumed).toEqual(seen.slice(3));
  });
});

it('goes on with another provider, which gets no reasoning of the former one', async () => {
  const openai = await client();
  const { upstream } = gateway();
  upstream.play(says('Hello.', { reasoning: 'Hm.', signature: 'sig-of-anthropic' }));
  const first = await openai.responses.create({
    model: 'to-messages',
    input: 'Hi',
    reasoning: { effort: 'low' },
  });
  for (const [model, isOwn] of [
    ['to-messages', true],
    ['to-responses', false],
    ['to-chat', false],
  ] as const) {
    upstream.play(says('Yes.'));
    const more = { previous_response_id: first.id, reasoning: { effort: 'low' as const } };
    await openai.responses.create({ model, input: 'And?', ...more });
    expect(upstream.only().text.includes('sig-of-anthropic'), model).toBe(isOwn);
    expect(sentTexts().filter((text) => text !== 'Hm.')).toEqual(['Hi', 'Hello.', 'And?']);
  }
});

it('keeps nothing with store: false, and asks the provider to store nothing', async () => {
  const openai = await client();
  const { upstream } = gateway();
  upstream.play(says('Hello.'));
  const unstored = await openai.responses.create({
    model: 'to-responses',
    input: 'Hi',
    store: false,
  });
  expect(await failureOf(openai.responses.retrieve(unstored.id))).toEqual(NOT_FOUND('response_id'));
  upstream.play(says('Hello.'));
  const stored = await openai.responses.create({ model: 'to-responses', input: 'Hi' });
  expect([isStored(stored), upstream.only().body.store]).toEqual([true, false]);
});

const FOREIGN: readonly (readonly [
  string,
  string,
  (a: OpenAI, ids: Ids) => PromiseLike<unknown>,
])[] = [
  ['a response', 'response_id', (a, { response }) => a.responses.retrieve(response)],
  ['its items', 'response_id', (a, { response }) => a.responses.inputItems.list(response)],
  ['its end', 'response_id', (a, { response }) => a.responses.cancel(response)],
  ['its deletion', 'response_id', (a, { response }) => a.responses.delete(response)],
  ['a conversation', 'conversation_id', (a, ids) => a.conversations.retrieve(ids.conversation)],
  ['its items', 'conversation_id', (a, ids) => a.conversations.items.list(ids.conversation)],
  ['its deletion', 'conversation_id', (a, ids) => a.conversations.delete(ids.conversation)],
  [
    'a continuation',
    'previous_response_id',
    (a, { response }) =>
      a.responses.create({ model: 'to-chat', input: 'x', previous_response_id: response }),
  ],
  [
    'a continuation in the background',
    'previous_response_id',
    (a, { response }) =>
      a.responses.create({
        model: 'to-chat',
        input: 'x',
        previous_response_id: response,
        background: true,
      }),
  ],
  [
    'an answer in a conversation',
    'conversation',
    (a, { conversation }) => a.responses.create({ model: 'to-chat', input: 'x', conversation }),
  ],
];

interface Ids {
  readonly response: string;
  readonly conversation: string;
}

describe('of another account', () => {
  let ids: Ids;
  let other: OpenAI;
  beforeAll(async () => {
    const openai = await client();
    gateway().upstream.play(says('Secret.'));
    const { id: response } = await openai.responses.create({ model: 'to-chat', input: 'Hi' });
    ids = { response, conversation: (await openai.conversations.create()).id };
    other = await client();
  });

  it.each(FOREIGN)('%s is not found', async (_, param, call) => {
    expect(await failureOf(call(other, ids))).toEqual(NOT_FOUND(param));
  });

  it('a referenced item is not sent', async () => {
    const owner = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${gateway().daemon.url}/v1` });
    gateway().upstream.play(says('Hello.'));
    const { output } = await owner.responses.create({ model: 'to-chat', input: 'Mine' });
    const input = [
      { type: 'item_reference' as const, id: output[0]!.id! },
      { role: 'user' as const, content: 'x' },
    ];
    await other.responses.create({ model: 'to-chat', input });
    expect(sentTexts()).toEqual(['x']);
  });
});

it('answers although the quota is full, and says that it stores nothing', async () => {
  const openai = await client();
  gateway().upstream.play(says('Hello.'));
  const create = () => openai.responses.create({ model: 'to-chat', input: 'Hi' });
  const all = await Promise.all(Array.from({ length: 40 }, create));
  expect(all.map(({ output_text: text }) => text)).toEqual(all.map(() => 'Hello.'));
  expect(all.filter(isStored)).toHaveLength(30);
  const kept = all.find(isStored)!;
  await openai.responses.delete(kept.id);
  expect(isStored(await create())).toBe(true);
});

it('creates a conversation with all its items or not at all', async () => {
  const openai = await client();
  const create = (count: number) => {
    const items = Array.from({ length: count }, () => ({ role: 'user', content: 'Hi' }) as const);
    return openai.conversations.create({ items });
  };
  await create(20);
  // As many as the quota has conversations.
  for (let count = 0; count < 30; count += 1)
    expect(await failureOf(create(20))).toEqual([402, 'storage_full', null]);
  await create(8);
});

it('refuses chains without an end, and long ones', async () => {
  const openai = await client();
  gateway().upstream.play(says('x'.repeat(3_000_000)));
  let previous: string | undefined;
  const next = async () => {
    const more = previous === undefined ? {} : { previous_response_id: previous };
    ({ id: previous } = await openai.responses.create({ model: 'to-chat', input: 'Hi', ...more }));
  };
  for (let turn = 0; turn < 4; turn += 1) await next();
  expect(await failureOf(next())).toEqual([400, 'context_length_exceeded', null]);
});

it('counts a response in the background by the limits of its key, and lets it wait', async () => {
  const { daemon, upstream } = gateway();
  const limits = { credits: '100000', parallel: '1' };
  const apiKey = await newKey(daemon, 'waits', limits);
  const openai = new OpenAI({ apiKey, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const held = gate();
  upstream.play({ steps: [{ wait: held.passed }, { text: 'One.' }], usage: USAGE }, says('Two.'));
  const body = { model: 'to-chat', input: 'x', background: true };
  const first = await openai.responses.create(body);
  await upstream.received(0);
  const refused = openai.responses.create({ model: 'to-chat', input: 'x' });
  expect(await failureOf(refused)).toEqual([429, 'parallel_requests_exceeded', 'parallel']);
  const second = await openai.responses.create(body);
  held.open();
  const textOf = async ({ id }: { readonly id: string }) =>
    (await openai.responses.retrieve(id)).output_text;
  await expect.poll(() => textOf(second), { timeout: 20_000 }).toBe('Two.');
  expect(await textOf(first)).toBe('One.');
});

const BAD = [
  ['previous_response_id', { previous_response_id: 'a', conversation: 'b' }, 400],
  ['previous_response_id', { previous_response_id: '../../x' }, 404],
  ['previous_response_id', { previous_response_id: '\u0000' }, 404],
  ['conversation', { conversation: { id: 'conv_no' } }, 404],
  ['store', { background: true, store: false }, 400],
  ['callback_url', { background: true, callback_url: 'ftp://x' }, 400],
  ['model', { background: true, model: 'no-model' }, 404],
] as const;

it.each(BAD)('refuses %s of %j', async (param, body, status) => {
  const openai = await client();
  const request = { model: 'to-chat', input: 'x', ...body };
  const failure = await failureOf(openai.post('/responses', { body: request }));
  expect([failure?.[0], failure?.[2]]).toEqual([status, param]);
});

const label = (length: number) => 'x'.repeat(length);
it.each([
  [{ metadata: { a: label(513) } }, 'metadata.a: expected a text of at most 512 characters'],
  [
    { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v'])) },
    'metadata: expected an object with at most 16 texts',
  ],
  [
    { items: Array.from({ length: 21 }, () => ({ role: 'user', content: 'x' })) },
    'items: expected a list of at most 20 items',
  ],
  [{ items: [{ role: 'user', content: [[]] }] }, 'items[0].content[0]: expected an object'],
])('refuses a conversation and says what fits', async (body, message) => {
  const refused = (await client()).post('/conversations', { body });
  await expect(refused).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining(message),
  });
});
