import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { listening } from '../fixtures/server.ts';
import { temporaryFolder } from '../oriel.ts';

export const GOOD_KEY = 'sk-good-0123456789SECRETabcdef-wxyz';

/** Answers in each format by the end of the path. */
const ANSWERS: readonly (readonly [path: RegExp, answer: object])[] = [
  [
    /\/chat\/completions$/,
    {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, message: { role: 'assistant', content: 'OK' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
    },
  ],
  [
    /\/messages$/,
    {
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'OK' }],
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  ],
  [
    /:generateContent$/,
    {
      candidates: [
        { content: { role: 'model', parts: [{ text: 'OK' }] }, finishReason: 'STOP', index: 0 },
      ],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1, totalTokenCount: 10 },
    },
  ],
];

export interface SmallProvider {
  readonly url: string;
  /** Method, path and version header of each request. */
  readonly seen: string[];
}

/** @param models ids that it lists; null without a list */
function providerAnswers(models: readonly string[] | null, seen: string[] = []): RequestListener {
  return (request, response) => {
    const { method, url = '', headers } = request;
    const [path = ''] = url.split('?', 1);
    seen.push(`${method} ${url} ${headers['anthropic-version'] ?? ''}`.trim());
    const send = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const given = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'].map(
      (name) => headers[name],
    );
    const key = String(given.find(Boolean) ?? '').replace('Bearer ', '');
    if (key !== GOOD_KEY) {
      const message = `Incorrect API key provided: ${key}. You can find yours in the settings.`;
      return send(401, {
        error: { message, type: 'invalid_request_error', code: 'invalid_api_key' },
      });
    }
    if (method === 'GET' && path.endsWith('/models') && models) {
      const isGemini = headers['x-goog-api-key'] !== undefined;
      return isGemini
        ? send(200, { models: models.map((name) => ({ name: `models/${name}` })) })
        : send(200, { data: models.map((id) => ({ id })) });
    }
    const answer = ANSWERS.find(([pattern]) => pattern.test(path))?.[1];
    return answer ? send(200, answer) : send(404, { error: { message: `no route ${path}` } });
  };
}

/** A provider on this machine that knows one key, until the end of the test. */
export async function smallProvider(models: readonly string[] | null): Promise<SmallProvider> {
  const seen: string[] = [];
  return { seen, url: await listening(createServer(providerAnswers(models, seen))) };
}

/** Such a provider whose certificate no authority has signed. */
export async function selfSignedProvider(models: readonly string[]): Promise<SmallProvider> {
  const folder = temporaryFolder();
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  const options = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost';
  execFileSync('openssl', ['req', ...options.split(' '), '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  });
  const tls = { key: readFileSync(key), cert: readFileSync(cert) };
  const seen: string[] = [];
  const url = await listening(createTlsServer(tls, providerAnswers(models, seen)));
  return { seen, url: url.replace('http:', 'https:') };
}
