import { codedFailure } from '../../failure.ts';
import { failureOf } from '../../routing/directives.ts';
import { invalid } from '../../schema/invalid.ts';
import type { NativePart, TextRequest } from '../canonical/canonical.ts';
import { contentOf } from '../canonical/content.ts';
import type { FinishReason, TextEvent, Usage } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { untranslatable } from '../dialects/request-errors.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { StopSequences } from '../emulation/stop-sequences.ts';
import { answerFor, type Model, OPENING, REFUSAL, reasoningFor } from './answer-text.ts';
import { type Directives, directivesOf, type StreamFault } from './directives.ts';
import { type Prompt, readPrompt } from './prompt.ts';
import { countTokens, firstTokens, type Piece, piecesOf } from './tokens.ts';
import { callsFor, type ToolCall } from './tool-calls.ts';

/** Silence until the time is over or the client disconnects. */
interface Pause {
  readonly type: 'pause';
  readonly milliseconds: number;
}

/** Stop sequences of a request: each character of an answer is compared with each of them. */
const MAX_STOP_SEQUENCES = 100;

export type Step = TextEvent | Pause;

type BlockKind = 'reasoning' | 'text' | 'refusal';

/**
 * The events and pauses of an answer, generated as they are read, so that a long answer takes no
 * memory.
 *
 * @throws Failure if the answer fails; before `start` unless the prompt asks for a stream fault
 */
export function* answerSteps(request: TextRequest, target: Target): Generator<Step> {
  const model = modelOf(target);
  rejectUnsupported(request, target);
  const prompt = readPrompt(request);
  const directives = directivesOf(prompt.texts);
  const { delay, fail, refuse } = directives;
  if (delay > 0) yield { type: 'pause', milliseconds: delay };
  if (fail === 'midstream' || fail === 'hang' || fail === 'truncate') {
    return yield* faultSteps(fail, new AnswerStream(request, target));
  }
  if (fail !== null) throw failureOf(fail);
  const answer = new AnswerStream(request, target);
  const content = refuse ? null : contentFor(request, prompt, directives);
  yield* answer.start();
  yield* answer.block('reasoning', [reasoningFor(request, model, prompt)]);
  if (content === null) yield* answer.block('refusal', [REFUSAL]);
  else {
    for (const call of content.calls) yield* answer.toolCall(call);
    yield* answer.block('text', content.texts);
  }
  yield answer.finish(content === null ? 'refusal' : 'stop');
}

/** Generated before `start`, so that a request that is not supported gets a 400. */
function contentFor(request: TextRequest, prompt: Prompt, { repeat }: Directives) {
  const calls = callsFor(request, prompt);
  return { calls, texts: calls.length > 0 ? [] : answerFor(request, prompt, repeat) };
}

function modelOf({ model }: Target): Model {
  if (model === 'chat' || model === 'reasoner') return model;
  throw codedFailure(
    'unknown_sandbox_model',
    `the sandbox has no text model ${JSON.stringify(model)}; it has chat and reasoner`,
  );
}

/** Rejects what only a real provider can do. */
function rejectUnsupported(request: TextRequest, { dialect }: Target): void {
  const { native, tools, turns, toolChoice } = request;
  const parts = turns.flatMap((turn) => turn.parts);
  const unsupported = [...native, ...tools, ...parts].find(
    (part): part is NativePart => part.type === 'native',
  );
  const path =
    toolChoice?.type === 'native' ? pathOf(request, 'toolChoice') : (unsupported?.path ?? null);
  if (path !== null) throw untranslatable(path, dialect, 'the sandbox cannot do this', null);
  if (request.logprobs === true) {
    throw invalid(pathOf(request, 'logprobs'), 'the sandbox has no log probabilities');
  }
  const stops = request.stop?.length ?? 0;
  if (stops > MAX_STOP_SEQUENCES) {
    throw invalid(
      pathOf(request, 'stop'),
      `expected at most ${MAX_STOP_SEQUENCES} texts for the sandbox, received ${stops}`,
    );
  }
}

/** An answer that begins and then fails, hangs or is cut off. */
function* faultSteps(fault: StreamFault, answer: AnswerStream): Generator<Step> {
  yield* answer.start();
  yield* answer.block('text', [OPENING], true);
  if (fault === 'hang') for (;;) yield { type: 'pause', milliseconds: 60_000 };
  if (fault === 'midstream') {
    throw codedFailure('sandbox_failure', 'the sandbox was asked to fail after some text');
  }
  throw codedFailure('stream_truncated', 'the sandbox was asked to cut the stream off');
}

