import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import { untranslatableBlock } from '../answer-errors.ts';
import type { EncodeContext } from '../dialect.ts';
import { openaiUsage, sumOf } from '../openai-usage.ts';
import { finishReasonOf, MessageLayout, newCompletionId } from './answer.ts';

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly hasTextInput: boolean;
  /** The arguments or the input so far. */
  text: string;
}

function callBody({ id, name, hasTextInput, text }: OpenCall): Json {
  return hasTextInput
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text || '{}' } };
}

/** One choice of a completion, folded from its events. */
class FoldedChoice {
  usage: Usage | null = null;
  readonly #hasFunctions: boolean;
  readonly #layout = new MessageLayout();
  /** Properties of the message that only chat has. */
  readonly #natives: Record<string, unknown> = {};
  readonly #calls: unknown[] = [];
  readonly #annotations: Json[] = [];
  readonly #logprobs: unknown[] = [];
  #call: OpenCall | null = null;
  #text = '';
  #reasoning = '';
  #refusal = '';
  #reason = 'stop';

  constructor(hasFunctions: boolean) {
    this.#hasFunctions = hasFunctions;
  }

  /** @throws Failure if the answer failed, or has a block of another format */
  add(event: TextEvent): void {
    switch (event.type) {
      case 'text-start':
        this.#layout.startText();
        return;
      case 'text-delta':
        this.#layout.addText(event.text);
        this.#text += event.text;
        for (const token of event.logprobs ?? []) this.#logprobs.push(token);
        return;
      case 'citation':
        this.#annotations.push(this.#layout.annotation(event.citation));
        return;
      case 'refusal-delta':
        this.#refusal += event.text;
        return;
      case 'reasoning-start':
        this.#layout.startReasoning();
        return;
      case 'reasoning-delta':
        this.#layout.addReasoning(event.text);
        this.#reasoning += event.text;
        return;
      case 'reasoning-end':
        this.#layout.endReasoning(event);
        return;
      case 'tool-start':
        this.#call = {
          id: event.id,
          name: event.name,
          hasTextInput: event.hasTextInput === true,
          text: '',
        };
        return;
      case 'tool-delta':
        if (this.#call) this.#call.text += event.json;
        return;
      case 'tool-end':
        if (this.#call) this.#calls.push(callBody(this.#call));
        this.#layout.calls += 1;
        return;
      case 'native': {
        if (event.dialect !== 'chat') throw untranslatableBlock('chat', event);
        this.#native(event.value as Json);
        return;
      }
      case 'finish':
        this.#reason = finishReasonOf(event.reason, this.#hasFunctions);
        this.usage = event.usage;
        return;
      case 'error':
        throw event.failure;
      case 'start':
      case 'usage':
      case 'text-end':
      case 'refusal-start':
      case 'refusal-end':
        return;
    }
  }

  #native({ tool_calls: calls, annotations, ...rest }: Json): void {
    if (Array.isArray(annotations)) for (const one of annotations) this.#annotations.push(one);
    if (Array.isArray(calls)) {
      for (const call of calls) this.#calls.push(call);
      this.#layout.calls += calls.length;
    }
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

  body(index: number): Json {
    const { details } = this.#layout;
    return {
      index,
      message: {
        role: 'assistant',
        ...this.#natives,
        content: this.#content(),
        refusal: this.#refusal === '' ? null : this.#refusal,
        ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
        ...(details !== null && { reasoning_details: details }),
        ...(this.#annotations.length > 0 && { annotations: this.#annotations }),
        ...(this.#calls.length > 0 &&
          (this.#hasFunctions
            ? { function_call: (this.#calls[0] as Json)['function'] }
            : { tool_calls: this.#calls })),
      },
      logprobs: this.#logprobs.length > 0 ? { content: this.#logprobs, refusal: null } : null,
      finish_reason: this.#reason,
    };
  }
}

/** Folds the events of all choices into one completion. */
export function foldEvents(
  { request, created }: EncodeContext,
  choices: readonly (readonly TextEvent[])[],
): Json {
  const folded = choices.map((events) => {
    const choice = new FoldedChoice(request.hasFunctions === true);
    for (const event of events) choice.add(event);
    return choice;
  });
  const start = choices[0]?.find((event) => event.type === 'start');
  const usage = sumOf(folded.map((choice) => choice.usage));
  return {
    id: newCompletionId(),
    object: 'chat.completion',
    created,
    model: start?.model ?? request.model,
    choices: folded.map((choice, index) => choice.body(index)),
    ...(usage !== null && { usage: openaiUsage(usage) }),
  };
}
