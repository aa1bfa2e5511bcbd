import type { Json, TextRequest } from '../../canonical/canonical.ts';
import type { Target } from '../dialect.ts';
import { refuseEmpty, refuseNativeFields } from '../request-errors.ts';
import { generationConfig, toolConfig, toolsOnWire } from './encode-settings.ts';
import { encodeTurns } from './encode-turns.ts';
import { replayRequest } from './replay-request.ts';

/** @throws Failure invalid_request for a field that gemini does not have; `param` names it */
export function encodeRequest(request: TextRequest, target: Target): Json {
  if (request.dialect === 'gemini') return replayRequest(request, target);
  refuseNativeFields(request, 'gemini');
  refuseEmpty(request, 'gemini');
  const { systemInstruction, contents } = encodeTurns(request, target);
  const tools = toolsOnWire(request);
  const calling = toolConfig(request);
  const config = generationConfig(request, target);
  return {
    ...(systemInstruction !== null && { systemInstruction }),
    contents,
    ...(tools.length > 0 && { tools }),
    ...(calling !== null && { toolConfig: calling }),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
  };
}
