import type { Failure } from '../../../failure.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent } from '../../canonical/events.ts';
import { Choice, ChoicesEncoder, type CourseEvent } from '../choices-encoder.ts';
import type { EncodeContext } from '../dialect.ts';
import { openaiUsage } from '../usage.ts';
import { finishReasonOf, MessageLayout, newCompletionId } from './answer.ts';

const DONE = 'data: [DONE]\n\n';

type CallEvent = Extract<TextEvent, { readonly type: 'tool-start' | 'tool-delta' | 'tool-end' }>;

/** One of the `n` answers. */
class ChatChoice extends Choice {
  /** Beginning of each frame, up to the content of its delta. */
  readonly head: string;
  readonly layout = new MessageLayout();
  /** Whether the role was sent. */
  started = false;
  /** Whether the current call has arguments so far. */
  hasArguments = false;
  /** Whether the current call is of a tool with text input. */
  hasTextInput = false;

  constructor(index: number, frameStart: string) {
    super(index);
    this.head = `${frameStart}{"index":${index},"delta":{`;
  }
}

/** Encodes the chunks of a stream. Builds their JSON by hand, since a stream has one for each delta. */
export class ChatEncoder extends ChoicesEncoder<ChatChoice> {
  readonly #id = newCompletionId('chatcmpl');
  /** Beginning and end of each frame, around its choice: the same in the whole stream. */
  #frameStart: string | null = null;
  readonly #frameEnd: string;
  readonly #hasFunctions: boolean;
  protected readonly fail = failFrames;

  constructor(context: EncodeContext) {
    super(context);
    this.#hasFunctions = context.request.hasFunctions === true;
    // With include_usage, `usage` is null in all chunks but the last.
    this.#frameEnd = context.request.includeUsage ? '],"usage":null}\n\n' : ']}\n\n';
  }

  protected newChoice(index: number): ChatChoice {
    const about = `"created":${this.context.created},"model":${JSON.stringify(this.model)}`;
    this.#frameStart ??= `data: {"id":"${this.#id}","object":"chat.completion.chunk",${about},"choices":[`;
    return new ChatChoice(index, this.#frameStart);
  }

  protected encode(event: CourseEvent, choice: ChatChoice): string {
    const frames = this.#encode(event, choice);
    if (choice.started || frames === '') return frames;
    choice.started = true;
    const role = this.#delta(choice, '"role":"assistant","content":""');
    return event.type === 'start' ? role : role + frames;
  }

  #delta({ head }: ChatChoice, delta: string): string {
    return `${head}${delta}},"logprobs":null,"finish_reason":null}${this.#frameEnd}`;
  }

  #encode(event: CourseEvent, choice: ChatChoice): string {
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
      case 'usage':
      case 'text-end':
      case 'refusal-start':
      case 'refusal-end':
        return '';
    }
  }

  #call(event: CallEvent, choice: ChatChoice): string {
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
  #functionCall(event: CallEvent, choice: ChatChoice): string {
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

  #textWithLogprobs({ head }: ChatChoice, text: string, logprobs: readonly unknown[]): string {
    const tokens = JSON.stringify({ content: logprobs, refusal: null });
    return `${head}"content":${JSON.stringify(text)}},"logprobs":${tokens},"finish_reason":null}${this.#frameEnd}`;
  }

  #arguments(choice: ChatChoice, json: string): string {
    const { calls } = choice.layout;
    const text = JSON.stringify(json);
    const own = choice.hasTextInput
      ? `"index":${calls},"custom":{"input":${text}}`
      : `"index":${calls},"function":{"arguments":${text}}`;
    return this.#delta(choice, `"tool_calls":[{${own}}]`);
  }

  #native(event: TextEvent & { readonly type: 'native' }, choice: ChatChoice): string {
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

  protected finish(
    { reason }: TextEvent & { readonly type: 'finish' },
    choice: ChatChoice,
    isLast: boolean,
  ): string {
    // In one chunk: clients that fold deltas keep the last list.
    const { details } = choice.layout;
    const reasoning =
      details === null ? '' : this.#delta(choice, `"reasoning_details":${JSON.stringify(details)}`);
    const finish = `"finish_reason":"${finishReasonOf(reason, this.#hasFunctions)}"`;
    const role = choice.started ? '' : this.#delta(choice, '"role":"assistant","content":""');
    const frames = `${role}${reasoning}${choice.head}},"logprobs":null,${finish}}${this.#frameEnd}`;
    return isLast ? frames + this.#usage() + DONE : frames;
  }

  #usage(): string {
    const usage = this.usageOfAll();
    if (usage === null || !this.context.request.includeUsage) return '';
    return `${this.#frameStart}],"usage":${JSON.stringify(openaiUsage(usage))}}\n\n`;
  }
}

/** The last frame of a stream that failed. */
export function failFrames({ type, message, param, code }: Failure): string {
  return `data: ${JSON.stringify({ error: { type, message, param, code } })}\n\n`;
}
