import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { newKey, sharedGateway } from '../gateway-daemon.ts';

const gateway = sharedGateway();

async function send(path: string, body?: object, key: string = OWNER_KEY, version = 'v1beta') {
  const response = await fetch(`${gateway().daemon.url}/${version}/models${path}`, {
    headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: an answer or an error
  const json = (await response.json()) as any;
  return { status: response.status, estimate: response.headers.get('x-oriel-estimate'), json };
}

const HELLO = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };

describe('countTokens', () => {
  const counted = (answer: object) => ({
    raw: { type: 'application/json', body: JSON.stringify(answer) },
  });

  it('is forwarded to an upstream of gemini with its details', async () => {
    const { upstream } = gateway();
    const promptTokensDetails = [{ modality: 'TEXT', tokenCount: 31 }];
    upstream.play(counted({ totalTokens: 31, promptTokensDetails }));
    expect(await send('/to-gemini:countTokens', HELLO)).toEqual({
      status: 200,
      estimate: null,
      json: { totalTokens: 31, promptTokensDetails },
    });
    expect(upstream.only()).toMatchObject({
      path: '/v1beta/models/gemini-3-pro:countTokens',
      body: HELLO,
    });
  });

  it('counts a whole request, whose settings of answers are not checked', async () => {
    const { upstream } = gateway();
    upstream.play(counted({ totalTokens: 7 }));
    const request = {
      ...HELLO,
      system_instruction: { parts: [{ text: 'Be brief.' }] },
      tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT' } }] }],
      generationConfig: { maxOutputTokens: 900_000 },
    };
    const whole = { generateContentRequest: { model: 'models/to-gemini', ...request } };
    expect((await send('/to-gemini:countTokens', whole)).json).toEqual({ totalTokens: 7 });
    expect(upstream.only().body.generateContentRequest).toMatchObject({
      model: 'models/gemini-3-pro',
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      generationConfig: { maxOutputTokens: 900_000 },
    });
  });

  it.each(['to-chat', 'to-messages', 'sandbox-chat'])('is estimated for %s', async (model) => {
    gateway().upstream.play();
    const { json, estimate } = await send(`/${model}:countTokens`, HELLO);
    expect([json, estimate]).toEqual([{ totalTokens: 5 }, 'true']);
  });

  it.each([
    ['to-chat', {}, 'contents'],
    ['to-chat', { ...HELLO, generateContentRequest: HELLO }, 'generateContentRequest'],
    ['to-chat', { generateContentRequest: { contents: 7 } }, 'generateContentRequest.contents'],
    [
      'to-gemini',
      { ...HELLO, generationConfig: { speechConfig: {} } },
      'generationConfig.speechConfig',
    ],
  ])('%s refuses %j', async (model, body, param) => {
    expect(await send(`/${model}:countTokens`, body)).toMatchObject({
      status: 400,
      json: { error: { param, status: 'INVALID_ARGUMENT' } },
    });
  });

  it('of an unknown model is 404 in the shape of Google', async () => {
    expect(await send('/unknown:countTokens', HELLO)).toMatchObject({
      status: 404,
      json: { error: { status: 'NOT_FOUND', code: 'model_not_found' } },
    });
  });
});

it('newer versions of the SDK call v1', async () => {
  const { upstream } = gateway();
  upstream.play({ steps: [{ text: 'Good day' }] });
  const call = (path: string, body?: object) => send(path, body, OWNER_KEY, 'v1');
  const { json } = await call('/to-chat:generateContent', HELLO);
  expect(json.candidates[0].content.parts).toEqual([{ text: 'Good day' }]);
  expect((await call('/to-chat:countTokens', HELLO)).json).toEqual({ totalTokens: 5 });
  expect((await call('?pageSize=1')).json).toMatchObject({
    models: [{ name: 'models/to-chat' }],
    nextPageToken: 'to-responses',
  });
  expect((await call('/to-chat')).json.name).toBe('models/to-chat');
  expect(await call('/unknown:generateContent', HELLO)).toMatchObject({
    status: 404,
    json: { error: { status: 'NOT_FOUND' } },
  });
  const bearer = { headers: { authorization: `Bearer ${OWNER_KEY}` } };
  const response = await fetch(`${gateway().daemon.url}/v1/models`, bearer);
  expect(await response.json()).toMatchObject({ object: 'list' });
});

describe('the list of models', () => {
  it('has the text models that the key may use, in pages', async () => {
    const key = await newKey(gateway().daemon, 'reader', {
      models: 'to-chat,to-gemini,always-reasons',
    });
    const { json } = await send('?pageSize=2', undefined, key);
    expect(json.models).toMatchObject([
      {
        name: 'models/to-chat',
        displayName: 'to-chat',
        outputTokenLimit: 64_000,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
        thinking: true,
      },
      { name: 'models/to-gemini' },
    ]);
    const next = await send(`?pageSize=2&pageToken=${json.nextPageToken}`, undefined, key);
    expect(next.json).toMatchObject({ models: [{ name: 'models/always-reasons' }] });
    expect(next.json).not.toHaveProperty('nextPageToken');
    expect(await send('?pageToken=unknown', undefined, key)).toMatchObject({
      status: 400,
      json: { error: { param: 'pageToken', status: 'INVALID_ARGUMENT' } },
    });
  });

  it('has an entry for each model', async () => {
    const { json } = await send('/to-chat');
    expect(json).toMatchObject({ name: 'models/to-chat', thinking: true });
    const key = await newKey(gateway().daemon, 'limited', { models: 'to-chat' });
    for (const name of ['/unknown', '/to-gemini']) {
      expect(await send(name, undefined, key)).toMatchObject({
        status: 404,
        json: { error: { status: 'NOT_FOUND', code: 'model_not_found' } },
      });
    }
  });
});
