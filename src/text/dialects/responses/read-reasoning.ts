import { countOf, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import { type Blocks, type ItemReader, missingOf } from './blocks.ts';
import { joined, PARAGRAPH, signatureOf } from './reasoning.ts';

/** What of the reasoning is told: a summary of it, or itself. */
type Kind = 'summary' | 'content';

/** Reads reasoning: one block, whose parts are paragraphs of one text. */
export class ReasoningReader implements ItemReader {
  readonly #blocks: Blocks;
  readonly #block: number;
  #kind: Kind | null = null;
  #part = -1;
  #partSent = '';
  #sent = '';

  constructor(blocks: Blocks) {
    this.#blocks = blocks;
    this.#block = blocks.next();
    blocks.emit({ type: 'reasoning-start', block: this.#block });
  }

  take(type: string, event: Json): void {
    switch (type) {
      case 'response.reasoning_summary_text.delta':
        this.#say('summary', countOf(event['summary_index']) ?? 0, textOf(event['delta']));
        return;
      case 'response.reasoning_summary_text.done':
        this.#complete('summary', countOf(event['summary_index']) ?? 0, textOf(event['text']));
        return;
      case 'response.reasoning_text.delta':
      case 'response.reasoning.delta':
        this.#say('content', countOf(event['content_index']) ?? 0, textOf(event['delta']));
        return;
      case 'response.reasoning_text.done':
      case 'response.reasoning.done':
        this.#complete('content', countOf(event['content_index']) ?? 0, textOf(event['text']));
        return;
    }
  }

  finish(item: Json | null): void {
    if (item) {
      const summary = joined(objectsOf(item['summary']));
      const content = joined(objectsOf(item['content']));
      const whole = this.#kind === 'content' || summary === '' ? content : summary;
      this.#emit(missingOf(whole, this.#sent));
    }
    const signature = item && signatureOf(item, this.#blocks.context.provider);
    this.#blocks.emit({ type: 'reasoning-end', block: this.#block, signature });
  }

  #say(kind: Kind, part: number, text: string): void {
    // Whoever tells both tells the same twice; the signature has it all.
    if (text === '' || (this.#kind !== null && this.#kind !== kind)) return;
    this.#kind = kind;
    const paragraph = part !== this.#part && this.#sent !== '';
    if (part !== this.#part) this.#partSent = '';
    this.#part = part;
    this.#partSent += text;
    this.#emit(paragraph ? PARAGRAPH + text : text);
  }

  #complete(kind: Kind, part: number, whole: string): void {
    this.#say(kind, part, part === this.#part ? missingOf(whole, this.#partSent) : whole);
  }

  #emit(text: string): void {
    if (text === '') return;
    this.#sent += text;
    this.#blocks.emit({ type: 'reasoning-delta', block: this.#block, text });
  }
}
