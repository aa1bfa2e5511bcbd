import type { Failure } from '../../../failure.ts';
import { tryParseJson } from '../../../schema/json.ts';
import { objectOf } from '../../../schema/untrusted.ts';
import { answerId, answerSeconds } from '../../../store/answer-identity.ts';
import type { Json, ReasoningSignature } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import type { EncodeContext, EventEncoder } from '../dialect.ts';
import { namedFrame } from '../named-frame.ts';
import { isBare, wrapSignature } from '../reasoning-signature.ts';
import { answerHead, errorDetails, outputText, responseError, statusOf } from './answer.ts';
import {
  citationBody,
  type ItemKind,
  isAnnotation,
  newCall,
  newMessage,
  newReasoning,
  type OpenItem,
  openItem,
  partOf,
} from './open-item.ts';
import { usageBody } from './usage.ts';

/** Encodes the events of a responses stream, and folds them into the response. */
export class ResponsesEncoder implements EventEncoder {
  readonly #context: EncodeContext;
  /** Whether to fold the response without encoding frames. */
  readonly #foldOnly: boolean;
  readonly #output: Json[] = [];
  #sequence = 0;
  #head: Json | null = null;
  #open: OpenItem | null = null;
  /** An ended item whose status depends on the next event. */
  #held: Json | null = null;
  #usage: Usage | null = null;
  #ended = false;
  /** The response; null before its end. */
  answer: Json | null = null;
  failure: Failure | null = null;

  constructor(context: EncodeContext, foldOnly = false) {
    this.#context = context;
    this.#foldOnly = foldOnly;
  }

  push(event: TextEvent): string {
    if (this.#ended) return '';
    switch (event.type) {
      case 'text-delta': {
        const { logprobs } = event;
        if (!logprobs || logprobs.length === 0) return this.#delta(event.text, ',"logprobs":[]');
        for (const one of logprobs) this.#open?.logprobs.push(one);
        return this.#delta(event.text, `,"logprobs":${JSON.stringify(logprobs)}`);
      }
      case 'tool-delta':
        return this.#delta(event.json, '');
      case 'refusal-delta':
        return this.#delta(event.text, '');
      case 'reasoning-delta':
        return this.#reasoningDelta(event.text);
      case 'start':
        return this.#start(event.model);
      case 'usage':
        this.#usage = event.usage;
        return '';
      case 'text-start':
        return this.#startMessage('text', event.block);
      case 'refusal-start':
        return this.#startMessage('refusal', event.block);
      case 'reasoning-start':
        return this.#add('reasoning', event.block, newReasoning());
      case 'tool-start': {
        const kind = event.isSearch ? 'search' : event.hasTextInput ? 'custom' : 'tool';
        return this.#add(kind, event.block, newCall(kind, event));
      }
      case 'citation':
        return this.#annotate(citationBody(event.citation, this.#open?.text.length ?? 0));
      case 'text-end':
      case 'refusal-end':
        return this.#endMessage();
      case 'reasoning-end':
        return this.#endReasoning(event.signature);
      case 'tool-end':
        return this.#endCall();
      case 'native':
        if (isAnnotation(event, this.#open)) return this.#annotate(objectOf(event.value));
        return this.#native(objectOf(event.value));
      case 'finish':
        return this.#finish(event);
      case 'error':
        return this.#fail(event.failure);
    }
  }

  #frame(type: string, fields: Json): string {
    if (this.#foldOnly) return '';
    const sequence_number = this.#sequence++;
    return namedFrame({ type, ...fields, sequence_number });
  }

  #start(model: string | null): string {
    if (this.#head) return '';
    const id = answerId('resp');
    this.#head = answerHead(this.#context, id, model ?? this.#context.request.model);
    const response = this.#response('in_progress', null, null);
    return (
      this.#frame('response.created', { response }) +
      this.#frame('response.in_progress', { response })
    );
  }

  /** The response so far. */
  #response(status: string, incomplete_details: Json | null, error: Json | null): Json {
    const completed = status === 'completed';
    const now = Math.max(this.#context.created, answerSeconds());
    return {
      ...this.#head,
      status,
      completed_at: completed ? now : null,
      error,
      incomplete_details,
      output: this.#output,
      usage: this.#usage && usageBody(this.#usage),
    };
  }

  #add(kind: ItemKind, block: number, item: Json): string {
    const before = this.#start(null) + this.#release('completed');
    const output_index = this.#output.length;
    this.#open = openItem(kind, block, item, output_index);
    return before + this.#frame('response.output_item.added', { output_index, item });
  }

  #startMessage(kind: 'text' | 'refusal', block: number): string {
    const added = this.#add(kind, block, newMessage());
    return (
      added + this.#frame('response.content_part.added', this.#contentPart(partOf(this.#open!)))
    );
  }

  /** The id and the index of the open item. */
  #position(): Json {
    return { item_id: this.#open?.item['id'], output_index: this.#output.length };
  }

  #contentPart(part: Json): Json {
    return { ...this.#position(), content_index: 0, part };
  }

  #delta(text: string, rest: string): string {
    const open = this.#open;
    if (!open || text === '') return '';
    open.text += text;
    if (this.#foldOnly || open.kind === 'search') return '';
    return `${open.prefix}${JSON.stringify(text)}${rest},"sequence_number":${this.#sequence++}}\n\n`;
  }

  #reasoningDelta(text: string): string {
    if (!this.#open || text === '') return '';
    if (this.#open.text !== '') return this.#delta(text, '');
    const part = { type: 'summary_text', text: '' };
    const added = { ...this.#position(), summary_index: 0, part };
    return this.#frame('response.reasoning_summary_part.added', added) + this.#delta(text, '');
  }

  #annotate(annotation: Json): string {
    const open = this.#open;
    if (open?.kind !== 'text') return '';
    const annotation_index = open.annotations.push(annotation) - 1;
    return this.#frame('response.output_text.annotation.added', {
      ...this.#position(),
      content_index: 0,
      annotation_index,
      annotation,
    });
  }

