import { answerId } from '../../../store/answer-identity.ts';
import type { TextEvent } from '../../canonical/events.ts';
import { Choice, ChoicesEncoder, type CourseEvent } from '../choices-encoder.ts';
import { AnswerParts, responseFields } from './answer-parts.ts';
import { failFrames } from './google-error.ts';

/** One of the `candidateCount` answers. */
class Candidate extends Choice {
  readonly parts = new AnswerParts();
}

/** Encodes the responses of a stream. Builds the frames by hand, since a stream has one for each delta. */
export class GeminiEncoder extends ChoicesEncoder<Candidate> {
  readonly #id = answerId('response');
  protected readonly fail = failFrames;

  protected newChoice(index: number): Candidate {
    return new Candidate(index);
  }

  protected encode(event: CourseEvent, { parts: answer, index }: Candidate): string {
    const parts = answer.push(event);
    if (parts.length === 0) return '';
    const content = `"content":{"role":"model","parts":${JSON.stringify(parts)}}`;
    const about = `"modelVersion":${JSON.stringify(this.model)},"responseId":"${this.#id}"`;
    return `data: {"candidates":[{"index":${index},${content}}],${about}}\n\n`;
  }

  protected finish(
    { reason }: TextEvent & { readonly type: 'finish' },
    candidate: Candidate,
    isLast: boolean,
  ): string {
    const { index, parts } = candidate;
    candidate.usage ??= this.context.estimatedUsage?.(index) ?? null;
    const content = { role: 'model', parts: [{ text: '' }] };
    const response = {
      candidates: [{ index, content, ...parts.end(reason) }],
      ...responseFields(this.model, this.#id, isLast ? this.usageOfAll() : candidate.usage),
    };
    return `data: ${JSON.stringify(response)}\n\n`;
  }
}
