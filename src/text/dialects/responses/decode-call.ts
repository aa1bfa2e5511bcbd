import { isObject, nonEmptyTextOf, textOf } from '../../../schema/untrusted.ts';
import { newId } from '../../../store/identifier.ts';
import type { Json } from '../../canonical.ts';
import { type BlockSink, type ItemDecoder, missingOf } from './item-decoder.ts';

/** The arguments of a call as text: some providers send an object. */
export function argumentsText(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : textOf(value);
}

/** Decodes a call of a tool of the client. */
export class CallDecoder implements ItemDecoder {
  readonly #blocks: BlockSink;
  #id: string | null;
  #name: string | null;
  #block: number | null = null;
  #sent = '';

  constructor(blocks: BlockSink, item: Json) {
    this.#blocks = blocks;
    this.#id = nonEmptyTextOf(item['call_id']);
    this.#name = nonEmptyTextOf(item['name']);
    blocks.noteCall();
    this.#start();
  }

  push(type: string, event: Json): void {
    if (type === 'response.function_call_arguments.delta') this.#append(textOf(event['delta']));
    else if (type === 'response.function_call_arguments.done') {
      this.#append(missingOf(argumentsText(event['arguments']), this.#sent));
    }
  }

  finish(item: Json | null): void {
    this.#id ??= nonEmptyTextOf(item?.['call_id']) ?? nonEmptyTextOf(item?.['id']) ?? newId('call');
    this.#name ??= textOf(item?.['name']);
    this.#start();
    this.#append(missingOf(argumentsText(item?.['arguments']), this.#sent));
    this.#blocks.emit({ type: 'tool-end', block: this.#block! });
  }

  /** Starts the block once id and name are known, then emits the arguments so far. */
  #start(): void {
    if (this.#block !== null || this.#id === null || this.#name === null) return;
    const { nextBlock, emit, context } = this.#blocks;
    this.#block = nextBlock();
    emit({
      type: 'tool-start',
      block: this.#block,
      id: this.#id,
      name: context.toolName(this.#name),
    });
    if (this.#sent !== '') emit({ type: 'tool-delta', block: this.#block, json: this.#sent });
  }

  #append(json: string): void {
    if (json === '') return;
    this.#sent += json;
    if (this.#block !== null) this.#blocks.emit({ type: 'tool-delta', block: this.#block, json });
  }
}
