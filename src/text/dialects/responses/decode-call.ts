import { isObject, nonEmptyTextOf, textOf } from '../../../schema/untrusted.ts';
import { answerId } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import { namespaceOf } from './decode-turns.ts';
import { type BlockSink, type ItemDecoder, missingOf } from './item-decoder.ts';

/** The arguments of a call as text: some providers send an object. */
export function argumentsText(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : textOf(value);
}

/** Events of the arguments or the input of a call, and the member that holds the whole. */
const KINDS = {
  function_call: { event: 'response.function_call_arguments', member: 'arguments' },
  custom_tool_call: { event: 'response.custom_tool_call_input', member: 'input' },
} as const;

/** Decodes a call of a tool of the client. */
export class CallDecoder implements ItemDecoder {
  readonly #blocks: BlockSink;
  #id: string | null;
  #name: string | null;
  #block: number | null = null;
  #sent = '';
  readonly #kind: (typeof KINDS)[keyof typeof KINDS];
  readonly #traits: { readonly hasTextInput?: true; readonly namespace?: string };

  constructor(blocks: BlockSink, item: Json, type: keyof typeof KINDS) {
    this.#blocks = blocks;
    this.#kind = KINDS[type];
    this.#traits = {
      ...(type === 'custom_tool_call' && { hasTextInput: true }),
      ...namespaceOf(item),
    };
    this.#id = nonEmptyTextOf(item['call_id']);
    this.#name = nonEmptyTextOf(item['name']);
    blocks.noteCall();
    this.#start();
  }

  push(type: string, event: Json): void {
    const { event: name, member } = this.#kind;
    if (type === `${name}.delta`) this.#append(textOf(event['delta']));
    else if (type === `${name}.done`) {
      this.#append(missingOf(argumentsText(event[member]), this.#sent));
    }
  }

  finish(item: Json | null): void {
    this.#id ??=
      nonEmptyTextOf(item?.['call_id']) ?? nonEmptyTextOf(item?.['id']) ?? answerId('call');
    this.#name ??= textOf(item?.['name']);
    this.#start();
    this.#append(missingOf(argumentsText(item?.[this.#kind.member]), this.#sent));
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
      ...this.#traits,
    });
    if (this.#sent !== '') emit({ type: 'tool-delta', block: this.#block, json: this.#sent });
  }

  #append(json: string): void {
    if (json === '') return;
    this.#sent += json;
    if (this.#block !== null) this.#blocks.emit({ type: 'tool-delta', block: this.#block, json });
  }
}
