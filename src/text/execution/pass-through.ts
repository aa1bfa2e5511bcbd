import type { Json, Part, RequestSetting, TextRequest } from '../canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import { propertiesOf } from '../dialects/request-settings.ts';
import { hasLongNames } from '../dialects/tool-names.ts';

/** Whether the upstream can be sent the very body that the client sent. */
export function canPass(request: TextRequest, target: Target): boolean {
  if (request.dialect !== target.dialect || hasLongNames(request)) return false;
  return !request.turns.some(({ parts }) => parts.some((part) => isForeign(part, target)));
}

/**
 * A wrapped signature is another provider's. Reasoning without one was made here, or by an
 * upstream of chat: no other knows it.
 */
function isForeign(part: Part, { dialect }: Target): boolean {
  if (part.type !== 'reasoning') return false;
  return part.signature === null ? dialect !== 'chat' : part.signature.provider !== null;
}

/** The client's own body with the upstream's name of the model and the settings that the model's rules changed. */
export function passBody(
  request: TextRequest,
  target: Target,
  changedSettings: readonly RequestSetting[],
): Json {
  const body: Record<string, unknown> = { ...request.body, model: target.model };
  if (changedSettings.length > 0) {
    const encoded = DIALECTS[target.dialect].encodeRequest(request, target);
    for (const property of changedSettings.flatMap((setting) =>
      propertiesOf(target.dialect, setting),
    )) {
      if (encoded[property] === undefined) delete body[property];
      else body[property] = encoded[property];
    }
  }
  const { maxOutputTokens } = request;
  if (maxOutputTokens !== null) {
    const names = propertiesOf(target.dialect, 'maxOutputTokens');
    const isGiven = names.some((name) => body[name] !== undefined && body[name] !== null);
    if (!isGiven) body[names[0]!] = maxOutputTokens;
  }
  // The usage is asked for whether the client wants it or not: it is what the request is charged by.
  if (request.dialect === 'chat' && request.stream && !request.includeUsage) {
    body['stream_options'] = {
      ...(body['stream_options'] as Json | undefined),
      include_usage: true,
    };
  }
  return body;
}
