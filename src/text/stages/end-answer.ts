import { Failure } from '../../failure.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { Stage } from './stage.ts';

/** Ends the stream to the client: with the frames that end its answer, or with the failure. */
export const endAnswer: Stage = ({ call, outcome, error, context }) => {
  const { response, report, dialect } = call;
  if (outcome !== null) {
    if (outcome.end !== '') response.write(outcome.end);
    return;
  }
  if (!response.started || !(error instanceof Failure)) throw error;
  report.failure = error;
  // Keep-alive comments have started the stream, so that the failure is sent inside it.
  const encoder = dialectNamed(dialect).encodeEvents(context);
  response.write(encoder.push({ type: 'error', failure: error }));
};
