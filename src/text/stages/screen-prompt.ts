import { upstreamModelOf } from '../../config/catalog/model-names.ts';
import { codedFailure } from '../../failure.ts';
import { isObject, listOf } from '../../schema/untrusted.ts';
import type { Json, NativePart, TextRequest, Tool, ToolChoice } from '../canonical/canonical.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { Stage } from './stage.ts';

/** Characters of one request that are checked; more take a thread more than a second. */
const MAX_CHARACTERS = 1_000_000;

const IMAGE = /image|dall-?e/i;

/** Fields that list the kinds of output, in requests of several dialects. */
const MODALITIES = ['modalities', 'response_modalities', 'output_modalities'];

/** Properties that hold no words for the model: media, identifiers and settings of the gateway. */
const WORDLESS: ReadonlySet<string> = new Set([
  ...['model', 'role', 'type', 'object', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'detail'],
  ...['url', 'image_url', 'file_url', 'file_data', 'file_id', 'data', 'media_type', 'format'],
  ...['encrypted_content', 'signature', 'thoughtSignature', 'fileUri', 'mimeType'],
  ...['user', 'safety_identifier', 'prompt_cache_key'],
]);

/** Checks the words of a request whose answer may hold images. */
export const screenPrompt: Stage = ({ call, request, model, wildcardPart }, { admitPrompt }) => {
  const models = model.routes.map((route) => upstreamModelOf(route, wildcardPart));
  const prompt = imagePromptOf(request, models);
  if (prompt === null) return;
  return admitPrompt(prompt, dialectNamed(call.dialect).promptField, call.holder.account.id);
};

/**
 * The words of a request whose answer may hold images, one text below the other: messages, instructions,
 * tools with their descriptions and names, and all else that is text. Null where it cannot hold any.
 *
 * @param models what the upstreams call the model
 * @throws Failure invalid_request for a request of more characters
 */
function imagePromptOf(request: TextRequest, models: readonly string[]): string | null {
  if (!mayMakeImages(request, models)) return null;
  const texts = textsOf(request.body);
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_CHARACTERS) {
    throw codedFailure(
      'prompt_too_long',
      `a request for images has at most ${MAX_CHARACTERS} characters of text, received ${length}`,
    );
  }
  return texts.join('\n');
}

function mayMakeImages(request: TextRequest, models: readonly string[]): boolean {
  const { body, tools, turns, toolChoice, native } = request;
  if (models.some((model) => IMAGE.test(model))) return true;
  if (tools.some(isImageTool) || (toolChoice !== null && isImageTool(toolChoice))) return true;
  if (turns.some((turn) => turn.tools?.some(isImageTool))) return true;
  // A prompt that is stored at the provider may bring tools of its own.
  if (native.some(({ path }) => path === 'prompt' || IMAGE.test(path))) return true;
  const isImage = (modality: unknown) => IMAGE.test(String(modality));
  if (MODALITIES.some((name) => listOf(body[name]).some(isImage))) return true;
  return dialectNamed(request.dialect).outputModalities?.(body).some(isImage) ?? false;
}

function isImageTool(part: Tool | NativePart | ToolChoice): boolean {
  if (part.type !== 'native') return false;
  const { value } = part;
  return isObject(value) && IMAGE.test(String(value['type']));
}

/** All texts within a value, in order. */
function textsOf(body: Json): string[] {
  const texts: string[] = [];
  const waiting: unknown[] = [body];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string') texts.push(value);
    else if (Array.isArray(value)) {
      for (let index = value.length - 1; index >= 0; index--) waiting.push(value[index]);
    } else if (isObject(value)) {
      // The text of a document is called data, as the bytes of others are.
      const isText = value['type'] === 'text';
      const names = Object.keys(value).filter(
        (name) => !WORDLESS.has(name) || (isText && name === 'data'),
      );
      for (const name of names.reverse()) waiting.push(value[name]);
    }
  }
  return texts;
}
