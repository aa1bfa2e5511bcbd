import { isObject, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';

/** Log probabilities of tokens, in the shape that chat and responses share; null if none are reported. */
export function logprobsOf(result: unknown): readonly Json[] | null {
  if (!isObject(result)) return null;
  const top = objectsOf(result['topCandidates']);
  const tokens = objectsOf(result['chosenCandidates']).map((chosen, index) => ({
    ...tokenOf(chosen),
    top_logprobs: objectsOf(top[index]?.['candidates']).map(tokenOf),
  }));
  return tokens.length > 0 ? tokens : null;
}

function tokenOf({ token, logProbability }: Json): Json {
  const text = textOf(token);
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  };
}
