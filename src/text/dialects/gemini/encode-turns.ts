import { invalid } from '../../../schema/invalid.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type {
  Json,
  Part,
  ReasoningPart,
  TextRequest,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../../canonical/canonical.ts';
import { type AlternatingTurn, alternatingTurns } from '../alternating-turns.ts';
import { callInput } from '../calls.ts';
import type { Target } from '../dialect.ts';
import { refuseNative, refusePrefill, untranslatable } from '../request-errors.ts';
import { functionNameOnWire } from './function-names.ts';
import { encodeMedia } from './media.ts';
import { isGemini3 } from './model-names.ts';
import { isOwn, signedCalls, signedPartOf } from './reasoning.ts';

/** A conversation for gemini upstreams: instructions, then contents with alternating roles. */
interface Conversation {
  readonly systemInstruction: Json | null;
  readonly contents: readonly Json[];
}

/** Encodes a conversation of another dialect. */
export function encodeTurns(request: TextRequest, target: Target): Conversation {
  refusePrefill(request, 'gemini');
  const { system, turns } = alternatingTurns(request, 'gemini', {
    textBlock: (text) => ({ text }),
    encode: (turn, encoded) => {
      if (turn.role === 'assistant') encodeAnswer(turn, encoded, target);
      else for (const part of turn.parts) encodePrompt(part, encoded, target);
    },
  });
  return {
    systemInstruction: system.length === 0 ? null : { parts: system },
    contents: turns.map((turn, index) =>
      turn.role === 'assistant'
        ? { role: 'model', parts: signedCalls(turn.blocks, target) }
        : { role: 'user', parts: [...responsesOf(turn, turns[index - 1]), ...turn.blocks] },
    ),
  };
}

function encodePrompt(part: Part, { blocks, results }: AlternatingTurn, target: Target): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      if (part.text !== '') blocks.push({ text: part.text });
      return;
    case 'media':
      blocks.push(encodeMedia(part));
      return;
    case 'tool-result': {
      const { response, media } = encodeResult(part);
      const isNested = media.length > 0 && isGemini3(target.model);
      results.push({ id: part.callId, block: { ...response, ...(isNested && { parts: media }) } });
      // Earlier models read media only beside the response.
      if (!isNested) for (const one of media) blocks.push(one);
      return;
    }
    case 'native':
      refuseNative(part, 'gemini');
      return;
    case 'reasoning':
    case 'tool-call':
      throw untranslatable(part.path, 'gemini');
  }
}

/** A function response without the name of its function, and its media. */
function encodeResult({ callId, content, isError, path }: ToolResultPart): {
  readonly response: Json;
  readonly media: readonly Json[];
} {
  const texts: string[] = [];
  const media: Json[] = [];
  for (const part of content) {
    if (part.type === 'native') refuseNative(part, 'gemini');
    else if (part.type === 'media') media.push(encodeMedia(part));
    else texts.push(part.text);
  }
  const text = texts.join('\n');
  return {
    response: { id: callId, path, response: { [isError ? 'error' : 'output']: text } },
    media,
  };
}

/** The function responses of a turn, with the names of the functions that the turn before calls. */
function responsesOf({ results }: AlternatingTurn, before: AlternatingTurn | undefined): Json[] {
  const names = new Map<string, string[]>();
  for (const { functionCall } of before?.blocks ?? []) {
    if (!isObject(functionCall)) continue;
    const id = functionCall['id'] as string;
    names.set(id, [...(names.get(id) ?? []), functionCall['name'] as string]);
  }
  return results.map(({ id, block }) => {
    const name = names.get(id)?.shift();
    const { path, ...response } = block;
    if (name === undefined) {
      throw invalid(path as string, 'no earlier message has the tool call that this answers');
    }
    return { functionResponse: { name, ...response } };
  });
}

/** Adds the parts of an answer, with the signatures that its provider put on them. */
function encodeAnswer(turn: Turn, { blocks, calls }: AlternatingTurn, target: Target): void {
  let callSignature: string | null = null;
  let textSignature: string | null = null;
  const sign = (part: ReasoningPart): void => {
    if (!isOwn(part.signature, target)) return;
    const signed = signedPartOf(part.signature);
    const isOnThought = signed?.part === 'thought';
    if (part.text !== '' || isOnThought) {
      const own = isOnThought && { thoughtSignature: signed.thoughtSignature };
      blocks.push({ text: part.text, thought: true, ...own });
    }
    if (signed?.part === 'call') callSignature = signed.thoughtSignature;
    // A stream sends the signature of a text after it, and some clients send it back before it.
    if (signed?.part === 'text' && !signText(blocks, signed.thoughtSignature)) {
      textSignature = signed.thoughtSignature;
    }
  };
  for (const part of turn.parts) {
    switch (part.type) {
      case 'text':
      case 'refusal':
        if (part.text === '') break;
        blocks.push({ text: part.text, ...signatureField(textSignature) });
        textSignature = null;
        break;
      case 'reasoning':
        sign(part);
        break;
      case 'tool-call':
        calls.push(part.id);
        blocks.push({ functionCall: encodeCall(part), ...signatureField(callSignature) });
        callSignature = null;
        break;
      case 'native':
        refuseNative(part, 'gemini');
        break;
      case 'media':
      case 'tool-result':
        throw untranslatable(part.path, 'gemini');
    }
  }
  if (textSignature !== null) blocks.push({ text: '', ...signatureField(textSignature) });
}

function signatureField(thoughtSignature: string | null): Json {
  return thoughtSignature === null ? {} : { thoughtSignature };
}

/** Signs the last part if it is a text without a signature. @returns whether it is */
function signText(blocks: Json[], thoughtSignature: string): boolean {
  const last = blocks.at(-1);
  const isUnsigned = last !== undefined && !('thought' in last) && !('thoughtSignature' in last);
  if (!isUnsigned || typeof last['text'] !== 'string') return false;
  blocks[blocks.length - 1] = { ...last, thoughtSignature };
  return true;
}

function encodeCall(part: ToolCallPart): Json {
  const args = callInput(part, 'gemini');
  return { id: part.id, name: functionNameOnWire(part.name), args };
}
