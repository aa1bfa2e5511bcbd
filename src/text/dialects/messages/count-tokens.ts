import * as v from 'valibot';
import { checkedBody } from '../../../schema/body.ts';
import { countOf, isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { TokenCounting } from '../dialect.ts';
import { decodeRequest } from './decode-request.ts';
import { fields } from './fields.ts';
import { replayRequest } from './replay-request.ts';

/** A request of messages, of which the output limit may be absent. */
const countRequest = v.looseObject({
  ...fields.schema.entries,
  max_tokens: v.nullish(fields.schema.entries.max_tokens),
});

/** The output limit of a request without one: more than any budget for reasoning. */
const ANY_LIMIT = 1_000_000;

/** Settings of answers, which Anthropic's endpoint refuses and which add no input. */
const OF_ANSWERS = [
  'max_tokens',
  'metadata',
  'service_tier',
  'stop_sequences',
  'stream',
  'temperature',
  'top_k',
  'top_p',
] as const;

/** Anthropic's endpoint that counts the tokens of a request of messages. */
export const counting: TokenCounting = {
  endpoint: {
    path: '/v1/messages/count_tokens',
    summary: 'Count the input tokens of a request in the format of messages, free of charge',
    request: countRequest,
    example: { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] },
    response: v.looseObject({ input_tokens: v.number() }),
  },
  path: () => '/messages/count_tokens',
  decodeRequest(value) {
    const body = checkedBody(countRequest, value);
    const limit = { max_tokens: body.max_tokens ?? ANY_LIMIT };
    const request = decodeRequest({ ...body, ...limit });
    // The limit is no limit of the client's: the rules of a model must not refuse it.
    return { ...request, maxOutputTokens: null, stream: false };
  },
  encodeRequest(request, target) {
    const body = { ...replayRequest(request, target) } as Record<string, unknown>;
    const given = OF_ANSWERS.filter((name) => body[name] != null);
    for (const name of OF_ANSWERS) delete body[name];
    return { body, ignored: given.filter((name) => name !== 'max_tokens') };
  },
  tokensOf: (answer) => countOf(answer['input_tokens']),
  answer: (tokens, received) => ({ input_tokens: tokens, ...(received && contextOf(received)) }),
};

/** The tokens before edits of the context, which an upstream reports where the request has any. */
function contextOf({ context_management: context }: Json): Json {
  const original = isObject(context) ? countOf(context['original_input_tokens']) : null;
  return original === null ? {} : { context_management: { original_input_tokens: original } };
}
