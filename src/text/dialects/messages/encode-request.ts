import type { Json, TextRequest } from '../../canonical.ts';
import { hasAutomaticMark, withAcceptedMarks } from '../cache-marks.ts';
import type { Target } from '../dialect.ts';
import { refuseNativeFields } from '../request-errors.ts';
import { settingsOnWire, toolsOnWire } from './encode-settings.ts';
import { encodeTurns } from './encode-turns.ts';
import { replayRequest } from './replay-request.ts';

/** @throws Failure invalid_request for a field that messages does not have; `param` names it */
export function encodeRequest(given: TextRequest, target: Target): Json {
  if (given.dialect === 'messages') return replayRequest(given, target);
  const request = withAcceptedMarks(given);
  refuseNativeFields(request, 'messages');
  const { system, messages } = encodeTurns(request, target);
  const tools = toolsOnWire(request);
  const { user, cache_control: automaticMark } = request.body;
  return {
    model: target.model,
    ...settingsOnWire(request, target),
    ...(system !== null && { system }),
    messages,
    ...(tools.length > 0 && { tools }),
    ...(hasAutomaticMark(request.body) && { cache_control: automaticMark }),
    ...(typeof user === 'string' && user !== '' && { metadata: { user_id: user } }),
    ...(request.stream && { stream: true }),
  };
}
