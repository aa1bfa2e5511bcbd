import * as v from 'valibot';
import { countOf } from '../../../schema/untrusted.ts';
import type { TokenCounting } from '../dialect.ts';
import { decodeRequest } from './decode-request.ts';
import { fields } from './fields.ts';

/** What OpenAI's endpoint takes of a request (TokenCountsBody of its API document), beside the model. */
const COUNTED: ReadonlySet<string> = new Set([
  ...['input', 'instructions', 'parallel_tool_calls', 'personality', 'reasoning', 'text'],
  ...['tool_choice', 'tools', 'truncation'],
]);

/** OpenAI's endpoint that counts the tokens of a request of responses. */
export const counting: TokenCounting = {
  endpoint: {
    path: '/v1/responses/input_tokens',
    summary: 'Count the input tokens of a request in the format of responses, free of charge',
    request: fields.schema,
    example: { model: 'sandbox-chat', input: 'Hello' },
    response: v.object({ object: v.literal('response.input_tokens'), input_tokens: v.number() }),
  },
  path: () => '/responses/input_tokens',
  decodeRequest(body) {
    // The limit is no limit of the client's: the rules of a model must not refuse it.
    return { ...decodeRequest(body), maxOutputTokens: null, stream: false };
  },
  encodeRequest({ body }, { model }) {
    const given = Object.entries(body).filter(([, value]) => value != null);
    const counted = given.filter(([name]) => COUNTED.has(name));
    const ignored = given.map(([name]) => name).filter((name) => !COUNTED.has(name));
    return {
      body: { ...Object.fromEntries(counted), model },
      ignored: ignored.filter((name) => name !== 'model' && name !== 'store'),
    };
  },
  tokensOf: (answer) => countOf(answer['input_tokens']),
  answer: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};
