import { answerSeconds } from '../../store/answer-identity.ts';
import { NO_USAGE } from '../canonical/events.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { Stage } from './stage.ts';

/**
 * Answers a checked request without output, in place of a provider. A later request continues it by its identifier, and
 * the provider gets both as one.
 */
export const warmUp: Stage = (execution) => {
  const { call, request, modelId } = execution;
  execution.context = { request, created: answerSeconds(), estimatedUsage: () => NO_USAGE };
  const dialect = dialectNamed(call.dialect);
  const encoder = dialect.encodeEvents(execution.context);
  execution
    .openStream(undefined, dialect)
    .write(encoder.push({ type: 'start', id: null, model: modelId }));
  const end = { reason: 'stop', raw: null, stopSequence: null, usage: NO_USAGE } as const;
  execution.outcome = {
    body: null,
    end: encoder.push({ type: 'finish', ...end }),
    failure: null,
  };
};
