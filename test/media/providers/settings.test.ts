import { describe, expect, it, onTestFinished } from 'vitest';
import { openaiProvider } from '../../../src/media/providers/openai/openai.ts';
import { startConnectProxy, withCredentials } from '../../upstream/connect-proxy.ts';
import { listening } from '../../upstream/servers.ts';
import {
  audioJob,
  failureOf,
  imageJob,
  KEY,
  mockedProvider,
  videoJob,
} from './provider-context.ts';

const provider = openaiProvider(() => 1);
const { mock, newContext, makeImages, makeVideo, makeAudio } = mockedProvider('openai', provider);

describe('settings of a media provider', () => {
  it('headers are in every request', async () => {
    const settings = { headers: { 'x-team': 'blue' } };
    const context = newContext({ settings });
    await makeImages(imageJob(), context);
    const { files } = await makeVideo(videoJob(), context);
    for (const { headers } of mock().requests) expect(headers).toMatchObject({ 'x-team': 'blue' });
    expect(files[0]).toMatchObject({ needsKey: true });
  });

  it('the proxy tunnels every request', async () => {
    const proxy = await startConnectProxy();
    onTestFinished(() => proxy.close());
    await makeImages(imageJob(), newContext({ settings: { proxy: withCredentials(proxy) } }));
    expect(mock().requests).toHaveLength(1);
    expect(proxy.targets).toEqual([new URL(mock().url).host]);
  });
});

describe('media of a provider of kind azure', () => {
  async function resource() {
    const asked: string[] = [];
    const { url } = await listening((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers['api-key']}`);
      request.resume();
      const body = { error: { code: 'contentFilter', message: 'Your task failed.' } };
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    return { url, asked };
  }

  it.each([
    ['2025-04-01-preview', 'deployments/upstream-model', '?api-version=2025-04-01-preview'],
    [undefined, 'v1', ''],
  ])('has the paths of version %s', async (apiVersion, folder, query) => {
    const { url, asked } = await resource();
    const context = newContext({
      baseUrl: url,
      settings: { kind: 'azure', ...(apiVersion !== undefined && { apiVersion }) },
    });
    const failures = await Promise.all([
      failureOf(makeImages(imageJob(), context)),
      failureOf(makeAudio(audioJob(), context)),
      failureOf(makeVideo(videoJob(), context)),
    ]);
    expect(failures.map(({ type }) => type)).toEqual(Array(3).fill('content_policy'));
    expect(asked.sort()).toEqual(
      [
        `POST /openai/${folder}/audio/speech${query} ${KEY}`,
        `POST /openai/${folder}/images/generations${query} ${KEY}`,
        `POST /openai/v1/videos ${KEY}`,
      ].sort(),
    );
  });
});