  #endMessage(): string {
    if (!this.#open) return '';
    const { kind, item, text, logprobs } = this.#open;
    const part = partOf(this.#open);
    const done = { ...this.#position(), content_index: 0 };
    const frames =
      (kind === 'text'
        ? this.#frame('response.output_text.done', { ...done, text, logprobs })
        : this.#frame('response.refusal.done', { ...done, refusal: text })) +
      this.#frame('response.content_part.done', this.#contentPart(part));
    this.#hold({ ...item, content: [part] });
    return frames;
  }

  #endReasoning(signature: ReasoningSignature | null): string {
    if (!this.#open) return '';
    const { item, text } = this.#open;
    const part = { type: 'summary_text', text };
    const position = { ...this.#position(), summary_index: 0 };
    const frames =
      text === ''
        ? ''
        : this.#frame('response.reasoning_summary_text.done', { ...position, text }) +
          this.#frame('response.reasoning_summary_part.done', { ...position, part });
    this.#hold({
      ...item,
      summary: text === '' ? [] : [part],
      ...(signature &&
        (text !== '' || !isBare(signature)) && { encrypted_content: wrapSignature(signature) }),
    });
    return frames;
  }

  #endCall(): string {
    if (!this.#open) return '';
    if (this.#open.kind === 'search') {
      const { item: search, text: json } = this.#open;
      // Arguments that are not JSON stay text, so that the client can report them to the model.
      this.#hold({ ...search, arguments: json === '' ? {} : (tryParseJson(json) ?? json) });
      return '';
    }
    // Clients parse the arguments: none are an empty object.
    const isTool = this.#open.kind === 'tool';
    const empty = isTool && this.#open.text === '' ? this.#delta('{}', '') : '';
    const { item, text } = this.#open;
    const own = isTool ? { arguments: text } : { input: text };
    const type = isTool ? 'function_call_arguments' : 'custom_tool_call_input';
    const done = { ...this.#position(), ...(isTool && { name: item['name'] }), ...own };
    const frames = empty + this.#frame(`response.${type}.done`, done);
    this.#hold({ ...item, ...own });
    return frames;
  }

  #hold(item: Json): void {
    this.#held = item;
    this.#open = null;
  }

  #release(status: 'completed' | 'incomplete'): string {
    const held = this.#held;
    if (!held) return '';
    this.#held = null;
    return this.#done('status' in held ? { ...held, status } : held);
  }

  #done(item: Json): string {
    const output_index = this.#output.push(item) - 1;
    return this.#frame('response.output_item.done', { output_index, item });
  }

  #native(item: Json): string {
    const before = this.#start(null) + this.#release('completed');
    const output_index = this.#output.length;
    return (
      before + this.#frame('response.output_item.added', { output_index, item }) + this.#done(item)
    );
  }

  #finish({ reason, usage }: TextEvent & { readonly type: 'finish' }): string {
    const { status, incomplete_details } = statusOf(reason);
    const before = this.#start(null) + this.#release(status);
    this.#usage = usage ?? this.#usage;
    return before + this.#conclude(status, incomplete_details, null);
  }

  #fail(failure: Failure): string {
    this.failure = failure;
    const before = this.#start(null) + this.#release('completed');
    const errorFrame = this.#frame('error', errorDetails(failure));
    return before + errorFrame + this.#conclude('failed', null, responseError(failure));
  }

  #conclude(status: string, incompleteDetails: Json | null, error: Json | null): string {
    this.#ended = true;
    this.answer = {
      ...this.#response(status, incompleteDetails, error),
      output_text: outputText(this.#output),
    };
    return this.#frame(`response.${status}`, { response: this.answer });
  }
}
