import type { Json, ReasoningSignature } from '../../canonical/canonical.ts';
import type { Citation, FinishReason, TextEvent } from '../../canonical/events.ts';
import { answeredInput } from '../calls.ts';
import { isBare } from '../reasoning-signature.ts';
import { finishWordOf } from './finish-reasons.ts';
import { signatureOnWire, signedPartOf } from './reasoning.ts';
import { usageMetadata } from './usage.ts';

/** A citation in an answer, and the text before it in its part. */
interface PlacedCitation {
  readonly citation: Citation;
  readonly text: string;
}

/** Turns the events of one answer into parts. */
export class AnswerParts {
  /** Text of the refusal so far, which is the explanation of the end. */
  #refusal = '';
  #call = { id: '', name: '', json: '' };
  /** The signature of the next call. */
  #callSignature: string | null = null;
  #text = '';
  readonly #cited: PlacedCitation[] = [];

  /** The parts of one event; none for an event that only changes what follows. @throws Failure */
  push(event: TextEvent): readonly Json[] {
    switch (event.type) {
      case 'text-start':
        this.#text = '';
        return [];
      case 'text-delta':
        this.#text += event.text;
        return event.text === '' ? [] : [{ text: event.text }];
      case 'reasoning-delta':
        return event.text === '' ? [] : [{ text: event.text, thought: true }];
      case 'reasoning-end':
        return event.signature === null ? [] : this.#signature(event.signature);
      case 'refusal-delta':
        this.#refusal += event.text;
        return [];
      case 'tool-start':
        this.#call = { id: event.id, name: event.name, json: '' };
        return [];
      case 'tool-delta':
        this.#call.json += event.json;
        return [];
      case 'tool-end':
        return [this.#calling()];
      case 'citation':
        this.#cited.push({ citation: event.citation, text: this.#text });
        return [];
      case 'native':
        return [event.value as Json];
      default:
        return [];
    }
  }

  #signature(signature: ReasoningSignature): readonly Json[] {
    const own = signature.dialect === 'gemini' ? signedPartOf(signature) : null;
    if (own === null && isBare(signature) && signature.dialect === 'gemini') return [];
    if (own === null)
      return [{ text: '', thought: true, thoughtSignature: signatureOnWire(signature) }];
    const { part, thoughtSignature } = own;
    if (part === 'text') return [{ text: '', thoughtSignature }];
    if (part === 'thought') return [{ text: '', thought: true, thoughtSignature }];
    this.#callSignature = thoughtSignature;
    return [];
  }

  #calling(): Json {
    const { id, name } = this.#call;
    const args = answeredInput('gemini', this.#call);
    const thoughtSignature = this.#callSignature;
    this.#callSignature = null;
    return {
      functionCall: { id, name, args },
      ...(thoughtSignature !== null && { thoughtSignature }),
    };
  }

  /** The fields of a candidate at its end. */
  end(reason: FinishReason): Json {
    const grounding = this.#grounding();
    const isRefusal = this.#refusal !== '';
    return {
      finishReason: finishWordOf(isRefusal && reason === 'stop' ? 'refusal' : reason),
      ...(isRefusal && { finishMessage: this.#refusal }),
      ...(grounding !== null && { groundingMetadata: grounding }),
    };
  }

  #grounding(): Json | null {
    if (this.#cited.length === 0) return null;
    return {
      groundingChunks: this.#cited.map(({ citation: { url, title } }) => ({
        web: { uri: url, ...(title !== null && { title }) },
      })),
      groundingSupports: this.#cited.map(({ citation, text }, index) => {
        const { start, end, quote } = citation;
        const cited = text.slice(start ?? 0, end ?? text.length);
        return {
          // Google counts the bytes of UTF-8.
          segment: {
            startIndex: Buffer.byteLength(text.slice(0, start ?? 0)),
            endIndex: Buffer.byteLength(text.slice(0, end ?? text.length)),
            text: quote ?? cited,
          },
          groundingChunkIndices: [index],
        };
      }),
    };
  }
}

/** The fields of a response beside its candidates. */
export function responseFields(
  model: string,
  responseId: string,
  usage: Parameters<typeof usageMetadata>[0],
): Json {
  return { usageMetadata: usageMetadata(usage), modelVersion: model, responseId };
}
