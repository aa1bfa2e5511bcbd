import { createHash } from 'node:crypto';
import { quoteValue } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { DialectName, Json, ToolCallPart } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { untranslatableAnswer } from './answer-errors.ts';
import { untranslatable } from './request-errors.ts';

/** Identifiers of calls that both Anthropic and OpenAI accept. */
const TAKEN = /^[A-Za-z0-9_-]{1,64}$/;
const MARK = 'oriel_';

/**
 * Encodes the identifier of a tool call so that every provider and every client accepts it. A short one
 * can be decoded; a long one becomes a hash, the same for a call and for its result.
 */
export function callIdOnWire(id: string): string {
  if (TAKEN.test(id)) return id;
  const encoded = MARK + Buffer.from(id).toString('base64url');
  if (encoded.length <= 64) return encoded;
  return `${MARK}.${createHash('sha256').update(id).digest('base64url')}`.replace('.', 'h_');
}

/** Decodes an identifier that was encoded for the wire. */
export function callIdFromWire(wire: string): string {
  if (!wire.startsWith(MARK) || wire.startsWith(`${MARK}h_`)) return wire;
  const id = Buffer.from(wire.slice(MARK.length), 'base64url').toString();
  return callIdOnWire(id) === wire ? id : wire;
}

/** A call in a client's history. @param json the arguments, or the input of a tool with text input */
export function callOf(
  path: string,
  { id, name }: { readonly id: string; readonly name: string },
  json: string,
): ToolCallPart {
  return { type: 'tool-call', path, id: callIdFromWire(id), name, arguments: json };
}

/**
 * The arguments of a call in a client's history: the text of a JSON object, `{}` for none.
 *
 * @throws Failure invalid_request
 */
export function argumentsOf(text: string | null | undefined, path: string): string {
  if (text === null || text === undefined || text.trim() === '') return '{}';
  if (isObject(tryParseJson(text))) return text;
  throw invalid(path, `expected the text of a JSON object, received ${quoteValue(text)}`);
}

/** The arguments of a call as an object; undefined where they are none. */
function objectIn(json: string): Json | undefined {
  const value = json.trim() === '' ? {} : tryParseJson(json);
  return isObject(value) ? value : undefined;
}

/** The arguments of a call for an upstream whose calls have an object. @throws Failure invalid_request */
export function callInput({ arguments: json, path }: ToolCallPart, target: DialectName): Json {
  const input = objectIn(json);
  if (input !== undefined) return input;
  throw untranslatable(path, target, 'the arguments must be the text of a JSON object');
}

/**
 * The arguments of an answered call for a client whose calls have an object.
 *
 * @param isCut whether the token limit may have cut them, which the reason of the end shows
 */
export function answeredInput(
  client: DialectName,
  { name, json }: Pick<Call, 'name' | 'json'>,
  isCut = false,
): Json {
  const input = objectIn(json);
  if (input !== undefined) return input;
  if (isCut && tryParseJson(json) === undefined) return {};
  throw untranslatableAnswer(client, `a call of ${name} whose arguments are not a JSON object`);
}

interface Call {
  readonly id: string;
  /** The client's name of the tool. */
  readonly name: string;
  /** The arguments; empty where there are none. */
  readonly json: string;
}

/** The events of a call that came in one piece. */
export function wholeCall(block: number, { id, name, json }: Call): TextEvent[] {
  return [
    { type: 'tool-start', block, id, name },
    ...(json === '' ? [] : [{ type: 'tool-delta' as const, block, json }]),
    { type: 'tool-end', block },
  ];
}
