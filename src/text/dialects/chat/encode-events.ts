import type { Failure } from '../../../failure.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import { untranslatableBlock } from '../answer-errors.ts';
import type { EncodeContext, EventEncoder } from '../dialect.ts';
import { openaiUsage, sumOf } from '../usage.ts';
import { finishReasonOf, MessageLayout, newCompletionId } from './answer.ts';

const DONE = 'data: [DONE]\n\n';

type CallEvent = Extract<TextEvent, { readonly type: 'tool-start' | 'tool-delta' | 'tool-end' }>;

/** One of the `n` choices. */
interface Choice {
  /** Beginning of each frame, up to the content of its delta. */
  readonly head: string;
  readonly layout: MessageLayout;
  /** Whether the role was sent. */
  started: boolean;
  /** Whether the current call has arguments so far. */
  hasArguments: boolean;
  /** Whether the current call is of a tool with text input. */
  hasTextInput: boolean;
  finished: boolean;
  usage: Usage | null;
}

/** Encodes the chunks of a stream. Builds their JSON by hand, since a stream has one for each delta. */
export class ChatEncoder implements EventEncoder {
  readonly #context: EncodeContext;
  readonly #id = newCompletionId();
  readonly #choices = new Map<number, Choice>();
  /** Beginning and end of each frame, around its choice: the same in the whole stream. */
  #frameStart: string | null = null;
  readonly #frameEnd: string;
  readonly #hasFunctions: boolean;
  #ended = false;

  constructor(context: EncodeContext) {
    this.#context = context;
    this.#hasFunctions = context.request.hasFunctions === true;
    // With include_usage, `usage` is null in all chunks but the last.
    this.#frameEnd = context.request.includeUsage ? '],"usage":null}\n\n' : ']}\n\n';
  }

  push(event: TextEvent, index = 0): string {
    if (this.#ended) return '';
    if (event.type === 'error') return this.#fail(event.failure);
    const choice = this.#choices.get(index) ?? this.#startChoice(index, event);
    if (choice.finished) return '';
    const frames = this.#encode(event, choice);
    if (choice.started || frames === '') return frames;
    choice.started = true;
    const role = this.#delta(choice, '"role":"assistant","content":""');
    return event.type === 'start' ? role : role + frames;
  }

  #startChoice(index: number, event: TextEvent): Choice {
    if (this.#frameStart === null) {
      const { request, created } = this.#context;
      const model = (event.type === 'start' ? event.model : null) ?? request.model;
      const id = JSON.stringify(this.#id);
      const about = `"created":${created},"model":${JSON.stringify(model)}`;
      this.#frameStart = `data: {"id":${id},"object":"chat.completion.chunk",${about},"choices":[`;
    }
    const choice: Choice = {
      head: `${this.#frameStart}{"index":${index},"delta":{`,
      layout: new MessageLayout(),
      started: false,
      hasArguments: false,
      hasTextInput: false,
      finished: false,
      usage: null,
    };
    this.#choices.set(index, choice);
    return choice;
  }

  #delta({ head }: Choice, delta: string): string {
    return `${head}${delta}},"logprobs":null,"finish_reason":null}${this.#frameEnd}`;
  }

