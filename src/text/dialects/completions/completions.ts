import { clientOnly } from '../client-only.ts';
import type { Dialect } from '../dialect.ts';
import { decodeRequest } from './decode-request.ts';
import { CompletionsEncoder } from './encode-events.ts';
import { endpoint } from './endpoint.ts';
import { failFrames } from './fail-frames.ts';
import { fields } from './fields.ts';
import { foldEvents } from './fold-events.ts';

/** OpenAI's legacy completions, for clients; upstreams are asked in formats of chat models. */
export const completions: Dialect = {
  ...clientOnly('completions', 'chat'),
  label: 'legacy completions',
  operation: 'text_completion',
  endpoints: [endpoint],
  promptField: 'prompt',
  settings: {
    maxOutputTokens: ['max_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    stop: ['stop'],
    n: ['n'],
    frequencyPenalty: ['frequency_penalty'],
    presencePenalty: ['presence_penalty'],
    seed: ['seed'],
    logitBias: ['logit_bias'],
  },
  prefillsAnswer: false,
  usesOpenaiFields: true,
  reasoning: { field: null, isUnsigned: false, isShown: false, hasBudget: false },
  decodeRequest,
  fields,
  encodeEvents: (context) => new CompletionsEncoder(context),
  foldEvents,
  failFrames,
  textMembers: ['text'],
  answerKey: 'choices',
};
