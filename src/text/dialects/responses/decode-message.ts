import { countOf, isObject, nonEmptyTextOf, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { type BlockSink, type ItemDecoder, missingOf } from './item-decoder.ts';

type Kind = 'text' | 'refusal';

interface Part {
  readonly kind: Kind;
  block: number;
  open: boolean;
  sent: string;
  annotations: number;
}

function kindOf(part: Json): Kind | null {
  if (part['type'] === 'output_text') return 'text';
  return part['type'] === 'refusal' ? 'refusal' : null;
}

/** A position in the text; null if it is not a number. */
const positionOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Decodes a message: each part is a block of text or a refusal. */
export class MessageDecoder implements ItemDecoder {
  readonly #blocks: BlockSink;
  readonly #parts = new Map<number, Part>();
  #current: Part | null = null;

  constructor(blocks: BlockSink) {
    this.#blocks = blocks;
  }

  push(type: string, event: Json): void {
    const index = countOf(event['content_index']) ?? 0;
    switch (type) {
      case 'response.output_text.delta':
        this.#append(index, 'text', textOf(event['delta']), event['logprobs']);
        return;
      case 'response.output_text.done':
        this.#complete(index, 'text', textOf(event['text']), event['logprobs']);
        return;
      case 'response.refusal.delta':
        this.#append(index, 'refusal', textOf(event['delta']));
        return;
      case 'response.refusal.done':
        this.#complete(index, 'refusal', textOf(event['refusal']));
        return;
      case 'response.content_part.added': {
        const kind = isObject(event['part']) ? kindOf(event['part']) : null;
        if (kind !== null) this.#open(index, kind);
        return;
      }
      case 'response.content_part.done':
        if (isObject(event['part'])) this.#finishPart(index, event['part']);
        return;
      case 'response.output_text.annotation.added':
        if (isObject(event['annotation'])) {
          this.#annotate(this.#open(index, 'text'), event['annotation']);
        }
    }
  }

  finish(item: Json | null): void {
    const content = objectsOf(item?.['content']);
    content.forEach((part, index) => {
      if (kindOf(part) !== null) this.#finishPart(index, part);
    });
    this.#close();
    for (const part of content) {
      if (kindOf(part) !== null) continue;
      // A part that only responses has.
      const { emit, nextBlock } = this.#blocks;
      emit({ type: 'native', block: nextBlock(), dialect: 'responses', value: part });
    }
  }

  #open(index: number, kind: Kind): Part {
    let part = this.#parts.get(index);
    if (part?.open) return part;
    this.#close();
    if (!part) {
      part = { kind, block: 0, open: false, sent: '', annotations: 0 };
      this.#parts.set(index, part);
    }
    part.block = this.#blocks.nextBlock();
    part.open = true;
    this.#current = part;
    const type = part.kind === 'text' ? 'text-start' : 'refusal-start';
    this.#blocks.emit({ type, block: part.block });
    return part;
  }

  #close(): void {
    const part = this.#current;
    if (!part) return;
    part.open = false;
    this.#current = null;
    const type = part.kind === 'text' ? 'text-end' : 'refusal-end';
    this.#blocks.emit({ type, block: part.block });
  }

  #append(index: number, kind: Kind, text: string, logprobs?: unknown): void {
    if (text === '') return;
    const part = this.#open(index, kind);
    const { block } = part;
    part.sent += text;
    if (part.kind === 'refusal') this.#blocks.emit({ type: 'refusal-delta', block, text });
    else if (Array.isArray(logprobs) && logprobs.length > 0) {
      this.#blocks.emit({ type: 'text-delta', block, text, logprobs });
    } else this.#blocks.emit({ type: 'text-delta', block, text });
  }

  #complete(index: number, kind: Kind, whole: string, logprobs?: unknown): void {
    const sent = this.#parts.get(index)?.sent ?? '';
    this.#append(index, kind, missingOf(whole, sent), sent === '' ? logprobs : undefined);
  }

  #finishPart(index: number, final: Json): void {
    const kind = kindOf(final);
    if (kind === null) return;
    const whole = textOf(final[kind]);
    this.#complete(index, kind, whole, final['logprobs']);
    const known = this.#parts.get(index);
    const part = known ?? this.#open(index, kind);
    const annotations = objectsOf(final['annotations']);
    for (const annotation of annotations.slice(part.annotations)) {
      this.#annotate(this.#open(index, kind), annotation);
    }
    if (part.open) this.#close();
  }

  #annotate(part: Part, annotation: Json): void {
    const { emit } = this.#blocks;
    const { block } = part;
    part.annotations += 1;
    const url = nonEmptyTextOf(annotation['url']);
    if (annotation['type'] !== 'url_citation' || url === null) {
      // An annotation belongs to the text, so that it has the number of its block.
      emit({ type: 'native', block, dialect: 'responses', value: annotation });
      return;
    }
    const citation = {
      url,
      title: nonEmptyTextOf(annotation['title']),
      start: positionOf(annotation['start_index']),
      end: positionOf(annotation['end_index']),
      quote: null,
    };
    emit({ type: 'citation', block, citation });
  }
}
