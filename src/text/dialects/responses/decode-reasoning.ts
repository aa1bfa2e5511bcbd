import { countOf, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { type BlockSink, type ItemDecoder, missingOf } from './item-decoder.ts';
import { joinedParts, PARAGRAPH, signatureOf } from './reasoning.ts';

/** The source of the text: the summary or the reasoning itself. */
type Kind = 'summary' | 'content';

/** Decodes reasoning as one block, whose parts are paragraphs of one text. */
export class ReasoningDecoder implements ItemDecoder {
  readonly #blocks: BlockSink;
  readonly #block: number;
  #kind: Kind | null = null;
  #part = -1;
  #partSent = '';
  #sent = '';

  constructor(blocks: BlockSink) {
    this.#blocks = blocks;
    this.#block = blocks.nextBlock();
    blocks.emit({ type: 'reasoning-start', block: this.#block });
  }

  push(type: string, event: Json): void {
    switch (type) {
      case 'response.reasoning_summary_text.delta':
        this.#append('summary', countOf(event['summary_index']) ?? 0, textOf(event['delta']));
        return;
      case 'response.reasoning_summary_text.done':
        this.#complete('summary', countOf(event['summary_index']) ?? 0, textOf(event['text']));
        return;
      case 'response.reasoning_text.delta':
      case 'response.reasoning.delta':
        this.#append('content', countOf(event['content_index']) ?? 0, textOf(event['delta']));
        return;
      case 'response.reasoning_text.done':
      case 'response.reasoning.done':
        this.#complete('content', countOf(event['content_index']) ?? 0, textOf(event['text']));
        return;
    }
  }

  finish(item: Json | null): void {
    if (item) {
      const summary = joinedParts(objectsOf(item['summary']));
      const content = joinedParts(objectsOf(item['content']));
      const whole = this.#kind === 'content' || summary === '' ? content : summary;
      this.#emit(missingOf(whole, this.#sent));
    }
    const signature = item && signatureOf(item, this.#blocks.context.provider);
    this.#blocks.emit({ type: 'reasoning-end', block: this.#block, signature });
  }

  #append(kind: Kind, part: number, text: string): void {
    // Of a provider that sends both only the first is emitted; the signature has both.
    if (text === '' || (this.#kind !== null && this.#kind !== kind)) return;
    this.#kind = kind;
    const isNewParagraph = part !== this.#part && this.#sent !== '';
    if (part !== this.#part) this.#partSent = '';
    this.#part = part;
    this.#partSent += text;
    this.#emit(isNewParagraph ? PARAGRAPH + text : text);
  }

  #complete(kind: Kind, part: number, whole: string): void {
    this.#append(kind, part, part === this.#part ? missingOf(whole, this.#partSent) : whole);
  }

  #emit(text: string): void {
    if (text === '') return;
    this.#sent += text;
    this.#blocks.emit({ type: 'reasoning-delta', block: this.#block, text });
  }
}
