import { isObject, nonEmptyTextOf, textOf } from '../../../schema/untrusted.ts';
import { newId } from '../../../store/identifier.ts';
import type { Json } from '../../canonical.ts';
import { type Blocks, type ItemReader, missingOf } from './blocks.ts';

/** The JSON of a call's arguments, which some providers send as an object. */
export function argumentsOf(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : textOf(value);
}

/** Reads a call of one of the client's tools. */
export class CallReader implements ItemReader {
  readonly #blocks: Blocks;
  #id: string | null;
  #name: string | null;
  #block: number | null = null;
  #sent = '';

  constructor(blocks: Blocks, item: Json) {
    this.#blocks = blocks;
    this.#id = nonEmptyTextOf(item['call_id']);
    this.#name = nonEmptyTextOf(item['name']);
    blocks.called();
    this.#start();
  }

  take(type: string, event: Json): void {
    if (type === 'response.function_call_arguments.delta') this.#say(textOf(event['delta']));
    else if (type === 'response.function_call_arguments.done') {
      this.#say(missingOf(argumentsOf(event['arguments']), this.#sent));
    }
  }

  finish(item: Json | null): void {
    this.#id ??= nonEmptyTextOf(item?.['call_id']) ?? nonEmptyTextOf(item?.['id']) ?? newId('call');
    this.#name ??= textOf(item?.['name']);
    this.#start();
    this.#say(missingOf(argumentsOf(item?.['arguments']), this.#sent));
    this.#blocks.emit({ type: 'tool-end', block: this.#block! });
  }

  /** Starts as soon as it is known what is called; what came before then follows. */
  #start(): void {
    if (this.#block !== null || this.#id === null || this.#name === null) return;
    const { next, emit, context } = this.#blocks;
    this.#block = next();
    emit({
      type: 'tool-start',
      block: this.#block,
      id: this.#id,
      name: context.toolName(this.#name),
    });
    if (this.#sent !== '') emit({ type: 'tool-delta', block: this.#block, json: this.#sent });
  }

  #say(json: string): void {
    if (json === '') return;
    this.#sent += json;
    if (this.#block !== null) this.#blocks.emit({ type: 'tool-delta', block: this.#block, json });
  }
}
