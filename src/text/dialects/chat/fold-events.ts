import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent } from '../../canonical/events.ts';
import type { EncodeContext } from '../dialect.ts';
import { type AnswerBlock, type CallBlock, foldAnswer } from '../fold-answer.ts';
import { openaiUsage, sumOf } from '../usage.ts';
import { annotationOf, finishReasonOf, newCompletionId } from './answer.ts';
import { type AnsweredReasoning, detailsOf } from './reasoning.ts';

function callBody({ id, name, hasTextInput, text }: CallBlock): Json {
  return hasTextInput
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text || '{}' } };
}

/** The message of one choice, folded from its blocks. */
class FoldedMessage {
  readonly logprobs: unknown[] = [];
  /** Properties that only chat has. */
  readonly #natives: Record<string, unknown> = {};
  readonly #calls: Json[] = [];
  readonly #annotations: Json[] = [];
  readonly #signed: AnsweredReasoning[] = [];
  #text = '';
  #reasoning = '';
  #refusal = '';

  /** @throws Failure if the answer has a block of another format */
  constructor(blocks: readonly AnswerBlock[]) {
    for (const block of blocks) this.#add(block);
  }

  #add(block: AnswerBlock): void {
    switch (block.type) {
      case 'text':
        for (const one of block.citations) {
          this.#annotations.push(annotationOf(one, this.#text.length));
        }
        for (const token of block.logprobs) this.logprobs.push(token);
        this.#text += block.text;
        return;
      case 'refusal':
        this.#refusal += block.text;
        return;
      case 'reasoning':
        this.#reasoning += block.text;
        this.#signed.push({ ...block, after: this.#calls.length });
        return;
      case 'call':
        this.#calls.push(callBody(block));
        return;
      case 'native':
        this.#native(block.value as Json);
    }
  }

  #native({ tool_calls: calls, annotations, ...rest }: Json): void {
    if (Array.isArray(annotations)) for (const one of annotations) this.#annotations.push(one);
    if (Array.isArray(calls)) for (const call of calls) this.#calls.push(call);
    for (const [name, value] of Object.entries(rest)) {
      const before = this.#natives[name];
      this.#natives[name] =
        Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
    }
  }

  #content(): unknown {
    const { content: parts } = this.#natives;
    if (Array.isArray(parts)) {
      return this.#text === '' ? parts : [{ type: 'text', text: this.#text }, ...parts];
    }
    const hasNoText = this.#text === '' && (this.#calls.length > 0 || this.#refusal !== '');
    return hasNoText ? null : this.#text;
  }

  body(hasFunctions: boolean): Json {
    const details = detailsOf(this.#signed);
    const [call] = this.#calls;
    return {
      role: 'assistant',
      ...this.#natives,
      content: this.#content(),
      refusal: this.#refusal === '' ? null : this.#refusal,
      ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
      ...(details !== null && { reasoning_details: details }),
      ...(this.#annotations.length > 0 && { annotations: this.#annotations }),
      ...(call &&
        (hasFunctions ? { function_call: call['function'] } : { tool_calls: this.#calls })),
    };
  }
}

/** Folds the events of all choices into one completion. */
export function foldEvents(
  { request, created }: EncodeContext,
  choices: readonly (readonly TextEvent[])[],
): Json {
  const hasFunctions = request.hasFunctions === true;
  const answers = choices.map(foldAnswer);
  const usage = sumOf(answers.map(({ finish }) => finish?.usage ?? null));
  return {
    id: newCompletionId('chatcmpl'),
    object: 'chat.completion',
    created,
    model: answers[0]?.model ?? request.model,
    choices: answers.map((answer, index) => {
      const message = new FoldedMessage(answer.blocks);
      const { logprobs } = message;
      return {
        index,
        message: message.body(hasFunctions),
        logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
        finish_reason: finishReasonOf(answer.finish?.reason ?? 'stop', hasFunctions),
      };
    }),
    ...(usage !== null && { usage: openaiUsage(usage) }),
  };
}
