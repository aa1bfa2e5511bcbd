import {
  type MediaPart,
  type NativePart,
  type Part,
  type ReasoningSignature,
  type TextPart,
  type ToolResultPart,
  type Turn,
  turnOf,
} from '../../canonical/canonical.ts';
import { callIdFromWire } from '../calls.ts';
import { mediaPart } from '../media-source.ts';
import { nativePart } from '../native-parts.ts';
import type { Content, GeminiRequest, WirePart } from './fields.ts';
import { isStoredFile } from './media.ts';
import type { SignedPart } from './reasoning.ts';
import { signatureFromWire } from './reasoning.ts';

/** Fields of a part by the one that holds its data; any other makes the part native. */
const FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(['text', 'thought', 'thoughtSignature']),
  inlineData: new Set(['inlineData', 'thoughtSignature']),
  fileData: new Set(['fileData', 'thoughtSignature']),
  functionCall: new Set(['functionCall', 'thoughtSignature']),
  functionResponse: new Set(['functionResponse', 'thoughtSignature']),
};

/** Fields that other formats do not get: Google ignores the first. */
const LEFT_OUT = new Set(['partMetadata', 'mediaResolution']);

interface Call {
  readonly id: string;
  readonly name: string;
}

/** Function calls without a response so far, in order. */
class OpenCalls {
  readonly #byId = new Map<string, Set<Call>>();
  readonly #byName = new Map<string, Set<Call>>();

