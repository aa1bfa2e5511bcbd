import { Failure } from '../../../failure.ts';
import { answerId } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import type { EncodeContext, EventEncoder } from '../dialect.ts';
import { sumOf } from '../usage.ts';
import { AnswerParts, responseFields } from './answer-parts.ts';
import { failFrames } from './google-error.ts';

/** One of the `candidateCount` answers. */
interface Candidate {
  readonly parts: AnswerParts;
  /** Beginning of each frame, up to its parts. */
  readonly head: string;
  usage: Usage | null;
  finished: boolean;
}

/** Encodes the responses of a stream. Builds the frames by hand, since a stream has one for each delta. */
export class GeminiEncoder implements EventEncoder {
  readonly #context: EncodeContext;
  readonly #id = answerId('response');
  readonly #candidates = new Map<number, Candidate>();
  #model: string;
  #ended = false;

  constructor(context: EncodeContext) {
    this.#context = context;
    this.#model = context.request.model;
  }

  push(event: TextEvent, index = 0): string {
    if (this.#ended) return '';
    if (event.type === 'error') return this.#fail(event.failure);
    if (event.type === 'start') this.#model = event.model ?? this.#model;
    const candidate = this.#candidates.get(index) ?? this.#startCandidate(index);
    if (candidate.finished) return '';
    if (event.type === 'finish') return this.#finish(event, candidate, index);
    try {
      const parts = candidate.parts.push(event);
      return parts.length === 0 ? '' : this.#frame(candidate, parts);
    } catch (error) {
      if (error instanceof Failure) return this.#fail(error);
      throw error;
    }
  }

  #startCandidate(index: number): Candidate {
    const head = `data: {"candidates":[{"index":${index},"content":{"role":"model","parts":`;
    const candidate = { parts: new AnswerParts(), head, usage: null, finished: false };
    this.#candidates.set(index, candidate);
    return candidate;
  }

  #frame({ head }: Candidate, parts: readonly Json[]): string {
    const about = `"modelVersion":${JSON.stringify(this.#model)},"responseId":"${this.#id}"`;
    return `${head}${JSON.stringify(parts)}}}],${about}}\n\n`;
  }

  #finish(
    { reason, usage }: TextEvent & { readonly type: 'finish' },
    candidate: Candidate,
    index: number,
  ): string {
    candidate.finished = true;
    candidate.usage = usage ?? this.#context.estimatedUsage?.(index) ?? null;
    const candidates = [...this.#candidates.values()];
    const hasAll = candidates.length >= (this.#context.request.n ?? 1);
    this.#ended = hasAll && candidates.every(({ finished }) => finished);
    const usages = candidates.map((one) => one.usage);
    const response = {
      candidates: [
        {
          index,
          content: { role: 'model', parts: [{ text: '' }] },
          ...candidate.parts.end(reason),
        },
      ],
      ...responseFields(this.#model, this.#id, this.#ended ? sumOf(usages) : candidate.usage),
    };
    return `data: ${JSON.stringify(response)}\n\n`;
  }

  /** Sends no finish reason, so that a failed stream does not look complete. */
  #fail(failure: Failure): string {
    this.#ended = true;
    return failFrames(failure);
  }
}
