import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import {
  isObject,
  listOf,
  nonEmptyTextOf,
  objectOf,
  objectsOf,
  textOf,
} from '../../../schema/untrusted.ts';
import { answerId } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import { AnswerDecoder } from '../answer-decoder.ts';
import { invalidAnswer, truncatedAnswer } from '../answer-errors.ts';
import { wholeCall } from '../calls.ts';
import type { DecodeContext } from '../dialect.ts';
import { citationsOf } from './citations.ts';
import { finishReasonOf } from './finish-reasons.ts';
import { functionNameFromWire } from './function-names.ts';
import { type SignedPart, signatureOf } from './reasoning.ts';
import { usageOf } from './usage.ts';

/** Fields of a part that hold no data of their own. */
const ABOUT = new Set(['thought', 'thoughtSignature', 'partMetadata', 'videoMetadata']);

/** Decodes the responses of a stream, or a whole one, into TextEvents. */
export class GeminiDecoder extends AnswerDecoder {
  readonly #context: DecodeContext;
  /** Number of the last block. */
  #block = -1;
  /** The kind of the open block. */
  #open: 'text' | 'reasoning' | null = null;
  /** The text of the open block, in which citations have positions. */
  #text = '';
  /** The signature of the open text, which is emitted after it. */
  #textSignature: string | null = null;
  #hasCalls = false;
  #usage: Usage | null = null;
  /** The reason of the end, and its explanation. */
  #finish: { readonly raw: string; readonly message: string } | null = null;

  constructor(context: DecodeContext, emit: (event: TextEvent) => void) {
    super(emit);
    this.#context = context;
  }

