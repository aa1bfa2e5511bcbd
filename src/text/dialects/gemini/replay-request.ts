import { isObject, objectsOf } from '../../../schema/untrusted.ts';
import type { Json, TextRequest } from '../../canonical/canonical.ts';
import type { Target } from '../dialect.ts';
import { settingsOf } from './decode-request.ts';
import { generationConfig } from './encode-settings.ts';
import { configFields, type GeminiRequest } from './fields.ts';
import { functionNameOnWire } from './function-names.ts';
import { isOwn, signatureFromWire, signedCalls, signedPartOf } from './reasoning.ts';

/**
 * A copy of a client's own body for gemini, whose URL names the model: with the limit that the rules set, and
 * with signatures of calls, which clients that do not know the model leave out.
 */
export function forwardBody(
  { body, maxOutputTokens }: TextRequest,
  target: Target,
): Record<string, unknown> {
  // The path names the model.
  const { model: _, ...own } = body;
  const contents = signedContents(objectsOf(body['contents']), target);
  const forwarded = { ...own, contents };
  if (maxOutputTokens === null) return forwarded;
  const config = body['generationConfig'] as Json | null | undefined;
  return { ...forwarded, generationConfig: { ...config, maxOutputTokens } };
}

/**
 * The body of a gemini client for a gemini upstream: unchanged but for names that Google refuses, reasoning
 * of other providers, and settings that the model's rules changed.
 */
export function replayRequest(request: TextRequest, target: Target): Json {
  const body = forwardBody(request, target);
  const replayed: Record<string, unknown> = {
    ...body,
    contents: signedContents(
      objectsOf(body['contents']).flatMap((content) => replayContent(content, target)),
      target,
    ),
  };
  const { systemInstruction } = body;
  if (isObject(systemInstruction)) {
    replayed['systemInstruction'] = replayContent(systemInstruction, target)[0];
  }
  if (Array.isArray(body['tools'])) replayed['tools'] = body['tools'].map(replayTool);
  const given = body['generationConfig'] as Json | undefined;
  const config = configFields.encodeSettings(request, { ...given });
  const { reasoning } = settingsOf(request.body as GeminiRequest);
  // The gateway may have derived the effort from the client's budget.
  const isDerived = reasoning?.budget != null && reasoning.budget === request.reasoning?.budget;
  if (!isDerived && JSON.stringify(reasoning) !== JSON.stringify(request.reasoning)) {
    config['thinkingConfig'] = generationConfig(request, target)['thinkingConfig'];
  }
  if (isObject(given) || Object.keys(config).length > 0) replayed['generationConfig'] = config;
  return replayed;
}

/** Contents in which the first call of each step is signed: Google's SDK makes a content of each piece of a stream. */
function signedContents(contents: readonly Json[], target: Target): Json[] {
  let isSigned = false;
  return contents.map((content) => {
    const given = objectsOf(content['parts']);
    const parts = given.some(isBare) ? given.map(withText) : given;
    const isModel = content['role'] === 'model';
    const signed = isModel && !isSigned ? signedCalls(parts, target) : parts;
    isSigned = isModel && (isSigned || signed.some(({ functionCall }) => isObject(functionCall)));
    return signed === given ? content : { ...content, parts: signed };
  });
}

/** Whether a part has nothing but a thought's mark and signature, which Google refuses. Genkit sends thoughts so. */
function isBare(part: Json): boolean {
  return Object.keys(part).every((name) => name === 'thought' || name === 'thoughtSignature');
}

const withText = (part: Json): Json => (isBare(part) ? { text: '', ...part } : part);

function replayContent(content: Json, target: Target): readonly Json[] {
  const parts = objectsOf(content['parts']).flatMap((part) => replayPart(part, target));
  return parts.length === 0 ? [] : [{ ...content, parts }];
}

function replayPart(part: Json, target: Target): readonly Json[] {
  const named = { ...part };
  for (const kind of ['functionCall', 'functionResponse']) {
    const own = part[kind];
    if (isObject(own)) named[kind] = { ...own, name: functionNameOnWire(own['name'] as string) };
  }
  const { thoughtSignature, ...unsigned } = named;
  if (typeof thoughtSignature !== 'string') return [named];
  const signature = signatureFromWire(thoughtSignature, 'thought');
  if (signature?.provider === null && signature.dialect === 'gemini') return [named];
  if (!isOwn(signature, target)) return unsigned['thought'] === true ? [] : [unsigned];
  const own = signedPartOf(signature);
  if (own !== null) return [{ ...unsigned, thoughtSignature: own.thoughtSignature }];
  return unsigned['text'] === '' ? [] : [unsigned];
}

function replayTool(tool: unknown): unknown {
  if (!isObject(tool) || !Array.isArray(tool['functionDeclarations'])) return tool;
  const declared = objectsOf(tool['functionDeclarations']);
  return {
    ...tool,
    functionDeclarations: declared.map((own) => ({
      ...own,
      name: functionNameOnWire(own['name'] as string),
    })),
  };
}
