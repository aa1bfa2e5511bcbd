import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import type { DialectName } from '../../text/canonical.ts';
import { chatRequest } from '../../text/dialects/chat/request.ts';
import { messagesRequest } from '../../text/dialects/messages/request.ts';
import { responsesRequest } from '../../text/dialects/responses/request.ts';
import { LightAbortSignal } from '../../upstream/abort-signal.ts';
import type { AppContext } from '../app-context.ts';
import { onClientDisconnect } from '../transport/client-disconnect.ts';
import { SseResponse } from '../transport/sse-response.ts';
import { usageEntries } from './usage-schema.ts';

interface Endpoint {
  readonly path: string;
  readonly dialect: DialectName;
  readonly summary: string;
  readonly request: v.GenericSchema;
  /** A body that works with the sandbox's catalog; the page `/docs` fills it in. */
  readonly example: object;
  readonly answer: v.GenericSchema;
}

/** Providers add details to the usage object. */
const usage = v.looseObject(usageEntries);

const MODEL = 'sandbox-chat';
const messages = [{ role: 'user', content: 'Hello' }];

const objects = v.array(v.looseObject({}));

/** Interface parts 4.1 to 4.3. */
const ENDPOINTS: readonly Endpoint[] = [
  {
    path: '/v1/chat/completions',
    dialect: 'chat',
    summary: 'Text in the format of chat completions; with stream, as server-sent events',
    request: chatRequest,
    example: { model: MODEL, messages },
    answer: v.looseObject({
      id: v.string(),
      object: v.literal('chat.completion'),
      created: v.number(),
      model: v.string(),
      choices: objects,
      usage: v.optional(usage),
    }),
  },
  {
    path: '/v1/responses',
    dialect: 'responses',
    summary: 'Text in the format of responses; with stream, as server-sent events',
    request: responsesRequest,
    example: { model: MODEL, input: 'Hello' },
    answer: v.looseObject({
      id: v.string(),
      object: v.literal('response'),
      status: v.string(),
      model: v.string(),
      output: objects,
      created_at: v.optional(v.number()),
      output_text: v.optional(v.string()),
      usage: v.nullish(usage),
    }),
  },
  {
    path: '/v1/messages',
    dialect: 'messages',
    summary: 'Text in the format of messages; with stream, as server-sent events',
    request: messagesRequest,
    example: { model: MODEL, max_tokens: 200, messages },
    answer: v.looseObject({
      id: v.string(),
      type: v.literal('message'),
      role: v.literal('assistant'),
      model: v.string(),
      content: objects,
      stop_reason: v.nullable(v.string()),
      stop_sequence: v.nullable(v.string()),
      usage: v.looseObject({ input_tokens: v.number(), output_tokens: v.number() }),
    }),
  },
];

/** The text endpoints (interface parts 4.1 to 4.3). */
export function textRoutes({ text }: AppContext): FastifyPluginAsync {
  return async (server) => {
    for (const { path, dialect, summary, request: shape, example, answer } of ENDPOINTS) {
      const body = v.pipe(shape, v.examples([example]));
      server.post(path, {
        schema: { summary, tags: ['Text'], body, response: { 200: answer } },
        handler: async (request, reply) => {
          if (dialect === 'messages') reply.header('request-id', request.id);
          const clientDisconnect = new LightAbortSignal();
          onClientDisconnect(reply, (failure) => clientDisconnect.abort(failure));
          const stream = new SseResponse(reply);
          if (isStreaming(request)) stream.keepAlive();
          try {
            const whole = await text.answer({
              requestId: request.id,
              dialect,
              body: request.body,
              bytes: lengthOf(request),
              headers: request.headers,
              holder: request.holder,
              clientDisconnect,
              response: stream,
            });
            if (whole === null) return reply;
            return reply.type('application/json; charset=utf-8').send(`${whole}\n`);
          } finally {
            stream.end();
          }
        },
      });
    }
  };
}

/** Content-Length; null for a chunked body. */
function lengthOf({ headers }: FastifyRequest): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

function isStreaming({ body }: FastifyRequest): boolean {
  return (body as { readonly stream?: unknown } | null)?.stream === true;
}