  protected decodeEvent(response: Json): void {
    this.#read(response);
    // Usage may come in an event after the reason, which then is the last one.
    if (this.#finish !== null && isObject(response['usageMetadata'])) this.#end();
  }

  protected decodeAnswer(body: Json): void {
    this.#read(body);
    if (this.#finish === null) throw invalidAnswer('an answer without a finish reason');
    this.#end();
  }

  protected override decodeEnd(): void {
    if (this.#finish === null) throw truncatedAnswer();
    this.#end();
  }

  #read(response: Json): void {
    if (isObject(response['error'])) throw upstreamFailure(null, response);
    const { candidates, promptFeedback, usageMetadata } = response;
    this.start(response['responseId'], response['modelVersion']);
    const usage = usageOf(usageMetadata);
    if (usage !== null) {
      this.#usage = usage;
      this.emit({ type: 'usage', usage });
    }
    // Requests for several candidates are sent upstream as one request each.
    const candidate = listOf(candidates).find((one) => isObject(one) && (one['index'] ?? 0) === 0);
    if (isObject(candidate)) this.#candidate(candidate);
    else if (isObject(promptFeedback)) this.#blocked(promptFeedback);
  }

  #candidate(candidate: Json): void {
    const { content, finishReason, finishMessage, logprobsResult } = candidate;
    let logprobs = logprobsOf(logprobsResult);
    for (const part of listOf(objectOf(content)['parts'])) {
      if (!isObject(part)) throw invalidAnswer('a part that is no object');
      logprobs = this.#part(part, logprobs);
    }
    if (this.#open === 'text') {
      for (const citation of citationsOf(candidate, this.#text)) {
        this.emit({ type: 'citation', block: this.#block, citation });
      }
    }
    if (typeof finishReason === 'string' && finishReason !== '') {
      this.#finish = { raw: finishReason, message: textOf(finishMessage) };
    }
  }

  /** Decodes a part. @returns the log probabilities where it is none of them */
  #part(part: Json, logprobs: readonly Json[] | null): readonly Json[] | null {
    const { text, thought, functionCall } = part;
    const signature = nonEmptyTextOf(part['thoughtSignature']);
    if (isObject(functionCall)) {
      this.#call(functionCall, signature);
    } else if (typeof text !== 'string') {
      const isData = Object.keys(part).some((name) => !ABOUT.has(name));
      if (isData) this.#native(part);
      else if (signature !== null) this.#sign(signature, 'thought');
    } else if (thought === true) {
      this.#write('reasoning', text, null);
      if (signature !== null) this.#sign(signature, 'thought');
    } else {
      this.#write('text', text, logprobs);
      if (signature === null) return text === '' ? logprobs : null;
      if (this.#open === 'text') this.#textSignature = signature;
      else this.#sign(signature, 'text');
      return null;
    }
    return logprobs;
  }

  #write(kind: 'text' | 'reasoning', text: string, logprobs: readonly Json[] | null): void {
    if (text === '' && logprobs === null) return;
    // Two texts of which the first is signed are two parts.
    if (this.#open !== kind || this.#textSignature !== null) {
      this.#close();
      this.#open = kind;
      this.#block += 1;
      this.emit({ type: `${kind}-start`, block: this.#block });
    }
    if (kind === 'reasoning') {
      this.emit({ type: 'reasoning-delta', block: this.#block, text });
      return;
    }
    this.#text += text;
    const delta = { type: 'text-delta', block: this.#block, text } as const;
    this.emit(logprobs === null ? delta : { ...delta, logprobs });
  }

  /** Emits a signature as the end of the open reasoning, or as reasoning without text. */
  #sign(thoughtSignature: string, part: SignedPart): void {
    if (this.#open !== 'reasoning') {
      this.#close();
      this.#block += 1;
      this.emit({ type: 'reasoning-start', block: this.#block });
    }
    this.#open = null;
    const signature = signatureOf(thoughtSignature, part, this.#context.provider);
    this.emit({ type: 'reasoning-end', block: this.#block, signature });
  }

  #close(): void {
    const [open, block, signature] = [this.#open, this.#block, this.#textSignature];
    this.#open = null;
    this.#text = '';
    this.#textSignature = null;
    if (open === 'reasoning') this.emit({ type: 'reasoning-end', block, signature: null });
    if (open === 'text') this.emit({ type: 'text-end', block });
    if (signature !== null) this.#sign(signature, 'text');
  }

  /** A call, after the signature that it must be sent back with. */
  #call({ id, name, args }: Json, signature: string | null): void {
    if (nonEmptyTextOf(name) === null) throw invalidAnswer('a tool call without a name');
    if (signature === null) this.#close();
    else this.#sign(signature, 'call');
    this.#hasCalls = true;
    this.#block += 1;
    const call = {
      id: nonEmptyTextOf(id) ?? answerId('call'),
      name: this.#context.toolName(functionNameFromWire(name as string)),
      json: isObject(args) && Object.keys(args).length > 0 ? JSON.stringify(args) : '',
    };
    for (const event of wholeCall(this.#block, call)) this.emit(event);
  }

  /** A part that only gemini has, such as an image or the code that Google ran. */
  #native(value: Json): void {
    this.#close();
    this.#block += 1;
    this.emit({ type: 'native', block: this.#block, dialect: 'gemini', value });
  }

  /** A prompt that Google's filters blocked: the answer is a refusal. */
  #blocked({ blockReason, blockReasonMessage }: Json): void {
    const raw = nonEmptyTextOf(blockReason);
    if (raw === null) return;
    this.#refuse(nonEmptyTextOf(blockReasonMessage) ?? `The prompt was blocked: ${raw}`);
    this.#finish = { raw: 'SAFETY', message: '' };
  }

  #refuse(text: string): void {
    this.#close();
    this.#block += 1;
    this.emitRefusal(this.#block, text);
  }

  #end(): void {
    const { raw, message } = this.#finish!;
    const reason = finishReasonOf(raw, this.#hasCalls, message);
    this.#close();
    if (reason === 'refusal' && message !== '') this.#refuse(message);
    this.emit({ type: 'finish', reason, raw, stopSequence: null, usage: this.#usage });
  }
}

/** Log probabilities of tokens, in the shape that chat and responses share; null if none are reported. */
function logprobsOf(result: unknown): readonly Json[] | null {
  if (!isObject(result)) return null;
  const top = objectsOf(result['topCandidates']);
  const tokens = objectsOf(result['chosenCandidates']).map((chosen, index) => ({
    ...tokenOf(chosen),
    top_logprobs: objectsOf(top[index]?.['candidates']).map(tokenOf),
  }));
  return tokens.length > 0 ? tokens : null;
}

function tokenOf({ token, logProbability }: Json): Json {
  const text = textOf(token);
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  };
}
