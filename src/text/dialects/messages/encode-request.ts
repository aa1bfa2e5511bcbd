import type { Json, TextRequest } from '../../canonical/canonical.ts';
import { hasAutomaticMark, withAcceptedMarks } from '../cache-marks.ts';
import type { Target } from '../dialect.ts';
import { endUserOnWire } from '../end-user.ts';
import { refuseEmpty, refuseNativeFields } from '../request-errors.ts';
import { settingsOnWire, toolsOnWire } from './encode-settings.ts';
import { encodeTurns } from './encode-turns.ts';
import { replayRequest } from './replay-request.ts';

/** Characters of an identifier of the end user at Anthropic. */
const MAX_USER = 256;

/** @throws Failure invalid_request for a field that messages does not have; `param` names it */
export function encodeRequest(given: TextRequest, target: Target): Json {
  if (given.dialect === 'messages') return replayRequest(given, target);
  const request = withAcceptedMarks(given);
  refuseNativeFields(request, 'messages');
  refuseEmpty(request, 'messages');
  const { system, messages } = encodeTurns(request, target);
  const tools = toolsOnWire(request, 'messages');
  const { cache_control: automaticMark } = request.body;
  const user = endUserOnWire(request, MAX_USER);
  return {
    model: target.model,
    ...settingsOnWire(request, target),
    ...(system !== null && { system }),
    messages,
    ...(tools.length > 0 && { tools }),
    ...(hasAutomaticMark(request.body) && { cache_control: automaticMark }),
    ...(user !== null && { metadata: { user_id: user } }),
    ...(request.stream && { stream: true }),
  };
}
