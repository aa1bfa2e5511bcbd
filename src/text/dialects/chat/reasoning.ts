import type { Json, ReasoningPart, ReasoningSignature } from '../../canonical/canonical.ts';
import type { Target } from '../dialect.ts';
import { isBare, isWrapped, unwrapSignature, wrapSignature } from '../reasoning-signature.ts';

/** One entry of `reasoning_details`. */
type Detail = Json;

/** Reasoning with its position in an assistant's message. */
export interface PlacedReasoning {
  readonly part: ReasoningPart;
  /** Tool calls of the message that precede it. */
  readonly after: number;
}

/** Properties that only the provider can read. */
const OPAQUE = ['signature', 'data', 'encrypted_content'] as const;

/** The readable text of a detail. */
export function textOfDetail(detail: Detail): string {
  const text = detail['text'] ?? detail['summary'];
  return typeof text === 'string' ? text : '';
}

/** Whether a detail has opaque properties, which its provider needs back. */
export function isSigned(detail: Detail): boolean {
  return OPAQUE.some((name) => typeof detail[name] === 'string' && detail[name] !== '');
}

/** Whether a detail is reasoning of another dialect whose signature was wrapped here. */
function isWrappedDetail({ signature }: Detail): boolean {
  return typeof signature === 'string' && isWrapped(signature);
}

function afterOf(detail: Detail): number {
  const after = detail['after_tool_calls'];
  return typeof after === 'number' && after > 0 ? after : 0;
}

/** Details as the signature of one block of reasoning; null where its provider needs none back. */
export function signatureOf(
  details: readonly Detail[],
  provider: string | null,
): ReasoningSignature | null {
  if (!details.some(isSigned)) return null;
  return { dialect: 'chat', provider, value: { reasoning_details: details } };
}

/** The reasoning of an assistant's message: its details or, without details, its plain text. */
export function decodeReasoning(message: Json, path: string): readonly PlacedReasoning[] {
  const plain = message['reasoning_content'] ?? message['reasoning'];
  const text = typeof plain === 'string' ? plain : '';
  const details = (message['reasoning_details'] ?? []) as readonly Detail[];
  const found: PlacedReasoning[] = [];
  const add = (after: number, own: string, signature: ReasoningSignature | null) => {
    found.push({ after, part: { type: 'reasoning', path, text: own, signature } });
  };
  if (details.length === 0) {
    if (text !== '') add(0, text, null);
    return found;
  }
  // Encrypted details have no text; the plain text is all that the client has.
  if (text !== '' && details.every((detail) => textOfDetail(detail) === '')) {
    if (!details.some(isWrappedDetail)) add(0, text, null);
  }
  let run: Detail[] = [];
  const flush = () => {
    const [first] = run;
    if (first === undefined) return;
    add(afterOf(first), run.map(textOfDetail).join(''), signatureOf(run, null));
    run = [];
  };
  for (const detail of details) {
    const isOurs = isWrappedDetail(detail);
    if (isOurs || (run[0] && afterOf(run[0]) !== afterOf(detail))) flush();
    if (isOurs)
      add(afterOf(detail), textOfDetail(detail), unwrapSignature(detail['signature'] as string));
    else run.push(detail);
  }
  flush();
  return found.sort((a, b) => a.after - b.after);
}

/** The details of a signature. Clients may have changed it. */
function detailsIn({ value }: ReasoningSignature): readonly Detail[] {
  const { reasoning_details: details } = value;
  return Array.isArray(details) ? details : [];
}

/** The reasoning properties of an assistant's message. */
export function encodeReasoning(parts: readonly ReasoningPart[], target: Target): Json {
  const details: Detail[] = [];
  let text = '';
  for (const part of parts) {
    const { signature } = part;
    const own =
      signature?.dialect === 'chat' &&
      (signature.provider === null || signature.provider === target.provider);
    if (own) for (const detail of detailsIn(signature)) details.push(detail);
    // Models with fixed reasoning need the reasoning of every earlier turn, from any provider.
    if (own || signature === null || target.rules === 'fixed-reasoning') text += part.text;
  }
  return {
    ...(text !== '' && { reasoning_content: text }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

/** One block of reasoning in an answer. */
export interface AnsweredReasoning {
  readonly text: string;
  readonly signature: ReasoningSignature | null;
  /** Tool calls that precede it. */
  readonly after: number;
}

/** `reasoning_details` of an answer; null if no reasoning has a signature. */
export function detailsOf(blocks: readonly AnsweredReasoning[]): readonly Detail[] | null {
  if (!blocks.some(({ signature }) => signature !== null && !isBare(signature))) return null;
  return blocks
    .flatMap(({ text, signature, after }) => {
      const position = after > 0 ? { after_tool_calls: after } : {};
      const native = signature?.dialect === 'chat' ? signature.value['reasoning_details'] : null;
      if (Array.isArray(native)) {
        return (native as readonly Detail[]).map((detail) => ({ ...detail, ...position }));
      }
      const isSent = signature !== null && !isBare(signature);
      const wrapped = isSent && { signature: wrapSignature(signature) };
      return [{ type: 'reasoning.text', text, ...wrapped, ...position }];
    })
    .map((detail, index) => ({ ...detail, index }));
}
