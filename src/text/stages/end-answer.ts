import { Failure } from '../../failure.ts';
import { creditsText } from '../../store/credits.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { Stage } from './stage.ts';

/** Ends the stream to the client: with the frames that end its answer, or with the failure. */
export const endAnswer: Stage = ({ call, outcome, error, context }) => {
  const { response, report, dialect } = call;
  if (outcome !== null) {
    const { costMark } = dialectNamed(dialect);
    const isShown = costMark !== undefined && outcome.failure === null && report.charge > 0;
    const end = isShown ? withCost(outcome.end, costMark, report.charge) : outcome.end;
    if (end !== '') response.write(end);
    return;
  }
  if (!response.started || !(error instanceof Failure)) throw error;
  report.failure = error;
  // Keep-alive comments have started the stream, so that the failure is sent inside it.
  const encoder = dialectNamed(dialect).encodeEvents(context);
  response.write(encoder.push({ type: 'error', failure: error }));
};

/**
 * Adds what the answer cost, as a member of the last event with a mark. The bytes of the provider stay as they are.
 *
 * @param charge micro-credits
 */
function withCost(frames: string, mark: string, charge: number): string {
  const at = frames.lastIndexOf(mark);
  const brace =
    frames.slice(0, at + (frames.slice(at).match(/[\r\n]/)?.index ?? 0)).trimEnd().length - 1;
  if (at === -1 || frames[brace] !== '}') return frames;
  return `${frames.slice(0, brace)},"oriel_cost":"${creditsText(charge)}"${frames.slice(brace)}`;
}
