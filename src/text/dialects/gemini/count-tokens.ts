import * as v from 'valibot';
import { checkedBody } from '../../../schema/body.ts';
import { openObject } from '../../../schema/choice.ts';
import { invalid } from '../../../schema/invalid.ts';
import { countOf, objectsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { TokenCounting } from '../dialect.ts';
import { decodeRequest } from './decode-request.ts';
import { pathsOf } from './endpoint.ts';
import { inCamelCase } from './field-names.ts';
import { fields } from './fields.ts';
import { resourceOf } from './model-names.ts';
import { replayRequest } from './replay-request.ts';

const WHOLE = 'generateContentRequest';

/** A request of generateContent, by itself or as a field: Google's SDK sends `contents` alone. */
const countRequest = openObject({
  ...fields.schema.entries,
  contents: v.nullish(fields.schema.entries.contents),
  [WHOLE]: v.nullish(fields.schema),
});

/** Google's countTokens. */
export const counting: TokenCounting = {
  endpoint: {
    ...pathsOf('countTokens'),
    summary: 'Count the input tokens of a request in the format of gemini, free of charge',
    request: countRequest,
    example: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    response: v.looseObject({ totalTokens: v.number() }),
  },
  path: (target) => `/${resourceOf(target)}:countTokens`,
  decodeRequest(value, address) {
    const { [WHOLE]: whole, ...own } = checkedBody(countRequest, inCamelCase(value));
    if (whole && own.contents) {
      throw invalid(WHOLE, 'contradicts contents: only one of them may be set');
    }
    // The limit adds no input: the rules of a model must not refuse it.
    return { ...decodeRequest(whole ?? own, address), maxOutputTokens: null };
  },
  encodeRequest(request, target) {
    const { generationConfig: _, ...replayed } = replayRequest(request, target);
    const { generationConfig: config } = request.body;
    const [only, ...others] = Object.keys(replayed);
    if (only === 'contents' && others.length === 0 && !config) {
      return { body: replayed, ignored: [] };
    }
    const whole = { ...replayed, ...(config ? { generationConfig: config } : {}) };
    return { body: { [WHOLE]: { model: resourceOf(target), ...whole } }, ignored: [] };
  },
  tokensOf: (answer) => countOf(answer['totalTokens']),
  answer: (tokens, received) => ({ totalTokens: tokens, ...(received && detailsOf(received)) }),
};

/** What Google reports beside the sum. */
function detailsOf({ cachedContentTokenCount, promptTokensDetails }: Json): Json {
  const cached = countOf(cachedContentTokenCount);
  const details = objectsOf(promptTokensDetails).flatMap(({ modality, tokenCount }) => {
    const count = countOf(tokenCount);
    return MODALITIES.includes(modality) && count !== null ? [{ modality, tokenCount: count }] : [];
  });
  return {
    ...(cached !== null && { cachedContentTokenCount: cached }),
    ...(details.length > 0 && { promptTokensDetails: details }),
  };
}

const MODALITIES: readonly unknown[] = ['TEXT', 'IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT'];