  add(call: Call): void {
    for (const [calls, key] of [
      [this.#byId, call.id],
      [this.#byName, call.name],
    ] as const) {
      calls.set(key, (calls.get(key) ?? new Set()).add(call));
    }
  }

  /** Removes and returns the first call that has an identifier, or else a name. */
  take(id: string | null, name: string): Call | undefined {
    const [named] = this.#byName.get(name) ?? [];
    const [call = named] = (id !== null && this.#byId.get(id)) || [];
    if (call === undefined) return undefined;
    this.#byId.get(call.id)!.delete(call);
    this.#byName.get(call.name)!.delete(call);
    return call;
  }
}

/**
 * The turns of a conversation. Adjacent contents of the model are one turn, as streams are kept by the SDK.
 *
 * @param advice gets the paths of properties that only advise
 */
export function decodeTurns(
  { systemInstruction, contents }: GeminiRequest,
  advice: string[],
): readonly Turn[] {
  const turns: Turn[] = [];
  const decoder = new TurnDecoder(advice);
  if (systemInstruction) {
    const path = 'systemInstruction';
    turns.push(turnOf('system', path, decoder.parts(systemInstruction as Content, path)));
  }
  let model: Part[] | null = null;
  for (const [index, content] of contents.entries()) {
    const path = `contents[${index}]`;
    const parts = decoder.parts(content, path);
    if (content.role !== 'model') {
      model = null;
      turns.push(turnOf('user', path, parts));
    } else if (model !== null) {
      for (const part of parts) appendAnswer(model, part);
    } else {
      model = parts;
      turns.push(turnOf('assistant', path, parts));
    }
  }
  return turns;
}

/**
 * Appends a part of an answer, which may be a piece of a stream: texts are joined, and thoughts without a
 * signature are the beginning of the reasoning that follows them.
 */
function appendAnswer(parts: Part[], part: Part): void {
  const last = parts.at(-1);
  const continues =
    (part.type === 'text' && last?.type === 'text') ||
    (part.type === 'reasoning' && last?.type === 'reasoning' && last.signature === null);
  if (continues)
    parts[parts.length - 1] = { ...part, path: last.path, text: last.text + part.text };
  else parts.push(part);
}

/** Decodes parts of contents in order: calls and responses without identifiers are matched by name. */
class TurnDecoder {
  readonly #open = new OpenCalls();
  readonly #advice: string[];
  #calls = 0;

  constructor(advice: string[]) {
    this.#advice = advice;
  }

  parts({ parts: wire, role }: Content, path: string): Part[] {
    const parts: Part[] = [];
    for (const [index, part] of wire.entries()) {
      for (const one of this.#part(part, `${path}.parts[${index}]`)) {
        if (role === 'model') appendAnswer(parts, one);
        else parts.push(one);
      }
    }
    return parts;
  }

  #part(part: WirePart, path: string): readonly Part[] {
    const isSet = (name: string) => part[name] !== undefined && part[name] !== null;
    // Genkit sends thoughts back without their text.
    const isBare = isSet('thought') || isSet('thoughtSignature');
    const kind = Object.keys(FIELDS).find(isSet) ?? (isBare ? 'text' : undefined);
    const foreign = Object.keys(part).find((name) => {
      return isSet(name) && !LEFT_OUT.has(name) && !(kind && FIELDS[kind]!.has(name));
    });
    if (isSet('mediaResolution')) this.#advice.push(`${path}.mediaResolution`);
    if (foreign !== undefined) return [nativePart('gemini', `${path}.${foreign}`, part)];
    const signatureAs = (place: SignedPart): ReasoningSignature | null =>
      part.thoughtSignature ? signatureFromWire(part.thoughtSignature, place) : null;
    switch (kind) {
      case 'text': {
        const text = part.text ?? '';
        if (part.thought) {
          return [{ type: 'reasoning', path, text, signature: signatureAs('thought') }];
        }
        const own: Part[] = text === '' ? [] : [{ type: 'text', path, text }];
        return [...own, ...signing(signatureAs('text'), path)];
      }
      case 'inlineData':
      case 'fileData':
        return [mediaOf(part, path)];
      case 'functionCall': {
        const { id, name, args } = part.functionCall!;
        const call = { id: callIdFromWire(id || this.#newId()), name };
        this.#open.add(call);
        const json = JSON.stringify(args ?? {});
        return [
          ...signing(signatureAs('call'), path),
          { type: 'tool-call', path, ...call, arguments: json },
        ];
      }
      case 'functionResponse':
        return [this.#result(part.functionResponse!, path)];
      default:
        return [];
    }
  }

  /** The same for the same conversation, so that a provider's cache recognizes it. */
  #newId(): string {
    this.#calls += 1;
    return `call_gemini_${this.#calls}`;
  }

  #result(
    { id, name, response, parts }: NonNullable<WirePart['functionResponse']>,
    path: string,
  ): ToolResultPart {
    const wireId = id ? callIdFromWire(id) : null;
    const call = this.#open.take(wireId, name);
    const { output, error } = response;
    const isError = error !== undefined && output === undefined;
    const names = Object.keys(response);
    const only =
      names.length === 1 && (names[0] === 'output' || isError) ? (output ?? error) : null;
    const text = typeof only === 'string' ? only : JSON.stringify(response);
    const at = `${path}.functionResponse`;
    const content: (TextPart | MediaPart | NativePart)[] =
      text === '' ? [] : [{ type: 'text', path: `${at}.response`, text }];
    for (const [number, one] of (parts ?? []).entries()) {
      content.push(mediaOf(one as WirePart, `${at}.parts[${number}]`));
    }
    const callId = call?.id ?? wireId ?? 'call_gemini_unknown';
    return { type: 'tool-result', path, callId, content, isError };
  }
}

/** The reasoning that stands for the signature of the part beside it. */
function signing(signature: ReasoningSignature | null, path: string): readonly Part[] {
  return signature === null ? [] : [{ type: 'reasoning', path, text: '', signature }];
}

function mediaOf({ inlineData, fileData }: WirePart, path: string): MediaPart | NativePart {
  const mimeType = (inlineData?.mimeType ?? fileData?.mimeType ?? '').toLowerCase();
  const kind = kindOf(mimeType);
  if (inlineData) {
    const source = { kind: 'data', mediaType: mimeType, data: inlineData.data } as const;
    return mediaPart(kind, path, source, { filename: inlineData['displayName'] });
  }
  if (!fileData) return nativePart('gemini', path, null);
  const { fileUri } = fileData;
  const source = isStoredFile(fileUri)
    ? ({ kind: 'file', id: fileUri } as const)
    : ({ kind: 'url', url: fileUri } as const);
  return mediaPart(kind, path, source, { filename: fileData['displayName'] });
}

function kindOf(mimeType: string): MediaPart['media'] {
  const [kind] = mimeType.split('/');
  if (kind === 'image' || kind === 'audio' || kind === 'video') return kind;
  return mimeType === '' ? 'video' : 'document';
}