function* piecesOfAll(texts: Iterable<string>): Generator<Piece> {
  for (const text of texts) yield* piecesOf(text);
}

/** Tokens of an image or a document, regardless of its content. */
const MEDIA_TOKENS = 256;

/** Tokens of a turn beside its text, such as its role. */
const TURN_TOKENS = 3;

function countInput(request: TextRequest): number {
  const { texts, media } = contentOf(request);
  const beside = TURN_TOKENS * request.turns.length + MEDIA_TOKENS * media.length;
  return texts.reduce((tokens, text) => tokens + countTokens(text), beside);
}

/** Generates the events of one answer, within its token limit and up to its stop sequences. */
class AnswerStream {
  readonly #inputTokens: number;
  readonly #limit: number;
  readonly #stop: readonly string[];
  /** Number of the next block. */
  #nextBlock = 0;
  #outputTokens = 0;
  #reasoningTokens = 0;
  #toolCalls = 0;
  /** Why the answer ended early; null if it did not. */
  #ended: { readonly reason: 'length' | 'stop'; readonly stopSequence: string | null } | null =
    null;

  constructor(request: TextRequest, { maxOutputTokens }: Target) {
    this.#inputTokens = countInput(request);
    this.#limit = Math.min(
      request.maxOutputTokens ?? Number.POSITIVE_INFINITY,
      maxOutputTokens ?? Number.POSITIVE_INFINITY,
    );
    this.#stop = request.stop ?? [];
  }

  *start(): Generator<TextEvent> {
    yield { type: 'start', id: null, model: null };
    yield { type: 'usage', usage: this.#usage() };
  }

  #usage(): Usage {
    return {
      input: this.#inputTokens,
      output: this.#outputTokens,
      cachedInput: 0,
      cacheWrite: 0,
      reasoning: this.#reasoningTokens,
    };
  }

  /**
   * A block of text; no events if the text is empty.
   *
   * @param isCutOff whether the block has no end event
   */
  *block(kind: BlockKind, texts: Iterable<string>, isCutOff = false) {
    const block = this.#nextBlock;
    let isStarted = false;
    for (const text of this.#allowed(kind, texts)) {
      if (text === '') continue;
      if (!isStarted) yield { type: `${kind}-start`, block } as const;
      isStarted = true;
      yield { type: `${kind}-delta`, block, text } as const;
    }
    if (!isStarted) return;
    this.#nextBlock += 1;
    if (isCutOff) return;
    if (kind === 'reasoning') yield { type: 'reasoning-end', block, signature: null } as const;
    else yield { type: `${kind}-end`, block } as const;
  }

  /** The pieces of texts up to the token limit or the first stop sequence. */
  *#allowed(kind: BlockKind, texts: Iterable<string>): Generator<string> {
    const stop = new StopSequences(kind === 'text' ? this.#stop : []);
    for (const piece of piecesOfAll(texts)) {
      if (this.#ended) break;
      const remaining = this.#limit - this.#outputTokens;
      const isCut = piece.tokens > remaining;
      this.#count(kind, isCut ? remaining : piece.tokens);
      yield stop.push(isCut ? firstTokens(piece.text, remaining) : piece.text);
      if (isCut) this.#ended = { reason: 'length', stopSequence: null };
      if (stop.found !== null) this.#ended = { reason: 'stop', stopSequence: stop.found };
    }
    if (stop.found === null) yield stop.flush();
  }

  #count(kind: BlockKind, tokens: number): void {
    this.#outputTokens += tokens;
    if (kind === 'reasoning') this.#reasoningTokens += tokens;
  }

  /** A whole tool call, or none if the token limit does not suffice for it. */
  *toolCall({ id, name, arguments: json }: ToolCall) {
    const tokens = countTokens(name) + countTokens(json);
    if (this.#ended) return;
    if (tokens > this.#limit - this.#outputTokens) {
      this.#ended = { reason: 'length', stopSequence: null };
      return;
    }
    this.#outputTokens += tokens;
    this.#toolCalls += 1;
    const block = this.#nextBlock;
    this.#nextBlock += 1;
    yield { type: 'tool-start', block, id, name } as const;
    for (const { text } of piecesOf(json)) yield { type: 'tool-delta', block, json: text } as const;
    yield { type: 'tool-end', block } as const;
  }

  finish(reason: 'stop' | 'refusal'): TextEvent {
    const complete: FinishReason = this.#toolCalls > 0 ? 'tool-calls' : reason;
    return {
      type: 'finish',
      reason: this.#ended?.reason ?? complete,
      raw: null,
      stopSequence: this.#ended?.stopSequence ?? null,
      usage: this.#usage(),
    };
  }
}
