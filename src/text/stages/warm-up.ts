import { answerSeconds } from '../../store/answer-identity.ts';
import type { Usage } from '../canonical/events.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { Stage } from './stage.ts';

const NOTHING: Usage = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, reasoning: null };

/**
 * Answers a checked request without output, in place of a provider. A later request continues it by its identifier, and
 * the provider gets both as one.
 */
export const warmUp: Stage = (execution) => {
  const { call, request, modelId } = execution;
  execution.context = { request, created: answerSeconds(), estimatedUsage: () => NOTHING };
  const dialect = dialectNamed(call.dialect);
  const encoder = dialect.encodeEvents(execution.context);
  execution
    .openStream(undefined, dialect)
    .write(encoder.push({ type: 'start', id: null, model: modelId }));
  const end = { reason: 'stop', raw: null, stopSequence: null, usage: NOTHING } as const;
  execution.outcome = {
    body: null,
    end: encoder.push({ type: 'finish', ...end }),
    failure: null,
  };
};
