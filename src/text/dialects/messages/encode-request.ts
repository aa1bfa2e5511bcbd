import type { Json, TextRequest } from '../../canonical.ts';
import type { Target } from '../dialect.ts';
import { refuseNativeFields } from '../request-errors.ts';
import { settingsOnWire, toolsOnWire } from './encode-settings.ts';
import { encodeTurns } from './encode-turns.ts';
import { replayRequest } from './replay-request.ts';

/** @throws Failure invalid_request for a field that messages does not have; `param` names it */
export function encodeRequest(request: TextRequest, target: Target): Json {
  if (request.dialect === 'messages') return replayRequest(request, target);
  refuseNativeFields(request, 'messages');
  const { system, messages } = encodeTurns(request, target);
  const tools = toolsOnWire(request);
  const { user } = request.body;
  return {
    model: target.model,
    ...settingsOnWire(request, target),
    ...(system !== null && { system }),
    messages,
    ...(tools.length > 0 && { tools }),
    ...(typeof user === 'string' && user !== '' && { metadata: { user_id: user } }),
    ...(request.stream && { stream: true }),
  };
}