  #encode(event: Exclude<TextEvent, { type: 'error' }>, choice: Choice): string {
    const { layout } = choice;
    switch (event.type) {
      case 'start':
        return this.#delta(choice, '');
      case 'text-delta':
        layout.addText(event.text);
        if (event.logprobs) return this.#textWithLogprobs(choice, event.text, event.logprobs);
        return this.#delta(choice, `"content":${JSON.stringify(event.text)}`);
      case 'reasoning-delta':
        layout.addReasoning(event.text);
        return this.#delta(choice, `"reasoning_content":${JSON.stringify(event.text)}`);
      case 'refusal-delta':
        return this.#delta(choice, `"refusal":${JSON.stringify(event.text)}`);
      case 'tool-start':
      case 'tool-delta':
      case 'tool-end':
        return this.#hasFunctions ? this.#functionCall(event, choice) : this.#call(event, choice);
      case 'text-start':
        layout.startText();
        return '';
      case 'reasoning-start':
        layout.startReasoning();
        return '';
      case 'reasoning-end':
        layout.endReasoning(event);
        return '';
      case 'citation': {
        const annotations = JSON.stringify([layout.annotation(event.citation)]);
        return this.#delta(choice, `"annotations":${annotations}`);
      }
      case 'native':
        return this.#native(event, choice);
      case 'finish':
        return this.#finish(event, choice);
      case 'usage':
      case 'text-end':
      case 'refusal-start':
      case 'refusal-end':
        return '';
    }
  }

  #call(event: CallEvent, choice: Choice): string {
    const { layout } = choice;
    switch (event.type) {
      case 'tool-start': {
        const id = `"index":${layout.calls},"id":${JSON.stringify(event.id)}`;
        const name = JSON.stringify(event.name);
        choice.hasArguments = false;
        choice.hasTextInput = event.hasTextInput === true;
        const call = choice.hasTextInput
          ? `${id},"type":"custom","custom":{"name":${name},"input":""}`
          : `${id},"type":"function","function":{"name":${name},"arguments":""}`;
        return this.#delta(choice, `"tool_calls":[{${call}}]`);
      }
      case 'tool-delta':
        choice.hasArguments ||= event.json !== '';
        return this.#arguments(choice, event.json);
      case 'tool-end': {
        // Clients parse the arguments, and an empty text is not JSON.
        const isWhole = choice.hasArguments || choice.hasTextInput;
        const frames = isWhole ? '' : this.#arguments(choice, '{}');
        layout.calls += 1;
        return frames;
      }
    }
  }

  /** The first call of an answer in the former format, which has no others. */
  #functionCall(event: CallEvent, choice: Choice): string {
    if (choice.layout.calls > 0) return '';
    const part = (own: object) => this.#delta(choice, `"function_call":${JSON.stringify(own)}`);
    switch (event.type) {
      case 'tool-start':
        choice.hasArguments = false;
        return part({ name: event.name, arguments: '' });
      case 'tool-delta':
        choice.hasArguments ||= event.json !== '';
        return part({ arguments: event.json });
      case 'tool-end':
        choice.layout.calls += 1;
        return choice.hasArguments ? '' : part({ arguments: '{}' });
    }
  }

  #textWithLogprobs({ head }: Choice, text: string, logprobs: readonly unknown[]): string {
    const tokens = JSON.stringify({ content: logprobs, refusal: null });
    return `${head}"content":${JSON.stringify(text)}},"logprobs":${tokens},"finish_reason":null}${this.#frameEnd}`;
  }

  #arguments(choice: Choice, json: string): string {
    const { calls } = choice.layout;
    const text = JSON.stringify(json);
    const own = choice.hasTextInput
      ? `"index":${calls},"custom":{"input":${text}}`
      : `"index":${calls},"function":{"arguments":${text}}`;
    return this.#delta(choice, `"tool_calls":[{${own}}]`);
  }

  #native(event: TextEvent & { readonly type: 'native' }, choice: Choice): string {
    if (event.dialect !== 'chat') return this.#fail(untranslatableBlock('chat', event));
    const { tool_calls: calls, ...rest } = event.value as Json;
    const numbered = Array.isArray(calls)
      ? (calls as Json[]).map((call) => {
          choice.layout.calls += 1;
          return { index: choice.layout.calls - 1, ...call };
        })
      : null;
    const delta = JSON.stringify({ ...rest, ...(numbered && { tool_calls: numbered }) });
    return this.#delta(choice, delta.slice(1, -1));
  }

  #finish({ reason, usage }: TextEvent & { readonly type: 'finish' }, choice: Choice): string {
    choice.finished = true;
    choice.usage = usage;
    // In one chunk: clients that fold deltas keep the last list.
    const { details } = choice.layout;
    const reasoning =
      details === null ? '' : this.#delta(choice, `"reasoning_details":${JSON.stringify(details)}`);
    const finish = `"finish_reason":"${finishReasonOf(reason, this.#hasFunctions)}"`;
    const frames = `${reasoning}${choice.head}},"logprobs":null,${finish}}${this.#frameEnd}`;
    const choices = [...this.#choices.values()];
    const hasAll = choices.length >= (this.#context.request.n ?? 1);
    if (!hasAll || choices.some(({ finished }) => !finished)) return frames;
    this.#ended = true;
    return frames + this.#usage(choices) + DONE;
  }

  #usage(choices: readonly Choice[]): string {
    const usage = sumOf(choices.map((choice) => choice.usage));
    if (usage === null || !this.#context.request.includeUsage) return '';
    return `${this.#frameStart}],"usage":${JSON.stringify(openaiUsage(usage))}}\n\n`;
  }

  /** Sends no finish_reason and no `[DONE]`, so that a failed stream does not look complete. */
  #fail(failure: Parameters<typeof failFrames>[0]): string {
    this.#ended = true;
    return failFrames(failure);
  }
}

/** The last frame of a stream that failed. */
export function failFrames({ type, message, param, code }: Failure): string {
  return `data: ${JSON.stringify({ error: { type, message, param, code } })}\n\n`;
}
